//! Nodes in a ring, two to a group, of which only those in one stretch are other than 0.

use serde::{Deserialize, Serialize};

use super::lanes::{self, LANES, Lanes, select_above};

/// The stretch of groups that may be other than 0: the first, and how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Live {
    first: usize,
    count: usize,
}

impl Live {
    /// Visits the groups that have any node from the first to the last, with the group, what the rings have there, the numbers of its
    /// nodes, and 1 for those of them that are in between, otherwise 0. All other nodes are 0 afterwards.
    #[inline(always)]
    pub(super) fn visit<const N: usize>(
        &mut self,
        [first, last]: [f64; 2],
        rings: &mut [&mut [[f64; LANES]]; N],
        mut visit: impl FnMut(usize, [&mut [f64; LANES]; N], Lanes, Lanes),
    ) {
        let groups = rings[0].len();
        let [begin, end] = [first, last].map(|node| floor(node * (1.0 / LANES as f64)));
        let count = (end - begin + 1.0).clamp(0.0, groups as f64) as usize;
        let now = Self { first: (begin as i64).rem_euclid(groups as i64) as usize, count };
        self.clear_but(&now, rings);
        *self = now;
        let (low, high) = (Lanes::splat(first - 0.5), Lanes::splat(last + 0.5));
        let mut group = now.first;
        for k in 0..count {
            let numbers = Lanes::new([0.0, 1.0]) + (begin + k as f64) * LANES as f64;
            let below = select_above(high, numbers, Lanes::ONE, Lanes::ZERO);
            let inside = select_above(numbers, low, below, Lanes::ZERO);
            visit(group, rings.each_mut().map(|ring| &mut ring[group]), numbers, inside);
            group = if group + 1 < groups { group + 1 } else { 0 };
        }
    }

    /// All nodes are 0.
    pub(super) fn clear<const N: usize>(&mut self, rings: &mut [&mut [[f64; LANES]]; N]) {
        self.clear_but(&Self::default(), rings);
        *self = Self::default();
    }

    fn clear_but<const N: usize>(&self, stays: &Self, rings: &mut [&mut [[f64; LANES]]; N]) {
        let groups = rings[0].len();
        let mut group = self.first;
        // How far it is behind the first that stays; a division would cost more than all the rest.
        let mut behind = if group < stays.first { group + groups - stays.first } else { group - stays.first };
        for _ in 0..self.count {
            if behind >= stays.count {
                rings.iter_mut().for_each(|ring| ring[group] = [0.0; LANES]);
            }
            [group, behind] = [group, behind].map(|number| if number + 1 < groups { number + 1 } else { 0 });
        }
    }

    /// False for one of a ring with less groups.
    pub(super) fn fits(&self, groups: usize) -> bool {
        self.first < groups && self.count <= groups
    }
}

/// Of each lane the nodes of rings of so many that these whole numbers and the next ones stand for.
#[derive(Clone, Copy)]
pub(super) struct Between([[usize; 2]; LANES]);

impl Between {
    #[inline(always)]
    pub(super) fn new<const COUNT: usize>(below: Lanes) -> Self {
        let count = COUNT as f64;
        // Half a node on: the product is never rounded to a whole number from below.
        let first = below - lanes::floor((below + 0.5) * (1.0 / count)) * count;
        Self(first.to_array().map(|first| {
            let first = first as i64 as usize;
            [first, if first + 1 < COUNT { first + 1 } else { 0 }]
        }))
    }

    /// What a ring has there.
    #[inline(always)]
    pub(super) fn of(&self, ring: &[[f64; LANES]]) -> [Lanes; 2] {
        let (nodes, [[a, b], [c, d]]) = (ring.as_flattened(), self.0);
        [Lanes::new([nodes[a], nodes[c]]), Lanes::new([nodes[b], nodes[d]])]
    }
}

fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}
