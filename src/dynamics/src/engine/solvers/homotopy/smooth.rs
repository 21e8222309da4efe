//! The laws of all blocks as one smoothed system of equations, for the homotopy solver ([`super`]).
//!
//! With u' = u + |u_t| n, sliding is orthogonality: the impulse lies in the cone K, u' in its dual, and l · u' = 0 (De
//! Saxcé and Feng 1998). That is v = P(v - u'), where P is the projection on K and v = l / rho the impulse in terms of
//! velocity; rho is one over the mean of the block's own diagonal. An interval, or a disc whose radius grows with a
//! normal impulse, stands in place of K for the other laws.
//!
//! P takes the positive part of the two eigenvalues n ± |t| of (n, t). Smoothing replaces the positive part of x by
//! (x + sqrt(x² + 4 nu²)) / 2 (Chen, Harker, Kanzow and Smale; Fukushima, Luo and Tseng 2002) and |u_t| by sqrt(u_t² +
//! nu²) - nu, and adds nu v / u_0 to u, where u_0 is the fastest velocity without impulses. For large nu that term
//! dominates: the solution is unique and near v = sqrt(nu u_0) n. At nu = 0 the equations are the law.
//!
//! A block's impulse moves the others only by what it adds to w, the sum of Y l over all blocks. So the value of its
//! equations changes by its own v, by u, which Yᵀ w gives it, and by ln nu, and no matrix over all rows is formed
//! ([`super::linear`]).

use crate::engine::solvers::problem::{Law, Problem};

/// Relative addition to the diagonal of every row, which keeps impulses bounded where contacts press against each
/// other. It changes a velocity by this fraction, far below the accepted residual.
const DIAGONAL_SHIFT: f64 = 1e-10;

/// Convex set on which the impulse of a block is projected.
#[derive(Debug, Clone, Copy)]
enum Set {
    /// The unit cone.
    Cone,
    /// An interval, in terms of velocity.
    Interval(f64, f64),
    /// A disc: the part of its normal impulse, and the radius over that impulse.
    Disc(usize, f64),
}

/// A block's rows, and the equations there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) block: usize,
    /// Its first row, and number of rows.
    pub(super) row: usize,
    pub(super) count: usize,
    set: Set,
    pub(super) rho: f64,
    /// Addition to the diagonal of A rho: its compliance.
    own: [f64; 3],
    bias: [f64; 3],
    pub(super) slope: Slope,
}

/// Derivatives of the value of a block's equations: with respect to its v, to its u at constant v, to ln nu, and to v
/// of the normal row of a disc.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slope {
    pub(super) by_v: [[f64; 3]; 3],
    pub(super) by_u: [[f64; 3]; 3],
    pub(super) by_nu: [f64; 3],
    pub(super) by_normal: [f64; 3],
}

/// The smoothed equations of all blocks.
#[derive(Debug, Default)]
pub(super) struct Equations {
    pub(super) parts: Vec<Part>,
    /// Part of each block; `None` if the block cannot move.
    of_block: Vec<Option<usize>>,
    /// Number of rows.
    pub(super) count: usize,
    /// The fastest velocity without impulses, m/s.
    fastest: f64,
    /// Whitened sum of the impulses.
    w: Vec<f64>,
    /// Value of the equations: zero on the curve.
    pub(super) value: Vec<f64>,
}

/// A smoothed projection: value, and derivatives with respect to its argument, to nu, and to the radius of a disc.
#[derive(Debug, Clone, Copy, Default)]
struct Projection {
    value: [f64; 3],
    by_argument: [[f64; 3]; 3],
    by_nu: [f64; 3],
    by_radius: [f64; 3],
}

impl Equations {
    /// Sets the equations of a problem.
    pub(super) fn set(&mut self, problem: &Problem) {
        let Self { parts, of_block, count, .. } = self;
        parts.clear();
        of_block.clear();
        *count = 0;
        for (index, block) in problem.blocks.iter().enumerate() {
            let (a, rows) = (block.cone.a, block.rows());
            let moves = a[0] > 0.0;
            of_block.push(moves.then_some(parts.len()));
            if !moves {
                continue;
            }
            let rho = rows as f64 / [a[0], a[3], a[5]][..rows].iter().sum::<f64>();
            let set = match block.law {
                Law::Cone if rows == 3 => Set::Cone,
                Law::Cone => Set::Interval(0.0, f64::INFINITY),
                Law::Disc { normal, radius, .. } => of_block[normal]
                    .map_or(Set::Disc(0, 0.0), |normal| Set::Disc(normal, radius * parts[normal].rho / rho)),
                Law::Interval { low, high } => Set::Interval(low / rho, high / rho),
                // Problems with patches are not solved here ([`super::Homotopy::solve`]).
                Law::Patch { .. } => Set::Interval(0.0, 0.0),
            };
            let of = |c: usize, number: f64| if c < rows { number } else { 0.0 };
            parts.push(Part {
                block: index,
                row: *count,
                count: rows,
                set,
                rho,
                own: std::array::from_fn(|c| of(c, block.compliance[c] * rho)),
                bias: std::array::from_fn(|c| of(c, block.bias[c])),
                slope: Slope::default(),
            });
            *count += rows;
        }
        self.fastest = parts.iter().flat_map(|part| part.bias).fold(0.0f64, |most, u| most.max(u.abs()));
    }

