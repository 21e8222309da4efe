//! Equations of motion of a tree, M(q) dv/dt + b(q, v) = tau: composite rigid bodies for M, recursive Newton-Euler for
//! b and for the joint reactions (Featherstone 2008, chapters 5, 6 and 8).

use bevy_math::DVec3;
use simpartner_model::FreeAxis;

use crate::engine::{
    algebra::spatial::{Spatial, SpatialInertia},
    state::{
        link::{Link, LinkJoint},
        tree::{Topology, Tree},
        workspace::{LinkWork, Work},
    },
};

/// Relative difference between reactions and efforts that rounding (1e-16 times the condition of a mass matrix) does
/// not explain.
pub(crate) const MAX_IMBALANCE: f64 = 1e-6;

impl Tree {
    /// Computes the links at the present coordinates, their axes, and their velocities at `work.bias_velocity`:
    /// everything that the contact search needs.
    pub(crate) fn set_motion(&mut self) {
        let (topology, state, work) = (&self.topology, &self.state, &mut self.work);
        work.origin = state.root_position;
        state.set_half_angles(&mut work.turns, topology.free_axes());
        let (links, axes, v, turns) =
            (&mut work.links[..], &mut work.axis[..], &work.bias_velocity[..], &work.turns[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            match link.joint {
                hinge @ LinkJoint::Revolute(_) => own.set_motion(hinge, link, parent, state, turns, (axes, v)),
                other => own.set_motion(other, link, parent, state, turns, (axes, v)),
            }
        }
        self.sum_external_wrenches();
    }

    /// Computes the equations of motion after [`Tree::set_motion`], in one pass from the root outwards and one back:
    /// link inertias, the mass matrix by the composite-rigid-body algorithm, and the bias by recursive Newton-Euler
    /// without acceleration. Afterwards each link's `force` is the wrench that its joint transmits for the bias.
    pub(crate) fn set_mass_and_bias(&mut self, gravity: DVec3) {
        // A free body conserves its angular momentum during the drift.
        let single = self.is_single_body();
        let (topology, work) = (&self.topology, &mut self.work);
        let origin = work.origin;
        let (links, axes, v) = (&mut work.links[..], &work.axis[..], &work.bias_velocity[..]);
        for (own, link) in links.iter_mut().zip(&topology.links) {
            let inertia = SpatialInertia::new(link.mass, link.principal, own.position - origin, &own.matrix);
            (own.inertia, own.composite) = (inertia, inertia);
        }
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            match link.joint {
                hinge @ LinkJoint::Revolute(_) => own.set_bias_force(hinge, link, parent, (axes, v), gravity, single),
                other => own.set_bias_force(other, link, parent, (axes, v), gravity, single),
            }
        }
        self.subtract_external_wrenches();
        let (topology, work) = (&self.topology, &mut self.work);
        let (links, axes) = (&mut work.links[..], &work.axis[..]);
        let mut rows = Rows::new(topology, axes, &mut work.bias, &mut work.mass);
        for (index, link) in topology.links.iter().enumerate().rev() {
            let (before, rest) = links.split_at_mut(index);
            let own = &rest[0];
            match link.joint {
                LinkJoint::Revolute(_) => rows.set_dof(link.dof, own),
                LinkJoint::Free => {
                    set_components(link, own.force, axes, rows.bias);
                    rows.set_root(own);
                }
                joint => (link.dof..link.dof + joint.freedom()).for_each(|dof| rows.set_dof(dof, own)),
            }
            if let Some(parent) = link.parent {
                before[parent].force += own.force;
                before[parent].composite += own.composite;
            }
        }
    }

