//! What a step computes on the way: the workspace of a tree and of its links. No snapshot holds any of it.
//!
//! The phases of a step fill it one after the other. It is here, not with the phases, because a tree owns it and keeps
//! its memory.

use bevy_math::DMat3;
use bevy_math::DQuat;
use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::tree::{Link, State};
use crate::{
    Wrench,
    engine::algebra::spatial::{ArticulatedInertia, Spatial, SpatialInertia},
};

/// Workspace of a link. Each starts a cache line, so that the same fields share lines in every link.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct LinkWork {
    /// Pose, and world position of the joint's origin.
    pub(crate) position: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) matrix: DMat3,
    pub(crate) anchor: DVec3,
    /// Position at the midpoint of the substep.
    pub(crate) middle: DVec3,
    pub(crate) velocity: Spatial,
    pub(crate) acceleration: Spatial,
    pub(crate) force: Spatial,
    /// Contact forces about the common point, for the reactions.
    pub(crate) external: Spatial,
    pub(crate) inertia: SpatialInertia,
    pub(crate) composite: SpatialInertia,
}

/// Workspace of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    /// The common point of all spatial quantities: the root at the midpoint.
    pub(crate) origin: DVec3,
    pub(crate) links: Vec<LinkWork>,
    /// The links at the midpoint of the next substep.
    pub(crate) ahead: Vec<LinkWork>,
    /// Sine and cosine of half of each coordinate at the last update of poses.
    pub(crate) turns: Vec<(f64, f64)>,
    /// Spatial axis of each degree of freedom.
    pub(crate) axis: Vec<Spatial>,
    /// The mass matrix and its factor in packed rows; `long` takes their place in a long tree.
    pub(crate) mass: Vec<f64>,
    pub(crate) factor: Vec<f64>,
    pub(crate) long: LongTree,
    /// Reciprocals of the pivots, and their square roots.
    pub(crate) pivot: Vec<f64>,
    pub(crate) root_pivot: Vec<f64>,
    pub(crate) bias: Vec<f64>,
    /// The velocity at which the bias was evaluated; after an impact the second of two.
    pub(crate) bias_velocity: Vec<f64>,
    /// Bias and link forces at the velocity before an impact.
    pub(crate) first_bias: Vec<f64>,
    pub(crate) first_force: Vec<Spatial>,
    /// Velocity change without impulses; that of the impulses is `dv_impulse`.
    pub(crate) dv_free: Vec<f64>,
    /// Whether [`damping`](crate::engine::equations::damping) adds to the mass matrix beside motors: h Jᵀ K J in packed
    /// rows, and the effort at the initial velocity.
    pub(crate) has_damping: bool,
    pub(crate) damping: Vec<f64>,
    pub(crate) damping_effort: Vec<f64>,
    pub(crate) dv_impulse: Vec<f64>,
    pub(crate) v_free: Vec<f64>,
    pub(crate) effort: Vec<f64>,
    /// Coordinates that motors see at the midpoint, where the tree has ball joints
    /// ([`ball_joint`](crate::engine::joints::ball_joint)).
    pub(crate) motor_coordinates: Vec<f64>,
    /// Pseudo-velocities that separate overlaps.
    pub(crate) pseudo: Vec<f64>,
    /// Twists of the links at these, about the root at the midpoint.
    pub(crate) pseudo_twists: Vec<Spatial>,
    pub(crate) scratch: Vec<f64>,
    pub(crate) impact: bool,
    /// Whether [`Tree::step_gauss`](super::tree::Tree::step_gauss) or
    /// [`Tree::step_free_flight`](super::tree::Tree::step_free_flight) has made the whole substep.
    pub(crate) is_complete: bool,
    pub(crate) stages: [Stage; 2],
    /// Means over the step: effort of motor, stops and the rest for each degree of freedom; reaction of each joint,
    /// moment about its anchor.
    pub(crate) loads: Vec<[f64; 3]>,
    pub(crate) reactions: Vec<Spatial>,
    /// The same for the last substep alone.
    pub(crate) substep_loads: Vec<[f64; 3]>,
    pub(crate) substep_reactions: Vec<Spatial>,
    /// Loads at a stage of Gauss's method, which the link forces there must balance ([`gauss`](crate::engine::gauss)).
    pub(crate) stage_loads: Vec<[f64; 3]>,
    /// Largest relative difference between the reaction along an axis and the efforts there.
    pub(crate) imbalance: f64,
    /// Energy input of the step and of the last substep, and the energy after it, J. Inputs are the work of motors and
    /// external wrenches, of springs and rotors of loop joints, of compliant surfaces, and of the separation of
    /// overlaps.
    pub(crate) step_work: f64,
    pub(crate) substep_work: f64,
    pub(crate) energy: f64,
    /// Largest rate of its turning joints, rad/s, and the body that the joint moves.
    pub(crate) fastest_joint: (f64, Option<BodyId>),
    /// Squares of the largest speed of a centre of mass, m²/s², of the largest angular speed, rad²/s², and of the
    /// largest distance from the origin, m².
    pub(crate) largest_squares: [f64; 3],
    /// Kinetic energy, J.
    pub(crate) kinetic: f64,
    /// State at the start of the last substep.
    pub(crate) substep_start: State,
    pub(crate) energy_at_start: f64,
    /// External wrenches on its links in this step.
    pub(crate) external_wrenches: Vec<ExternalWrench>,
    /// Their sum on each link about the common point.
    pub(crate) link_wrenches: Vec<(usize, Spatial)>,
    /// Work spent on it in this step, in sweeps over its island's constraints.
    pub(crate) used_work: f64,
    /// Work reserved for later parts of the step, and the values before each open division
    /// ([`work_budget`](crate::engine::islands::work_budget)).
    pub(crate) reserved_work: f64,
    pub(crate) reserved_stack: Vec<f64>,
    /// First of its unknowns in its island.
    pub(crate) base: usize,
    /// Refinement level at which it waits, and what it has to repeat.
    pub(crate) suspended_level: Option<u32>,
    pub(crate) pending: Pending,
    /// Number of parts of this step made by impacts.
    pub(crate) impact_count: usize,
    /// Velocity change in the last attempt at a substep, which defines its path.
    pub(crate) attempt_dv: Vec<f64>,
}

