//! How soil presses back on the part of a shape that is in it, at the middle of a substep.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::Norm;

use super::{law::Law, pieces::Pieces, rim::Rim};
use crate::engine::{
    algebra::spatial::Spatial,
    equations::damping::{DampedWrench, MotionSubspace, Symmetric, Vector6},
};

/// A response that is kept may be off by so many times what was seen last, which grows by this factor in each substep
/// in which nobody looks: after some tens of them somebody does.
const SAFETY: f64 = 10.0;
const AGES: f64 = 1.1;

/// Part of what stresses hold that is as good as nothing.
const NOTHING: f64 = 1e-9;

/// A shape's part in the soil.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(super) law: Law,
    /// Its surface: pieces, or where it rolls its rim.
    pub(super) pieces: Pieces,
    pub(super) rim: Rim,
    rolls: bool,
    /// The point that its wrench is about, world frame, and the length that goes with it, m: the middle and the root of
    /// its area, or centre and radius of what rolls.
    pub(crate) point: DVec3,
    pub(crate) size: f64,
    /// The middle of its area, m.
    pub(super) middle: DVec3,
    /// Normal of the ground.
    pub(crate) up: DVec3,
    /// How far along it the plane of the surface is from the origin, m.
    distance: f64,
    /// The sum of the areas, m²; and of all of them, each times the square of its row of pressing.
    area: f64,
    spread: f64,
    /// What the shape has put into the soil and may have back, J: below 0, by as much as steps are off, what it got too
    /// much: by all of its motion, and by what presses it along its way ([`Patch::motions`]). And the most that these
    /// stresses held in the middle of the substep before.
    pub(super) held: [f64; 2],
    pub(super) stored: [f64; 2],
    /// What brakes either motion so that soil gives no more than that, as was expected when the substep before ended, N
    /// s/m.
    pub(crate) drag: [f64; 2],
    /// How it answered in a step before, if it rolls.
    pub(super) kept: Option<Kept>,
}

/// How the wrench on a rim falls with its velocity in a substep of so many seconds: from step to step it is much the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    matrix: Symmetric,
    h: f64,
    /// By how much the wrench was off by it, for each unit of velocity from the guess, N s/m.
    off: f64,
}

impl Kept {
    /// Another substep counts, in which it was `seen` to be off by so much, if that was looked at.
    pub(super) fn age(&mut self, seen: Option<f64>) {
        self.off = seen.unwrap_or(self.off * AGES);
    }
}

/// How soil presses back, beside it the force of normal stress alone, and what of it was found anew and may be kept for
/// the next step.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) response: DampedWrench,
    pub(crate) trust: Trust,
    pub(crate) found: Found,
    pub(crate) kept: Option<Kept>,
}

/// What soil does to a shape in a substep: force, and moment over the size; of the force that of normal stress; and
/// what it may give to either motion at most, J.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) wrench: Vector6,
    pub(crate) pressed: DVec3,
    pub(crate) gives: [f64; 2],
    stored: [f64; 2],
    /// Whether any soil yields.
    pub(super) yields: bool,
    /// Whether all of it yields to shear.
    pub(super) slides: bool,
}

/// How far from the guess the wrench may be another one than the response says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trust {
    /// A unit of velocity makes no larger difference than this anywhere.
    stiffest: f64,
    /// As far as this from the guess all that yields goes on to yield and what holds holds, and the response is off by
    /// about so much.
    within: f64,
    off: f64,
}

impl Trust {
    /// The largest error of the response at a velocity so far from the guess.
    pub(crate) fn error(&self, change: f64) -> f64 {
        let most = 2.0 * self.stiffest;
        change * if change <= self.within { most.min(SAFETY * self.off) } else { most }
    }
}

/// The sums over all of a surface: force, moment over the size, and of the force that of normal stress.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) force: DVec3,
    pub(super) moment: DVec3,
    pub(super) pressed: DVec3,
    /// How steep the pressure of what yields is at most, Pa/m; and how far all of it is from answering otherwise, Pa: 0
    /// where that is not known.
    pub(super) steepest: f64,
    pub(super) margin: f64,
    /// The least part of the shear modulus over which any of it lets up.
    pub(super) gives: f64,
    /// The most energy that the stresses hold, and the pressure alone, J.
    pub(super) stored: [f64; 2],
    /// Whether all of it that presses yields to shear.
    pub(super) slides: bool,
    /// Its entries on the diagonal and below.
    pub(super) matrix: [Vector6; 6],
}

impl Patch {
    /// A patch of nothing.
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

    /// Begins anew on a ground with this normal.
    pub(super) fn clear(&mut self, (up, distance): (DVec3, f64)) {
        self.pieces.clear();
        self.rolls = false;
        (self.up, self.distance) = (up, distance);
    }

    /// The plane of the surface: its normal and distance.
    pub(super) fn surface(&self) -> (DVec3, f64) {
        (self.up, self.distance)
    }

