//! Errors of sweeps.

use simpartner_description::xml::Diagnostics;
use thiserror::Error;

use crate::{config::ConfigError, recorder::RecorderError};

/// Errors in planning or running a sweep.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The sweep file has a problem.
    #[error("{path}: {what}")]
    File {
        /// Path of the file.
        path: String,
        /// Description of the problem, with its place in the file if it has one.
        what: String,
    },
    /// A model or a sequence has problems.
    #[error(transparent)]
    Model(#[from] Diagnostics),
    /// A setting has a problem.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Database(#[from] RecorderError),
}
