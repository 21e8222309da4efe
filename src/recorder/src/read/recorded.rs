//! What a log says of its runs, events and commands.

use simpartner_model::{DeviceId, Timestep};

use crate::format::{cadence::Cadence, row_policy::RowPolicy};

/// A run as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Its number.
    pub simulation_id: i64,
    /// Name of its world.
    pub world: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
    /// How it ended, or `running`.
    pub status: String,
    /// Length of a step.
    pub timestep: Timestep,
    /// One step in so many is logged, before the log is thinned out.
    pub every_n_steps: u64,
    /// Which steps are logged.
    pub cadence: Cadence,
    /// Which rows are left out because they are like the ones before.
    pub row_policy: RowPolicy,
    /// The step of another run that it goes on from, if it is a fork.
    pub origin: Option<u64>,
    /// The size of what was written, about, bytes; `None` if that was not counted.
    pub bytes: Option<u64>,
    /// The first and the last logged step, if any.
    pub steps: Option<(u64, u64)>,
    /// Simulated seconds per wall second, once it is over.
    pub real_time_factor: Option<f64>,
}

impl RecordedRun {
    /// How many steps a reader has to look back at most for a row that was left out because it is like the one before.
    pub fn reach(&self) -> u64 {
        self.row_policy.reach(self.cadence)
    }
}

/// An event as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// The step after which it was seen.
    pub step: u64,
    /// How often the process had reset the world before.
    pub resets: u64,
    /// The name of its kind.
    pub kind: String,
    /// Whom it concerns.
    pub subject: String,
    /// A sentence for people.
    pub text: String,
    /// Its figure.
    pub value: Option<f64>,
}

/// Commands of a client for a device, as the log has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCommands {
    /// The step in which the latest took effect.
    pub step: u64,
    /// How often the process had reset the world before.
    pub resets: u64,
    /// For which device.
    pub device: DeviceId,
    /// The number of the client.
    pub client: u64,
    /// The latest.
    pub text: String,
    /// How many there are.
    pub count: u64,
}
