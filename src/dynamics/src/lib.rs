//! Simulation of robot mechanisms behind one trait: [`build`] makes an [`Engine`] from a [`Mechanism`], and
//! [`Engine::step`] advances it.
//!
//! Two engines exist ([`EngineKind`]): SimPartner's articulated dynamics, with robots in reduced coordinates and exact
//! Coulomb friction, and, with the feature `rapier`, [rapier](https://rapier.rs). The equations of the first are in
//! `src/engine/mod.rs`, its symbols and sources in `src/engine/NOTATION.md`. Callers need not distinguish the engines,
//! and no engine depends on devices, file formats, clocks or sockets. Frames: world axes, right-handed, y up. Units:
//! SI, radians.
//!
//! # Example
//!
//! A ball of 2 kg falls onto a plane. After 1 s it rests there, and the contact force equals its weight.
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

/// Builds the engine selected by `settings`, at step 0 of the world.
///
/// # Errors
/// If the engine cannot represent an element of the world. The message names the element and its place in the file.
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

/// A simulated world.
///
/// All reading methods return the state after the last [`step`](Engine::step), or that of the world as built. Contact
/// wrenches and motor efforts are those of the last step, zero before the first.
pub trait Engine: Send {
    /// Name, version and features, for the log: only the same ones repeat a run bit for bit.
    fn identity(&self) -> EngineIdentity;

    /// Advances the world by one timestep. [`notices`](Engine::notices) lists its exceptional events.
    fn step(&mut self);

    /// Pose, twist and contact wrench of a body.
    fn body(&self, body: BodyId) -> BodyState;

    /// Anchor, coordinates and efforts of a joint.
    fn joint(&self, joint: JointId) -> JointState;

    /// Sets the motor of one coordinate (0 to 2) of a joint, until it is set again. A locked coordinate ignores it.
    /// Here and below, numbers of commands are limited to 1e15, and speeds of surfaces to 1e5 m/s.
    fn drive(&mut self, joint: JointId, axis: usize, motor: Motor);

    /// True if a motor can drive this free coordinate (0 to 2) of a joint.
    fn can_drive(&self, _joint: JointId, _axis: usize) -> bool {
        true
    }

    /// Sets the velocity of a body's surface, m/s in the body's axes, until it is set again. False if the engine has no
    /// moving surfaces.
    fn set_surface_velocity(&mut self, _body: BodyId, _velocity: DVec3) -> bool {
        false
    }

    /// Applies an external wrench to a body during the next step: a force at `point`, which is given in the body's
    /// frame, and a torque; both in world axes. Several wrenches add up. Fixed bodies ignore them.
    fn push(&mut self, body: BodyId, point: DVec3, wrench: Wrench);