    /// Sets the start, zero on entry, to about the solution for a nu `far` times the fastest velocity. `None` if
    /// nothing moves.
    pub(super) fn start(&self, far: f64, at: &mut [f64]) -> Option<()> {
        if !(self.fastest > 0.0 && self.fastest.is_finite()) {
            return None;
        }
        for part in self.parts.iter().filter(|part| matches!(part.set, Set::Cone)) {
            at[part.row] = self.fastest * far.sqrt();
        }
        at[self.count] = libm::log(far * self.fastest);
        Some(())
    }

    /// Evaluates value and slopes at (v, ln nu).
    pub(super) fn evaluate(&mut self, problem: &Problem, at: &[f64]) {
        self.evaluate_with(problem, at, DIAGONAL_SHIFT);
    }

    fn evaluate_with(&mut self, problem: &Problem, at: &[f64], shift: f64) {
        let nu = libm::exp(at[self.count]);
        let (own, fastest) = (shift + nu / self.fastest, self.fastest);
        self.sum_impulses(problem, at);
        self.value.clear();
        for index in 0..self.parts.len() {
            let normal =
                if let Set::Disc(normal, _) = self.parts[index].set { at[self.parts[normal].row] } else { 0.0 };
            let part = &mut self.parts[index];
            let moved = problem.velocity_from(&problem.blocks[part.block], &self.w);
            let (mut v, mut u, mut own_by_v) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            for c in 0..part.count {
                (v[c], own_by_v[c]) = (at[part.row + c], part.own[c] + own);
                u[c] = part.bias[c] + moved[c] + own_by_v[c] * v[c];
            }
            let value = part.set_slope(v, u, own_by_v, normal, nu, nu / fastest);
            self.value.extend_from_slice(&value[..part.count]);
        }
    }

    /// Computes the whitened sum of the impulses.
    fn sum_impulses(&mut self, problem: &Problem, at: &[f64]) {
        self.w.clear();
        self.w.resize(problem.w.len(), 0.0);
        for part in &self.parts {
            let block = &problem.blocks[part.block];
            let mut l = [0.0; 3];
            for c in 0..part.count {
                l[c] = -part.rho * at[part.row + c];
            }
            problem.subtract_impulse(block, l, &mut self.w);
        }
    }

    /// The residual of the law without any smoothing, m/s or rad/s.
    pub(super) fn residual(&mut self, problem: &Problem, at: &mut [f64]) -> f64 {
        // Small enough that its square is zero, but nonzero as a divisor.
        at[self.count] = libm::log(1e-200);
        self.evaluate_with(problem, at, 0.0);
        // The maximum ignores NaN.
        let finite = self.value.iter().all(|value| value.is_finite());
        if finite { self.value.iter().fold(0.0, |most, value| value.abs().max(most)) } else { f64::INFINITY }
    }

    /// Writes the impulses of the blocks after [`Self::residual`]: the projections themselves, so that an open block
    /// has none.
    pub(super) fn write_impulses(&self, problem: &mut Problem, v: &[f64]) {
        for part in &self.parts {
            let mut l = [0.0; 3];
            for c in 0..part.count {
                l[c] = part.rho * (v[part.row + c] - self.value[part.row + c]);
            }
            let radius = problem.disc_radius(problem.blocks[part.block].law);
            let block = &mut problem.blocks[part.block];
            block.impulse = l;
            block.project_to_bounds(radius);
        }
        problem.sum_impulses();
    }
}

impl Part {
    /// The part whose normal impulse bounds this one, if it is a disc.
    pub(super) fn normal(&self) -> Option<usize> {
        if let Set::Disc(normal, _) = self.set { Some(normal) } else { None }
    }

