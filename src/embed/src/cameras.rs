//! Images of cameras. They are made when the program asks.

use std::{collections::BTreeMap, sync::Arc};

use simpartner_description::World;
use simpartner_model::{DeviceId, StepIndex};
use simpartner_render::Scene;
use simpartner_simulation::camera::{Arrivals, CameraImage, CameraModel, ImageSource};
use simpartner_wire::{
    protocol::Refusal,
    signal::{Layout, StepRecord},
};

use crate::{EmbedError, EmbeddedSimulation};

/// The images that have arrived last, and the scene to make them of.
#[derive(Debug, Default)]
pub(crate) struct Cameras {
    /// Steps of which images have yet to arrive.
    expected: Arrivals,
    newest: BTreeMap<DeviceId, (StepIndex, ImageSource)>,
    /// Made for the first image.
    scene: Option<Scene>,
}

impl Cameras {
    /// Notes the images that arrive in a record.
    pub(crate) fn take(&mut self, record: &StepRecord, layout: &Layout) {
        if layout.devices().iter().all(|device| device.camera.is_none()) {
            return;
        }
        for arrival in self.expected.take(&Arc::new(record.clone()), layout) {
            self.newest.insert(arrival.device, (arrival.step, arrival.source));
        }
    }

    fn scene_of(&mut self, world: &World) -> Result<&mut Scene, Refusal> {
        if self.scene.is_none() {
            self.scene = Some(Scene::new(&world.mechanism).map_err(|error| Refusal::State(error.to_string()))?);
        }
        self.scene.as_mut().ok_or_else(|| Refusal::State("the world has no scene".into()))
    }
}

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
