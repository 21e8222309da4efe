//! Intermediate results of a step: the workspace of a tree and of its links. No snapshot holds any of it.
//!
//! The phases of a step fill it one after the other. It is here, not with the phases, because a tree owns it and keeps
//! its memory.

use bevy_math::DMat3;
use bevy_math::DQuat;
use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::{link::Link, tree_state::State};
use crate::{
    Wrench,
    engine::algebra::spatial::{ArticulatedInertia, Spatial, SpatialInertia},
};

/// Workspace of a link. Each starts a cache line, so that the same fields share lines in every link.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct LinkWork {
    /// Pose in the world, m, and world position of the joint's origin, m.
    pub(crate) position: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) matrix: DMat3,
    pub(crate) anchor: DVec3,
    /// Position at the midpoint of the substep, m.
    pub(crate) middle: DVec3,
    /// Twist, and acceleration; spatial quantities are about the tree's `origin`.
    pub(crate) velocity: Spatial,
    pub(crate) acceleration: Spatial,
    /// Wrench that its joint transmits for the bias; after the reactions, for the whole motion.
    pub(crate) force: Spatial,
    /// External forces, of contacts and loop joints, for the reactions.
    pub(crate) external: Spatial,
    /// Inertia of the link, and of the link with all links that it carries.
    pub(crate) inertia: SpatialInertia,
    pub(crate) composite: SpatialInertia,
}

/// Workspace of a tree. Its fields are grouped by the phase of a substep that writes them
/// ([the table of phases](crate::engine)); `scratch` belongs to every phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    // Written by predict, at the start and at the midpoint of the substep. `origin`, `links` and `turns` are updated
    // again by finish, to the state at the end. All later phases read these fields.
    /// State at the start of the substep, from which a rejected substep is restored.
    pub(crate) substep_start: State,
    /// Energy at the start of the substep, J.
    pub(crate) energy_at_start: f64,
    /// The common point of all spatial quantities, m: the root at the last update of poses.
    pub(crate) origin: DVec3,
    pub(crate) links: Vec<LinkWork>,
    /// Sine and cosine of half of each coordinate at the last update of poses.
    pub(crate) turns: Vec<(f64, f64)>,
    /// Spatial axis of each degree of freedom, about `origin`.
    pub(crate) axis: Vec<Spatial>,
    /// The velocity at which the bias is evaluated; after an impact the second of two. Solve updates it.
    pub(crate) bias_velocity: Vec<f64>,
    /// Sum of the external wrenches on each link about `origin`. Assemble reads it.
    pub(crate) link_wrenches: Vec<(usize, Spatial)>,

    // Written by assemble, at the midpoint. Solve reads these fields, and computes them anew where the bias, soil or a
    // motor's limit changes.
    /// First of its unknowns in its island.
    pub(crate) base: usize,
    /// Mass matrix and its factor in packed rows; `long` takes their place in a long tree.
    pub(crate) mass: Vec<f64>,
    pub(crate) factor: Vec<f64>,
    pub(crate) long: LongTree,
    /// Reciprocals of the pivots Dg, and their square roots.
    pub(crate) pivot: Vec<f64>,
    pub(crate) root_pivot: Vec<f64>,
    /// Bias b, N or N m.
    pub(crate) bias: Vec<f64>,
    /// True if [`damping`](crate::engine::equations::damping) adds to the mass matrix in addition to motors: `damping`
    /// is h Jᵀ K J in packed rows, and `damping_effort` the effort at the initial velocity.
    pub(crate) has_damping: bool,
    pub(crate) damping: Vec<f64>,
    pub(crate) damping_effort: Vec<f64>,
    /// Coordinates that motors follow, where the tree has ball joints
    /// ([`ball_joint`](crate::engine::joints::ball_joint)).
    pub(crate) motor_coordinates: Vec<f64>,
    /// Velocity change without impulses, and the velocity at the end without impulses, v_free.
    pub(crate) dv_free: Vec<f64>,
    pub(crate) v_free: Vec<f64>,
    /// True if a contact is an impact: `last_dv` is then zero at the end. Finish reads it, too.
    pub(crate) impact: bool,

    // Written by solve. Finish reads these fields, except for the buffers of the bias, of Gauss's method and of loops,
    // which only solve uses.
    /// Velocity change by the impulses.
    pub(crate) dv_impulse: Vec<f64>,
    /// Efforts of the motors, N or N m.
    pub(crate) effort: Vec<f64>,
    /// True if [`Tree::step_gauss`](super::tree::Tree::step_gauss) or
    /// [`Tree::step_free_flight`](super::tree::Tree::step_free_flight) has made the whole substep.
    pub(crate) is_complete: bool,
    /// Bias and link forces before they were evaluated anew at the mean velocity, or after an impact.
    pub(crate) first_bias: Vec<f64>,
    pub(crate) first_force: Vec<Spatial>,
    /// Stages of Gauss's method, and the loads at a stage, which the link forces there must balance
    /// ([`gauss`](crate::engine::gauss)).
    pub(crate) stages: [Stage; 2],
    pub(crate) stage_loads: Vec<[f64; 3]>,
    /// Links at the midpoint of the next substep, to close loops there.
    pub(crate) ahead: Vec<LinkWork>,

    // Written by finish, or by solve where it makes the whole substep. The step checks read these fields, and the
    // commit adds loads and work to the means of the step.
    /// Loads of the substep: effort of motor, stops and the rest for each degree of freedom; reaction of each joint,
    /// moment about its anchor.
    pub(crate) substep_loads: Vec<[f64; 3]>,
    pub(crate) substep_reactions: Vec<Spatial>,
    /// Largest relative difference between the reaction along an axis and the efforts there.
    pub(crate) imbalance: f64,
    /// Energy input of the substep, J: the work of motors and external wrenches, of springs and rotors of loop joints,
    /// of compliant surfaces, and of the separation of overlaps.
    pub(crate) substep_work: f64,
    /// Pseudo-velocities that separate overlaps, and the twists of the links at these about the root at the midpoint.
    pub(crate) pseudo: Vec<f64>,
    pub(crate) pseudo_twists: Vec<Spatial>,
    /// Kinetic energy, and energy of the tree, J.
    pub(crate) kinetic: f64,
    pub(crate) energy: f64,
    /// Largest rate of its turning joints, rad/s, and the body that the joint moves.
    pub(crate) fastest_joint: (f64, Option<BodyId>),
    /// Squares of the largest speed of a centre of mass, m²/s², of the largest angular speed, rad²/s², and of the
    /// largest distance from the origin, m².
    pub(crate) largest_squares: [f64; 3],

    // Written between the substeps of a step ([`stepping`](crate::engine::stepping)), and reset at its start.
    /// Means over the step, written by the commit of its substeps: loads and reactions as in `substep_loads` and
    /// `substep_reactions`. They are the reported loads.
    pub(crate) loads: Vec<[f64; 3]>,
    pub(crate) reactions: Vec<Spatial>,
    /// Energy input of the step, J.
    pub(crate) step_work: f64,
    /// Work used for it in this step, in sweeps over its island's constraints.
    pub(crate) used_work: f64,
    /// Work reserved for later parts of the step, and the values before each open division
    /// ([`work_budget`](crate::engine::islands::work_budget)).
    pub(crate) reserved_work: f64,
    pub(crate) reserved_stack: Vec<f64>,
    /// Refinement level at which it is suspended, and the repetition that it needs.
    pub(crate) suspended_level: Option<u32>,
    pub(crate) pending: Pending,
    /// Number of parts of this step made by impacts.
    pub(crate) impact_count: usize,
    /// Velocity change in the last attempt at a substep, which defines its path to an impact.
    pub(crate) attempt_dv: Vec<f64>,

    // Written by callers of the engine between steps, read by predict and finish, cleared after the step.
    /// External wrenches on its links in this step.
    pub(crate) external_wrenches: Vec<ExternalWrench>,

    /// Scratch numbers, one for each degree of freedom.
    pub(crate) scratch: Vec<f64>,
}

