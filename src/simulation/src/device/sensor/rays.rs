//! Distances along rays.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_description::{Mount, Scanner, Sensor};
use simpartner_dynamics::Engine;
use simpartner_model::{BodyId, Pose};

use super::{
    mount_point::MountPoint,
    probe::{Probe, ProbeState},
    scan::{self, Scan},
};

/// The most rays that are cast within their step (the table of kinds tells users); more are a scan beside the steps. So many take 0.1 ms where each takes 0.5 us, as over
/// terrain with hundreds of bodies (`cargo bench -p simpartner-dynamics --bench rays`).
const MOST_IN_STEP: usize = 200;

/// The rays of a sensor as they leave its body, in the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct RayBundle {
    /// The body they leave.
    pub body: BodyId,
    /// Where they leave it, body frame, metres.
    pub origin: DVec3,
    /// Unit directions, body frame.
    pub directions: Vec<DVec3>,
    /// The reading of a ray that meets nothing, metres, until a client configures another range.
    pub range: f64,
    /// Fans one above the other, each of as many rays.
    pub layers: usize,
}

/// The rays of a sensor that measures along some.
pub fn rays(sensor: &Sensor) -> Option<RayBundle> {
    let Mount::Body { body, pose } = sensor.mount else { return None };
    let scanner = sensor.rays()?;
    Some(RayBundle {
        body,
        origin: pose.translation,
        directions: directions(&pose, scanner),
        range: scanner.range,
        layers: scanner.layers,
    })
}

/// A bundle of rays from one point. A ray that meets nothing within the range reads the range; rays pass through the body that the
/// sensor is mounted on.
#[derive(Debug, Clone)]
pub(super) struct RaySensor {
    mount: MountPoint,
    /// Ray directions in the body's frame.
    directions: Arc<[DVec3]>,
    range: f64,
}

impl RaySensor {
    pub(super) fn new(mount: MountPoint, scanner: Scanner) -> Self {
        Self { mount, directions: directions(&mount.pose_on_body, scanner).into(), range: scanner.range }
    }

    /// Its rays at the present state.
    fn look(&self, engine: &dyn Engine) -> Scan {
        Scan {
            scene: engine.ray_scene(),
            body: self.mount.body,
            world_from_body: engine.body(self.mount.body).pose,
            origin: self.mount.pose_on_body.translation,
            directions: Arc::clone(&self.directions),
            range: self.range,
        }
    }
}

impl Probe for RaySensor {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        self.look(engine).cast(reading);
    }

    fn scan(&self, engine: &dyn Engine) -> Option<Scan> {
        (self.directions.len() > MOST_IN_STEP).then(|| self.look(engine))
    }

    fn limit(&self, truth: &[f64], reading: &mut [f64]) {
        scan::limit(self.range, truth, reading);
    }

    fn set_range(&mut self, range: f64) {
        self.range = range;
    }

    fn state(&self) -> ProbeState {
        ProbeState::Range(self.range)
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let &ProbeState::Range(range) = state else { return false };
        self.range = range;
        true
    }
}

/// Ray directions in the body's frame: fan by fan, ray by ray. `mount` is `body_from_sensor`.
fn directions(mount: &Pose, scanner: Scanner) -> Vec<DVec3> {
    let rays = |elevation| (0..scanner.rays).map(move |ray| (elevation, spread(scanner.half_angle, ray, scanner.rays)));
    let fans = (0..scanner.layers).map(|layer| spread(scanner.vertical_half_angle, layer, scanner.layers));
    let direction = |(elevation, azimuth)| {
        let (sine, cosine) = libm::sincos(azimuth);
        let (rise, reach) = libm::sincos(elevation);
        mount.direction(DVec3::new(sine * reach, rise, cosine * reach))
    };
    fans.flat_map(rays).map(direction).collect()
}

/// The angle of one of several evenly spread about 0. A single one is at 0.
fn spread(half_angle: f64, index: usize, count: usize) -> f64 {
    match count {
        1 => 0.0,
        _ => half_angle * (2.0 * index as f64 / (count - 1) as f64 - 1.0),
    }
}
