//! Friction of a line or face of contact that spins: Coulomb's law, integrated over its pressure.
//!
//! A patch has three rows: the slip of its reference point along and across its chords, and its spin times a length.
//! Every point of the patch slides with its own velocity v(u), so the dissipation per unit of normal impulse is
//!
//! ```text
//! phi(u) = sum over chords of the integral of p |v(u)|,    l = -N grad phi(u)
//! ```
//!
//! where N is the sum of the patch's normal impulses and p the pressure, whose integral is 1. phi is convex. Friction
//! brakes, and the local solution is unique. A line is one chord. A face is a few chords of Gauss's quadrature. Along a
//! chord the integrals have closed forms, with the pressure linear.
//!
//! The velocity across a chord has a logarithmic singularity where the point at rest lies on the chord. The width of
//! its strip rounds this off ([`Chord::width`]), and so does a small speed ([`PatchFriction::floor`]).

/// Largest number of chords of a patch.
pub(crate) const MAX_CHORDS: usize = 6;
/// Largest ratio of the change of velocity along half of a chord to the velocity at its middle for which Gauss's
/// quadrature is used. Its relative error is 1e-11 there. The closed form would lose digits below.
const QUADRATURE_RATIO: f64 = 0.25;
/// Gauss-Legendre nodes and weights of order 6 on -1 to 1; nodes come in pairs of both signs.
const QUADRATURE_NODES: [(f64, f64); 3] = [
    (0.238_619_186_083_196_9, 0.467_913_934_572_691),
    (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
    (0.932_469_514_203_152, 0.171_324_492_379_170_3),
];
/// Residual of the local solution, m/s: a hundredth of the most exact tolerance of the sweeps.
const LOCAL_TOLERANCE: f64 = 1e-13;
/// Largest number of iterations of the local solution, and of halvings of each.
const MAX_ITERATIONS: usize = 30;
const MAX_HALVINGS: usize = 12;

/// A straight part of a patch, along the first row's direction. Lengths are in units of the patch's length.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chord {
    /// Its middle: along the chord, and across.
    pub(crate) along: f64,
    pub(crate) across: f64,
    /// Half of its length.
    pub(crate) half: f64,
    /// Effective half width of its strip: the distance at which the strip's mean of log |t| equals the logarithm.
    pub(crate) width: f64,
    /// Its part of the load, and the relative increase of its pressure from the middle to the end.
    pub(crate) load: f64,
    pub(crate) tilt: f64,
}

/// The law of a patch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatchFriction {
    pub(crate) chords: [Chord; MAX_CHORDS],
    pub(crate) count: usize,
    /// Sliding speed below which friction is viscous, in the units of the rows, m/s.
    pub(crate) floor: f64,
}

/// Gradient of phi, and its derivative.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slope {
    pub(crate) gradient: [f64; 3],
    pub(crate) hessian: [[f64; 3]; 3],
}

/// Integrals over a chord of p z^n / r and p z^n / r³, n = 0, 1, 2, where z goes from -1 to 1 and r is the speed.
type Moments = [[f64; 3]; 2];

impl PatchFriction {
    /// Gradient of phi at the velocity u, and its derivative.
    pub(crate) fn slope(&self, u: [f64; 3]) -> Slope {
        let mut sum = Slope::default();
        for chord in &self.chords[..self.count] {
            chord.add_slope(u, self.floor, &mut sum);
        }
        sum
    }

    /// The impulse for which u = b + A l obeys the law with the normal impulse `normal`. The search starts at `near`.
    pub(crate) fn solve(&self, a: &[f64; 6], b: [f64; 3], normal: f64, near: [f64; 3]) -> [f64; 3] {
        if !(normal > 0.0) {
            return [0.0; 3];
        }
        let defect = |u: [f64; 3], slope: &Slope| {
            let moved = product_with(a, slope.gradient);
            std::array::from_fn::<_, 3, _>(|c| u[c] + normal * moved[c] - b[c])
        };
        let mut u = near;
        let mut slope = self.slope(u);
        let mut left = defect(u, &slope);
        for _ in 0..MAX_ITERATIONS {
            let size = square_of(left);
            if !(size > LOCAL_TOLERANCE * LOCAL_TOLERANCE) {
                break;
            }
            let columns: [[f64; 3]; 3] = std::array::from_fn(|c| {
                product_with(a, [slope.hessian[0][c], slope.hessian[1][c], slope.hessian[2][c]])
            });
            let matrix =
                std::array::from_fn(|r| std::array::from_fn(|c| normal * columns[c][r] + f64::from(u8::from(r == c))));
            let step = solve_three(&matrix, left);
            let mut length = 1.0;
            for _ in 0..MAX_HALVINGS {
                let tried = std::array::from_fn(|c| u[c] - length * step[c]);
                let next = self.slope(tried);
                let rest = defect(tried, &next);
                let improves = square_of(rest) < size;
                if improves || length < 2.0 / f64::from(1 << MAX_HALVINGS) {
                    (u, slope, left) = (tried, next, rest);
                    break;
                }
                length *= 0.5;
            }
        }
        slope.gradient.map(|g| -normal * g)
    }
}

