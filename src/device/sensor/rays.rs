//! Distances along rays.

use bevy_math::DVec3;
use simpartner_description::{Measures, Mount, Scanner, Sensor};
use simpartner_dynamics::{Engine, Ray};
use simpartner_model::{BodyId, Pose};

use super::seat::Seat;

/// The rays of a sensor as they leave its body, in the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct RayBundle {
    /// The body they leave.
    pub body: BodyId,
    /// Where they leave it, body frame, metres.
    pub origin: DVec3,
    /// Unit directions, body frame.
    pub directions: Vec<DVec3>,
    /// What a ray that meets nothing reads, metres, until the sensor is told another range.
    pub range: f64,
    /// Fans one above the other, each of as many rays.
    pub layers: usize,
}

/// The rays of a sensor that measures along some.
pub fn rays(sensor: &Sensor) -> Option<RayBundle> {
    let Mount::Body { body, pose } = sensor.mount else { return None };
    let scanner = match sensor.measures {
        Measures::Distance { range } => single(range),
        Measures::Scan(scanner) => scanner,
        _ => return None,
    };
    Some(RayBundle {
        body,
        origin: pose.translation,
        directions: directions(&pose, scanner),
        range: scanner.range,
        layers: scanner.layers,
    })
}

/// The one ray of a distance sensor.
pub(super) fn single(range: f64) -> Scanner {
    Scanner { rays: 1, range, ..Scanner::default() }
}

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
        Self { seat, directions: directions(&seat.mount, scanner), range: scanner.range }
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

/// The angle of one of several evenly spread about 0. A single one stands at 0.
fn spread(half_angle: f64, index: usize, count: usize) -> f64 {
    match count {
        1 => 0.0,
        _ => half_angle * (2.0 * index as f64 / (count - 1) as f64 - 1.0),
    }
}
