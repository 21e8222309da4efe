//! What the log has of a run as a whole, at its start and at its end.

use std::sync::Arc;

use simpartner_description::World;
use simpartner_dynamics::{EngineIdentity, MassProperties};
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Event, Layout};

use crate::database::address::Database;
use simpartner_realtime::{Mode, Percentiles, QueueUse};

/// A run before its first step.
#[derive(Debug, Clone)]
pub struct RunDescription {
    /// The model.
    pub world: Arc<World>,
    /// Where each value is in the records.
    pub layout: Arc<Layout>,
    /// Mass and inertia of every body, in the order of the world's list. Those of fixed bodies are not read.
    pub masses: Vec<MassProperties>,
    /// Length of a step.
    pub timestep: Timestep,
    /// The effective properties as a text.
    pub properties: String,
    /// The engine.
    pub engine: EngineIdentity,
    /// What the program was built for: architecture and operating system.
    pub target: String,
    /// Clock mode at the start.
    pub mode: Mode,
    /// What the operating system granted the physics thread, for people.
    pub realtime_grants: String,
    /// The snapshot that it goes on from, if it does not begin with the model.
    pub origin: Option<Origin>,
}

/// The snapshot that a run goes on from: a fork from another run, and a world that follows another one from the run before it in the same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The number of the run; `None` for the one before it.
    pub parent: Option<i64>,
    /// The step after which its state was taken.
    pub step: StepIndex,
    /// The head of its chain there.
    pub chain_head: u64,
    /// The state.
    pub state: Arc<[u8]>,
}

/// A run after its last step. With resets it describes the part after the last one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOutcome {
    /// How it ended, such as `finished` or `stopped`.
    pub status: String,
    /// Steps made, logged or not.
    pub steps: u64,
    /// How often the clock was re-anchored.
    pub slips: u64,
    /// How late the steps began; `None` without deadlines.
    pub lateness: Option<Percentiles>,
    /// Simulated seconds per wall second.
    pub real_time_factor: f64,
    /// Hash of the final state, hexadecimal; empty if it is not known.
    pub state_hash: String,
    /// Events that came after the last record.
    pub events: Vec<Event>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The database.
    pub database: Database,
    /// The runs: one, and one more for each reset and each world that follows another one.
    pub simulations: Vec<SimulationSummary>,
    /// How much the file grew, or was sent to the server, in bytes.
    pub bytes: u64,
    /// How many batches of rows were in memory at most, not yet committed.
    pub batches: QueueUse,
    /// Why and after which step the log ended before the run did, if it did.
    pub ended_early: Option<String>,
}

/// One run in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationSummary {
    /// Its number in the database.
    pub simulation_id: i64,
    /// Steps logged.
    pub steps_logged: u64,
    /// Rows written for them, in all tables.
    pub rows: u64,
}
