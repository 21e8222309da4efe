//! A homotopy (continuation) solver for problems on which Gauss-Seidel and Newton's method do not converge. It smooths
//! the law ([`smooth`]) so much that there is one solution, near a known point. It then follows that solution by a
//! predictor-corrector method while the smoothing nu goes to zero.
//!
//! The solutions (v, ln nu) form a curve that may turn back: a wheel about to slide has three solutions for some nu. A
//! method that only lowers nu, or minimises a residual, is stuck at the turn, and Gauss-Seidel cycles between modes. So
//! the curve is followed by its arc length: a predictor step along the tangent, then Newton's method across it as the
//! corrector (Allgower and Georg 1990, chapters 2 and 6).
//!
//! The curve ends only at nu = 0 as long as impulses stay bounded. They do if some motion opens every contact by more
//! than its friction times its sliding; then a solution exists (Acary, Cadoux, Lemaréchal and Malick 2011). Otherwise
//! there may be no solution, and the step checks repeat the substep at half its length.

mod linear;
mod smooth;

use self::{linear::Linear, smooth::Equations};
use super::problem::Problem;

/// Numbers of eliminations. A curve takes some hundred, and a few never end. With fewer than the first number
/// available, a third of the usual, it is not started.
const MIN_ELIMINATIONS: f64 = 30.0;
const MAX_ELIMINATIONS: f64 = 1000.0;
/// First nu relative to the fastest velocity without impulses: with a factor of ten, smoothing dominates the velocity
/// of every row.
const FIRST_NU: f64 = 10.0;
/// The last nu, m/s: a tenth of the tolerance of the sweeps, so that smoothing does not show in the result.
const LAST_NU: f64 = 1e-10;
/// A point is on the curve when its equations hold to this fraction of nu, or to rounding.
const CURVE_TOLERANCE: f64 = 1e-7;
const ROUNDING_TOLERANCE: f64 = 1e-15;
/// Longest and first step, and shortest step, in ln nu and as a multiple of the largest impulse: nu falls by up to a
/// factor of e.
const MAX_STEP: f64 = 1.0;
const MIN_STEP: f64 = 1e-10;
/// Largest number of corrections of a step. Newton's method doubles the digits in each; a step that needs more was too
/// long.
const MAX_CORRECTIONS: usize = 8;
/// Largest correction as a fraction of the step, and smallest cosine of the turn of the tangent: beyond these, another
/// branch of solutions may have been reached.
const MAX_CORRECTION: f64 = 0.5;
const MIN_COSINE: f64 = 0.5;

/// The present and the next point on the curve with their tangents, and the buffers to find them. Coordinates are (v,
/// ln nu).
#[derive(Debug, Default)]
pub(crate) struct Homotopy {
    equations: Equations,
    at: Vec<f64>,
    tangent: Vec<f64>,
    ahead: Vec<f64>,
    tangent_ahead: Vec<f64>,
    linear: Linear,
    /// The solution of the last linear equations, and their right-hand side.
    solution: Vec<f64>,
    right: Vec<f64>,
}

impl Homotopy {
    /// Solves for all impulses, independently of their present values. The cost, in multiplications, is taken from
    /// `work`. Returns the residual, m/s. If it exceeds `accepted`, or `work` does not suffice, the impulses stay
    /// unchanged. So do those of problems with patches, which are then solved with friction at the points.
    pub(crate) fn solve(&mut self, problem: &mut Problem, work: &mut f64, accepted: f64) -> f64 {
        let each = Linear::cost(problem);
        let most = (*work / each).min(MAX_ELIMINATIONS);
        if !(most >= MIN_ELIMINATIONS) || !problem.patches.is_empty() {
            return f64::INFINITY;
        }
        self.equations.set(problem);
        let (mut used, mut residual) = (0, f64::INFINITY);
        let ended = self.follow_curve(problem, most as usize, &mut used);
        *work -= used as f64 * each;
        if ended.is_some() {
            residual = self.equations.residual(problem, &mut self.at);
            if residual < accepted {
                self.equations.write_impulses(problem, &self.at);
            }
        }
        residual
    }

