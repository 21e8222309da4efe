//! Images of a logged run: those with a hash in the log are made again and compared.

use std::collections::BTreeMap;

use simpartner_model::{DeviceId, StepIndex};
use simpartner_render::Scene;
use simpartner_wire::signal::{EventKind, StepRecord};

use super::error::ReplayError;
use crate::{
    camera::{CameraModel, hash_text},
    recorder::{
        Inquiry, RecorderError,
        inquiry::{Selection, Table},
    },
    sim::Simulation,
};

/// The images of a run with a hash in the log.
pub(super) struct LoggedImages {
    /// Camera and hashes of each image, by the step that it is of.
    expected: BTreeMap<StepIndex, Vec<(DeviceId, String)>>,
    scene: Option<Scene>,
    /// Number of images compared.
    pub(super) compared: u64,
    /// The first that differs, as a sentence.
    pub(super) mismatch: Option<String>,
}

impl LoggedImages {
    /// Reads the hashes of a run.
    pub(super) fn read_hashes(inquiry: &mut Inquiry, run: i64, simulation: &Simulation) -> Result<Self, ReplayError> {
        let table = Table::named("event").expect("the log has this table");
        let devices = simulation.layout().devices();
        let mut expected: BTreeMap<StepIndex, Vec<(DeviceId, String)>> = BTreeMap::new();
        inquiry.rows(&Selection::all(table, run), &["kind", "subject", "text", "value"], |row| {
            if row[0].text() != EventKind::Image.name() {
                return Ok(());
            }
            let camera = devices.iter().position(|info| format!("{}/{}", info.robot, info.name) == row[1].text());
            if let (Some(camera), Some(step)) = (camera, row[3].number()) {
                let images = expected.entry(StepIndex(step as u64)).or_default();
                images.push((DeviceId::new(camera), row[2].text().to_owned()));
            }
            Ok::<_, RecorderError>(())
        })?;
        Ok(Self { expected, scene: None, compared: 0, mismatch: None })
    }

    /// Makes the images of a step again, and compares them.
    pub(super) fn compare_step(&mut self, simulation: &Simulation, record: &StepRecord) {
        let Some(images) = self.expected.remove(&record.step) else { return };
        for (camera, hashes) in images {
            let made = self.hashes_of(simulation, record, camera);
            self.compared += 1;
            if made.as_ref() != Ok(&hashes) && self.mismatch.is_none() {
                let info = simulation.layout().device_info(camera);
                let made = made.unwrap_or_else(|why| why);
                let name = format!("{}/{}", info.robot, info.name);
                self.mismatch = Some(format!("step {}, {name}: {hashes} in the log, {made} now", record.step));
            }
        }
    }

    /// The hashes of a camera's images of a step.
    fn hashes_of(&mut self, simulation: &Simulation, record: &StepRecord, camera: DeviceId) -> Result<String, String> {
        let (world, layout) = (simulation.world(), simulation.layout());
        let model = CameraModel::new(world, camera, layout.seed()).ok_or("no camera")?;
        let model = model.map_err(|error| error.to_string())?;
        let scene = match self.scene.take() {
            Some(scene) => scene,
            None => Scene::new(&world.mechanism).map_err(|error| error.to_string())?,
        };
        let scene = self.scene.insert(scene);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let images = model.images_of_record(record, scene, layout, threads);
        Ok(hash_text(&images.map_err(|error| error.to_string())?))
    }
}
