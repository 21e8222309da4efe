//! The members of the lockstep: ports of devices or robots for which the clock waits.

use super::{DeviceId, RobotId};

/// A port whose client the clock waits for in lockstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// That of a sensor or an actuator.
    Device(DeviceId),
    /// The combined port of a robot.
    Robot(RobotId),
}
