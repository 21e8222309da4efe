//! Settings of the log: where it goes and how much of it.

use std::{path::PathBuf, time::Duration};

use super::patterns::Patterns;
use crate::{database::address::Database, format::row_policy::RowPolicy};

/// What happens when the log comes to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The log ends with an event, the simulation goes on.
    EndLog,
    /// The log ends with an event, and the run is asked to end.
    EndRun,
}

/// How the log of a long run is thinned out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thinning {
    /// After so many simulated seconds of the process, resets included.
    pub after_s: f64,
    /// From then on one step in so many gets rows of state.
    pub every_n_steps: u64,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The database.
    pub database: Database,
    /// One step in so many gets rows of state; commands and events are always logged. At least 1.
    pub every_n_steps: u64,
    /// The bodies whose state is logged; without a robot an object is called by its name alone.
    pub bodies: Patterns,
    /// The joints whose state is logged.
    pub joints: Patterns,
    /// The sensors whose readings are logged.
    pub devices: Patterns,
    /// Whether the points where bodies touch get rows, those of a step with the largest forces.
    pub contacts: bool,
    /// When the log is thinned out, if ever.
    pub thinning: Option<Thinning>,
    /// Whether a robot's bodies and joints, and an object, have rows only where one of them differs from the row before: what is
    /// fixed, asleep or at rest then has a row in a hundred. `on_change` goes farther.
    pub skip_resting: bool,
    /// Whether a row of a body, joint or sensor is written only where it differs from the one before.
    pub on_change: bool,
    /// By how much numbers must differ for that, in their own unit.
    pub change_tolerance: f64,
    /// How much the database may grow in this run, in megabytes of 10^6 bytes.
    pub limit_mb: u64,
    /// What happens then.
    pub when_full: WhenFull,
    /// Simulated seconds from one snapshot to the next; `None` takes none.
    pub snapshot_interval_s: Option<f64>,
    /// Whether a run may begin while its database is away.
    pub start_without_database: bool,
    /// Where the spill file goes if there has to be one.
    pub spill_folder: PathBuf,
    /// How large it may become, in megabytes of 10^6 bytes.
    pub spill_limit_mb: u64,
    /// How long to wait for a database that commits nothing: at the end of the run, and without deadlines also before.
    pub drain: Duration,
}

impl Settings {
    /// Everything of every step, into this database.
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

    /// When rows are written.
    pub(crate) fn row_policy(&self) -> RowPolicy {
        match (self.on_change, self.skip_resting) {
            (true, _) => RowPolicy::Changed,
            (false, true) => RowPolicy::Moving,
            (false, false) => RowPolicy::Always,
        }
    }
}
