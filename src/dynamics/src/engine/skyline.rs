//! Symmetric positive definite equations over an island's unknowns, of which each row is kept from its first entry to
//! the diagonal: a skyline (Jennings 1966). Cholesky's factor fills no more than that.
//!
//! Rows are the unknowns from the last to the first: a tree's leaves before its root, so that its branches stay apart,
//! as in the factors of its mass matrix (`articulated`).

use super::{
    elimination::dot,
    problem::{Block, Problem},
};

/// The matrix, then its factor, with the reciprocals of the diagonal.
#[derive(Debug, Default)]
pub(super) struct Skyline {
    /// Of each row, its first column, and where column zero would be.
    first: Vec<usize>,
    zero: Vec<usize>,
    entries: Vec<f64>,
}

impl Skyline {
    /// Begins anew with so many unknowns, none of which are coupled.
    pub(super) fn begin(&mut self, unknowns: usize) {
        self.first.clear();
        self.first.extend(0..unknowns);
    }

    /// Couples the unknowns of a block.
    pub(super) fn couple(&mut self, problem: &Problem, block: &Block) {
        let unknowns = &problem.index[block.start..block.start + block.length];
        let lowest = unknowns.iter().map(|&unknown| self.row(unknown)).min().unwrap_or(0);
        for &unknown in unknowns {
            let row = self.row(unknown);
            self.first[row] = lowest.min(self.first[row]);
        }
    }

    /// Finds where its entries are. Returns what a factorisation costs, in multiplications.
    pub(super) fn lay_out(&mut self) -> f64 {
        let (mut count, mut cost) = (0, 0.0);
        self.zero.clear();
        for (row, &first) in self.first.iter().enumerate() {
            // The rows before have an entry each, at least.
            self.zero.push(count - first);
            let length = row + 1 - first;
            count += length;
            cost += 0.5 * (length * length) as f64;
        }
        self.entries.resize(count, 0.0);
        cost
    }

    /// Sets all entries to zero.
    pub(super) fn clear(&mut self) {
        self.entries.fill(0.0);
    }

    /// Adds Y slope Yᵀ, with the columns of a block; the slope is symmetric.
    pub(super) fn add(&mut self, problem: &Problem, block: &Block, slope: &[[f64; 3]; 3]) {
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
    pub(super) fn factorise(&mut self, shift: f64) {
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
            // Rounding may take more than there is, never more than was added.
            rest[0] = 1.0 / (rest[0] - dot(before, before) + shift).max(shift).sqrt();
        }
    }

    /// Solves for a right side over the unknowns, which the solution replaces.
    pub(super) fn solve(&self, right: &mut [f64]) {
        right.reverse();
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
        right.reverse();
    }

    fn entries_of(&self, row: usize) -> &[f64] {
        &self.entries[self.zero[row] + self.first[row]..=self.zero[row] + row]
    }

    fn row(&self, unknown: u32) -> usize {
        self.first.len() - 1 - unknown as usize
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;
    use crate::engine::problem::Law;

    /// Sums of blocks over random unknowns, in any order: the solution fulfils every equation.
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
            skyline.begin(count);
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
                skyline.couple(&problem, &block);
                problem.blocks.push(block);
            }
            skyline.lay_out();
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
