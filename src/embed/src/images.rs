//! Images of cameras. They are made when the program asks.

use std::sync::Arc;

use simpartner_model::{DeviceId, StepIndex};
use simpartner_simulation::camera::{CameraImage, CameraModel};
use simpartner_wire::protocol::Refusal;

use crate::{EmbedError, EmbeddedSimulation};

impl EmbeddedSimulation {
    /// The image of a camera that has arrived last, with the step that it is of: one image for each of the camera's
    /// encodings. It is made on `threads` threads; their number changes no bit.
    ///
    /// # Errors
    /// The device is no camera, it is off, or no image has arrived yet.
    pub fn images(&mut self, device: DeviceId, threads: usize) -> Result<(StepIndex, Vec<CameraImage>), EmbedError> {
        let (world, layout) = (Arc::clone(self.world()), Arc::clone(self.layout()));
        let model = CameraModel::new(&world, device, self.seed()).ok_or_else(|| {
            let info = layout.device_info(device);
            Refusal::Parameter(format!("'{}/{}' is a {}, which has no images", info.robot, info.name, info.kind))
        })?;
        let model = model.map_err(|error| Refusal::State(error.to_string()))?;
        if self.record.off[device.index()] {
            return Err(Refusal::Off.into());
        }
        let newest = self.cameras.newest.get(&device).cloned();
        let (step, source) = newest.ok_or_else(|| Refusal::State("no image of this camera has arrived yet".into()))?;
        let scene = self.cameras.scene_of(&world)?;
        let images = model.images_from(&source, scene, &layout, threads).map_err(Refusal::State)?;
        Ok((step, images))
    }
}
