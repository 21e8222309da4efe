//! Pieces of any surface in soil, four at a time, and the sums over them.

use bevy_math::{DVec3, DVec4};

use super::{
    lanes::{LANES, Vectors, select_above, sqrt},
    law::{Depths, Law, Stress, mobilise_four},
    patch::Sums,
};
use crate::engine::{resistance::Six, spatial::Spatial};

/// The vertical part of a face, at least.
const LEAST_SHARE: f64 = 0.1;

/// A piece of the surface between a shape and soil.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// World frame, m.
    pub(super) point: DVec3,
    /// Where the pressure pushes the shape, and soil is let up along when it moves.
    pub(super) normal: DVec3,
    /// Two unit vectors across, along which it is sheared.
    pub(super) tangents: [DVec3; 2],
    /// m².
    pub(super) area: f64,
    /// Depth below the surface that was there at first; how deep the shape was there before; how deep others left it; m.
    pub(super) depths: [f64; 3],
    /// Shear stress along the tangents, against the slide, as a part of the strength.
    pub(super) mobilised: [f64; 2],
}

/// Four pieces. Those that are none have no area.
#[derive(Debug, Clone, Copy, Default)]
struct Four {
    point: Vectors,
    normal: Vectors,
    tangents: [Vectors; 2],
    area: DVec4,
    depths: [DVec4; 3],
    mobilised: [DVec4; 2],
    derived: Derived,
}

/// What follows from these: the vertical part of their faces, from the patch's point to them and to where soil is sheared, and the moments of the rows of how fast they sink
/// and how fast they press on their faces, over the patch's size.
#[derive(Debug, Clone, Copy, Default)]
struct Derived {
    depths: Depths,
    share: DVec4,
    lever: Vectors,
    arm: Vectors,
    sinks: Vectors,
    presses: Vectors,
}

/// The pieces of a shape that are in soil.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    fours: Vec<Four>,
    count: usize,
    up: DVec3,
    size: f64,
}

impl Pieces {
    pub(super) fn clear(&mut self) {
        self.fours.clear();
        self.count = 0;
    }

    pub(super) fn push(&mut self, piece: &Piece, up: DVec3) {
        let lane = self.count % LANES;
        if lane == 0 {
            // What is none has numbers that are harmless.
            let depths = [DVec4::ONE, DVec4::ZERO, DVec4::ZERO];
            self.fours.push(Four { normal: Vectors::splat(up), depths, ..Four::default() });
        }
        self.count += 1;
        let Some(four) = self.fours.last_mut() else { return };
        four.point.set(lane, piece.point);
        four.normal.set(lane, piece.normal);
        four.area[lane] = piece.area;
        for k in 0..3 {
            four.depths[k][lane] = piece.depths[k];
        }
        for k in 0..2 {
            four.tangents[k].set(lane, piece.tangents[k]);
            four.mobilised[k][lane] = piece.mobilised[k];
        }
    }

    /// Works out what follows from its pieces on a ground with this normal: their middle and area, the depth of the deepest, m, and the sum of
    /// their areas, each times the square of its row of pressing. `None` if there are none.
    pub(super) fn close(&mut self, law: &Law, up: DVec3) -> Option<(DVec3, [f64; 3])> {
        let (mut area, mut point, mut deepest) = (DVec4::ZERO, Vectors::default(), DVec4::ZERO);
        for four in &self.fours {
            area += four.area;
            point = point + four.point.times(four.area);
            deepest = deepest.max(select_above(four.area, DVec4::ZERO, four.depths[0], DVec4::ZERO));
        }
        let area = area.element_sum();
        if !(area > 0.0) {
            return None;
        }
        let middle = point.sum() / area;
        (self.up, self.size) = (up, area.sqrt());
        let (ups, about, per) = (Vectors::splat(up), Vectors::splat(middle), DVec4::splat(1.0 / self.size));
        let mut spread = DVec4::ZERO;
        for four in &mut self.fours {
            let lever = four.point - about;
            let row = |direction: Vectors| lever.cross(direction).times(per);
            let share = four.normal.along(up).max(DVec4::splat(LEAST_SHARE));
            let (sinks, presses) = (row(ups), row(four.normal));
            let arm = lever - four.normal.times(DVec4::splat(law.grousers));
            four.derived = Derived { depths: law.depths(four.depths), share, lever, arm, sinks, presses };
            spread += (presses.dot(presses) + 1.0) * four.area / share;
        }
        Some((middle, [area, deepest.max_element(), spread.element_sum()]))
    }

    /// Force and moment in such a substep, and the force of normal stress in it; how they change only if that is wanted.
    pub(super) fn sum_up<const MATRIX: bool>(&self, law: &Law, [mean, change]: [&Spatial; 2], h: f64) -> Sums {
        let mut sums = Sums::default();
        let (mut moment, mut matrix) = (DVec3::ZERO, [[DVec4::ZERO; 6]; 6]);
        // The rows of sinking have one force in common.
        let mut sinking = [DVec4::ZERO; 10];
        for four in &self.fours {
            let stress = self.press(law, four, mean, change, h);
            if MATRIX {
                self.add_stiffness(law, four, &stress, h, &mut sinking, &mut matrix);
            }
            let pressed = four.normal.times(stress.stress * four.area);
            sums.pressed += pressed.sum();
            let sheared = self.shear::<MATRIX>(law, four, &stress, mean, h, &mut matrix);
            sums.force += (pressed + sheared).sum();
            moment += (four.derived.lever.cross(pressed) + four.derived.arm.cross(sheared)).sum();
        }
        sums.moment = moment / self.size;
        if MATRIX {
            sums.matrix = matrix.map(|row| row.map(|entry| entry.element_sum()));
            self.add_sinking(sinking.map(|entry| entry.element_sum()), &mut sums.matrix);
        }
        sums
    }

