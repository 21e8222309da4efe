//! A point of contact, as the narrow phase finds it.

use bevy_math::DVec3;

/// A point where two surfaces touch or are about to touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Point between the surfaces, m.
    pub(super) point: DVec3,
    /// Unit vector from the first shape to the second.
    pub(super) normal: DVec3,
    /// Distance along the normal, m, negative for penetration.
    pub(super) gap: f64,
}
