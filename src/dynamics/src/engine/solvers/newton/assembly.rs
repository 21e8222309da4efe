//! Assembly of Newton's equations: products of the columns of blocks, summed tree by tree.

use super::block_iterate::TreeColumns;
use crate::engine::{
    algebra::elimination::{BODY_DOFS, Elimination},
    solvers::problem::Problem,
};

impl Elimination {
    /// Adds the derivatives of the sums over the trees of one block with respect to the velocities of another block, or
    /// of itself. The impulse decreases by `slope` with the other's velocity.
    pub(super) fn add_block(
        &mut self,
        problem: &Problem,
        sides: &[TreeColumns; 2],
        others: &[TreeColumns; 2],
        slope: &[[f64; 3]; 3],
    ) {
        for of in sides.iter().filter(|side| side.from < side.to) {
            for by in others.iter().filter(|side| side.from < side.to) {
                let block = self.block(of.tree, by.tree);
                add_tree_products(&mut self.entries[block..], problem, [of, by], slope);
            }
        }
    }

    /// Positions of the products of both sides with both in the coefficients.
    fn product_positions(&self, [a, b]: &[TreeColumns; 2]) -> [[usize; 2]; 2] {
        [a, b].map(|of| [a, b].map(|by| self.block(of.tree, by.tree)))
    }

    /// Adds the derivatives of a block on free bodies only with respect to its own velocity.
    pub(super) fn add_free_body(
        &mut self,
        free_body: &mut FreeBodyBlock,
        sides: &[TreeColumns; 2],
        slope: &[[f64; 3]; 3],
    ) {
        let places = *free_body.places.get_or_insert_with(|| self.product_positions(sides));
        let rows = &free_body.rows[..free_body.count];
        for (of, places) in rows.iter().zip(places) {
            let weighted = weighted_rows(of, slope);
            for (by, place) in rows.iter().zip(places) {
                add_products(&mut self.entries[place..], &weighted, by);
            }
        }
    }
}

/// The columns of a free body, one row of the block after the other.
type Rows = [[f64; BODY_DOFS]; 3];

/// A block on free bodies only: number of bodies, columns over each, and positions of their products in the
/// coefficients once known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FreeBodyBlock {
    count: usize,
    rows: [Rows; 2],
    places: Option<[[usize; 2]; 2]>,
}

impl FreeBodyBlock {
    /// Columns of a block; empty if one of its sides is a tree other than a free body.
    pub(super) fn new(sides: &[TreeColumns; 2], problem: &Problem) -> Self {
        let mut free_body = Self::default();
        for side in sides.iter().filter(|side| side.from < side.to) {
            if !side.is_free_body {
                return Self::default();
            }
            for (k, y) in problem.columns[side.from..side.to].iter().enumerate().take(BODY_DOFS) {
                (0..3).for_each(|c| free_body.rows[free_body.count][c][k] = y[c]);
            }
            free_body.count += 1;
        }
        free_body
    }

    pub(super) fn is_any(&self) -> bool {
        self.count > 0
    }

    /// The caller must call this whenever the order of elimination changes.
    pub(super) fn forget_places(&mut self) {
        self.places = None;
    }
}

/// Adds the products of the columns of two free bodies, the first of which are weighted.
fn add_products(entries: &mut [f64], of: &Rows, by: &Rows) {
    for (i, row) in entries[..BODY_DOFS * BODY_DOFS].chunks_exact_mut(BODY_DOFS).enumerate() {
        for k in 0..BODY_DOFS {
            row[k] += of[0][i] * by[0][k] + of[1][i] * by[1][k] + of[2][i] * by[2][k];
        }
    }
}

/// The columns of a free body, weighted by the slope.
fn weighted_rows(rows: &Rows, slope: &[[f64; 3]; 3]) -> Rows {
    let mut weighted = Rows::default();
    for c in 0..3 {
        for k in 0..BODY_DOFS {
            weighted[c][k] = rows[0][k] * slope[0][c] + rows[1][k] * slope[1][c] + rows[2][k] * slope[2][c];
        }
    }
    weighted
}

/// Adds the weighted products of the columns of any two trees.
fn add_tree_products(entries: &mut [f64], problem: &Problem, [of, by]: [&TreeColumns; 2], slope: &[[f64; 3]; 3]) {
    let columns = |side: &TreeColumns| {
        let TreeColumns { from, to, .. } = *side;
        problem.columns[from..to].iter().zip(&problem.index[from..to])
    };
    let unknowns = |side: &TreeColumns| [problem.starts[side.tree], problem.starts[side.tree + 1]];
    let (rows, [first, end]) = (unknowns(of), unknowns(by));
    let width = end - first;
    for (y, &index) in columns(of) {
        let z: [f64; 3] = std::array::from_fn(|c| y[0] * slope[0][c] + y[1] * slope[1][c] + y[2] * slope[2][c]);
        let row = &mut entries[elimination_position(index as usize, rows) * width..][..width];
        for (y, &index) in columns(by) {
            row[elimination_position(index as usize, [first, end])] += z[0] * y[0] + z[1] * y[1] + z[2] * y[2];
        }
    }
}

/// Position of an unknown among those of its tree in the order of elimination. The last unknowns of a linkage come
/// first: different branches are coupled only through the links that carry both, so eliminating outermost first fills
/// in little, and its zeros are skipped.
fn elimination_position(index: usize, [first, end]: [usize; 2]) -> usize {
    if end - first == BODY_DOFS { index - first } else { end - 1 - index }
}

/// Reorders the unknowns of all trees, which start at `starts`, to the order of elimination, or back.
pub(super) fn reorder(x: &mut [f64], starts: &[usize]) {
    for ends in starts.windows(2).filter(|ends| ends[1] - ends[0] != BODY_DOFS) {
        x[ends[0]..ends[1]].reverse();
    }
}
