//! Scans: readings of many rays, which are computed in the background.
//!
//! A scan sees the state of the step at which it began, so its values do not depend on when and by which thread they
//! are computed. The sensor completes it at a step that the model determines. If no thread has begun to compute it by
//! then, the sensor does.

use std::sync::{Arc, OnceLock};

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_description::Noise;
use simpartner_dynamics::{Ray, RayScene, RaySceneState};
use simpartner_model::{BodyId, Pose, StepIndex};
use simpartner_wire::signal::Field;

use super::noise::NoiseModel;
use crate::device::background::Background;

/// Rays that leave a body at one step, and the scene that they may hit.
#[derive(Clone)]
pub(super) struct Scan {
    pub(super) scene: Arc<RayScene>,
    pub(super) body: BodyId,
    pub(super) world_from_body: Pose,
    /// Common origin of the rays, body frame, m.
    pub(super) origin: DVec3,
    /// Unit directions, body frame.
    pub(super) directions: Arc<[DVec3]>,
    /// Metres.
    pub(super) range: f64,
}

/// A scan under way, as part of the state between steps: its scene, its origin and the step at which its reading
/// arrives.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScanState {
    scene: RaySceneState,
    world_from_body: ([f64; 3], [f64; 4]),
    range: f64,
    /// The noise figures at the start of the scan; the sensor's may have been changed since. Drift and random numbers
    /// are those of the sensor.
    noise: Vec<Noise>,
    elapsed_s: f64,
    due: StepIndex,
}

/// A scan under way, with the noise to be added.
pub(super) struct PendingScan {
    work: Arc<ScanWork>,
    /// The step at which its reading arrives.
    pub(super) due: StepIndex,
    /// True after the scan was offered to the background worker.
    is_offered: bool,
}

/// Input and result of computing a scan's reading.
struct ScanWork {
    scan: Scan,
    noise: Arc<NoiseModel>,
    fields: Arc<[Field]>,
    /// Time since the previous reading.
    elapsed_s: f64,
    /// The reading and the noise model after it.
    result: OnceLock<(Vec<f64>, Arc<NoiseModel>)>,
}

impl Scan {
    /// Appends the distances along the rays, m. Rays pass through the sensor's body; a ray that hits nothing reads the
    /// range.
    pub(super) fn cast_rays(&self, reading: &mut Vec<f64>) {
        let origin = self.world_from_body.point(self.origin);
        reading.extend(self.directions.iter().map(|direction| {
            let direction = self.world_from_body.direction(*direction).normalize();
            let ray = Ray { origin, direction, range: self.range, ignore: Some(self.body) };
            self.scene.cast(&ray).unwrap_or(self.range)
        }));
    }
}

/// Limits distances with noise to the range. A ray that hit nothing reads the range, without noise.
pub(super) fn clamp_to_range(range: f64, truth: &[f64], reading: &mut [f64]) {
    for (distance, &truth) in reading.iter_mut().zip(truth) {
        *distance = if truth < range { distance.min(range) } else { range };
    }
}

impl ScanWork {
    /// The reading, and the noise model after it. The first caller computes them; others wait for it.
    fn result(&self) -> &(Vec<f64>, Arc<NoiseModel>) {
        self.result.get_or_init(|| {
            let mut reading = Vec::with_capacity(self.fields.len());
            self.scan.cast_rays(&mut reading);
            if self.noise.is_silent() {
                return (reading, Arc::clone(&self.noise));
            }
            let truth = reading.clone();
            let mut noise = NoiseModel::clone(&self.noise);
            noise.apply_noise(&mut reading, &self.fields, self.elapsed_s);
            clamp_to_range(self.scan.range, &truth, &mut reading);
            (reading, Arc::new(noise))
        })
    }
}

impl PendingScan {
    /// A scan that is taken `elapsed_s` after the previous reading and arrives at the step `due`.
    pub(super) fn new(
        scan: Scan,
        noise: Arc<NoiseModel>,
        fields: Arc<[Field]>,
        elapsed_s: f64,
        due: StepIndex,
    ) -> Self {
        let work = ScanWork { scan, noise, fields, elapsed_s, result: OnceLock::new() };
        Self { work: Arc::new(work), due, is_offered: false }
    }

    /// Restores a scan from a state; `now` is any scan of the same sensor and world. `None` if the state is of another
    /// world.
    pub(super) fn restored(state: &ScanState, now: Scan, noise: &NoiseModel, fields: Arc<[Field]>) -> Option<Self> {
        let (translation, rotation) = state.world_from_body;
        let scan = Scan {
            scene: Arc::new(now.scene.with_state(&state.scene)?),
            world_from_body: Pose {
                translation: DVec3::from_array(translation),
                rotation: DQuat::from_array(rotation),
            },
            range: state.range,
            ..now
        };
        let noise = Arc::new(noise.with_figures(&state.noise)?);
        Some(Self::new(scan, noise, fields, state.elapsed_s, state.due))
    }

    pub(super) fn state(&self) -> ScanState {
        let ScanWork { scan, noise, elapsed_s, .. } = &*self.work;
        let Pose { translation, rotation } = scan.world_from_body;
        ScanState {
            scene: scan.scene.state(),
            world_from_body: (translation.to_array(), rotation.to_array()),
            range: scan.range,
            noise: noise.figures(),
            elapsed_s: *elapsed_s,
            due: self.due,
        }
    }

    /// Offers the scan to the background worker, once.
    pub(super) fn offer_to(&mut self, background: &dyn Background) {
        if !std::mem::replace(&mut self.is_offered, true) {
            let work = Arc::clone(&self.work);
            background.run(Box::new(move || {
                work.result();
            }));
        }
    }

    /// Appends the reading and returns the noise model after it. Waits if the background worker is computing it.
    pub(super) fn append_reading(&self, reading: &mut Vec<f64>) -> Arc<NoiseModel> {
        let (values, noise) = self.work.result();
        reading.extend_from_slice(values);
        Arc::clone(noise)
    }
}
