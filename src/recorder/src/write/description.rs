//! Descriptions of a run as a whole: before its first step, after its last, and as written.

use std::sync::Arc;

use simpartner_description::World;
use simpartner_dynamics::{EngineIdentity, MassProperties};
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Event, Layout};

use crate::database::address::Database;
use simpartner_realtime::{Mode, Percentiles, QueueUse};

/// Description of a run before its first step.
#[derive(Debug, Clone)]
pub struct RunDescription {
    /// The model.
    pub world: Arc<World>,
    /// Position of each value in the step records.
    pub layout: Arc<Layout>,
    /// Mass and inertia of every body, in the order of the world's list. Entries of fixed bodies are not read.
    pub masses: Vec<MassProperties>,
    /// Length of a step.
    pub timestep: Timestep,
    /// The effective properties of the server, as the text of a properties file.
    pub properties: String,
    /// Name, version and features of the physics engine.
    pub engine: EngineIdentity,
    /// Architecture and operating system that the program was built for.
    pub target: String,
    /// Clock mode at the start.
    pub mode: Mode,
    /// Real-time privileges that the operating system granted to the physics thread, as a readable text.
    pub realtime_grants: String,
    /// The snapshot that the run starts from; `None` if it starts from the model.
    pub origin: Option<Origin>,
}

/// The snapshot that a run starts from. A fork starts from a snapshot of another run. A run after a world edit starts
/// from the state of the run before it in the same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Number of the run that the snapshot is from; `None` for the preceding run of the same process.
    pub parent: Option<i64>,
    /// Step after which the snapshot was taken.
    pub step: StepIndex,
    /// Head of the state chain after that step.
    pub chain_head: u64,
    /// The encoded state.
    pub state: Arc<[u8]>,
}

/// Outcome of a run after its last step. In a process with resets, it describes the part after the last reset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOutcome {
    /// The way the run ended, such as `finished` or `stopped`.
    pub status: String,
    /// Number of steps, logged or not.
    pub steps: u64,
    /// Number of times the clock was re-anchored.
    pub slips: u64,
    /// Lateness of the steps' starts; `None` without deadlines.
    pub lateness: Option<Percentiles>,
    /// Simulated seconds per wall second.
    pub real_time_factor: f64,
    /// Hash of the final state, hexadecimal; empty if unknown.
    pub state_hash: String,
    /// Events that came after the last record.
    pub events: Vec<Event>,
}

/// Summary of a written log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The database.
    pub database: Database,
    /// The runs of the process: one, plus one for each reset and each world edit.
    pub simulations: Vec<SimulationSummary>,
    /// Growth of the database file, or amount sent to the server, in bytes.
    pub bytes: u64,
    /// Largest number of uncommitted batches in memory.
    pub batches: QueueUse,
    /// Reason and last logged step, if the log ended before the run.
    pub ended_early: Option<String>,
}

/// One run in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationSummary {
    /// Number of the run in the database.
    pub simulation_id: i64,
    /// Number of steps logged.
    pub steps_logged: u64,
    /// Number of rows written, in all tables.
    pub rows: u64,
}
