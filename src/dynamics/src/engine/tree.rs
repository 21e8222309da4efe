//! One kinematic tree in reduced coordinates: its links, its state, and where everything is.
//!
//! A tree hangs on a free root with six degrees of freedom (world linear velocity of its centre of mass, world angular
//! velocity) or on a body that nothing moves. Each link's frame stands in its centre of mass along its principal axes. A
//! joint with several axes is a chain of hinges and sliders over links without mass; a ball joint has three degrees of freedom, the
//! relative angular velocity along the joint's axes as the model's parent carries them ([`ball`](super::ball)).
//!
//! Degrees of freedom are numbered root outwards, so each one's ancestors form a chain. Matrices over a tree keep only the
//! entries of a row's ancestors, ordered by depth, the diagonal last: [`Topology::row`] says where row i starts,
//! `chain[row[i]..]` lists the ancestors. Since a row is indexed by depth, and so is every ancestor's, the factorisation in
//! `factor` runs over contiguous memory without any index.

use bevy_math::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, FreeAxis, Norm};

pub(super) use super::topology::{Coupling, Topology};
use super::{
    factor::long::LongTree,
    gauss::Stage,
    push::Push,
    spatial::{Spatial, SpatialInertia, rotation_by},
    spin::turn_freely,
};
use crate::{Servo, state::rotation_vector};

/// Entries of packed rows that are worked on at once.
pub(super) const LANES: usize = 4;

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
pub(super) enum LinkJoint {
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
    pub(super) fn freedom(self) -> usize {
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
pub(super) struct Link {
    pub(super) parent: Option<usize>,
    pub(super) joint: LinkJoint,
    /// Its first degree of freedom.
    pub(super) dof: usize,
    /// The joint's origin in the parent's frame and in its own.
    pub(super) anchor_in_parent: DVec3,
    pub(super) anchor: DVec3,
    /// `parent_from_link` at coordinate zero, and that after a turn by pi about its own axis: of a hinge,
    /// `parent_from_link` is the one times the cosine of half its angle and the other times the sine. Of a ball joint `joint_from_link` and
    /// `parent_from_joint`.
    pub(super) turn: DQuat,
    pub(super) half_turn: DQuat,
    pub(super) mass: f64,
    /// Principal moments of inertia.
    pub(super) principal: DVec3,
    /// The body it is; `None` for a link between two hinges or sliders of one joint.
    pub(super) body: Option<BodyId>,
    /// The link that carries the joint's origin, and the point there: the model's child. It is where the reaction's moment is told
    /// about. `None` for `anchor`, which this link carries itself.
    pub(super) origin: Option<(usize, DVec3)>,
}

/// What a snapshot holds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) root_position: DVec3,
    pub(super) root_rotation: DQuat,
    /// Joint coordinates, of ball joints their rotation vectors; those of the free root are not used.
    pub(super) q: Vec<f64>,
    /// How far each ball joint is turned: the joint's frame as the link carries it, in that as the link carries it that it hangs on.
    pub(super) balls: Vec<DQuat>,
    pub(super) v: Vec<f64>,
    /// Change of velocity in the last step, zero after an impact.
    pub(super) last_dv: Vec<f64>,
    pub(super) motors: Vec<Servo>,
    /// -1 or 1 for a motor at its limit.
    pub(super) saturation: Vec<i8>,
    /// The mean rate in the last substep of each motor that gave its largest power in it, otherwise 0
    /// ([`super::axis::motor_at_power`]).
    pub(super) power_means: Vec<f64>,
    /// Impulses of lower stop, upper stop, dry friction and couplings in the last step; those of a ball joint's stops are components of one
    /// vector, in place of lower stops.
    pub(super) row_impulses: Vec<[f64; 4]>,
    /// What it has gained in all that nothing gave, and its largest kinetic energy of late, J ([`super::account`]).
    pub(super) gained: f64,
    pub(super) most_kinetic: f64,
    /// Seconds it has been at rest.
    pub(super) rest: f64,
    pub(super) asleep: bool,
}

impl State {
    /// Whether it is one of the same tree.
    pub(super) fn fits(&self, other: &Self) -> bool {
        let counts = |state: &Self| {
            let State { q, balls, v, last_dv, motors, saturation, power_means, row_impulses, .. } = state;
            let motors = [motors.len(), saturation.len(), power_means.len()];
            [q.len(), balls.len(), v.len(), last_dv.len(), row_impulses.len(), motors[0], motors[1], motors[2]]
        };
        counts(self) == counts(other)
    }
}

/// What a step computes of a link on the way. Each begins a line of the cache, so that the same fields share lines in every link.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct LinkWork {
    /// Its pose, and the world position of its joint's origin.
    pub(super) position: DVec3,
    pub(super) rotation: DQuat,
    pub(super) matrix: DMat3,
    pub(super) anchor: DVec3,
    /// Where it was before it was last placed: at the end of a step, at its middle.
    pub(super) middle: DVec3,
    pub(super) velocity: Spatial,
    pub(super) acceleration: Spatial,
    pub(super) force: Spatial,
    /// Contact forces on it about the common point, for the reactions.
    pub(super) external: Spatial,
    pub(super) inertia: SpatialInertia,
    pub(super) composite: SpatialInertia,
}

