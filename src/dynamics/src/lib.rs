//! Dynamics of robot mechanisms behind one trait: [`build`] makes an [`Engine`] from a [`Mechanism`], and
//! [`Engine::step`] advances it.
//!
//! There are two engines ([`EngineKind`]): articulated dynamics of our own, with robots in reduced coordinates and
//! exact Coulomb friction, and, with the feature `rapier`, [rapier](https://rapier.rs). The equations of the first
//! stand in `src/engine/mod.rs`, its symbols and sources in `src/engine/NOTATION.md`. Callers need not know which
//! engine they have, and no engine knows of devices, file formats, clocks or sockets. Frames: world axes, right-handed,
//! y up. Units: SI, radians.
//!
//! # Example
//!
//! A ball of 2 kg falls for a second onto a plane, and lies there with its weight.
//!
//! ```
//! use bevy_math::DVec3;
//! use simpartner_dynamics::{Settings, build};
//! use simpartner_model::{Body, BodyId, Material, Mechanism, Placed, Plane, Pose, Shape, Timestep};
//!
//! let ball = Body {
//!     name: "ball".into(),
//!     mass: 2.0,
//!     pose: Pose { translation: DVec3::new(0.0, 1.0, 0.0), ..Pose::default() },
//!     shape: Some(Placed { pose: Pose::default(), shape: Shape::Sphere { radius: 0.1 } }),
//!     ..Body::default()
//! };
//! let mechanism = Mechanism {
//!     gravity: DVec3::new(0.0, -9.81, 0.0),
//!     grounds: vec![Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() }.into()],
//!     bodies: vec![ball],
//!     ..Mechanism::default()
//! };
//! let mut engine = build(&mechanism, Timestep::MILLISECOND, &Settings::default())?;
//! for _ in 0..1000 {
//!     engine.step();
//! }
//! let ball = engine.body(BodyId::new(0));
//! assert!((ball.pose.translation.y - 0.1).abs() < 1e-5, "its radius above the plane");
//! assert!((ball.force.y - 2.0 * 9.81).abs() < 1e-9, "its weight");
//! # Ok::<(), simpartner_dynamics::BuildError>(())
//! ```

mod engine;
mod mass;
mod motor;
#[cfg(feature = "rapier")]
mod rapier;
mod rays;
mod settings;
mod shape;
pub mod soil;
mod state;

pub use engine::{Equations, Probe};
pub use mass::{MassProperties, give_inertias, mass_properties, volume};
pub use motor::{Motor, Servo};
pub use rays::{RayScene, RaySceneState, RutDepths};
pub use settings::{DynamicsSettings, EngineKind, ImpactLaw, Integrator, RapierSettings, Settings};
pub use shape::{RayTarget, convex_parts, hull_surface};
pub use state::{
    BodyState, ContactPoint, EnergyBalance, JointLoad, JointState, RUT_CELL, RUT_TILE, Rut, RutChanges, RutTile,
    SoilReading, Wrench, rut_axes,
};

use std::{any::Any, fmt, sync::Arc};

use bevy_math::DVec3;
use parry3d_f64 as parry;
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, JointId, Mechanism, Pose, Timestep};
use thiserror::Error;

/// Builds the engine that `settings` asks for, at step 0 of the world.
///
/// # Errors
/// When the engine cannot represent something in the world; the message names it and its place in the file.
pub fn build(mechanism: &Mechanism, timestep: Timestep, settings: &Settings) -> Result<Box<dyn Engine>, BuildError> {
    match settings.engine {
        EngineKind::Dynamics => Ok(Box::new(engine::Dynamics::build(mechanism, timestep, settings)?)),
        #[cfg(feature = "rapier")]
        EngineKind::Rapier => Ok(Box::new(rapier::Rapier::build(mechanism, timestep, settings)?)),
        #[cfg(not(feature = "rapier"))]
        EngineKind::Rapier => Err(BuildError {
            place: "physics.engine".into(),
            what:
                "this program was built without rapier; choose the engine dynamics, or build it with the feature rapier"
                    .into(),
        }),
    }
}

