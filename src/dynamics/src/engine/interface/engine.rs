//! The trait [`Engine`] for this engine.

use std::{any::Any, sync::Arc};

use bevy_math::DVec3;
use simpartner_model::{BodyId, JointId, Mechanism, Pose, RutDepths, Timestep};

use super::{
    build,
    command_limits::{bounded_servo, bounded_vector, bounded_velocity, bounded_wrench},
};
use crate::{
    BodyState, BuildError, ContactPoint, EnergyBalance, Engine, EngineIdentity, JointState, PreviousIds, RayScene, Rut,
    RutChanges, RutTile, Settings, Snapshot, SnapshotError, SoilReading, StepEvent, Wrench,
    engine::{
        collision::{Contact, SharedParts},
        islands::island::Islands,
        scheme::Scheme,
        state::{
            addresses::JointAddress,
            workspace::{ExternalWrench, Work},
        },
        stepping::{
            impact_search::Impacts,
            retry_groups::RetryGroups,
            sleep,
            step_validation::StepChecks,
            world::{Dynamics, Model},
        },
    },
    motor::Gains,
};

impl Dynamics {
    /// Builds the world at step 0, with the `shared` parts of an engine of the same model, if there is one.
    pub(crate) fn build(
        mechanism: &Mechanism,
        timestep: Timestep,
        settings: &Settings,
        shared: Option<&Arc<SharedParts>>,
    ) -> Result<Self, BuildError> {
        let built = build::build(mechanism, shared)?;
        let rest_speed = |tree| settings.auto_disable.then(|| sleep::rest_speed(built.collider.smallest_size(tree)));
        let mut sleepers: Vec<Option<f64>> = (0..built.trees.len()).map(rest_speed).collect();
        for (place, body) in built.bodies.iter().zip(&mechanism.bodies) {
            sleepers[place.tree] = sleepers[place.tree].filter(|_| body.robot.is_none());
        }
        let mut engine = Self {
            model: Model {
                shared: built.shared,
                timestep: timestep.seconds(),
                substeps: settings.substeps,
                sleepers,
                bodies: built.bodies,
                joints: built.joints,
                static_structures: (0..built.trees.len())
                    .filter(|&tree| built.trees[tree].is_static_structure())
                    .collect(),
            },
            scheme: Scheme {
                h: timestep.seconds() / settings.substeps as f64,
                time_fraction: 1.0,
                lookahead: timestep.seconds() / settings.substeps as f64,
                is_impact_instant: false,
                gravity: mechanism.gravity,
                correction: CORRECTION_FRACTION,
                correction_speed: settings.contact_max_correcting_velocity_m_per_s,
                surface_layer: settings.dynamics.contact_surface_layer_m,
                budget: settings.dynamics.max_sweeps as f64,
                budget_fraction: 1.0,
                integrator: settings.dynamics.integrator,
            },
            islands: Islands::default(),
            groups: RetryGroups::default(),
            impacts: Impacts::new(settings.dynamics.impact_law),
            checks: StepChecks::new(mechanism, &settings.dynamics, &built.trees),
            wrenches: vec![Wrench::default(); mechanism.bodies.len()],
            // Copied lists are contiguous in memory, which makes many trees faster to read; as built they are
            // scattered.
            trees: built.trees.clone(),
            collider: built.collider,
            loop_joints: built.loop_joints,
            contacts: Vec::new(),
            pushed: Vec::new(),
            pool: thread_pool(settings.dynamics.threads),
        };
        // Fast bodies are found from the first step on.
        engine.collider.find_contacts(&engine.trees, timestep.seconds());
        Ok(engine)
    }
}

impl Engine for Dynamics {
    fn identity(&self) -> EngineIdentity {
        let features = "parry3d-f64 0.31 enhanced-determinism";
        EngineIdentity { name: "dynamics", version: env!("CARGO_PKG_VERSION"), features }
    }

    fn build_sharing(
        &self,
        mechanism: &Mechanism,
        timestep: Timestep,
        settings: &Settings,
    ) -> Result<Option<Box<dyn Engine>>, BuildError> {
        Ok(Some(Box::new(Self::build(mechanism, timestep, settings, Some(&self.model.shared))?)))
    }

    fn step(&mut self) {
        self.advance_step();
    }

    fn body(&self, body: BodyId) -> BodyState {
        self.body_state(body)
    }

    fn joint(&self, joint: JointId) -> JointState {
        self.joint_state(joint.index())
    }