/// What a step computes on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// The common point of all spatial quantities: the root at the middle of the step.
    pub(super) origin: DVec3,
    pub(super) links: Vec<LinkWork>,
    /// Where the links are at the middle of the next step.
    pub(super) ahead: Vec<LinkWork>,
    /// Sine and cosine of half of each coordinate where links were last placed.
    pub(super) turns: Vec<(f64, f64)>,
    /// Spatial axis of each degree of freedom.
    pub(super) axis: Vec<Spatial>,
    /// The mass matrix and its factor, packed rows; what a long tree has in place of them.
    pub(super) mass: Vec<f64>,
    pub(super) factor: Vec<f64>,
    pub(super) long: LongTree,
    /// Reciprocals of the pivots and their square roots.
    pub(super) pivot: Vec<f64>,
    pub(super) root_pivot: Vec<f64>,
    pub(super) bias: Vec<f64>,
    /// The velocity the bias was taken at; after an impact, the second of two.
    pub(super) bias_velocity: Vec<f64>,
    /// The bias and the links' forces at the velocity before an impact.
    pub(super) first_bias: Vec<f64>,
    pub(super) first_force: Vec<Spatial>,
    /// Change of velocity without impulses, and that of the impulses.
    pub(super) dv_free: Vec<f64>,
    /// Whether anything resists that is in the mass matrix beside motors and damping ([`super::resistance`]): h Jᵀ K J as the mass matrix
    /// is laid out, and the effort at the velocity at the start.
    pub(super) resists: bool,
    pub(super) resistance: Vec<f64>,
    pub(super) resistance_effort: Vec<f64>,
    pub(super) dv_impulse: Vec<f64>,
    pub(super) v_free: Vec<f64>,
    pub(super) effort: Vec<f64>,
    /// What the motors take for the coordinates at the middle of the substep, where the tree has ball joints ([`super::ball`]).
    pub(super) motor_coordinates: Vec<f64>,
    /// Velocities that only move, to take out penetration.
    pub(super) pseudo: Vec<f64>,
    /// How the links move at these, about the root where it was at the middle of the step.
    pub(super) pseudo_motion: Vec<Spatial>,
    pub(super) scratch: Vec<f64>,
    pub(super) impact: bool,
    /// Whether [`Tree::step_freely`] or [`Tree::fly`] has made the whole substep, and the memory of the former.
    pub(super) is_free: bool,
    pub(super) stages: [Stage; 2],
    /// Means over the step: effort of motor, stops and the rest of each degree of freedom; reaction of each link's joint,
    /// moment about its anchor.
    pub(super) loads: Vec<[f64; 3]>,
    pub(super) reactions: Vec<Spatial>,
    /// The same of the last substep alone.
    pub(super) substep_loads: Vec<[f64; 3]>,
    pub(super) substep_reactions: Vec<Spatial>,
    /// The loads of a stage that the links' forces there must balance ([`super::gauss`]).
    pub(super) stage_loads: Vec<[f64; 3]>,
    /// How far the reactions along the axes are from what is exerted there, as a share of it.
    pub(super) imbalance: f64,
    /// What came in in the step and in the last substep, and the energy after it, J: the work of motors and pushes, of springs and
    /// rotors of the joints that close the island's loops, and of surfaces that yield; what taking out penetration changed.
    pub(super) motor_work: f64,
    pub(super) substep_work: f64,
    pub(super) energy: f64,
    /// The largest rate of any of its joints that turns, rad/s, and the body it moves.
    pub(super) fastest: (f64, Option<BodyId>),
    /// The squares of the speed of the fastest of its links' centres of mass, m²/s², of its fastest turn, rad²/s², and of how far the farthest is
    /// from the origin, m².
    pub(super) largest_squares: [f64; 3],
    /// The kinetic part of the energy.
    pub(super) kinetic: f64,
    /// What the last substep started from.
    pub(super) kept: State,
    pub(super) kept_energy: f64,
    /// What pushes its links in this step.
    pub(super) pushes: Vec<Push>,
    /// The links that these push, and their sum on each about the common point.
    pub(super) placed_pushes: Vec<(usize, Spatial)>,
    /// Work that was spent on it in this step, in sweeps over its island's constraints.
    pub(super) spent: f64,
    /// What of the step's work is reserved for later parts, and what was before each of the divisions that are being made ([`super::budget`]).
    pub(super) reserved: f64,
    pub(super) reserves: Vec<f64>,
    /// First of its unknowns in its island.
    pub(super) base: usize,
    /// In which depth of division it waits, and what for.
    pub(super) waits_at: Option<u32>,
    pub(super) remains: Remains,
    /// How many parts of this step impacts have made so far.
    pub(super) impacts: usize,
    /// Change of the velocities in the last attempt at a substep, along which its path is taken.
    pub(super) dv_along: Vec<f64>,
}

