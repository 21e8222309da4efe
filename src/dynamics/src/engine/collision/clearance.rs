//! Pairs of shapes that a search found apart, so that later steps can skip the search.
//!
//! The translation and rotation of both shapes since then bound how much nearer they can be. While that bound is below
//! the distance, the narrow phase skips the pair. Most neighbours in a heap that falls or rests are such pairs. A
//! search would find them apart again, so no result depends on these records.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Norm;

use super::geom::MovingShape;

/// Distance in excess of `ahead` that a pair needs to be skipped, as a fraction of the sum of its sizes: far above
/// rounding.
const ROUNDING_MARGIN: f64 = 1e-6;

/// A pair of shapes, and a lower bound of their distance at their last search, m.
#[derive(Debug, Clone, Copy)]
struct Clearance {
    pair: (usize, usize),
    gap: f64,
    /// Vector from the centre of the first shape to that of the second, m, and the rotations of their links, at that
    /// search.
    offset: DVec3,
    rotations: [DQuat; 2],
}

impl Clearance {
    /// Upper bound of the approach of the surfaces since that search, m. A rotation moves a point by at most twice the
    /// change of the unit quaternion times its distance from the centre.
    fn max_approach(&self, shapes: &[MovingShape; 2]) -> f64 {
        let turned = [0, 1].map(|k| 2.0 * (shapes[k].rotation() - self.rotations[k]).norm() * shapes[k].geom.size());
        (centre_offset(shapes) - self.offset).norm() + turned[0] + turned[1]
    }
}

fn centre_offset([first, second]: &[MovingShape; 2]) -> DVec3 {
    second.centre - first.centre
}

/// Records of pairs, sorted by pair.
#[derive(Debug, Default)]
pub(super) struct Clearances {
    known: Vec<Clearance>,
    /// Number of records before the present pair.
    before: usize,
    /// Records for the next step.
    next: Vec<Clearance>,
}

impl Clearances {
    /// Starts a step, whose pairs come in sorted order.
    pub(super) fn start_step(&mut self) {
        std::mem::swap(&mut self.known, &mut self.next);
        self.next.clear();
        // Both buffers grow to the same size: buffers that double in turn would grow without bound.
        self.next.reserve_exact(self.known.capacity());
        self.before = 0;
    }

    /// True if the last record proves that the shapes are farther apart than `ahead`, m.
    pub(super) fn prove_apart(&mut self, pair: (usize, usize), shapes: &[MovingShape; 2], ahead: f64) -> bool {
        self.before += self.known[self.before..].iter().take_while(|known| known.pair < pair).count();
        let Some(known) = self.known.get(self.before).filter(|known| known.pair == pair) else { return false };
        let sizes = shapes[0].geom.size() + shapes[1].geom.size();
        let parts = known.gap - known.max_approach(shapes) > ahead + ROUNDING_MARGIN * sizes;
        if parts {
            self.next.push(*known);
        }
        parts
    }

    /// Records a lower bound of the distance of two shapes, m.
    pub(super) fn record_gap(&mut self, pair: (usize, usize), shapes: &[MovingShape; 2], gap: f64) {
        if gap > 0.0 {
            let rotations = [shapes[0].rotation(), shapes[1].rotation()];
            self.next.push(Clearance { pair, gap, offset: centre_offset(shapes), rotations });
        }
    }
}
