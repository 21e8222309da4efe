//! Errors of embedded simulations.

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use simpartner_simulation::sim::SnapshotError;
use simpartner_wire::protocol::Refusal;
use thiserror::Error;

/// Errors of an embedded simulation. After one, the state is as before the call.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// Model files have problems; the text has file, line and column of each.
    #[error(transparent)]
    Files(#[from] Diagnostics),
    /// The engine cannot represent something in the world.
    #[error(transparent)]
    World(#[from] BuildError),
    /// A request or a command does not fit; a server answers with the same words.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The snapshot is damaged, or of another model, engine or version.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The physics has diverged.
    #[error("the physics has diverged in step {step}, so no further step is made; reset the simulation")]
    Diverged {
        /// The last step.
        step: u64,
    },
    /// An array has another length than the channels.
    #[error("expected {expected} numbers for the {what}, got {got}")]
    Length {
        /// Content of the array.
        what: &'static str,
        /// Its length by the channels.
        expected: usize,
        /// Its length.
        got: usize,
    },
    /// A simulation of a batch failed.
    #[error("world {index}: {error}")]
    InBatch {
        /// Its place in the batch, from 0.
        index: usize,
        /// Its error.
        error: Box<EmbedError>,
    },
    /// The operating system provides no threads.
    #[error("the threads of the batch cannot be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}