impl Chord {
    /// Adds its part of the gradient and its derivative.
    fn add_slope(&self, u: [f64; 3], floor: f64, sum: &mut Slope) {
        let y = u[0] - u[2] * self.across;
        let z = u[2] * self.width;
        let middle = u[1] + u[2] * self.along;
        let rest = y * y + z * z + floor * floor;
        let mut half = self.half;
        let mut tilt = self.tilt;
        let mut change = u[2] * half;
        if change < 0.0 {
            (half, tilt, change) = (-half, -tilt, -change);
        }
        let [j, k] = moments_of_pressure(middle, change, rest, tilt);
        let forward = middle * j[0] + change * j[1];
        let turning = self.along * forward + half * (middle * j[1] + change * j[2]);
        let m = self.load;
        sum.gradient[0] += m * y * j[0];
        sum.gradient[1] += m * forward;
        sum.gradient[2] += m * (turning - self.across * y * j[0] + self.width * z * j[0]);
        // Rows of the derivatives of y, z and x with respect to u.
        let (dy, dz) = ([1.0, 0.0, -self.across], [0.0, 0.0, self.width]);
        let still: [f64; 3] = std::array::from_fn(|c| y * dy[c] + z * dz[c]);
        let s = self.along;
        let lever = [k[0], s * k[0] + half * k[1], s * s * k[0] + 2.0 * s * half * k[1] + half * half * k[2]];
        let x = middle * k[0] + change * k[1];
        let moved = [0.0, x, s * x + half * (middle * k[1] + change * k[2])];
        for r in 0..3 {
            for c in 0..3 {
                let own = (dy[r] * dy[c] + dz[r] * dz[c]) * j[0] - still[r] * still[c] * k[0];
                let rows = if r > 0 && c > 0 { rest * lever[r + c - 2] } else { 0.0 };
                sum.hessian[r][c] += m * (own + rows - still[r] * moved[c] - moved[r] * still[c]);
            }
        }
    }
}

/// Integrals of a chord: its velocity along is `middle` + z `change`, with `change` at least 0, and the square of the
/// other velocities `rest`; the pressure is (1 + z `tilt`) / 2.
fn moments_of_pressure(middle: f64, change: f64, rest: f64, tilt: f64) -> Moments {
    if change < QUADRATURE_RATIO * (middle * middle + rest).sqrt() {
        return integrate_by_quadrature(middle, change, rest, tilt);
    }
    let [low, high] = [middle - change, middle + change];
    let [r1, r2] = [low, high].map(|x| (x * x + rest).sqrt());
    let ratio = if low > 0.0 {
        (high + r2) / (low + r1)
    } else if high < 0.0 {
        (r1 - low) / (r2 - high)
    } else {
        (high + r2) * (r1 - low) / rest
    };
    let log = libm::log(ratio);
    let rise = 4.0 * middle * change / (r1 + r2);
    let sines = high / r2 - low / r1;
    // Integrals of x^n / r and x^n / r³.
    let over_r =
        [log, rise, 0.5 * (high * r2 - low * r1 - rest * log), rise * ((r1 * r1 + r1 * r2 + r2 * r2) / 3.0 - rest)];
    let over_cube = [sines / rest, rise / (r1 * r2), log - sines, rise * (1.0 - rest / (r1 * r2))];
    [over_r, over_cube].map(|of| {
        let inverse = 1.0 / change;
        let m = middle;
        let powers = [
            of[0] * inverse,
            (of[1] - m * of[0]) * inverse * inverse,
            (of[2] - m * (2.0 * of[1] - m * of[0])) * inverse * inverse * inverse,
            (of[3] - m * (3.0 * of[2] - m * (3.0 * of[1] - m * of[0]))) * (inverse * inverse) * (inverse * inverse),
        ];
        std::array::from_fn(|n| 0.5 * (powers[n] + tilt * powers[n + 1]))
    })
}

/// The integrals by Gauss's quadrature.
fn integrate_by_quadrature(middle: f64, change: f64, rest: f64, tilt: f64) -> Moments {
    let mut sums = Moments::default();
    for (node, weight) in QUADRATURE_NODES {
        for z in [-node, node] {
            let x = middle + z * change;
            let square = x * x + rest;
            let mut over_r = 0.5 * weight * (1.0 + tilt * z) / square.sqrt();
            let mut over_cube = over_r / square;
            for n in 0..3 {
                sums[0][n] += over_r;
                sums[1][n] += over_cube;
                (over_r, over_cube) = (over_r * z, over_cube * z);
            }
        }
    }
    sums
}

/// A l for the symmetric A with the entries 00, 01, 02, 11, 12, 22.
fn product_with(a: &[f64; 6], l: [f64; 3]) -> [f64; 3] {
    [
        a[0] * l[0] + a[1] * l[1] + a[2] * l[2],
        a[1] * l[0] + a[3] * l[1] + a[4] * l[2],
        a[2] * l[0] + a[4] * l[1] + a[5] * l[2],
    ]
}

fn square_of(of: [f64; 3]) -> f64 {
    of[0] * of[0] + of[1] * of[1] + of[2] * of[2]
}

