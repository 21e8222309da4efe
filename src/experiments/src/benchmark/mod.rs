//! The benchmark of grasps by Taylor and Drumwright (github.com/PositronicsLab/grasp-data, its wiki and its results, 2014 to 2016): how long does an
//! engine hold what it has grasped?
//!
//! Two scenarios: rows of blocks between two jaws ([`blocks`]), and an arm that swings a block ([`arm`]). Each makes the XML of its world, runs it
//! on the bare engine, and says by [`Figures`] how far the object moved in the hand. [`peers`] has the same worlds run by other engines,
//! [`published`] holds what the authors' engines did. The module knows neither sockets nor SQL, and no clock but the one it is given.

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

use hold::{Hold, Motion, Object};

/// Seconds that a published run lasted at most, s.
pub const PUBLISHED_SECONDS: f64 = 100.0;

/// Why a case cannot be run.
#[derive(Debug, Error)]
pub enum BenchmarkError {
    /// A world that cannot be read.
    #[error("{0}")]
    World(#[from] Diagnostics),
    /// A world that the engine refuses.
    #[error("{0}")]
    Engine(#[from] BuildError),
    /// A timestep that no engine takes.
    #[error("{0}")]
    Timestep(#[from] TimestepError),
    /// What an engine beside ours said when it failed.
    #[error("{0}")]
    Peer(String),
}

/// What our engine is called in tables.
pub const OURS: &str = "SimPartner";

/// A clock, s since some moment.
pub type Clock<'c> = &'c dyn Fn() -> f64;

/// What an engine made of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine and its settings.
    pub engine: String,
    /// What became of the hold.
    #[serde(flatten)]
    pub figures: Figures,
    /// Time that the steps took, s.
    pub wall_s: f64,
    /// Events of the engine's guards, by kind: how many, and the first in words. None from other engines.
    pub events: Vec<Event>,
    /// How well the joints of an arm followed their controller; empty where there is none.
    pub joints: Vec<JointError>,
}

/// How well a joint followed its controller, and how far it was from where ours was at the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointError {
    /// Its name.
    pub joint: String,
    /// The largest error of its angle, rad.
    pub largest_rad: f64,
    /// The root of the mean square of that error, rad.
    pub rms_rad: f64,
    /// How far it was at most from our engine's joint at the same time, rad; none for ours.
    pub apart_rad: Option<f64>,
}

/// What drives a world while it is held.
trait Controller {
    /// Before a step, at its time in s.
    fn drive(&mut self, engine: &mut dyn Engine, time: f64);
    /// After a step, at its time in s.
    fn look(&mut self, engine: &dyn Engine, time: f64);
}

/// Nothing does.
impl Controller for () {
    fn drive(&mut self, _: &mut dyn Engine, _: f64) {}

    fn look(&mut self, _: &dyn Engine, _: f64) {}
}

/// What an engine's guard saw in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Its kind.
    pub guard: String,
    /// In how many steps.
    pub steps: u64,
    /// When first, s.
    pub first_s: f64,
    /// The first one, in words.
    pub text: String,
}

/// A hold in our engine: the world, its jaws and its objects.
struct Grip {
    engine: Box<dyn Engine>,
    timestep: Timestep,
    gravity: Option<DVec3>,
    jaws: Vec<Watched>,
    objects: Vec<Watched>,
}

/// A body that is watched.
#[derive(Debug, Clone, Copy)]
struct Watched {
    id: BodyId,
    centre_of_mass: DVec3,
    object: Object,
}

impl Watched {
    fn motion(&self, engine: &dyn Engine) -> Motion {
        let BodyState { pose, linear_velocity, angular_velocity: spin, .. } = engine.body(self.id);
        Motion { pose, velocity: linear_velocity - spin.cross(pose.rotation * self.centre_of_mass), spin }
    }
}

fn motions(watched: &[Watched], engine: &dyn Engine) -> Vec<Motion> {
    watched.iter().map(|body| body.motion(engine)).collect()
}

impl Grip {
    /// The world at step 0; `jaw` and `object` say by its name what a body is.
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
                Ok(Watched { id, centre_of_mass: mass.centre_of_mass, object })
            });
            each.collect::<Result<Vec<_>, BuildError>>()
        };
        let (jaws, objects) = (watched(&jaw)?, watched(&object)?);
        Ok(Self { engine, timestep, gravity: Some(world.mechanism.gravity), jaws, objects })
    }

    /// Lets so many seconds pass, or fewer if the objects are lost. What drives it counts as part of the steps.
    fn run(mut self, seconds: f64, clock: Clock, controller: &mut dyn Controller) -> Outcome {
        let at_start = motions(&self.objects, &*self.engine);
        let objects: Vec<(Object, Motion)> = self.objects.iter().map(|body| body.object).zip(at_start).collect();
        let mut hold = Hold::new(&motions(&self.jaws, &*self.engine), &objects, self.gravity, seconds);
        let (mut wall_s, mut events) = (0.0, Vec::<Event>::new());
        let timestep = self.timestep.seconds();
        for step in 1..=self.timestep.steps_in(seconds) {
            let begin = clock();
            controller.drive(&mut *self.engine, (step - 1) as f64 * timestep);
            self.engine.step();
            wall_s += clock() - begin;
            let time = step as f64 * timestep;
            tell(&*self.engine, time, &mut events);
            controller.look(&*self.engine, time);
            hold.look(time, &motions(&self.jaws, &*self.engine), &motions(&self.objects, &*self.engine));
            if hold.is_lost() {
                break;
            }
        }
        Outcome { engine: OURS.into(), figures: hold.figures(), wall_s, events, joints: Vec::new() }
    }
}

fn tell(engine: &dyn Engine, time: f64, events: &mut Vec<Event>) {
    for notice in engine.notices() {
        let guard = format!("{:?}", notice.guard);
        match events.iter_mut().find(|event| event.guard == guard) {
            Some(event) => event.steps += 1,
            None => events.push(Event { guard, steps: 1, first_s: time, text: notice.text.clone() }),
        }
    }
}

/// Reads the text of a world.
fn world(text: &str) -> Result<World, BenchmarkError> {
    match xml::read_text("worlds/benchmark.xml", text)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        other => unreachable!("the benchmark writes worlds, not {other:?}"),
    }
}
