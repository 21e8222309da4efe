//! An error in the settings.

/// An error in the settings: they have to be changed, so the bridge ends instead of trying again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error with this message.
    pub fn new(message: String) -> Self {
        Self(message)
    }
}
