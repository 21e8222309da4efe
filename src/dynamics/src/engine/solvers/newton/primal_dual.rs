//! A primal-dual active-set Newton method: impulses and velocities are solved for together, from the result of the
//! sweeps. If it converges, five to ten iterations replace thirty of the proximal steps. Convergence is not guaranteed,
//! so it is abandoned otherwise.
//!
//! Each block's mode follows from its impulse and velocity together, as in a local solve: z = l - v / a, with v = u + R
//! l and the block's own a, lies in the cone or not (Alart and Curnier 1991). A mode is a linear law. Open: l = 0.
//! Sticking: v = 0. Sliding: v_n = 0 and l_t = l_n d, where the direction d of z turns with l and v (compare Hüeber,
//! Stadler and Wohlmuth 2008).
//!
//! A small resistance r to the change of an impulse in an iteration makes the law solvable where contacts are
//! redundant. As a fraction of the diagonal of A, it is the residual divided by the largest velocity caused by an
//! impulse. Far from the solution, undetermined impulses stay unchanged; near it, Newton's method has its full speed.
//!
//! **Contacts that contradict each other.** Rigid wheels whose axles are parallel up to 1e-9 rad, or four corners of a
//! face that has turned by as much, cannot all stick. The remaining motion cannot be resisted: iterations leave it
//! unchanged, and only add impulses across it until something slides. If it is slower than [`STICKING_SPEED`], it
//! counts as rest.

use super::{Newton, block_iterate::BlockIterate};
use crate::engine::solvers::{
    cone::on_disc,
    load_support::STICKING_SPEED,
    problem::{Block, Law, Problem},
    solver_tolerance::SolverTolerance,
};

/// Resistance r as a fraction of the diagonal of A: maximum, minimum, and minimum after iterations without progress.
/// Smaller values let rounding in; larger ones slow the end.
const MAX_RESISTANCE: f64 = 1e-2;
const MIN_RESISTANCE: f64 = 1e-6;
const MIN_RESISTANCE_STALLED: f64 = 1e-8;
/// Ratio of successive residuals of an iteration with little progress, and of one without any. The remaining motions
/// are resisted by less than 1e-8 of the diagonal of A, as by stiff motors between two contacts.
const SLOW_CONTRACTION: f64 = 0.5;
const STALLED_CONTRACTION: f64 = 0.99;
/// Largest number of iterations, and of those that do not halve the best residual: the residual grows a few times on
/// the way to the solution.
const MAX_ITERATIONS: usize = 25;
const MAX_SLOW_ITERATIONS: usize = 8;
/// Largest number of sweeps after an iteration near the solution of a heap in motion. Only few contacts are then
/// unsolved, iterations move them between modes, and a sweep costs a tenth of an iteration.
const FINAL_SWEEPS: usize = 4;

/// Radius of a disc now, its radius with the linear law at unchanged velocity, and its decrease with the velocity of
/// its normal row.
#[derive(Debug, Clone, Copy, Default)]
struct DiscRadius {
    now: f64,
    base: f64,
    slope: f64,
}

impl Newton {
    /// Solves a problem from its present impulses. An iterate that comes near the solution and then makes no progress
    /// is accepted: at rest below motion, in a heap in motion below what is visible. Returns false if it does not
    /// converge or `work` runs out; the best iterate is then kept.
    pub(super) fn solve_primal_dual(
        &mut self,
        problem: &mut Problem,
        tolerances: SolverTolerance,
        work: &mut f64,
    ) -> bool {
        if self.iterate_primal_dual(problem, &tolerances, work) {
            return true;
        }
        self.points.iter_mut().zip(&self.best.impulses).for_each(|(point, l)| point.centre = *l);
        self.w.clone_from(&self.best.w);
        self.best.residual < tolerances.newton_fallback
    }

