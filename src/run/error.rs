//! Errors of runs.

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use simpartner_wire::ports_file::PortsFileError;
use thiserror::Error;

use crate::{realtime::ThreadError, recorder::RecorderError, server::ServerError};

/// Errors that keep a run from starting, or end its physics thread.
#[derive(Debug, Error)]
pub enum RunError {
    /// Model or sequence files have problems.
    #[error(transparent)]
    Files(#[from] Diagnostics),
    /// The engine cannot represent the world.
    #[error(transparent)]
    World(#[from] BuildError),
    /// A setting does not fit the world.
    #[error("{key}: {what}")]
    Setting {
        /// Path of the setting, `section.key`.
        key: &'static str,
        /// Description of the error.
        what: String,
    },
    /// The log failed.
    #[error(transparent)]
    Log(#[from] RecorderError),
    /// A port cannot be opened.
    #[error(transparent)]
    Ports(#[from] ServerError),
    /// The ports file cannot be written.
    #[error(transparent)]
    PortsFile(#[from] PortsFileError),
    /// The physics thread failed.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The operating system provides no async runtime.
    #[error(transparent)]
    System(#[from] std::io::Error),
}
