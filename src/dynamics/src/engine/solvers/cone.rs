//! The exact solution of one frictional contact: u = A l + b with the unit cone,
//!
//! ```text
//! 0 <= u_n  ⟂  l_n >= 0,   |l_t| <= l_n,   sliding: l_t = -l_n u_t / |u_t|
//! ```
//!
//! Friction coefficients are multiplied into the tangential rows of the Jacobian, so every cone is the unit cone. An
//! elliptic cone (two coefficients) is exact with the rule of maximum dissipation.

/// Relative shift of the diagonal of A, and smallest pivot: otherwise rounding would determine the factors of an A that
/// is singular up to rounding.
pub(crate) const DIAGONAL_SHIFT: f64 = 1e-12;
/// Tangential diagonal entries below this fraction of the normal one count as rounding: the contact is frictionless.
const NO_FRICTION: f64 = 1e-14;
/// Smallest eigenvalue of the Schur complement, as a fraction of the mean of both.
const MIN_EIGENVALUE: f64 = 1e-13;
/// Largest number of steps of the search for the slip. Newton's method needs two or three; bisection reaches rounding
/// in 60.
const SEARCH_STEPS: usize = 60;

/// The mode of a block in its last local solve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No impulse, or an impulse at its bound: the velocity is free.
    #[default]
    Open,
    /// The velocity is zero.
    Stick,
    /// Pressing and sliding.
    Slip,
}

/// The local 3 by 3 problem; order normal, first and second tangent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cone {
    /// A: nn, n1, n2, 11, 12, 22.
    pub(crate) a: [f64; 6],
    /// A = L D Lᵀ: entries 10, 20 and 21 of L, and the reciprocals of D. Substitution gives an impulse even for a
    /// singular A; it holds whatever motion can be held.
    factor: [f64; 6],
    /// Eigenvalues of the Schur complement A_tt - A_tn A_nt / A_nn, the larger first, and cosine and sine of the first
    /// eigenvector. Zero before the first sliding solve.
    eigenvalues: [f64; 2],
    cosine: f64,
    sine: f64,
    /// A_nt in the basis of the eigenvectors.
    coupling: [f64; 2],
    pub(crate) friction: bool,
    pub(crate) mode: Mode,
    /// Slip s = |u_t| / |l_t| of the last sliding solution, 1/kg, where the next search starts.
    pub(crate) slip: f64,
}

impl Cone {
    #[inline]
    pub(crate) fn new(mut a: [f64; 6]) -> Self {
        a[0] *= 1.0 + DIAGONAL_SHIFT;
        let friction = a[3] + a[5] > NO_FRICTION * a[0];
        if !friction {
            return Self { a, ..Self::default() };
        }
        let shift = DIAGONAL_SHIFT * (a[3] + a[5]);
        a[3] += shift;
        a[5] += shift;
        let [nn, n1, n2, m11, m12, m22] = a;
        // For a body that can move along one line only, A has rank 1; both other pivots are then rounding.
        let (l10, l20) = (n1 / nn, n2 / nn);
        let first = (m11 - n1 * l10).max(DIAGONAL_SHIFT * (m11 + m22));
        let rest = m12 - n2 * l10;
        let l21 = rest / first;
        let second = (m22 - n2 * l20 - rest * l21).max(DIAGONAL_SHIFT * (m11 + m22));
        Self { a, factor: [l10, l20, l21, 1.0 / nn, 1.0 / first, 1.0 / second], friction, ..Self::default() }
    }

    /// Computes the eigenvalues, which only a sliding solution needs.
    fn prepare_sliding(&mut self) {
        let [nn, n1, n2, m11, m12, m22] = self.a;
        let (s11, s12, s22) = (m11 - n1 * n1 / nn, m12 - n1 * n2 / nn, m22 - n2 * n2 / nn);
        let (mean, half) = (0.5 * (s11 + s22), 0.5 * (s11 - s22));
        let radius = (half * half + s12 * s12).sqrt();
        let (mut cosine, mut sine) = (1.0, 0.0);
        if radius > 1e-15 * mean {
            let (x, y) = if half >= 0.0 { (half + radius, s12) } else { (s12, radius - half) };
            let length = (x * x + y * y).sqrt();
            (cosine, sine) = (x / length, y / length);
        }
        let least = MIN_EIGENVALUE * mean;
        self.eigenvalues = [(mean + radius).max(least), (mean - radius).max(least)];
        (self.cosine, self.sine) = (cosine, sine);
        self.coupling = [cosine * n1 + sine * n2, -sine * n1 + cosine * n2];
    }

    /// A block with the matrix only, for other laws.
    pub(crate) fn matrix_only(a: [f64; 6]) -> Self {
        Self { a, ..Self::default() }
    }

