//! Sensors: what they read, in which frame, and how far.

use bevy_math::DVec3;

use super::field;
use crate::{
    model::{Pose, Scanner},
    physics::{Engine, Ray},
    signal::{BodyId, Field},
};

/// Beyond this no coordinate of a world makes sense, metres.
const WORLD_SIZE: f64 = 1e9;

/// Position of its mount in the world, metres. The same at rest and in free fall.
pub(super) struct PositionSensor {
    body: BodyId,
    mount: Pose,
    reading: [f64; 3],
}

impl PositionSensor {
    pub(super) fn new(body: BodyId, mount: Pose) -> Self {
        Self { body, mount, reading: [0.0; 3] }
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn read(&mut self, engine: &dyn Engine) {
        self.reading = engine.body(self.body).pose.point(self.mount.translation).to_array();
    }
}

/// x, y and z.
pub(super) fn position_fields() -> Vec<Field> {
    ["x", "y", "z"].map(|name| field(name.into(), "m", -WORLD_SIZE, WORLD_SIZE)).into()
}

/// Distances along a fan of rays in the mount's z-x plane, from minus to plus the half angle about its z axis; what is not
/// met within the range reads the range. The body it sits on does not stand in its way.
pub(super) struct ScannerSensor {
    body: BodyId,
    mount: Pose,
    /// Ray directions in the body's frame.
    directions: Vec<DVec3>,
    range: f64,
    reading: Vec<f64>,
}

impl ScannerSensor {
    pub(super) fn new(body: BodyId, scanner: Scanner) -> Self {
        let directions = (0..scanner.rays)
            .map(|ray| {
                let (sine, cosine) = libm::sincos(ray_angle(&scanner, ray));
                scanner.mount.direction(DVec3::new(sine, 0.0, cosine))
            })
            .collect();
        let reading = vec![scanner.range; scanner.rays];
        Self { body, mount: scanner.mount, directions, range: scanner.range, reading }
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn range(&self) -> f64 {
        self.range
    }

    pub(super) fn set_range(&mut self, range: f64) {
        self.range = range;
    }

    pub(super) fn read(&mut self, engine: &dyn Engine) {
        let world_from_body = engine.body(self.body).pose;
        let origin = world_from_body.point(self.mount.translation);
        for (reading, direction) in self.reading.iter_mut().zip(&self.directions) {
            let direction = world_from_body.direction(*direction).normalize();
            let ray = Ray { origin, direction, range: self.range, ignore: Some(self.body) };
            *reading = engine.cast_ray(&ray).unwrap_or(self.range);
        }
    }
}

/// The angle of a ray from z towards x, radians. A single ray looks along z.
fn ray_angle(scanner: &Scanner, ray: usize) -> f64 {
    match scanner.rays {
        1 => 0.0,
        rays => scanner.half_angle * (2.0 * ray as f64 / (rays - 1) as f64 - 1.0),
    }
}

/// One distance a ray.
pub(super) fn scanner_fields(scanner: &Scanner) -> Vec<Field> {
    (1..=scanner.rays).map(|ray| field(format!("distance_{ray}"), "m", 0.0, scanner.range)).collect()
}
