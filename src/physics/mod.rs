//! The physics seam: what a simulation asks of an engine, in the model's words. [`build`] is the only door in.
//!
//! A room behind it holds one engine ([`rapier`](https://rapier.rs) for now; articulated dynamics of our own is to stand
//! beside it). Nothing above this room names an engine or knows its quirks, and no engine knows of devices, XML, clocks,
//! threads or sockets. Frames: world axes, right-handed, y up. Units: SI, radians.

mod mass;
mod rapier;
mod settings;

pub use mass::{MassProperties, mass_properties};
pub use settings::{EngineKind, Settings};

use bevy_math::DVec3;
use thiserror::Error;

use crate::{
    model::{Pose, World},
    signal::{BodyId, JointId, Timestep},
};

/// Builds the engine that `settings` asks for, at step 0 of the world.
///
/// # Errors
/// When the engine cannot represent something in the world; the message names it and its place in the file.
pub fn build(world: &World, timestep: Timestep, settings: &Settings) -> Result<Box<dyn Engine>, BuildError> {
    match settings.engine {
        EngineKind::Rapier => Ok(Box::new(rapier::Rapier::build(world, timestep, settings)?)),
    }
}

/// An engine that has a world.
///
/// All reading methods answer for the state after the last [`step`](Engine::step), or for the world as built. Contact
/// wrenches and motor efforts are those of the last step, zero before the first.
pub trait Engine: Send {
    /// Name, version and features, for the log: a run can only be repeated with the same.
    fn identity(&self) -> EngineIdentity;

    /// Advances the world by one timestep. What went wrong in it is told by [`faults`](Engine::faults).
    fn step(&mut self);

    /// Pose, twist and contact wrench of a body.
    fn body(&self, body: BodyId) -> BodyState;

    /// Anchor, coordinates and efforts of a joint.
    fn joint(&self, joint: JointId) -> JointState;

    /// Sets the motor of one local axis (0 to 2) of a joint. It stays until it is set again. A locked axis ignores it.
    fn drive(&mut self, joint: JointId, axis: usize, motor: Motor);

    /// The distance in metres from the ray's origin to the first thing in its way, if there is one within its range.
    fn cast_ray(&self, ray: &Ray) -> Option<f64>;

    /// What went wrong in the last step; empty when all is well.
    fn faults(&self) -> &[Fault];

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

/// The state of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyState {
    /// `world_from_body`.
    pub pose: Pose,
    /// Velocity of the centre of mass, m/s.
    pub linear_velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// The sum of the contact forces on the body, mean over the step, N.
    pub force: DVec3,
    /// Their torque about the body's centre of mass, N m.
    pub torque: DVec3,
}

/// The state of a joint. Locked axes read zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointState {
    /// Where its origin is, metres.
    pub anchor: DVec3,
    /// Coordinate of each local axis, rad or m.
    pub position: [f64; 3],
    /// Rate of each local axis, rad/s or m/s.
    pub rate: [f64; 3],
    /// What the motor of each axis exerts on the child about or along that axis, N m or N.
    pub effort: [f64; 3],
}

impl JointState {
    /// A joint at the origin that does nothing.
    pub const ZERO: Self = Self { anchor: DVec3::ZERO, position: [0.0; 3], rate: [0.0; 3], effort: [0.0; 3] };
}

/// What drives an axis of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motor {
    /// Nothing.
    Off,
    /// Brings the axis to a rate as far as `max_effort` allows.
    Velocity {
        /// Rate wanted, rad/s or m/s.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
    /// Holds the axis at a coordinate as far as `max_effort` allows.
    Position {
        /// Coordinate wanted, rad or m.
        target: f64,
        /// Largest effort, N m or N, at least 0.
        max_effort: f64,
    },
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

/// Something that went wrong in a step. The engine has contained it; the state stays finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The body concerned.
    pub body: BodyId,
    /// What happened to it.
    pub text: String,
}

/// The bytes of a whole engine state. Only the engine that made it reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// `file:line` of the element.
    pub place: String,
    /// What is wrong and what to do.
    pub what: String,
}
