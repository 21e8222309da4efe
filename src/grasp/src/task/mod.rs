//! Grasp tasks in the engine: a gripper begins before an object, approaches it, closes, and lifts.
//!
//! A [`Scene`] is a mechanism with a [`GraspTask`](simpartner_model::GraspTask), prepared once. [`Scene::run`] makes one task of it: an engine of its own, four states
//! ([`State`]), and an [`Outcome`] with one of the [`Status`]es. It depends on nothing but the scene and the target, so tasks may be run in any
//! order and on any number of threads. After RobWorkSim's `GraspTaskSimulator`, whose conditions are the defaults.
//!
//! The hand hangs on three slides: the only joints between the world and the body with the tool frame that move. The gripper as a whole is turned so
//! that the tool is as the target wants it; then the slides carry it along straight lines.

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
    /// Makes one task, to its end.
    ///
    /// # Errors
    /// When the engine cannot represent the scene, which does not depend on the target.
    pub fn run(&self, target: &Pose) -> Result<Outcome, BuildError> {
        let mechanism = self.mechanism_at(target);
        if let Some(status) = self.collision(&mechanism)? {
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

    fn build(&self, mechanism: &simpartner_model::Mechanism) -> Result<Box<dyn Engine>, BuildError> {
        simpartner_dynamics::build(mechanism, self.task().timestep, self.settings())
    }
}