/// An engine that has a world.
///
/// All reading methods answer for the state after the last [`step`](Engine::step), or for the world as built. Contact
/// wrenches and motor efforts are those of the last step, zero before the first.
pub trait Engine: Send {
    /// Name, version and features, for the log: a run can only be repeated with the same.
    fn identity(&self) -> EngineIdentity;

    /// Advances the world by one timestep. [`notices`](Engine::notices) says what was out of the ordinary in it.
    fn step(&mut self);

    /// Pose, twist and contact wrench of a body.
    fn body(&self, body: BodyId) -> BodyState;

    /// Anchor, coordinates and efforts of a joint.
    fn joint(&self, joint: JointId) -> JointState;

    /// Sets the motor of one coordinate (0 to 2) of a joint. It stays until it is set again. A locked one ignores it.
    /// No number of a command, here and below, counts as larger than 1e15, and no surface moves faster than 1e5 m/s.
    fn drive(&mut self, joint: JointId, axis: usize, motor: Motor);

    /// Whether a motor can drive a coordinate (0 to 2) of a joint that moves in it.
    fn can_drive(&self, _joint: JointId, _axis: usize) -> bool {
        true
    }

    /// Moves the surface of a body at this velocity, in the body's axes, until it is set again. False if the engine has
    /// no such surfaces.
    fn set_surface_velocity(&mut self, _body: BodyId, _velocity: DVec3) -> bool {
        false
    }

    /// Pushes a body during the next step: a force at a point of it, which is given in its own frame, and a torque;
    /// world axes. Several pushes add up. What nothing moves ignores them.
    fn push(&mut self, body: BodyId, point: DVec3, wrench: Wrench);

    /// Why [`place`](Engine::place) cannot put this body elsewhere, if it cannot.
    fn obstacle_to_placing(&self, _body: BodyId) -> Option<&'static str> {
        Some("this engine moves bodies by forces alone; use physics.engine = \"dynamics\"")
    }

    /// Puts a body elsewhere between two steps: `world_from_body`, velocity of its centre of mass in m/s and angular
    /// velocity in rad/s, world axes. All that joints tie to it comes along as one rigid piece; joint coordinates and
    /// their rates stay as they are. It is no motion: nothing in between is touched, no energy counts as gained, and
    /// contacts and all that the last step left to start the next from are forgotten. Ignored where there is an
    /// [obstacle](Engine::obstacle_to_placing).
    fn place(&mut self, _body: BodyId, _pose: &Pose, _linear_velocity: DVec3, _angular_velocity: DVec3) {}

    /// What rays meet in the present state. It stays as it is whatever the engine does next, so rays can be cast at it
    /// beside the steps.
    fn ray_scene(&self) -> Arc<RayScene>;

    /// The distance in metres from the ray's origin to the first thing in its way, if there is one within its range.
    fn cast_ray(&self, ray: &Ray) -> Option<f64> {
        self.ray_scene().cast(ray)
    }

    /// Where bodies touched in the last step, in an order that repeats.
    fn contacts(&self) -> &[ContactPoint];

    /// What soil does to a body that rolls on it as a cylinder; `None` for one that does not.
    fn soil(&self, _body: BodyId) -> Option<SoilReading> {
        None
    }

    /// Where a ground of the world, by its number in the mechanism, is soil that was pressed; empty on firm ground, and
    /// from an engine that has no soil.
    fn ruts(&self, _ground: usize) -> Vec<Rut> {
        Vec::new()
    }

    /// Adds the tiles of ruts that have become deeper since they were last taken, on all grounds, as many as `into` has
    /// room for without growing; the first time all there are. What is taken is no part of the state, and nothing is
    /// remembered for it before it is asked for.
    fn take_changed_ruts(&mut self, _into: &mut Vec<RutTile>) -> RutChanges {
        RutChanges::default()
    }

    /// Where energy is, and what came in with the last step; `None` from an engine that keeps no account of it.
    fn energy(&self) -> Option<EnergyBalance> {
        None
    }

    /// What the last step cost, of what touches the part of the world that cost most, in the unit of
    /// [`DynamicsSettings::max_sweeps`]; `None` from an engine that has no budget of work.
    fn work(&self) -> Option<f64> {
        None
    }

    /// What was out of the ordinary in the last step; empty when all is well.
    fn notices(&self) -> &[Notice];

    /// The whole state, from which [`restore`](Engine::restore) goes on bit for bit.
    fn snapshot(&self) -> Snapshot;

    /// Takes up a snapshot of the same world, engine and version.
    ///
    /// # Errors
    /// When the bytes are not such a snapshot; the state is then unchanged.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError>;

    /// Goes on from the state of another world: whatever is in both goes on as it would have gone on there, and what is
    /// new begins as the model has it. False, and nothing is done, if this engine cannot, or the other is not of its
    /// kind.
    fn carry_over(&mut self, _from: &dyn Engine, _kept: &Kept) -> bool {
        false
    }

    /// The engine as its own type, for an engine that can be [carried over](Engine::carry_over).
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// What of a world was in the one before it: for each body and each joint which one it was there. Both worlds have them
/// in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// For each body.
    pub bodies: Vec<Option<BodyId>>,
    /// For each joint.
    pub joints: Vec<Option<JointId>>,
}

