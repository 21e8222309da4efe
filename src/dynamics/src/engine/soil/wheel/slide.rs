//! Slides of the nodes of a wheel's rim.

use serde::{Deserialize, Serialize};

use crate::engine::soil::lanes::Lanes;

/// Slides of the nodes of a strip since their last update, m. Along the rim: a common part (`turns`), and the
/// additional ones at 0 and 90 degrees (`along`). Across the rim likewise: `aside` and `across`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Slide {
    pub(super) turns: f64,
    pub(super) along: [f64; 2],
    pub(super) aside: f64,
    pub(super) across: [f64; 2],
}

impl Slide {
    /// Slides of nodes at angles with these cosines and sines, m: along and across.
    #[inline(always)]
    pub(super) fn at_nodes(&self, [cosine, sine]: [Lanes; 2]) -> [Lanes; 2] {
        let Self { turns, along, aside, across } = *self;
        [cosine * along[0] + sine * along[1] + turns, cosine * across[0] + sine * across[1] + aside]
    }

    pub(super) fn add(&mut self, more: &Self) {
        for k in 0..2 {
            self.along[k] += more.along[k];
            self.across[k] += more.across[k];
        }
        (self.turns, self.aside) = (self.turns + more.turns, self.aside + more.aside);
    }
}
