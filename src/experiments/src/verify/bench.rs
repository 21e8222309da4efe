//! The bench on which cases run: worlds from XML text on the chosen engine, with or without the devices of robots.

use std::{path::PathBuf, sync::Arc};

use bevy_math::{DQuat, DVec3};
use simpartner_description::{
    Timeline, World,
    xml::{self, Document},
};
use simpartner_dynamics::{BodyState, BuildError, Engine, EngineIdentity, Settings, StepCheck};
use simpartner_model::{BodyId, JointId, Mechanism, Pose, Timestep};
use simpartner_wire::signal::{EventKind, StepRecord};

use super::trouble::Trouble;
use simpartner_simulation::sim::Simulation;

/// Settings and files that all cases share.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Settings of the engine.
    pub settings: Settings,
    /// Folder of worlds. Robots and their sequences are in the folder `robots` beside it.
    pub worlds: PathBuf,
}

impl Bench {
    /// Identity of the engine.
    ///
    /// # Errors
    /// The engine cannot be built at all.
    pub fn engine(&self) -> Result<EngineIdentity, BuildError> {
        Ok(simpartner_dynamics::build(&Mechanism::default(), Timestep::MILLISECOND, &self.settings)?.identity())
    }

    /// Reads a world from its text, as if it were a file in the folder of worlds.
    ///
    /// # Errors
    /// The text, or a robot that it names, has problems.
    pub fn world(&self, text: &str) -> Result<World, Trouble> {
        let path = self.worlds.join("verify.xml");
        match xml::read_text(&path.to_string_lossy(), text)? {
            Document::World(world) | Document::Robot(world) => Ok(world),
            Document::Sequence(_) | Document::Assemblies(_) | Document::Grasp(_) | Document::GraspTask(_) => {
                unreachable!("a case writes the text of a world")
            }
        }
    }

    /// Reads a shipped world.
    ///
    /// # Errors
    /// The world, or a robot that it names, cannot be read.
    pub fn shipped(&self, file: &str) -> Result<World, Trouble> {
        Ok(xml::read_world(&self.worlds.join(file))?)
    }

    /// Builds a scene from the text of a world, at step 0.
    ///
    /// # Errors
    /// The text has problems, or the engine refuses the world.
    pub fn scene(&self, text: &str, timestep_s: f64) -> Result<Scene, Trouble> {
        self.stage(self.world(text)?, timestep_s)
    }

    /// Builds a scene from a world, at step 0.
    ///
    /// # Errors
    /// The engine refuses the world.
    pub fn stage(&self, world: World, timestep_s: f64) -> Result<Scene, Trouble> {
        Scene::new(world, timestep_of(timestep_s), &self.settings)
    }

    /// Builds a world with its robots and their devices, at step 0 and with the thesis's timestep of 1 ms.
    ///
    /// # Errors
    /// The engine refuses the world.
    pub fn drive(&self, world: World) -> Result<Drive, Trouble> {
        Drive::new(world, self)
    }
}

fn timestep_of(seconds: f64) -> Timestep {
    Timestep::from_seconds(seconds).expect("cases use whole microseconds of up to 10 ms")
}

/// A world on an engine, without devices.
pub struct Scene {
    /// The world.
    pub world: World,
    /// The engine.
    pub engine: Box<dyn Engine>,
    timestep: Timestep,
    step: u64,
}

impl Scene {
    fn new(world: World, timestep: Timestep, settings: &Settings) -> Result<Self, Trouble> {
        let engine = simpartner_dynamics::build(&world.mechanism, timestep, settings)
            .map_err(|error| Trouble::Engine(error.what))?;
        Ok(Self { world, engine, timestep, step: 0 })
    }

    /// Makes a step.
    ///
    /// # Errors
    /// The state of a body diverged.
    pub fn step(&mut self) -> Result<(), Trouble> {
        self.engine.step();
        self.step += 1;
        match self.engine.step_events().iter().find(|event| event.check == StepCheck::Divergence) {
            Some(event) => Err(Trouble::Engine(format!("diverged after {:.3} s: {}", self.time(), event.text))),
            None => Ok(()),
        }
    }

    /// Simulates this time, s, and calls `look` after each step.
    ///
    /// # Errors
    /// The state of a body diverged.
    pub fn watch(&mut self, seconds: f64, mut look: impl FnMut(&Self)) -> Result<(), Trouble> {
        for _ in 0..self.timestep.steps_in(seconds) {
            self.step()?;
            look(self);
        }
        Ok(())
    }

    /// Simulates this time, s.
    ///
    /// # Errors
    /// The state of a body diverged.
    pub fn pass(&mut self, seconds: f64) -> Result<(), Trouble> {
        self.watch(seconds, |_| {})
    }

    /// Simulated time since the scene was made, s.
    pub fn time(&self) -> f64 {
        self.timestep.nanoseconds() as f64 * self.step as f64 / 1e9
    }

    /// State of the object with this name.
    pub fn body(&self, name: &str) -> BodyState {
        self.engine.body(self.world.mechanism.body_named(None, name).expect("the case's text names this body"))
    }

    /// The joint with this name, between objects.
    pub fn joint(&self, name: &str) -> JointId {
        self.world.mechanism.joint_named(None, name).expect("the case's text names this joint")
    }