    /// Sets the slope of the equations at its v and u, and returns their value. `own` is the derivative of u with
    /// respect to v, and `by_ln_nu` that of `own` with respect to ln nu; `normal` is v of a disc's normal row.
    fn set_slope(&mut self, v: [f64; 3], u: [f64; 3], own: [f64; 3], normal: f64, nu: f64, by_ln_nu: f64) -> [f64; 3] {
        // The cone gets the normal velocity plus the speed of sliding.
        let speed = (u[1] * u[1] + u[2] * u[2] + nu * nu).sqrt();
        let (along, by_nu, lifted) = match self.set {
            Set::Cone => ([u[1] / speed, u[2] / speed], nu / speed - 1.0, speed - nu),
            _ => ([0.0; 2], 0.0, 0.0),
        };
        let x = [v[0] - u[0] - lifted, v[1] - u[1], v[2] - u[2]];
        let projection = self.set.project(x, normal, nu);
        for c in 0..self.count {
            let d = projection.by_argument[c];
            let by_u = [d[0], d[0] * along[0] + d[1], d[0] * along[1] + d[2]];
            let mut by_v: [f64; 3] = std::array::from_fn(|r| by_u[r] * own[r] - d[r]);
            by_v[c] += 1.0;
            let grown = (by_u[0] * v[0] + by_u[1] * v[1] + by_u[2] * v[2]) * by_ln_nu;
            self.slope.by_v[c] = by_v;
            self.slope.by_u[c] = by_u;
            self.slope.by_nu[c] = grown + nu * (d[0] * by_nu - projection.by_nu[c]);
            self.slope.by_normal[c] =
                if let Set::Disc(_, share) = self.set { -projection.by_radius[c] * share } else { 0.0 };
        }
        std::array::from_fn(|c| v[c] - projection.value[c])
    }
}

impl Set {
    /// The smoothed projection of x; `normal` is v of a disc's normal row.
    fn project(self, x: [f64; 3], normal: f64, nu: f64) -> Projection {
        match self {
            Self::Cone => project_on_cone(x, nu),
            Self::Interval(low, high) => {
                let ((p, d, q), (r, e, s)) = (positive_part(x[0] - low, nu), positive_part(x[0] - high, nu));
                let mut projection = Projection::default();
                (projection.value[0], projection.by_argument[0][0], projection.by_nu[0]) = match (low, high) {
                    (f64::NEG_INFINITY, f64::INFINITY) => (x[0], 1.0, 0.0),
                    (f64::NEG_INFINITY, _) => (x[0] - r, 1.0 - e, -s),
                    (_, f64::INFINITY) => (low + p, d, q),
                    _ => (low + p - r, d - e, q - s),
                };
                projection
            }
            Self::Disc(_, share) => project_on_disc(x, share * normal, nu),
        }
    }
}

/// Smoothed positive part of a number, and its derivatives with respect to the number and to nu.
fn positive_part(x: f64, nu: f64) -> (f64, f64, f64) {
    let root = x.hypot(2.0 * nu);
    let value = if x >= 0.0 { 0.5 * (x + root) } else { 2.0 * nu * nu / (root - x) };
    (value, value / root, 2.0 * nu / root)
}

/// Smoothed projection on the unit cone.
fn project_on_cone([n, x, y]: [f64; 3], nu: f64) -> Projection {
    let length = x.hypot(y);
    let e = if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] };
    let ((low, low_slope, low_nu), (high, high_slope, high_nu)) =
        (positive_part(n - length, nu), positive_part(n + length, nu));
    let (mean, half) = (0.5 * (low_slope + high_slope), 0.5 * (high_slope - low_slope));
    let across = if length > 0.0 { 0.5 * (high - low) / length } else { mean };
    let rest = mean - across;
    let tangent = |c: usize, of: f64| e[c] * of;
    Projection {
        value: [0.5 * (low + high), tangent(0, 0.5 * (high - low)), tangent(1, 0.5 * (high - low))],
        by_argument: [
            [mean, half * e[0], half * e[1]],
            [half * e[0], across + rest * e[0] * e[0], rest * e[0] * e[1]],
            [half * e[1], rest * e[0] * e[1], across + rest * e[1] * e[1]],
        ],
        by_nu: [0.5 * (low_nu + high_nu), tangent(0, 0.5 * (high_nu - low_nu)), tangent(1, 0.5 * (high_nu - low_nu))],
        by_radius: [0.0; 3],
    }
}

/// Smoothed projection on a disc: x r / max(r, |x|), with the maximum smoothed.
fn project_on_disc([x, y, _]: [f64; 3], radius: f64, nu: f64) -> Projection {
    let r = radius.max(0.0);
    let length = (x * x + y * y + nu * nu).sqrt();
    let (over, slope, by_nu) = positive_part(length - r, nu);
    let greater = r + over;
    let (share, fall) = (r / greater, r / (greater * greater));
    // The maximum grows by `slope` with the length, and by the rest with the radius.
    let by = |at: f64, along: f64, own: f64| own - at * fall * slope * along / length;
    let by_radius = if radius > 0.0 { 1.0 / greater - fall * (1.0 - slope) } else { 0.0 };
    let widened = fall * (by_nu + slope * nu / length);
    Projection {
        value: [x * share, y * share, 0.0],
        by_argument: [[by(x, x, share), by(x, y, 0.0), 0.0], [by(y, x, 0.0), by(y, y, share), 0.0], [0.0; 3]],
        by_nu: [-x * widened, -y * widened, 0.0],
        by_radius: [x * by_radius, y * by_radius, 0.0],
    }
}