    /// Works out what follows from its pieces; the depth of the deepest, m. `None` if there are none.
    pub(super) fn close_pieces(&mut self) -> Option<f64> {
        let (middle, [area, deepest, spread]) = self.pieces.close(&self.law, self.up)?;
        (self.point, self.size, self.middle) = (middle, area.sqrt(), middle);
        (self.area, self.spread) = (area, spread);
        Some(deepest)
    }

    /// The same of the rim of a wheel with this centre and radius.
    pub(super) fn close_rim(&mut self, centre: DVec3, radius: f64) -> Option<f64> {
        let (middle, [area, deepest, spread]) = self.rim.close()?;
        (self.point, self.size, self.middle) = (centre, radius, centre + middle);
        (self.area, self.spread, self.rolls) = (area, spread, true);
        Some(deepest)
    }

    /// A twist about its point from six numbers.
    pub(super) fn twist(&self, six: &Vector6) -> Spatial {
        let &[vx, vy, vz, wx, wy, wz] = six;
        Spatial::new(DVec3::new(wx, wy, wz) / self.size, DVec3::new(vx, vy, vz))
    }

    /// The wrench on a shape that has one twist at the start of a substep and another at its end, and how it changes:
    /// as it did when that was found last, unless it is to be found `anew`.
    pub(crate) fn respond(&self, before: &Vector6, after: &Vector6, h: f64, anew: bool) -> Answer {
        let known = self.kept.as_ref().filter(|kept| self.rolls && !anew && kept.h == h);
        let sums = match known {
            Some(_) => self.sum_stresses::<false>(before, after, h),
            None => self.sum_stresses::<true>(before, after, h),
        };
        let matrix = match known {
            Some(kept) => kept.matrix,
            None if self.rolls => self.rim.in_world(&sums.matrix),
            None => Symmetric::new(&sums.matrix),
        };
        let kept = (self.rolls && known.is_none()).then_some(Kept { matrix, h, off: f64::MAX });
        let found = self.found(&sums);
        let (pressure, hard) = (sums.pressed.norm() / self.area, self.law.stiffness(h));
        let soft = 0.25 * h * sums.steepest;
        // A rim is sheared as far from the middle as it reaches, by turning.
        let reach = if self.rolls { 1.0 + (1.0 + self.law.grousers / self.size).powi(2) } else { 1.0 };
        let most = |press: f64| self.spread * (press + self.law.stiffest_shear(press, pressure, h, sums.gives) * reach);
        let trust = Trust {
            stiffest: most(hard),
            within: sums.margin / (hard + soft),
            off: known.map_or(f64::MAX, |kept| kept.off),
        };
        Answer { response: DampedWrench { wrench: found.wrench, matrix }, trust, found, kept }
    }

    /// The same without how it changes.
    pub(crate) fn wrench(&self, before: &Vector6, after: &Vector6, h: f64) -> Found {
        self.found(&self.sum_stresses::<false>(before, after, h))
    }

    /// The sums, and what soil may give: what was put in, as far as the stresses hold it that are there now, or were
    /// before.
    fn found(&self, sums: &Sums) -> Found {
        let Sums { pressed, stored, steepest, slides, .. } = *sums;
        let gives = [0, 1].map(|motion| {
            let most = self.stored[motion].max(stored[motion]);
            self.held[motion].min(most).max(NOTHING * most)
        });
        Found { wrench: sums.wrench(), pressed, gives, stored, yields: steepest > 0.0, slides }
    }

    /// The sums over all elements, that of the matrix only if it is wanted.
    fn sum_stresses<const MATRIX: bool>(&self, before: &Vector6, after: &Vector6, h: f64) -> Sums {
        let mean = mean(before, after);
        let change: Vector6 = std::array::from_fn(|k| 0.5 * (after[k] - before[k]));
        match self.rolls {
            true => self.rim.sum_stresses::<MATRIX>(&self.law, [&mean, &change], h),
            false => self.pieces.sum_stresses::<MATRIX>(&self.law, [&self.twist(&mean), &self.twist(&change)], h),
        }
    }

    /// The motions to which soil gives no more than they have put in: all of it, to all stresses; and of what rolls
    /// that along its way, to pressure. Without the second, a wheel that sinks would be pushed along as by a slope,
    /// again and again, in the pit that it presses: what it rolls back from recoils, and pushes no farther.
    pub(crate) fn motions(&self) -> [MotionSubspace; 2] {
        [MotionSubspace::All, if self.rolls { MotionSubspace::Along(self.rim.forward()) } else { MotionSubspace::None }]
    }

    /// Takes down the work of soil on either motion in a substep, J, what it held, and what it may have to be braked
    /// with in the next.
    pub(super) fn put_in(&mut self, found: &Found, [works, drag]: [[f64; 2]; 2]) {
        self.drag = drag;
        self.held =
            [0, 1].map(|motion| self.held[motion].min(self.stored[motion].max(found.stored[motion])) - works[motion]);
        self.stored = found.stored;
    }
}

/// The mean twist of a substep.
fn mean(before: &Vector6, after: &Vector6) -> Vector6 {
    std::array::from_fn(|k| 0.5 * (before[k] + after[k]))
}

impl Sums {
    fn wrench(&self) -> Vector6 {
        let (force, moment) = (self.force, self.moment);
        [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    }
}