/// What remains to be made of a substep.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Remains {
    #[default]
    Nothing,
    /// Both halves.
    Halves,
    /// Everything, with an impact after so many seconds; and the group that it is in.
    Impact { after: f64, group: usize },
}

impl LinkWork {
    /// Where its joint has its origin, which one of the tree's links carries.
    #[inline(always)]
    pub(super) fn joint_origin(&self, joint: &Link, links: &[Self]) -> DVec3 {
        match joint.origin {
            None => self.anchor,
            Some((carrier, point)) => links[carrier].position + links[carrier].matrix * point,
        }
    }

    /// What its joint transmits, the moment about the joint's origin, where spatial quantities are about `common`.
    #[inline(always)]
    pub(super) fn reaction(&self, joint: &Link, links: &[Self], common: DVec3) -> Spatial {
        let (angular, linear) = (self.force.angular(), self.force.linear());
        let lever = self.joint_origin(joint, links) - common;
        Spatial::new(angular - lever.cross(linear), linear)
    }
}

/// A tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub(super) topology: Topology,
    pub(super) state: State,
    pub(super) work: Work,
}

impl Tree {
    /// Adds a link, `link.dof` excepted, and returns its number.
    pub(super) fn push(&mut self, mut link: Link) -> usize {
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
        topology.whirls = topology.links.len() > 1 && (free || topology.links.iter().any(turns));
        self.resize();
        index
    }

    pub(super) fn resize(&mut self) {
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
            &mut work.resistance_effort,
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
        work.resistance.resize(entries, 0.0);
        work.links.resize(links, LinkWork::default());
        work.pseudo_motion.resize(links, Spatial::ZERO);
    }

    /// True if its root floats.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.topology.links[0].joint == LinkJoint::Free
    }

    /// True for a single body that floats.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.topology.links.len() == 1 && self.is_free()
    }

    /// True for several links that nothing can move.
    pub(super) fn is_frame(&self) -> bool {
        self.topology.freedom == 0 && self.topology.links.len() > 1
    }

    /// False for a tree that nothing moves, and for one that sleeps, or waits.
    #[inline]
    pub(super) fn is_awake(&self) -> bool {
        self.topology.freedom > 0 && !self.state.asleep && !self.waits()
    }

    /// Whether it is at the end of a substep that others make again.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.work.waits_at.is_some()
    }

    /// The six rates of a free root.
    #[inline]
    pub(super) fn root_motion(v: &[f64]) -> Spatial {
        Spatial::new(DVec3::new(v[3], v[4], v[5]), DVec3::new(v[0], v[1], v[2]))
    }

    /// Moves on for `h` seconds at its velocity.
    pub(super) fn drift(&mut self, h: f64) {
        if self.is_single() {
            self.drift_single(h);
        } else {
            integrate(&self.topology, &mut self.state, None, h);
        }
    }

    /// Moves on for `h` seconds at the pseudo-velocity that takes out penetration.
    pub(super) fn drift_pseudo(&mut self, h: f64) {
        integrate(&self.topology, &mut self.state, Some(&self.work.pseudo), h);
    }

    /// Moves on for `h` seconds at the velocities `v`.
    pub(super) fn drift_at(&mut self, v: &[f64], h: f64) {
        integrate(&self.topology, &mut self.state, Some(v), h);
    }

    /// The half step of a single body turns it as one that no moment acts on. The kick then has no gyroscopic term.
    fn drift_single(&mut self, h: f64) {
        let principal = self.topology.links[0].principal;
        let state = &mut self.state;
        let before = DVec3::new(state.v[3], state.v[4], state.v[5]);
        state.root_position += DVec3::new(state.v[0], state.v[1], state.v[2]) * h;
        if before == DVec3::ZERO {
            return;
        }
        let (turned, after) = turn_freely(principal, state.root_rotation, before, h);
        state.root_rotation = turned;
        state.v[3..6].copy_from_slice(after.as_ref());
    }
}

/// Adds `h` times the velocities, or `other` instead of them, to the coordinates.
fn integrate(topology: &Topology, state: &mut State, other: Option<&[f64]>, h: f64) {
    let State { root_position, root_rotation, q, balls, v, .. } = state;
    let v = other.unwrap_or(v);
    let mut first = 0;
    if topology.links[0].joint == LinkJoint::Free {
        *root_position += DVec3::new(v[0], v[1], v[2]) * h;
        *root_rotation = (rotation_by(DVec3::new(v[3], v[4], v[5]) * h) * *root_rotation).normalized();
        first = 6;
    }
    for (q, v) in q[first..].iter_mut().zip(&v[first..]) {
        *q += h * v;
    }
    for (ball, turn) in topology.balls.iter().zip(balls) {
        *turn = ball.turned(*turn, rotation_by(DVec3::from_slice(&v[ball.dof..]) * h));
        q[ball.dof..ball.dof + 3].copy_from_slice(rotation_vector(*turn).as_ref());
    }
}
