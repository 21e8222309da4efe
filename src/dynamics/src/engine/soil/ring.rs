//! Nodes in a ring, in groups of two, of which only one contiguous range is nonzero.

use serde::{Deserialize, Serialize};

use super::lanes::{self, LANES, Lanes, select_above};

/// Range of groups that may be nonzero: the first, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ActiveRange {
    first: usize,
    count: usize,
}

impl ActiveRange {
    /// Visits the groups with any node from `first` to `last`. All other nodes are zero afterwards.
    ///
    /// `visit` gets the index of the group, its entry in the ring, the numbers of its nodes, and for each node 1 if it
    /// is in the range, 0 otherwise.
    #[inline(always)]
    pub(super) fn update_nodes<G: Copy + Default>(
        &mut self,
        [first, last]: [f64; 2],
        ring: &mut [G],
        mut visit: impl FnMut(usize, &mut G, Lanes, Lanes),
    ) {
        let groups = ring.len();
        let [begin, end] = [first, last].map(|node| floor_scalar(node * (1.0 / LANES as f64)));
        let count = (end - begin + 1.0).clamp(0.0, groups as f64) as usize;
        let now = Self { first: (begin as i64).rem_euclid(groups as i64) as usize, count };
        self.clear_outside(&now, ring);
        *self = now;
        let (low, high) = (Lanes::splat(first - 0.5), Lanes::splat(last + 0.5));
        let mut group = now.first;
        for k in 0..count {
            let numbers = Lanes::new([0.0, 1.0]) + (begin + k as f64) * LANES as f64;
            let below = select_above(high, numbers, Lanes::ONE, Lanes::ZERO);
            let inside = select_above(numbers, low, below, Lanes::ZERO);
            visit(group, &mut ring[group], numbers, inside);
            group = if group + 1 < groups { group + 1 } else { 0 };
        }
    }

    /// Sets all nodes to zero.
    pub(super) fn clear_nodes<G: Copy + Default>(&mut self, ring: &mut [G]) {
        self.clear_outside(&Self::default(), ring);
        *self = Self::default();
    }

    /// Sets the groups outside of the range `stays` to zero.
    fn clear_outside<G: Copy + Default>(&self, stays: &Self, ring: &mut [G]) {
        let groups = ring.len();
        let mut group = self.first;
        // Distance in groups from the first one that stays. A division would cost more than all the rest.
        let mut behind = if group < stays.first { group + groups - stays.first } else { group - stays.first };
        for _ in 0..self.count {
            if behind >= stays.count {
                ring[group] = G::default();
            }
            [group, behind] = [group, behind].map(|number| if number + 1 < groups { number + 1 } else { 0 });
        }
    }

    /// False if the range belongs to a ring with more groups.
    pub(super) fn fits_ring(&self, groups: usize) -> bool {
        self.first < groups && self.count <= groups
    }
}

/// For each lane, the two nodes of a ring around a position: those of an integer and of the next one.
#[derive(Clone, Copy)]
pub(super) struct NodePairs([[usize; 2]; LANES]);

impl NodePairs {
    #[inline(always)]
    pub(super) fn new<const COUNT: usize>(below: Lanes) -> Self {
        let first = if COUNT.is_power_of_two() {
            below
        } else {
            // Half a node is added, so the product is never rounded below an integer.
            let count = COUNT as f64;
            below - lanes::floor((below + 0.5) * (1.0 / count)) * count
        };
        let [first, second] = lanes::to_integers(first).map(|first| first & (COUNT.next_power_of_two() - 1));
        let after = |node: usize| if node + 1 < COUNT { node + 1 } else { 0 };
        Self([[first, after(first)], [second, after(second)]])
    }

    /// Values of a ring at these nodes.
    #[inline(always)]
    pub(super) fn values(&self, ring: &[[f64; LANES]]) -> [Lanes; 2] {
        let (nodes, [[a, b], [c, d]]) = (ring.as_flattened(), self.0);
        [Lanes::new([nodes[a], nodes[c]]), Lanes::new([nodes[b], nodes[d]])]
    }

    /// Weighted sums of a ring whose nodes have several values each. `shares` are the weights of both nodes.
    #[inline(always)]
    pub(super) fn interpolate<const N: usize>(&self, ring: &[[[f64; LANES]; N]], shares: [Lanes; 2]) -> [Lanes; N] {
        let [[a, b], [c, d]] = self.0;
        let groups = [&ring[a / LANES], &ring[b / LANES], &ring[c / LANES], &ring[d / LANES]];
        let mut mixed = [Lanes::ZERO; N];
        for (n, mixed) in mixed.iter_mut().enumerate() {
            let near = Lanes::new([groups[0][n][a % LANES], groups[2][n][c % LANES]]);
            let far = Lanes::new([groups[1][n][b % LANES], groups[3][n][d % LANES]]);
            *mixed = near * shares[0] + far * shares[1];
        }
        mixed
    }
}

/// Largest integer not above x.
fn floor_scalar(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}
