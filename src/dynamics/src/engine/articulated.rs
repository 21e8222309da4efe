//! The equations of motion of a tree, M(q) dv/dt + b(q, v) = tau: composite rigid bodies for M, recursive Newton-Euler for b
//! and for the joint reactions (Featherstone 2008, chapters 5, 6 and 8).

use bevy_math::DVec3;

use super::{
    spatial::{Spatial, SpatialInertia},
    tree::{Link, LinkJoint, LinkWork, Topology, Tree},
};

impl Tree {
    /// Where the links are at the present coordinates, their axes, and how they move at the velocity `work.bias_velocity`: all
    /// that is needed to see what they touch.
    pub(super) fn set_motion(&mut self) {
        let (topology, state, work) = (&self.topology, &self.state, &mut self.work);
        let origin = state.root_position;
        work.origin = origin;
        state.set_turns(&mut work.turns, topology.free_axes());
        let (links, axes, v, turns) =
            (&mut work.links[..], &mut work.axis[..], &work.bias_velocity[..], &work.turns[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.place(link, parent, state, turns);
            let relative = own.set_axes(link, parent, origin, axes, v);
            own.velocity = match parent {
                Some(parent) => parent.velocity + relative,
                None => relative,
            };
        }
        self.place_pushes();
    }

    /// The equations of motion there, after [`Tree::set_motion`], in one pass from the root outwards and one back: link
    /// inertias, the mass matrix by the composite-rigid-body algorithm, and the bias by recursive Newton-Euler without
    /// acceleration. Leaves in `work.force` what each link's joint transmits for the bias.
    pub(super) fn set_equations(&mut self, gravity: DVec3) {
        // A single body keeps its angular momentum while it drifts.
        let single = self.is_single();
        let (topology, work) = (&self.topology, &mut self.work);
        let origin = work.origin;
        let (links, axes, v) = (&mut work.links[..], &work.axis[..], &work.bias_velocity[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            let inertia = SpatialInertia::new(link.mass, link.principal, own.position - origin, &own.matrix);
            (own.inertia, own.composite) = (inertia, inertia);
            own.set_bias_force(link, parent, axes, v, gravity, single);
        }
        self.take_off_pushes();
        let (topology, work) = (&self.topology, &mut self.work);
        let (links, axes) = (&mut work.links[..], &work.axis[..]);
        let (bias, mass) = (&mut work.bias[..], &mut work.mass[..]);
        for (index, link) in topology.links.iter().enumerate().rev() {
            let (before, rest) = links.split_at_mut(index);
            let own = &rest[0];
            project(link, own.force, axes, bias);
            set_mass_rows(&own.composite, link, topology, axes, mass);
            if let Some(parent) = link.parent {
                before[parent].force += own.force;
                before[parent].composite += own.composite;
            }
        }
    }

    /// The bias alone, at another velocity than [`Tree::set_motion`] took, which the links then have.
    pub(super) fn set_bias(&mut self, gravity: DVec3) {
        let single = self.is_single();
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = work.links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.velocity = moving(link, parent, &work.axis, &work.bias_velocity);
            own.set_bias_force(link, parent, &work.axis, &work.bias_velocity, gravity, single);
        }
        self.take_off_pushes();
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate().rev() {
            let force = work.links[index].force;
            project(link, force, &work.axis, &mut work.bias);
            if let Some(parent) = link.parent {
                work.links[parent].force += force;
            }
        }
    }

    /// Adds to `work.force`, which holds what the joints transmit for the bias, what they transmit for an acceleration, less
    /// the external forces: the equations are linear in both.
    pub(super) fn add_to_forces(&mut self, acceleration: &[f64]) {
        let (topology, links, axes) = (&self.topology, &mut self.work.links[..], &self.work.axis[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.acceleration = match (parent, link.joint) {
                (None, LinkJoint::Free) => Self::root_motion(acceleration),
                (None, _) => Spatial::ZERO,
                (Some(parent), _) => parent.acceleration + relative(link, axes, acceleration),
            };
            own.external = own.inertia.times(own.acceleration) - own.external;
        }
        for (index, link) in topology.links.iter().enumerate().rev() {
            let force = links[index].external;
            links[index].force += force;
            if let Some(parent) = link.parent {
                links[parent].external += force;
            }
        }
    }
}

/// The motion of a link relative to its parent.
#[inline(always)]
fn relative(link: &Link, axes: &[Spatial], v: &[f64]) -> Spatial {
    let along = |dof: usize| axes[dof] * v[dof];
    match link.joint {
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => along(link.dof),
        LinkJoint::Spherical { .. } => along(link.dof) + along(link.dof + 1) + along(link.dof + 2),
        LinkJoint::Free | LinkJoint::Weld => Spatial::ZERO,
    }
}

/// The velocity of a link, from that of the one it hangs on.
#[inline(always)]
fn moving(link: &Link, parent: Option<&LinkWork>, axes: &[Spatial], v: &[f64]) -> Spatial {
    match (parent, link.joint) {
        (None, LinkJoint::Free) => Tree::root_motion(v),
        (None, _) => Spatial::ZERO,
        (Some(parent), _) => parent.velocity + relative(link, axes, v),
    }
}

/// The components along a link's degrees of freedom of its force, which holds those of all links beyond.
#[inline(always)]
fn project(link: &Link, force: Spatial, axes: &[Spatial], out: &mut [f64]) {
    match link.joint {
        LinkJoint::Free => {
            out[..3].copy_from_slice(force.linear.as_ref());
            out[3..6].copy_from_slice(force.angular.as_ref());
        }
        LinkJoint::Weld => {}
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => out[link.dof] = axes[link.dof].dot(force),
        LinkJoint::Spherical { .. } => (link.dof..link.dof + 3).for_each(|dof| out[dof] = axes[dof].dot(force)),
    }
}

impl LinkWork {
    /// Its part of the bias at its velocity: its acceleration under gravity and none of its joint, and the force on it.
    #[inline(always)]
    fn set_bias_force(
        &mut self,
        link: &Link,
        parent: Option<&Self>,
        axes: &[Spatial],
        v: &[f64],
        gravity: DVec3,
        single: bool,
    ) {
        let velocity = self.velocity;
        let acceleration = match (parent, link.joint) {
            // The root's rates are those of a moving point.
            (None, LinkJoint::Free) => Spatial::new(DVec3::ZERO, -gravity - velocity.angular.cross(velocity.linear)),
            (None, _) => Spatial::new(DVec3::ZERO, -gravity),
            (Some(parent), _) => parent.acceleration + parent.velocity.cross_motion(relative(link, axes, v)),
        };
        self.acceleration = acceleration;
        self.force = if single {
            Spatial::new(DVec3::ZERO, -gravity * link.mass)
        } else {
            self.inertia.times(acceleration) + velocity.cross_force(self.inertia.times(velocity))
        };
    }
}

/// The rows of the mass matrix of a link's degrees of freedom, from the inertia of all that they move.
#[inline(always)]
fn set_mass_rows(composite: &SpatialInertia, link: &Link, topology: &Topology, axes: &[Spatial], mass: &mut [f64]) {
    if link.joint == LinkJoint::Free {
        for (dof, entries) in composite.matrix().iter().enumerate() {
            let row = topology.row[dof];
            mass[row..=row + dof].copy_from_slice(&entries[..=dof]);
        }
        return;
    }
    let free = topology.links[0].joint == LinkJoint::Free;
    for dof in link.dof..link.dof + link.joint.freedom() {
        let force = composite.times(axes[dof]);
        let (row, depth) = (topology.row[dof], topology.depth[dof]);
        let (entries, chain) = (&mut mass[row..=row + depth], &topology.chain[row..=row + depth]);
        let mut first = 0;
        if free {
            // The free root's axes are unit vectors.
            entries[..3].copy_from_slice(force.linear.as_ref());
            entries[3..6].copy_from_slice(force.angular.as_ref());
            first = 6;
        }
        for (entry, &ancestor) in entries[first..].iter_mut().zip(&chain[first..]) {
            *entry = axes[ancestor as usize].dot(force);
        }
        entries[depth] += topology.laws[dof].armature;
    }
}
