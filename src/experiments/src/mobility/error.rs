//! Errors of a mobility study.

use simpartner_dynamics::BuildError;
use thiserror::Error;

/// Errors of a mobility study.
#[derive(Debug, Error)]
pub enum MobilityError {
    /// The robot is no vehicle, or does not fit the ground.
    #[error("'{name}' cannot be studied: {what}")]
    Robot {
        /// Name of the robot.
        name: String,
        /// Description of the problem, and a remedy.
        what: String,
    },
    /// The engine refuses the robot.
    #[error("{0}")]
    Engine(#[from] BuildError),
}
