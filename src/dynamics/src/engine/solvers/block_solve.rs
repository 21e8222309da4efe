//! Local solve of one block: the impulse that satisfies its law while all other impulses stay unchanged.

use super::{
    cone::{DIAGONAL_SHIFT, Mode},
    problem::{Block, Law, Problem},
};

impl Problem {
    /// Residual of the constraint problem, in m/s or rad/s. For a contact it is the violation of its contact law. For
    /// any other block it is the largest velocity change that solving this block alone would cause.
    ///
    /// It is evaluated after a full sweep, so it includes the effect of blocks solved later. A light body between heavy
    /// ones can move far more than they do.
    pub(crate) fn residual(&self) -> f64 {
        let mut largest = 0.0f64;
        for block in &self.blocks {
            let velocity = self.velocity(block);
            let u = [0, 1, 2].map(|c| velocity[c] + block.compliance[c] * block.impulse[c]);
            if block.law == Law::Cone && block.cone.a[0] > 0.0 {
                largest = largest.max(block.cone.violation(block.impulse, u).0);
                continue;
            }
            let l = self.solve_block(&mut { *block }, u);
            let change = [0, 1, 2].map(|c| l[c] - block.impulse[c]);
            largest = block.cone.times(change).iter().fold(largest, |most, du| most.max(du.abs()));
        }
        largest
    }
}

impl Block {
    /// The present impulse of a pressing contact, projected to its cone, and the violation of its law, m/s. `None`
    /// unless the violation at the velocity `u` is below `near`.
    pub(crate) fn reuse_if_satisfied(&mut self, u: [f64; 3], near: f64) -> Option<([f64; 3], f64)> {
        if self.law != Law::Cone || !(near > 0.0 && self.impulse[0] > 0.0) {
            return None;
        }
        let (violation, mode) = self.cone.violation(self.impulse, u);
        if mode == Mode::Open || !(violation < near) {
            return None;
        }
        self.cone.mode = mode;
        let mut within = *self;
        within.project_to_bounds(0.0);
        Some((within.impulse, violation))
    }

    /// The impulse that satisfies the law of the block. `u` is its velocity with the present impulse; `radius` is that
    /// of its disc.
    pub(crate) fn solve_block(&mut self, u: [f64; 3], radius: f64) -> [f64; 3] {
        match self.law {
            Law::Cone => {
                let own = self.cone.times(self.impulse);
                self.cone.solve([u[0] - own[0], u[1] - own[1], u[2] - own[2]])
            }
            Law::Disc { .. } => {
                let own = self.cone.times(self.impulse);
                let (l, held) = solve_disc(&self.cone.a, [u[0] - own[0], u[1] - own[1]], radius);
                self.cone.mode = if held { Mode::Stick } else { Mode::Open };
                [l[0], l[1], 0.0]
            }
            Law::Interval { low, high } => {
                if self.cone.a[0] <= 0.0 {
                    self.cone.mode = Mode::Open;
                    return [0.0; 3];
                }
                let l = self.impulse[0] - u[0] / self.cone.a[0];
                self.cone.mode = if l < low || l > high { Mode::Open } else { Mode::Stick };
                [l.clamp(low, high), 0.0, 0.0]
            }
            // Its law is in the problem ([`Problem::solve_block`]).
            Law::Patch { .. } => self.impulse,
        }
    }
}