    /// Iterates. Returns true on convergence. The best iterate is recorded.
    fn iterate_primal_dual(&mut self, problem: &mut Problem, to: &SolverTolerance, work: &mut f64) -> bool {
        self.load_impulses(problem);
        let made = |(point, block): (&BlockIterate, &Block)| point.centre[0].abs() * block.cone.a[0];
        let scale = self.points.iter().zip(&problem.blocks).map(made).fold(f64::MIN_POSITIVE, f64::max);
        self.best.scale = scale;
        self.best.record(f64::INFINITY, &self.points, &self.w);
        let (mut least, mut slow, mut slow_iterations) = (MIN_RESISTANCE, 0, 0);
        self.set_resistance(problem, MAX_RESISTANCE);
        let (mut residual, mut last) = (self.linearise(problem), f64::INFINITY);
        for _ in 0..=MAX_ITERATIONS {
            let (left, is_rest) = (residual / last, residual < STICKING_SPEED);
            if residual < to.newton || is_rest && (STALLED_CONTRACTION..1.0 / STALLED_CONTRACTION).contains(&left) {
                return true;
            }
            slow += usize::from(is_rest && (SLOW_CONTRACTION..1.0 / SLOW_CONTRACTION).contains(&left));
            if slow > 1 {
                least = (0.1 * least).max(MIN_RESISTANCE_STALLED);
            }
            slow_iterations += usize::from(!(residual < 0.5 * self.best.residual));
            if residual < self.best.residual {
                self.best.record(residual, &self.points, &self.w);
            }
            last = residual;
            if slow_iterations > MAX_SLOW_ITERATIONS || self.cost > *work {
                return false;
            }
            *work -= self.cost;
            self.set_resistance(problem, (residual / scale).clamp(least, MAX_RESISTANCE));
            self.linearise(problem);
            self.find_defect(problem);
            if !self.find_step(problem) {
                return false;
            }
            self.take_step(problem);
            residual = self.linearise(problem);
            if to.is_in_motion() && (to.newton..to.newton_fallback).contains(&residual) {
                if self.is_solved_by_sweeps(problem, to.newton, work) {
                    return true;
                }
                residual = self.linearise(problem);
            }
        }
        false
    }

    /// Sweeps from the present impulses. Returns true if that solves the problem; the impulses are then those after the
    /// sweeps.
    fn is_solved_by_sweeps(&mut self, problem: &mut Problem, tolerance: f64, work: &mut f64) -> bool {
        self.write_back(problem);
        let solves = |_| {
            *work -= problem.sweep_cost();
            problem.sweep(0.0) < tolerance
        };
        let is_solved = (0..FINAL_SWEEPS).any(solves);
        self.load_impulses(problem);
        is_solved
    }

    /// Takes impulses and velocities from the blocks.
    fn load_impulses(&mut self, problem: &Problem) {
        self.w.clone_from(&problem.w);
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            point.centre = block.impulse;
            point.u = problem.velocity(block);
        }
    }

    /// Finds the linear laws of all blocks at the present impulses and velocities. Returns the violation of the laws,
    /// m/s.
    fn linearise(&mut self, problem: &Problem) -> f64 {
        let mut residual = 0.0f64;
        for (index, block) in problem.blocks.iter().enumerate() {
            let radius = match block.law {
                Law::Disc { normal, radius, .. } => {
                    let of = &self.points[normal];
                    DiscRadius { now: radius * of.centre[0], base: radius * of.l[0], slope: radius * of.slope[0][0] }
                }
                Law::Patch { .. } => {
                    let sum = |of: &dyn Fn(&BlockIterate) -> f64| {
                        problem.patch_normals(block.law).map(|normal| of(&self.points[normal])).sum::<f64>()
                    };
                    DiscRadius { now: sum(&|of| of.centre[0].max(0.0)), base: sum(&|of| of.l[0]), slope: 1.0 }
                }
                _ => DiscRadius::default(),
            };
            let point = &mut self.points[index];
            let violation = point.linearise(problem, block, radius);
            // Not `max`, which would ignore NaN.
            residual = if violation < residual { residual } else { violation };
        }
        residual
    }

    /// Residual of the equations with the impulses of the linear laws.
    fn find_defect(&mut self, problem: &Problem) {
        self.defect.clone_from(&self.w);
        for (point, block) in self.points.iter().zip(&problem.blocks) {
            problem.subtract_impulse(block, point.l, &mut self.defect);
        }
    }

    /// Takes the whole Newton step: the impulses follow the velocities by their linear laws.
    fn take_step(&mut self, problem: &Problem) {
        self.w.iter_mut().zip(&self.step).for_each(|(w, step)| *w += step);
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            point.du = problem.velocity_from(block, &self.step);
        }
        for (index, block) in problem.blocks.iter().enumerate() {
            let normal = match block.law {
                Law::Disc { normal, .. } => self.points[normal].du[0],
                Law::Patch { .. } => {
                    let points = problem.patch_normals(block.law).map(|normal| &self.points[normal]);
                    points.map(|point| point.slope[0][0] * point.du[0]).sum()
                }
                Law::Cone | Law::Interval { .. } => 0.0,
            };
            let point = &mut self.points[index];
            let du = point.du;
            for c in 0..3 {
                let slope = &point.slope[c];
                let fall = slope[0] * du[0] + slope[1] * du[1] + slope[2] * du[2] + point.by_normal[c] * normal;
                point.centre[c] = point.l[c] - fall;
                point.u[c] += du[c];
            }
        }
    }
}

