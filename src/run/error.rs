//! Why a run could not start or did not end properly.

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use thiserror::Error;

use crate::{
    realtime::ThreadError,
    recorder::RecorderError,
    server::{PortsFileError, ServerError},
};

/// Why a run could not start, or why its physics thread died.
#[derive(Debug, Error)]
pub enum RunError {
    /// Model or sequence files with problems.
    #[error(transparent)]
    Files(#[from] Diagnostics),
    /// A world that the engine cannot represent.
    #[error(transparent)]
    World(#[from] BuildError),
    /// A setting that does not fit the world.
    #[error("{key}: {what}")]
    Setting {
        /// The setting, as `section.key`.
        key: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The log.
    #[error(transparent)]
    Log(#[from] RecorderError),
    /// The ports.
    #[error(transparent)]
    Ports(#[from] ServerError),
    /// The file of ports.
    #[error(transparent)]
    PortsFile(#[from] PortsFileError),
    /// Threads.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The operating system gave no async runtime.
    #[error(transparent)]
    System(#[from] std::io::Error),
}
