//! The benchmark of grasps by Taylor and Drumwright (github.com/PositronicsLab/grasp-data, its wiki and its results,
//! 2014 to 2016). It measures for how long an engine holds a grasped object in place.
//!
//! There are two scenarios: rows of blocks between two jaws ([`blocks`]), and an arm that swings a block ([`arm`]).
//! Each writes the XML of its world, runs it on the bare engine, and reports the displacement of the object in the hand
//! ([`Figures`]). [`peers`] runs the same worlds in other engines, and [`published`] holds the results of the authors'
//! engines. The module knows neither sockets nor SQL, and no clock but the one it is given.

pub mod arm;
pub mod blocks;
mod hold;
pub mod peers;
pub mod plots;
pub mod published;
pub mod report;
pub mod table;

use bevy_math::DVec3;
use serde::Serialize;
use simpartner_description::{
    World,
    xml::{self, Diagnostics, Document},
};
use simpartner_dynamics::{BodyState, BuildError, Engine, Settings, mass_properties};
use simpartner_model::{BodyId, Timestep, TimestepError};
use thiserror::Error;

pub use hold::{Figures, LEGACY_LIMIT, TAU};

use hold::{HoldMonitor, Motion, Object};

/// Largest duration of a published run, s.
pub const PUBLISHED_SECONDS: f64 = 100.0;

/// Errors in running a case.
#[derive(Debug, Error)]
pub enum BenchmarkError {
    /// The world cannot be read.
    #[error("{0}")]
    World(#[from] Diagnostics),
    /// Our engine refuses the world.
    #[error("{0}")]
    Engine(#[from] BuildError),
    /// The timestep is out of range.
    #[error("{0}")]
    Timestep(#[from] TimestepError),
    /// Another engine failed; the text is its message.
    #[error("{0}")]
    Peer(String),
}

/// Name of our engine in tables.
pub const OURS: &str = "SimPartner";

/// A clock: seconds since an arbitrary moment.
pub type Clock<'c> = &'c dyn Fn() -> f64;

/// Result of a case with an engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine and its settings.
    pub engine: String,
    /// Figures of the hold.
    #[serde(flatten)]
    pub figures: Figures,
    /// Wall time of the steps, s.
    pub wall_s: f64,
    /// Exceptional events of our engine, one entry for each check; empty for other engines.
    pub events: Vec<Event>,
    /// Tracking errors of an arm's joints; empty without an arm.
    pub joints: Vec<JointError>,
}

/// Tracking error of a joint, and its difference from the same joint in our engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointError {
    /// Name of the joint.
    pub joint: String,
    /// Largest difference between the joint's angle and the controller's target, rad.
    pub largest_rad: f64,
    /// Root mean square of that difference, rad.
    pub rms_rad: f64,
    /// Largest difference from our engine's angle at the same time, rad; `None` for our engine.
    pub apart_rad: Option<f64>,
}

/// A controller that drives a world during a hold.
trait Controller {
    /// Sets motors before a step that begins at this time, s.
    fn set_motors(&mut self, engine: &mut dyn Engine, time: f64);
    /// Reads the state after a step that ends at this time, s.
    fn read_state(&mut self, engine: &dyn Engine, time: f64);
}

/// A controller that does nothing.
impl Controller for () {
    fn set_motors(&mut self, _: &mut dyn Engine, _: f64) {}

    fn read_state(&mut self, _: &dyn Engine, _: f64) {}
}

/// Exceptional events of one check in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Name of the check.
    pub guard: String,
    /// Number of steps with such an event.
    pub steps: u64,
    /// Time of the first event, s.
    pub first_s: f64,
    /// Text of the first event.
    pub text: String,
}

/// A hold in our engine: the world, its jaws and its objects.
struct Grip {
    engine: Box<dyn Engine>,
    timestep: Timestep,
    gravity: Option<DVec3>,
    jaws: Vec<MonitoredBody>,
    objects: Vec<MonitoredBody>,
}

