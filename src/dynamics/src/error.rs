//! The errors of an engine: worlds and snapshots that it cannot take.

use thiserror::Error;

/// The error of bytes that are not a snapshot of this engine and world.
#[derive(Debug, Error)]
#[error("not a snapshot of this engine and world: {0}")]
pub struct SnapshotError(pub(crate) String);

/// The error of a world that the engine cannot represent.
#[derive(Debug, Error)]
#[error("{place}: {what}")]
pub struct BuildError {
    /// `file:line:column` of the element.
    pub place: String,
    /// The error, and its remedy.
    pub what: String,
}
