//! The log, which stores every step of every run in an SQL database.
//!
//! One thread takes step records from a bounded queue, encodes them as rows, and closes a batch about ten times a
//! second. Another thread commits batch after batch, each as a whole or not at all, so that a reader never sees half a
//! step. A process that is killed loses at most the uncommitted rows, about the last 0.5 s in real time. All committed
//! rows can be read, and the run's row keeps the status `running`.
//!
//! No row is lost silently. Batches that the database does not take in time wait in a spill file and are committed in
//! order later. Without deadlines the physics waits first. If the database has failed for good, or the spill file can
//! take no more, the recorder asks the run to end by [`RecorderStatus::flags`]. Then [`Recorder::finish`] returns an
//! error that names the spill file or the lost steps. A log that reaches its size limit ends with an event.
//!
//! The module has four folders, each of which uses only those before it:
//!
//! - `format`: the format of a log: tables, columns, values, checksums. [`inquiry::TABLES`] defines every column.
//! - `database`: connections to SQLite, PostgreSQL, MySQL and MariaDB, and the interpretation of their errors.
//! - `write`: [`Recorder`] writes a log, and [`import`] commits the batches of a spill file.
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
    CaseNumber, CaseParameter, CaseResult, Damage, ExpectedGrowth, GraspBatch, GraspFinding, GraspTaskFinding,
    GraspTasks, Imported, LogSummary, Missing, MovedCommands, NewSweep, Origin, Patterns, Recorder, RecorderStatus,
    RunDescription, RunOutcome, Settings, SimulationSummary, StoredSweep, SweepStore, Thinning, WhenFull,
    WorldRegistry, import, keep_grasp,
};

/// Filter of messages of the libraries below: notices of a database server are not messages of this program.
pub const LOG_FILTER: &str = "sqlx=warn";

/// Types of queries of a log, and of their results.
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
