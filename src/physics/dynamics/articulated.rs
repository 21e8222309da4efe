//! The equations of motion of a tree, M(q) dv/dt + b(q, v) = tau: composite rigid bodies for M, recursive Newton-Euler for b
//! and for the joint reactions, M = Lᵀ D L (Featherstone 2008, chapters 5, 6 and 8).

use bevy_math::DVec3;

use super::{
    spatial::{Spatial, SpatialInertia},
    tree::{LinkJoint, Tree},
};

impl Tree {
    /// Link inertias about the common point, and the mass matrix by the composite-rigid-body algorithm.
    pub(super) fn set_mass_matrix(&mut self) {
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate() {
            let centre = work.position[index] - work.origin;
            work.inertia[index] = SpatialInertia::new(link.mass, link.principal, centre, &work.matrix[index]);
        }
        work.composite.copy_from_slice(&work.inertia);
        let free = topology.links[0].joint == LinkJoint::Free;
        for (index, link) in topology.links.iter().enumerate().rev() {
            let composite = work.composite[index];
            if let Some(parent) = link.parent {
                work.composite[parent] += composite;
            }
            for dof in link.dof..link.dof + link.joint.freedom() {
                let force = composite.times(work.axis[dof]);
                let (row, depth) = (topology.row[dof], topology.depth[dof]);
                let mut first = 0;
                if free && dof >= 6 {
                    // The free root's axes are unit vectors.
                    work.mass[row..row + 3].copy_from_slice(force.linear.as_ref());
                    work.mass[row + 3..row + 6].copy_from_slice(force.angular.as_ref());
                    first = 6;
                }
                for k in first..=depth {
                    work.mass[row + k] = work.axis[topology.chain[row + k] as usize].dot(force);
                }
                work.mass[row + depth] += topology.laws[dof].armature;
            }
        }
    }

    /// Recursive Newton-Euler without acceleration: the bias at the velocity `v` under gravity. Leaves in `work.force` what each
    /// link's joint transmits for it, and in `work.velocity` the links' velocities.
    pub(super) fn set_bias(&mut self, v: &[f64], gravity: DVec3, out: &mut [f64]) {
        // A single body keeps its angular momentum while it drifts.
        let single = self.is_single();
        let (links, work) = (&self.topology.links, &mut self.work);
        for (index, link) in links.iter().enumerate() {
            let (velocity, acceleration) = match (link.parent, link.joint) {
                (None, LinkJoint::Free) => {
                    let velocity = Self::root_motion(v);
                    // The root's rates are those of a moving point.
                    let acceleration = -gravity - velocity.angular.cross(velocity.linear);
                    (velocity, Spatial::new(DVec3::ZERO, acceleration))
                }
                (None, _) => (Spatial::ZERO, Spatial::new(DVec3::ZERO, -gravity)),
                (Some(parent), joint) => {
                    let mut relative = Spatial::ZERO;
                    for dof in link.dof..link.dof + joint.freedom() {
                        relative += work.axis[dof] * v[dof];
                    }
                    let base = work.velocity[parent];
                    (base + relative, work.acceleration[parent] + base.cross_motion(relative))
                }
            };
            work.velocity[index] = velocity;
            work.acceleration[index] = acceleration;
            let inertia = &work.inertia[index];
            work.force[index] = if single {
                Spatial::new(DVec3::ZERO, -gravity * link.mass)
            } else {
                inertia.times(acceleration) + velocity.cross_force(inertia.times(velocity))
            };
        }
        self.project_forces(out);
    }

    /// Adds to `work.force`, which holds what the joints transmit for the bias, what they transmit for an acceleration, less
    /// the external forces: the equations are linear in both.
    pub(super) fn add_to_forces(&mut self, acceleration: &[f64]) {
        let (links, work) = (&self.topology.links, &mut self.work);
        for (index, link) in links.iter().enumerate() {
            work.acceleration[index] = match (link.parent, link.joint) {
                (None, LinkJoint::Free) => Self::root_motion(acceleration),
                (None, _) => Spatial::ZERO,
                (Some(parent), joint) => {
                    let mut sum = work.acceleration[parent];
                    for dof in link.dof..link.dof + joint.freedom() {
                        sum += work.axis[dof] * acceleration[dof];
                    }
                    sum
                }
            };
            work.external[index] = work.inertia[index].times(work.acceleration[index]) - work.external[index];
        }
        for (index, link) in links.iter().enumerate().rev() {
            let force = work.external[index];
            work.force[index] += force;
            if let Some(parent) = link.parent {
                work.external[parent] += force;
            }
        }
    }

