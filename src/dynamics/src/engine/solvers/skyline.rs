//! Symmetric positive definite equations over the unknowns of an island in skyline storage (Jennings 1966): each row is
//! stored from its first entry to the diagonal, and Cholesky's factor fills no more.
//!
//! Within a tree, rows are the unknowns from the last to the first. Leaves come before the root, so branches stay
//! separate, as in the factors of the mass matrix ([`crate::engine::equations::mass_and_bias`]). Trees that touch are
//! ordered near each other (Cuthill and McKee 1969). Rows are then short where each tree touches only its neighbours,
//! whatever the order of the bodies in the world.

use super::problem::{Block, Problem};
use crate::engine::algebra::elimination::dot;

/// The matrix, then its factor, with the reciprocals of the diagonal.
#[derive(Debug, Default)]
pub(crate) struct Skyline {
    /// Row of each unknown.
    rows: Vec<usize>,
    /// First column of each row, and the position in `entries` where its column zero would be.
    first: Vec<usize>,
    zero: Vec<usize>,
    entries: Vec<f64>,
    /// Sorted pairs of trees that a block couples, and start of the pairs of each tree.
    ties: Vec<(usize, usize)>,
    starts: Vec<usize>,
    /// Trees in the order of their rows.
    order: Vec<usize>,
    is_placed: Vec<bool>,
    /// A right-hand side, row by row.
    right: Vec<f64>,
}

