//! Numerical tools for the references, independent of the engine that is verified.

use std::f64::consts::FRAC_PI_2;

use nalgebra::{Matrix3, Vector3};

/// The complete elliptic integral of the first kind K(k), by the arithmetic-geometric mean; |k| < 1.
pub fn elliptic_k(modulus: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - modulus * modulus).sqrt());
    while (a - b).abs() > 1e-15 * a {
        (a, b) = ((a + b) / 2.0, (a * b).sqrt());
    }
    FRAC_PI_2 / a
}

/// State after a step of the classical Runge-Kutta method of fourth order.
pub fn runge_kutta<const N: usize>(state: [f64; N], step: f64, rate: impl Fn(&[f64; N]) -> [f64; N]) -> [f64; N] {
    let shifted = |by: f64, slope: &[f64; N]| std::array::from_fn(|i| state[i] + by * slope[i]);
    let first = rate(&state);
    let second = rate(&shifted(step / 2.0, &first));
    let third = rate(&shifted(step / 2.0, &second));
    let fourth = rate(&shifted(step, &third));
    std::array::from_fn(|i| state[i] + step / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i]))
}

/// Centre and radius of the circle x² + y² = 2 a x + 2 b y + c that fits points best in the sense of linear least
/// squares. `None` if the points do not determine a circle.
pub fn fit_circle(points: &[(f64, f64)]) -> Option<((f64, f64), f64)> {
    let (mut normal, mut right) = (Matrix3::zeros(), Vector3::zeros());
    for &(x, y) in points {
        let row = Vector3::new(2.0 * x, 2.0 * y, 1.0);
        normal += row * row.transpose();
        right += row * (x * x + y * y);
    }
    let solution = normal.lu().solve(&right)?;
    let (a, b) = (solution[0], solution[1]);
    Some(((a, b), (solution[2] + a * a + b * b).sqrt()))
}

/// Argument at which the line between two samples (argument, value) crosses zero, if it does.
pub fn crossing(before: (f64, f64), after: (f64, f64)) -> Option<f64> {
    let crosses = before.1 * after.1 < 0.0 || (after.1 == 0.0 && before.1 != 0.0);
    crosses.then(|| before.0 + (after.0 - before.0) * before.1 / (before.1 - after.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elliptic_integral_is_that_of_the_tables() {
        assert!((elliptic_k(0.0) - FRAC_PI_2).abs() < 1e-15);
        // K at k² = 1/2 is gamma(1/4)² / (4 sqrt(pi)).
        assert!((elliptic_k(0.5f64.sqrt()) - 1.854_074_677_301_371_9).abs() < 1e-14);
    }

    #[test]
    fn runge_kutta_errs_by_the_fourth_power_of_the_step() {
        let error = |steps: usize| {
            let h = 1.0 / steps as f64;
            let end = (0..steps).fold([1.0], |state, _| runge_kutta(state, h, |state| [state[0]]));
            (end[0] - std::f64::consts::E).abs()
        };
        assert!((error(20) / error(40) - 16.0).abs() < 1.0);
    }

    #[test]
    fn a_circle_is_found_again() {
        let points: Vec<_> = (0..9).map(|i| (1.0 + 3.0 * f64::from(i).cos(), 2.0 + 3.0 * f64::from(i).sin())).collect();
        let ((x, y), radius) = fit_circle(&points).unwrap();
        assert!((x - 1.0).abs() < 1e-12 && (y - 2.0).abs() < 1e-12 && (radius - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_crossing_is_interpolated() {
        assert_eq!(crossing((1.0, -1.0), (2.0, 3.0)), Some(1.25));
        assert_eq!(crossing((1.0, 1.0), (2.0, 3.0)), None);
        assert_eq!(crossing((1.0, -1.0), (2.0, 0.0)), Some(2.0));
        assert_eq!(crossing((2.0, 0.0), (3.0, 1.0)), None);
    }
}
