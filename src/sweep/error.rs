//! Errors of sweeps.

use simpartner_description::{ParameterError, xml::Diagnostics};
use thiserror::Error;

use crate::{config::ConfigError, recorder::RecorderError, run::RunError};

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
    /// A parameter of the model has no valid path or value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A case cannot start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Database(#[from] RecorderError),
    /// A file cannot be read or written.
    #[error(transparent)]
    System(#[from] std::io::Error),
}
