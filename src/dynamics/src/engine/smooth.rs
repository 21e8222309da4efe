//! The laws of all blocks as one smoothed system of equations, for the homotopy solver ([`super::homotopy`]).
//!
//! With u' = u + |u_t| n, sliding is orthogonality: the impulse lies in the cone K, u' in its dual, and l · u' = 0 (De Saxcé
//! and Feng 1998). That is v = P(v - u'), where P is the projection on K and v = l / rho the impulse in terms of velocity; rho is
//! one over the mean of the block's own diagonal. An interval, or a disc whose radius grows with a normal impulse, stands in place
//! of K for the other laws.
//!
//! P takes the positive part of the two eigenvalues n ± |t| of (n, t). Smoothing replaces the positive part of x by
//! (x + sqrt(x² + 4 nu²)) / 2 (Chen, Harker, Kanzow and Smale; Fukushima, Luo and Tseng 2002) and |u_t| by sqrt(u_t² + nu²) - nu, and
//! adds nu v / u_0 to u, where u_0 is the fastest velocity without impulses. For large nu that term dominates: the solution is
//! unique and near v = sqrt(nu u_0) n. At nu = 0 the equations are the law.

use super::problem::{Law, Problem};

/// Added to the diagonal of every row, relative: keeps impulses bounded where contacts press against each other. It changes a
/// velocity by this part, far below the accepted residual.
const SHIFT: f64 = 1e-10;

/// What the impulse of a block is projected on.
#[derive(Debug, Clone, Copy)]
enum Set {
    /// The unit cone.
    Cone,
    /// An interval, in terms of velocity.
    Interval(f64, f64),
    /// A disc: the row of the normal impulse, and radius over that.
    Disc(usize, f64),
}

/// A block's rows.
#[derive(Debug, Clone, Copy)]
struct Part {
    block: usize,
    row: usize,
    count: usize,
    set: Set,
    rho: f64,
}

/// The equations, with a matrix over all rows.
#[derive(Debug, Default)]
pub(super) struct Equations {
    parts: Vec<Part>,
    /// The first row of each block.
    first_rows: Vec<usize>,
    pub(super) count: usize,
    /// The rows of the problem over all its unknowns; of each, rho and what is added to its own entry of the matrix.
    rows: Vec<f64>,
    rho: Vec<f64>,
    own: Vec<f64>,
    /// A rho, by rows.
    matrix: Vec<f64>,
    bias: Vec<f64>,
    /// The fastest of them, m/s.
    pub(super) fastest: f64,
    /// Zero on the curve; its derivatives by v, and last by ln nu.
    pub(super) value: Vec<f64>,
    pub(super) slope: Vec<f64>,
}

/// A smoothed projection: value, derivatives by its argument, by nu, and by the radius of a disc.
#[derive(Debug, Clone, Copy, Default)]
struct Projection {
    value: [f64; 3],
    by_argument: [[f64; 3]; 3],
    by_nu: [f64; 3],
    by_radius: [f64; 3],
}

impl Equations {
    /// Takes the equations of a problem.
    pub(super) fn set(&mut self, problem: &Problem) {
        let Self { parts, first_rows, .. } = self;
        parts.clear();
        first_rows.clear();
        let mut count = 0;
        for (index, block) in problem.blocks.iter().enumerate() {
            let a = block.cone.a;
            first_rows.push(count);
            if a[0] <= 0.0 {
                continue;
            }
            let rows = block.rows();
            let rho = rows as f64 / [a[0], a[3], a[5]][..rows].iter().sum::<f64>();
            let set = match block.law {
                Law::Cone if rows == 3 => Set::Cone,
                Law::Cone => Set::Interval(0.0, f64::INFINITY),
                Law::Disc { normal, radius, .. } => {
                    let of_normal = parts.iter().find(|part| part.block == normal).map_or(0.0, |part| part.rho);
                    Set::Disc(first_rows[normal], radius * of_normal / rho)
                }
                Law::Interval { low, high } => Set::Interval(low / rho, high / rho),
            };
            parts.push(Part { block: index, row: count, count: rows, set, rho });
            count += rows;
        }
        self.count = count;
        self.fill(problem);
        self.fastest = self.bias.iter().fold(0.0f64, |most, u| most.max(u.abs()));
    }

