//! Reasons why a case has no figure.

use simpartner_description::xml::Diagnostics;
use thiserror::Error;

/// Reason why a figure could not be measured.
#[derive(Debug, Error)]
pub enum Trouble {
    /// A robot, a sequence or a world could not be read: the call ends.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// The engine cannot do it, or came to no sound state: the row says so, and the call goes on.
    #[error("{0}")]
    Engine(String),
}
