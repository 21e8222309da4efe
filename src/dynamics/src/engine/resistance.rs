//! What resists the motion of a link in proportion to its velocity at the end of a substep: it goes into the mass matrix of its tree, as
//! motors and damping do.
//!
//! ```text
//! W = W_0 - K (u - u_0),  u = J (v + dv)                      the wrench on the link, near a guess u_0
//! (M + h D + h Jᵀ K J) dv = h (tau_0 - b + Jᵀ (W_0 - K (J v - u_0)))
//! ```
//!
//! J has entries only for what moves the link, which is a chain: nothing fills in.

use std::ops::Range;

use bevy_math::{DVec2, DVec3};

use super::tree::Tree;

/// A force and a moment over a length, or a velocity and an angular velocity times that length.
pub(super) type Six = [f64; 6];

/// A wrench that falls with the velocity that it meets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Response {
    /// The wrench at the guess.
    pub(super) wrench: Six,
    /// How much less of it there is for each unit of velocity: symmetric, and no direction is pushed along.
    pub(super) matrix: [Six; 6],
    /// A unit of velocity makes no larger difference than this anywhere.
    pub(super) stiffest: f64,
}

impl Response {
    /// The wrench at a velocity that differs by this from the guess.
    pub(super) fn wrench_at(&self, change: &Six) -> Six {
        let less = self.resistance(change);
        std::array::from_fn(|row| self.wrench[row] - less[row])
    }

    /// The matrix times a velocity.
    fn resistance(&self, u: &Six) -> Six {
        let mut sums = [0.0; 6];
        for (row, u) in self.matrix.iter().zip(u) {
            for (sum, entry) in sums.iter_mut().zip(row) {
                *sum += entry * u;
            }
        }
        sums
    }
}

impl Tree {
    /// Nothing resists any more.
    pub(super) fn clear_resistance(&mut self) {
        if std::mem::take(&mut self.work.resists) {
            self.work.resistance.fill(0.0);
            self.work.resistance_effort.fill(0.0);
        }
    }

    /// The chain of degrees of freedom that moves a link, as a range of [`super::tree::Topology::chain`]; `None` if there are none.
    pub(super) fn chain_of(&self, link: usize) -> Option<Range<usize>> {
        let leaf = self.topology.leaf[link]?;
        let row = self.topology.row[leaf];
        Some(row..row + self.topology.depth[leaf] + 1)
    }

    /// Appends the columns of J over a chain, for the velocity at a point and the angular velocity times a length.
    pub(super) fn add_twist_columns(&self, chain: Range<usize>, point: DVec3, size: f64, out: &mut Vec<Six>) {
        let lever = point - self.work.origin;
        let column = |linear: DVec3, angular: DVec3| {
            let (v, w) = (linear + angular.cross(lever), angular * size);
            [v.x, v.y, v.z, w.x, w.y, w.z]
        };
        let mut chain = &self.topology.chain[chain];
        if self.is_free() {
            // The free root's axes are unit vectors.
            out.extend(DVec3::AXES.map(|axis| column(axis, DVec3::ZERO)));
            out.extend(DVec3::AXES.map(|axis| column(DVec3::ZERO, axis)));
            chain = &chain[6..];
        }
        out.extend(chain.iter().map(|&dof| {
            let axis = &self.work.axis[dof as usize];
            column(axis.linear, axis.angular)
        }));
    }

    /// J times velocities.
    pub(super) fn twist_along(&self, chain: Range<usize>, columns: &[Six], v: impl Fn(usize) -> f64) -> Six {
        let mut twist = [0.0; 6];
        for (column, &dof) in columns.iter().zip(&self.topology.chain[chain]) {
            let rate = v(dof as usize);
            twist.iter_mut().zip(column).for_each(|(sum, entry)| *sum += entry * rate);
        }
        twist
    }

    /// Adds what resists the link at the end of a chain, whose velocity at the start of the substep differs by `change` from the guess.
    pub(super) fn resist(&mut self, chain: Range<usize>, columns: &[Six], response: &Response, change: &Six, h: f64) {
        let (topology, work) = (&self.topology, &mut self.work);
        work.resists = true;
        let wrench = response.wrench_at(change);
        // h K times the columns, two by two.
        let pairs = &mut work.resisted;
        pairs.clear();
        for two in columns.chunks(2) {
            let [one, other] =
                [two.first(), two.get(1)].map(|column| column.map_or([0.0; 6], |c| response.resistance(c)));
            pairs.push(std::array::from_fn(|k| DVec2::new(one[k], other[k]) * h));
        }
        let chain = chain.clone().zip(&topology.chain[chain]).zip(columns);
        for (k, ((place, &dof), column)) in chain.enumerate() {
            work.resistance_effort[dof as usize] += dot(column, &wrench);
            let row = &mut work.resistance[topology.rows[place] as usize..][..k + 1];
            for (entries, pair) in row.chunks_mut(2).zip(pairs.iter()) {
                let sum = column.iter().zip(pair).fold(DVec2::ZERO, |sum, (entry, pair)| sum + *entry * *pair);
                for (entry, sum) in entries.iter_mut().zip(sum.to_array()) {
                    *entry += sum;
                }
            }
        }
    }
}

fn dot(a: &Six, b: &Six) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
}
