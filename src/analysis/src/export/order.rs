//! An export that is asked for, and its result.

use std::path::{Path, PathBuf};

use simpartner_recorder::{RecordedRun, inquiry::Table};

/// The format of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A folder of tables as text.
    Csv,
    /// A folder of tables in columns, compressed.
    Parquet,
    /// One file of messages over time.
    Mcap,
}

/// What is exported of a run, and where to.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// The run.
    pub run: &'a RecordedRun,
    /// The format.
    pub format: Format,
    /// The file or folder to make.
    pub output: &'a Path,
    /// Whether an existing one may be replaced.
    pub force: bool,
    /// Which tables; none is all. MCAP has its own channels and takes all.
    pub tables: Vec<&'static Table>,
    /// The first and the last step.
    pub steps: (u64, u64),
    /// Only steps that are multiples of this.
    pub every: u64,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file or folder.
    pub place: PathBuf,
    /// Each table or channel, and its rows or messages.
    pub counts: Vec<(String, u64)>,
}
