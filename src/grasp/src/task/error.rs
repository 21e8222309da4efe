//! Errors in preparing a task.

use simpartner_dynamics::BuildError;
use thiserror::Error;

/// Errors in preparing a task.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The hand cannot be moved.
    #[error("{0}")]
    Gripper(String),
    /// The object cannot be computed with.
    #[error("the object: {0}")]
    Object(String),
    /// The engine cannot represent the scene.
    #[error(transparent)]
    Build(#[from] BuildError),
}