/// Which engine it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineIdentity {
    /// Name, such as `rapier`.
    pub name: &'static str,
    /// Version.
    pub version: &'static str,
    /// Features it was built with that bear on its results.
    pub features: &'static str,
}

/// A ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it starts, world frame, metres.
    pub origin: DVec3,
    /// Unit direction, world frame.
    pub direction: DVec3,
    /// How far it reaches, metres.
    pub range: f64,
    /// A body it passes through: the one the sensor sits on.
    pub ignore: Option<BodyId>,
}

impl fmt::Display for EngineIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.name, self.version, self.features)
    }
}

/// Something out of the ordinary in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What saw it.
    pub guard: Guard,
    /// The bodies concerned, the one it is about first.
    pub bodies: Vec<BodyId>,
    /// What happened, with its figure in words.
    pub text: String,
    /// The figure, in the unit that the guard states.
    pub value: f64,
}

/// What watches over a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A body was in no finite state, or ran away (m/s, rad/s). The engine has contained it; the state stays finite,
    /// but means nothing any more.
    Divergence,
    /// From this step on, it is made in so many parts.
    Substeps,
    /// The contact solver stopped short of its tolerance; the residual in m/s.
    Unconverged,
    /// A body went beyond the largest speed that is thought right, m/s, or would have become so many times faster than
    /// anything may be.
    Speed,
    /// A motor reached the largest effort or rate that its axis allows; N m or N, rad/s or m/s.
    Motor,
    /// A joint that closes a loop came apart by more than is thought right, m.
    JointError,
    /// Two bodies sank into each other deeper than is thought right, or overlap and are not let part; the depth in m.
    Penetration,
    /// The reaction of a joint along its axis is not what its motor, stops and losses exert: a fault of the engine. The
    /// difference as a share of the forces in the joint.
    Imbalance,
    /// The world gained more energy in a step than its motors gave, or would have if it had not been slowed down, J.
    Energy,
}

/// The bytes of a whole engine state. Only the engine that made it reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(Vec<u8>);

impl Snapshot {
    /// The bytes, to be kept or hashed.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes that are no snapshot of this engine and world.
#[derive(Debug, Error)]
#[error("not a snapshot of this engine and world: {0}")]
pub struct SnapshotError(String);

/// A world the engine cannot represent.
#[derive(Debug, Error)]
#[error("{place}: {what}")]
pub struct BuildError {
    /// `file:line:column` of the element.
    pub place: String,
    /// What is wrong and what to do.
    pub what: String,
}
