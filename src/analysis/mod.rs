//! Looking into logs: answers in several forms, two runs set side by side, runs as files for other programs, and as curves.
//!
//! Everything streams: what is held in memory does not grow with the length of a run. The room knows the recorder's
//! [`Inquiry`](crate::recorder::Inquiry) and no SQL; it knows nothing of the command line, which tells it through [`Progress`] that
//! somebody waits.

pub mod answer;
pub mod compare;
pub mod curves;
pub mod export;
mod orientation;
mod unfinished;

use std::{io, path::PathBuf};

use simpartner_description::xml::Diagnostics;
use thiserror::Error;

use crate::recorder::RecorderError;

/// Whoever wants to know how far a long work has come.
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

/// Why an analysis came to no end.
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
    /// The library that makes Parquet.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The library that makes MCAP.
    #[error("MCAP: {0}")]
    Mcap(#[from] mcap::McapError),
    /// The model in the log cannot be read any more.
    #[error("the run's model cannot be read from its log:\n{0}")]
    Model(#[from] Diagnostics),
}
