//! What a client, a sequence or a replay asks of a device.

use super::{DeviceId, StepIndex};

/// Who sent a command: a connection's number, or 0 for a sequence played inside the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// An operational parameter of a sensor, given by `CFG key=value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Configuration {
    /// Fresh readings per second of simulated time.
    RateHz(f64),
    /// The largest distance a ranging sensor reads, in metres.
    RangeM(f64),
}

/// What the command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A frame for an actuator, already checked against the device's fields and one of its command lengths.
    Drive(Vec<f64>),
    /// New parameters for a sensor.
    Configure(Vec<Configuration>),
    /// A frame for a device that keeps what it hears.
    Hear,
}

/// A checked command on its way to the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The device meant.
    pub device: DeviceId,
    /// The step in which it first acts; `None` is the next one.
    pub at: Option<StepIndex>,
    /// Who sent it.
    pub client: ClientId,
    /// Number among the commands of this device, counted by the door it came through; see
    /// [`StepRecord::applied`](super::StepRecord).
    pub sequence: u64,
    /// The text as it came, without its frame.
    pub text: String,
    /// What it does.
    pub action: Action,
}

/// A command that took effect, as it goes into the log.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedCommand {
    /// Place among the commands of the same step, from 0.
    pub order: u32,
    /// The command.
    pub command: Command,
    /// What the device answers to it as a frame: an actuator its previous state. (`SET` tells its sender just `OK`.)
    pub reply: String,
}
