//! The state of a simulation as bytes, to go on from.

use serde::{Deserialize, Serialize};
use simpartner_model::StepIndex;
use thiserror::Error;

use super::Simulation;
use crate::device::{self, Device};

/// Bytes of the hash that stands before the state.
const HASH: usize = blake3::OUT_LEN;

/// Bytes that a simulation cannot go on from.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// They are not what was written.
    #[error("the snapshot is damaged: its bytes do not give the hash that was written with them")]
    Damaged,
    /// The state is of another engine, or of another version of it.
    #[error("the snapshot was made by {there}, and this is {here}")]
    Engine {
        /// Who made it.
        there: String,
        /// Who was to read it.
        here: String,
    },
    /// The state is of another model.
    #[error("the snapshot is of another model: {0}")]
    Model(String),
}

/// Everything a step starts from, but for commands that wait for a later one.
#[derive(Serialize, Deserialize)]
struct Saved {
    engine: String,
    seed: u64,
    step: StepIndex,
    diverged: bool,
    devices: Vec<device::Memory>,
    physics: simpartner_dynamics::Snapshot,
}

impl Simulation {
    /// The state after the last step, from which [`restore`](Self::restore) goes on bit for bit. Commands that wait for later
    /// steps are not in it.
    pub fn snapshot(&self) -> Vec<u8> {
        let saved = Saved {
            engine: self.engine.identity().to_string(),
            seed: self.seed,
            step: self.step,
            diverged: self.diverged,
            devices: self.devices.iter().map(Device::memory).collect(),
            physics: self.engine.snapshot(),
        };
        let room_for_hash = vec![0; HASH];
        let mut bytes = postcard::to_extend(&saved, room_for_hash).expect("plain numbers always serialise");
        let hash = blake3::hash(&bytes[HASH..]);
        bytes[..HASH].copy_from_slice(hash.as_bytes());
        bytes
    }

    /// Goes on from a snapshot of the same model, timestep and engine. Commands that wait for later steps are forgotten. If
    /// this simulation has another seed, then what happens by chance from here on follows from that.
    ///
    /// # Errors
    /// When the bytes are no such snapshot; the state is then unchanged.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let (hash, state) = snapshot.split_at_checked(HASH).ok_or(SnapshotError::Damaged)?;
        if blake3::hash(state).as_bytes() != hash {
            return Err(SnapshotError::Damaged);
        }
        let saved: Saved = postcard::from_bytes(state).map_err(|error| SnapshotError::Model(error.to_string()))?;
        let here = self.engine.identity().to_string();
        if saved.engine != here {
            return Err(SnapshotError::Engine { there: saved.engine, here });
        }
        let devices = self.remembered(saved.devices, saved.step, saved.seed)?;
        self.engine.restore(&saved.physics).map_err(|error| SnapshotError::Model(error.to_string()))?;
        self.devices = devices;
        (self.step, self.diverged) = (saved.step, saved.diverged);
        self.forget_commands();
        Ok(())
    }

    /// The devices of the model with what they carried.
    fn remembered(
        &self,
        memories: Vec<device::Memory>,
        step: StepIndex,
        seed: u64,
    ) -> Result<Vec<Device>, SnapshotError> {
        let mut devices = self.new_devices();
        if devices.len() != memories.len() {
            let what = format!("it has {} devices, and this one {}", memories.len(), devices.len());
            return Err(SnapshotError::Model(what));
        }
        for ((device, memory), spec) in devices.iter_mut().zip(memories).zip(&self.world.devices) {
            if !device.recall(memory, step) {
                return Err(SnapshotError::Model(format!("its '{}' is another device", spec.name)));
            }
            if seed != self.seed {
                device.reseed(spec, &self.world, self.seed);
            }
        }
        Ok(devices)
    }

    /// A hash of the state that [`snapshot`](Self::snapshot) keeps. Two runs with equal hashes go on equally.
    pub fn state_hash(&self) -> String {
        blake3::hash(&self.snapshot()[HASH..]).to_hex().to_string()
    }
}
