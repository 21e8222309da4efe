//! Request and result of an export.

use std::path::{Path, PathBuf};

use simpartner_recorder::{RecordedRun, inquiry::Table};

/// Format of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A folder of tables as CSV.
    Csv,
    /// A folder of tables as Parquet: stored by columns, and compressed.
    Parquet,
    /// One MCAP file of messages with times.
    Mcap,
}

/// Request for an export.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// The run.
    pub run: &'a RecordedRun,
    /// The format.
    pub format: Format,
    /// File or folder to create.
    pub output: &'a Path,
    /// True if an existing file or folder may be replaced.
    pub force: bool,
    /// Tables to export; empty for all. An MCAP file always has all its channels.
    pub tables: Vec<&'static Table>,
    /// First and last step.
    pub steps: (u64, u64),
    /// Spacing of the exported steps: only multiples of this step are exported.
    pub every: u64,
    /// For an MCAP file: the seed of the run if the images of its cameras are to be made, which takes some milliseconds
    /// for each; `None` leaves them out.
    pub images: Option<u64>,
}

/// Result of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Path of the file or folder.
    pub place: PathBuf,
    /// Name of each table or channel, and its number of rows or messages.
    pub counts: Vec<(String, u64)>,
}
