//! Errors in preparing a task.

use simpartner_dynamics::BuildError;
use thiserror::Error;

/// Errors in preparing a task.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The gripper does not fit the task: its slides, fingers or loops.
    #[error("{0}")]
    Gripper(String),
    /// The object cannot be grasped: it is fixed, or has no mass properties.
    #[error("the object: {0}")]
    Object(String),
    /// The engine cannot represent the scene.
    #[error(transparent)]
    Build(#[from] BuildError),
}
