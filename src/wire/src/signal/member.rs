//! Who may hold the clock in lockstep: a device's port, or the combined port of a robot.

use super::{ClientId, DeviceId, Port, RobotId, StepIndex, StepRecord};

/// A robot as one thing to talk to: all readings of its sensors, all commands of its actuators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotInfo {
    /// Name, unique in its world.
    pub name: String,
    /// Its combined port, as asked for in the world.
    pub port: Port,
    /// `file:line:column` of its element, for messages.
    pub source: String,
    /// Its sensors that read numbers, in the order of their ids.
    pub sensors: Vec<DeviceId>,
    /// Its actuators, in the order of their ids.
    pub actuators: Vec<DeviceId>,
}

/// A port whose client the clock waits for in lockstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// That of a sensor or an actuator.
    Device(DeviceId),
    /// The combined port of a robot.
    Robot(RobotId),
}

/// What `ACK step+count` says of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The step that it names.
    pub step: Option<StepIndex>,
    /// How many steps may be made before the member is asked again, at least one.
    pub count: u64,
}

/// `ACK`, as a client of a member's port has sent it: it joins the lockstep, or has seen a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The port it came through.
    pub member: Member,
    /// From whom.
    pub client: ClientId,
    /// What it says.
    pub seen: Seen,
    /// The newest step that this client can have seen.
    pub present: StepIndex,
    /// How often the world had been reset then.
    pub epoch: u32,
}

impl Acknowledgement {
    /// What a client has said that has seen this record at most.
    pub fn of(member: Member, client: ClientId, seen: Seen, record: &StepRecord) -> Self {
        Self { member, client, seen, present: record.step, epoch: record.epoch }
    }
}
