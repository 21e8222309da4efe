//! Shapes that were found apart. How far they can have come towards each other since, by where they were and how they
//! were turned then, says whether they may be near by now; until they may, they need not be looked at, as most
//! neighbours in a heap that falls or rests. A look would find them apart again, so no result depends on what is known.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Norm;

use super::geom::Moving;

/// Part of their size that shapes must be farther apart than is asked for: far above rounding.
const SURE: f64 = 1e-6;

/// A pair of shapes, and how far apart they were at least when they were looked at.
#[derive(Debug, Clone, Copy)]
struct Clearance {
    pair: (usize, usize),
    gap: f64,
    /// From the centre of the first to that of the second, and how their links were turned.
    offset: DVec3,
    rotations: [DQuat; 2],
}

impl Clearance {
    /// How much nearer than then their surfaces can be. A point is moved by no more than twice the change of a unit
    /// quaternion for each metre from the centre.
    fn most_approach(&self, shapes: &[Moving; 2]) -> f64 {
        let turned = [0, 1].map(|k| 2.0 * (shapes[k].rotation() - self.rotations[k]).norm() * shapes[k].geom.size());
        (offset(shapes) - self.offset).norm() + turned[0] + turned[1]
    }
}

fn offset([first, second]: &[Moving; 2]) -> DVec3 {
    second.centre - first.centre
}

/// What is known of pairs, in their order.
#[derive(Debug, Default)]
pub(super) struct Clearances {
    known: Vec<Clearance>,
    /// How many of these come before the pair in question, and what the next step knows.
    before: usize,
    next: Vec<Clearance>,
}

impl Clearances {
    /// Before the pairs are looked at in their order.
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.known, &mut self.next);
        self.next.clear();
        // Both grow to the same size, since lists that double in turn have no bound.
        self.next.reserve_exact(self.known.capacity());
        self.before = 0;
    }

    /// Whether shapes are known to be farther apart than `ahead`.
    pub(super) fn parts(&mut self, pair: (usize, usize), shapes: &[Moving; 2], ahead: f64) -> bool {
        self.before += self.known[self.before..].iter().take_while(|known| known.pair < pair).count();
        let Some(known) = self.known.get(self.before).filter(|known| known.pair == pair) else { return false };
        let sizes = shapes[0].geom.size() + shapes[1].geom.size();
        let parts = known.gap - known.most_approach(shapes) > ahead + SURE * sizes;
        if parts {
            self.next.push(*known);
        }
        parts
    }

    /// Notes how far apart shapes were found to be at least.
    pub(super) fn note(&mut self, pair: (usize, usize), shapes: &[Moving; 2], gap: f64) {
        if gap > 0.0 {
            let rotations = [shapes[0].rotation(), shapes[1].rotation()];
            self.next.push(Clearance { pair, gap, offset: offset(shapes), rotations });
        }
    }
}
