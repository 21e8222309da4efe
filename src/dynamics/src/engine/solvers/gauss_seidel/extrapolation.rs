//! Extrapolation of Gauss-Seidel sweeps to their limit (Aitken 1926).
//!
//! While no block changes its mode, a sweep is linear, so successive changes form a geometric series. The quotient is
//! the largest eigenvalue: about 0.4 for robots, up to 0.99 where contacts nearly contradict each other. The sum of the
//! rest of the series is known in closed form.

use crate::engine::solvers::problem::Problem;

/// Largest difference between two quotients of one series, as a fraction of one minus the quotient. The rest of the
/// series is then known to the same accuracy.
const QUOTIENT_TOLERANCE: f64 = 0.1;
/// Largest quotient that is extrapolated. Closer to 1, the sum is too uncertain.
const MAX_QUOTIENT: f64 = 0.9999;

/// Impulses and sums before the last sweep.
#[derive(Debug, Default)]
pub(crate) struct Extrapolation {
    impulses: Vec<[f64; 3]>,
    w: Vec<f64>,
}

impl Extrapolation {
    /// Records the impulses before a sweep.
    pub(super) fn record(&mut self, problem: &Problem) {
        self.impulses.clear();
        self.impulses.extend(problem.blocks.iter().map(|block| block.impulse));
        self.w.clone_from(&problem.w);
    }

    /// Adds the rest of the geometric series to the impulses, if the last three changes, oldest first, form one. Bounds
    /// are left to the next sweep. Returns the velocity change, m/s; 0 if nothing was added.
    pub(super) fn extrapolate(&self, problem: &mut Problem, [first, second, last]: [f64; 3]) -> f64 {
        let (before, quotient) = (second / first, last / second);
        let is_series = (quotient - before).abs() < QUOTIENT_TOLERANCE * (1.0 - quotient);
        if !(is_series && quotient < MAX_QUOTIENT) {
            return 0.0;
        }
        let rest = quotient / (1.0 - quotient);
        for (block, old) in problem.blocks.iter_mut().zip(&self.impulses) {
            (0..3).for_each(|c| block.impulse[c] += rest * (block.impulse[c] - old[c]));
        }
        problem.w.iter_mut().zip(&self.w).for_each(|(w, old)| *w += rest * (*w - old));
        rest * last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::solvers::problem::Law;

    /// Two held rows of 1 kg along directions at an angle whose cosine is 0.9: a sweep leaves 0.81 of the error. After
    /// three sweeps the sum of the series is the solution, up to rounding. Changes that form no series are not
    /// extrapolated.
    #[test]
    fn the_sum_of_a_series_is_the_solution() {
        let cosine = 0.9f64;
        let mut problem = Problem::default();
        problem.clear([2].into_iter());
        for (place, column) in [[1.0, 0.0], [cosine, (1.0 - cosine * cosine).sqrt()]].into_iter().enumerate() {
            problem.columns.extend(column.map(|entry| [entry, 0.0, 0.0, 0.0]));
            problem.index.extend([0, 1]);
            let law = Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
            let block = problem.block(law, 2 * place, [0.0; 3], [-1.0, 0.0, 0.0], [0.0; 3]);
            problem.blocks.push(block);
        }
        let mut extrapolation = Extrapolation::default();
        let changes = [0; 4].map(|_| {
            extrapolation.record(&problem);
            problem.sweep(0.0)
        });
        let before = problem.residual();
        assert_eq!(extrapolation.extrapolate(&mut problem, [1.0, 0.5, 0.1]), 0.0);
        assert_eq!(problem.residual(), before);
        let moved = extrapolation.extrapolate(&mut problem, [changes[1], changes[2], changes[3]]);
        assert!(before > 0.01 && problem.residual() < 1e-14, "{before} {}", problem.residual());
        assert!((moved / changes[3] - 0.81 / 0.19).abs() < 1e-9, "{moved} {changes:?}");
        let impulse = 1.0 / (1.0 + cosine);
        assert!(problem.blocks.iter().all(|block| (block.impulse[0] - impulse).abs() < 1e-13), "{:?}", problem.blocks);
    }
}
