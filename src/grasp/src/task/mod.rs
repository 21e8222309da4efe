//! Grasp tasks in the engine: a gripper starts in front of an object, approaches it, closes, and lifts it.
//!
//! A [`Scene`] is a mechanism with a [`GraspTask`](simpartner_model::GraspTask), prepared once. [`Scene::run`] carries
//! out one task: it has an engine of its own, four states ([`State`]), and an [`Outcome`] with a [`Status`]. The
//! outcome depends only on the scene and the target, so tasks may run in any order and on any number of threads. The
//! design follows RobWorkSim's `GraspTaskSimulator`, whose conditions are the defaults.
//!
//! The hand is carried by three slides, the only moving joints between the world and the body with the tool frame. At
//! the start the whole gripper is placed with the orientation that the target asks for. Then the slides move it along
//! straight lines.

mod engine;
mod error;
mod machine;
mod outcome;
mod scene;

pub use engine::TaskEngine;
pub use error::TaskError;
pub use machine::{Machine, State};
pub use outcome::{Measures, Outcome, Status, TaskContact, Times};
pub use scene::Scene;

use simpartner_dynamics::{BuildError, Engine};
use simpartner_model::Pose;

impl Scene {
    /// Carries out one task to its end. The target is `object_from_tcp`.
    ///
    /// # Errors
    /// The engine cannot represent the scene, which does not depend on the target.
    pub fn run(&self, target: &Pose) -> Result<Outcome, BuildError> {
        let mechanism = self.mechanism_at(target);
        if let Some(status) = self.initial_collision(&mechanism)? {
            return Ok(Outcome::of(status, target));
        }
        let mut engine = self.build(&mechanism)?;
        let mut machine = Machine::new(self, target);
        while !machine.has_ended() {
            machine.before_step(self, &mut *engine);
            engine.step();
            machine.after_step(self, &*engine);
        }
        Ok(machine.finish())
    }

    /// Builds an engine with the task's timestep.
    fn build(&self, mechanism: &simpartner_model::Mechanism) -> Result<Box<dyn Engine>, BuildError> {
        simpartner_dynamics::build(mechanism, self.task().timestep, self.settings())
    }
}
