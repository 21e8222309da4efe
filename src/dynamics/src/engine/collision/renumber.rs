//! New indices of shapes after an edit of the world that adds or removes bodies.

use super::{Collider, Contact, shape_model::GROUND_BITS};
use crate::engine::state::addresses::LinkAddress;

/// For each shape, and for each soil patch, its index in the next world; `None` if it is removed.
pub(crate) struct NewShapeIndices {
    pub(crate) shapes: Vec<Option<usize>>,
    pub(crate) soil_patches: Vec<Option<usize>>,
}

impl Collider {
    /// Indices of this world's shapes in `next`. `trees` has the index of each tree in the next world, `None` for a
    /// removed one. A tree that stays has the same shapes in the same order.
    pub(crate) fn new_indices(&self, next: &Self, trees: &[Option<usize>]) -> NewShapeIndices {
        let mut shapes = vec![None; self.model.geoms.len()];
        let mut soil_patches = vec![None; self.soil.len()];
        for (old, new) in trees.iter().enumerate().filter_map(|(old, new)| Some((old, (*new)?))) {
            let span = |collider: &Self, tree: usize| collider.model.starts[tree]..collider.model.starts[tree + 1];
            for (old, new) in span(self, old).zip(span(next, new)) {
                shapes[old] = Some(new);
                let parts = self.soil_patches[old].iter().zip(&next.soil_patches[new]);
                parts.filter_map(|(old, new)| Some(((*old)?, *new))).for_each(|(old, new)| soil_patches[old] = new);
            }
        }
        NewShapeIndices { shapes, soil_patches }
    }
}

impl Contact {
    /// This contact with the indices of the next world; `None` if one of its shapes or trees is removed.
    pub(crate) fn with_new_indices(&self, trees: &[Option<usize>], numbers: &NewShapeIndices) -> Option<Self> {
        let side = |side: LinkAddress| Some(LinkAddress { tree: trees[side.tree]?, ..side });
        let shape = |number: u64| numbers.shapes.get(number as usize).copied().flatten().map(|number| number as u64);
        let key = match (self.key >> 32).checked_sub(1) {
            Some(first) => ((shape(first)? + 1) << 32) | shape(self.key & 0xffff_ffff)?,
            None => (shape(self.key >> GROUND_BITS)? << GROUND_BITS) | (self.key & ((1 << GROUND_BITS) - 1)),
        };
        let soil_patch = match self.soil_patch {
            Some(soil_patch) => Some(numbers.soil_patches[soil_patch]?),
            None => None,
        };
        let a = match self.a {
            Some(a) => Some(side(a)?),
            None => None,
        };
        Some(Self { a, b: side(self.b)?, key, soil_patch, ..*self })
    }
}
