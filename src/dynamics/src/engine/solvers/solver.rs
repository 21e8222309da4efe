//! The constraint solver of an island.
//!
//! 1. Block Gauss-Seidel with exact local solves (nonsmooth contact dynamics, Jean and Moreau 1992).
//! 2. If its sweeps do not converge, semismooth Newton steps ([`super::newton`]).
//! 3. If these do not converge either, a homotopy ([`super::homotopy`]). Gauss-Seidel has no proof of convergence: it
//!    cycles between modes where nearly the same problem has three solutions close to each other.
//!
//! A single contact can have two solutions. A solution of all contacts is kept, even if the local solve of one would
//! lead away from it. Restitution is limited here so that it creates no energy.

use super::{
    cone::Mode,
    gauss_seidel::Extrapolation,
    homotopy::Homotopy,
    least_norm_distribution::{Distribution, LeastNormDistribution},
    load_support,
    newton::Newton,
    position_correction::PositionCorrection,
    problem::{Block, Law, Problem},
    solver_tolerance::{SOLVED_RESIDUAL, SolverTolerance},
};

/// Velocity change, m/s, after which loads are distributed again. Below it the last distribution stays: at 1 ms it is
/// 1e-6 of a weight.
const REDISTRIBUTION_THRESHOLD: f64 = 10.0 * SOLVED_RESIDUAL;
/// Largest number of solves after a distribution that moved friction. Each leaves a tenth of the change or less.
const MAX_REDISTRIBUTIONS: usize = 3;
/// Largest ratio of one such change to the one before. Above it, distribution and sliding do not converge.
const REDISTRIBUTION_CONTRACTION: f64 = 0.5;
/// Residual above which the impulses are discarded, m/s: no collision is as fast.
const DIVERGED_RESIDUAL: f64 = 1e4;
/// Number of sweeps of the fallback without friction. They need not converge.
const FRICTIONLESS_SWEEPS: usize = 20;

/// Saved impulses of all blocks, with mode, slip and friction flag of their cones, the changes of rigid motors, and the
/// sum w.
#[derive(Debug, Default)]
struct SavedImpulses {
    blocks: Vec<([f64; 3], Mode, f64, bool)>,
    motor_changes: Vec<f64>,
    w: Vec<f64>,
}

impl SavedImpulses {
    fn save(&mut self, problem: &Problem) {
        self.blocks.clear();
        let of = |Block { impulse, cone, .. }: &Block| (*impulse, cone.mode, cone.slip, cone.friction);
        self.blocks.extend(problem.blocks.iter().map(of));
        self.motor_changes.clear();
        self.motor_changes.extend(problem.motors.iter().map(|motor| motor.change));
        self.w.clone_from(&problem.w);
    }

    fn restore(&self, problem: &mut Problem) {
        for (Block { impulse, cone, .. }, saved_impulses) in problem.blocks.iter_mut().zip(&self.blocks) {
            (*impulse, cone.mode, cone.slip, cone.friction) = *saved_impulses;
        }
        for (motor, change) in problem.motors.iter_mut().zip(&self.motor_changes) {
            motor.change = *change;
        }
        problem.w.clone_from(&self.w);
    }
}

/// Impulse of a block and its velocity afterwards, without the additions of restitution and gaps.
pub(crate) type Solution = ([f64; 3], [f64; 3]);

/// Buffers of all methods. They grow to the size of the largest problem so far.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    newton: Newton,
    saved_impulses: SavedImpulses,
    /// The solution of Newton's method.
    newton_impulses: SavedImpulses,
    extrapolation: Extrapolation,
    homotopy: Homotopy,
    distribution: LeastNormDistribution,
    /// The solution before loads were distributed.
    undistributed: SavedImpulses,
    pub(crate) correction: PositionCorrection,
    /// The solutions with restitution and without, while they are blended.
    solutions: [Vec<Solution>; 2],
}

/// Result of a solve.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SolveOutcome {
    /// Cost, in sweeps over the island.
    pub(crate) sweeps: f64,
    /// Residual, m/s or rad/s: the largest velocity change of the last sweep, or the violation of the laws.
    pub(crate) residual: f64,
    /// Upper bound of the velocity change by all sweeps, m/s or rad/s; infinite if other methods were used.
    pub(crate) velocity_change: f64,
    pub(crate) converged: bool,
}

