//! Distances along rays.

use bevy_math::DVec3;

use super::seat::Seat;
use crate::{
    model::Scanner,
    physics::{Engine, Ray},
};

/// A bundle of rays from one point. What is not met within the range reads the range; the body the sensor sits on does not
/// stand in the way.
#[derive(Debug, Clone)]
pub(super) struct Rays {
    seat: Seat,
    /// Ray directions in the body's frame.
    directions: Vec<DVec3>,
    range: f64,
}

impl Rays {
    pub(super) fn new(seat: Seat, scanner: Scanner) -> Self {
        let rays =
            |elevation| (0..scanner.rays).map(move |ray| (elevation, spread(scanner.half_angle, ray, scanner.rays)));
        let fans = (0..scanner.layers).map(|layer| spread(scanner.vertical_half_angle, layer, scanner.layers));
        let direction = |(elevation, azimuth)| {
            let (sine, cosine) = libm::sincos(azimuth);
            let (rise, reach) = libm::sincos(elevation);
            seat.mount.direction(DVec3::new(sine * reach, rise, cosine * reach))
        };
        Self { seat, directions: fans.flat_map(rays).map(direction).collect(), range: scanner.range }
    }

    pub(super) fn range(&self) -> f64 {
        self.range
    }

    pub(super) fn set_range(&mut self, range: f64) {
        self.range = range;
    }

    pub(super) fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let world_from_body = engine.body(self.seat.body).pose;
        let origin = world_from_body.point(self.seat.mount.translation);
        reading.extend(self.directions.iter().map(|direction| {
            let direction = world_from_body.direction(*direction).normalize();
            let ray = Ray { origin, direction, range: self.range, ignore: Some(self.seat.body) };
            engine.cast_ray(&ray).unwrap_or(self.range)
        }));
    }
}

/// The angle of one of several evenly spread about 0. A single one stands at 0.
fn spread(half_angle: f64, index: usize, count: usize) -> f64 {
    match count {
        1 => 0.0,
        _ => half_angle * (2.0 * index as f64 / (count - 1) as f64 - 1.0),
    }
}