    /// Why [`place`](Engine::place) cannot move this body; `None` if it can.
    fn obstacle_to_placing(&self, _body: BodyId) -> Option<&'static str> {
        Some("this engine moves bodies by forces alone; use physics.engine = \"dynamics\"")
    }

    /// Sets the pose of a body between two steps: `world_from_body`, velocity of its centre of mass in m/s and angular
    /// velocity in rad/s, world axes. All bodies connected to it by joints move with it as one rigid body; joint
    /// coordinates and their rates do not change. The move is not a motion: it touches nothing on its way and gains no
    /// energy. Contacts and all starting values from the last step are discarded. Ignored where there is an
    /// [obstacle](Engine::obstacle_to_placing).
    fn place(&mut self, _body: BodyId, _pose: &Pose, _linear_velocity: DVec3, _angular_velocity: DVec3) {}

    /// The shapes of the present state, for rays. The scene does not change with later steps, so rays can be cast in
    /// parallel with the steps.
    fn ray_scene(&self) -> Arc<RayScene>;

    /// The distance from the ray's origin to the nearest surface, m; `None` if there is none within the range.
    fn cast_ray(&self, ray: &Ray) -> Option<f64> {
        self.ray_scene().cast(ray)
    }

    /// The contact points of the last step, in a reproducible order.
    fn contacts(&self) -> &[ContactPoint];

    /// The soil's effect on a body that rolls on it as a cylinder; `None` for any other body.
    fn soil(&self, _body: BodyId) -> Option<SoilReading> {
        None
    }

    /// The pressed cells of a soil ground, which is given by its index in the mechanism. Empty on firm ground, and from
    /// an engine without soil.
    fn ruts(&self, _ground: usize) -> Vec<Rut> {
        Vec::new()
    }

    /// Appends the rut tiles that have become deeper since the last call, on all grounds, up to the free capacity of
    /// `into`. The first call returns all tiles. The record of changes is not part of the state, and starts with the
    /// first call.
    fn take_changed_ruts(&mut self, _into: &mut Vec<RutTile>) -> RutChanges {
        RutChanges::default()
    }

    /// The energy of the world, and the energy supplied in the last step; `None` from an engine without energy balance.
    fn energy(&self) -> Option<EnergyBalance> {
        None
    }

    /// The cost of the last step's most expensive island, in the unit of [`DynamicsSettings::max_sweeps`]; `None` from
    /// an engine without a work budget.
    fn work(&self) -> Option<f64> {
        None
    }

    /// The exceptional events of the last step; empty if there were none.
    fn notices(&self) -> &[Notice];

    /// The complete state. After [`restore`](Engine::restore), steps are bit-identical to those of this engine.
    fn snapshot(&self) -> Snapshot;

    /// Restores a snapshot of the same world, engine and version.
    ///
    /// # Errors
    /// If the bytes are not such a snapshot. The state is then unchanged.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError>;

    /// Takes over the state of another world: elements in both worlds keep their state, and new elements start as in
    /// the model. Returns false and changes nothing if this engine cannot do so, or if the other engine is of another
    /// type.
    fn carry_over(&mut self, _from: &dyn Engine, _kept: &Kept) -> bool {
        false
    }

    /// The engine as its concrete type, for an engine that supports [`carry_over`](Engine::carry_over).
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// The elements that a world shares with the world before it: for each body and each joint, its id there. Both worlds
/// have the shared elements in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// For each body of the new world, its id in the old world; `None` if new.
    pub bodies: Vec<Option<BodyId>>,
    /// For each joint of the new world, its id in the old world; `None` if new.
    pub joints: Vec<Option<JointId>>,
}

/// Identity of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineIdentity {
    /// Name, such as `rapier`.
    pub name: &'static str,
    /// Version.
    pub version: &'static str,
    /// The features of its build that affect results.
    pub features: &'static str,
}

/// A ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Origin, world frame, m.
    pub origin: DVec3,
    /// Unit direction, world frame.
    pub direction: DVec3,
    /// Largest distance, m.
    pub range: f64,
    /// A body that the ray ignores: the one with the sensor.
    pub ignore: Option<BodyId>,
}

impl fmt::Display for EngineIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.name, self.version, self.features)
    }
}

/// An exceptional event of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The check that reported it.
    pub guard: Guard,
    /// The bodies concerned, the most affected first.
    pub bodies: Vec<BodyId>,
    /// Description, including the value.
    pub text: String,
    /// Value, in the unit stated at the guard.
    pub value: f64,
}

/// The checks of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A body's state is not finite, or beyond the largest meaningful speed or distance (m/s, rad/s, m). The engine
    /// keeps the state finite, but the state is no longer meaningful.
    Divergence,
    /// From this step on, steps are divided into this number of parts.
    Substeps,
    /// The contact solver did not reach its tolerance; residual in m/s.
    Unconverged,
    /// A body exceeds the speed limit of the settings, m/s; or would exceed the permitted growth of speed by this
    /// factor.
    Speed,
    /// A motor reached the largest effort or rate of its axis; N m or N, rad/s or m/s.
    Motor,
    /// A loop joint is open by more than the limit of the settings, m.
    JointError,
    /// Two bodies penetrate deeper than the limit of the settings, or overlap and cannot separate; depth in m.
    Penetration,
    /// The reaction of a joint along its axis differs from the sum of motor, stop and passive efforts: an error in the
    /// engine. The difference relative to the forces in the joint.
    Imbalance,
    /// The world gained more energy in a step than its motors supplied, or would have gained it had it not been slowed
    /// down, J.
    Energy,
}

/// The bytes of a complete engine state. Only the engine that wrote it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(Vec<u8>);

impl Snapshot {
    /// The bytes, for storage or hashing.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The error of bytes that are not a snapshot of this engine and world.
#[derive(Debug, Error)]
#[error("not a snapshot of this engine and world: {0}")]
pub struct SnapshotError(String);

/// The error of a world that the engine cannot represent.
#[derive(Debug, Error)]
#[error("{place}: {what}")]
pub struct BuildError {
    /// `file:line:column` of the element.
    pub place: String,
    /// The error, and its remedy.
    pub what: String,
}
