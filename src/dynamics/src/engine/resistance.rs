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

use bevy_math::{DMat3, DVec3};

use super::{spatial::Spatial, tree::Tree};

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

    /// The velocity at a point and the angular velocity times a length of the link at the end of a chain, where its degrees of freedom have
    /// these velocities.
    pub(super) fn twist_at(&self, chain: Range<usize>, (point, size): (DVec3, f64), v: impl Fn(usize) -> f64) -> Six {
        let chain = &self.topology.chain[chain];
        let (mut twist, free) = (Spatial::ZERO, self.free_axes());
        if free > 0 {
            let [vx, vy, vz, wx, wy, wz] = std::array::from_fn(|k| v(chain[k] as usize));
            twist = Spatial::new(DVec3::new(wx, wy, wz), DVec3::new(vx, vy, vz));
        }
        for &dof in &chain[free..] {
            twist += self.work.axis[dof as usize] * v(dof as usize);
        }
        let (v, w) = (twist.at(point - self.work.origin), twist.angular * size);
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    /// The axes at the beginning of each chain that are unit vectors: those of a free root, along which it moves and about which it turns.
    fn free_axes(&self) -> usize {
        if self.is_free() { 6 } else { 0 }
    }

    /// Adds what resists the link at the end of a chain, for velocities at a point and angular velocities times a length. At the start of the substep
    /// they differ by `change` from the guess.
    pub(super) fn resist(
        &mut self,
        chain: Range<usize>,
        (point, size): (DVec3, f64),
        response: &Response,
        change: &Six,
        h: f64,
    ) {
        let free = self.free_axes();
        let (topology, work) = (&self.topology, &mut self.work);
        work.resists = true;
        let lever = point - work.origin;
        let [x, y, z, u, v, w] = response.wrench_at(change);
        let force = DVec3::new(x, y, z);
        let wrench = Spatial::new(DVec3::new(u, v, w) * size + lever.cross(force), force);
        let resistance = Resistance::new(response, lever, size, h);
        let (rows, chain) = (&topology.rows[chain.clone()], &topology.chain[chain]);
        for k in 0..free {
            let (force, effort) = if k < 3 {
                (resistance.along(k), wrench.linear[k])
            } else {
                (resistance.about(k - 3), wrench.angular[k - 3])
            };
            work.resistance_effort[chain[k] as usize] += effort;
            add_root(&mut work.resistance[rows[k] as usize..][..=k], force);
        }
        for k in free..chain.len() {
            let axis = work.axis[chain[k] as usize];
            work.resistance_effort[chain[k] as usize] += axis.dot(wrench);
            let force = resistance.times(axis);
            let (root, joints) = work.resistance[rows[k] as usize..][..=k].split_at_mut(free);
            add_root(root, force);
            for (entry, &other) in joints.iter_mut().zip(&chain[free..]) {
                *entry += work.axis[other as usize].dot(force);
            }
        }
    }
}

/// Adds what a wrench does along the axes of a free root, or the first of them.
#[inline(always)]
fn add_root(row: &mut [f64], wrench: Spatial) {
    let Spatial { linear, angular } = wrench;
    let along = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
    row.iter_mut().zip(&along).for_each(|(entry, along)| *entry += along);
}

/// How much less force and moment about the origin of a tree there is for each unit of velocity there and of angular velocity, times h:
/// force for velocity, force for angular velocity, moment for angular velocity.
struct Resistance([DMat3; 3]);

impl Resistance {
    /// Of a response at a place from there, with a moment over a length.
    fn new(response: &Response, lever: DVec3, size: f64, h: f64) -> Self {
        let block = |row: usize, column: usize, factor: f64| {
            let of = |j: usize| DVec3::from_array(std::array::from_fn(|i| response.matrix[column + j][row + i]));
            DMat3::from_cols(of(0), of(1), of(2)) * (factor * h)
        };
        let (first, both, second) = (block(0, 0, 1.0), block(0, 3, size), block(3, 3, size * size));
        // Turning about an axis through the origin moves the place along this.
        let turns = DMat3::from_cols(DVec3::X.cross(lever), DVec3::Y.cross(lever), DVec3::Z.cross(lever));
        let force = first * turns + both;
        Self([first, force, turns.transpose() * force + both.transpose() * turns + second])
    }

    /// The wrench for a unit of velocity along an axis of the world, and for a unit of angular velocity about it.
    fn along(&self, axis: usize) -> Spatial {
        Spatial::new(self.0[1].row(axis), self.0[0].col(axis))
    }

    fn about(&self, axis: usize) -> Spatial {
        Spatial::new(self.0[2].col(axis), self.0[1].col(axis))
    }

    fn times(&self, motion: Spatial) -> Spatial {
        let [first, force, moment] = &self.0;
        let turns = DVec3::new(
            force.x_axis.dot(motion.linear),
            force.y_axis.dot(motion.linear),
            force.z_axis.dot(motion.linear),
        );
        Spatial::new(turns + *moment * motion.angular, *first * motion.linear + *force * motion.angular)
    }
}
