//! A semismooth Newton step on the present sets of open, sticking and sliding blocks, by dense elimination: a few steps solve
//! what Gauss-Seidel approaches slowly (compare Acary, Brémond and Huber 2018).
//!
//! Sticking rows require u = 0. Sliding contacts require u_n = 0 and l_t + l_n u_t / |u_t| = 0, linearised and scaled by
//! |u_t| / l_n so that all rows are velocities. The step ends where the first sticking contact reaches its cone: a full step
//! would move the impulses of contacts that share a load in many ways by many times that load.

use super::{
    cone::{Cone, Mode},
    problem::{Block, Law, Problem},
};

/// Rows at most. The elimination costs their cube: for 240 rows some milliseconds, as much as hundreds of sweeps.
pub(super) const MOST_ROWS: usize = 240;
/// Added to the diagonal, relative: keeps the matrix of redundant rows regular. The square root of rounding: smaller lets
/// rounding into the solution, larger slows convergence.
const SHIFT: f64 = 1e-8;

/// The memory of a step, and the impulses before it.
#[derive(Debug, Default)]
pub(super) struct Newton {
    matrix: Vec<f64>,
    rows: Vec<ActiveRow>,
    count: usize,
    dense: Vec<[f64; 4]>,
    saved: SavedImpulses,
}

/// The impulses of all blocks.
#[derive(Debug, Default)]
struct SavedImpulses {
    blocks: Vec<([f64; 3], Cone)>,
    w: Vec<f64>,
}

impl SavedImpulses {
    fn save(&mut self, problem: &Problem) {
        self.blocks.clear();
        self.blocks.extend(problem.blocks.iter().map(|block| (block.impulse, block.cone)));
        self.w.clone_from(&problem.w);
    }

    fn restore(&self, problem: &mut Problem) {
        for (block, (impulse, cone)) in problem.blocks.iter_mut().zip(&self.blocks) {
            block.impulse = *impulse;
            block.cone = *cone;
        }
        problem.w.clone_from(&self.w);
    }
}

/// A block that counts, and its first row.
#[derive(Debug, Clone, Copy)]
struct ActiveRow {
    block: usize,
    row: usize,
    count: usize,
    slides: bool,
}

impl Newton {
    /// Saves the impulses.
    pub(super) fn save(&mut self, problem: &Problem) {
        self.saved.save(problem);
    }

    /// Restores them.
    pub(super) fn restore(&self, problem: &mut Problem) {
        self.saved.restore(problem);
    }

    /// Finds the step from the present impulses and returns its length, 1 for a full step: it ends where the first block reaches
    /// a bound. `None` if the matrix is singular, or too large.
    pub(super) fn find(&mut self, problem: &Problem) -> Option<f64> {
        self.rows.clear();
        let mut count = 0;
        for (index, block) in problem.blocks.iter().enumerate() {
            let rows = block.active_rows();
            if rows > 0 {
                let slides = block.cone.mode == Mode::Slip && rows == 3;
                self.rows.push(ActiveRow { block: index, row: count, count: rows, slides });
                count += rows;
            }
        }
        self.count = count;
        if count == 0 || count > MOST_ROWS {
            return None;
        }
        self.matrix.clear();
        self.matrix.resize(count * (count + 1), 0.0);
        self.fill(problem, count);
        let solved = self.linearise(problem, count) && eliminate(&mut self.matrix, count);
        solved.then(|| self.step_length(problem, count))
    }

    /// The matrix A over all active rows, which is symmetric.
    fn fill(&mut self, problem: &Problem, count: usize) {
        let width = count + 1;
        self.dense.clear();
        self.dense.resize(problem.w.len(), [0.0; 4]);
        for (place, from) in self.rows.iter().enumerate() {
            let source = &problem.blocks[from.block];
            let range = source.start..source.start + source.length;
            for (column, &index) in problem.columns[range.clone()].iter().zip(&problem.index[range.clone()]) {
                self.dense[index as usize] = *column;
            }
            for to in &self.rows[place..] {
                let target = &problem.blocks[to.block];
                let mut a = [[0.0f64; 4]; 3];
                let own = target.start..target.start + target.length;
                for (y, &index) in problem.columns[own.clone()].iter().zip(&problem.index[own]) {
                    let x = &self.dense[index as usize];
                    for r in 0..3 {
                        for c in 0..4 {
                            a[r][c] += y[r] * x[c];
                        }
                    }
                }
                for r in 0..to.count {
                    for c in 0..from.count {
                        self.matrix[(to.row + r) * width + from.row + c] = a[r][c];
                        self.matrix[(from.row + c) * width + to.row + r] = a[r][c];
                    }
                }
            }
            for &index in &problem.index[range] {
                self.dense[index as usize] = [0.0; 4];
            }
        }
    }

