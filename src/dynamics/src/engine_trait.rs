//! The trait [`Engine`] of all engines, and what its methods take and return beside the state of bodies and joints.

use std::{any::Any, fmt, sync::Arc};

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, JointId, Mechanism, Pose, RutDepths, Timestep};

use crate::{
    error::{BuildError, SnapshotError},
    motor::Motor,
    rays::{Ray, RayScene},
    settings::Settings,
    state::{BodyState, ContactPoint, EnergyBalance, JointState, Rut, RutChanges, RutTile, SoilReading, Wrench},
    step_event::StepEvent,
};

/// A simulated world.
///
/// All reading methods return the state after the last [`step`](Engine::step), or that of the world as built. Contact
/// wrenches and motor efforts are those of the last step, zero before the first.
pub trait Engine: Send {
    /// Name, version and features, for the log: only the same ones repeat a run bit for bit.
    fn identity(&self) -> EngineIdentity;

    /// Builds another engine at step 0 of the same model, which shares what never changes, such as terrain and hulls;
    /// `None` if this kind of engine shares nothing. `mechanism` and `settings` are those of this engine. Use
    /// [`build_again`](crate::build_again), which builds one in any case.
    ///
    /// # Errors
    /// As those of [`build`](crate::build).
    fn build_sharing(
        &self,
        _mechanism: &Mechanism,
        _timestep: Timestep,
        _settings: &Settings,
    ) -> Result<Option<Box<dyn Engine>>, BuildError> {
        Ok(None)
    }

    /// Advances the world by one timestep. [`step_events`](Engine::step_events) lists its exceptional
    /// events.
    fn step(&mut self);

    /// Pose, twist and contact wrench of a body.
    fn body(&self, body: BodyId) -> BodyState;

    /// Anchor, coordinates and efforts of a joint.
    fn joint(&self, joint: JointId) -> JointState;

    /// Sets the motor of one coordinate (0 to 2) of a joint, until it is set again. A locked coordinate ignores it.
    /// Here and below, numbers of commands are limited to 1e15, and speeds of surfaces to 1e5 m/s.
    fn set_motor(&mut self, joint: JointId, axis: usize, motor: Motor);

    /// True if this free coordinate (0 to 2) of a joint can have a motor.
    fn supports_motor(&self, _joint: JointId, _axis: usize) -> bool {
        true
    }

    /// Sets the velocity of a body's surface, m/s in the body's axes, until it is set again. The material tells whether
    /// the surface moves uniformly or as a belt. False if the engine has no moving surfaces.
    fn set_surface_velocity(&mut self, _body: BodyId, _velocity: DVec3) -> bool {
        false
    }

    /// Velocity of a body's surface, m/s in the body's axes: as set, or that of its material.
    fn surface_velocity(&self, _body: BodyId) -> DVec3 {
        DVec3::ZERO
    }

    /// Applies an external wrench to a body during the next step: a force at `point`, which is given in the body's
    /// frame, and a torque; both in world axes. Several wrenches add up. Fixed bodies ignore them.
    fn apply_wrench(&mut self, body: BodyId, point: DVec3, wrench: Wrench);

    /// Reason why [`set_pose`](Engine::set_pose) cannot move this body; `None` if it can.
    fn set_pose_obstacle(&self, _body: BodyId) -> Option<&'static str> {
        Some("this engine moves bodies by forces alone; use physics.engine = \"dynamics\"")
    }

    /// Sets the pose of a body between two steps: `world_from_body`, velocity of its centre of mass in m/s and angular
    /// velocity in rad/s, world axes. All bodies connected to it by joints move with it as one rigid body; joint
    /// coordinates and their rates do not change. The move is not a motion: it touches nothing on its way and gains no
    /// energy. Contacts and all starting values from the last step are discarded. Ignored for a body with a
    /// [`set_pose_obstacle`](Engine::set_pose_obstacle).
    fn set_pose(&mut self, _body: BodyId, _pose: &Pose, _linear_velocity: DVec3, _angular_velocity: DVec3) {}

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
    fn soil_reading(&self, _body: BodyId) -> Option<SoilReading> {
        None
    }

    /// The pressed cells of a soil ground, which is given by its index in the mechanism. Empty on firm ground, and from
    /// an engine without soil.
    fn ruts(&self, _ground: usize) -> Vec<Rut> {
        Vec::new()
    }

    /// Appends the depths of the grounds that have ruts, each with the ground's index in the mechanism. They share
    /// memory with the engine until it deepens a rut.
    fn rut_depths(&self, _into: &mut Vec<(usize, RutDepths)>) {}

    /// Appends the rut tiles that have become deeper since the last call, on all grounds, up to the free capacity of
    /// `into`. The first call returns all tiles. The record of changes is not part of the state, and starts with the
    /// first call.
    fn take_changed_ruts(&mut self, _into: &mut Vec<RutTile>) -> RutChanges {
        RutChanges::default()
    }

    /// The energy of the world, and the energy supplied in the last step; `None` from an engine without energy balance.
    fn energy_balance(&self) -> Option<EnergyBalance> {
        None
    }

    /// The solver's cost of the last step for the most expensive island, in sweeps, as
    /// [`DynamicsSettings::max_sweeps`](crate::DynamicsSettings::max_sweeps) counts them; `None` from an engine without
    /// such a budget.
    fn solver_cost(&self) -> Option<f64> {
        None
    }

    /// The exceptional events of the last step; empty if there were none.
    fn step_events(&self) -> &[StepEvent];

    /// The complete state. After [`restore`](Engine::restore), steps are bit-identical to those of this engine.
    fn snapshot(&self) -> Snapshot;

    /// Restores a snapshot of the same world, engine and version.
    ///
    /// # Errors
    /// If the bytes are not such a snapshot. The state is then unchanged.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError>;

    /// Continues from the state of the world before an edit: elements in both worlds keep their state, and new elements
    /// start as in the model. Returns false and changes nothing if this engine cannot do so, or if the other engine is
    /// of another type.
    fn adopt_state(&mut self, _from: &dyn Engine, _previous_ids: &PreviousIds) -> bool {
        false
    }

    /// The engine as its concrete type, for an engine that supports [`adopt_state`](Engine::adopt_state).
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// The ids that bodies and joints of an edited world had in the world before the edit. Both worlds have the shared
/// elements in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousIds {
    /// For each body of the new world, its id before the edit; `None` if new.
    pub bodies: Vec<Option<BodyId>>,
    /// For each joint of the new world, its id before the edit; `None` if new.
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

impl fmt::Display for EngineIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.name, self.version, self.features)
    }
}

/// The bytes of a complete engine state. Only the engine that wrote it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(pub(crate) Vec<u8>);

impl Snapshot {
    /// The bytes, for storage or hashing.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