    /// A rho and the velocities without impulses.
    fn fill(&mut self, problem: &Problem) {
        let (count, unknowns) = (self.count, problem.w.len());
        let Self { parts, rows, rho, own, matrix, bias, value, slope, .. } = self;
        let square = count * count;
        for (numbers, length) in [
            (&mut *rows, count * unknowns),
            (&mut *rho, count),
            (&mut *own, count),
            (&mut *bias, count),
            (&mut *matrix, square),
            (value, count),
            (slope, square + count),
        ] {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
        for part in parts.iter() {
            let block = &problem.blocks[part.block];
            for c in 0..part.count {
                let row = &mut rows[(part.row + c) * unknowns..][..unknowns];
                for k in block.start..block.start + block.length {
                    row[problem.index[k] as usize] += problem.columns[k][c];
                }
                rho[part.row + c] = part.rho;
                own[part.row + c] = block.compliance[c] * part.rho + SHIFT;
                bias[part.row + c] = block.bias[c];
            }
        }
        for i in 0..count {
            for j in 0..count {
                let pairs = rows[i * unknowns..][..unknowns].iter().zip(&rows[j * unknowns..][..unknowns]);
                matrix[i * count + j] = rho[j] * pairs.map(|(x, y)| x * y).sum::<f64>();
            }
            matrix[i * count + i] += own[i];
        }
    }

    /// Goes to about where the solution is for a nu `far` times the fastest velocity. `None` if nothing moves.
    pub(super) fn start(&self, far: f64, at: &mut Vec<f64>) -> Option<()> {
        if !(self.fastest > 0.0 && self.fastest.is_finite()) {
            return None;
        }
        at.clear();
        at.resize(self.count + 1, 0.0);
        for part in self.parts.iter().filter(|part| matches!(part.set, Set::Cone)) {
            at[part.row] = self.fastest * far.sqrt();
        }
        at[self.count] = libm::log(far * self.fastest);
        Some(())
    }

    /// Value and slope at (v, ln nu).
    pub(super) fn evaluate(&mut self, at: &[f64]) {
        let (n, nu) = (self.count, libm::exp(at[self.count]));
        let own = nu / self.fastest;
        for part in 0..self.parts.len() {
            let Part { row, count, set, .. } = self.parts[part];
            let mut u = [0.0; 3];
            for c in 0..count {
                let coefficients = &self.matrix[(row + c) * n..][..n];
                u[c] = self.bias[row + c] + coefficients.iter().zip(at).map(|(a, v)| a * v).sum::<f64>();
                u[c] += own * at[row + c];
            }
            // The normal velocity that the cone is given has the speed of sliding added.
            let speed = (u[1] * u[1] + u[2] * u[2] + nu * nu).sqrt();
            let (along, by_nu) = match set {
                Set::Cone => ([u[1] / speed, u[2] / speed], nu / speed - 1.0),
                _ => ([0.0; 2], 0.0),
            };
            let lifted = if let Set::Cone = set { speed - nu } else { 0.0 };
            let mut x = [0.0; 3];
            for c in 0..count {
                x[c] = at[row + c] - u[c] - if c == 0 { lifted } else { 0.0 };
            }
            let projection = set.project(x, at, nu);
            for c in 0..count {
                self.value[row + c] = at[row + c] - projection.value[c];
                let d = projection.by_argument[c];
                let weights = [d[0], d[0] * along[0] + d[1], d[0] * along[1] + d[2]];
                let slope = &mut self.slope[(row + c) * (n + 1)..][..n + 1];
                for (k, slope) in slope[..n].iter_mut().enumerate() {
                    *slope = (0..count).map(|r| weights[r] * self.matrix[(row + r) * n + k]).sum();
                }
                for r in 0..count {
                    slope[row + r] += weights[r] * own - d[r];
                }
                slope[row + c] += 1.0;
                if let Set::Disc(normal, share) = set {
                    slope[normal] -= projection.by_radius[c] * share;
                }
                let grown = (0..count).map(|r| weights[r] * own * at[row + r]).sum::<f64>();
                slope[n] = grown + nu * (d[0] * by_nu - projection.by_nu[c]);
            }
        }
    }

    /// The residual of the law without any smoothing, m/s or rad/s.
    pub(super) fn residual(&mut self, at: &mut [f64]) -> f64 {
        (0..self.count).for_each(|row| self.matrix[row * (self.count + 1)] -= SHIFT);
        // So small that its square is zero, but no divisor is.
        at[self.count] = libm::log(1e-200);
        self.evaluate(at);
        // The largest of them ignores NaN.
        let finite = self.value.iter().all(|value| value.is_finite());
        if finite { self.value.iter().fold(0.0, |most, value| value.abs().max(most)) } else { f64::INFINITY }
    }

    /// Writes the impulses of the blocks after [`Self::residual`]: the projections themselves, so that an open block has none.
    pub(super) fn write_impulses(&self, problem: &mut Problem, v: &[f64]) {
        for part in &self.parts {
            let mut l = [0.0; 3];
            for c in 0..part.count {
                l[c] = part.rho * (v[part.row + c] - self.value[part.row + c]);
            }
            let radius = problem.disc_radius(problem.blocks[part.block].law);
            let block = &mut problem.blocks[part.block];
            block.impulse = l;
            block.bring_into_bounds(radius);
        }
        problem.sum_up();
    }
}

impl Set {
    /// The smoothed projection of x at (v, ln nu).
    fn project(self, x: [f64; 3], at: &[f64], nu: f64) -> Projection {
        match self {
            Self::Cone => onto_cone(x, nu),
            Self::Interval(low, high) => {
                let ((p, d, q), (r, e, s)) = (positive(x[0] - low, nu), positive(x[0] - high, nu));
                let mut projection = Projection::default();
                (projection.value[0], projection.by_argument[0][0], projection.by_nu[0]) = match (low, high) {
                    (f64::NEG_INFINITY, f64::INFINITY) => (x[0], 1.0, 0.0),
                    (f64::NEG_INFINITY, _) => (x[0] - r, 1.0 - e, -s),
                    (_, f64::INFINITY) => (low + p, d, q),
                    _ => (low + p - r, d - e, q - s),
                };
                projection
            }
            Self::Disc(normal, share) => onto_disc(x, share * at[normal], nu),
        }
    }
}

/// The smoothed positive part of a number, and its derivatives by the number and by nu.
fn positive(x: f64, nu: f64) -> (f64, f64, f64) {
    let root = x.hypot(2.0 * nu);
    let value = if x >= 0.0 { 0.5 * (x + root) } else { 2.0 * nu * nu / (root - x) };
    (value, value / root, 2.0 * nu / root)
}

fn onto_cone([n, x, y]: [f64; 3], nu: f64) -> Projection {
    let length = x.hypot(y);
    let e = if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] };
    let ((low, low_slope, low_nu), (high, high_slope, high_nu)) = (positive(n - length, nu), positive(n + length, nu));
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

/// x r / max(r, |x|), the greater of the two being smoothed.
fn onto_disc([x, y, _]: [f64; 3], radius: f64, nu: f64) -> Projection {
    let r = radius.max(0.0);
    let length = (x * x + y * y + nu * nu).sqrt();
    let (over, slope, by_nu) = positive(length - r, nu);
    let greater = r + over;
    let (share, fall) = (r / greater, r / (greater * greater));
    // The greater one grows by `slope` with the length, by the rest with the radius.
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