impl BlockIterate {
    /// Finds the linear law of its mode: the impulse at the present velocity, and its decrease with the velocity.
    /// Returns the violation of the law by the present impulse, m/s.
    fn linearise(&mut self, problem: &Problem, block: &Block, radius: DiscRadius) -> f64 {
        (self.l, self.slope, self.by_normal) = ([0.0; 3], [[0.0; 3]; 3], [0.0; 3]);
        if !(self.inverse_stiffness[0] > 0.0) {
            return 0.0;
        }
        let (a, l) = (&block.cone.a, self.centre);
        let v: [f64; 3] = std::array::from_fn(|c| self.u[c] + block.compliance[c] * l[c]);
        match block.law {
            Law::Interval { low, high } => {
                let z = l[0] - v[0] / a[0];
                let next = z.clamp(low, high);
                if z == next {
                    self.hold_row(0)
                } else {
                    self.l[0] = next
                }
                (l[0] - next).abs() * a[0]
            }
            Law::Cone => {
                let z = l[0] - v[0] / a[0];
                if z <= 0.0 {
                    return l[0].abs().max(l[1].abs()).max(l[2].abs()) * a[0];
                }
                self.hold_row(0);
                if !block.cone.friction {
                    return v[0].abs();
                }
                let radius = DiscRadius { now: z, base: self.l[0], slope: self.slope[0][0] };
                let (violation, by_normal) = self.bound_by_disc([1, 2], [v[1], v[2]], 0.5 * (a[3] + a[5]), radius);
                (self.slope[1][0], self.slope[2][0]) = (by_normal[0], by_normal[1]);
                violation.max(v[0].abs())
            }
            Law::Disc { rows, .. } => {
                let (v, own) = if rows > 1 { ([v[0], v[1]], 0.5 * (a[0] + a[3])) } else { ([v[0], 0.0], a[0]) };
                let (violation, by_normal) = self.bound_by_disc([0, 1], v, own, radius);
                (self.by_normal[0], self.by_normal[1]) = (by_normal[0], by_normal[1]);
                violation
            }
            Law::Patch { patch, .. } => {
                let slope = problem.patches[patch].slope(self.u);
                self.l = slope.gradient.map(|g| -radius.base * g);
                self.set_patch_slopes(slope, radius.now, radius.slope);
                let off = std::array::from_fn(|c| l[c] + radius.now * slope.gradient[c]);
                block.cone.times(off).iter().fold(0.0, |most, du| most.max(du.abs()))
            }
        }
    }

    /// Holds a row: v + r (l - l_k) = 0.
    fn hold_row(&mut self, row: usize) {
        self.l[row] = (self.resistance[row] * self.centre[row] - self.u[row]) * self.inverse_stiffness[row];
        self.slope[row][row] = self.inverse_stiffness[row];
    }