    /// A l.
    #[inline]
    pub(crate) fn times(&self, l: [f64; 3]) -> [f64; 3] {
        let a = &self.a;
        [
            a[0] * l[0] + a[1] * l[1] + a[2] * l[2],
            a[1] * l[0] + a[3] * l[1] + a[4] * l[2],
            a[2] * l[0] + a[4] * l[1] + a[5] * l[2],
        ]
    }

    /// The sticking solution, -A⁻¹ b.
    fn sticking_solution(&self, b: [f64; 3]) -> [f64; 3] {
        let [l10, l20, l21, d0, d1, d2] = self.factor;
        let first = b[1] - l10 * b[0];
        let z = d2 * (b[2] - l20 * b[0] - l21 * first);
        let y = d1 * first - l21 * z;
        [l10 * y + l20 * z - d0 * b[0], -y, -z]
    }

    /// The impulse that satisfies the contact law for the velocity `b` without an impulse.
    pub(crate) fn solve(&mut self, b: [f64; 3]) -> [f64; 3] {
        if b[0] >= 0.0 {
            self.mode = Mode::Open;
            return [0.0; 3];
        }
        self.mode = Mode::Stick;
        if !self.friction {
            return [-b[0] / self.a[0], 0.0, 0.0];
        }
        let l = self.sticking_solution(b);
        if l[0] >= 0.0 && l[1] * l[1] + l[2] * l[2] <= l[0] * l[0] {
            return l;
        }
        self.mode = Mode::Slip;
        self.sliding_solution(b)
    }

    /// Violation of the contact law by an impulse and the velocity `u` with it, m/s (the residual of Alart and Curnier
    /// 1991), and the mode.
    ///
    /// If the normal impulse also pushes sideways, several impulses can satisfy the law for the same `b`;
    /// [`Self::solve`] finds one of them.
    pub(crate) fn violation(&self, l: [f64; 3], u: [f64; 3]) -> (f64, Mode) {
        let a = &self.a;
        let normal = l[0] - u[0] / a[0];
        if !(normal > 0.0) {
            return (l[0].abs().max(l[1].abs()).max(l[2].abs()) * a[0], Mode::Open);
        }
        if !self.friction {
            return (u[0].abs(), Mode::Stick);
        }
        let own = 0.5 * (a[3] + a[5]);
        let asked = [l[1] - u[1] / own, l[2] - u[2] / own];
        let [x, y] = on_disc(asked, normal);
        let violation = u[0].abs().max((l[1] - x).abs() * own).max((l[2] - y).abs() * own);
        (violation, if [x, y] == asked { Mode::Stick } else { Mode::Slip })
    }

    /// The sliding solution: u_n = 0 and u_t = -s l_t with s > 0, that is (A~ + s) l_t = -beta. The excess |l_t(s)| -
    /// l_n(s) is positive at 0 and negative at infinity, so there is a root. phi = l_n / |l_t| - 1 is nearly linear in
    /// s, so Newton's method, bracketed, needs two or three steps.
    fn sliding_solution(&mut self, b: [f64; 3]) -> [f64; 3] {
        if self.eigenvalues[0] == 0.0 {
            self.prepare_sliding();
        }
        let nn = self.a[0];
        let (t1, t2) = (b[1] - self.a[1] * b[0] / nn, b[2] - self.a[2] * b[0] / nn);
        let beta = [self.cosine * t1 + self.sine * t2, -self.sine * t1 + self.cosine * t2];
        let [e0, e1] = self.eigenvalues;
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        let mut s = if self.slip > 0.0 {
            self.slip
        } else {
            let length = (beta[0] * beta[0] + beta[1] * beta[1]).sqrt();
            (length * nn / -b[0] - e1).max(0.1 * e0)
        };
        let (mut x, mut y, mut normal, mut tangent) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..SEARCH_STEPS {
            let (i0, i1) = (1.0 / (e0 + s), 1.0 / (e1 + s));
            (x, y) = (-beta[0] * i0, -beta[1] * i1);
            tangent = (x * x + y * y).sqrt();
            normal = -(b[0] + self.coupling[0] * x + self.coupling[1] * y) / nn;
            let phi = normal / tangent - 1.0;
            if phi.abs() < 1e-14 {
                break;
            }
            if phi < 0.0 {
                low = s;
            } else {
                high = s;
            }
            let d_tangent = -(x * x * i0 + y * y * i1) / tangent;
            let d_normal = (self.coupling[0] * x * i0 + self.coupling[1] * y * i1) / nn;
            let slope = (d_normal * tangent - normal * d_tangent) / (tangent * tangent);
            let mut next = s - phi / slope;
            if !(next > low && next < high) {
                next = if high.is_finite() { 0.5 * (low + high) } else { 4.0 * s + e0 };
            }
            if (next - s).abs() <= 1e-15 * s || (high.is_finite() && high - low <= 1e-15 * high) {
                break;
            }
            s = next;
        }
        self.slip = s;
        let normal = normal.max(0.0);
        let scale = if tangent > 0.0 { normal / tangent } else { 0.0 };
        let (x, y) = (x * scale, y * scale);
        [normal, self.cosine * x - self.sine * y, self.sine * x + self.cosine * y]
    }
}

