//! Analyses logs: writes results of queries in several formats, compares two runs, exports a run to files for other
//! programs, and plots curves.
//!
//! All functions stream, so the memory in use does not grow with the length of a run. This module uses the recorder's
//! [`Inquiry`](simpartner_recorder::Inquiry) and no SQL. It knows nothing of the command line, which receives its
//! [`Progress`].

pub mod answer;
pub mod compare;
pub mod curves;
pub mod export;
mod orientation;
mod partial_output;

use std::{io, path::PathBuf};

use simpartner_description::xml::Diagnostics;
use thiserror::Error;

use simpartner_recorder::{RecorderError, inquiry::Table};

/// Receives the progress of a long task.
pub trait Progress {
    /// Begins a part of the task. `what` describes it, and `amount` is its size in any unit.
    fn begin(&mut self, what: &str, amount: u64);
    /// Reports that `amount` of the present part is done.
    fn reach(&mut self, amount: u64);
}

/// Ignores the progress.
impl Progress for () {
    fn begin(&mut self, _: &str, _: u64) {}
    fn reach(&mut self, _: u64) {}
}

/// Error of an analysis.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] RecorderError),
    /// A request that does not fit the run, or that cannot be fulfilled.
    #[error("{0}")]
    Question(String),
    /// A file cannot be written.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Standard output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// An error of the library that writes Parquet.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// An error of the library that writes MCAP.
    #[error("MCAP: {0}")]
    Mcap(#[from] mcap::McapError),
    /// The model in the log is not valid for this version of the program.
    #[error("the run's model cannot be read from its log:\n{0}")]
    Model(#[from] Diagnostics),
}

/// The table or view of this name.
fn find_table(name: &str) -> Result<&'static Table, AnalysisError> {
    Table::named(name).ok_or_else(|| AnalysisError::Question(format!("the log has no table {name}")))
}
