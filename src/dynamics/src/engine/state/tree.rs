//! One kinematic tree in reduced coordinates: its links, its state, and where everything is.
//!
//! A tree hangs on a free root with six degrees of freedom (world linear velocity of its centre of mass, world angular
//! velocity) or on a body that nothing moves. Each link's frame stands in its centre of mass along its principal axes. A
//! joint with several axes is a chain of hinges and sliders over links without mass; a ball joint has three degrees of freedom, the
//! relative angular velocity along the joint's axes as the model's parent carries them ([`ball`](crate::engine::joints::ball_joint)).
//!
//! Degrees of freedom are numbered root outwards, so each one's ancestors form a chain. Matrices over a tree keep only the
//! entries of a row's ancestors, ordered by depth, the diagonal last: [`Topology::row`] says where row i starts,
//! `chain[row[i]..]` lists the ancestors. Since a row is indexed by depth, and so is every ancestor's, the factorisation in
//! `factor` runs over contiguous memory without any index.

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, FreeAxis};

pub(crate) use super::topology::{Coupling, Topology};
use super::workspace::{LinkWork, Work};
use crate::{Servo, engine::algebra::spatial::Spatial};

/// Entries of packed rows that are worked on at once.
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

/// How a link may move relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LinkJoint {
    /// A root that floats.
    Free,
    /// Not at all; as a root, a body that nothing moves.
    Weld,
    /// Turns about an axis, given in the parent's frame.
    Revolute(DVec3),
    /// Slides along an axis, given in the parent's frame.
    Prismatic(DVec3),
    /// Turns any way; the number is its place among the tree's ball joints. Its axes are carried by the link itself where the tree was walked
    /// backwards, from the model's child, otherwise by the link it hangs on.
    Spherical { number: usize, backwards: bool },
}

impl LinkJoint {
    /// Degrees of freedom.
    pub(crate) fn freedom(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Weld => 0,
            Self::Revolute(_) | Self::Prismatic(_) => 1,
            Self::Spherical { .. } => 3,
        }
    }
}

/// A rigid link.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) parent: Option<usize>,
    pub(crate) joint: LinkJoint,
    /// Its first degree of freedom.
    pub(crate) dof: usize,
    /// The joint's origin in the parent's frame and in its own.
    pub(crate) anchor_in_parent: DVec3,
    pub(crate) anchor: DVec3,
    /// `parent_from_link` at coordinate zero, and that after a turn by pi about its own axis: of a hinge,
    /// `parent_from_link` is the one times the cosine of half its angle and the other times the sine. Of a ball joint `joint_from_link` and
    /// `parent_from_joint`.
    pub(crate) turn: DQuat,
    pub(crate) half_turn: DQuat,
    pub(crate) mass: f64,
    /// Principal moments of inertia.
    pub(crate) principal: DVec3,
    /// The body it is; `None` for a link between two hinges or sliders of one joint.
    pub(crate) body: Option<BodyId>,
    /// The link that carries the joint's origin, and the point there: the model's child. It is where the reaction's moment is told
    /// about. `None` for `anchor`, which this link carries itself.
    pub(crate) origin: Option<(usize, DVec3)>,
}

/// What a snapshot holds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) root_position: DVec3,
    pub(crate) root_rotation: DQuat,
    /// Joint coordinates, of ball joints their rotation vectors; those of the free root are not used.
    pub(crate) q: Vec<f64>,
    /// How far each ball joint is turned: the joint's frame as the link carries it, in that as the link carries it that it hangs on.
    pub(crate) balls: Vec<DQuat>,
    pub(crate) v: Vec<f64>,
    /// Change of velocity in the last step, zero after an impact.
    pub(crate) last_dv: Vec<f64>,
    pub(crate) motors: Vec<Servo>,
    /// -1 or 1 for a motor at its limit.
    pub(crate) saturation: Vec<i8>,
    /// The mean rate in the last substep of each motor that gave its largest power in it, otherwise 0
    /// ([`crate::engine::joints::axis_laws::motor_at_power`]).
    pub(crate) power_means: Vec<f64>,
    /// Impulses of lower stop, upper stop, dry friction and couplings in the last step; those of a ball joint's stops are components of one
    /// vector, in place of lower stops.
    pub(crate) row_impulses: Vec<[f64; 4]>,
    /// What it has gained in all that nothing gave, and its largest kinetic energy of late, J ([`crate::engine::islands::energy_bound`]).
    pub(crate) accumulated_gain: f64,
    pub(crate) recent_max_kinetic: f64,
    /// Seconds it has been at rest.
    pub(crate) rest: f64,
    pub(crate) asleep: bool,
}

impl State {
    /// Ends its sleep.
    pub(crate) fn wake(&mut self) {
        self.asleep = false;
        self.rest = 0.0;
    }

    /// Whether it is one of the same tree.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let counts = |state: &Self| {
            let State { q, balls, v, last_dv, motors, saturation, power_means, row_impulses, .. } = state;
            let motors = [motors.len(), saturation.len(), power_means.len()];
            [q.len(), balls.len(), v.len(), last_dv.len(), row_impulses.len(), motors[0], motors[1], motors[2]]
        };
        counts(self) == counts(other)
    }
}

/// A tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) topology: Topology,
    pub(crate) state: State,
    pub(crate) work: Work,
}

impl Tree {
    /// Adds a link, `link.dof` excepted, and returns its number.
    pub(crate) fn push(&mut self, mut link: Link) -> usize {
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
        self.resize();
        index
    }

    pub(crate) fn resize(&mut self) {
        let (freedom, links, entries) = (self.topology.freedom, self.topology.links.len(), self.topology.entries());
        let (state, work) = (&mut self.state, &mut self.work);
        for numbers in [&mut state.q, &mut state.v, &mut state.last_dv, &mut state.power_means] {
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

    /// True for a single body that floats.
    #[inline]
    pub(crate) fn is_single_body(&self) -> bool {
        self.topology.links.len() == 1 && self.is_floating()
    }

    /// True for several links that nothing can move.
    pub(crate) fn is_static_structure(&self) -> bool {
        self.topology.freedom == 0 && self.topology.links.len() > 1
    }

    /// False for a tree that nothing moves, and for one that sleeps, or waits.
    #[inline]
    pub(crate) fn is_awake(&self) -> bool {
        self.topology.freedom > 0 && !self.state.asleep && !self.is_suspended()
    }

    /// Whether it is at the end of a substep that others make again.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.work.suspended_level.is_some()
    }

    /// Ends its sleep.
    pub(crate) fn wake(&mut self) {
        self.state.wake();
    }

    /// The six rates of a free root.
    #[inline]
    pub(crate) fn root_motion(v: &[f64]) -> Spatial {
        Spatial::new(DVec3::new(v[3], v[4], v[5]), DVec3::new(v[0], v[1], v[2]))
    }
}
