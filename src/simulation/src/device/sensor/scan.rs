//! Scans: readings of many rays, which are made beside the steps.
//!
//! A scan sees the state of the step that it was begun at, so its numbers are the same whoever makes it and when. Its sensor takes it up at a step that
//! the model determines; if nobody has begun to make it by then, the sensor does.

use std::sync::{Arc, OnceLock};

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_description::Noise;
use simpartner_dynamics::{Ray, RayScene, RaySceneState};
use simpartner_model::{BodyId, Pose, StepIndex};
use simpartner_wire::signal::Field;

use super::noise::NoiseModel;
use crate::device::background::Background;

/// Rays that leave a body at one step, and what they may meet.
#[derive(Clone)]
pub(super) struct Scan {
    pub(super) scene: Arc<RayScene>,
    pub(super) body: BodyId,
    pub(super) world_from_body: Pose,
    /// Where the rays leave the body, body frame, m.
    pub(super) origin: DVec3,
    /// Unit directions, body frame.
    pub(super) directions: Arc<[DVec3]>,
    pub(super) range: f64,
}

/// A scan under way as part of the state between steps: what it sees and from where, and when it arrives.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScanState {
    scene: RaySceneState,
    world_from_body: ([f64; 3], [f64; 4]),
    range: f64,
    /// The figures of its noise, which may have been set anew since. Drift and random numbers are the sensor's.
    noise: Vec<Noise>,
    elapsed_s: f64,
    due: StepIndex,
}

/// A scan under way, with the noise that is to be on it.
pub(super) struct PendingScan {
    work: Arc<ScanWork>,
    /// The step at which its reading arrives.
    pub(super) due: StepIndex,
    is_offered: bool,
}

/// What makes a reading of a scan.
struct ScanWork {
    scan: Scan,
    noise: Arc<NoiseModel>,
    fields: Arc<[Field]>,
    /// Time since the reading before, s.
    elapsed_s: f64,
    made: OnceLock<(Vec<f64>, Arc<NoiseModel>)>,
}

impl Scan {
    /// Appends the distances along the rays. Rays pass through the body; one that meets nothing reads the range.
    pub(super) fn cast(&self, reading: &mut Vec<f64>) {
        let origin = self.world_from_body.point(self.origin);
        reading.extend(self.directions.iter().map(|direction| {
            let direction = self.world_from_body.direction(*direction).normalize();
            let ray = Ray { origin, direction, range: self.range, ignore: Some(self.body) };
            self.scene.cast(&ray).unwrap_or(self.range)
        }));
    }
}

/// Limits distances to the range after the noise. A ray that met nothing reads the range, without noise.
pub(super) fn limit(range: f64, truth: &[f64], reading: &mut [f64]) {
    for (distance, &truth) in reading.iter_mut().zip(truth) {
        *distance = if truth < range { distance.min(range) } else { range };
    }
}

impl ScanWork {
    /// The reading, and the noise as it is after it. Whoever asks first makes it; others wait.
    fn made(&self) -> &(Vec<f64>, Arc<NoiseModel>) {
        self.made.get_or_init(|| {
            let mut reading = Vec::with_capacity(self.fields.len());
            self.scan.cast(&mut reading);
            if self.noise.is_silent() {
                return (reading, Arc::clone(&self.noise));
            }
            let truth = reading.clone();
            let mut noise = NoiseModel::clone(&self.noise);
            noise.apply_noise(&mut reading, &self.fields, self.elapsed_s);
            limit(self.scan.range, &truth, &mut reading);
            (reading, Arc::new(noise))
        })
    }
}

impl PendingScan {
    /// A scan `elapsed_s` after the reading before, which arrives at the step `due`.
    pub(super) fn new(
        scan: Scan,
        noise: Arc<NoiseModel>,
        fields: Arc<[Field]>,
        elapsed_s: f64,
        due: StepIndex,
    ) -> Self {
        let work = ScanWork { scan, noise, fields, elapsed_s, made: OnceLock::new() };
        Self { work: Arc::new(work), due, is_offered: false }
    }

    /// The scan of a state; `now` is any of the same sensor and world. `None` if the state is of another world.
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

    /// Offers it to the background, once.
    pub(super) fn offer(&mut self, background: &dyn Background) {
        if !std::mem::replace(&mut self.is_offered, true) {
            let work = Arc::clone(&self.work);
            background.run(Box::new(move || {
                work.made();
            }));
        }
    }

    /// Appends its reading and returns the noise as it is after it. Waits for the background if that is about to make it.
    pub(super) fn take(&self, reading: &mut Vec<f64>) -> Arc<NoiseModel> {
        let (made, noise) = self.work.made();
        reading.extend_from_slice(made);
        Arc::clone(noise)
    }
}
