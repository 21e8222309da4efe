//! Pieces of any surface in soil, two at a time, and the sums over them.

use bevy_math::DVec3;

use super::{
    lanes::{self, LANES, Lanes, Vectors, at_least, largest, select_above, sum},
    law::{BEARS_ALL, Depths, Law, Mobilised, Stress},
    patch::Sums,
};
use crate::engine::{algebra::spatial::Spatial, equations::damping::Vector6};

/// The vertical part of a face, at least.
const LEAST_SHARE: f64 = 0.1;

/// A piece of the surface between a shape and soil.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// World frame, m.
    pub(super) point: DVec3,
    /// Where the pressure pushes the shape, and soil is let up along when it moves.
    pub(super) normal: DVec3,
    /// Pair unit vectors across, along which it is sheared.
    pub(super) tangents: [DVec3; 2],
    /// m².
    pub(super) area: f64,
    /// Depth below the surface that was there at first; how deep the shape was there before; how deep others left it;
    /// m.
    pub(super) depths: [f64; 3],
    /// What of the shear strength is mobilised ([`Mobilised`]).
    pub(super) mobilised: [f64; 3],
    /// The strength under which that was, Pa.
    pub(super) paid: f64,
}

/// Pair pieces. Those that are none have no area.
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

/// What follows from these: the vertical part of their faces, from the patch's point to them and to where soil is
/// sheared, and the moments of the rows of how fast they sink and how fast they press on their faces, over the patch's
/// size.
#[derive(Debug, Clone, Copy, Default)]
struct Derived {
    depths: Depths,
    surface: Lanes,
    share: Lanes,
    lever: Vectors,
    arm: Vectors,
    sinks: Vectors,
    presses: Vectors,
}