/// A body whose motion is monitored.
#[derive(Debug, Clone, Copy)]
struct MonitoredBody {
    id: BodyId,
    centre_of_mass: DVec3,
    object: Object,
}

impl MonitoredBody {
    /// Motion of the body's origin.
    fn motion(&self, engine: &dyn Engine) -> Motion {
        let BodyState { pose, linear_velocity, angular_velocity: spin, .. } = engine.body(self.id);
        Motion { pose, velocity: linear_velocity - spin.cross(pose.rotation * self.centre_of_mass), spin }
    }
}

fn motions(watched: &[MonitoredBody], engine: &dyn Engine) -> Vec<Motion> {
    watched.iter().map(|body| body.motion(engine)).collect()
}

impl Grip {
    /// Builds the world at step 0. `jaw` and `object` return true for the names of jaws and of objects.
    fn new(
        world: &World,
        timestep_s: f64,
        settings: &Settings,
        jaw: impl Fn(&str) -> bool,
        object: impl Fn(&str) -> bool,
    ) -> Result<Self, BenchmarkError> {
        let timestep = Timestep::from_seconds(timestep_s)?;
        let engine = simpartner_dynamics::build(&world.mechanism, timestep, settings)?;
        let watched = |wanted: &dyn Fn(&str) -> bool| {
            let all = world.mechanism.bodies().filter(|(_, body)| wanted(&body.name));
            let each = all.map(|(id, body)| {
                let mass = mass_properties(body).map_err(|what| BuildError { place: body.source.clone(), what })?;
                let object = Object { mass: mass.mass, tensor: mass.tensor };
                Ok(MonitoredBody { id, centre_of_mass: mass.centre_of_mass, object })
            });
            each.collect::<Result<Vec<_>, BuildError>>()
        };
        let (jaws, objects) = (watched(&jaw)?, watched(&object)?);
        Ok(Self { engine, timestep, gravity: Some(world.mechanism.gravity), jaws, objects })
    }

    /// Simulates this time, s, or less if the objects are lost. The wall time includes the controller.
    fn run(mut self, seconds: f64, clock: Clock, controller: &mut dyn Controller) -> Outcome {
        let at_start = motions(&self.objects, &*self.engine);
        let objects: Vec<(Object, Motion)> = self.objects.iter().map(|body| body.object).zip(at_start).collect();
        let mut hold = HoldMonitor::new(&motions(&self.jaws, &*self.engine), &objects, self.gravity, seconds);
        let (mut wall_s, mut events) = (0.0, Vec::<Event>::new());
        let timestep = self.timestep.seconds();
        for step in 1..=self.timestep.steps_in(seconds) {
            let begin = clock();
            controller.set_motors(&mut *self.engine, (step - 1) as f64 * timestep);
            self.engine.step();
            wall_s += clock() - begin;
            let time = step as f64 * timestep;
            count_events(&*self.engine, time, &mut events);
            controller.read_state(&*self.engine, time);
            hold.observe(time, &motions(&self.jaws, &*self.engine), &motions(&self.objects, &*self.engine));
            if hold.is_lost() {
                break;
            }
        }
        Outcome { engine: OURS.into(), figures: hold.figures(), wall_s, events, joints: Vec::new() }
    }
}

/// Counts the exceptional events of a step by their check.
fn count_events(engine: &dyn Engine, time: f64, events: &mut Vec<Event>) {
    for raised in engine.step_events() {
        let guard = format!("{:?}", raised.check);
        match events.iter_mut().find(|event| event.guard == guard) {
            Some(event) => event.steps += 1,
            None => events.push(Event { guard, steps: 1, first_s: time, text: raised.text.clone() }),
        }
    }
}

/// Reads the text of a world.
fn read_world(text: &str) -> Result<World, BenchmarkError> {
    match xml::read_text("worlds/benchmark.xml", text)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        other => unreachable!("the benchmark writes worlds, not {other:?}"),
    }
}
