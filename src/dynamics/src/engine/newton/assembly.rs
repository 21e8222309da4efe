//! The coefficients of Newton's equations: products of the columns of blocks, added up tree by tree.

use super::Side;
use crate::engine::{
    elimination::{Elimination, LOOSE},
    problem::Problem,
};

impl Elimination {
    /// Adds the derivatives of what the impulse of a block moves by what moves another block, or the same: the impulse falls by
    /// `slope` with the other's velocity.
    pub(super) fn add(&mut self, problem: &Problem, sides: &[Side; 2], others: &[Side; 2], slope: &[[f64; 3]; 3]) {
        // Filled where they stand: moved, they cost as much as the products.
        let mut rows = [Rows::default(); 2];
        others.iter().zip(&mut rows).for_each(|(side, rows)| side.fill(rows, problem));
        for of in sides.iter().filter(|side| side.from < side.to) {
            for (by, rows) in others.iter().zip(&rows).filter(|(side, _)| side.from < side.to) {
                let block = self.block(of.tree, by.tree);
                let entries = &mut self.entries[block..];
                if of.is_loose && by.is_loose {
                    add_loose(entries, &problem.columns[of.from..of.to], rows, slope);
                } else {
                    add_any(entries, problem, [of, by], slope);
                }
            }
        }
    }
}

/// The columns of a loose body, one row of the block after the other.
type Rows = [[f64; LOOSE]; 3];

impl Side {
    /// Fills in the columns, if they are those of a loose body.
    fn fill(&self, rows: &mut Rows, problem: &Problem) {
        let columns = if self.is_loose { &problem.columns[self.from..self.to] } else { &[] };
        for (k, y) in columns.iter().enumerate().take(LOOSE) {
            (rows[0][k], rows[1][k], rows[2][k]) = (y[0], y[1], y[2]);
        }
    }
}

/// Adds the products of the columns of two loose bodies.
fn add_loose(entries: &mut [f64], of: &[[f64; 4]], by: &Rows, slope: &[[f64; 3]; 3]) {
    for (row, y) in entries[..LOOSE * LOOSE].chunks_exact_mut(LOOSE).zip(of) {
        let z = weighted(y, slope);
        for k in 0..LOOSE {
            row[k] += z[0] * by[0][k] + z[1] * by[1][k] + z[2] * by[2][k];
        }
    }
}

fn weighted(y: &[f64; 4], slope: &[[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|c| y[0] * slope[0][c] + y[1] * slope[1][c] + y[2] * slope[2][c])
}

/// The same for any trees.
fn add_any(entries: &mut [f64], problem: &Problem, [of, by]: [&Side; 2], slope: &[[f64; 3]; 3]) {
    let columns = |side: &Side| {
        let Side { from, to, .. } = *side;
        problem.columns[from..to].iter().zip(&problem.index[from..to])
    };
    let unknowns = |side: &Side| [problem.starts[side.tree], problem.starts[side.tree + 1]];
    let (rows, [first, end]) = (unknowns(of), unknowns(by));
    let width = end - first;
    for (y, &index) in columns(of) {
        let z = weighted(y, slope);
        let row = &mut entries[place(index as usize, rows) * width..][..width];
        for (y, &index) in columns(by) {
            row[place(index as usize, [first, end])] += z[0] * y[0] + z[1] * y[1] + z[2] * y[2];
        }
    }
}

/// The place of an unknown among those of its tree, as they are eliminated. The last of a linkage come first: those of different branches
/// are coupled only by what carries both, so that what is eliminated outermost first fills in little, and its zeros are passed over.
fn place(index: usize, [first, end]: [usize; 2]) -> usize {
    if end - first == LOOSE { index - first } else { end - 1 - index }
}

/// Turns the unknowns of all trees, which start at these, to the order in which they are eliminated, or back.
pub(super) fn reorder(x: &mut [f64], starts: &[usize]) {
    for ends in starts.windows(2).filter(|ends| ends[1] - ends[0] != LOOSE) {
        x[ends[0]..ends[1]].reverse();
    }
}