/// The impulse within |l| <= bound with A l + b = 0, and true. If there is none: the impulse of least energy on the
/// bound, with (A + s) l = -b for some s > 0, and false.
fn solve_disc(a: &[f64; 6], b: [f64; 2], bound: f64) -> ([f64; 2], bool) {
    if bound <= 0.0 {
        return ([0.0; 2], false);
    }
    // If the body can rotate about one axis only, the two rows are equal up to rounding.
    let shift = DIAGONAL_SHIFT * (a[0] + a[3]);
    // A disc of one row has an empty second row. Rows about an axis that cannot move are empty too.
    let at = |s: f64| {
        let diagonal = |a: f64| if a > 0.0 { a + (shift + s) } else { 1.0 };
        let (p, q, r) = (diagonal(a[0]), a[1], diagonal(a[3]));
        let scale = -1.0 / (p * r - q * q);
        let l = [scale * (r * b[0] - q * b[1]), scale * (p * b[1] - q * b[0])];
        let slope = [-scale * (r * l[0] - q * l[1]), -scale * (p * l[1] - q * l[0])];
        (l, l[0] * slope[0] + l[1] * slope[1])
    };
    let (mut l, mut fall) = at(0.0);
    if l[0].hypot(l[1]) <= bound {
        return (l, true);
    }
    // 1/|l| is nearly linear in s and concave, so Newton's method from 0 approaches the root from one side.
    let mut s = 0.0;
    for _ in 0..30 {
        let length = l[0].hypot(l[1]);
        let step = (length / bound - 1.0) * length * length / fall;
        if !(step > 1e-15 * s) {
            break;
        }
        s += step;
        (l, fall) = at(s);
    }
    let scale = bound / l[0].hypot(l[1]);
    ([l[0] * scale, l[1] * scale], false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::solvers::solver::Solver;

    /// Two held rows over two unknowns, with these columns and velocities without impulses; both start with this
    /// impulse.
    fn two_rows(columns: [[f64; 2]; 2], bias: [f64; 2], impulse: f64) -> Problem {
        let mut problem = Problem::default();
        problem.clear([2].into_iter());
        for (place, [first, second]) in columns.into_iter().enumerate() {
            problem.columns.extend([[first, 0.0, 0.0, 0.0], [second, 0.0, 0.0, 0.0]]);
            problem.index.extend([0, 1]);
            let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
            let block = problem.block(law, 2 * place, [0.0; 3], [bias[place], 0.0, 0.0], [0.0; 3]);
            problem.blocks.push(Block { impulse: [impulse, 0.0, 0.0], ..block });
        }
        problem.sum_impulses();
        problem
    }

    /// A contact of a limp arm on the ground, whose normal impulse pushes it sideways as much as it lifts it: its law
    /// has another solution with the same velocity without an impulse. A local solve goes to that solution; while the
    /// contact obeys its law, its impulse stays unchanged.
    #[test]
    fn a_contact_that_obeys_its_law_is_kept_though_it_has_another_solution() {
        let (normal, u) = (0.0116_f64, [0.0_f64, -0.007_132_7, -0.087_533_16]);
        // The largest friction, against its sliding.
        let speed = u[1].hypot(u[2]);
        let l = [normal, -normal * u[1] / speed, -normal * u[2] / speed];
        let a = [3.836_538, 2.006_855, -3.948_803, 3.378_970, -1.617_918, 6.085_345];
        let mut block = Block { impulse: l, ..contact(a) };
        assert!(
            block
                .reuse_if_satisfied(u, 1e-9)
                .is_some_and(|(kept, violation)| (kept[0] - l[0]).abs() < 1e-15 && violation < 1e-12)
        );
        let other = block.solve_block(u, 0.0);
        assert!(other[0] > 4.0 * l[0], "{other:?}");
        let change = [0, 1, 2].map(|c| other[c] - l[c]);
        let moved = block.cone.times(change);
        let (violation, _) = block.cone.violation(other, [0, 1, 2].map(|c| u[c] + moved[c]));
        assert!(violation < 1e-9, "{violation}");
        block.impulse = [1.1 * l[0], l[1], l[2]];
        assert!(block.reuse_if_satisfied([0.01, u[1], u[2]], 1e-9).is_none());
    }

    /// A contact with this matrix.
    fn contact(a: [f64; 6]) -> Block {
        let mut problem = Problem::default();
        problem.clear([3].into_iter());
        // A = L Lᵀ, and the rows of L are those of the contact.
        let p = a[0].sqrt();
        let (q, r) = (a[1] / p, a[2] / p);
        let s = (a[3] - q * q).sqrt();
        let t = (a[4] - q * r) / s;
        let v = (a[5] - r * r - t * t).sqrt();
        problem.columns.extend([[p, q, r, 0.0], [0.0, s, t, 0.0], [0.0, 0.0, v, 0.0]]);
        problem.index.extend([0, 1, 2]);
        problem.block(Law::Cone, 0, [0.0; 3], [0.0; 3], [0.0; 3])
    }

    /// A row of 1000 kg with an error of 1e-7 m/s moves one of 1 g, solved before it, by 1e-4 m/s. If the work ends
    /// there, the problem is not solved.
    #[test]
    fn a_light_row_that_a_heavy_one_moved_last_is_not_solved() {
        let mut problem = two_rows([[30.0, 0.0], [0.03, 0.01]], [0.0, -1e-7], 0.0);
        let outcome = problem.solve(&mut Solver::default(), 1.0, |_| {});
        assert!(!outcome.converged && outcome.residual > 5e-5, "{outcome:?}");
        let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
        assert!(outcome.converged && problem.residual() < 1e-9, "{} {outcome:?}", problem.residual());
    }

    /// Impulses of 5e13 N s, as an unsolved substep may leave them, on two rows across each other, which one sweep each
    /// solves: nothing of their rounding remains in the sum of the impulses.
    #[test]
    fn impulses_that_were_far_too_large_leave_no_rounding_behind() {
        let mut problem = two_rows([[0.6, 0.7], [0.7, -0.6]], [-1.0, -1.0], 5e13);
        let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
        problem.sum_impulses();
        assert!(outcome.converged && problem.residual() < 1e-9, "{} {outcome:?}", problem.residual());
    }

    /// Two rows about the same axis, whose matrix has no inverse: the impulse is at its bound, against the motion, and
    /// finite.
    #[test]
    fn a_disc_brakes_what_can_turn_about_one_axis_only() {
        let a = [1600.0, -1700.0, 0.0, 1806.25, 0.0, 0.0];
        let (b, bound) = ([-8.0, 8.5], 2e-4);
        let (l, held) = solve_disc(&a, b, bound);
        assert!(!held && (l[0].hypot(l[1]) / bound - 1.0).abs() < 1e-12, "{l:?}");
        assert!(l[0] * b[0] + l[1] * b[1] < 0.0, "{l:?}");
        let (l, held) = solve_disc(&a, b, 1.0);
        // The determinant is 1e-12 of its terms, so four digits of it are not rounding.
        assert!(held && (a[0] * l[0] + a[1] * l[1] + b[0]).abs() < 1e-3 * b[1], "{l:?}");
    }
}
