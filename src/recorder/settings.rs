//! Where the log goes and how much of it.

use super::Database;

/// What happens when the log comes to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The log ends with an event, the simulation goes on.
    EndLog,
    /// The log ends with an event, and the run is asked to end.
    EndRun,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The database.
    pub database: Database,
    /// One step in so many gets rows of state; commands and events are always logged. At least 1.
    pub every_n_steps: u64,
    /// How much the database may grow in this run, in megabytes of 10^6 bytes.
    pub limit_mb: u64,
    /// What happens then.
    pub when_full: WhenFull,
    /// Simulated seconds from one state that is kept to the next; `None` keeps none.
    pub snapshot_interval_s: Option<f64>,
}

impl Settings {
    /// Everything of every step, into this database.
    pub fn new(database: Database) -> Self {
        Self { database, every_n_steps: 1, limit_mb: 10_240, when_full: WhenFull::EndLog, snapshot_interval_s: None }
    }
}