    /// Computes the bias alone at another velocity than [`Tree::set_motion`], and the velocities of the links at it.
    pub(crate) fn set_bias(&mut self, gravity: DVec3) {
        let single = self.is_single_body();
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = work.links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.velocity = link_velocity(link, parent, &work.axis, &work.bias_velocity);
            own.set_bias_force(link.joint, link, parent, (&work.axis, &work.bias_velocity), gravity, single);
        }
        self.subtract_external_wrenches();
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate().rev() {
            let force = work.links[index].force;
            set_components(link, force, &work.axis, &mut work.bias);
            if let Some(parent) = link.parent {
                work.links[parent].force += force;
            }
        }
    }

    /// Adds the wrenches that joints transmit for an acceleration, minus the external forces, to the `force` of the
    /// links, which have those for the bias: the equations are linear in both. `told` receives each joint's reaction
    /// with a reference to that of the substep.
    ///
    /// The component of a joint's wrench along an axis must equal the efforts there, `loads`. `work.imbalance` is the
    /// largest relative difference, if that may be more than [`MAX_IMBALANCE`].
    pub(crate) fn add_to_forces(
        &mut self,
        acceleration: &[f64],
        loads: &[[f64; 3]],
        told: impl Fn(&mut Spatial, Spatial),
    ) {
        let topology = &self.topology;
        let Work { links, axis: axes, substep_reactions, origin, imbalance, .. } = &mut self.work;
        let (links, axes, loads) = (&mut links[..], &axes[..topology.freedom], &loads[..topology.freedom]);
        let reactions = &mut substep_reactions[..topology.links.len()];
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.acceleration = match (parent, link.joint) {
                (None, LinkJoint::Free) => Self::root_motion(acceleration),
                (None, _) => Spatial::ZERO,
                (Some(parent), _) => parent.acceleration + relative_motion(link.joint, link.dof, axes, acceleration),
            };
            own.external = own.inertia.times(own.acceleration) - own.external;
        }
        let mut most = *imbalance;
        let mut compare = |dof: usize, force: Spatial| {
            let (axis, [motor, stop, passive]) = (axes[dof], loads[dof]);
            let off = (axis.dot(force) - (motor + stop + passive)).abs();
            // The size is larger than 1, so the relative difference is smaller.
            if !(off <= MAX_IMBALANCE) {
                let size = 1.0 + motor.abs() + stop.abs() + passive.abs() + force.linear().abs().element_sum();
                most = if off <= most * size { most } else { off / size };
            }
        };
        for (index, link) in topology.links.iter().enumerate().rev() {
            let external = links[index].external;
            links[index].force += external;
            let force = links[index].force;
            match link.joint {
                LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => compare(link.dof, force),
                LinkJoint::Spherical { .. } => (link.dof..link.dof + 3).for_each(|dof| compare(dof, force)),
                LinkJoint::Free | LinkJoint::Weld => {}
            }
            told(&mut reactions[index], links[index].reaction(link, links, *origin));
            if let Some(parent) = link.parent {
                links[parent].external += external;
            }
        }
        *imbalance = most;
    }
}

/// Velocity of a link relative to its parent.
#[inline(always)]
fn relative_motion(joint: LinkJoint, dof: usize, axes: &[Spatial], v: &[f64]) -> Spatial {
    let along = |dof: usize| axes[dof] * v[dof];
    match joint {
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => along(dof),
        LinkJoint::Spherical { .. } => along(dof) + along(dof + 1) + along(dof + 2),
        LinkJoint::Free | LinkJoint::Weld => Spatial::ZERO,
    }
}

/// Velocity of a link, from that of its parent.
#[inline(always)]
fn link_velocity(link: &Link, parent: Option<&LinkWork>, axes: &[Spatial], v: &[f64]) -> Spatial {
    match (parent, link.joint) {
        (None, LinkJoint::Free) => Tree::root_motion(v),
        (None, _) => Spatial::ZERO,
        (Some(parent), _) => parent.velocity + relative_motion(link.joint, link.dof, axes, v),
    }
}

/// Sets the components of a link's force along its degrees of freedom. The force includes those of all links beyond.
#[inline(always)]
fn set_components(link: &Link, force: Spatial, axes: &[Spatial], out: &mut [f64]) {
    match link.joint {
        LinkJoint::Free => {
            out[..3].copy_from_slice(force.linear().as_ref());
            out[3..6].copy_from_slice(force.angular().as_ref());
        }
        LinkJoint::Weld => {}
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => out[link.dof] = axes[link.dof].dot(force),
        LinkJoint::Spherical { .. } => (link.dof..link.dof + 3).for_each(|dof| out[dof] = axes[dof].dot(force)),
    }
}