impl Problem {
    /// Solves for all impulses, starting from the present ones, within a budget of `sweeps`. `add_motors` adds the
    /// rigid motors before loads are distributed; most steps keep the loads of the last one and need none.
    pub(crate) fn solve(
        &mut self,
        solver: &mut Solver,
        sweeps: f64,
        add_motors: impl FnOnce(&mut Self),
    ) -> SolveOutcome {
        let work = &mut (sweeps * self.sweep_cost());
        let tolerances = self.solver_tolerance();
        if self.rounding_error() > tolerances.accepted {
            self.blocks.iter_mut().for_each(|block| block.impulse = [0.0; 3]);
            self.sum_impulses();
        }
        let mut outcome = self.iterate(solver, work);
        if self.blocks.iter().any(|block| block.plastic_bias_change != 0.0) {
            outcome = self.limit_restitution_energy(solver, work, outcome);
        } else if tolerances.is_in_motion() {
            // Loads are distributed only when the heap comes to rest: in motion, the velocities are too inaccurate for
            // it.
            self.blocks.iter_mut().for_each(|block| block.undistributed_change = f64::INFINITY);
        } else {
            outcome = self.distribute_loads(solver, work, outcome, add_motors);
        }
        // Above 1e9 N s, or for bodies faster than projectiles, rounding alone exceeds any tolerance.
        let sane = |block: &Block| block.impulse[0].abs() < 1e9 && block.bias[0].abs() < 100.0;
        if cfg!(debug_assertions) && outcome.converged && self.blocks.iter().all(sane) {
            self.assert_contact_laws(tolerances.accepted);
        }
        outcome
    }

    /// Velocity error by the rounding of the impulses alone, m/s. Contacts that press a body from opposite sides allow
    /// any pressure. An unsolved substep can leave impulses so large that the changes of a sweep are lost in their
    /// rounding.
    fn rounding_error(&self) -> f64 {
        let largest = self.blocks.iter().flat_map(|block| {
            let a = &block.cone.a;
            [a[0] * block.impulse[0], a[3] * block.impulse[1], a[5] * block.impulse[2]]
        });
        f64::EPSILON * largest.fold(0.0, |most: f64, velocity| most.max(velocity.abs()))
    }

    /// Distributes the loads of contacts that statics leave undetermined. If friction moves with them, the problem is
    /// solved again.
    fn distribute_loads(
        &mut self,
        solver: &mut Solver,
        work: &mut f64,
        mut outcome: SolveOutcome,
        add_motors: impl FnOnce(&mut Self),
    ) -> SolveOutcome {
        let undistributed_change = self.change_since_distribution(outcome.velocity_change);
        let keeps = undistributed_change < REDISTRIBUTION_THRESHOLD;
        for place in 0..self.blocks.len() {
            let since = if keeps { undistributed_change } else { 0.0 };
            self.blocks[place].undistributed_change =
                if self.is_inactive_contact(place) { f64::INFINITY } else { since };
        }
        if keeps {
            return outcome;
        }
        add_motors(self);
        let (sweeps, whole, mut last) = (outcome.sweeps, *work, f64::INFINITY);
        for _ in 0..MAX_REDISTRIBUTIONS {
            solver.undistributed.save(self);
            if !outcome.converged {
                break;
            }
            let shared = solver.distribution.distribute(self, work);
            // Velocities must be those of exactly these impulses, because the effort of a stiff motor shows the
            // smallest difference.
            self.sum_impulses();
            if shared == Distribution::Determined {
                self.blocks
                    .iter_mut()
                    .for_each(|block| block.undistributed_change = block.undistributed_change.max(f64::MIN_POSITIVE));
            }
            let Distribution::FrictionChanged(by) = shared else { break };
            let again = if by < REDISTRIBUTION_CONTRACTION * last {
                self.iterate(solver, work)
            } else {
                SolveOutcome::default()
            };
            if !again.converged {
                solver.undistributed.restore(self);
                break;
            }
            (outcome, last) = (again, by);
        }
        SolveOutcome { sweeps: sweeps + (whole - *work) / self.sweep_cost(), ..outcome }
    }

    /// Upper bound of the velocity change since loads were distributed, m/s, with a change by `now` in this step.
    fn change_since_distribution(&self, now: f64) -> f64 {
        let blocks = self.blocks.iter().enumerate().filter(|&(place, _)| !self.is_inactive_contact(place));
        blocks.fold(now, |most, (_, block)| most.max(block.undistributed_change + now))
    }

    /// True if all pressing contacts have the impulses of the last distribution.
    pub(crate) fn was_distributed(&self) -> bool {
        let mut carry = self.blocks.iter().filter(|block| block.law == Law::Cone && block.impulse[0] > 0.0).peekable();
        carry.peek().is_some() && carry.all(|block| block.undistributed_change == 0.0)
    }