/// The pieces of a shape that are in soil.
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
            // What is none has numbers that are harmless.
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

    /// Works out what follows from its pieces on a ground with this normal: their middle and area, the depth of the
    /// deepest, m, and the sum of their areas, each times the square of its row of pressing. `None` if there are none.
    pub(super) fn close(&mut self, law: &Law, up: DVec3) -> Option<(DVec3, [f64; 3])> {
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
            let share = at_least(pair.normal.along(up), LEAST_SHARE);
            let (sinks, presses) = (row(ups), row(pair.normal));
            let arm = lever - pair.normal.times(Lanes::splat(law.grousers));
            let [depth, deepest, left] = pair.depths;
            let depths = law.depths([depth, left], law.plastic(depth));
            pair.derived =
                Derived { depths, surface: law.surface(&depths, deepest), share, lever, arm, sinks, presses };
            spread += (presses.dot(presses) + 1.0) * pair.area / share;
        }
        Some((middle, [area, largest(deepest), sum(spread)]))
    }

    /// Force and moment in such a substep, and the force of normal stress in it; how they change only if that is
    /// wanted.
    pub(super) fn sum_stresses<const MATRIX: bool>(&self, law: &Law, [mean, change]: [&Spatial; 2], h: f64) -> Sums {
        let (mut sums, mut least) = (Sums::default(), Lanes::ONE);
        let (mut moment, mut matrix) = (DVec3::ZERO, [[Lanes::ZERO; 6]; 6]);
        // The rows of sinking have one force in common.
        let mut sinking = [Lanes::ZERO; 10];
        let mut holds = [Lanes::ZERO; 2];
        for pair in &self.pairs {
            let stress = self.press(law, pair, mean, change, h);
            if MATRIX {
                self.add_stiffness(pair, &stress, h, &mut sinking, &mut matrix);
            }
            let pressed = pair.normal.times(stress.stress * pair.area);
            sums.pressed += pressed.sum();
            let gives = law.gives(&stress, pair.mobilised, pair.paid);
            least = least.fast_min(gives);
            let (sheared, held) = self.shear::<MATRIX>(law, pair, (&stress, gives), mean, h, &mut matrix);
            holds[0] += stress.stress * stress.stress * pair.area * pair.derived.share;
            holds[1] += held;
            sums.force += (pressed + sheared).sum();
            moment += (pair.derived.lever.cross(pressed) + pair.derived.arm.cross(sheared)).sum();
        }
        (sums.moment, sums.gives) = (moment / self.size, lanes::least(least));
        sums.stored = [law.stored(holds[0], holds[1]), law.stored(holds[0], Lanes::ZERO)];
        if MATRIX {
            sums.matrix = matrix.map(|row| row.map(sum));
            self.add_sinking(sinking.map(sum), &mut sums.matrix);
        }
        sums
    }

    #[inline(always)]
    fn press(&self, law: &Law, pair: &Pair, mean: &Spatial, change: &Spatial, h: f64) -> Stress {
        let rises = pair.derived.sinks.along(change.angular() * self.size) + self.up.dot(change.linear());
        let Derived { depths, surface, .. } = &pair.derived;
        let middle = depths.depth - rises * (0.5 * h);
        let (more, now) = (self.presses(pair, change), self.presses(pair, mean));
        let (start, rate) = (now - more, now + more);
        let end = depths.depth + (more + rate) * (0.5 * h);
        law.press(law.yields(depths, middle), *surface, [middle, end], [start, rate], h)
    }

    /// How fast pieces press on their faces, as depths, m/s.
    #[inline(always)]
    fn presses(&self, pair: &Pair, twist: &Spatial) -> Lanes {
        let turns = pair.derived.presses.along(twist.angular() * self.size);
        (pair.normal.along(twist.linear()) + turns) / -pair.derived.share
    }

    /// How fast pieces slide along their tangents, m/s.
    #[inline(always)]
    fn slide(pair: &Pair, twist: &Spatial) -> [Lanes; 2] {
        let velocity = Vectors::splat(twist.linear()) + Vectors::splat(twist.angular()).cross(pair.derived.arm);
        pair.tangents.map(|tangent| tangent.dot(velocity))
    }

    /// Adds how stress grows as the pieces sink: of what yields to the sums over the moments of the rows of sinking, of
    /// what holds to the matrix.
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

    /// Adds the sums over the rows of sinking to a matrix: below its diagonal and on it.
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

    /// The force of shear stress, whose change is added to the matrix, and what it holds
    /// ([`Shear::holds`](super::law::Shear::holds)).
    #[inline(always)]
    fn shear<const MATRIX: bool>(
        &self,
        law: &Law,
        pair: &Pair,
        (stress, gives): (&Stress, Lanes),
        mean: &Spatial,
        h: f64,
        matrix: &mut [[Lanes; 6]; 6],
    ) -> (Vectors, Lanes) {
        let mobilised = (pair.mobilised, gives, BEARS_ALL);
        let shear = law.shear(stress, [pair.area, Lanes::ZERO], mobilised, Self::slide(pair, mean), h);
        if MATRIX {
            let [own, both, other] = law.eases(&shear, h);
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
        (pair.tangents[0].times(shear.along) + pair.tangents[1].times(shear.across), shear.holds())
    }

    /// Of two pieces: where they are, what of their strength they have mobilised at the end of a substep with this mean
    /// twist and that at its end, under which strength, and how fast they press in the mean and at the end, m/s.
    pub(super) fn go_on(
        &self,
        law: &Law,
        pair: usize,
        [mean, end]: [&Spatial; 2],
        h: f64,
    ) -> (Vectors, (Mobilised, Lanes), [Lanes; 2]) {
        let pair = &self.pairs[pair];
        let change = Spatial::new(end.angular() - mean.angular(), end.linear() - mean.linear());
        let stress = self.press(law, pair, mean, &change, h);
        let sheared = law.go_on(&stress, (pair.mobilised, pair.paid), Self::slide(pair, mean), h);
        (pair.point, sheared, [mean, end].map(|twist| self.presses(pair, twist)))
    }
}

/// Adds a bᵀ below the diagonal and on it.
#[inline(always)]
fn add_products(matrix: &mut [[Lanes; 6]; 6], a: &[Lanes; 6], b: &[Lanes; 6]) {
    for row in 0..6 {
        for column in 0..=row {
            matrix[row][column] += a[row] * b[column];
        }
    }
}
