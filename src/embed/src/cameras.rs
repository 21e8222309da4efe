//! Images that have arrived from cameras.

use std::{collections::BTreeMap, sync::Arc};

use simpartner_description::World;
use simpartner_model::{DeviceId, StepIndex};
use simpartner_render::Scene;
use simpartner_simulation::camera::{Arrivals, ImageSource};
use simpartner_wire::{
    protocol::Refusal,
    signal::{Layout, StepRecord},
};

/// The images that have arrived last, and the scene to make them of.
#[derive(Debug, Default)]
pub(crate) struct Cameras {
    /// Steps of which images have yet to arrive.
    expected: Arrivals,
    pub(crate) newest: BTreeMap<DeviceId, (StepIndex, ImageSource)>,
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

    pub(crate) fn scene_of(&mut self, world: &World) -> Result<&mut Scene, Refusal> {
        if self.scene.is_none() {
            self.scene = Some(Scene::new(&world.mechanism).map_err(|error| Refusal::State(error.to_string()))?);
        }
        self.scene.as_mut().ok_or_else(|| Refusal::State("the world has no scene".into()))
    }
}
