//! The log: every step of every run in SQL.
//!
//! A thread of its own takes records from a bounded queue, makes rows of them, and about ten times a second a batch; another thread commits
//! batch after batch, each whole or not at all, so that a reader never sees half a step. A process that is killed loses at most what
//! was not committed, about the last 0.5 s in real time; what was committed reads back whole, and the run's row says `running` for
//! ever.
//!
//! Nothing is lost silently. What the database does not take in time waits in a spill file and is committed in order later; without
//! deadlines the physics waits first. A database that has failed for good, or a spill file that can take no more, raises
//! [`RecorderStatus::flags`], and the end of the run reports what is left; a log that reaches its limit ends with an event.
//!
//! Four folders, each of which uses only those before it:
//!
//! - `format`: what a log is: tables, columns, values, checksums. [`inquiry::TABLES`] names every column once.
//! - `database`: connections to SQLite, PostgreSQL, MySQL and MariaDB, and what their errors mean.
//! - `write`: [`Recorder`] writes a log; [`import`] commits what is in a spill file.
//! - `read`: [`Inquiry`] and [`Reader`] read logs back, prove them complete, copy and prune them.
//!
//! This module knows nothing of engines, XML and sockets.

mod database;
mod format;
mod read;
mod write;

pub use database::{
    address::{ADDRESSES, AddressError, Database},
    error::RecorderError,
    masked::without_password,
    query_position::QueryPosition,
};
pub use format::{cadence::Cadence, row_policy::RowPolicy};
pub use read::{
    Completeness, Inquiry, Merge, Merged, Prune, Reader, RecordedCommands, RecordedEvent, RecordedRun, SOURCE_COLUMNS,
    days_ago, source_file,
};
pub use write::{
    AnnouncedWorlds, Damage, ExpectedGrowth, GraspBatch, GraspFinding, GraspTaskFinding, GraspTasks, Imported,
    LogSummary, Missing, MovedCommands, Origin, Patterns, Recorder, RecorderStatus, RunDescription, RunOutcome,
    Settings, SimulationSummary, Thinning, WhenFull, import, keep_grasp,
};

/// The parts of questions to a log, and of their answers.
pub mod inquiry {
    pub use super::{
        format::{
            component::ComponentKind,
            number_list::{first_difference, parse_numbers},
            schema::{Columns, TABLES, Table, dictionary},
            value::{Column, ColumnType, Value},
        },
        read::{Component, Deviation, Listener, Scope, Selection},
    };
}