impl LinkWork {
    /// Sets its acceleration under gravity without acceleration of its joint, at its velocity, and the force on it.
    #[inline(always)]
    fn set_bias_force(
        &mut self,
        joint: LinkJoint,
        link: &Link,
        parent: Option<&Self>,
        (axes, v): (&[Spatial], &[f64]),
        gravity: DVec3,
        single: bool,
    ) {
        let velocity = self.velocity;
        let acceleration = match (parent, joint) {
            // The root's rates are those of a moving point.
            (None, LinkJoint::Free) => {
                Spatial::new(DVec3::ZERO, -gravity - velocity.angular().cross(velocity.linear()))
            }
            (None, _) => Spatial::new(DVec3::ZERO, -gravity),
            (Some(parent), _) => {
                parent.acceleration + parent.velocity.cross_motion(relative_motion(joint, link.dof, axes, v))
            }
        };
        self.acceleration = acceleration;
        self.force = if single {
            Spatial::new(DVec3::ZERO, -gravity * link.mass)
        } else {
            self.inertia.times(acceleration) + velocity.cross_force(self.inertia.times(velocity))
        };
    }
}

/// Bias and rows of the mass matrix. Slices over the degrees of freedom have the same length, which is checked once.
struct Rows<'a> {
    /// True if there are no rows of the mass matrix, for long trees.
    is_long: bool,
    free: usize,
    axes: &'a [Spatial],
    laws: &'a [FreeAxis],
    starts: &'a [usize],
    depths: &'a [usize],
    chain: &'a [u32],
    bias: &'a mut [f64],
    mass: &'a mut [f64],
}

impl<'a> Rows<'a> {
    fn new(topology: &'a Topology, axes: &'a [Spatial], bias: &'a mut [f64], mass: &'a mut [f64]) -> Self {
        let freedom = topology.freedom;
        Self {
            is_long: topology.is_long(),
            free: topology.free_axes(),
            axes: &axes[..freedom],
            laws: &topology.laws[..freedom],
            starts: &topology.row[..freedom],
            depths: &topology.depth[..freedom],
            chain: &topology.chain[..mass.len()],
            bias: &mut bias[..freedom],
            mass,
        }
    }

    /// Sets the rows of a free root, from the composite inertia of all links.
    fn set_root(&mut self, own: &LinkWork) {
        if self.is_long {
            return;
        }
        for (dof, entries) in own.composite.matrix().iter().enumerate() {
            let row = self.starts[dof];
            self.mass[row..=row + dof].copy_from_slice(&entries[..=dof]);
        }
    }

    /// Sets bias and row of a degree of freedom, from the force and the inertia of all links that it moves.
    #[inline(always)]
    fn set_dof(&mut self, dof: usize, own: &LinkWork) {
        let axis = self.axes[dof];
        self.bias[dof] = axis.dot(own.force);
        if self.is_long {
            return;
        }
        let momentum = own.composite.times(axis);
        let (start, depth) = (self.starts[dof], self.depths[dof]);
        let (entries, chain) = (&mut self.mass[start..][..=depth], &self.chain[start..][..depth]);
        entries[depth] = axis.dot(momentum) + self.laws[dof].armature;
        let mut first = 0;
        if self.free > 0
            && let Some(root) = entries.first_chunk_mut::<6>()
        {
            // The free root's axes are unit vectors.
            let (force, moment) = (momentum.linear(), momentum.angular());
            *root = [force.x, force.y, force.z, moment.x, moment.y, moment.z];
            first = root.len();
        }
        for (entry, &ancestor) in entries[..depth].iter_mut().zip(chain).skip(first) {
            *entry = self.axes[ancestor as usize].dot(momentum);
        }
    }
}