    #[inline(always)]
    fn press(&self, law: &Law, four: &Four, mean: &Spatial, change: &Spatial, h: f64) -> Stress {
        let rises = four.derived.sinks.along(change.angular * self.size) + self.up.dot(change.linear);
        let depths = &four.derived.depths;
        let middle = depths.depth - rises * (0.5 * h);
        let (more, now) = (self.presses(four, change), self.presses(four, mean));
        let rate = now + more;
        law.press(depths, middle, depths.depth + (more + rate) * (0.5 * h), rate)
    }

    /// The energy in the stresses at the start of a substep in which the shape has this twist at first, J.
    pub(super) fn stored(&self, law: &Law, before: &Spatial, h: f64) -> f64 {
        let stored = |four: &Four| {
            let (derived, depths) = (&four.derived, &four.derived.depths);
            let rises = derived.sinks.along(before.angular * self.size) + self.up.dot(before.linear);
            let holds = depths.depth - self.presses(four, before) * (0.5 * h);
            let stress = law.before(depths, depths.depth + rises * (0.5 * h), holds);
            law.stored(stress, [four.area, DVec4::ZERO, derived.share], four.mobilised)
        };
        self.fours.iter().map(stored).sum()
    }

    /// How fast pieces press on their faces, as depths, m/s.
    #[inline(always)]
    fn presses(&self, four: &Four, twist: &Spatial) -> DVec4 {
        let turns = four.derived.presses.along(twist.angular * self.size);
        (four.normal.along(twist.linear) + turns) / -four.derived.share
    }

    /// How fast pieces slide along their tangents, m/s.
    #[inline(always)]
    fn slide(four: &Four, twist: &Spatial) -> [DVec4; 2] {
        let velocity = Vectors::splat(twist.linear) + Vectors::splat(twist.angular).cross(four.derived.arm);
        four.tangents.map(|tangent| tangent.dot(velocity))
    }

    /// Adds how stress grows as the pieces sink: of what yields to the sums over the moments of the rows of sinking, of what holds to the
    /// matrix.
    #[inline(always)]
    fn add_stiffness(
        &self,
        law: &Law,
        four: &Four,
        stress: &Stress,
        h: f64,
        sinking: &mut [DVec4; 10],
        matrix: &mut [[DVec4; 6]; 6],
    ) {
        let facing = (four.area * four.normal.along(self.up)).max(DVec4::ZERO);
        let gain = facing * stress.slope * (0.25 * h);
        let [x, y, z] = four.derived.sinks.components();
        let (u, v, w) = (gain * x, gain * y, gain * z);
        for (sum, term) in sinking.iter_mut().zip([gain, u, v, w, u * x, v * x, v * y, w * x, w * y, w * z]) {
            *sum += term;
        }
        if stress.holds != DVec4::ZERO {
            let gain = stress.holds * four.area * law.stiffness(h) / four.derived.share;
            let ([a, b, c], [d, e, f]) = (four.normal.components(), four.derived.presses.components());
            let row = [a, b, c, d, e, f];
            add_products(matrix, &row, &row.map(|entry| entry * gain));
        }
    }

    /// Adds the sums over the rows of sinking to a matrix: below its diagonal and on it.
    fn add_sinking(&self, sums: [f64; 10], matrix: &mut [Six; 6]) {
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

    /// The force of shear stress, whose change is added to the matrix.
    #[inline(always)]
    fn shear<const MATRIX: bool>(
        &self,
        law: &Law,
        four: &Four,
        stress: &Stress,
        mean: &Spatial,
        h: f64,
        matrix: &mut [[DVec4; 6]; 6],
    ) -> Vectors {
        let shear = law.shear(stress, [four.area, DVec4::ZERO], four.mobilised, Self::slide(four, mean), h);
        if MATRIX {
            let [own, both, other] = law.eases(&shear, h);
            let [a, b] = [0, 1].map(|k| {
                let moment = four.derived.arm.cross(four.tangents[k]).times(DVec4::splat(1.0 / self.size));
                let ([a, b, c], [d, e, f]) = (four.tangents[k].components(), moment.components());
                [a, b, c, d, e, f]
            });
            let one: [DVec4; 6] = std::array::from_fn(|k| a[k] * own + b[k] * both);
            let two: [DVec4; 6] = std::array::from_fn(|k| a[k] * both + b[k] * other);
            add_products(matrix, &a, &one);
            add_products(matrix, &b, &two);
        }
        four.tangents[0].times(shear.along) + four.tangents[1].times(shear.across)
    }

    /// Of four pieces: where they are, what of their strength they have mobilised at the end of a substep with this mean twist, and how fast
    /// they press in the mean and at its end, m/s.
    pub(super) fn go_on(
        &self,
        law: &Law,
        four: usize,
        [mean, end]: [&Spatial; 2],
        h: f64,
    ) -> (Vectors, [DVec4; 2], [DVec4; 2]) {
        let four = &self.fours[four];
        let slide = Self::slide(four, mean);
        let speed = sqrt(slide[0] * slide[0] + slide[1] * slide[1]);
        let mobilised = mobilise_four(four.mobilised, slide, speed, h / law.soil.shear_modulus);
        (four.point, mobilised, [mean, end].map(|twist| self.presses(four, twist)))
    }
}

/// Adds a bᵀ below the diagonal and on it.
#[inline(always)]
fn add_products(matrix: &mut [[DVec4; 6]; 6], a: &[DVec4; 6], b: &[DVec4; 6]) {
    for row in 0..6 {
        for column in 0..=row {
            matrix[row][column] += a[row] * b[column];
        }
    }
}