    /// Right sides, compliance, and the rows of what slides.
    fn linearise(&mut self, problem: &Problem, count: usize) -> bool {
        let width = count + 1;
        let matrix = &mut self.matrix;
        for active in &self.rows {
            let block = &problem.blocks[active.block];
            let mut u = problem.velocity(block);
            for c in 0..3 {
                u[c] += block.compliance[c] * block.impulse[c];
            }
            let diagonal = [block.cone.a[0], block.cone.a[3], block.cone.a[5]];
            for r in 0..active.count {
                let row = (active.row + r) * width;
                matrix[row + active.row + r] += block.compliance[r];
                if r == 0 || !active.slides {
                    matrix[row + active.row + r] += SHIFT * diagonal[r];
                    matrix[row + count] = -u[r];
                }
            }
            if !active.slides {
                continue;
            }
            let speed = u[1].hypot(u[2]);
            if speed < 1e-14 || block.impulse[0] <= 0.0 {
                return false;
            }
            let (e1, e2, s) = (u[1] / speed, u[2] / speed, speed / block.impulse[0]);
            let (first, second) = ((active.row + 1) * width, (active.row + 2) * width);
            for c in 0..count {
                let (x, y) = (matrix[first + c], matrix[second + c]);
                let along = e1 * x + e2 * y;
                matrix[first + c] = x - e1 * along;
                matrix[second + c] = y - e2 * along;
            }
            matrix[first + active.row + 1] += s;
            matrix[second + active.row + 2] += s;
            matrix[first + active.row] += s * e1;
            matrix[second + active.row] += s * e2;
            matrix[first + count] = -s * (block.impulse[1] + block.impulse[0] * e1);
            matrix[second + count] = -s * (block.impulse[2] + block.impulse[0] * e2);
        }
        true
    }

    /// The change of the impulses of a block.
    fn change(&self, active: &ActiveRow, count: usize) -> [f64; 3] {
        let at = |r: usize| if r < active.count { self.matrix[(active.row + r) * (count + 1) + count] } else { 0.0 };
        [at(0), at(1), at(2)]
    }

    /// The length of the step until the first block reaches a bound. A block that is at its bound already does not count.
    fn step_length(&self, problem: &Problem, count: usize) -> f64 {
        let mut length = 1.0f64;
        for active in &self.rows {
            let block = &problem.blocks[active.block];
            length = length.min(length_to_bound(block, self.change(active, count), active));
        }
        if length < 1e-6 { 1.0 } else { (length * (1.0 + 1e-9)).min(1.0) }
    }

    /// Takes the step that was found, and projects impulses that leave their bounds back.
    pub(super) fn apply(&self, problem: &mut Problem, step_length: f64) {
        let count = self.count;
        for active in &self.rows {
            let change = self.change(active, count);
            let radius = problem.disc_radius(problem.blocks[active.block].law);
            let block = &mut problem.blocks[active.block];
            for c in 0..3 {
                block.impulse[c] += step_length * change[c];
            }
            block.bring_into_bounds(radius);
        }
        problem.sum_up();
    }
}

fn length_to_bound(block: &Block, change: [f64; 3], active: &ActiveRow) -> f64 {
    let l = block.impulse;
    match block.law {
        Law::Disc { .. } => 1.0,
        Law::Interval { low, high } => {
            let end = l[0] + change[0];
            if end > high {
                (high - l[0]) / change[0]
            } else if end < low {
                (low - l[0]) / change[0]
            } else {
                1.0
            }
        }
        Law::Cone => {
            let normal = if l[0] + change[0] < 0.0 { l[0] / -change[0] } else { 1.0 };
            if active.slides || active.count < 3 { normal } else { normal.min(length_to_cone(l, change)) }
        }
    }
}

/// The x at which l + x d leaves the unit cone: |l_t + x d_t|² = (l_n + x d_n)².
fn length_to_cone(l: [f64; 3], d: [f64; 3]) -> f64 {
    let a = d[1] * d[1] + d[2] * d[2] - d[0] * d[0];
    let b = l[1] * d[1] + l[2] * d[2] - l[0] * d[0];
    let c = l[1] * l[1] + l[2] * l[2] - l[0] * l[0];
    if a + 2.0 * b + c <= 0.0 {
        return 1.0;
    }
    let root = (b * b - a * c).max(0.0).sqrt();
    let length = if a.abs() < 1e-300 {
        -c / (2.0 * b)
    } else if b > 0.0 {
        -c / (b + root)
    } else {
        (root - b) / a
    };
    if length >= 0.0 { length } else { 1.0 }
}

/// Gaussian elimination with partial pivoting; the solution replaces the last column. False if it is singular or
/// not finite.
pub(super) fn eliminate(matrix: &mut [f64], count: usize) -> bool {
    let width = count + 1;
    for c in 0..count {
        let mut pivot = c;
        for r in c + 1..count {
            if matrix[r * width + c].abs() > matrix[pivot * width + c].abs() {
                pivot = r;
            }
        }
        if !(matrix[pivot * width + c].abs() > 1e-300) {
            return false;
        }
        if pivot != c {
            for k in 0..width {
                matrix.swap(c * width + k, pivot * width + k);
            }
        }
        let (top, below) = matrix.split_at_mut((c + 1) * width);
        let pivot_row = &top[c * width..];
        let reciprocal = 1.0 / pivot_row[c];
        for row in below.chunks_exact_mut(width) {
            let factor = row[c] * reciprocal;
            if factor != 0.0 {
                for (entry, above) in row[c..].iter_mut().zip(&pivot_row[c..]) {
                    *entry -= factor * above;
                }
            }
        }
    }
    for r in (0..count).rev() {
        let mut sum = matrix[r * width + count];
        for c in r + 1..count {
            sum -= matrix[r * width + c] * matrix[c * width + count];
        }
        matrix[r * width + count] = sum / matrix[r * width + r];
    }
    (0..count).all(|r| matrix[r * width + count].is_finite())
}
