//! The members of the lockstep: ports that may hold the clock, of a device or of a whole robot.

use super::{DeviceId, RobotId};

/// A port whose client the clock waits for in lockstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// That of a sensor or an actuator.
    Device(DeviceId),
    /// The combined port of a robot.
    Robot(RobotId),
}
