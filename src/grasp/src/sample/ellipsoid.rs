//! The surface area of an ellipsoid, and random points, uniform over it.

use std::f64::consts::{PI, TAU};

use bevy_math::DVec3;
use simpartner_model::random::Stream;

/// Relative spread of the arguments at which the duplication ends: the error of the integral is its square.
const RELATIVE_SPREAD: f64 = 1e-9;
/// Largest number of duplications, each of which divides the spread by four.
const MAX_DUPLICATIONS: usize = 64;
/// Largest number of points drawn until one is kept: each is kept with a probability of at least a third.
const MAX_DRAWS: usize = 1000;

/// Area of an ellipsoid with these radii, m²: 4 π R_G(a² b², a² c², b² c²), with R_G of Carlson (1979) from R_F and
/// R_D.
pub(super) fn surface_area(radii: DVec3) -> f64 {
    // For a ball of radius 1 if the radii are equal; lengths are scaled by the largest radius.
    let largest = radii.max_element();
    let squares = (radii / largest) * (radii / largest);
    let mut products = [squares.x * squares.y, squares.y * squares.z, squares.z * squares.x];
    products.sort_by(f64::total_cmp);
    let [x, y, z] = products;
    let (first, second) = carlson_integrals([x, y, z]);
    let combined = z * first - (z - x) * (z - y) / 3.0 * second + (x * y / z).sqrt();
    2.0 * PI * largest * largest * combined
}

/// Carlson's R_F(x, y, z) and R_D(x, y, z), by duplication.
fn carlson_integrals(mut own: [f64; 3]) -> (f64, f64) {
    let (mut sum, mut factor) = (0.0, 1.0);
    for _ in 0..MAX_DUPLICATIONS {
        let roots = own.map(f64::sqrt);
        let lambda = roots[0] * roots[1] + roots[1] * roots[2] + roots[2] * roots[0];
        sum += factor / (roots[2] * (own[2] + lambda));
        factor *= 0.25;
        own = own.map(|number| 0.25 * (number + lambda));
        let largest = own.into_iter().fold(0.0, f64::max);
        if own.into_iter().fold(largest, f64::min) >= (1.0 - RELATIVE_SPREAD) * largest {
            break;
        }
    }
    let [x, y, z] = own;
    let mean = (x + y + 3.0 * z) / 5.0;
    (1.0 / ((x + y + z) / 3.0).sqrt(), 3.0 * sum + factor / (mean * mean.sqrt()))
}

/// A random point, uniform over the area, and its normal. `numbers` are the first two random numbers. A point of the
/// unit ball is kept with a probability in proportion to the stretch of the surface there.
pub(super) fn draw_point(radii: DVec3, stream: &mut Stream, numbers: [f64; 2]) -> (DVec3, DVec3) {
    let [mut u, mut v] = numbers;
    for _ in 0..MAX_DRAWS {
        let (sine, cosine) = libm::sincos(TAU * v);
        let height = 2.0 * u - 1.0;
        let across = (1.0 - height * height).max(0.0).sqrt();
        let on_ball = DVec3::new(across * cosine, height, across * sine);
        let stretch = (on_ball / radii).length() * radii.min_element();
        if stream.uniform() <= stretch {
            return (on_ball * radii, (on_ball / radii).normalize());
        }
        [u, v] = [stream.uniform(), stream.uniform()];
    }
    (DVec3::Y * radii.y, DVec3::Y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball, an oblate and a prolate spheroid, and an ellipsoid by the sum over a fine grid.
    #[test]
    fn areas_are_those_of_closed_formulas() {
        let near = |found: f64, wanted: f64, within: f64| {
            assert!((found / wanted - 1.0).abs() < within, "{found}, {wanted} expected");
        };
        near(surface_area(DVec3::splat(0.3)), 4.0 * PI * 0.09, 1e-12);
        let (a, c) = (0.4, 0.1);
        let e = f64::sqrt(1.0 - c * c / (a * a));
        near(surface_area(DVec3::new(a, c, a)), TAU * a * a * (1.0 + (1.0 - e * e) / e * libm::atanh(e)), 1e-12);
        near(surface_area(DVec3::new(c, c, a)), TAU * c * c * (1.0 + a / (c * e) * libm::asin(e)), 1e-12);
        let radii = DVec3::new(0.3, 0.2, 0.1);
        let (rows, columns) = (2000, 400);
        let mut sum = 0.0;
        for row in 0..rows {
            let height = (2.0 * f64::from(row) + 1.0) / f64::from(rows) - 1.0;
            for column in 0..columns {
                let (sine, cosine) = libm::sincos(TAU * f64::from(column) / f64::from(columns));
                let across = (1.0 - height * height).sqrt();
                sum += (DVec3::new(across * cosine, height, across * sine) / radii).length();
            }
        }
        near(surface_area(radii), sum * radii.element_product() * 4.0 * PI / f64::from(rows * columns), 1e-5);
    }

    /// The fraction of points within a cap is that of its area: half of the side of a flat spheroid is above its
    /// middle, and a thin one is nearly two discs, with a quarter of the area within half of the radius.
    #[test]
    fn points_are_uniform_over_the_area() {
        let (radii, mut stream, count) = (DVec3::new(0.5, 0.001, 0.5), Stream::from_number(4), 20_000);
        let points = (0..count).map(|_| {
            let numbers = [stream.uniform(), stream.uniform()];
            draw_point(radii, &mut stream, numbers).0
        });
        let inner = points.filter(|point| libm::hypot(point.x, point.z) < 0.25).count();
        // Three standard deviations of a quarter of 20,000 are 184.
        assert!(inner.abs_diff(count / 4) < 200, "{inner}");
    }
}
