//! Damping of links: wrenches proportional to the velocity at the end of a substep. They enter the mass matrix of the
//! tree, as motors and joint damping do.
//!
//! ```text
//! W = W_0 - K (u - u_0),  u = J (v + dv)                      the wrench on the link, near a guess u_0
//! (M + h D + h Jᵀ K J) dv = h (tau_0 - b + Jᵀ (W_0 - K (J v - u_0)))
//! ```
//!
//! J has entries only for the chain that moves the link, so the matrix has no fill-in.

use std::ops::Range;

use bevy_math::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

use crate::engine::{
    algebra::spatial::{ArticulatedInertia, Spatial},
    state::tree::Tree,
};

/// Six numbers: a force, N, and a moment over a length, N; or a velocity, m/s, and an angular velocity times that
/// length, m/s.
pub(crate) type Vector6 = [f64; 6];

/// A wrench that decreases linearly with the velocity.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DampedWrench {
    /// The wrench at the guess.
    pub(crate) wrench: Vector6,
    /// Decrease of the wrench for each unit of velocity, K; positive semidefinite.
    pub(crate) matrix: Symmetric,
}

impl DampedWrench {
    /// The wrench at a velocity that differs by `change` from the guess.
    pub(crate) fn wrench_at(&self, change: &Vector6) -> Vector6 {
        let less = self.matrix.times(change);
        std::array::from_fn(|row| self.wrench[row] - less[row])
    }

    /// Adds a drag on a motion: force per unit of the mean of two velocities, N s/m. The second velocity is the guess.
    pub(crate) fn add_drag(&mut self, drag: f64, motion: &MotionSubspace, [before, after]: [&Vector6; 2]) {
        let mean = motion.project(&std::array::from_fn(|row| 0.5 * (before[row] + after[row])));
        self.wrench = std::array::from_fn(|row| self.wrench[row] - drag * mean[row]);
        let [first, second] = match *motion {
            MotionSubspace::All => [DMat3::IDENTITY; 2],
            MotionSubspace::Along(axis) => [DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z), DMat3::ZERO],
            MotionSubspace::None => return,
        };
        self.matrix.0[0] += first * (0.5 * drag);
        self.matrix.0[2] += second * (0.5 * drag);
    }
}

/// A subspace of the motion of a shape.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum MotionSubspace {
    All,
    /// Translation along a unit vector.
    Along(DVec3),
    #[default]
    None,
}

impl MotionSubspace {
    /// Part of a twist in this subspace.
    pub(crate) fn project(&self, six: &Vector6) -> Vector6 {
        let &[x, y, z, ..] = six;
        match *self {
            Self::All => *six,
            Self::Along(axis) => {
                let along = axis * axis.dot(DVec3::new(x, y, z));
                [along.x, along.y, along.z, 0.0, 0.0, 0.0]
            }
            Self::None => [0.0; 6],
        }
    }
}

/// A symmetric matrix of six rows, as blocks: force by velocity, moment by velocity, and moment by angular velocity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Symmetric([DMat3; 3]);

impl Symmetric {
    /// A matrix from its entries on the diagonal and below.
    pub(crate) fn new([[a, ..], [b, c, ..], [d, e, f, ..], fourth, fifth, sixth]: &[Vector6; 6]) -> Self {
        let ([g, h, i, j, ..], [k, l, m, n, o, _], [p, q, r, s, t, u]) = (fourth, fifth, sixth);
        let columns = |entries: [&f64; 9]| DMat3::from_cols_array(&entries.map(|&entry| entry));
        Self([
            columns([a, b, d, b, c, e, d, e, f]),
            columns([g, k, p, h, l, q, i, m, r]),
            columns([j, n, s, n, o, t, s, t, u]),
        ])
    }

    /// This matrix in the frame in which its axes are these columns.
    pub(crate) fn rotated(&self, axes: &DMat3) -> Self {
        let back = axes.transpose();
        let [first, both, second] = &self.0;
        Self([*axes * *first * back, *axes * *both * back, *axes * *second * back])
    }

    /// Product with six numbers.
    fn times(&self, &[x, y, z, u, v, w]: &Vector6) -> Vector6 {
        let [first, both, second] = &self.0;
        let (velocity, spin) = (DVec3::new(x, y, z), DVec3::new(u, v, w));
        let force = *first * velocity + both.mul_transpose_vec3(spin);
        let moment = *both * velocity + *second * spin;
        [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    }
}

impl Tree {
    /// Removes all damping.
    pub(crate) fn clear_damping(&mut self) {
        if std::mem::take(&mut self.work.has_damping) {
            self.work.damping.fill(0.0);
            self.work.long.resistances.clear();
            self.work.damping_effort.fill(0.0);
        }
    }

    /// The chain of degrees of freedom that moves a link, as a range of
    /// [`crate::engine::state::tree::Topology::chain`]; `None` if there are none.
    #[inline]
    pub(crate) fn chain_of(&self, link: usize) -> Option<Range<usize>> {
        let leaf = self.topology.leaf[link]?;
        let row = self.topology.row[leaf];
        Some(row..row + self.topology.depth[leaf] + 1)
    }

