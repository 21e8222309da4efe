//! World edits: robots are added, robots and objects are removed, values of the model are replaced, and everything else
//! continues.

use std::sync::Arc;

use simpartner_description::{
    Parameter, Parameters, World,
    xml::{self, Newcomer},
};
use simpartner_simulation::sim::Simulation;
use simpartner_wire::{
    protocol::{CommandBoard, Refusal, Spawn},
    signal::Renumbering,
};

use crate::{EmbedError, EmbeddedSimulation, Options, cameras::Cameras};

impl EmbeddedSimulation {
    /// Adds a robot. Returns its name. The channels are then all sensors and all actuators.
    ///
    /// # Errors
    /// The problems of the robot or of the resulting world, or the engine cannot continue in an edited world.
    pub fn spawn(&mut self, spawn: &Spawn) -> Result<String, EmbedError> {
        let world = xml::add_robot(self.world(), &Newcomer::of_spawn(spawn), &[])?;
        // The new robot is the last one.
        let name = world.mechanism.robots.last().map(|robot| robot.name.clone());
        self.go_on_in(world)?;
        Ok(name.unwrap_or_default())
    }

    /// Removes a robot or an object of the world. The channels are then all sensors and all actuators.
    ///
    /// # Errors
    /// Nothing has this name, or something else depends on it, or the engine cannot continue in an edited world.
    pub fn remove(&mut self, name: &str) -> Result<(), EmbedError> {
        let world = xml::remove_entity(self.world(), name)?;
        self.go_on_in(world)
    }

    /// Replaces values of the model, in addition to those that are replaced already. Everything else continues. The
    /// channels stay selected.
    ///
    /// # Errors
    /// A path leads nowhere, a value is refused, or the engine cannot continue in an edited world.
    pub fn set_parameters(&mut self, parameters: &[Parameter]) -> Result<(), EmbedError> {
        let world = self.world_with(parameters)?;
        let channels = (self.sensors().clone(), self.actuators().clone());
        self.go_on_in(world)?;
        self.select(channels.0, channels.1);
        Ok(())
    }

    /// Builds the world anew at step 0, with values of the model replaced, and with this seed or the present one. The
    /// channels stay selected.
    ///
    /// # Errors
    /// A path leads nowhere, a value is refused, or the engine cannot represent the world with it.
    pub fn reset_with(&mut self, seed: Option<u64>, parameters: &[Parameter]) -> Result<(), EmbedError> {
        let world = Arc::new(self.world_with(parameters)?);
        let options = Options { seed: seed.unwrap_or(self.options.seed), ..self.options.clone() };
        let mut new = Self::new(world, options)?;
        new.select(self.sensors().clone(), self.actuators().clone());
        *self = new;
        Ok(())
    }

    /// The values of the model that are replaced.
    pub fn parameters(&self) -> Parameters {
        Parameters::of_sources(&self.world().sources)
    }

    fn world_with(&self, new: &[Parameter]) -> Result<World, EmbedError> {
        let mut parameters = self.parameters();
        for parameter in new {
            parameters.set(parameter.clone()).map_err(|error| Refusal::Parameter(error.to_string()))?;
        }
        Ok(xml::with_parameters(self.world(), parameters)?)
    }

    /// Names of the robot files that can be spawned.
    pub fn spawnables(&self) -> Vec<String> {
        self.world().sources.first().map(|own| xml::spawnable_robots(&own.path)).unwrap_or_default()
    }

    fn go_on_in(&mut self, world: World) -> Result<(), EmbedError> {
        let options = &self.options;
        let next = Simulation::seeded(Arc::new(world), options.timestep, options.physics.clone(), options.seed)?;
        let next = next.of_world(self.layout().world() + 1);
        let numbers = Renumbering::new(self.layout(), next.layout());
        if self.simulation.go_on_in(next, &numbers).is_err() {
            return Err(Refusal::State("this engine cannot continue in an edited world".into()).into());
        }
        *self.record = self.simulation.observe();
        self.board = Arc::new(CommandBoard::of_next(&self.board, self.simulation.layout(), &numbers));
        self.cameras = Cameras::default();
        self.cameras.take(&self.record, self.simulation.layout());
        self.select_all();
        Ok(())
    }
}