/// Repetition of a substep that a group of trees needs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    /// In two halves.
    TwoHalves,
    /// As a whole, with an impact after `after` seconds, in this group.
    Impact { after: f64, group: usize },
}

impl LinkWork {
    /// World position of its joint's origin, which one of the tree's links carries, m.
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
    /// Velocities and accelerations at the stage.
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

/// Factor of the mass matrix of a long tree, and the buffers to compute it and to solve with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongTree {
    /// One row for each degree of freedom.
    pub(crate) rows: Vec<LongRow>,
    /// For each link, the inertia, with everything that moves freely beyond it, and its force, about its joint's
    /// origin.
    pub(crate) inertias: Vec<ArticulatedInertia>,
    pub(crate) forces: Vec<Spatial>,
    /// Accelerations of links, or forces at degrees of freedom, while they are computed.
    pub(crate) motions: Vec<Spatial>,
    /// Buffers of the rounds that find the stages of free motion.
    pub(crate) mixing: Mixing,
    /// Damping of links, about the common point ([`damping`](crate::engine::equations::damping)).
    pub(crate) resistances: Vec<(usize, ArticulatedInertia)>,
}

/// One row of the factor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LongRow {
    /// Axis s and quotient g = U / d ([`long`](crate::engine::equations::mass_factor::long)), about the joint's origin.
    pub(crate) axis: Spatial,
    pub(crate) gain: Spatial,
    /// Preceding degree of freedom on its chain; itself if there is none.
    pub(crate) parent: usize,
    /// Vector from the joint's origin of `parent` to its own, m.
    pub(crate) lever: DVec3,
}

/// Buffers of the rounds that mix stages. x are the accelerations of both stages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mixing {
    pub(crate) x: Vec<f64>,
    /// The residual and G of the last round.
    pub(crate) residual: Vec<f64>,
    pub(crate) image: Vec<f64>,
    /// Pairs q, p, of which `count` are valid; `next` is the index of the pair to be replaced next.
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
    /// Point of application in the link's frame, m.
    pub(crate) point: DVec3,
    pub(crate) wrench: Wrench,
}

impl ExternalWrench {
    /// Spatial force about a point, at the present pose of its link.
    pub(crate) fn spatial_force(&self, link: &LinkWork, origin: DVec3) -> Spatial {
        let Wrench { force, torque } = self.wrench;
        let lever = link.position + link.matrix * self.point - origin;
        Spatial::new(torque + lever.cross(force), force)
    }
}
