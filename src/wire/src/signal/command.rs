//! Commands of a client, a sequence or a replay.

use serde::{Deserialize, Serialize};

use super::{BodyId, ClientId, DeviceId, Reservation, StepIndex};

/// An operational parameter of a sensor, given by `CFG key=value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Configuration {
    /// Fresh readings per second of simulated time.
    RateHz(f64),
    /// The largest distance a ranging sensor reads, in metres.
    RangeM(f64),
    /// Latency of readings, in seconds.
    LatencyS(f64),
    /// Probability that a reading is lost.
    Dropout(f64),
    /// A figure of the noise.
    Noise {
        /// Index into the quantities of the device's kind; `None` means all of them.
        quantity: Option<usize>,
        /// Which figure.
        figure: NoiseFigure,
        /// Its value, in the unit of the quantity, for drift by the root of a second.
        value: f64,
    },
}

/// The figures of a sensor's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseFigure {
    /// Standard deviation of Gaussian noise, fresh in each reading.
    StandardDeviation,
    /// A constant.
    Bias,
    /// A random walk: its standard deviation after a second.
    Drift,
    /// The step that readings are rounded to.
    Quantisation,
}

/// Fault of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Fault {
    /// No fault.
    None,
    /// No power: no reading and no answer, no effort, and commands are refused.
    Off,
    /// The reading stays constant; commands have no effect.
    Stuck,
    /// Any reading within its range; any effort within the limits of the last command.
    Garbage,
    /// Readings and commands arrive late by this time, s.
    Delayed(f64),
    /// Readings and commands are lost with this probability.
    Intermittent(f64),
}

impl Fault {
    /// The word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "ok",
            Self::Off => "off",
            Self::Stuck => "stuck",
            Self::Garbage => "garbage",
            Self::Delayed(_) => "delayed",
            Self::Intermittent(_) => "intermittent",
        }
    }

    /// Value of the fault, if it has one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Delayed(value) | Self::Intermittent(value) => Some(value),
            Self::None | Self::Off | Self::Stuck | Self::Garbage => None,
        }
    }
}

/// Pose and velocity to set for a body, world axes. Fields with `None` stay as they are at the step boundary.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BodyPlacement {
    /// Position of its origin, m.
    pub position: Option<[f64; 3]>,
    /// `world_from_body` as a unit quaternion x, y, z, w.
    pub orientation: Option<[f64; 4]>,
    /// Velocity of its centre of mass, m/s.
    pub linear_velocity: Option<[f64; 3]>,
    /// Angular velocity, rad/s.
    pub angular_velocity: Option<[f64; 3]>,
}

/// A push on a body for some time. A later push on the same body takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BodyPush {
    /// Point of the body, in its axes from its origin, m; `None` is its centre of mass.
    pub point: Option<[f64; 3]>,
    /// Its cause.
    pub pull: Pull,
    /// Duration, s of simulated time. 0 ends an earlier push.
    pub duration_s: f64,
}

/// Cause of a push.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pull {
    /// A force at the point, N, and a torque, N m, both in world axes.
    Wrench {
        /// The force.
        force: [f64; 3],
        /// The torque.
        torque: [f64; 3],
    },
    /// A spring with a damper from the point to this place of the world, m.
    Spring([f64; 3]),
}

/// Target of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A device.
    Device(DeviceId),
    /// A body, with all that joints tie to it.
    Body(BodyId),
}

impl From<DeviceId> for Target {
    fn from(device: DeviceId) -> Self {
        Self::Device(device)
    }
}

impl Target {
    /// The device, if the target is one.
    pub fn device(self) -> Option<DeviceId> {
        match self {
            Self::Device(device) => Some(device),
            Self::Body(_) => None,
        }
    }
}

/// Action of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// New values for the last fields of an actuator, in order, already checked against its fields. The fields before
    /// them, and those that are NaN here, keep their values: see [`set_fields`].
    Drive(Vec<f64>),
    /// New parameters for a sensor.
    Configure(Vec<Configuration>),
    /// Sets or clears a fault of a device.
    Fault(Fault),
    /// A frame for an echo sensor.
    Hear,
    /// Sets the pose and velocity of a body.
    Place(BodyPlacement),
    /// Pushes a body for some time.
    Push(BodyPush),
}

/// Sets the last of an actuator's `fields` to the values of a command; NaN leaves a field unchanged. False for more
/// values than fields, which change nothing.
pub fn set_fields(fields: &mut [f64], command: &[f64]) -> bool {
    let Some(kept) = fields.len().checked_sub(command.len()) else { return false };
    for (field, value) in fields[kept..].iter_mut().zip(command) {
        if !value.is_nan() {
            *field = *value;
        }
    }
    true
}

/// A checked command on its way to the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Its target.
    pub target: Target,
    /// The first step in which it acts; `None` is the next one.
    pub at: Option<StepIndex>,
    /// Sender of the command.
    pub client: ClientId,
    /// Number among the commands of this device, counted by its port; see [`StepRecord::applied`](super::StepRecord). 0
    /// for commands to bodies.
    pub sequence: u64,
    /// The text as received, without its frame.
    pub text: String,
    /// Its action.
    pub action: Action,
    /// The memory that its sender has reserved for it, until the log has taken it; none for commands that no client
    /// sent.
    pub memory: Reservation,
}

/// Bytes of a command besides its text and numbers: the struct, its entries in two queues, the numbers of its answer,
/// and the overhead of the allocator.
const COMMAND_OVERHEAD: usize = 384;

impl Command {
    /// Approximate memory of the command and its answer on the way from the sender to the log, bytes.
    pub fn size(&self) -> usize {
        let parameters = match &self.action {
            Action::Drive(values) => size_of_val(&values[..]),
            Action::Configure(parameters) => size_of_val(&parameters[..]),
            Action::Fault(_) | Action::Hear | Action::Place(_) | Action::Push(_) => 0,
        };
        // The answer to a text for an echo sensor is that text.
        COMMAND_OVERHEAD + 2 * self.text.len() + parameters
    }
}

/// A command that took effect, as logged.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedCommand {
    /// Place among the commands of the same step, from 0.
    pub order: u32,
    /// The command.
    pub command: Command,
    /// The state of the actuator before it; empty for a command to another target.
    pub before: ActuatorState,
}

/// The most numbers that the state of an actuator has: three efforts, three angles and three gains of an angle
/// controller.
pub const MAX_STATE_NUMBERS: usize = 9;

/// The numbers of an actuator's state, without heap memory: the physics thread stores them with each command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActuatorState {
    numbers: [f64; MAX_STATE_NUMBERS],
    count: usize,
}

impl ActuatorState {
    /// No numbers.
    pub const NONE: Self = Self { numbers: [0.0; MAX_STATE_NUMBERS], count: 0 };

    /// These numbers, of which there are at most [`MAX_STATE_NUMBERS`].
    pub fn new(numbers: &[f64]) -> Self {
        let mut state = Self { count: numbers.len(), ..Self::NONE };
        state.numbers[..numbers.len()].copy_from_slice(numbers);
        state
    }

    /// The numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers[..self.count]
    }
}
