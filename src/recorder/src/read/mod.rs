//! Reads logs back.
//!
//! [`Inquiry`] serves programs that go through a whole run. It has one connection, reads one snapshot of the database,
//! and streams rows. Three modules build on it: `verify` proves that a run is complete and unchanged, `merge` copies
//! runs into another database, and `deviation` finds the first difference between a replayed step and the log.
//!
//! [`Reader`] serves a web page that shows a few steps at a time, also of a run that is being written. [`Prune`]
//! removes runs.
//!
//! This module uses only the encoder of rows from `write`.

mod commands;
mod components;
mod deviation;
mod inquiry;
mod known_columns;
mod merge;
mod near_names;
mod prune;
mod reader;
mod recorded;
mod runs;
mod scope;
mod selection;
mod setting;
mod source;
mod steps;
mod stored_rows;
mod verify;

pub use components::Component;
pub use deviation::Deviation;
pub use inquiry::{Inquiry, Listener};
pub use merge::{Merge, Merged};
pub use prune::{Prune, days_ago};
pub use reader::Reader;
pub use recorded::{RecordedCommands, RecordedEvent, RecordedRun};
pub use scope::Scope;
pub use selection::Selection;
pub use source::{SOURCE_COLUMNS, source_file};
pub use verify::Completeness;
