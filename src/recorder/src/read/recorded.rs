//! Runs, events and commands as read from a log.

use simpartner_model::{DeviceId, Timestep};

use crate::format::{cadence::Cadence, row_policy::RowPolicy};

/// A run in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Number of the run in the database.
    pub simulation_id: i64,
    /// Name of the world.
    pub world: String,
    /// Time at which the run began, UTC, ISO 8601.
    pub started: String,
    /// The way the run ended, or `running`.
    pub status: String,
    /// Length of a step.
    pub timestep: Timestep,
    /// Spacing of the logged steps before the log is thinned out: one step in this many is logged.
    pub every_n_steps: u64,
    /// The steps that are logged.
    pub cadence: Cadence,
    /// The rows that are left out because their values did not change.
    pub row_policy: RowPolicy,
    /// Step of the snapshot that the run starts from; `None` if it starts from the model.
    pub origin: Option<u64>,
    /// Approximate size of the rows, in bytes; `None` if it was not counted.
    pub bytes: Option<u64>,
    /// First and last logged step; `None` if there are none.
    pub steps: Option<(u64, u64)>,
    /// Simulated seconds per wall second; `None` before the end of the run.
    pub real_time_factor: Option<f64>,
}

impl RecordedRun {
    /// Largest number of steps that a reader has to look back for a row that was left out because its values did not
    /// change.
    pub fn reach(&self) -> u64 {
        self.row_policy.reach(self.cadence)
    }
}

/// An event in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// Step after which the event was observed.
    pub step: u64,
    /// Number of resets of the world in this process before the run.
    pub resets: u64,
    /// Name of the kind of event.
    pub kind: String,
    /// Name of the component, client or part of the server that the event is about.
    pub subject: String,
    /// Description in one sentence.
    pub text: String,
    /// Figure of the event, with a meaning that depends on the kind.
    pub value: Option<f64>,
}

/// A group of logged commands of one client to one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCommands {
    /// Step in which the latest command took effect.
    pub step: u64,
    /// Number of resets of the world in this process before the run.
    pub resets: u64,
    /// The device.
    pub device: DeviceId,
    /// Number of the client.
    pub client: u64,
    /// Text of the latest command.
    pub text: String,
    /// Number of commands in the group.
    pub count: u64,
}