impl Skyline {
    /// Starts a system over the unknowns of a problem, coupled by `blocks`, and lays out the entries. Returns the cost
    /// of a factorisation, in multiplications.
    pub(crate) fn begin<'a>(&mut self, problem: &'a Problem, blocks: impl Iterator<Item = &'a Block> + Clone) -> f64 {
        self.ties.clear();
        for block in blocks.clone() {
            let [(a, _), (b, _)] = problem.sides(block);
            if a != b {
                self.ties.extend([(a, b), (b, a)]);
            }
        }
        self.order_trees(problem.starts.len() - 1);
        self.rows.clear();
        self.rows.resize(problem.w.len(), 0);
        let mut row = 0;
        for &tree in &self.order {
            for unknown in (problem.starts[tree]..problem.starts[tree + 1]).rev() {
                self.rows[unknown] = row;
                row += 1;
            }
        }
        self.first.clear();
        self.first.extend(0..row);
        for block in blocks {
            let unknowns = &problem.index[block.start..block.start + block.length];
            let lowest = unknowns.iter().map(|&unknown| self.row(unknown)).min().unwrap_or(0);
            for &unknown in unknowns {
                let row = self.row(unknown);
                self.first[row] = lowest.min(self.first[row]);
            }
        }
        self.lay_out()
    }

    /// Orders the trees: each connected set from one at its border inwards.
    fn order_trees(&mut self, count: usize) {
        self.ties.sort_unstable();
        self.ties.dedup();
        self.starts.clear();
        self.starts.extend((0..=count).map(|tree| self.ties.partition_point(|&(own, _)| own < tree)));
        self.order.clear();
        self.is_placed.clear();
        self.is_placed.resize(count, false);
        for tree in 0..count {
            if !self.is_placed[tree] {
                let begin = self.order.len();
                self.order_connected(tree);
                let farthest = self.order[self.order.len() - 1];
                self.order.drain(begin..).for_each(|tree| self.is_placed[tree] = false);
                self.order_connected(farthest);
            }
        }
    }

    /// Orders a tree and all connected ones: ring after ring, in each those with the fewest neighbours first.
    fn order_connected(&mut self, tree: usize) {
        let mut next = self.order.len();
        self.order.push(tree);
        self.is_placed[tree] = true;
        while let Some(&tree) = self.order.get(next) {
            let ring = self.order.len();
            for &(_, other) in &self.ties[self.starts[tree]..self.starts[tree + 1]] {
                if !std::mem::replace(&mut self.is_placed[other], true) {
                    self.order.push(other);
                }
            }
            self.order[ring..].sort_unstable_by_key(|&tree| (self.starts[tree + 1] - self.starts[tree], tree));
            next += 1;
        }
    }

    /// Lays out the entries. Returns the cost of a factorisation, in multiplications.
    fn lay_out(&mut self) -> f64 {
        let (mut count, mut cost) = (0, 0.0);
        self.zero.clear();
        for (row, &first) in self.first.iter().enumerate() {
            // Each row before has at least one entry.
            self.zero.push(count - first);
            let length = row + 1 - first;
            count += length;
            cost += 0.5 * (length * length) as f64;
        }
        self.entries.resize(count, 0.0);
        cost
    }

    /// Sets all entries to zero.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
    }

    /// Adds Y slope Yᵀ, with the columns of a block; the slope is symmetric.
    pub(crate) fn add(&mut self, problem: &Problem, block: &Block, slope: &[[f64; 3]; 3]) {
        let range = block.start..block.start + block.length;
        let (columns, unknowns) = (&problem.columns[range.clone()], &problem.index[range]);
        for (place, (y, &unknown)) in columns.iter().zip(unknowns).enumerate() {
            let z = [0, 1, 2].map(|c| y[0] * slope[0][c] + y[1] * slope[1][c] + y[2] * slope[2][c]);
            let row = self.row(unknown);
            for (y, &unknown) in columns[..=place].iter().zip(unknowns) {
                let other = self.row(unknown);
                let at = if row > other { self.zero[row] + other } else { self.zero[other] + row };
                self.entries[at] += z[0] * y[0] + z[1] * y[1] + z[2] * y[2];
            }
        }
    }

    /// Factorises the matrix, with `shift` added to its diagonal.
    pub(crate) fn factorise(&mut self, shift: f64) {
        for row in 0..self.first.len() {
            let (first, zero) = (self.first[row], self.zero[row]);
            let (above, own) = self.entries.split_at_mut(zero + first);
            for column in first..row {
                let from = first.max(self.first[column]);
                let other = &above[self.zero[column] + from..=self.zero[column] + column];
                let (before, rest) = own.split_at_mut(column - first);
                rest[0] = (rest[0] - dot(&before[from - first..], other)) * other[column - from];
            }
            let (before, rest) = own.split_at_mut(row - first);
            // Rounding may remove more than there is, but never more than the shift.
            rest[0] = 1.0 / (rest[0] - dot(before, before) + shift).max(shift).sqrt();
        }
    }

    /// Solves for a right side over the unknowns, which the solution replaces.
    pub(crate) fn solve(&mut self, unknowns: &mut [f64]) {
        let mut right = std::mem::take(&mut self.right);
        right.clear();
        right.resize(unknowns.len(), 0.0);
        self.rows.iter().zip(&*unknowns).for_each(|(&row, x)| right[row] = *x);
        for row in 0..right.len() {
            let (first, own) = (self.first[row], self.entries_of(row));
            right[row] = (right[row] - dot(&right[first..row], own)) * own[row - first];
        }
        for row in (0..right.len()).rev() {
            let (first, own) = (self.first[row], self.entries_of(row));
            let x = right[row] * own[row - first];
            right[row] = x;
            right[first..row].iter_mut().zip(own).for_each(|(right, entry)| *right -= x * entry);
        }
        self.rows.iter().zip(unknowns).for_each(|(&row, x)| *x = right[row]);
        self.right = right;
    }

    fn entries_of(&self, row: usize) -> &[f64] {
        &self.entries[self.zero[row] + self.first[row]..=self.zero[row] + row]
    }

    fn row(&self, unknown: u32) -> usize {
        self.rows[unknown as usize]
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;
    use crate::engine::solvers::problem::Law;

    /// Sums of blocks over random unknowns, in any order: the solution satisfies every equation.
    #[test]
    fn solutions_fulfil_all_equations() {
        let mut stream = Stream::from_number(9);
        let mut next = || stream.uniform();
        let mut skyline = Skyline::default();
        for round in 0..200 {
            let count = 1 + (next() * 30.0) as usize;
            let mut problem = Problem::default();
            problem.clear(std::iter::once(count));
            let mut matrix: Vec<f64> = (0..count * count).map(|k| f64::from(k % (count + 1) == 0)).collect();
            for _ in 0..1 + (next() * 6.0) as usize {
                let start = problem.columns.len();
                for unknown in 0..u32::try_from(count).unwrap() {
                    if next() > 0.3 {
                        continue;
                    }
                    problem.columns.push([next() - 0.5, next() - 0.5, next() - 0.5, 0.0]);
                    problem.index.push(unknown);
                }
                let block = problem.block(Law::Cone, start, [0.0; 3], [0.0; 3], [0.0; 3]);
                problem.blocks.push(block);
            }
            skyline.begin(&problem, problem.blocks.iter());
            skyline.clear();
            let slope = [[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]];
            for block in &problem.blocks {
                skyline.add(&problem, block, &slope);
                let range = block.start..block.start + block.length;
                let pairs = range.clone().flat_map(|i| range.clone().map(move |k| (i, k)));
                for (i, k) in pairs {
                    let [y, z] = [i, k].map(|at| &problem.columns[at]);
                    let entry: f64 = (0..9).map(|at| y[at / 3] * slope[at / 3][at % 3] * z[at % 3]).sum();
                    matrix[problem.index[i] as usize * count + problem.index[k] as usize] += entry;
                }
            }
            skyline.factorise(1.0);
            let right: Vec<f64> = (0..count).map(|_| next() - 0.5).collect();
            let mut solution = right.clone();
            skyline.solve(&mut solution);
            for (row, right) in matrix.chunks(count).zip(&right) {
                assert!((dot(row, &solution) - right).abs() < 1e-13, "system {round}");
            }
        }
    }
}
