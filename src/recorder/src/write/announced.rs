//! Descriptions of worlds that follow a world edit, kept until their first record reaches the log.

use std::sync::{Arc, Mutex, PoisonError};

use super::description::RunDescription;

/// Descriptions of upcoming worlds. The code that edits the world announces the new one here before the clock continues
/// in it.
#[derive(Debug, Clone, Default)]
pub struct AnnouncedWorlds(Arc<Mutex<Vec<RunDescription>>>);

impl AnnouncedWorlds {
    /// Adds the description of an upcoming world. It replaces an earlier world of the same number, in which the run
    /// never continued.
    pub fn announce(&self, description: RunDescription) {
        let number = description.layout.world();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.layout.world() != number);
        known.push(description);
    }

    /// Takes the description of the world of this number and drops those announced before it, which had no step.
    pub(super) fn take_world(&self, world: u32) -> Option<RunDescription> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|known| known.layout.world() == world)?;
        known.drain(..=place).next_back()
    }
}
