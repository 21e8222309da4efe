//! The rapier engine: robots in reduced coordinates, loops closed by impulse joints, free bodies.
//!
//! Pitfalls of rapier and their remedies, each tested in this module or in `tests/it/physics.rs`:
//!
//! | pitfall | remedy |
//! |---|---|
//! | a damping of 0.1 N m s/rad on every hinge | overwritten by the file's damping once the tree is complete (`articulation`) |
//! | `linvel` of a link lags one substep; `set_linvel` is ignored | velocities are read and set in generalised coordinates (`state`, `articulation`) |
//! | a link cannot have two free angles | a chain of hinges over massless links (`articulation`) |
//! | speed limits of 400 m/s and 45 degrees a step | raised (`build`) |
//! | combine rules average | smaller friction, larger restitution (`build`) |
//! | contact impulses of clusters, of substeps and of two friction models differ in place and meaning | `contacts` |
//! | forces persist | rolling torques are reset after the step (`contacts`) |
//! | a body that is not finite is disabled silently, a link not at all | every body is checked in every step (`state`) |
//! | friction of anisotropic contacts has the wrong direction | not remedied, and stated in the README: use the engine dynamics |
//!
//! Start at [`Rapier`].

mod articulation;
mod build;
mod contacts;
mod fixture;
mod state;

use std::sync::Arc;

use bevy_math::DVec3;
use rapier3d_f64::prelude::PhysicsWorld;
use simpartner_model::{BodyId, JointId, Mechanism, Timestep};

use self::{contacts::Contacts, fixture::Fixture};
use super::{
    BodyState, BuildError, ContactPoint, Engine, EngineIdentity, JointState, Motor, RayScene, Settings, Snapshot,
    SnapshotError, StepEvent, Wrench,
};
use crate::{motor::Gains, rays::CurrentScene};

/// The engine: a world in rapier.
pub(super) struct Rapier {
    world: PhysicsWorld,
    fixture: Fixture,
    contacts: Contacts,
    bodies: Vec<BodyState>,
    joints: Vec<JointState>,
    events: Vec<StepEvent>,
    /// Bodies with external wrenches in the next step.
    pushed: Vec<BodyId>,
    rays: CurrentScene,
}

impl Rapier {
    /// Builds the world at step 0.
    pub(super) fn build(mechanism: &Mechanism, timestep: Timestep, settings: &Settings) -> Result<Self, BuildError> {
        let (rapier_world, fixture, rays) = build::build(mechanism, timestep, settings)?;
        let mut engine = Self {
            contacts: Contacts::new(mechanism, timestep.seconds(), settings.substeps),
            bodies: mechanism.bodies.iter().map(state::before_first_step).collect(),
            joints: vec![JointState::ZERO; mechanism.joints.len()],
            events: Vec::new(),
            pushed: Vec::new(),
            rays,
            world: rapier_world,
            fixture,
        };
        engine.read_state();
        Ok(engine)
    }

    fn read_state(&mut self) {
        state::read_bodies(&self.world, &self.fixture, &self.contacts, &mut self.bodies, &mut self.events);
        state::read_joints(&self.world, &self.fixture, &self.bodies, &mut self.joints);
    }
}

impl Engine for Rapier {
    fn identity(&self) -> EngineIdentity {
        EngineIdentity { name: "rapier", version: "0.36.1", features: "f64,serde-serialize,enhanced-determinism" }
    }

    fn step(&mut self) {
        self.events.clear();
        self.rays.outdate();
        self.contacts.apply_rolling_torques(&mut self.world, &self.fixture.bodies, &self.bodies);
        self.world.step_with_events(&self.fixture.articulation, &());
        self.contacts.reset_rolling_torques(&mut self.world, &self.fixture.bodies);
        // Rapier applies forces until they are reset.
        for body in self.pushed.drain(..) {
            let body = &mut self.world.bodies[self.fixture.bodies[body.index()]];
            body.reset_forces(false);
            body.reset_torques(false);
        }
        self.contacts.read(&self.world, &self.fixture);
        self.read_state();
    }

    fn body(&self, body: BodyId) -> BodyState {
        self.bodies[body.index()]
    }

    fn joint(&self, joint: JointId) -> JointState {
        self.joints[joint.index()]
    }

    fn set_motor(&mut self, joint: JointId, axis: usize, motor: Motor) {
        if let Some(place) = self.fixture.articulation.rapier_axis(joint, axis) {
            articulation::set_motor(&mut self.world, place, &motor.servo_law(Gains::RAPIER));
        }
    }

    fn supports_motor(&self, joint: JointId, axis: usize) -> bool {
        self.fixture.articulation.rapier_axis(joint, axis).is_some()
    }

    fn apply_wrench(&mut self, body: BodyId, point: DVec3, Wrench { force, torque }: Wrench) {
        let at = self.bodies[body.index()].pose.point(point);
        let handle = self.fixture.bodies[body.index()];
        self.world.bodies[handle].add_force_at_point(force, at, true);
        self.world.bodies[handle].add_torque(torque, true);
        self.pushed.push(body);
    }

    fn ray_scene(&self) -> Arc<RayScene> {
        let colliders = self.fixture.colliders.iter().flatten();
        let poses = colliders.map(|&handle| *self.world.colliders[handle].position());
        self.rays.scene(poses, std::iter::empty())
    }

    fn contacts(&self) -> &[ContactPoint] {
        self.contacts.points()
    }

    fn step_events(&self) -> &[StepEvent] {
        &self.events
    }

    fn snapshot(&self) -> Snapshot {
        let state = (&self.world, self.contacts.rolling());
        Snapshot(postcard::to_stdvec(&state).expect("rapier's sets and plain numbers always serialise"))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let (world, rolling): (PhysicsWorld, _) =
            postcard::from_bytes(&snapshot.0).map_err(|error| SnapshotError(error.to_string()))?;
        if world.bodies.len() != self.world.bodies.len() || world.colliders.len() != self.world.colliders.len() {
            return Err(SnapshotError("it holds other bodies".into()));
        }
        self.world = world;
        self.rays.outdate();
        self.contacts.set_rolling(rolling);
        self.contacts.read(&self.world, &self.fixture);
        self.events.clear();
        self.read_state();
        Ok(())
    }
}