    /// Finds the linear law of two rows within a disc; `v` is their velocity and `own` their diagonal of A. Returns the
    /// violation, m/s, and the decrease of the impulse with the velocity of the disc's normal row.
    fn bound_by_disc(&mut self, [i, k]: [usize; 2], v: [f64; 2], own: f64, radius: DiscRadius) -> (f64, [f64; 2]) {
        let l = [self.centre[i], self.centre[k]];
        let z = [l[0] - v[0] / own, l[1] - v[1] / own];
        let (now, length) = (radius.now.max(0.0), (z[0] * z[0] + z[1] * z[1]).sqrt());
        let next = on_disc(z, now);
        let violation = (l[0] - next[0]).abs().max((l[1] - next[1]).abs()) * own;
        if length <= now {
            self.hold_row(i);
            self.hold_row(k);
            return (violation, [0.0; 2]);
        }
        // The impulse perpendicular to d follows the rotation of d: l_e = (z_e of the new l and v) now / |z|, solved
        // for l_e.
        let (d, across) = ([z[0] / length, z[1] / length], [-z[1] / length, z[0] / length]);
        let keep = now * (1.0 - 1.0 / (own * self.inverse_stiffness[i]));
        let turned = -keep * (l[0] * across[0] + l[1] * across[1]) / (length - keep);
        let slope = now / (own * (length - keep));
        for (row, c) in [(i, 0), (k, 1)] {
            self.l[row] = radius.base * d[c] + turned * across[c];
            self.slope[row][i] = slope * across[c] * across[0];
            self.slope[row][k] = slope * across[c] * across[1];
        }
        (violation, [radius.slope * d[0], radius.slope * d[1]])
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;
    use crate::engine::solvers::patch_friction::{Chord, PatchFriction};

    /// A body of 1 kg is held by two rows that contradict each other by 6e-9 m/s. That is less than what counts as
    /// motion, so it is rest, and the load stays shared about as it was. Rows that differ by 6e-7 m/s do not come to
    /// rest, and one pulls against the other.
    #[test]
    fn what_contradicts_itself_by_less_than_motion_is_left_at_rest() {
        for (apart, rests) in [(6e-9, true), (6e-7, false)] {
            let mut problem = Problem::default();
            problem.clear([1].into_iter());
            for (place, bias) in [-1.0, apart - 1.0].into_iter().enumerate() {
                problem.columns.push([1.0, 0.0, 0.0, 0.0]);
                problem.index.push(0);
                let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
                let block = problem.block(law, place, [0.0; 3], [bias, 0.0, 0.0], [0.0; 3]);
                problem.blocks.push(Block { impulse: [0.4, 0.0, 0.0], ..block });
            }
            problem.sum_impulses();
            let (mut newton, mut work) = (Newton::default(), 1e9);
            newton.solve(&mut problem, SolverTolerance::at_rest(1e-9, 1e-11), &mut work);
            let [one, other] = [0, 1].map(|place| problem.blocks[place].impulse[0]);
            assert!((one + other - 1.0).abs() < 2.0 * apart, "{one} and {other} do not hold 1 N s");
            assert_eq!((one - other).abs() < 0.1, rests, "{one} {other}");
        }
    }

    /// A body of seven unknowns on a line whose two ends press, and a third contact beside it, with random rows.
    fn random_problem(next: &mut impl FnMut() -> f64) -> Problem {
        const UNKNOWNS: usize = 7;
        let mut problem = Problem::default();
        problem.clear(std::iter::once(UNKNOWNS));
        for place in 0..4 {
            let start = problem.columns.len();
            for index in 0..UNKNOWNS {
                let y = [next(), next(), next(), 0.0];
                // The first unknown opens all contacts.
                problem.columns.push(match (place, index) {
                    (3, 0) => [0.0; 4],
                    (3, _) => y,
                    (_, 0) => [0.7 + 0.3 * y[0], 0.0, 0.0, 0.0],
                    _ => [y[0], 0.0, 0.0, 0.0],
                });
                problem.index.push(u32::try_from(index).unwrap());
            }
            let bias = if place == 3 { [next(), next(), next()] } else { [next() - 0.7, 0.0, 0.0] };
            let law = if place == 3 { Law::Patch { patch: 0, first: 1, end: 3 } } else { Law::Cone };
            let block = problem.block(law, start, [0.0; 3], bias, bias);
            problem.blocks.push(block);
        }
        let mut patch = PatchFriction { count: 1, floor: 1e-3, ..PatchFriction::default() };
        patch.chords[0] = Chord { half: 1.0, load: 1.0, tilt: 0.5 * next(), ..Chord::default() };
        problem.patches.push(patch);
        problem
    }

    /// Sweeps and Newton's method find the same motion, each by itself.
    #[test]
    fn both_methods_solve_problems_with_a_patch() {
        let mut stream = Stream::from_number(21);
        let mut next = || stream.between(-1.0, 1.0);
        let mut slides = 0;
        for round in 0..300 {
            let problem = random_problem(&mut next);
            let copy = || {
                let mut other = Problem::default();
                other.clear(std::iter::once(7));
                (other.columns, other.index) = (problem.columns.clone(), problem.index.clone());
                (other.blocks, other.patches) = (problem.blocks.clone(), problem.patches.clone());
                other
            };
            let (mut swept, mut newton) = (copy(), copy());
            (0..3000).for_each(|_| _ = swept.sweep(0.0));
            assert!(swept.residual() < 1e-9, "round {round}: {}", swept.residual());
            Newton::default().solve(&mut newton, SolverTolerance::at_rest(1e-9, 1e-11), &mut 1e9);
            assert!(newton.residual() < 1e-8, "round {round}: {}", newton.residual());
            let off = swept.w.iter().zip(&newton.w).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-5, "round {round}: {off}");
            slides += usize::from(swept.disc_radius(swept.blocks[3].law) > 0.0);
        }
        assert!(slides > 100, "{slides}");
    }
}