    /// True if a block is a contact that neither carries a load nor could.
    fn is_inactive_contact(&self, place: usize) -> bool {
        let block = &self.blocks[place];
        block.law == Law::Cone && block.impulse[0] == 0.0 && !load_support::can_carry_load(self, block)
    }

    /// Solves for all impulses, without restitution limit and load distribution.
    pub(crate) fn iterate(&mut self, solver: &mut Solver, work: &mut f64) -> SolveOutcome {
        let (cost, whole) = (self.sweep_cost(), *work);
        let tolerances @ SolverTolerance { sweeps: solved, accepted, .. } = self.solver_tolerance();
        let [mut residual, mut velocity_change] = self.sweep_until_solved(&mut solver.extrapolation, solved, work);
        if !residual.is_finite() {
            // If only the sweeps diverged, a start without friction can still converge.
            if self.blocks.iter().all(|block| block.bias.iter().all(|bias| bias.is_finite())) {
                self.solve_without_friction(work);
            }
            return SolveOutcome {
                sweeps: (whole - *work) / cost,
                residual,
                velocity_change: f64::INFINITY,
                converged: false,
            };
        }
        if residual >= solved {
            velocity_change = f64::INFINITY;
            solver.saved_impulses.save(self);
            solver.newton.solve(self, tolerances, work);
            let reached = self.project_and_check(solver, solved, accepted, work);
            if reached <= residual {
                residual = reached;
            } else {
                solver.saved_impulses.restore(self);
            }
        }
        if (solved.max(SOLVED_RESIDUAL)..accepted).contains(&residual) {
            residual = residual.max(self.residual());
        }
        if residual >= accepted {
            residual = residual.min(solver.homotopy.solve(self, work, accepted));
        }
        if !(self.is_finite() && residual < DIVERGED_RESIDUAL) {
            self.solve_without_friction(work);
        }
        let converged = self.is_finite() && residual < accepted && self.rounding_error() <= accepted;
        SolveOutcome { sweeps: (whole - *work) / cost, residual, velocity_change, converged }
    }

    /// Projects all impulses of Newton's method to their bounds, by a sweep. If the sweep leads away from a solution,
    /// the solution is restored, and contacts that satisfy their law keep their impulse. Returns the largest velocity
    /// change, m/s.
    fn project_and_check(&mut self, solver: &mut Solver, solved: f64, accepted: f64, work: &mut f64) -> f64 {
        let cost = self.sweep_cost();
        solver.newton_impulses.save(self);
        *work -= cost;
        let reached = self.sweep(0.0);
        if reached < accepted {
            return reached;
        }
        solver.newton_impulses.restore(self);
        *work -= cost;
        self.sweep(solved)
    }

    /// Starts from zero impulses without friction, where sweeps always converge.
    fn solve_without_friction(&mut self, work: &mut f64) {
        *work -= FRICTIONLESS_SWEEPS as f64 * self.sweep_cost();
        for block in &mut self.blocks {
            block.impulse = [0.0; 3];
            block.cone.friction = false;
        }
        self.sum_impulses();
        (0..FRICTIONLESS_SWEEPS).for_each(|_| _ = self.sweep(0.0));
    }

    /// Limits restitution so that it creates no energy. Newton's law of restitution with friction can create some.
    ///
    /// The work of the impulses is exactly W = sum of l · (u before + u after) / 2. If W > 0, the solution is blended
    /// with the one without restitution, which always dissipates. The weight of restitution is the largest for which W
    /// <= 0. Both solutions lie in convex cones, so every blend does; W is quadratic in the weight.
    fn limit_restitution_energy(&mut self, solver: &mut Solver, work: &mut f64, first: SolveOutcome) -> SolveOutcome {
        let [mut bouncing, mut plain] = std::mem::take(&mut solver.solutions);
        let outcome = self.blend_with_plastic(solver, work, first, &mut bouncing, &mut plain);
        solver.solutions = [bouncing, plain];
        outcome
    }

