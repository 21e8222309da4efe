//! What a step computes on the way: the workspace of a tree and of its links. No snapshot holds any of it.
//!
//! The phases of a step fill it one after the other. It is here, not with the phases, because a tree owns it and keeps its memory.

use bevy_math::DMat3;
use bevy_math::DQuat;
use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::tree::{Link, State};
use crate::{
    Wrench,
    engine::algebra::spatial::{ArticulatedInertia, Spatial, SpatialInertia},
};

/// What a step computes of a link on the way. Each begins a line of the cache, so that the same fields share lines in every link.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct LinkWork {
    /// Its pose, and the world position of its joint's origin.
    pub(crate) position: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) matrix: DMat3,
    pub(crate) anchor: DVec3,
    /// Where it was before it was last placed: at the end of a step, at its middle.
    pub(crate) middle: DVec3,
    pub(crate) velocity: Spatial,
    pub(crate) acceleration: Spatial,
    pub(crate) force: Spatial,
    /// Contact forces on it about the common point, for the reactions.
    pub(crate) external: Spatial,
    pub(crate) inertia: SpatialInertia,
    pub(crate) composite: SpatialInertia,
}

/// What a step computes on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    /// The common point of all spatial quantities: the root at the middle of the step.
    pub(crate) origin: DVec3,
    pub(crate) links: Vec<LinkWork>,
    /// Where the links are at the middle of the next step.
    pub(crate) ahead: Vec<LinkWork>,
    /// Sine and cosine of half of each coordinate where links were last placed.
    pub(crate) turns: Vec<(f64, f64)>,
    /// Spatial axis of each degree of freedom.
    pub(crate) axis: Vec<Spatial>,
    /// The mass matrix and its factor, packed rows; what a long tree has in place of them.
    pub(crate) mass: Vec<f64>,
    pub(crate) factor: Vec<f64>,
    pub(crate) long: LongTree,
    /// Reciprocals of the pivots and their square roots.
    pub(crate) pivot: Vec<f64>,
    pub(crate) root_pivot: Vec<f64>,
    pub(crate) bias: Vec<f64>,
    /// The velocity the bias was taken at; after an impact, the second of two.
    pub(crate) bias_velocity: Vec<f64>,
    /// The bias and the links' forces at the velocity before an impact.
    pub(crate) first_bias: Vec<f64>,
    pub(crate) first_force: Vec<Spatial>,
    /// Change of velocity without impulses, and that of the impulses.
    pub(crate) dv_free: Vec<f64>,
    /// Whether anything resists that is in the mass matrix beside motors and damping ([`crate::engine::equations::damping`]): h Jᵀ K J as the mass matrix
    /// is laid out, and the effort at the velocity at the start.
    pub(crate) has_damping: bool,
    pub(crate) damping: Vec<f64>,
    pub(crate) damping_effort: Vec<f64>,
    pub(crate) dv_impulse: Vec<f64>,
    pub(crate) v_free: Vec<f64>,
    pub(crate) effort: Vec<f64>,
    /// What the motors take for the coordinates at the middle of the substep, where the tree has ball joints ([`crate::engine::joints::ball_joint`]).
    pub(crate) motor_coordinates: Vec<f64>,
    /// Velocities that only move, to take out penetration.
    pub(crate) pseudo: Vec<f64>,
    /// How the links move at these, about the root where it was at the middle of the step.
    pub(crate) pseudo_twists: Vec<Spatial>,
    pub(crate) scratch: Vec<f64>,
    pub(crate) impact: bool,
    /// Whether [`Tree::step_gauss`] or [`Tree::step_free_flight`] has made the whole substep, and the memory of the former.
    pub(crate) is_complete: bool,
    pub(crate) stages: [Stage; 2],
    /// Means over the step: effort of motor, stops and the rest of each degree of freedom; reaction of each link's joint,
    /// moment about its anchor.
    pub(crate) loads: Vec<[f64; 3]>,
    pub(crate) reactions: Vec<Spatial>,
    /// The same of the last substep alone.
    pub(crate) substep_loads: Vec<[f64; 3]>,
    pub(crate) substep_reactions: Vec<Spatial>,
    /// The loads of a stage that the links' forces there must balance ([`crate::engine::gauss`]).
    pub(crate) stage_loads: Vec<[f64; 3]>,
    /// How far the reactions along the axes are from what is exerted there, as a share of it.
    pub(crate) imbalance: f64,
    /// What came in in the step and in the last substep, and the energy after it, J: the work of motors and pushes, of springs and
    /// rotors of the joints that close the island's loops, and of surfaces that yield; what taking out penetration changed.
    pub(crate) step_work: f64,
    pub(crate) substep_work: f64,
    pub(crate) energy: f64,
    /// The largest rate of any of its joints that turns, rad/s, and the body it moves.
    pub(crate) fastest_joint: (f64, Option<BodyId>),
    /// The squares of the speed of the fastest of its links' centres of mass, m²/s², of its fastest turn, rad²/s², and of how far the farthest is
    /// from the origin, m².
    pub(crate) largest_squares: [f64; 3],
    /// The kinetic part of the energy.
    pub(crate) kinetic: f64,
    /// What the last substep started from.
    pub(crate) substep_start: State,
    pub(crate) energy_at_start: f64,
    /// What pushes its links in this step.
    pub(crate) external_wrenches: Vec<ExternalWrench>,
    /// The links that these push, and their sum on each about the common point.
    pub(crate) link_wrenches: Vec<(usize, Spatial)>,
    /// Work that was spent on it in this step, in sweeps over its island's constraints.
    pub(crate) used_work: f64,
    /// What of the step's work is reserved for later parts, and what was before each of the divisions that are being made ([`crate::engine::islands::work_budget`]).
    pub(crate) reserved_work: f64,
    pub(crate) reserved_stack: Vec<f64>,
    /// First of its unknowns in its island.
    pub(crate) base: usize,
    /// In which depth of division it waits, and what for.
    pub(crate) suspended_level: Option<u32>,
    pub(crate) pending: Pending,
    /// How many parts of this step impacts have made so far.
    pub(crate) impact_count: usize,
    /// Change of the velocities in the last attempt at a substep, along which its path is taken.
    pub(crate) attempt_dv: Vec<f64>,
}

