//! A proximal semismooth Newton method (compare Acary, Brémond and Huber 2018). In a few steps it solves problems that
//! Gauss-Seidel approaches slowly or never.
//!
//! A proximal step gives every row an elastic resistance r to a change of its impulse from its previous value l_k: the
//! law holds for u + R l + r (l - l_k). Each block's impulse then follows from its own velocity, l = l(u), with the
//! laws in the form of Alart and Curnier: normal impulses are positive parts, tangential ones are projected on the disc
//! that these allow. What remains are the equations
//!
//! ```text
//! f(w) = w - sum of Y l(b + Yᵀ w) = 0
//! ```
//!
//! over the unknowns of the island, which are coupled only where trees touch ([`crate::engine::algebra::elimination`]).
//! Newton's method solves them. A line search ends its step where f does no more work along it: at the minimum of a
//! potential, if there is one.
//!
//! If r is small compared with the diagonal of A, a few proximal steps lead to r (l - l_k) = 0, the exact law. If r is
//! large, the equations are smooth. So r is decreased while Newton's method converges in a few iterations. If it does
//! not converge, r is increased, and for one proximal step friction is bounded by the normal impulses before the step
//! (Tresca friction). Then there is a convex potential, and Newton's method cannot fail.
//!
//! These steps are for problems on which [`primal_dual`] fails: few with dozens of contacts, most with hundreds.
//!
//! **Cost.** Of the problems of six blocks or more in a fall of 100 boxes on a heap, a fourth comes here, with some 40
//! iterations each: three fourths of this method's multiplications. In those examined, the impulses drift at a constant
//! velocity of 1e-8 to 1e-5 m/s while r falls, until something slides. Measured without gain: over-relaxed impulses
//! (1.3 to 1.9 times), retries of [`primal_dual`] after each step, and biases that a motion of the bodies can follow.

mod assembly;
mod best_iterate;
mod block_iterate;
mod primal_dual;

use std::ops::Range;

use self::{
    assembly::{FreeBodyBlock, reorder},
    best_iterate::BestIterate,
    block_iterate::{BlockIterate, TreeColumns},
};
use super::{
    problem::{Block, Law, Problem},
    solver_tolerance::SolverTolerance,
};
use crate::engine::algebra::elimination::{BODY_DOFS, Elimination};

/// Resistance r as a fraction of the diagonal of A: largest first value, minimum, and maximum. The minimum is the
/// square root of rounding; smaller values let rounding into the solution.
const FIRST_RESISTANCE: f64 = 0.1;
const MIN_RESISTANCE: f64 = 1e-8;
const MAX_RESISTANCE: f64 = 1.0;
/// Factor on r after an easy proximal step, and after a failed one. A faster decrease fails more often.
const RESISTANCE_DECREASE: f64 = 0.3;
const RESISTANCE_INCREASE: f64 = 10.0;
/// Newton iterations of an easy proximal step, and number after which a step has failed: few would be solved later.
const EASY_ITERATIONS: usize = 3;
const MAX_ITERATIONS: usize = 7;
/// Growth of the tolerance from one proximal step to the next.
const TOLERANCE_GROWTH: f64 = 2.0;
/// Largest number of proximal steps; most problems need five.
const MAX_PROXIMAL_STEPS: usize = 50;
/// A proximal step is solved when the residual is below this fraction of its change. The next step removes the rest.
const RESIDUAL_FRACTION: f64 = 1.0;
/// The line search ends when the work of f is below this fraction of its work at the start, or after this number of
/// trials.
const LINE_SEARCH_REDUCTION: f64 = 0.3;
const MAX_LINE_SEARCH_TRIALS: usize = 12;

/// The bound of friction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Friction {
    /// Coulomb: the normal impulse.
    #[default]
    Coulomb,
    /// Tresca: the normal impulse before the proximal step.
    Tresca,
}

/// Buffers of the method.
#[derive(Debug, Default)]
pub(crate) struct Newton {
    points: Vec<BlockIterate>,
    /// Columns over free bodies.
    free_body: Vec<FreeBodyBlock>,
    friction: Friction,
    elimination: Elimination,
    /// Cost of an iteration, in multiplications.
    cost: f64,
    w: Vec<f64>,
    /// Sums at the start of the proximal step.
    start: Vec<f64>,
    /// Residual of the equations, and the Newton step.
    defect: Vec<f64>,
    step: Vec<f64>,
    /// The best iterate of the primal-dual method.
    best: BestIterate,
}

/// Result of a proximal step.
#[derive(Debug, Clone, Copy)]
struct ProximalStep {
    iterations: usize,
    /// Largest residual velocity, and largest velocity that the resistance compensates, m/s or rad/s.
    residual: f64,
    change: f64,
}

