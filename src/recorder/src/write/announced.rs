//! Worlds that the run may go on in, until the log comes to their first record.

use std::sync::{Arc, Mutex, PoisonError};

use super::description::RunDescription;

/// Descriptions of the next worlds. The code that makes a world puts it here before the clock goes on in it.
#[derive(Debug, Clone, Default)]
pub struct AnnouncedWorlds(Arc<Mutex<Vec<RunDescription>>>);

impl AnnouncedWorlds {
    /// Adds the next world. One of the same number was never gone on in.
    pub fn announce(&self, description: RunDescription) {
        let number = description.layout.world();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.layout.world() != number);
        known.push(description);
    }

    /// Takes the world of a number; those before it have had no step.
    pub(super) fn take(&self, world: u32) -> Option<RunDescription> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|known| known.layout.world() == world)?;
        known.drain(..=place).next_back()
    }
}
