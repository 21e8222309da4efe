//! Snapshots: the state of a simulation as bytes, and restoring a simulation from them.

use serde::{Deserialize, Serialize};
use simpartner_model::StepIndex;
use thiserror::Error;

use super::{Simulation, push::ActivePushes};
use crate::device::{Device, DeviceState, ScanState};

/// Length of the hash before the state, bytes.
const HASH_BYTES: usize = blake3::OUT_LEN;

/// The reason why a simulation cannot be restored from a snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The bytes are not those that were written.
    #[error("the snapshot is damaged: its bytes do not give the hash that was written with them")]
    Damaged,
    /// The snapshot was made by another engine or another version of it.
    #[error("the snapshot was made by {there}, and this is {here}")]
    Engine {
        /// The engine that made the snapshot.
        there: String,
        /// The engine of this simulation.
        here: String,
    },
    /// The snapshot is of another model; the text says how they differ.
    #[error("the snapshot is of another model: {0}")]
    Model(String),
}

/// Everything that a step depends on, except commands for later steps and scans under way.
#[derive(Serialize, Deserialize)]
struct SavedState {
    engine: String,
    seed: u64,
    step: StepIndex,
    diverged: bool,
    devices: Vec<DeviceState>,
    physics: simpartner_dynamics::Snapshot,
}

/// Index of a device and its scan under way. A list of these follows the [`SavedState`] if there are any, or pushes,
/// whose list follows it if there are any.
type SavedScan = (usize, ScanState);

fn saved_scan((index, device): (usize, &Device)) -> Option<SavedScan> {
    device.scan_state().map(|scan| (index, scan))
}

impl Simulation {
    /// The state after the last step. A simulation that is [restored](Self::restore) from it continues bit for bit.
    /// Commands for later steps are not included.
    pub fn snapshot(&self) -> Vec<u8> {
        let saved = SavedState {
            engine: self.engine.identity().to_string(),
            seed: self.seed,
            step: self.step,
            diverged: self.diverged,
            devices: self.devices.iter().map(Device::state).collect(),
            physics: self.engine.snapshot(),
        };
        let room_for_hash = vec![0; HASH_BYTES];
        let mut bytes = postcard::to_extend(&saved, room_for_hash).expect("plain numbers always serialise");
        let scans: Vec<_> = self.devices.iter().enumerate().filter_map(saved_scan).collect();
        if !scans.is_empty() || !self.pushes.is_empty() {
            bytes = postcard::to_extend(&scans, bytes).expect("plain numbers always serialise");
        }
        if !self.pushes.is_empty() {
            bytes = postcard::to_extend(&self.pushes, bytes).expect("plain numbers always serialise");
        }
        let hash = blake3::hash(&bytes[HASH_BYTES..]);
        bytes[..HASH_BYTES].copy_from_slice(hash.as_bytes());
        bytes
    }

    /// Restores the state from a snapshot of the same model, timestep and engine. Commands for later steps are dropped.
    /// If this simulation has another seed, later random numbers follow from that seed.
    ///
    /// # Errors
    /// When the bytes are no such snapshot; the state is then unchanged.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let (hash, state) = snapshot.split_at_checked(HASH_BYTES).ok_or(SnapshotError::Damaged)?;
        if blake3::hash(state).as_bytes() != hash {
            return Err(SnapshotError::Damaged);
        }
        let refuse = |error: postcard::Error| SnapshotError::Model(error.to_string());
        let (saved, rest) = postcard::take_from_bytes::<SavedState>(state).map_err(refuse)?;
        // A snapshot without scans and pushes ends here.
        let (scans, rest): (Vec<SavedScan>, _) =
            if rest.is_empty() { (Vec::new(), rest) } else { postcard::take_from_bytes(rest).map_err(refuse)? };
        let pushes: ActivePushes =
            if rest.is_empty() { ActivePushes::default() } else { postcard::from_bytes(rest).map_err(refuse)? };
        if !pushes.fit_world(self.world.mechanism.bodies.len()) {
            return Err(SnapshotError::Model("it pushes a body that is not there".into()));
        }
        let here = self.engine.identity().to_string();
        if saved.engine != here {
            return Err(SnapshotError::Engine { there: saved.engine, here });
        }
        let mut devices = self.restored_devices(saved.devices, saved.step, saved.seed)?;
        for (index, scan) in &scans {
            if !devices.get_mut(*index).is_some_and(|device| device.restore_scan(scan, &*self.engine)) {
                return Err(SnapshotError::Model(format!("it has a scan of device {index}, which is another one")));
            }
        }
        self.engine.restore(&saved.physics).map_err(|error| SnapshotError::Model(error.to_string()))?;
        self.devices = devices;
        (self.step, self.diverged) = (saved.step, saved.diverged);
        self.drop_commands();
        self.pushes = pushes;
        let restored = self.observe();
        self.balance.restart(&self.layout, &restored.values);
        Ok(())
    }

    /// Creates the devices of the model in the given states.
    fn restored_devices(
        &self,
        states: Vec<DeviceState>,
        step: StepIndex,
        seed: u64,
    ) -> Result<Vec<Device>, SnapshotError> {
        let mut devices = self.new_devices();
        if devices.len() != states.len() {
            let what = format!("it has {} devices, and this one {}", states.len(), devices.len());
            return Err(SnapshotError::Model(what));
        }
        for ((device, state), spec) in devices.iter_mut().zip(states).zip(&self.world.devices) {
            if !device.restore(state, step) {
                return Err(SnapshotError::Model(format!("its '{}' is another device", spec.name)));
            }
            if seed != self.seed {
                device.reseed(spec, &self.world, self.seed);
            }
        }
        Ok(devices)
    }

    /// Hash of the state in [`snapshot`](Self::snapshot). Two runs with equal hashes continue equally.
    pub fn state_hash(&self) -> String {
        blake3::hash(&self.snapshot()[HASH_BYTES..]).to_hex().to_string()
    }
}
