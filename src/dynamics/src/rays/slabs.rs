//! Entry of a ray into a box.

use bevy_math::DVec3;

use super::Ray;

/// Relative margin of the distances at which a ray enters and leaves a box: more than their rounding.
const DISTANCE_ROUNDING: f64 = 1e-12;
/// Smallest magnitude of a direction's component; smaller ones are replaced by it, so that every product with its
/// inverse is defined.
const MIN_COMPONENT: f64 = 1e-200;

/// A ray, prepared for tests against axis-aligned boxes (Kay and Kajiya, 1986).
pub(super) struct Slabs {
    origin: DVec3,
    inverse: DVec3,
}

impl Slabs {
    pub(super) fn new(ray: &Ray) -> Self {
        let invert =
            |component: f64| if component.abs() < MIN_COMPONENT { 1.0 / MIN_COMPONENT } else { 1.0 / component };
        let inverse = DVec3::from_array(ray.direction.to_array().map(invert));
        Self { origin: ray.origin, inverse }
    }

    /// A lower bound of the distance along the ray to a box; `f64::MAX` if the ray misses the box or enters it beyond
    /// `range`.
    #[inline]
    pub(super) fn entry(&self, low: DVec3, high: DVec3, range: f64) -> f64 {
        let (first, second) = ((low - self.origin) * self.inverse, (high - self.origin) * self.inverse);
        let near = first.min(second).max_element().max(0.0) * (1.0 - DISTANCE_ROUNDING);
        let far = first.max(second).min_element().min(range) * (1.0 + DISTANCE_ROUNDING);
        if near <= far { near } else { f64::MAX }
    }
}
