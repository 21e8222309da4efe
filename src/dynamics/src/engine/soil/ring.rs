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
    /// Visits the groups that have any node from the first to the last, with the group, what the ring has there, the
    /// numbers of its nodes, and 1 for those of them that are in between, otherwise 0. All other nodes are 0
    /// afterwards.
    #[inline(always)]
    pub(super) fn visit<G: Copy + Default>(
        &mut self,
        [first, last]: [f64; 2],
        ring: &mut [G],
        mut visit: impl FnMut(usize, &mut G, Lanes, Lanes),
    ) {
        let groups = ring.len();
        let [begin, end] = [first, last].map(|node| floor(node * (1.0 / LANES as f64)));
        let count = (end - begin + 1.0).clamp(0.0, groups as f64) as usize;
        let now = Self { first: (begin as i64).rem_euclid(groups as i64) as usize, count };
        self.clear_but(&now, ring);
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

    /// All nodes are 0.
    pub(super) fn clear<G: Copy + Default>(&mut self, ring: &mut [G]) {
        self.clear_but(&Self::default(), ring);
        *self = Self::default();
    }

    fn clear_but<G: Copy + Default>(&self, stays: &Self, ring: &mut [G]) {
        let groups = ring.len();
        let mut group = self.first;
        // How far it is behind the first that stays; a division would cost more than all the rest.
        let mut behind = if group < stays.first { group + groups - stays.first } else { group - stays.first };
        for _ in 0..self.count {
            if behind >= stays.count {
                ring[group] = G::default();
            }
            [group, behind] = [group, behind].map(|number| if number + 1 < groups { number + 1 } else { 0 });
        }
    }

    /// False for one of a ring with less groups.
    pub(super) fn fits(&self, groups: usize) -> bool {
        self.first < groups && self.count <= groups
    }
}

/// Of each lane the nodes of a ring of so many that these whole numbers and the next ones stand for.
#[derive(Clone, Copy)]
pub(super) struct Between([[usize; 2]; LANES]);

impl Between {
    #[inline(always)]
    pub(super) fn new<const COUNT: usize>(below: Lanes) -> Self {
        let first = if COUNT.is_power_of_two() {
            below
        } else {
            // Half a node on: the product is never rounded to a whole number from below.
            let count = COUNT as f64;
            below - lanes::floor((below + 0.5) * (1.0 / count)) * count
        };
        let [first, second] = lanes::whole(first).map(|first| first & (COUNT.next_power_of_two() - 1));
        let after = |node: usize| if node + 1 < COUNT { node + 1 } else { 0 };
        Self([[first, after(first)], [second, after(second)]])
    }

    /// What a ring has there.
    #[inline(always)]
    pub(super) fn of(&self, ring: &[[f64; LANES]]) -> [Lanes; 2] {
        let (nodes, [[a, b], [c, d]]) = (ring.as_flattened(), self.0);
        [Lanes::new([nodes[a], nodes[c]]), Lanes::new([nodes[b], nodes[d]])]
    }

    /// The same of a ring whose nodes have several numbers: each of them where these shares of both nodes are.
    #[inline(always)]
    pub(super) fn mix<const N: usize>(&self, ring: &[[[f64; LANES]; N]], shares: [Lanes; 2]) -> [Lanes; N] {
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

fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}
