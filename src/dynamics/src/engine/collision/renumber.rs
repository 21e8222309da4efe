//! The shapes of a world among those of the world after it, in which others have come or gone.

use super::{Collider, Contact, GROUND_BITS};
use crate::engine::state::addresses::Side;

/// For each shape, and each shape's part in a soil, its number in the world after it; `None` for what is gone.
pub(crate) struct NewNumbers {
    pub(crate) shapes: Vec<Option<usize>>,
    pub(crate) prints: Vec<Option<usize>>,
}

impl Collider {
    /// The numbers that shapes have in `next`, where each tree is this one, or gone. A tree that stays has the same shapes in the same order.
    pub(crate) fn numbers_in(&self, next: &Self, trees: &[Option<usize>]) -> NewNumbers {
        let mut shapes = vec![None; self.model.geoms.len()];
        let mut prints = vec![None; self.soil.len()];
        for (old, new) in trees.iter().enumerate().filter_map(|(old, new)| Some((old, (*new)?))) {
            let span = |collider: &Self, tree: usize| collider.model.starts[tree]..collider.model.starts[tree + 1];
            for (old, new) in span(self, old).zip(span(next, new)) {
                shapes[old] = Some(new);
                let parts = self.prints[old].iter().zip(&next.prints[new]);
                parts.filter_map(|(old, new)| Some(((*old)?, *new))).for_each(|(old, new)| prints[old] = new);
            }
        }
        NewNumbers { shapes, prints }
    }
}

impl Contact {
    /// This contact between the shapes and trees of these numbers; `None` if one of them is gone.
    pub(crate) fn renumbered(&self, trees: &[Option<usize>], numbers: &NewNumbers) -> Option<Self> {
        let side = |side: Side| Some(Side { tree: trees[side.tree]?, ..side });
        let shape = |number: u64| numbers.shapes.get(number as usize).copied().flatten().map(|number| number as u64);
        let key = match (self.key >> 32).checked_sub(1) {
            Some(first) => ((shape(first)? + 1) << 32) | shape(self.key & 0xffff_ffff)?,
            None => (shape(self.key >> GROUND_BITS)? << GROUND_BITS) | (self.key & ((1 << GROUND_BITS) - 1)),
        };
        let print = match self.print {
            Some(print) => Some(numbers.prints[print]?),
            None => None,
        };
        let a = match self.a {
            Some(a) => Some(side(a)?),
            None => None,
        };
        Some(Self { a, b: side(self.b)?, key, print, ..*self })
    }
}
