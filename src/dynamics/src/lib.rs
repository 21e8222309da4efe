//! The physics seam: what a simulation asks of an engine, in the model's words. [`build`] is the only door in.
//!
//! A room behind it holds one engine: `dynamics`, articulated dynamics of our own, or [`rapier`](https://rapier.rs). Nothing above this room names an engine or knows its quirks, and no engine knows of devices, XML, clocks,
//! threads or sockets. Frames: world axes, right-handed, y up. Units: SI, radians.

mod engine;
mod mass;
mod motor;
#[cfg(feature = "rapier")]
mod rapier;
mod settings;
mod shape;
mod state;

pub use engine::Probe;
pub use mass::{MassProperties, mass_properties, volume};
pub use motor::{Motor, Servo};
pub use settings::{DynamicsSettings, EngineKind, Integrator, RapierSettings, Settings};
pub use state::{BodyState, ContactPoint, JointLoad, JointState, Wrench};

use std::fmt;

use bevy_math::DVec3;
use parry3d_f64 as parry;
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, JointId, Mechanism, Timestep};
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

    /// Advances the world by one timestep. What was out of the ordinary in it is told by [`notices`](Engine::notices).
    fn step(&mut self);

    /// Pose, twist and contact wrench of a body.
    fn body(&self, body: BodyId) -> BodyState;

    /// Anchor, coordinates and efforts of a joint.
    fn joint(&self, joint: JointId) -> JointState;

    /// Sets the motor of one local axis (0 to 2) of a joint. It stays until it is set again. A locked axis ignores it.
    fn drive(&mut self, joint: JointId, axis: usize, motor: Motor);

    /// The distance in metres from the ray's origin to the first thing in its way, if there is one within its range.
    fn cast_ray(&self, ray: &Ray) -> Option<f64>;

    /// Where bodies touched in the last step, in an order that repeats.
    fn contacts(&self) -> &[ContactPoint];

    /// What was out of the ordinary in the last step; empty when all is well.
    fn notices(&self) -> &[Notice];

    /// The whole state, from which [`restore`](Engine::restore) goes on bit for bit.
    fn snapshot(&self) -> Snapshot;

    /// Takes up a snapshot of the same world, engine and version.
    ///
    /// # Errors
    /// When the bytes are not such a snapshot; the state is then unchanged.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError>;
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
    /// A body was in no finite state, or ran away (m/s, rad/s). The engine has contained it; the state stays finite, but means
    /// nothing any more.
    Divergence,
    /// From this step on, it is made in so many parts.
    Substeps,
    /// The contact solver stopped short of its tolerance; the residual in m/s.
    Unconverged,
    /// A body went beyond the largest speed that is thought right, m/s.
    Speed,
    /// A joint that closes a loop came apart by more than is thought right, m.
    JointError,
    /// Two bodies sank into each other deeper than is thought right, m.
    Penetration,
    /// The reaction of a joint along its axis is not what its motor, stops and losses exert: a fault of the engine. The
    /// difference as a share of the forces in the joint.
    Imbalance,
    /// The world gained more energy in a step than its motors gave, J.
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
