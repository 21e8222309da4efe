//! Block Gauss-Seidel: sweeps over all blocks, repeated while they cost less than Newton's method, with extrapolation
//! of their limit ([`extrapolation`]).

mod extrapolation;

pub(crate) use self::extrapolation::Extrapolation;
use super::{
    problem::{Law, Problem},
    solver_tolerance::SOLVED_RESIDUAL,
};

/// Smallest number of sweeps before Newton's method starts. They bring the impulses near the solution and show the rate
/// of convergence.
const MIN_SWEEPS: usize = 4;
/// Typical number of iterations of Newton's method, for the comparison of costs.
const TYPICAL_NEWTON_ITERATIONS: f64 = 10.0;
/// Number of multiplications of a sweep: for each column of a block, and for each local solve, which has divisions and
/// square roots.
const MULTIPLICATIONS_PER_COLUMN: usize = 8;
const MULTIPLICATIONS_PER_BLOCK: usize = 100;
/// Velocity change of a sweep, m/s, above which w is computed again from the impulses: its rounding would exceed a
/// hundredth of the tolerance.
const RESUM_THRESHOLD: f64 = 1e-2 * SOLVED_RESIDUAL / f64::EPSILON;

impl Problem {
    /// Cost of a sweep, in multiplications. It visits the columns of the blocks, and not those of rigid motors.
    pub(crate) fn sweep_cost(&self) -> f64 {
        let columns = self.blocks.last().map_or(0, |block| block.start + block.length);
        (MULTIPLICATIONS_PER_COLUMN * columns + MULTIPLICATIONS_PER_BLOCK * self.blocks.len()) as f64
    }

    /// Estimated cost of Newton's method, in multiplications. Eliminations within the trees dominate, with low cost for
    /// free bodies and high cost for robots.
    fn newton_cost(&self) -> f64 {
        let tree = |ends: &[usize]| (ends[1] - ends[0]).pow(3) / 6;
        TYPICAL_NEWTON_ITERATIONS * self.starts.windows(2).map(tree).sum::<usize>() as f64
    }

    /// Sweeps until the residual is below `solved`, `work` is used up, or Newton's method would be cheaper. Returns the
    /// largest velocity change of the last sweep and the sum of those of all sweeps, m/s; both are infinite if a
    /// velocity is not finite.
    pub(crate) fn sweep_until_solved(
        &mut self,
        extrapolation: &mut Extrapolation,
        solved: f64,
        work: &mut f64,
    ) -> [f64; 2] {
        let cost = self.sweep_cost();
        let most = self.newton_cost() / cost;
        let mut moved = 0.0;
        // Residuals of the last sweeps, oldest first.
        let mut residuals = [f64::INFINITY; MIN_SWEEPS];
        loop {
            *work -= cost;
            let residual = self.sweep(0.0);
            moved += residual;
            if residual > RESUM_THRESHOLD {
                self.sum_impulses();
            }
            residuals.rotate_left(1);
            residuals[MIN_SWEEPS - 1] = residual;
            if !self.is_finite() {
                return [f64::INFINITY; 2];
            }
            let is_solved = residual < solved || *work < cost;
            if is_solved || residuals[0].is_finite() && !(remaining_sweeps(&residuals, solved) <= most) {
                return [residual, moved];
            }
            if residuals[0].is_finite() {
                moved += extrapolation.extrapolate(self, [residuals[1], residuals[2], residuals[3]]);
            }
            if residuals[1].is_finite() {
                extrapolation.record(self);
            }
        }
    }

    /// Solves every block once and returns the largest velocity change, m/s. A contact whose law is violated by less
    /// than `near` keeps its impulse; its violation then counts as the change.
    pub(crate) fn sweep(&mut self, near: f64) -> f64 {
        let mut largest = 0.0f64;
        for place in 0..self.blocks.len() {
            let radius = self.disc_radius(self.blocks[place].law);
            let block = &mut self.blocks[place];
            let range = block.start..block.start + block.length;
            let (columns, index) = (&self.columns[range.clone()], &self.index[range]);
            let mut u = [block.bias[0], block.bias[1], block.bias[2], 0.0];
            for (column, &index) in columns.iter().zip(index) {
                let w = self.w[index as usize];
                for c in 0..4 {
                    u[c] += column[c] * w;
                }
            }
            for c in 0..3 {
                u[c] += block.compliance[c] * block.impulse[c];
            }
            let u = [u[0], u[1], u[2]];
            let l = match block.reuse_if_satisfied(u, near) {
                Some((l, violation)) => {
                    largest = largest.max(violation);
                    l
                }
                None => match block.law {
                    Law::Patch { patch, .. } => {
                        let own = block.cone.times(block.impulse);
                        let b = [u[0] - own[0], u[1] - own[1], u[2] - own[2]];
                        self.patches[patch].solve(&block.cone.a, b, radius, u)
                    }
                    _ => block.solve_block(u, radius),
                },
            };
            let change = [l[0] - block.impulse[0], l[1] - block.impulse[1], l[2] - block.impulse[2]];
            if change == [0.0; 3] {
                continue;
            }
            block.impulse = l;
            for (column, &index) in columns.iter().zip(index) {
                self.w[index as usize] += column[0] * change[0] + column[1] * change[1] + column[2] * change[2];
            }
            let du = block.cone.times(change);
            largest = largest.max(du[0].abs()).max(du[1].abs()).max(du[2].abs());
        }
        largest
    }

    /// True if all velocities are finite. The largest change of a sweep does not show it, because `max` ignores NaN.
    pub(crate) fn is_finite(&self) -> bool {
        self.w.iter().all(|w| w.is_finite())
    }
}

/// Number of further sweeps to reach `tolerance` at the rate of convergence of the last ones.
fn remaining_sweeps(residuals: &[f64; MIN_SWEEPS], tolerance: f64) -> f64 {
    let (first, last) = (residuals[0], residuals[MIN_SWEEPS - 1]);
    let fall = libm::log(first / last) / (MIN_SWEEPS - 1) as f64;
    if fall > 0.0 { libm::log(last / tolerance) / fall } else { f64::INFINITY }
}
