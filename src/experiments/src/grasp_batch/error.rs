//! Errors of a batch of grasp tasks.

use std::path::PathBuf;

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use simpartner_grasp::{sample::SampleError, task::TaskError};
use thiserror::Error;

/// Errors of a batch of grasp tasks.
#[derive(Debug, Error)]
pub enum BatchError {
    /// The gripper or the object does not fit the task.
    #[error("{0}")]
    Task(#[from] TaskError),
    /// No target can be drawn.
    #[error("{0}")]
    Sample(#[from] SampleError),
    /// The engine cannot represent the scene.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// A file of rows is invalid, or belongs to another batch.
    #[error("{}:{line}: {what}", .path.display())]
    Rows {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Description of the error, and a remedy.
        what: String,
    },
    /// The files of a task in a log are invalid.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// A log names a task that cannot be reconstructed.
    #[error("{0}")]
    Logged(String),
    /// There is no task with this number.
    #[error("there are {count} targets, and no task {number}: they are counted from 0")]
    NoTask {
        /// Number of targets.
        count: u64,
        /// The number that was requested.
        number: u64,
    },
}
