//! Errors of a batch of grasp tasks.

use std::path::PathBuf;

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use simpartner_grasp::{sample::SampleError, task::TaskError};
use thiserror::Error;

/// Reason why a batch cannot be made.
#[derive(Debug, Error)]
pub enum BatchError {
    /// The gripper or the object.
    #[error("{0}")]
    Task(#[from] TaskError),
    /// The sampler.
    #[error("{0}")]
    Sample(#[from] SampleError),
    /// The engine.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// A file that cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file that holds something else.
    #[error("{}:{line}: {what}", .path.display())]
    Rows {
        /// Which.
        path: PathBuf,
        /// Its line.
        line: usize,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// The files of a task in a log.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// A log that names a task which cannot be made again.
    #[error("{0}")]
    Logged(String),
    /// There are fewer targets.
    #[error("there are {count} targets, and no task {number}: they are counted from 0")]
    NoTask {
        /// How many.
        count: u64,
        /// Which was asked for.
        number: u64,
    },
}
