//! Reasons why a case has no figure.

use simpartner_description::xml::Diagnostics;
use thiserror::Error;

/// Reason why a figure could not be measured.
#[derive(Debug, Error)]
pub enum Trouble {
    /// A robot, a sequence or a world could not be read: the call ends.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// The engine cannot run the experiment, or its state diverged. The row reports this, and the other cases still
    /// run.
    #[error("{0}")]
    Engine(String),
}
