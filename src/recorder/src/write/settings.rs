//! Settings of the log: its destination, its contents and its limits.

use std::{path::PathBuf, time::Duration};

use super::patterns::Patterns;
use crate::{database::address::Database, format::row_policy::RowPolicy};

/// Action when the log reaches its size limit, or another limit such as the space on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The log ends with an event, and the simulation continues.
    EndLog,
    /// The log ends with an event, and the run is asked to end.
    EndRun,
}

/// Thinning of the log of a long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thinning {
    /// Simulated time of the process after which thinning begins, in seconds; resets do not restart it.
    pub after_s: f64,
    /// Spacing of the logged steps from then on: one step in this many gets rows of state.
    pub every_n_steps: u64,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The database.
    pub database: Database,
    /// Spacing of the logged steps: one step in this many gets rows of state, at least 1. Commands and events are
    /// always logged.
    pub every_n_steps: u64,
    /// The bodies whose state is logged, as `robot/body`, or by the name alone for an object without a robot.
    pub bodies: Patterns,
    /// The joints whose state is logged.
    pub joints: Patterns,
    /// The sensors whose readings are logged.
    pub devices: Patterns,
    /// True if contact points get rows: those with the largest forces in each step.
    pub contacts: bool,
    /// Thinning of the log; `None` for no thinning.
    pub thinning: Option<Thinning>,
    /// True if a robot or an object gets rows only when one of its bodies or joints differs from its last row. If it is
    /// fixed, asleep or at rest, it then has a row in one logged step of a hundred. `on_change` leaves out more rows.
    pub skip_resting: bool,
    /// True if a body, joint or sensor gets a row only when it differs from its last row.
    pub on_change: bool,
    /// Largest change of a number that `on_change` ignores, in the number's unit.
    pub change_tolerance: f64,
    /// Largest growth of the database in this run, in megabytes of 10^6 bytes.
    pub limit_mb: u64,
    /// Action when the database has grown by `limit_mb`, or when another limit ends the log.
    pub when_full: WhenFull,
    /// Simulated time between two snapshots, in seconds; `None` takes none.
    pub snapshot_interval_s: Option<f64>,
    /// True if a run may begin while its database is away.
    pub start_without_database: bool,
    /// Folder of the spill file.
    pub spill_folder: PathBuf,
    /// Largest size of the spill file, in megabytes of 10^6 bytes.
    pub spill_limit_mb: u64,
    /// Time to wait for a database that commits nothing. It applies at the end of the run, and without deadlines also
    /// before.
    pub drain: Duration,
}

impl Settings {
    /// Settings that log everything of every step into this database.
    pub fn new(database: Database) -> Self {
        Self {
            database,
            every_n_steps: 1,
            bodies: Patterns::everything(),
            joints: Patterns::everything(),
            devices: Patterns::everything(),
            contacts: false,
            thinning: None,
            skip_resting: false,
            on_change: false,
            change_tolerance: 0.0,
            limit_mb: 10_240,
            when_full: WhenFull::EndLog,
            snapshot_interval_s: None,
            start_without_database: false,
            spill_folder: ".".into(),
            spill_limit_mb: 10_240,
            drain: Duration::from_secs(30),
        }
    }

    /// Rule that selects the rows to write.
    pub(crate) fn row_policy(&self) -> RowPolicy {
        match (self.on_change, self.skip_resting) {
            (true, _) => RowPolicy::Changed,
            (false, true) => RowPolicy::Moving,
            (false, false) => RowPolicy::Always,
        }
    }
}
