//! Where a ray enters a box.

use bevy_math::DVec3;

use crate::Ray;

/// More than the rounding of where a ray enters a box and leaves it, as a part of these distances.
const ROUNDING: f64 = 1e-12;
/// A component of a direction that counts as this one if it is smaller: its inverse is finite, so that no product with
/// it is indefinite.
const SMALLEST: f64 = 1e-200;

/// A ray against boxes with the world's axes (Kay and Kajiya, 1986).
pub(super) struct Slabs {
    origin: DVec3,
    inverse: DVec3,
}

impl Slabs {
    pub(super) fn new(ray: &Ray) -> Self {
        let invert = |component: f64| if component.abs() < SMALLEST { 1.0 / SMALLEST } else { 1.0 / component };
        let inverse = DVec3::from_array(ray.direction.to_array().map(invert));
        Self { origin: ray.origin, inverse }
    }

    /// The distance along the ray to a box, not more than it is; `f64::MAX` if the ray passes it by or enters it beyond
    /// `range`.
    #[inline]
    pub(super) fn entry(&self, low: DVec3, high: DVec3, range: f64) -> f64 {
        let (first, second) = ((low - self.origin) * self.inverse, (high - self.origin) * self.inverse);
        let near = first.min(second).max_element().max(0.0) * (1.0 - ROUNDING);
        let far = first.max(second).min_element().min(range) * (1.0 + ROUNDING);
        if near <= far { near } else { f64::MAX }
    }
}
