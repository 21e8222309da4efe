//! Sensors of distances along rays.

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

/// Largest number of rays that are cast within their step (the table of kinds documents it). More rays are a scan in
/// the background. At 0.5 us a ray, as over terrain with hundreds of bodies, this number takes 0.1 ms: see
/// `cargo bench -p simpartner-dynamics --bench rays`.
const MAX_RAYS_IN_STEP: usize = 200;

/// The rays of a sensor, in the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct RayBundle {
    /// The body on which the sensor is mounted.
    pub body: BodyId,
    /// Common origin of the rays, body frame, metres.
    pub origin: DVec3,
    /// Unit directions, body frame.
    pub directions: Vec<DVec3>,
    /// Range in the model, metres: the reading of a ray that hits nothing. Clients can configure another.
    pub range: f64,
    /// Number of fans, one above the other, each with the same number of rays.
    pub layers: usize,
}

/// The rays of a sensor; `None` if it measures along none.
pub fn rays(sensor: &Sensor) -> Option<RayBundle> {
    let Mount::Body { body, pose } = sensor.mount else { return None };
    let scanner = sensor.rays()?;
    Some(RayBundle {
        body,
        origin: pose.translation,
        directions: ray_directions(&pose, scanner),
        range: scanner.range,
        layers: scanner.layers,
    })
}

/// A sensor of distances along rays from one point. A ray that hits nothing within the range reads the range. Rays pass
/// through the body on which the sensor is mounted.
#[derive(Debug, Clone)]
pub(super) struct RaySensor {
    mount: MountPoint,
    /// Ray directions in the body's frame.
    directions: Arc<[DVec3]>,
    /// Metres.
    range: f64,
}

impl RaySensor {
    pub(super) fn new(mount: MountPoint, scanner: Scanner) -> Self {
        Self { mount, directions: ray_directions(&mount.pose_on_body, scanner).into(), range: scanner.range }
    }

    /// The rays in the present state of the world.
    fn present_scan(&self, engine: &dyn Engine) -> Scan {
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
        self.present_scan(engine).cast_rays(reading);
    }

    fn scan(&self, engine: &dyn Engine) -> Option<Scan> {
        (self.directions.len() > MAX_RAYS_IN_STEP).then(|| self.present_scan(engine))
    }

    fn clamp_to_range(&self, truth: &[f64], reading: &mut [f64]) {
        scan::clamp_to_range(self.range, truth, reading);
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
fn ray_directions(mount: &Pose, scanner: Scanner) -> Vec<DVec3> {
    let rays =
        |elevation| (0..scanner.rays).map(move |ray| (elevation, spread_angle(scanner.half_angle, ray, scanner.rays)));
    let fans = (0..scanner.layers).map(|layer| spread_angle(scanner.vertical_half_angle, layer, scanner.layers));
    let direction = |(elevation, azimuth)| {
        let (sine, cosine) = libm::sincos(azimuth);
        let (rise, reach) = libm::sincos(elevation);
        mount.direction(DVec3::new(sine * reach, rise, cosine * reach))
    };
    fans.flat_map(rays).map(direction).collect()
}

/// Angle number `index` of `count` angles that are evenly spaced from `-half_angle` to `half_angle`, radians. If there
/// is only one, it is 0.
fn spread_angle(half_angle: f64, index: usize, count: usize) -> f64 {
    match count {
        1 => 0.0,
        _ => half_angle * (2.0 * index as f64 / (count - 1) as f64 - 1.0),
    }
}
