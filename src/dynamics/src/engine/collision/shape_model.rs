//! The collision model: the shapes and grounds of a world, and which of them may meet.

use std::sync::Arc;

use simpartner_model::BodyId;

use super::{
    geom::{Extent, Geom},
    ground::Ground,
};

/// Bits of a contact's key for the index of its ground.
pub(super) const GROUND_BITS: u32 = 8;
/// Largest number of grounds of a world.
pub(crate) const MAX_GROUNDS: usize = 1 << GROUND_BITS;

/// The collision model: shapes and grounds.
pub(super) struct Model {
    /// Shapes, in the order of their trees.
    pub(super) geoms: Vec<Geom>,
    pub(super) extents: Vec<Extent>,
    /// Index of the first shape of each tree; one more entry ends the last tree.
    pub(super) starts: Vec<usize>,
    pub(super) grounds: Arc<[Ground]>,
    /// Pairs of bodies that never collide, sorted.
    pub(super) apart: Vec<(BodyId, BodyId)>,
    /// For each tree, true if its own shapes collide with each other.
    pub(super) self_colliding: Vec<bool>,
}

impl Model {
    /// True if two shapes may collide: they belong to different bodies, and neither filters nor the list of pairs
    /// exclude it.
    pub(super) fn may_meet(&self, one: &Geom, two: &Geom) -> bool {
        let (a, b) = (one.body, two.body);
        a != b && one.filter.meets(two.filter) && self.apart.binary_search(&(a.min(b), a.max(b))).is_err()
    }

    /// Size of the smaller shape of the contacts with this key, m.
    pub(super) fn size_at(&self, key: u64) -> f64 {
        let size =
            |index: u64| usize::try_from(index).ok().and_then(|index| self.geoms.get(index)).map_or(0.0, Geom::size);
        match (key >> 32).checked_sub(1) {
            Some(first) => size(first).min(size(key & 0xffff_ffff)),
            None => size(key >> GROUND_BITS),
        }
    }
}