/// What has to be repeated of a substep.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    /// Both halves.
    TwoHalves,
    /// All of it, with an impact after `after` seconds, in this group.
    Impact { after: f64, group: usize },
}

impl LinkWork {
    /// World position of its joint's origin, which one of the tree's links carries.
    #[inline(always)]
    pub(crate) fn joint_origin(&self, joint: &Link, links: &[Self]) -> DVec3 {
        match joint.origin {
            None => self.anchor,
            Some((carrier, point)) => links[carrier].position + links[carrier].matrix * point,
        }
    }

    /// Wrench that its joint transmits, the moment about the joint's origin; spatial quantities are about `common`.
    #[inline(always)]
    pub(crate) fn reaction(&self, joint: &Link, links: &[Self], common: DVec3) -> Spatial {
        let (angular, linear) = (self.force.angular(), self.force.linear());
        let lever = self.joint_origin(joint, links) - common;
        Spatial::new(angular - lever.cross(linear), linear)
    }
}

/// A stage of Gauss's method.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stage {
    pub(crate) v: Vec<f64>,
    pub(crate) a: Vec<f64>,
    /// Efforts of springs and dampers.
    pub(crate) passive: Vec<f64>,
    /// Rotation vectors since the start of the substep, and their rates: of the root, then of each ball joint.
    pub(crate) turns: Vec<Turn>,
    /// Links and axes at the stage.
    pub(crate) links: Vec<LinkWork>,
    pub(crate) axis: Vec<Spatial>,
    pub(crate) origin: DVec3,
}

/// A rotation vector and its rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    pub(crate) vector: DVec3,
    pub(crate) rate: DVec3,
}

/// The factor of the mass matrix of a long tree, and the buffers to find it and to solve with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongTree {
    /// A row for each degree of freedom.
    pub(crate) rows: Vec<LongRow>,
    /// Of each link the inertia, with everything that moves freely beyond it, and its force, about its joint's origin.
    pub(crate) inertias: Vec<ArticulatedInertia>,
    pub(crate) forces: Vec<Spatial>,
    /// Accelerations of links, or forces at degrees of freedom, while they are computed.
    pub(crate) motions: Vec<Spatial>,
    /// The rounds in which the stages of free motion are found.
    pub(crate) mixing: Mixing,
    /// Damping of links, about the common point ([`damping`](crate::engine::equations::damping)).
    pub(crate) resistances: Vec<(usize, ArticulatedInertia)>,
}

/// One row of the factor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LongRow {
    /// The axis s and the quotient g, about the joint's origin.
    pub(crate) axis: Spatial,
    pub(crate) time_fraction: Spatial,
    /// The preceding degree of freedom on its chain; itself if there is none.
    pub(crate) parent: usize,
    /// From the joint's origin of that to its own, m.
    pub(crate) lever: DVec3,
}

/// Buffers of the rounds. x is the accelerations of both stages.
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