    /// Velocity of a point of the link at the end of a chain, and its angular velocity times a length, if its degrees
    /// of freedom have the velocities `v`.
    pub(crate) fn twist_at(
        &self,
        chain: Range<usize>,
        (point, size): (DVec3, f64),
        v: impl Fn(usize) -> f64,
    ) -> Vector6 {
        let (mut twist, mut chain) = (Spatial::ZERO, &self.topology.chain[chain]);
        let v = |dof: u32| v(dof as usize);
        if let Some((&[x, y, z, a, b, c], joints)) = chain.split_first_chunk().filter(|_| self.is_floating()) {
            twist = Spatial::new(DVec3::new(v(a), v(b), v(c)), DVec3::new(v(x), v(y), v(z)));
            chain = joints;
        }
        for &dof in chain {
            twist += self.work.axis[dof as usize] * v(dof);
        }
        let (v, w) = (twist.at(point - self.work.origin), twist.angular() * size);
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    /// Adds the damping of the link at the end of a chain, for velocities at a point and angular velocities times a
    /// length. At the start of the substep they differ by `change` from the guess.
    pub(crate) fn add_damping(
        &mut self,
        chain: Range<usize>,
        (point, size): (DVec3, f64),
        response: &DampedWrench,
        change: &Vector6,
        h: f64,
    ) {
        let free = self.topology.free_axes();
        let (topology, work) = (&self.topology, &mut self.work);
        work.has_damping = true;
        let lever = point - work.origin;
        let [x, y, z, u, v, w] = response.wrench_at(change);
        let force = DVec3::new(x, y, z);
        let wrench = Spatial::new(DVec3::new(u, v, w) * size + lever.cross(force), force);
        let resistance = Resistance::new(response, lever, size, h);
        if topology.is_long() {
            let chain = &topology.chain[chain];
            for &dof in chain {
                work.damping_effort[dof as usize] += work.axis[dof as usize].dot(wrench);
            }
            let last = chain.last().map(|&dof| topology.mover[dof as usize]);
            work.long.resistances.extend(last.map(|link| (link, resistance.inertia())));
            return;
        }
        let (rows, chain) = (&topology.rows[chain.clone()], &topology.chain[chain]);
        for k in 0..free {
            let (force, effort) = if k < 3 {
                (resistance.wrench_along(k), wrench.linear()[k])
            } else {
                (resistance.wrench_about(k - 3), wrench.angular()[k - 3])
            };
            work.damping_effort[chain[k] as usize] += effort;
            add_root_components(&mut work.damping[rows[k] as usize..][..=k], force);
        }
        for k in free..chain.len() {
            let axis = work.axis[chain[k] as usize];
            work.damping_effort[chain[k] as usize] += axis.dot(wrench);
            let force = resistance.times(axis);
            let (root, joints) = work.damping[rows[k] as usize..][..=k].split_at_mut(free);
            add_root_components(root, force);
            for (entry, &other) in joints.iter_mut().zip(&chain[free..]) {
                *entry += work.axis[other as usize].dot(force);
            }
        }
    }
}

/// Adds the components of a wrench along the axes of a free root, or along the first of them.
#[inline(always)]
fn add_root_components(row: &mut [f64], wrench: Spatial) {
    let (linear, angular) = (wrench.linear(), wrench.angular());
    let along = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
    row.iter_mut().zip(&along).for_each(|(entry, along)| *entry += along);
}

/// Decrease of force and moment about the origin of a tree for each unit of velocity there and of angular velocity,
/// times h: force by velocity, force by angular velocity, moment by angular velocity.
struct Resistance([DMat3; 3]);

impl Resistance {
    /// The resistance of a response at a point with this `lever` from the origin, with moments over the length `size`.
    fn new(response: &DampedWrench, lever: DVec3, size: f64, h: f64) -> Self {
        let Symmetric([first, both, second]) = &response.matrix;
        let (first, second) = (*first * h, *second * (size * size * h));
        let both = both.transpose() * (size * h);
        // Velocity of the point by a rotation about each axis through the origin.
        let turns = DMat3::from_cols(DVec3::X.cross(lever), DVec3::Y.cross(lever), DVec3::Z.cross(lever));
        let force = first * turns + both;
        Self([first, force, turns.transpose() * force + both.transpose() * turns + second])
    }

    /// This resistance as an inertia about that origin: resistance to velocities at the end of a substep adds to
    /// resistance to their change.
    fn inertia(&self) -> ArticulatedInertia {
        let [linear, force, angular] = self.0;
        ArticulatedInertia { angular, coupling: force.transpose(), linear }
    }

    /// Wrench for a unit of velocity along an axis of the world. [`Self::wrench_about`] is that for a unit of angular
    /// velocity.
    fn wrench_along(&self, axis: usize) -> Spatial {
        Spatial::new(self.0[1].row(axis), self.0[0].col(axis))
    }

    /// Wrench for a unit of angular velocity about an axis of the world.
    fn wrench_about(&self, axis: usize) -> Spatial {
        Spatial::new(self.0[2].col(axis), self.0[1].col(axis))
    }

    /// Wrench for a motion.
    fn times(&self, motion: Spatial) -> Spatial {
        let [first, force, moment] = &self.0;
        let turns = DVec3::new(
            force.x_axis.dot(motion.linear()),
            force.y_axis.dot(motion.linear()),
            force.z_axis.dot(motion.linear()),
        );
        Spatial::new(turns + *moment * motion.angular(), *first * motion.linear() + *force * motion.angular())
    }
}
