//! Analyses logs: answers to queries in several formats, a comparison of two runs, a run as files for other programs, and curves.
//!
//! Everything streams: the memory in use does not grow with the length of a run. This module uses the recorder's
//! [`Inquiry`](simpartner_recorder::Inquiry) and no SQL; it knows nothing of the command line, which receives its [`Progress`].

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
    /// What is done now, and how much of it there is.
    fn begin(&mut self, what: &str, amount: u64);
    /// How much of it is done.
    fn reach(&mut self, amount: u64);
}

/// For callers that do not want to know.
impl Progress for () {
    fn begin(&mut self, _: &str, _: u64) {}
    fn reach(&mut self, _: u64) {}
}

/// Why an analysis failed.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// The log.
    #[error(transparent)]
    Log(#[from] RecorderError),
    /// A question that does not fit the run.
    #[error("{0}")]
    Question(String),
    /// A file could not be written.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Standard output.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// The library that writes Parquet.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The library that writes MCAP.
    #[error("MCAP: {0}")]
    Mcap(#[from] mcap::McapError),
    /// The model in the log cannot be read any more.
    #[error("the run's model cannot be read from its log:\n{0}")]
    Model(#[from] Diagnostics),
}

/// The table of a name.
fn table(name: &str) -> Result<&'static Table, AnalysisError> {
    Table::named(name).ok_or_else(|| AnalysisError::Question(format!("the log has no table {name}")))
}