impl ProximalStep {
    fn is_within(&self, tolerance: f64) -> bool {
        self.residual + self.change < tolerance
    }
}

impl Newton {
    /// Improves the impulses until the laws hold to the given tolerances, within `work` in multiplications, from which
    /// the cost is subtracted. Impulses may exceed their bounds by the remaining violation.
    pub(crate) fn solve(&mut self, problem: &mut Problem, tolerances: SolverTolerance, work: &mut f64) {
        let side = |(tree, columns): (usize, Range<usize>)| {
            let (first, end) = (problem.starts[tree], problem.starts[tree + 1]);
            let all = (first..end).eq(problem.index[columns.clone()].iter().map(|&index| index as usize));
            TreeColumns { tree, from: columns.start, to: columns.end, is_free_body: all && end - first == BODY_DOFS }
        };
        let point = |block: &Block| {
            let sides = problem.sides(block).map(side);
            BlockIterate {
                centre: block.impulse,
                sides,
                was_active: block.impulse != [0.0; 3],
                ..BlockIterate::default()
            }
        };
        self.points.clear();
        self.points.extend(problem.blocks.iter().map(point));
        self.free_body.clear();
        self.free_body.extend(self.points.iter().map(|point| FreeBodyBlock::new(&point.sides, problem)));
        self.cost = self.couple_trees(problem);
        if !self.solve_primal_dual(problem, tolerances, work) {
            self.solve_in_steps(problem, tolerances, work);
        }
        self.write_back(problem);
    }

    /// Stores the impulses in the blocks.
    fn write_back(&self, problem: &mut Problem) {
        for (block, point) in problem.blocks.iter_mut().zip(&self.points) {
            block.impulse = point.centre;
        }
        problem.sum_impulses();
    }