    /// The components of the links' forces along the degrees of freedom, each force with all those of the links beyond.
    fn project_forces(&mut self, out: &mut [f64]) {
        let work = &mut self.work;
        for (index, link) in self.topology.links.iter().enumerate().rev() {
            let force = work.force[index];
            if link.joint == LinkJoint::Free {
                out[..3].copy_from_slice(force.linear.as_ref());
                out[3..6].copy_from_slice(force.angular.as_ref());
            } else {
                for dof in link.dof..link.dof + link.joint.freedom() {
                    out[dof] = work.axis[dof].dot(force);
                }
            }
            if let Some(parent) = link.parent {
                work.force[parent] += force;
            }
        }
    }

    /// Factors M plus `diagonal` as Lᵀ D L. There is no fill-in, and each ancestor's row is updated over contiguous memory.
    pub(super) fn factorise(&mut self, diagonal: impl Fn(usize) -> f64) {
        let (topology, work) = (&self.topology, &mut self.work);
        work.factor.copy_from_slice(&work.mass);
        for dof in 0..topology.freedom {
            work.factor[topology.row[dof] + topology.depth[dof]] += diagonal(dof);
        }
        for dof in (0..topology.freedom).rev() {
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            // All ancestors' rows stand before this one.
            let (above, rest) = work.factor.split_at_mut(start);
            let row = &mut rest[..=depth];
            let pivot = 1.0 / row[depth];
            work.pivot[dof] = pivot;
            work.root_pivot[dof] = pivot.sqrt();
            for k in (0..depth).rev() {
                let ancestor = topology.row[topology.chain[start + k] as usize];
                let factor = row[k] * pivot;
                for (entry, own) in above[ancestor..=ancestor + k].iter_mut().zip(&row[..=k]) {
                    *entry -= factor * own;
                }
                row[k] = factor;
            }
        }
    }

    /// x ← L⁻ᵀ x.
    pub(super) fn solve_transposed(&self, x: &mut [f64]) {
        let (topology, factor) = (&self.topology, &self.work.factor);
        for dof in (0..topology.freedom).rev() {
            let value = x[dof];
            if value != 0.0 {
                let (start, depth) = (topology.row[dof], topology.depth[dof]);
                for (ancestor, l) in topology.chain[start..start + depth].iter().zip(&factor[start..start + depth]) {
                    x[*ancestor as usize] -= l * value;
                }
            }
        }
    }

    /// x ← L⁻¹ x.
    pub(super) fn solve_lower(&self, x: &mut [f64]) {
        let (topology, factor) = (&self.topology, &self.work.factor);
        for dof in 0..topology.freedom {
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            let mut sum = x[dof];
            for (ancestor, l) in topology.chain[start..start + depth].iter().zip(&factor[start..start + depth]) {
                sum -= l * x[*ancestor as usize];
            }
            x[dof] = sum;
        }
    }

    /// y ← D^(-1/2) L⁻ᵀ y for columns that live on the chain that starts at `start`: they stay on it.
    pub(super) fn whiten_chain(&self, start: usize, columns: &mut [[f64; 4]]) {
        let (topology, work) = (&self.topology, &self.work);
        for k in (0..columns.len()).rev() {
            let dof = topology.chain[start + k] as usize;
            let own = columns[k];
            let row = topology.row[dof];
            for (column, l) in columns[..k].iter_mut().zip(&work.factor[row..row + k]) {
                for c in 0..4 {
                    column[c] -= l * own[c];
                }
            }
            for c in 0..4 {
                columns[k][c] = own[c] * work.root_pivot[dof];
            }
        }
    }

    /// y ← D^(-1/2) L⁻ᵀ y for columns over the whole tree.
    pub(super) fn whiten_all(&self, columns: &mut [[f64; 4]]) {
        let (topology, work) = (&self.topology, &self.work);
        for dof in (0..topology.freedom).rev() {
            let own = columns[dof];
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            for k in 0..depth {
                let ancestor = topology.chain[start + k] as usize;
                for c in 0..4 {
                    columns[ancestor][c] -= work.factor[start + k] * own[c];
                }
            }
            for c in 0..4 {
                columns[dof][c] = own[c] * work.root_pivot[dof];
            }
        }
    }

    /// The change of velocity that whitened impulses bring: L⁻¹ D^(-1/2) w.
    pub(super) fn velocity_of(&self, whitened: &[f64], out: &mut [f64]) {
        for ((out, w), root) in out.iter_mut().zip(whitened).zip(&self.work.root_pivot) {
            *out = w * root;
        }
        self.solve_lower(out);
    }
}