    fn set_motor(&mut self, joint: JointId, axis: usize, motor: crate::Motor) {
        let motor = bounded_servo(motor.servo_law(Gains::DYNAMICS));
        match self.model.joints[joint.index()] {
            JointAddress::Tree { tree, dofs, sign, .. } => {
                if let Some(dof) = dofs[axis] {
                    self.trees[tree].set_motor(dof, motor.with_sign(sign));
                }
            }
            JointAddress::LoopJoint(loop_joint) => {
                let loop_joint = &mut self.loop_joints[loop_joint];
                if loop_joint.set_motor(axis, motor) {
                    self.trees[loop_joint.a.tree].wake();
                    self.trees[loop_joint.b.tree].wake();
                }
            }
        }
    }

    fn soil_reading(&self, body: BodyId) -> Option<SoilReading> {
        self.collider.soil_under(body)
    }

    fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.collider.ruts(ground)
    }

    fn rut_depths(&self, into: &mut Vec<(usize, RutDepths)>) {
        into.extend(self.collider.rut_depths());
    }

    fn take_changed_ruts(&mut self, into: &mut Vec<RutTile>) -> RutChanges {
        self.collider.take_changed_ruts(into)
    }

    fn set_surface_velocity(&mut self, body: BodyId, velocity: DVec3) -> bool {
        if self.collider.set_surface_velocity(body, bounded_velocity(velocity)) {
            let place = self.model.bodies[body.index()].side();
            let touches = |contact: &&Contact| contact.sides().any(|side| side == place);
            for side in self.collider.contacts.iter().filter(touches).flat_map(Contact::sides) {
                self.trees[side.tree].wake();
            }
        }
        true
    }

    fn surface_velocity(&self, body: BodyId) -> DVec3 {
        self.collider.surface_velocity(body)
    }

    fn apply_wrench(&mut self, body: BodyId, point: DVec3, wrench: Wrench) {
        let place = &self.model.bodies[body.index()];
        self.pushed.push(place.tree);
        let (point, wrench) = (place.frame.point(bounded_vector(point)), bounded_wrench(wrench));
        self.trees[place.tree].add_external_wrench(ExternalWrench { link: place.link, point, wrench });
    }

    fn set_pose_obstacle(&self, body: BodyId) -> Option<&'static str> {
        self.pose_override_obstacle(body)
    }

    fn set_pose(&mut self, body: BodyId, pose: &Pose, linear_velocity: DVec3, angular_velocity: DVec3) {
        if self.pose_override_obstacle(body).is_none() {
            self.set_state(body, pose, linear_velocity, angular_velocity);
        }
    }

    fn ray_scene(&self) -> Arc<RayScene> {
        self.collider.ray_scene(&self.trees)
    }

    fn contacts(&self) -> &[ContactPoint] {
        &self.contacts
    }

    fn energy_balance(&self) -> Option<EnergyBalance> {
        let sum = |part: fn(&Work) -> f64| self.trees.iter().map(|tree| part(&tree.work)).sum();
        Some(EnergyBalance {
            stored: sum(|work| work.energy),
            kinetic: sum(|work| work.kinetic),
            supplied: sum(|work| work.step_work),
        })
    }

    fn solver_cost(&self) -> Option<f64> {
        Some(self.trees.iter().map(|tree| tree.work.used_work).fold(0.0, f64::max))
    }

    fn step_events(&self) -> &[StepEvent] {
        self.checks.events()
    }

    fn snapshot(&self) -> Snapshot {
        self.snapshot_bytes()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.restore_snapshot(snapshot)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn adopt_state(&mut self, from: &dyn Engine, previous_ids: &PreviousIds) -> bool {
        let old = from.as_any().and_then(|engine| engine.downcast_ref::<Self>());
        old.into_iter().for_each(|old| self.take_state_of(old, previous_ids));
        old.is_some()
    }
}

/// Fraction of a penetration that is removed in a substep (ODE's default of its error reduction parameter): nine tenths
/// are removed after ten substeps.
const CORRECTION_FRACTION: f64 = 0.2;

/// Pool of threads to share islands between, including the present one; `None` for one thread. If the system does not
/// provide more threads, the same work is done on one.
fn thread_pool(count: usize) -> Option<rayon::ThreadPool> {
    if count < 2 {
        return None;
    }
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(|index| format!("island-{index}")).build();
    pool.inspect_err(|error| tracing::warn!("islands are solved on one thread: {error}")).ok()
}