    /// Solves in proximal steps. A heap in motion starts from the best iterate of the primal-dual method. Bodies at
    /// rest may have several solutions; they keep the one nearest to their present impulses.
    fn solve_in_steps(&mut self, problem: &Problem, tolerances: SolverTolerance, work: &mut f64) {
        let mut first = FIRST_RESISTANCE;
        if tolerances.is_in_motion() {
            // Near the solution, a smaller resistance suffices.
            first = (self.best.residual / self.best.scale).sqrt().clamp(MIN_RESISTANCE, FIRST_RESISTANCE);
        } else {
            self.w.clone_from(&problem.w);
            for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
                point.centre = block.impulse;
            }
        }
        self.start.clone_from(&self.w);
        self.friction = Friction::Coulomb;
        // The last digit costs as many steps as all others, so a heap in motion skips it.
        let mut tolerance = if tolerances.is_in_motion() { tolerances.newton_fallback } else { tolerances.newton };
        let (mut share, mut last) = (first, f64::INFINITY);
        for _ in 0..MAX_PROXIMAL_STEPS {
            self.set_resistance(problem, share);
            let Some(step) = self.proximal_step(problem, tolerance, work) else { break };
            if step.iterations == MAX_ITERATIONS && !(step.residual <= step.change) {
                self.w.clone_from(&self.start);
                self.friction = Friction::Tresca;
                share = (share * RESISTANCE_INCREASE).min(MAX_RESISTANCE);
                continue;
            }
            self.points.iter_mut().for_each(|point| point.centre = point.l);
            self.start.clone_from(&self.w);
            match self.friction {
                // The next step has the same resistance as this one.
                Friction::Tresca => self.friction = Friction::Coulomb,
                Friction::Coulomb if step.is_within(tolerance) => break,
                // Nearly solved, and rounding prevents more.
                Friction::Coulomb
                    if share == MIN_RESISTANCE && step.change > 0.5 * last && step.is_within(10.0 * tolerance) =>
                {
                    break;
                }
                Friction::Coulomb if step.iterations <= EASY_ITERATIONS => {
                    share = (share * RESISTANCE_DECREASE).max(MIN_RESISTANCE)
                }
                Friction::Coulomb => {}
            }
            last = step.change;
            tolerance = (TOLERANCE_GROWTH * tolerance).min(tolerances.proximal);
        }
    }

    /// Couples the trees of all active blocks. Open contacts are coupled when they close: a third of a heap's contacts
    /// are open, and without them elimination costs half as much.
    fn couple_active_blocks(&mut self, problem: &Problem) {
        let Self { points, elimination, .. } = self;
        let is_apart = |point: &BlockIterate| !elimination.is_coupled(point.sides.map(|side| side.tree));
        if points.iter().any(|point| point.is_active() && is_apart(point)) {
            points.iter_mut().for_each(|point| point.was_active |= point.is_active());
            self.cost = self.couple_trees(problem);
        }
    }

    /// Finds the coupled trees and the order of elimination. Returns the cost of an iteration, in multiplications.
    fn couple_trees(&mut self, problem: &Problem) -> f64 {
        self.elimination.start(&problem.starts);
        let mut cost = 0.0;
        for (point, [a, b]) in self.points.iter().map(|point| (point, &point.sides)) {
            if point.was_active && b.from < b.to {
                self.elimination.couple_groups(a.tree, b.tree);
            }
            let columns = (b.to - a.from) as f64;
            cost += columns * (3.0 * columns + 12.0) + 200.0;
        }
        self.free_body.iter_mut().for_each(FreeBodyBlock::forget_places);
        cost + self.elimination.order_groups()
    }

    /// Sets the resistance of every row to a fraction of the diagonal.
    fn set_resistance(&mut self, problem: &Problem, share: f64) {
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            let (a, c) = (&block.cone.a, block.compliance);
            let own = match (block.law, block.rows()) {
                (Law::Cone, 3) => [a[0], 0.5 * (a[3] + a[5])],
                (Law::Disc { .. }, 2) => [0.5 * (a[0] + a[3]); 2],
                _ => [a[0]; 2],
            };
            // Both rows of a disc are equally stiff, so that its nearest point lies along the radius.
            let round = share * own[1] + if block.law == Law::Cone { c[1].max(c[2]) } else { 0.0 };
            let stiffness = match block.law {
                Law::Cone => [c[0] + share * own[0], round, round],
                Law::Disc { .. } => [round; 3],
                Law::Interval { .. } => [c[0] + share * own[0]; 3],
                // Its impulse is a smooth function of its velocity, so it needs no resistance: its trial impulse is
                // the opposite velocity.
                Law::Patch { .. } => [1.0; 3],
            };
            point.resistance = std::array::from_fn(|k| stiffness[k] - c[k]);
            if let Law::Patch { .. } = block.law {
                point.resistance = [0.0; 3];
            }
            // A row that cannot move has no impulse.
            point.inverse_stiffness = stiffness.map(|stiffness| if stiffness > 0.0 { 1.0 / stiffness } else { 0.0 });
        }
    }

    /// Solves a proximal step. `None` if `work` does not suffice.
    fn proximal_step(&mut self, problem: &Problem, tolerance: f64, work: &mut f64) -> Option<ProximalStep> {
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            let u = problem.velocity_from(block, &self.w);
            let asked =
                |c: usize| (point.resistance[c] * point.centre[c] - block.bias[c] - u[c]) * point.inverse_stiffness[c];
            point.trial = std::array::from_fn(asked);
        }
        let (mut iterations, mut whole) = (0, true);
        loop {
            self.evaluate(problem);
            // After a partial step the equations are far from solved.
            if whole || iterations == MAX_ITERATIONS {
                let (residual, change) = self.residual_and_change(problem);
                if residual < (RESIDUAL_FRACTION * change).max(0.25 * tolerance) || iterations == MAX_ITERATIONS {
                    return Some(ProximalStep { iterations, residual, change });
                }
            }
            iterations += 1;
            if self.cost > *work {
                return None;
            }
            *work -= self.cost;
            if !self.find_step(problem) {
                return Some(ProximalStep { iterations: MAX_ITERATIONS, residual: f64::INFINITY, change: 0.0 });
            }
            let length = self.line_search(problem);
            whole = length == 1.0;
            self.w.iter_mut().zip(&self.step).for_each(|(w, step)| *w += length * step);
            for point in &mut self.points {
                (0..3).for_each(|c| point.trial[c] -= length * point.fall[c]);
            }
        }
    }

    /// Finds impulses, slopes and residual at the present velocities.
    fn evaluate(&mut self, problem: &Problem) {
        self.defect.clone_from(&self.w);
        for (index, block) in problem.blocks.iter().enumerate() {
            let bound = self.friction_bound(problem, index, block);
            let by_normal = match (block.law, self.friction) {
                (Law::Disc { normal, radius, .. }, Friction::Coulomb) => radius * self.points[normal].slope[0][0],
                (Law::Patch { .. }, Friction::Coulomb) => 1.0,
                _ => 0.0,
            };
            let point = &mut self.points[index];
            point.l = point.bounded_impulse(problem, block, 0.0, bound);
            point.set_slopes(problem, block, bound, by_normal);
            let l = point.l;
            problem.subtract_impulse(block, l, &mut self.defect);
        }
    }

    /// Bound of the friction of a block; `None` if it is the normal impulse from its own velocity.
    fn friction_bound(&self, problem: &Problem, index: usize, block: &Block) -> Option<f64> {
        match (block.law, self.friction) {
            (Law::Cone, Friction::Coulomb) => None,
            (Law::Cone, Friction::Tresca) => Some(self.points[index].centre[0].max(0.0)),
            (Law::Disc { normal, radius, .. }, Friction::Coulomb) => Some(radius * self.points[normal].l[0]),
            (Law::Disc { normal, radius, .. }, Friction::Tresca) => {
                Some(radius * self.points[normal].centre[0].max(0.0))
            }
            (Law::Patch { .. }, Friction::Coulomb) => {
                Some(problem.patch_normals(block.law).map(|normal| self.points[normal].l[0]).sum())
            }
            (Law::Patch { .. }, Friction::Tresca) => {
                Some(problem.patch_normals(block.law).map(|normal| self.points[normal].centre[0].max(0.0)).sum())
            }
            (Law::Interval { .. }, _) => Some(0.0),
        }
    }

    /// Largest residual velocity, and largest velocity that the resistance compensates.
    fn residual_and_change(&self, problem: &Problem) -> (f64, f64) {
        let (mut residual, mut change) = (0.0f64, 0.0f64);
        for (point, block) in self.points.iter().zip(&problem.blocks) {
            let u = problem.velocity_from(block, &self.defect);
            for c in 0..block.rows() {
                residual = residual.max(u[c].abs());
                change = change.max((point.resistance[c] * (point.l[c] - point.centre[c])).abs());
            }
        }
        (residual, change)
    }

    /// Finds the Newton step. Returns false if the equations are singular.
    fn find_step(&mut self, problem: &Problem) -> bool {
        self.couple_active_blocks(problem);
        self.elimination.clear();
        let counting = self
            .points
            .iter()
            .zip(&problem.blocks)
            .zip(&mut self.free_body)
            .filter(|((point, _), _)| point.is_active());
        for ((point, block), free_body) in counting {
            if free_body.is_any() {
                self.elimination.add_free_body(free_body, &point.sides, &point.slope);
            } else {
                self.elimination.add_block(problem, &point.sides, &point.sides, &point.slope);
            }
            if point.by_normal == [0.0; 3] {
                continue;
            }
            let mut add_normal = |normal: usize, share: f64| {
                let slope = point.by_normal.map(|along| [along * share, 0.0, 0.0]);
                self.elimination.add_block(problem, &point.sides, &self.points[normal].sides, &slope);
            };
            match block.law {
                Law::Disc { normal, .. } => add_normal(normal, 1.0),
                Law::Patch { .. } => {
                    let normals =
                        problem.patch_normals(block.law).map(|normal| (normal, self.points[normal].slope[0][0]));
                    normals.filter(|(_, share)| *share != 0.0).for_each(|(normal, share)| add_normal(normal, share));
                }
                Law::Cone | Law::Interval { .. } => {}
            }
        }
        self.step.clear();
        self.step.extend(self.defect.iter().map(|x| -x));
        reorder(&mut self.step, &problem.starts);
        let solved = self.elimination.solve(&mut self.step);
        reorder(&mut self.step, &problem.starts);
        solved
    }

    /// Fraction of the step to take: as far as f does work along it.
    fn line_search(&mut self, problem: &Problem) -> f64 {
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            point.du = problem.velocity_from(block, &self.step);
            point.fall = std::array::from_fn(|c| point.du[c] * point.inverse_stiffness[c]);
        }
        let first = self.defect.iter().zip(&self.step).map(|(defect, step)| defect * step).sum::<f64>();
        let full = self.work(problem, 1.0);
        if !(first < 0.0 && full > -LINE_SEARCH_REDUCTION * first) {
            return 1.0;
        }
        // False position; the value at an unchanged end is halved (Illinois method).
        let ([mut low, mut high], [mut below, mut above]) = ([0.0, 1.0], [first, full]);
        for _ in 0..MAX_LINE_SEARCH_TRIALS {
            let length = (low * above - high * below) / (above - below);
            let now = self.work(problem, length);
            if now.abs() <= -LINE_SEARCH_REDUCTION * first {
                return length;
            }
            if now < 0.0 {
                (low, below, above) = (length, now, 0.5 * above);
            } else {
                (high, above, below) = (length, now, 0.5 * below);
            }
        }
        0.5 * (low + high)
    }

    /// Work of f along the step, at the fraction `length` of it.
    fn work(&mut self, problem: &Problem, length: f64) -> f64 {
        let along = self.w.iter().zip(&self.step);
        let mut work: f64 = along.map(|(w, step)| (w + length * step) * step).sum();
        for (index, block) in problem.blocks.iter().enumerate() {
            let bound = self.friction_bound(problem, index, block);
            let point = &mut self.points[index];
            point.l = point.bounded_impulse(problem, block, length, bound);
            work -= point.l[0] * point.du[0] + point.l[1] * point.du[1] + point.l[2] * point.du[2];
        }
        work
    }
}
