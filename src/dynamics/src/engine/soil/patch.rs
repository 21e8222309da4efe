//! Response of soil to the part of a shape that is in it, at the midpoint of a substep.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::Norm;

use super::{law::Law, pieces::Pieces, rim::Rim, stress_sums::StressSums};
use crate::engine::{
    algebra::spatial::Spatial,
    equations::damping::{DampedWrench, MotionSubspace, Symmetric, Vector6},
};

/// Assumed ratio of the error of a stored response to its last measured error, and the growth of that error in each
/// substep without a measurement. After some tens of substeps it is measured again.
const ERROR_SAFETY_FACTOR: f64 = 10.0;
const ERROR_GROWTH: f64 = 1.1;

/// Fraction of the energy that stresses hold that is negligible.
const NEGLIGIBLE_FRACTION: f64 = 1e-9;

/// The part of a shape that is in the soil.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(super) law: Law,
    /// Its surface: pieces, or the rim if it rolls.
    pub(super) pieces: Pieces,
    pub(super) rim: Rim,
    rolls: bool,
    /// Reference point of its wrench, world frame, and reference length, m: centroid and square root of its area, or
    /// centre and radius of a wheel that rolls.
    pub(crate) point: DVec3,
    pub(crate) size: f64,
    /// Centroid of its area, world frame, m.
    pub(super) middle: DVec3,
    /// Unit normal of the ground.
    pub(crate) up: DVec3,
    /// Distance of the plane of the surface from the origin along the normal, m.
    distance: f64,
    /// Sum of the areas, m², and sum of the areas weighted with the square of their row of pressing (an upper bound of
    /// the norm of the wrench's derivative for a unit derivative of stress).
    area: f64,
    spread: f64,
    /// Energy that the shape has put into the soil and may get back, J, for both motions: all of its motion, and the
    /// pressing along its path ([`Patch::limited_motions`]). A value below 0 is excess energy from the error of the
    /// steps. `stored` is the upper bound of the energy that the stresses held at the midpoint of the last substep, J.
    pub(super) held: [f64; 2],
    pub(super) stored: [f64; 2],
    /// Drag on both motions that keeps the energy given by the soil within that limit, as expected at the end of the
    /// last substep, N s/m.
    pub(crate) drag: [f64; 2],
    /// Response in an earlier step, if it rolls.
    pub(super) kept: Option<StoredResponse>,
}

/// Stored derivative of the wrench on a rim with respect to its velocity, for substeps of `h` seconds: it hardly
/// changes from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredResponse {
    matrix: Symmetric,
    h: f64,
    /// Error of the wrench for each unit of velocity from the guess, N s/m.
    off: f64,
}

impl StoredResponse {
    /// Updates the error after a committed substep: `seen` is the measured one, if it was measured.
    pub(super) fn update_error(&mut self, seen: Option<f64>) {
        self.off = seen.unwrap_or(self.off * ERROR_GROWTH);
    }
}

/// Response of soil: the linear wrench, the bound of its error, the forces found, and the derivative to store for the
/// next step if it is new.
#[derive(Debug, Clone)]
pub(crate) struct SoilResponse {
    pub(crate) response: DampedWrench,
    pub(crate) trust: ErrorBound,
    pub(crate) found: SoilForces,
    pub(crate) kept: Option<StoredResponse>,
}

/// Effect of soil on a shape in a substep: the wrench (force, and moment over the size, N), the part of the force from
/// normal stress, N, and the largest energies that it may give to both motions, J.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoilForces {
    pub(crate) wrench: Vector6,
    pub(crate) pressed: DVec3,
    pub(crate) gives: [f64; 2],
    stored: [f64; 2],
    /// True if any soil yields.
    pub(super) yields: bool,
    /// True if all of it yields to shear.
    pub(super) slides: bool,
}

/// Bound of the error of a linear response at velocities away from the guess.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorBound {
    /// Upper bound of the derivative of the wrench with respect to velocity, anywhere, N s/m.
    stiffest: f64,
    /// Up to this velocity from the guess, all yielding soil keeps yielding, and all holding soil holds, m/s. There the
    /// error is about `off` for each unit of velocity, N s/m.
    within: f64,
    off: f64,
}

impl ErrorBound {
    /// Upper bound of the error of the response at a velocity that differs by `change` from the guess, N.
    pub(crate) fn error(&self, change: f64) -> f64 {
        let most = 2.0 * self.stiffest;
        change * if change <= self.within { most.min(ERROR_SAFETY_FACTOR * self.off) } else { most }
    }
}

impl Patch {
    /// An empty patch.
    pub(super) fn new(law: Law) -> Self {
        Self {
            law,
            pieces: Pieces::default(),
            rim: Rim::default(),
            rolls: false,
            point: DVec3::ZERO,
            size: 1.0,
            middle: DVec3::ZERO,
            up: DVec3::Y,
            distance: 0.0,
            area: 0.0,
            spread: 0.0,
            held: [0.0; 2],
            stored: [0.0; 2],
            drag: [0.0; 2],
            kept: None,
        }
    }

    /// Empties the patch, on a ground with this plane: normal and distance, m.
    pub(super) fn clear(&mut self, (up, distance): (DVec3, f64)) {
        self.pieces.clear();
        self.rolls = false;
        (self.up, self.distance) = (up, distance);
    }

    /// Plane of the ground: its normal, and its distance from the origin, m.
    pub(super) fn ground_plane(&self) -> (DVec3, f64) {
        (self.up, self.distance)
    }