/// Solution of three equations by Cramer's rule.
fn solve_three(m: &[[f64; 3]; 3], right: [f64; 3]) -> [f64; 3] {
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let column = |c: usize| [m[0][c], m[1][c], m[2][c]];
    let (a, b, c) = (column(0), column(1), column(2));
    let scale = 1.0 / dot(a, cross(b, c));
    [dot(right, cross(b, c)) * scale, dot(a, cross(right, c)) * scale, dot(a, cross(b, right)) * scale]
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    fn line_of_tilt(tilt: f64) -> PatchFriction {
        let mut patch = PatchFriction { count: 1, floor: 1e-9, ..PatchFriction::default() };
        patch.chords[0] = Chord { half: 1.0, load: 1.0, tilt, ..Chord::default() };
        patch
    }

    /// phi of a patch by a sum over many points of its chords.
    fn sum_phi(patch: &PatchFriction, u: [f64; 3]) -> f64 {
        const QUADRATURE_POINTS: usize = 20_000;
        let mut sum = 0.0;
        for chord in &patch.chords[..patch.count] {
            for point in 0..QUADRATURE_POINTS {
                let z = (2 * point + 1) as f64 / QUADRATURE_POINTS as f64 - 1.0;
                let x = u[1] + u[2] * (chord.along + chord.half * z);
                let y = u[0] - u[2] * chord.across;
                let rest = y * y + (chord.width * u[2]).powi(2) + patch.floor * patch.floor;
                sum += chord.load * (1.0 + chord.tilt * z) * (x * x + rest).sqrt() / QUADRATURE_POINTS as f64;
            }
        }
        sum
    }

    /// Gradient and its derivative are those of the sum over points, for random chords and velocities.
    #[test]
    fn closed_forms_are_those_of_the_integral() {
        let mut stream = Stream::from_number(5);
        let mut next = || stream.between(-1.0, 1.0);
        for round in 0..200 {
            let mut patch = PatchFriction { count: 2, floor: 0.01, ..PatchFriction::default() };
            for chord in &mut patch.chords[..2] {
                let [along, across, tilt] = [next(), next(), next()];
                let [half, width, load] = [next().abs(), 0.1 * next().abs(), 0.1 + next().abs()];
                *chord = Chord { along, across, half, width, load, tilt };
            }
            let u = [next(), next(), if round % 3 == 0 { 0.1 } else { 3.0 } * next()];
            let slope = patch.slope(u);
            for c in 0..3 {
                let at = |change: f64| std::array::from_fn::<_, 3, _>(|k| u[k] + if k == c { change } else { 0.0 });
                let d = 1e-4;
                let found = (sum_phi(&patch, at(d)) - sum_phi(&patch, at(-d))) / (2.0 * d);
                assert!((found - slope.gradient[c]).abs() < 1e-5, "{round} {c}: {found} {:?}", slope.gradient);
                let (more, less) = (patch.slope(at(1e-6)), patch.slope(at(-1e-6)));
                for r in 0..3 {
                    let found = (more.gradient[r] - less.gradient[r]) / 2e-6;
                    let off = (found - slope.hessian[r][c]).abs();
                    assert!(off < 1e-5 * (1.0 + found.abs()), "{round} {r} {c}: {found} {}", slope.hessian[r][c]);
                }
            }
        }
    }

    /// A line whose point at rest is at a fraction of its half length has that fraction of the largest force, and the
    /// moment (1 - fraction²) / 2.
    #[test]
    fn a_line_in_one_direction_has_its_closed_form() {
        for rest in [-0.9, -0.3, 0.0, 0.5] {
            let slope = line_of_tilt(0.0).slope([0.0, -2.0 * rest, 2.0]);
            assert!((slope.gradient[1] + rest).abs() < 1e-12, "{:?}", slope.gradient);
            assert!((slope.gradient[2] - 0.5 * (1.0 - rest * rest)).abs() < 1e-12, "{:?}", slope.gradient);
        }
    }

    /// The local solution obeys the law, and a patch that friction can stop comes to rest up to the floor.
    #[test]
    fn the_local_solution_obeys_the_law() {
        let mut stream = Stream::from_number(9);
        let mut next = || stream.between(-1.0, 1.0);
        for _ in 0..1000 {
            let rows: [[f64; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
            let product = |i: usize, j: usize| (0..3).map(|k| rows[i][k] * rows[j][k]).sum::<f64>();
            let a = [product(0, 0), product(0, 1), product(0, 2), product(1, 1), product(1, 2), product(2, 2)];
            let (b, normal) = ([next(), next(), next()], 1.0 + next());
            let mut patch = line_of_tilt(0.9 * next());
            patch.floor = 1e-5;
            let l = patch.solve(&a, b, normal, b);
            let moved = product_with(&a, l);
            let u = std::array::from_fn(|c| b[c] + moved[c]);
            let asked = patch.slope(u).gradient.map(|g| -normal * g);
            let off: [f64; 3] = std::array::from_fn(|c| l[c] - asked[c]);
            let off = product_with(&a, off);
            assert!(square_of(off).sqrt() < 1e-6, "{off:?} {u:?} {l:?}");
        }
    }
}
