//! Pieces of any surface in soil, two at a time, and the sums over them.

use bevy_math::DVec3;

use super::{
    lanes::{self, LANES, Lanes, Vectors, at_least, max_lane, select_above, sum},
    law::{Depths, Law, Mobilised, Stress, UNLIMITED},
    stress_sums::StressSums,
};
use crate::engine::{algebra::spatial::Spatial, equations::damping::Vector6};

/// Lower limit of the vertical part of a face (the cosine of its slope).
const MIN_VERTICAL_PART: f64 = 0.1;

/// A piece of the surface between a shape and soil.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Centre, world frame, m.
    pub(super) point: DVec3,
    /// Unit vector along which the pressure pushes the shape, and along which the soil is unloaded when the shape
    /// moves.
    pub(super) normal: DVec3,
    /// Two unit vectors across the normal, along which soil is sheared.
    pub(super) tangents: [DVec3; 2],
    /// Area, m².
    pub(super) area: f64,
    /// Depth below the original surface, largest depth of the shape there before, and depth at which others left the
    /// surface, m.
    pub(super) depths: [f64; 3],
    /// Mobilised fractions of the shear strength ([`Mobilised`]).
    pub(super) mobilised: [f64; 3],
    /// Shear strength under which they were mobilised, Pa.
    pub(super) paid: f64,
}

/// Two pieces. A missing one has no area.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    point: Vectors,
    normal: Vectors,
    tangents: [Vectors; 2],
    area: Lanes,
    depths: [Lanes; 3],
    mobilised: Mobilised,
    paid: Lanes,
    derived: Derived,
}

/// Quantities derived from the pieces.
#[derive(Debug, Clone, Copy, Default)]
struct Derived {
    depths: Depths,
    /// Depth of the relaxed surface, m ([`Law::relaxed_surface`]).
    surface: Lanes,
    /// Vertical part of the face.
    share: Lanes,
    /// Vectors from the patch's point to the piece, and to where soil is sheared, m.
    lever: Vectors,
    arm: Vectors,
    /// Moments, over the patch's size, of the rows of the sinking speed and of the pressing speed on the face.
    sinks: Vectors,
    presses: Vectors,
}

/// Pieces of a shape that are in soil.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    pairs: Vec<Pair>,
    count: usize,
    up: DVec3,
    size: f64,
}