/// What remains to be made of a substep.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    /// Both halves.
    TwoHalves,
    /// Everything, with an impact after so many seconds; and the group that it is in.
    Impact { after: f64, group: usize },
}

impl LinkWork {
    /// Where its joint has its origin, which one of the tree's links carries.
    #[inline(always)]
    pub(crate) fn joint_origin(&self, joint: &Link, links: &[Self]) -> DVec3 {
        match joint.origin {
            None => self.anchor,
            Some((carrier, point)) => links[carrier].position + links[carrier].matrix * point,
        }
    }

    /// What its joint transmits, the moment about the joint's origin, where spatial quantities are about `common`.
    #[inline(always)]
    pub(crate) fn reaction(&self, joint: &Link, links: &[Self], common: DVec3) -> Spatial {
        let (angular, linear) = (self.force.angular(), self.force.linear());
        let lever = self.joint_origin(joint, links) - common;
        Spatial::new(angular - lever.cross(linear), linear)
    }
}

/// A stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stage {
    pub(crate) v: Vec<f64>,
    pub(crate) a: Vec<f64>,
    /// What springs and dampers exert.
    pub(crate) passive: Vec<f64>,
    /// Rotation vectors since the start of the step, and their rates: of the root, then of each ball joint.
    pub(crate) turns: Vec<Turn>,
    /// What [`Tree::set_motion`] and [`Tree::set_mass_and_bias`] found there.
    pub(crate) links: Vec<LinkWork>,
    pub(crate) axis: Vec<Spatial>,
    pub(crate) origin: DVec3,
}

/// How far something has turned, and the rate of that.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    pub(crate) vector: DVec3,
    pub(crate) rate: DVec3,
}

/// What only long trees have: the factor of the mass matrix, and the memory to find it and to solve with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongTree {
    /// A row for each degree of freedom.
    pub(crate) rows: Vec<LongRow>,
    /// Of each link the inertia, with all that moves freely beyond it, and the force that it takes, about its joint's origin.
    pub(crate) inertias: Vec<ArticulatedInertia>,
    pub(crate) forces: Vec<Spatial>,
    /// The accelerations of links, or the forces at degrees of freedom, while they are worked out.
    pub(crate) motions: Vec<Spatial>,
    /// The rounds in which the stages of free motion are found.
    pub(crate) mixing: Mixing,
    /// What resists the motion of links, about the common point ([`crate::engine::equations::damping`]).
    pub(crate) resistances: Vec<(usize, ArticulatedInertia)>,
}

/// One row of the factor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LongRow {
    /// The axis s and the share g, about the joint's origin.
    pub(crate) axis: Spatial,
    pub(crate) time_fraction: Spatial,
    /// The degree of freedom before it on its chain; itself if there is none.
    pub(crate) parent: usize,
    /// From the joint's origin of that to its own, m.
    pub(crate) lever: DVec3,
}

/// The memory of the rounds. x is the accelerations of both stages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mixing {
    pub(crate) x: Vec<f64>,
    /// The residual and G of the last round.
    pub(crate) residual: Vec<f64>,
    pub(crate) image: Vec<f64>,
    /// Pairs q, p, of which `count` are kept; number `next` is replaced next.
    pub(crate) pairs: Vec<[Vec<f64>; 2]>,
    pub(crate) count: usize,
    pub(crate) next: usize,
    /// Rounds of the last step.
    #[cfg(test)]
    pub(crate) rounds: usize,
}

/// A force at a point of a link, and a torque; world axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExternalWrench {
    pub(crate) link: usize,
    /// In the link's frame, m.
    pub(crate) point: DVec3,
    pub(crate) wrench: Wrench,
}

impl ExternalWrench {
    /// Its moment about a point, and its force, where its link is.
    pub(crate) fn about(&self, link: &LinkWork, origin: DVec3) -> Spatial {
        let Wrench { force, torque } = self.wrench;
        let lever = link.position + link.matrix * self.point - origin;
        Spatial::new(torque + lever.cross(force), force)
    }
}