    /// Kinetic and potential energy of all bodies, J.
    pub fn energy(&self) -> f64 {
        let each = self.moving().map(|(state, mass, spin)| {
            let centre = state.pose.point(mass.centre_of_mass);
            0.5 * mass.mass * state.linear_velocity.length_squared() + 0.5 * spin.dot(mass.tensor * spin)
                - mass.mass * self.world.mechanism.gravity.dot(centre)
        });
        each.sum()
    }

    /// Momentum in N s and angular momentum about the origin in N m s.
    pub fn momenta(&self) -> (DVec3, DVec3) {
        self.moving().fold((DVec3::ZERO, DVec3::ZERO), |(p, l), (state, mass, spin)| {
            let momentum = state.linear_velocity * mass.mass;
            let centre = state.pose.point(mass.centre_of_mass);
            (p + momentum, l + centre.cross(momentum) + state.pose.rotation * (mass.tensor * spin))
        })
    }

    /// Mass of all bodies that move, kg.
    pub fn mass(&self) -> f64 {
        self.moving().map(|(_, mass, _)| mass.mass).sum()
    }

    /// State, mass properties and angular velocity in body axes of all bodies that move.
    fn moving(&self) -> impl Iterator<Item = (BodyState, simpartner_dynamics::MassProperties, DVec3)> {
        self.world.mechanism.bodies().filter(|(_, body)| !body.fixed).map(|(id, body)| {
            let state = self.engine.body(id);
            let mass = simpartner_dynamics::mass_properties(body).expect("the engine was built with these masses");
            (state, mass, state.pose.rotation.inverse() * state.angular_velocity)
        })
    }

    /// Largest opening of a joint, m: the distance between its anchor as the parent carries it and as the child does.
    pub fn joint_gap(&self) -> f64 {
        largest_gap(&self.world, |body| self.engine.body(body).pose)
    }
}

/// Largest distance, over all joints, between the anchor as the parent carries it and as the child does, m.
fn largest_gap(world: &World, pose: impl Fn(BodyId) -> Pose) -> f64 {
    let carried = |body: BodyId, anchor| pose(body).point(world.mechanism.body(body).pose.inverse().point(anchor));
    let gaps = world
        .mechanism
        .joints
        .iter()
        .map(|joint| carried(joint.parent, joint.anchor) - carried(joint.child, joint.anchor));
    gaps.map(DVec3::length).fold(0.0, f64::max)
}

/// A world with robots and devices, driven by sequences.
pub struct Drive {
    /// The simulation.
    pub simulation: Simulation,
    record: StepRecord,
    robots: PathBuf,
}

impl Drive {
    fn new(world: World, bench: &Bench) -> Result<Self, Trouble> {
        let simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, bench.settings.clone());
        let simulation = simulation.map_err(|error| Trouble::Engine(error.what))?;
        let record = simulation.observe();
        Ok(Self { simulation, record, robots: bench.worlds.join("..").join("robots") })
    }

    /// Schedules a shipped sequence from the next step on.
    ///
    /// # Errors
    /// The sequence cannot be read, or does not fit the robot.
    pub fn play(&mut self, file: &str) -> Result<Timeline, Trouble> {
        let timeline = xml::read_sequence(&self.robots.join(file))?.timeline(self.simulation.timestep());
        self.simulation.schedule(&timeline).map_err(|error| Trouble::Engine(error.to_string()))?;
        Ok(timeline)
    }

    /// Makes this number of steps, and calls `look` after each.
    ///
    /// # Errors
    /// The state of a body diverged.
    pub fn watch(&mut self, steps: u64, mut look: impl FnMut(&Self)) -> Result<(), Trouble> {
        for _ in 0..steps {
            self.record.commands.clear();
            self.record.events.clear();
            self.simulation.step(&mut self.record);
            if let Some(event) = self.record.events.iter().find(|event| event.kind == EventKind::Divergence) {
                return Err(Trouble::Engine(format!("diverged at step {}: {}", event.step, event.text)));
            }
            look(self);
        }
        Ok(())
    }

    /// The record of the last step.
    pub fn record(&self) -> &StepRecord {
        &self.record
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.simulation.timestep().seconds_at(self.simulation.step_index())
    }

    /// Ids of the bodies with these names in the first robot.
    pub fn bodies<const N: usize>(&self, names: [&str; N]) -> [BodyId; N] {
        let robot = Some(simpartner_model::RobotId::new(0));
        names.map(|name| {
            self.simulation.world().mechanism.body_named(robot, name).expect("the shipped robot has this body")
        })
    }

    /// Position of a body's origin, world frame, m.
    pub fn position(&self, body: BodyId) -> DVec3 {
        let values = &self.record.values[self.simulation.layout().pose(body)];
        DVec3::new(values[0], values[1], values[2])
    }

    /// The pose of a body, `world_from_body`.
    pub fn pose(&self, body: BodyId) -> Pose {
        let values = &self.record.values[self.simulation.layout().pose(body)];
        let rotation = DQuat::from_xyzw(values[3], values[4], values[5], values[6]);
        Pose { translation: self.position(body), rotation }
    }

    /// Contact force on a body, world frame, N.
    pub fn force(&self, body: BodyId) -> DVec3 {
        DVec3::from_slice(&self.record.values[self.simulation.layout().wrench(body)])
    }

    /// Largest opening of a joint, m: the distance between its anchor as the parent carries it and as the child does.
    pub fn joint_gap(&self) -> f64 {
        largest_gap(self.simulation.world(), |body| self.pose(body))
    }
}