    /// Blends the solutions with restitution and without it.
    fn blend_with_plastic(
        &mut self,
        solver: &mut Solver,
        work: &mut f64,
        first: SolveOutcome,
        bouncing: &mut Vec<Solution>,
        plain: &mut Vec<Solution>,
    ) -> SolveOutcome {
        self.record_solution(bouncing);
        let scale: f64 = bouncing.iter().map(|(l, u)| dot(*l, *u).abs()).sum();
        if self.work(bouncing) <= 1e-9 * scale {
            return first;
        }
        for block in &mut self.blocks {
            block.bias[0] += block.plastic_bias_change;
        }
        let outcome = self.iterate(solver, work);
        self.record_solution(plain);
        let c0 = self.work(plain).min(0.0);
        let (mut c1, mut c2) = (0.0, 0.0);
        for ((bounce, plain), block) in bouncing.iter().zip(&*plain).zip(&self.blocks) {
            for c in 0..3 {
                let (dl, du) = (bounce.0[c] - plain.0[c], bounce.1[c] - plain.1[c]);
                c2 += 0.5 * dl * du;
                c1 += 0.5 * (dl * (block.before[c] + plain.1[c]) + plain.0[c] * du);
            }
        }
        let root = (c1 * c1 - 4.0 * c2 * c0).max(0.0).sqrt();
        let weight = if c2.abs() > 1e-300 { ((root - c1) / (2.0 * c2)).clamp(0.0, 1.0) } else { 0.0 };
        for (block, (bounce, plain)) in self.blocks.iter_mut().zip(bouncing.iter().zip(&*plain)) {
            for c in 0..3 {
                block.impulse[c] = (1.0 - weight) * plain.0[c] + weight * bounce.0[c];
            }
        }
        self.sum_impulses();
        SolveOutcome {
            sweeps: first.sweeps + outcome.sweeps,
            residual: first.residual.max(outcome.residual),
            velocity_change: f64::INFINITY,
            converged: first.converged && outcome.converged,
        }
    }

    /// Work of the impulses of a solution, J.
    fn work(&self, solution: &[Solution]) -> f64 {
        let pairs = solution.iter().zip(&self.blocks);
        pairs.map(|((l, u), block)| 0.5 * (dot(*l, block.before) + dot(*l, *u))).sum()
    }

    /// Records impulse and velocity of every block.
    fn record_solution(&self, solution: &mut Vec<Solution>) {
        let of = |block: &Block| {
            let u = self.velocity(block);
            (block.impulse, std::array::from_fn(|c| u[c] - block.bias[c] + block.free[c]))
        };
        solution.clear();
        solution.extend(self.blocks.iter().map(of));
    }

