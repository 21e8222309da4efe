//! How exactly a problem is solved: to far below any reading where something rests, is gripped or has joints, and to a part of how fast it slides where a
//! heap of loose bodies is in motion.

use super::{
    least_norm_distribution::{self, STICKING_SPEED},
    problem::{Law, Problem},
};

/// A solution is found when no visit of the last sweep changed a velocity by more than this, m/s or rad/s. Over a step of 1 ms
/// that is 1e-12 m: far below any reading, and far above rounding.
pub(crate) const TOLERANCE: f64 = 1e-9;
/// Newton's method goes on to this, m/s or rad/s: one iteration more at most, and the steps that follow begin so near to
/// what they look for that a sweep is enough for most of them. What shares no loads has no use for that.
const NEWTON_TOLERANCE: f64 = 1e-2 * TOLERANCE;
/// In the step after loads were shared it is found to this part of it. The impulses that it begins with have also stopped what moved by less than
/// the tolerance. Left as they are, they set it in motion again, and a stack or a grip goes on like that, back and forth, solved in every other step.
const AFTER_DISTRIBUTION: f64 = 0.1;
/// One that is less exact is accepted where no method comes nearer: 1e-9 m over a step.
const ACCEPTED_RESIDUAL: f64 = 1e-6;
/// A heap of loose bodies in motion, which has more contacts than these, is solved to this part of how fast its surfaces slide and part: so small a part
/// of the power of friction is wrong.
const MIN_HEAP_CONTACTS: usize = 16;
const SLIDING_FRACTION: f64 = 1e-4;
/// It is solved to this at least, m/s: 1e-8 m over a step of 1 ms, a hundredth of the penetration that is left alone, and a thousandth of what
/// weight does in it. That is far below what the step itself does to a motion that is chaotic.
const MAX_TOLERANCE_IN_MOTION: f64 = 1e-5;
/// Newton's method is content with so many times as much in motion. Proximal steps that take long are content with more from step to step, up to a part
/// of what is accepted, so that the sweep behind them does not lead out of that again. And so many times as much is accepted: 1e-6 m over a step of
/// 1 ms, in the one step of hundreds that no method solves sooner. What it costs to come nearer there is worth a hundred other steps.
const NEWTON_FALLBACK_IN_MOTION: f64 = 5.0;
const PROXIMAL_IN_MOTION: f64 = 40.0;
const ACCEPTED_IN_MOTION: f64 = 100.0;

/// Bounds of what a solution leaves, m/s or rad/s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SolverTolerance {
    /// What sweeps may leave.
    pub(crate) sweeps: f64,
    /// What Newton's method goes on to where they leave more, and what it is content with where it comes no nearer.
    pub(crate) newton: f64,
    pub(crate) newton_fallback: f64,
    /// What its proximal steps are content with where many do not come nearer.
    pub(crate) proximal: f64,
    /// What is accepted of any method.
    pub(crate) accepted: f64,
}

impl SolverTolerance {
    /// Of what is at rest, or has joints, or few contacts.
    pub(crate) fn at_rest(sweeps: f64, newton: f64) -> Self {
        Self { sweeps, newton, newton_fallback: STICKING_SPEED, proximal: newton, accepted: ACCEPTED_RESIDUAL }
    }

    /// Of a heap in motion, whose problem was solved to so much before, but for how the bias has changed since: what was left then is left again.
    fn in_motion(tolerance: f64, left: f64) -> Self {
        let proximal = PROXIMAL_IN_MOTION * tolerance;
        let least = tolerance.max(left.min(proximal));
        let (newton_fallback, accepted) = (NEWTON_FALLBACK_IN_MOTION * tolerance, ACCEPTED_IN_MOTION * tolerance);
        let (newton_fallback, proximal) =
            (newton_fallback.max(STICKING_SPEED).max(least), proximal.max(STICKING_SPEED));
        Self { sweeps: least, newton: least, newton_fallback, proximal, accepted: accepted.max(ACCEPTED_RESIDUAL) }
    }

    pub(crate) fn is_in_motion(&self) -> bool {
        self.sweeps > TOLERANCE
    }
}

impl Problem {
    /// How exactly it is solved. A large heap is another problem in each step, and of its steps the last hundredth of the tolerance takes a fourth.
    pub(crate) fn solver_tolerance(&self) -> SolverTolerance {
        let contacts = self.blocks.iter().filter(|block| block.law == Law::Cone).count();
        let in_motion = if contacts > MIN_HEAP_CONTACTS && self.only_free_bodies {
            SLIDING_FRACTION * self.fastest_sliding()
        } else {
            0.0
        };
        match in_motion.min(MAX_TOLERANCE_IN_MOTION) {
            tolerance if tolerance > TOLERANCE => SolverTolerance::in_motion(tolerance, self.previous_residual),
            _ if contacts > least_norm_distribution::MAX_CONTACTS => SolverTolerance::at_rest(TOLERANCE, TOLERANCE),
            _ if self.was_distributed() => SolverTolerance::at_rest(AFTER_DISTRIBUTION * TOLERANCE, NEWTON_TOLERANCE),
            _ => SolverTolerance::at_rest(TOLERANCE, NEWTON_TOLERANCE),
        }
    }

    /// How fast surfaces move on each other at the start of the step, the fastest of those that press, m/s.
    fn fastest_sliding(&self) -> f64 {
        let presses = self.blocks.iter().filter(|block| block.law == Law::Cone && block.impulse[0] > 0.0);
        presses.flat_map(|block| block.before).fold(0.0, |fastest, speed| fastest.max(speed.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::solvers::problem::Block;

    /// Bodies of 1 kg in a row, so many contacts and each with the next, whose surfaces slide at 0.01 m/s: only a heap is solved less exactly for that,
    /// and none that is at rest or has a joint.
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
            assert_eq!([sweeps, newton_fallback, accepted], [TOLERANCE, STICKING_SPEED, ACCEPTED_RESIDUAL]);
        }
    }
}