impl Pieces {
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.count = 0;
    }

    pub(super) fn push(&mut self, piece: &Piece, up: DVec3) {
        let lane = self.count % LANES;
        if lane == 0 {
            // A missing piece has harmless values.
            let depths = [Lanes::ONE, Lanes::ZERO, Lanes::ZERO];
            self.pairs.push(Pair { normal: Vectors::splat(up), depths, ..Pair::default() });
        }
        self.count += 1;
        let Some(pair) = self.pairs.last_mut() else { return };
        pair.point.set(lane, piece.point);
        pair.normal.set(lane, piece.normal);
        pair.area.as_mut_array()[lane] = piece.area;
        pair.paid.as_mut_array()[lane] = piece.paid;
        for k in 0..3 {
            pair.depths[k].as_mut_array()[lane] = piece.depths[k];
            pair.mobilised[k].as_mut_array()[lane] = piece.mobilised[k];
        }
        for k in 0..2 {
            pair.tangents[k].set(lane, piece.tangents[k]);
        }
    }

    /// Computes the derived quantities of the pieces on a ground with the normal `up`. Returns their centroid, and
    /// `[area, deepest, spread]`: total area, m², largest depth, m, and the sum of areas weighted with the squares of
    /// their rows of pressing. `None` if there are none.
    pub(super) fn finish_pieces(&mut self, law: &Law, up: DVec3) -> Option<(DVec3, [f64; 3])> {
        let (mut area, mut point, mut deepest) = (Lanes::ZERO, Vectors::default(), Lanes::ZERO);
        for pair in &self.pairs {
            area += pair.area;
            point = point + pair.point.times(pair.area);
            deepest = deepest.fast_max(select_above(pair.area, Lanes::ZERO, pair.depths[0], Lanes::ZERO));
        }
        let area = sum(area);
        if !(area > 0.0) {
            return None;
        }
        let middle = point.sum() / area;
        (self.up, self.size) = (up, area.sqrt());
        let (ups, about, per) = (Vectors::splat(up), Vectors::splat(middle), Lanes::splat(1.0 / self.size));
        let mut spread = Lanes::ZERO;
        for pair in &mut self.pairs {
            let lever = pair.point - about;
            let row = |direction: Vectors| lever.cross(direction).times(per);
            let share = at_least(pair.normal.along(up), MIN_VERTICAL_PART);
            let (sinks, presses) = (row(ups), row(pair.normal));
            let arm = lever - pair.normal.times(Lanes::splat(law.grousers));
            let [depth, deepest, left] = pair.depths;
            let depths = law.depths([depth, left], law.yield_pressure(depth));
            pair.derived =
                Derived { depths, surface: law.relaxed_surface(&depths, deepest), share, lever, arm, sinks, presses };
            spread += (presses.dot(presses) + 1.0) * pair.area / share;
        }
        Some((middle, [area, max_lane(deepest), sum(spread)]))
    }

    /// Sums of the stresses in a substep with this mean twist, half of whose change is `change`. The matrix is computed
    /// only if `MATRIX` is set.
    pub(super) fn sum_stresses<const MATRIX: bool>(
        &self,
        law: &Law,
        [mean, change]: [&Spatial; 2],
        h: f64,
    ) -> StressSums {
        let (mut sums, mut least) = (StressSums::default(), Lanes::ONE);
        let (mut moment, mut matrix) = (DVec3::ZERO, [[Lanes::ZERO; 6]; 6]);
        // The force of all rows of sinking has the same direction.
        let mut sinking = [Lanes::ZERO; 10];
        let mut holds = [Lanes::ZERO; 2];
        for pair in &self.pairs {
            let stress = self.normal_stress(law, pair, mean, change, h);
            if MATRIX {
                self.add_stiffness(pair, &stress, h, &mut sinking, &mut matrix);
            }
            let pressed = pair.normal.times(stress.stress * pair.area);
            sums.pressed += pressed.sum();
            let gives = law.unloading_fraction(&stress, pair.mobilised, pair.paid);
            least = least.fast_min(gives);
            let (sheared, held) = self.shear_force::<MATRIX>(law, pair, (&stress, gives), mean, h, &mut matrix);
            holds[0] += stress.stress * stress.stress * pair.area * pair.derived.share;
            holds[1] += held;
            sums.force += (pressed + sheared).sum();
            moment += (pair.derived.lever.cross(pressed) + pair.derived.arm.cross(sheared)).sum();
        }
        (sums.moment, sums.gives) = (moment / self.size, lanes::min_lane(least));
        sums.stored = [law.stored_energy(holds[0], holds[1]), law.stored_energy(holds[0], Lanes::ZERO)];
        if MATRIX {
            sums.matrix = matrix.map(|row| row.map(sum));
            self.add_sinking(sinking.map(sum), &mut sums.matrix);
        }
        sums
    }

    /// Normal stress on two pieces.
    #[inline(always)]
    fn normal_stress(&self, law: &Law, pair: &Pair, mean: &Spatial, change: &Spatial, h: f64) -> Stress {
        let rises = pair.derived.sinks.along(change.angular() * self.size) + self.up.dot(change.linear());
        let Derived { depths, surface, .. } = &pair.derived;
        let middle = depths.depth - rises * (0.5 * h);
        let (more, now) = (self.pressing_speed(pair, change), self.pressing_speed(pair, mean));
        let (start, rate) = (now - more, now + more);
        let end = depths.depth + (more + rate) * (0.5 * h);
        law.normal_stress(law.yield_stress(depths, middle), *surface, [middle, end], [start, rate], h)
    }

    /// Speed at which pieces press on their faces, as a change of depth, m/s.
    #[inline(always)]
    fn pressing_speed(&self, pair: &Pair, twist: &Spatial) -> Lanes {
        let turns = pair.derived.presses.along(twist.angular() * self.size);
        (pair.normal.along(twist.linear()) + turns) / -pair.derived.share
    }

    /// Sliding speed of pieces along their tangents, m/s.
    #[inline(always)]
    fn sliding_velocity(pair: &Pair, twist: &Spatial) -> [Lanes; 2] {
        let velocity = Vectors::splat(twist.linear()) + Vectors::splat(twist.angular()).cross(pair.derived.arm);
        pair.tangents.map(|tangent| tangent.dot(velocity))
    }

    /// Adds the derivative of the stress as the pieces sink: for yielding soil to the sums over the rows of sinking,
    /// for holding soil to the matrix.
    #[inline(always)]
    fn add_stiffness(
        &self,
        pair: &Pair,
        stress: &Stress,
        h: f64,
        sinking: &mut [Lanes; 10],
        matrix: &mut [[Lanes; 6]; 6],
    ) {
        let facing = (pair.area * pair.normal.along(self.up)).fast_max(Lanes::ZERO);
        let gain = facing * stress.slope * (0.25 * h);
        let [x, y, z] = pair.derived.sinks.components();
        let (u, v, w) = (gain * x, gain * y, gain * z);
        for (sum, term) in sinking.iter_mut().zip([gain, u, v, w, u * x, v * x, v * y, w * x, w * y, w * z]) {
            *sum += term;
        }
        if stress.holds != Lanes::ZERO {
            let gain = stress.holds * pair.area / pair.derived.share;
            let ([a, b, c], [d, e, f]) = (pair.normal.components(), pair.derived.presses.components());
            let row = [a, b, c, d, e, f];
            add_products(matrix, &row, &row.map(|entry| entry * gain));
        }
    }

    /// Adds the sums over the rows of sinking to a matrix, on its diagonal and below.
    fn add_sinking(&self, sums: [f64; 10], matrix: &mut [Vector6; 6]) {
        let [whole, u, v, w, xx, xy, yy, xz, yz, zz] = sums;
        let (up, first, second) = (self.up.to_array(), [u, v, w], [[xx, 0.0, 0.0], [xy, yy, 0.0], [xz, yz, zz]]);
        for row in 0..3 {
            for column in 0..3 {
                matrix[3 + row][column] += first[row] * up[column];
                if column <= row {
                    matrix[row][column] += whole * up[row] * up[column];
                    matrix[3 + row][3 + column] += second[row][column];
                }
            }
        }
    }

    /// Force of shear stress, and the sum [`Shear::weighted_squares`](super::law::Shear::weighted_squares). Adds the
    /// derivative of the force to the matrix.
    #[inline(always)]
    fn shear_force<const MATRIX: bool>(
        &self,
        law: &Law,
        pair: &Pair,
        (stress, gives): (&Stress, Lanes),
        mean: &Spatial,
        h: f64,
        matrix: &mut [[Lanes; 6]; 6],
    ) -> (Vectors, Lanes) {
        let mobilised = (pair.mobilised, gives, UNLIMITED);
        let shear =
            law.shear_forces(stress, [pair.area, Lanes::ZERO], mobilised, Self::sliding_velocity(pair, mean), h);
        if MATRIX {
            let [own, both, other] = law.shear_stiffness(&shear, h);
            let [a, b] = [0, 1].map(|k| {
                let moment = pair.derived.arm.cross(pair.tangents[k]).times(Lanes::splat(1.0 / self.size));
                let ([a, b, c], [d, e, f]) = (pair.tangents[k].components(), moment.components());
                [a, b, c, d, e, f]
            });
            let one: [Lanes; 6] = std::array::from_fn(|k| a[k] * own + b[k] * both);
            let two: [Lanes; 6] = std::array::from_fn(|k| a[k] * both + b[k] * other);
            add_products(matrix, &a, &one);
            add_products(matrix, &b, &two);
        }
        (pair.tangents[0].times(shear.along) + pair.tangents[1].times(shear.across), shear.weighted_squares())
    }

    /// State of two pieces at the end of a substep with the twists `[mean, end]`: their positions, their mobilised
    /// fractions with the strength under which they were mobilised, Pa, and their mean and final pressing speeds, m/s.
    pub(super) fn advance_pair(
        &self,
        law: &Law,
        pair: usize,
        [mean, end]: [&Spatial; 2],
        h: f64,
    ) -> (Vectors, (Mobilised, Lanes), [Lanes; 2]) {
        let pair = &self.pairs[pair];
        let change = Spatial::new(end.angular() - mean.angular(), end.linear() - mean.linear());
        let stress = self.normal_stress(law, pair, mean, &change, h);
        let sheared = law.advance_shear(&stress, (pair.mobilised, pair.paid), Self::sliding_velocity(pair, mean), h);
        (pair.point, sheared, [mean, end].map(|twist| self.pressing_speed(pair, twist)))
    }
}

/// Adds a bᵀ to a matrix, on its diagonal and below.
#[inline(always)]
fn add_products(matrix: &mut [[Lanes; 6]; 6], a: &[Lanes; 6], b: &[Lanes; 6]) {
    for row in 0..6 {
        for column in 0..=row {
            matrix[row][column] += a[row] * b[column];
        }
    }
}