    /// Panics if a converged solution violates a contact law by more than the tolerance explains.
    fn assert_contact_laws(&self, accepted: f64) {
        // A blend may press where only the solution with restitution opens.
        let blended = self.blocks.iter().any(|block| block.plastic_bias_change != 0.0);
        for block in self.blocks.iter().filter(|block| block.law == Law::Cone) {
            let (u, l) = (self.velocity(block), block.impulse);
            let tangent = l[1].hypot(l[2]);
            assert!(l[0] >= 0.0 && tangent <= l[0] * (1.0 + 1e-9), "a contact's impulse {l:?} is outside of its cone");
            let slack = 100.0 * accepted + block.plastic_bias_change.abs();
            let normal = u[0] + block.compliance[0] * l[0];
            assert!(normal >= -slack, "a contact closes at {normal} m/s after the solve");
            assert!(
                l[0] == 0.0 || blended || normal.abs() <= slack,
                "a contact opens at {normal} m/s and still presses"
            );
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contact with a NaN or infinite velocity: the first sweep shows it, and no work is spent on it. Its neighbour,
    /// which could be solved, does not show it.
    #[test]
    fn a_problem_that_is_not_finite_ends_at_once() {
        for bias in [f64::NAN, f64::NEG_INFINITY] {
            let mut problem = Problem::default();
            problem.clear([1, 1].into_iter());
            for (place, normal) in [(0, bias), (1, -1.0)] {
                problem.columns.push([1.0, 0.0, 0.0, 0.0]);
                problem.index.push(place);
                let start = problem.columns.len() - 1;
                let block = problem.block(Law::Cone, start, [0.0; 3], [normal, 0.0, 0.0], [0.0; 3]);
                problem.blocks.push(block);
            }
            let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
            assert!(outcome.sweeps <= 1.0 && !outcome.converged, "{bias}: {outcome:?}");
        }
    }

    /// A body of 1 kg moves at 1 m/s towards one of two supports that face each other. An unsolved substep left them
    /// pressing on each other with 1e17 N s, where the next larger number is 16 more: the solve starts from zero
    /// impulses.
    #[test]
    fn impulses_whose_rounding_hides_what_is_missing_are_forgotten() {
        let mut problem = Problem::default();
        problem.clear([1].into_iter());
        for (place, side) in [(0, 1.0), (1, -1.0)] {
            problem.columns.push([side, 0.0, 0.0, 0.0]);
            problem.index.push(0);
            let block = problem.block(Law::Cone, place, [0.0; 3], [-side, 0.0, 0.0], [0.0; 3]);
            problem.blocks.push(Block { impulse: [1e17, 0.0, 0.0], ..block });
        }
        problem.sum_impulses();
        let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
        assert!(outcome.converged && problem.residual() < SOLVED_RESIDUAL, "{} {outcome:?}", problem.residual());
        assert!(problem.blocks.iter().all(|block| block.impulse[0] < 10.0), "{:?}", problem.blocks);
    }

    /// A body of 1 kg that two supports without friction hold against 1 N s, and a third support that is closed or
    /// open. `before` has the impulses and undistributed changes of the step before.
    fn held_by_three(before: [([f64; 3], f64); 3], third_is_closed: bool) -> (Problem, SolveOutcome) {
        let mut problem = Problem::default();
        problem.clear([1].into_iter());
        for (place, (impulse, undistributed_change)) in before.into_iter().enumerate() {
            problem.columns.push([1.0, 0.0, 0.0, 0.0]);
            problem.index.push(0);
            let opening = if place == 2 && !third_is_closed { 5.0 } else { 0.0 };
            let block = problem.block(Law::Cone, place, [0.0; 3], [opening - 1.0, 0.0, 0.0], [0.0; 3]);
            problem.blocks.push(Block { impulse, undistributed_change, ..block });
        }
        problem.sum_impulses();
        let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
        (problem, outcome)
    }

    /// Two supports of two bodies of 1 kg are statically determined: without load distribution, the next step is not
    /// solved more exactly.
    #[test]
    fn what_statics_leave_nothing_open_of_is_not_solved_to_more_digits() {
        let mut problem = Problem::default();
        problem.clear([1, 1].into_iter());
        for place in 0..2 {
            problem.columns.push([1.0, 0.0, 0.0, 0.0]);
            problem.index.push(place);
            let block = problem.block(Law::Cone, place as usize, [0.0; 3], [-1.0, 0.0, 0.0], [0.0; 3]);
            problem.blocks.push(Block { undistributed_change: f64::INFINITY, ..block });
        }
        let outcome = problem.solve(&mut Solver::default(), 6000.0, |_| {});
        assert!(
            outcome.converged && !problem.was_distributed() && problem.solver_tolerance().sweeps == SOLVED_RESIDUAL,
            "{outcome:?}"
        );
        assert!(
            problem.blocks.iter().all(|block| block.undistributed_change < REDISTRIBUTION_THRESHOLD),
            "{:?}",
            problem.blocks
        );
    }

    /// Loads stay as distributed while nothing changes, though an open contact is beside them. When that closes, it
    /// takes its part, though no sweep changes anything.
    #[test]
    fn loads_are_shared_anew_when_a_contact_closes_and_not_before() {
        let after = |problem: &Problem| -> [_; 3] {
            std::array::from_fn(|place| (problem.blocks[place].impulse, problem.blocks[place].undistributed_change))
        };
        let (first, _) = held_by_three([([0.0; 3], f64::INFINITY); 3], false);
        let of = |problem: &Problem, place: usize| problem.blocks[place].impulse[0];
        assert!((of(&first, 0) - 0.5).abs() < 1e-11 && of(&first, 0) == of(&first, 1), "{:?}", first.blocks);
        assert!(of(&first, 2) == 0.0 && first.blocks[2].undistributed_change == f64::INFINITY, "{:?}", first.blocks);
        let (second, outcome) = held_by_three(after(&first), false);
        assert_eq!(outcome.sweeps, 1.0, "{outcome:?}");
        assert!((0..3).all(|place| (of(&second, place) - of(&first, place)).abs() < SOLVED_RESIDUAL));
        assert!(
            second.blocks[0].undistributed_change < REDISTRIBUTION_THRESHOLD
                && second.blocks[2].undistributed_change == f64::INFINITY
        );
        let (third, outcome) = held_by_three(after(&second), true);
        assert!(outcome.converged && outcome.sweeps > 1.0, "{outcome:?}");
        let even = |block: &Block| (block.impulse[0] - 1.0 / 3.0).abs() < 1e-11 && block.undistributed_change == 0.0;
        assert!(third.blocks.iter().all(even), "{:?}", third.blocks);
    }
}
