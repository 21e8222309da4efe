//! A point of contact, as the narrow phase finds it.

use bevy_math::DVec3;

/// A point where two surfaces touch or are about to touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Point half way between surfaces near each other, m.
    pub(super) point: DVec3,
    /// Unit vector from the first shape to the second.
    pub(super) normal: DVec3,
    /// Distance along the normal, m, negative for penetration.
    pub(super) gap: f64,
}

/// Largest part of a gap across which a contact point is moved to a surface, m: ten times the distance at which rigid
/// surfaces rest. The point of a soft tyre that is pressed flat stays on the ground.
const MAX_THIN_GAP: f64 = 1e-5;

/// The part of a gap across which contact points are moved, m.
pub(super) fn thin_part(gap: f64) -> f64 {
    gap.clamp(-MAX_THIN_GAP, MAX_THIN_GAP)
}

impl Hit {
    /// Moves the point to the surface of the second shape, or to that of the first one: the only one of the two that
    /// moves. The lever of a rolling wheel is then its radius, whatever its gap, and equal wheels roll equally far.
    pub(super) fn move_to_surface(&mut self, of_second: bool) {
        self.point += self.normal * (if of_second { 0.5 } else { -0.5 } * thin_part(self.gap));
    }
}
