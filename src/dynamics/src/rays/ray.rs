//! A ray, as sensors cast it.

use bevy_math::DVec3;
use simpartner_model::BodyId;

/// A ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Origin, world frame, m.
    pub origin: DVec3,
    /// Unit direction, world frame.
    pub direction: DVec3,
    /// Largest distance, m.
    pub range: f64,
    /// A body that the ray ignores: the one with the sensor.
    pub ignore: Option<BodyId>,
}
