//! The registry of edited worlds: their descriptions, until their first record reaches the log.

use std::sync::{Arc, Mutex, PoisonError};

use super::description::RunDescription;

/// Descriptions of edited worlds. The code that edits a world registers the new one before the clock continues in it.
/// At most one description is left of a refused edit, because the next edit has the same world number and replaces it.
#[derive(Debug, Clone, Default)]
pub struct WorldRegistry(Arc<Mutex<Vec<RunDescription>>>);

impl WorldRegistry {
    /// Adds the description of an edited world. It replaces an earlier world of the same number, whose edit was
    /// refused.
    pub fn register(&self, description: RunDescription) {
        let number = description.layout.world();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.layout.world() != number);
        known.push(description);
    }

    /// Takes the description of the world of this number and drops those registered before it, which had no step.
    pub(super) fn take_world(&self, world: u32) -> Option<RunDescription> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|known| known.layout.world() == world)?;
        known.drain(..=place).next_back()
    }
}