    /// Follows the curve to its end, or for at most `most` eliminations.
    fn follow_curve(&mut self, problem: &Problem, most: usize, used: &mut usize) -> Option<()> {
        let n = self.equations.count;
        // All four, because they are swapped.
        for coordinates in [&mut self.at, &mut self.tangent, &mut self.ahead, &mut self.tangent_ahead] {
            coordinates.clear();
            coordinates.resize(n + 1, 0.0);
        }
        self.equations.start(FIRST_NU, &mut self.ahead)?;
        // Across a tangent along ln nu the corrector keeps nu.
        self.tangent[n] = -1.0;
        self.correct_point(problem, 1.0, f64::INFINITY, most.min(8 * MAX_CORRECTIONS), used)?;
        self.find_tangent(problem, used)?;
        self.accept_point();
        let mut length = MAX_STEP;
        while *used < most && length > MIN_STEP {
            let scale = self.max_impulse(&self.at);
            self.ahead.clone_from(&self.at);
            for (k, (x, t)) in self.ahead.iter_mut().zip(&self.tangent).enumerate() {
                *x += length * t * if k < n { scale } else { 1.0 };
            }
            let corrections = self.correct_point(problem, scale, length, MAX_CORRECTIONS, used);
            let turn = corrections.and_then(|_| self.find_tangent(problem, used));
            let (Some(corrections), Some(MIN_COSINE..)) = (corrections, turn) else {
                length /= 3.0;
                continue;
            };
            self.accept_point();
            if self.tangent[n] < 0.0 && self.at[n] < libm::log(LAST_NU) {
                break;
            }
            match corrections {
                0..=2 => length = (2.0 * length).min(MAX_STEP),
                3 => {}
                _ => length /= 1.5,
            }
        }
        Some(())
    }

    /// Replaces the present point by the next one.
    fn accept_point(&mut self) {
        std::mem::swap(&mut self.at, &mut self.ahead);
        std::mem::swap(&mut self.tangent, &mut self.tangent_ahead);
    }

    /// The largest impulse, as a velocity, m/s.
    fn max_impulse(&self, at: &[f64]) -> f64 {
        at[..self.equations.count].iter().fold(LAST_NU, |most, v| most.max(v.abs()))
    }

    /// Finds the unit tangent at the next point, in the direction of the present tangent. Returns the cosine of the
    /// angle between them.
    fn find_tangent(&mut self, problem: &Problem, used: &mut usize) -> Option<f64> {
        self.equations.evaluate(problem, &self.ahead);
        self.right.clear();
        self.right.resize(self.equations.count, 0.0);
        self.solve_linear(problem, self.max_impulse(&self.ahead), 1.0, used)?;
        let length = self.solution.iter().map(|t| t * t).sum::<f64>().sqrt();
        self.tangent_ahead.clear();
        self.tangent_ahead.extend(self.solution.iter().map(|t| t / length));
        Some(self.tangent_ahead.iter().zip(&self.tangent).map(|(a, b)| a * b).sum())
    }

    /// The corrector: Newton's method perpendicular to the tangent, for the next point. Returns the number of
    /// corrections; `None` if it does not reach the curve nearby.
    fn correct_point(
        &mut self,
        problem: &Problem,
        scale: f64,
        length: f64,
        most: usize,
        used: &mut usize,
    ) -> Option<usize> {
        let n = self.equations.count;
        let mut last = f64::INFINITY;
        for correction in 0..most {
            self.equations.evaluate(problem, &self.ahead);
            let off = self.equations.value.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            if correction > 0 && off < CURVE_TOLERANCE * libm::exp(self.ahead[n]) + ROUNDING_TOLERANCE * scale.max(1.0)
            {
                return Some(correction);
            }
            if length.is_finite() && !(off <= last) {
                return None;
            }
            last = off;
            self.right.clear();
            self.right.extend(self.equations.value.iter().map(|value| -value));
            self.solve_linear(problem, scale, 0.0, used)?;
            if !(self.solution.iter().map(|c| c * c).sum::<f64>().sqrt() < MAX_CORRECTION * length) {
                return None;
            }
            for (k, (x, c)) in self.ahead.iter_mut().zip(&self.solution).enumerate() {
                *x += c * if k < n { scale } else { 1.0 };
            }
        }
        None
    }

