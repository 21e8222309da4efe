//! An engine that carries out a grasp task, for programs that know engines and nothing of tasks.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_dynamics::{
    BodyState, BuildError, ContactPoint, EnergyBalance, Engine, EngineIdentity, JointState, Motor, RayScene, Rut,
    Snapshot, SnapshotError, SoilReading, StepEvent, Wrench,
};
use simpartner_model::{BodyId, JointId, Pose};

use super::{Machine, Scene};

/// An engine whose gripper carries out a task. [`Engine::step`] sets the gripper's motors first, and overrides what
/// others have set. The steps are those of [`Scene::run`], bit for bit. When the task has ended, the motors stay as
/// they are.
pub struct TaskEngine {
    scene: Arc<Scene>,
    machine: Machine,
    engine: Box<dyn Engine>,
}

impl TaskEngine {
    /// Creates an engine with a task at its start. The target is `object_from_tcp`.
    ///
    /// # Errors
    /// The engine cannot represent the scene.
    pub fn new(scene: Arc<Scene>, target: &Pose) -> Result<Self, BuildError> {
        let engine = scene.build(&scene.mechanism_at(target))?;
        Ok(Self { machine: Machine::new(&scene, target), scene, engine })
    }
}

impl Engine for TaskEngine {
    fn identity(&self) -> EngineIdentity {
        self.engine.identity()
    }

    fn step(&mut self) {
        if self.machine.has_ended() {
            return self.engine.step();
        }
        self.machine.before_step(&self.scene, &mut *self.engine);
        self.engine.step();
        self.machine.after_step(&self.scene, &*self.engine);
    }

    fn body(&self, body: BodyId) -> BodyState {
        self.engine.body(body)
    }

    fn joint(&self, joint: JointId) -> JointState {
        self.engine.joint(joint)
    }

    fn set_motor(&mut self, joint: JointId, axis: usize, motor: Motor) {
        self.engine.set_motor(joint, axis, motor);
    }

    fn supports_motor(&self, joint: JointId, axis: usize) -> bool {
        self.engine.supports_motor(joint, axis)
    }

    fn set_surface_velocity(&mut self, body: BodyId, velocity: DVec3) -> bool {
        self.engine.set_surface_velocity(body, velocity)
    }

    fn surface_velocity(&self, body: BodyId) -> DVec3 {
        self.engine.surface_velocity(body)
    }

    fn apply_wrench(&mut self, body: BodyId, point: DVec3, wrench: Wrench) {
        self.engine.apply_wrench(body, point, wrench);
    }

    fn set_pose_obstacle(&self, body: BodyId) -> Option<&'static str> {
        self.engine.set_pose_obstacle(body)
    }

    fn set_pose(&mut self, body: BodyId, pose: &Pose, linear_velocity: DVec3, angular_velocity: DVec3) {
        self.engine.set_pose(body, pose, linear_velocity, angular_velocity);
    }

    fn ray_scene(&self) -> Arc<RayScene> {
        self.engine.ray_scene()
    }

    fn contacts(&self) -> &[ContactPoint] {
        self.engine.contacts()
    }

    fn soil_reading(&self, body: BodyId) -> Option<SoilReading> {
        self.engine.soil_reading(body)
    }

    fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.engine.ruts(ground)
    }

    fn energy_balance(&self) -> Option<EnergyBalance> {
        self.engine.energy_balance()
    }

    fn step_events(&self) -> &[StepEvent] {
        self.engine.step_events()
    }

    /// The snapshot of the engine alone. The progress of the task is not part of it, since it follows from the steps.
    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.engine.restore(snapshot)
    }
}
