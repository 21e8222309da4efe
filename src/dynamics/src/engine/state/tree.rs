//! One kinematic tree in reduced coordinates: its links and its state.
//!
//! A tree has a free root with six degrees of freedom (world linear velocity of its centre of mass, world angular
//! velocity) or is attached to a fixed body. The frame of each link is at its centre of mass along its principal axes.
//! A joint with several axes is a chain of hinges and sliders over massless links. A ball joint has three degrees of
//! freedom: the relative angular velocity along the joint's axes that are fixed in the model's parent
//! ([`ball_joint`](crate::engine::joints::ball_joint)).
//!
//! Degrees of freedom are numbered from the root outwards, so the ancestors of each form a chain. Matrices over a tree
//! store only the entries of a row's ancestors, ordered by depth, the diagonal last. [`Topology::row`] says where row i
//! starts; `chain[row[i]..]` lists the ancestors. Because every row is indexed by depth, the factorisation in
//! [`mass_factor`](crate::engine::equations::mass_factor) runs over contiguous memory without any index.

use bevy_math::{DQuat, DVec3};
use simpartner_model::FreeAxis;

pub(crate) use super::topology::{Coupling, Topology};
use super::{
    link::{Link, LinkJoint},
    tree_state::State,
    workspace::{LinkWork, Work},
};
use crate::{Servo, engine::algebra::spatial::Spatial};

/// Number of entries of packed rows that are processed at once.
pub(crate) const LANES: usize = 4;

/// The spatial axes of a free root.
const FREE_AXES: [Spatial; 6] = [
    Spatial::new(DVec3::ZERO, DVec3::X),
    Spatial::new(DVec3::ZERO, DVec3::Y),
    Spatial::new(DVec3::ZERO, DVec3::Z),
    Spatial::new(DVec3::X, DVec3::ZERO),
    Spatial::new(DVec3::Y, DVec3::ZERO),
    Spatial::new(DVec3::Z, DVec3::ZERO),
];

/// A kinematic tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) topology: Topology,
    pub(crate) state: State,
    pub(crate) work: Work,
}

impl Tree {
    /// Adds a link and returns its index; `link.dof` is set here.
    pub(crate) fn push_link(&mut self, mut link: Link) -> usize {
        let topology = &mut self.topology;
        let index = topology.links.len();
        link.dof = topology.freedom;
        let mut parent = link.parent.and_then(|parent| topology.leaf[parent]);
        for _ in 0..link.joint.freedom() {
            let dof = topology.freedom;
            let row = topology.chain.len();
            topology.row.push(row);
            topology.depth.push(parent.map_or(0, |parent| topology.depth[parent] + 1));
            if let Some(parent) = parent {
                let start = topology.row[parent];
                topology.chain.extend_from_within(start..=start + topology.depth[parent]);
                topology.rows.extend_from_within(start..=start + topology.depth[parent]);
            }
            let number = |number: usize| u32::try_from(number).expect("fewer entries than memory could hold");
            topology.chain.push(number(dof));
            topology.rows.push(number(row));
            let filled = topology.chain.len().next_multiple_of(LANES);
            topology.chain.resize(filled, 0);
            topology.rows.resize(filled, 0);
            topology.laws.push(FreeAxis::default());
            topology.mover.push(index);
            topology.squares += (topology.depth[dof] + 1).pow(2);
            topology.freedom += 1;
            parent = Some(dof);
        }
        topology.leaf.push(parent);
        topology.reach.push(0.0);
        topology.add_mass(link.mass);
        let turns = |link: &Link| matches!(link.joint, LinkJoint::Revolute(_) | LinkJoint::Spherical { .. });
        topology.links.push(link);
        let free = topology.links[0].joint == LinkJoint::Free;
        topology.has_velocity_bias = topology.links.len() > 1 && (free || topology.links.iter().any(turns));
        self.resize_buffers();
        index
    }

    /// Sizes state and workspace according to the topology.
    pub(crate) fn resize_buffers(&mut self) {
        let (freedom, links, entries) =
            (self.topology.freedom, self.topology.links.len(), self.topology.packed_entry_count());
        let (state, work) = (&mut self.state, &mut self.work);
        for numbers in
            [&mut state.q, &mut state.v, &mut state.last_dv, &mut state.power_means, &mut state.holding_efforts]
        {
            numbers.resize(freedom, 0.0);
        }
        state.balls.resize(self.topology.balls.len(), DQuat::IDENTITY);
        state.motors.resize(freedom, Servo::OFF);
        state.saturation.resize(freedom, 0);
        state.row_impulses.resize(freedom, [0.0; 4]);
        for numbers in [
            &mut work.pivot,
            &mut work.root_pivot,
            &mut work.bias,
            &mut work.bias_velocity,
            &mut work.damping_effort,
            &mut work.dv_free,
            &mut work.dv_impulse,
            &mut work.v_free,
            &mut work.effort,
            &mut work.pseudo,
            &mut work.scratch,
        ] {
            numbers.resize(freedom, 0.0);
        }
        work.turns.resize(freedom, (0.0, 1.0));
        work.axis.resize(freedom, Spatial::ZERO);
        if let (true, Some(axes)) = (self.topology.free_axes() > 0, work.axis.first_chunk_mut()) {
            *axes = FREE_AXES;
        }
        work.loads.resize(freedom, [0.0; 3]);
        work.reactions.resize(links, Spatial::ZERO);
        work.substep_loads.resize(freedom, [0.0; 3]);
        work.substep_reactions.resize(links, Spatial::ZERO);
        work.mass.resize(entries, 0.0);
        work.factor.resize(entries, 0.0);
        work.damping.resize(entries, 0.0);
        work.links.resize(links, LinkWork::default());
        work.pseudo_twists.resize(links, Spatial::ZERO);
    }

    /// True if its root floats.
    #[inline]
    pub(crate) fn is_floating(&self) -> bool {
        self.topology.links[0].joint == LinkJoint::Free
    }

    /// True if it is a single floating body.
    #[inline]
    pub(crate) fn is_single_body(&self) -> bool {
        self.topology.links.len() == 1 && self.is_floating()
    }

    /// True if it has several links and cannot move.
    pub(crate) fn is_static_structure(&self) -> bool {
        self.topology.freedom == 0 && self.topology.links.len() > 1
    }

    /// False for a tree that is fixed, asleep or suspended.
    #[inline]
    pub(crate) fn is_awake(&self) -> bool {
        self.topology.freedom > 0 && !self.state.asleep && !self.is_suspended()
    }

    /// True if it is suspended at the end of a substep that others repeat.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.work.suspended_level.is_some()
    }

    /// Wakes the tree.
    pub(crate) fn wake(&mut self) {
        self.state.wake();
    }

    /// Twist of a free root with these velocities.
    #[inline]
    pub(crate) fn root_motion(v: &[f64]) -> Spatial {
        Spatial::new(DVec3::new(v[3], v[4], v[5]), DVec3::new(v[0], v[1], v[2]))
    }
}
