//! Reads logs back.
//!
//! [`Inquiry`] serves programs that go through a whole run: one connection, one state of the database, rows that stream. It is the base
//! of `verify` (is a run complete and unchanged), `merge` (copies runs into another database) and `deviation` (where a replayed step
//! differs).
//! [`Reader`] serves a page that looks at a few steps at a time, beside a run that is being written. [`Prune`] removes runs.
//!
//! Of `write` it uses only what makes rows of a record.

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
