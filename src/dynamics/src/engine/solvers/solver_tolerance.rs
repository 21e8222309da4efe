//! Solver tolerance: residuals at which the solvers stop.
//!
//! Bodies at rest, grips and robots are solved far below any sensor reading. A heap of free bodies in motion is solved
//! to a fraction of its sliding speed.

use super::{
    least_norm_distribution,
    load_support::STICKING_SPEED,
    problem::{Law, Problem},
};

/// Residual below which a problem is solved, m/s or rad/s. Over a step of 1 ms it is 1e-12 m: below any reading, above
/// rounding.
pub(crate) const SOLVED_RESIDUAL: f64 = 1e-9;
/// Residual at which Newton's method stops, m/s or rad/s. It costs at most one more iteration, and the next step then
/// starts so near its solution that one sweep is usually enough. Problems without load distribution do not need it.
const NEWTON_TOLERANCE: f64 = 1e-2 * SOLVED_RESIDUAL;
/// Factor on [`SOLVED_RESIDUAL`] in the step after loads were distributed. A distribution also stops motion below the
/// tolerance. With the usual tolerance that motion would return, and a stack or grip would alternate between both from
/// step to step.
const AFTER_DISTRIBUTION: f64 = 0.1;
/// Residual that is accepted if no method reaches the tolerance, m/s: 1e-9 m over a step of 1 ms.
const ACCEPTED_RESIDUAL: f64 = 1e-6;
/// Number of contacts above which a heap of free bodies is solved to this fraction of its sliding speed. The same
/// fraction of its friction power is then wrong.
const MIN_HEAP_CONTACTS: usize = 16;
const SLIDING_FRACTION: f64 = 1e-4;
/// Largest tolerance for a heap in motion, m/s: 1e-8 m over a step of 1 ms. That is a hundredth of the penetration left
/// uncorrected, and far below what the step does to a chaotic motion.
const MAX_TOLERANCE_IN_MOTION: f64 = 1e-5;
/// Factors on the tolerance of a heap in motion. The first: Newton's method stops there if it makes no more progress.
/// The second: its proximal steps may end there, below the accepted residual, so that the result stays accepted after
/// the sweep that follows. The third: any method is accepted there, 1e-6 m over a step of 1 ms, in the one step of
/// hundreds that no method solves sooner.
const NEWTON_FALLBACK_IN_MOTION: f64 = 5.0;
const PROXIMAL_IN_MOTION: f64 = 40.0;
const ACCEPTED_IN_MOTION: f64 = 100.0;

/// Residuals at which the methods stop, m/s or rad/s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SolverTolerance {
    /// Sweeps stop here.
    pub(crate) sweeps: f64,
    /// Newton's method starts only above `sweeps` and stops here. Below `newton_fallback` it may stop if it makes no
    /// more progress.
    pub(crate) newton: f64,
    pub(crate) newton_fallback: f64,
    /// Proximal steps may stop here if many of them make no progress.
    pub(crate) proximal: f64,
    /// Any method is accepted below this.
    pub(crate) accepted: f64,
}

impl SolverTolerance {
    /// Tolerances for bodies at rest, joints, or few contacts.
    pub(crate) fn at_rest(sweeps: f64, newton: f64) -> Self {
        Self { sweeps, newton, newton_fallback: STICKING_SPEED, proximal: newton, accepted: ACCEPTED_RESIDUAL }
    }

    /// Tolerances for a heap in motion. `left` is the residual of nearly the same problem before; the tolerance is not
    /// below it.
    fn in_motion(tolerance: f64, left: f64) -> Self {
        let proximal = PROXIMAL_IN_MOTION * tolerance;
        let least = tolerance.max(left.min(proximal));
        let (newton_fallback, accepted) = (NEWTON_FALLBACK_IN_MOTION * tolerance, ACCEPTED_IN_MOTION * tolerance);
        let (newton_fallback, proximal) =
            (newton_fallback.max(STICKING_SPEED).max(least), proximal.max(STICKING_SPEED));
        Self { sweeps: least, newton: least, newton_fallback, proximal, accepted: accepted.max(ACCEPTED_RESIDUAL) }
    }

    pub(crate) fn is_in_motion(&self) -> bool {
        self.sweeps > SOLVED_RESIDUAL
    }
}

impl Problem {
    /// The tolerance of this problem. A large heap is a new problem in each step, and the last hundredth of the
    /// tolerance would take a fourth of its time.
    pub(crate) fn solver_tolerance(&self) -> SolverTolerance {
        let contacts = self.blocks.iter().filter(|block| block.law == Law::Cone).count();
        let in_motion = if contacts > MIN_HEAP_CONTACTS && self.only_free_bodies {
            SLIDING_FRACTION * self.fastest_sliding()
        } else {
            0.0
        };
        match in_motion.min(MAX_TOLERANCE_IN_MOTION) {
            tolerance if tolerance > SOLVED_RESIDUAL => SolverTolerance::in_motion(tolerance, self.previous_residual),
            _ if contacts > least_norm_distribution::MAX_CONTACTS => {
                SolverTolerance::at_rest(SOLVED_RESIDUAL, SOLVED_RESIDUAL)
            }
            _ if self.was_distributed() => {
                SolverTolerance::at_rest(AFTER_DISTRIBUTION * SOLVED_RESIDUAL, NEWTON_TOLERANCE)
            }
            _ => SolverTolerance::at_rest(SOLVED_RESIDUAL, NEWTON_TOLERANCE),
        }
    }

    /// Largest speed of one surface on another among pressing contacts at the start of the step, m/s.
    fn fastest_sliding(&self) -> f64 {
        let presses = self.blocks.iter().filter(|block| block.law == Law::Cone && block.impulse[0] > 0.0);
        presses.flat_map(|block| block.before).fold(0.0, |fastest, speed| fastest.max(speed.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::solvers::problem::Block;

    /// Bodies of 1 kg in a row, with this number of contacts, whose surfaces slide at 0.01 m/s: only a heap is solved
    /// less exactly for that, and none that is at rest or has a joint.
    #[test]
    fn only_heaps_in_motion_are_solved_less_exactly() {
        let tolerances = |contacts: usize, only_free_bodies: bool, sliding: f64| {
            let mut problem = Problem::default();
            problem.clear(std::iter::repeat_n(6, contacts));
            problem.only_free_bodies = only_free_bodies;
            for place in 0..contacts {
                problem.columns.push([1.0, 0.0, 0.0, 0.0]);
                problem.index.push((6 * place) as u32);
                let block = problem.block(Law::Cone, place, [0.0; 3], [0.0; 3], [0.0, sliding, 0.0]);
                problem.blocks.push(Block { impulse: [1.0, 0.0, 0.0], undistributed_change: f64::INFINITY, ..block });
            }
            problem.solver_tolerance()
        };
        assert!((tolerances(20, true, 0.01).sweeps - 1e-6).abs() < 1e-15);
        let fast = tolerances(20, true, 100.0);
        assert_eq!([fast.sweeps, fast.newton], [MAX_TOLERANCE_IN_MOTION; 2]);
        assert!((fast.accepted - 1e-3).abs() < 1e-15);
        for (contacts, only_free_bodies, sliding) in [(20, true, 0.0), (20, false, 0.01), (16, true, 0.01)] {
            let SolverTolerance { sweeps, newton_fallback, accepted, .. } =
                tolerances(contacts, only_free_bodies, sliding);
            assert_eq!([sweeps, newton_fallback, accepted], [SOLVED_RESIDUAL, STICKING_SPEED, ACCEPTED_RESIDUAL]);
        }
    }
}
