//! Sums of the stresses over the surface of a shape in soil.

use bevy_math::DVec3;

use crate::engine::equations::damping::Vector6;

/// Sums over a surface: force, moment over the size, and the part of the force from normal stress, N.
#[derive(Default)]
pub(super) struct StressSums {
    pub(super) force: DVec3,
    pub(super) moment: DVec3,
    pub(super) pressed: DVec3,
    /// Largest derivative of the pressure of yielding soil with respect to depth, Pa/m; and smallest stress difference
    /// to a change of regime, Pa, 0 where unknown.
    pub(super) steepest: f64,
    pub(super) margin: f64,
    /// Smallest fraction of the shear modulus over which any of it unloads.
    pub(super) gives: f64,
    /// Upper bounds of the energy that all stresses hold, and that pressure alone holds, J.
    pub(super) stored: [f64; 2],
    /// True if all of it that presses yields to shear.
    pub(super) slides: bool,
    /// Matrix K: decrease of the wrench for each unit of twist at the end. Entries on the diagonal and below.
    pub(super) matrix: [Vector6; 6],
}

impl StressSums {
    pub(super) fn wrench(&self) -> Vector6 {
        let (force, moment) = (self.force, self.moment);
        [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    }
}