/// The nearest point of a disc about the origin.
pub(crate) fn on_disc([x, y]: [f64; 2], radius: f64) -> [f64; 2] {
    let square = x * x + y * y;
    if square <= radius * radius {
        return [x, y];
    }
    let share = radius / square.sqrt();
    [x * share, y * share]
}

/// Derivatives of the nearest point of a disc ([`on_disc`]) with respect to the point and to the radius.
pub(crate) fn disc_slopes([x, y]: [f64; 2], radius: f64) -> ([[f64; 2]; 2], [f64; 2]) {
    let square = x * x + y * y;
    if square <= radius * radius {
        return ([[1.0, 0.0], [0.0, 1.0]], [0.0; 2]);
    }
    let length = square.sqrt();
    let ([a, b], share) = ([x / length, y / length], radius / length);
    ([[share * b * b, -share * a * b], [-share * a * b, share * a * a]], [a, b])
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    /// Checks the contact law for random positive definite A and random b: no penetration, no pull, an impulse inside
    /// the cone, sliding friction against the slip, and exactly one of the three cases.
    #[test]
    fn every_solution_obeys_coulombs_law() {
        let mut stream = Stream::from_number(7);
        let mut next = || stream.between(-1.0, 1.0);
        let mut seen = [0; 3];
        for _ in 0..20_000 {
            let rows: [[f64; 4]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
            let dot = |i: usize, j: usize| (0..4).map(|k| rows[i][k] * rows[j][k]).sum::<f64>();
            let mut cone = Cone::new([dot(0, 0), dot(0, 1), dot(0, 2), dot(1, 1), dot(1, 2), dot(2, 2)]);
            let b = [next(), next(), next()];
            let l = cone.solve(b);
            let al = cone.times(l);
            let u = [al[0] + b[0], al[1] + b[1], al[2] + b[2]];
            let (tangent, speed) = (l[1].hypot(l[2]), u[1].hypot(u[2]));
            let scale = 1.0 + l[0] * (cone.a[0] + cone.a[3] + cone.a[5]);
            assert!(l[0] >= 0.0 && u[0] > -1e-11 * scale, "{l:?} {u:?}");
            assert!((l[0] * u[0]).abs() < 1e-11 * scale * scale, "{l:?} {u:?}");
            assert!(tangent <= l[0] * (1.0 + 1e-11), "{l:?}");
            match cone.mode {
                Mode::Open => assert_eq!(l, [0.0; 3]),
                Mode::Stick => assert!(speed < 1e-10 * scale, "{l:?} {u:?}"),
                Mode::Slip => {
                    let along = (l[1] * u[1] + l[2] * u[2]) / (tangent * speed).max(1e-300);
                    assert!(l[0] == 0.0 || speed < 1e-9 || along < -1.0 + 1e-9, "{l:?} {u:?} {along}");
                    assert!((tangent - l[0]).abs() < 1e-11 * scale);
                }
            }
            seen[cone.mode as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
    }

    /// For a body that can move along one line only, A has rank 1 up to rounding. The impulse holds the body there.
    #[test]
    fn a_matrix_of_rank_one_is_held_where_it_can_be() {
        let mut stream = Stream::from_number(11);
        let mut next = || stream.between(-1.0, 1.0);
        for _ in 0..10_000 {
            let row = [1.0 + next().abs(), next(), next()];
            let mut along = |i: usize, j: usize| row[i] * row[j] * (1.0 + 1e-15 * next());
            let mut cone = Cone::new([along(0, 0), along(0, 1), along(0, 2), along(1, 1), along(1, 2), along(2, 2)]);
            let speed = -100.0 * next().abs();
            let b = row.map(|entry| entry * speed);
            let l = cone.solve(b);
            let al = cone.times(l);
            // The shift is 1e-12 of A, and the speeds are up to 200 m/s.
            let left = (0..3).map(|c| (al[c] + b[c]).abs()).fold(0.0, f64::max);
            assert!(cone.mode != Mode::Stick || left < 1e-8, "{left} {l:?} {:?}", cone.mode);
            assert!((al[0] + b[0]).abs() < 1e-8 || l[0] == 0.0, "{l:?}");
        }
    }
}