    /// Computes the derived quantities of its pieces. Returns the depth of the deepest piece, m; `None` if there are
    /// none.
    pub(super) fn finish_pieces(&mut self) -> Option<f64> {
        let (middle, [area, deepest, spread]) = self.pieces.finish_pieces(&self.law, self.up)?;
        (self.point, self.size, self.middle) = (middle, area.sqrt(), middle);
        (self.area, self.spread) = (area, spread);
        Some(deepest)
    }

    /// Computes the derived quantities of the rim of a wheel with this centre and radius. Returns the depth of the
    /// deepest place, m; `None` if nothing is in the soil.
    pub(super) fn finish_rim(&mut self, centre: DVec3, radius: f64) -> Option<f64> {
        let (middle, [area, deepest, spread]) = self.rim.centroid_and_extent()?;
        (self.point, self.size, self.middle) = (centre, radius, centre + middle);
        (self.area, self.spread, self.rolls) = (area, spread, true);
        Some(deepest)
    }

    /// A twist about its point, from six numbers: linear velocity, and angular velocity times the size, m/s.
    pub(super) fn twist(&self, six: &Vector6) -> Spatial {
        let &[vx, vy, vz, wx, wy, wz] = six;
        Spatial::new(DVec3::new(wx, wy, wz) / self.size, DVec3::new(vx, vy, vz))
    }

    /// Linear response to a shape with the twist `before` at the start of a substep and `after` at its end. The
    /// derivative is the stored one, unless `anew` asks to compute it.
    pub(crate) fn compute_response(&self, before: &Vector6, after: &Vector6, h: f64, anew: bool) -> SoilResponse {
        let known = self.kept.as_ref().filter(|kept| self.rolls && !anew && kept.h == h);
        let sums = match known {
            Some(_) => self.sum_stresses::<false>(before, after, h),
            None => self.sum_stresses::<true>(before, after, h),
        };
        let matrix = match known {
            Some(kept) => kept.matrix,
            None if self.rolls => self.rim.to_world(&sums.matrix),
            None => Symmetric::new(&sums.matrix),
        };
        let kept = (self.rolls && known.is_none()).then_some(StoredResponse { matrix, h, off: f64::MAX });
        let found = self.forces_from(&sums);
        let (pressure, hard) = (sums.pressed.norm() / self.area, self.law.max_stiffness(h));
        let soft = 0.25 * h * sums.steepest;
        // The rotation of a wheel shears soil at the radius of its grousers.
        let reach = if self.rolls { 1.0 + (1.0 + self.law.grousers / self.size).powi(2) } else { 1.0 };
        let most =
            |press: f64| self.spread * (press + self.law.max_shear_stiffness(press, pressure, h, sums.gives) * reach);
        let trust = ErrorBound {
            stiffest: most(hard),
            within: sums.margin / (hard + soft),
            off: known.map_or(f64::MAX, |kept| kept.off),
        };
        SoilResponse { response: DampedWrench { wrench: found.wrench, matrix }, trust, found, kept }
    }

    /// The wrench without its derivative.
    pub(crate) fn compute_forces(&self, before: &Vector6, after: &Vector6, h: f64) -> SoilForces {
        self.forces_from(&self.sum_stresses::<false>(before, after, h))
    }

    /// Result from the sums. The energy that soil may give is what was put in, up to what the present stresses hold, or
    /// those before.
    fn forces_from(&self, sums: &StressSums) -> SoilForces {
        let StressSums { pressed, stored, steepest, slides, .. } = *sums;
        let gives = [0, 1].map(|motion| {
            let most = self.stored[motion].max(stored[motion]);
            self.held[motion].min(most).max(NEGLIGIBLE_FRACTION * most)
        });
        SoilForces { wrench: sums.wrench(), pressed, gives, stored, yields: steepest > 0.0, slides }
    }

    /// Sums over all elements. The matrix is computed only if `MATRIX` is set.
    fn sum_stresses<const MATRIX: bool>(&self, before: &Vector6, after: &Vector6, h: f64) -> StressSums {
        let mean = mean_twist(before, after);
        let change: Vector6 = std::array::from_fn(|k| 0.5 * (after[k] - before[k]));
        match self.rolls {
            true => self.rim.sum_stresses::<MATRIX>(&self.law, [&mean, &change], h),
            false => self.pieces.sum_stresses::<MATRIX>(&self.law, [&self.twist(&mean), &self.twist(&change)], h),
        }
    }

    /// The motions to which soil returns no more energy than they have supplied: the whole motion, for all stresses;
    /// and for a shape that rolls, the motion along its path, for pressure. Without the second limit, a sinking wheel
    /// would be pushed along repeatedly, as on a slope, in the pit that it makes. With it, the soil that the wheel
    /// rolls back from recoils and pushes no farther.
    pub(crate) fn limited_motions(&self) -> [MotionSubspace; 2] {
        [
            MotionSubspace::All,
            if self.rolls { MotionSubspace::Along(self.rim.forward_direction()) } else { MotionSubspace::None },
        ]
    }

    /// Records the work of soil on both motions in a substep, J, the energy that its stresses held, and the drag that
    /// may be needed in the next substep, N s/m.
    pub(super) fn record_work(&mut self, found: &SoilForces, [works, drag]: [[f64; 2]; 2]) {
        self.drag = drag;
        self.held =
            [0, 1].map(|motion| self.held[motion].min(self.stored[motion].max(found.stored[motion])) - works[motion]);
        self.stored = found.stored;
    }
}

/// Mean twist of a substep.
fn mean_twist(before: &Vector6, after: &Vector6) -> Vector6 {
    std::array::from_fn(|k| 0.5 * (before[k] + after[k]))
}