    /// Solves for the change that adds the right-hand side to the value of the equations and leads `along` the tangent,
    /// in terms of `scale`.
    fn solve_linear(&mut self, problem: &Problem, scale: f64, along: f64, used: &mut usize) -> Option<()> {
        *used += 1;
        let Self { equations, linear, right, tangent, solution, .. } = self;
        linear.solve(problem, equations, right, (tangent, along), scale, solution)
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;
    use crate::engine::solvers::problem::{Block, Law};

    const UNKNOWNS: usize = 7;
    /// More than any of these problems takes.
    const WORK: f64 = 1e9;

    /// Adds a block of random rows, with `rough` as factor of its tangential rows.
    fn add(problem: &mut Problem, next: &mut impl FnMut() -> f64, law: Law, rows: usize, rough: f64) {
        let start = problem.columns.len();
        for index in 0..UNKNOWNS {
            let mut y = [next(), rough * next(), rough * next(), 0.0];
            y[rows..].fill(0.0);
            if index == 0 {
                let opens = matches!(law, Law::Cone | Law::Interval { low: 0.0, .. });
                y = [if opens { 0.6 + 0.4 * y[0] } else { 0.0 }, 0.0, 0.0, 0.0];
            }
            problem.columns.push(y);
            problem.index.push(u32::try_from(index).unwrap());
        }
        let mut bias = [next() - 0.5, rough * next(), rough * next()];
        bias[rows..].fill(0.0);
        problem.blocks.push(block(problem, law, start, bias));
    }

    /// A block at rest over the columns from `start` on.
    fn block(problem: &Problem, law: Law, start: usize, bias: [f64; 3]) -> Block {
        problem.block(law, start, [0.0; 3], bias, bias)
    }

    /// True if a block obeys its law, from its impulse and the velocity that all impulses give it.
    fn obeys(problem: &Problem, place: usize, near: f64) -> bool {
        let block = &problem.blocks[place];
        let (l, u) = (block.impulse, problem.velocity(block));
        // Within a disc, at its bound against the motion.
        let brakes = |l: [f64; 2], u: [f64; 2], radius: f64| {
            l[0].hypot(l[1]) <= radius + near
                && (l[0] * u[0] + l[1] * u[1] + radius * u[0].hypot(u[1])).abs() <= near * (1.0 + radius)
        };
        match block.law {
            Law::Cone => {
                l[0] >= 0.0
                    && u[0] >= -near
                    && l[0] * u[0] <= near * (1.0 + l[0])
                    && brakes([l[1], l[2]], [u[1], u[2]], l[0])
            }
            Law::Disc { .. } => brakes([l[0], l[1]], [u[0], u[1]], problem.disc_radius(block.law)),
            Law::Patch { .. } => false,
            Law::Interval { low, high } => {
                (low..=high).contains(&l[0])
                    && (u[0] <= near || l[0] - low <= near)
                    && (u[0] >= -near || high - l[0] <= near)
            }
        }
    }

    /// Four contacts with any friction, two of them with resistance to rolling and to turning, a stop, dry friction and
    /// a loop's row: 19 rows on seven unknowns, so that every problem has many solutions in its impulses. The rows that
    /// bound a motion on one side or both are fewer than the unknowns, so each has a solution. The error of the last
    /// smoothing of 1e-10 m/s is less than 2e-8 m/s, and larger the nearer rows are to depending on each other. (Of
    /// 20,000 such problems, six are above 1e-8, and one is not solved, which its residual shows.)
    #[test]
    fn the_curve_ends_at_a_solution_of_every_law() {
        let mut stream = Stream::from_number(3);
        let mut next = || stream.between(-1.0, 1.0);
        let (mut most, mut modes) = (0.0f64, [0; 3]);
        for round in 0..400 {
            let mut problem = Problem::default();
            problem.clear(std::iter::once(UNKNOWNS));
            let rough = 0.2 + 1.5 * f64::from(round % 8) / 7.0;
            for _ in 0..4 {
                add(&mut problem, &mut next, Law::Cone, 3, rough);
            }
            add(&mut problem, &mut next, Law::Disc { normal: 0, radius: 0.1, rows: 2 }, 2, 1.0);
            add(&mut problem, &mut next, Law::Disc { normal: 1, radius: 0.3, rows: 1 }, 1, 1.0);
            let many = f64::INFINITY;
            for (low, high) in [(0.0, many), (-0.2, 0.2), (-many, many)] {
                add(&mut problem, &mut next, Law::Interval { low, high }, 1, 1.0);
            }
            let mut work = WORK;
            let residual = Homotopy::default().solve(&mut problem, &mut work, 2e-8);
            assert!(residual < 2e-8, "problem {round}: {residual}");
            most = most.max(WORK - work);
            let largest = problem.blocks.iter().fold(1.0f64, |most, block| most.max(block.impulse[0].abs()));
            for place in 0..problem.blocks.len() {
                assert!(obeys(&problem, place, 1e-7 * largest), "problem {round}: {:?}", problem.blocks[place]);
            }
            for block in &problem.blocks[..4] {
                let (l, u) = (block.impulse, problem.velocity(block));
                modes[if l[0] < 1e-9 { 0 } else { 1 + usize::from(u[1].hypot(u[2]) > 1e-6) }] += 1;
            }
        }
        println!("homotopy: {most} multiplications at most; open, sticking, sliding: {modes:?}");
        assert!(modes.iter().all(|&count| count > 100), "{modes:?}");
    }

    /// A wedge pushed from above between two fixed walls: no solution exists, and none is reported.
    #[test]
    fn a_problem_without_a_solution_keeps_its_impulses() {
        let mut problem = Problem::default();
        problem.clear(std::iter::once(1));
        for (place, along) in [1.0, -1.0].into_iter().enumerate() {
            problem.columns.push([along, 0.0, 0.0, 0.0]);
            problem.index.push(0);
            problem.blocks.push(block(&problem, Law::Cone, place, [-1.0, 0.0, 0.0]));
        }
        let residual = Homotopy::default().solve(&mut problem, &mut WORK.clone(), 1e-6);
        assert!(residual > 0.1, "{residual}");
        assert!(problem.blocks.iter().all(|block| block.impulse == [0.0; 3]));
    }
}
