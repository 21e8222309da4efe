//! Outlines of faces of contact: all points that the narrow phase found, of which only a few corners become contacts
//! ([`super::narrow`]). Friction of a face that spins depends on the whole face.

use bevy_math::DVec3;

use super::hit::Hit;

/// All hits of the pairs of shapes that have more hits than contacts.
#[derive(Debug, Default)]
pub(crate) struct FaceOutlines {
    hits: Vec<Hit>,
    /// Key of each pair, in ascending order, and the end of its hits.
    pairs: Vec<(u64, usize)>,
}

impl FaceOutlines {
    pub(super) fn clear_points(&mut self) {
        self.hits.clear();
        self.pairs.clear();
    }

    /// Records the hits of a pair of shapes, whose key is above all before.
    pub(super) fn record_hits(&mut self, key: u64, hits: &[Hit]) {
        self.hits.extend_from_slice(hits);
        self.pairs.push((key, self.hits.len()));
    }

    /// Point, normal and gap of all hits of a pair; none if all of them are contacts.
    pub(crate) fn points_of(&self, key: u64) -> impl Iterator<Item = (DVec3, DVec3, f64)> + '_ {
        let found = self.pairs.binary_search_by_key(&key, |pair| pair.0).ok();
        let range = found.map_or(0..0, |place| {
            let start = place.checked_sub(1).map_or(0, |before| self.pairs[before].1);
            start..self.pairs[place].1
        });
        self.hits[range].iter().map(|hit| (hit.point, hit.normal, hit.gap))
    }
}
