//! Errors of a mobility study.

use simpartner_dynamics::BuildError;
use thiserror::Error;

/// Reason why a study has no figures.
#[derive(Debug, Error)]
pub enum MobilityError {
    /// A robot that is no vehicle.
    #[error("'{name}' cannot be studied: {what}")]
    Robot {
        /// Its name.
        name: String,
        /// What is missing, and what helps.
        what: String,
    },
    /// The engine refuses it.
    #[error("{0}")]
    Engine(#[from] BuildError),
}
