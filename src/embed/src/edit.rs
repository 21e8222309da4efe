//! World edits: robots are added, robots and objects are removed, and everything else continues.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner_description::{
    World,
    xml::{self, Newcomer, NewcomerFile, PortOffset},
};
use simpartner_model::Pose;
use simpartner_simulation::sim::Simulation;
use simpartner_wire::{
    protocol::{CommandBoard, Refusal, Spawn, SpawnSource},
    signal::Renumbering,
};

use crate::{EmbedError, EmbeddedSimulation, cameras::Cameras};

impl EmbeddedSimulation {
    /// Adds a robot. Returns its name. The channels are then all sensors and all actuators.
    ///
    /// # Errors
    /// The problems of the robot or of the resulting world, or the engine cannot continue in an edited world.
    pub fn spawn(&mut self, spawn: &Spawn) -> Result<String, EmbedError> {
        let placement = &spawn.placement;
        let newcomer = Newcomer {
            name: spawn.name.as_deref(),
            may_rename: spawn.may_rename,
            file: match &spawn.source {
                SpawnSource::File(file) => NewcomerFile::Named(file),
                SpawnSource::Text(text) => NewcomerFile::Text(text),
            },
            pose: Pose {
                translation: placement.position.map_or(DVec3::ZERO, DVec3::from_array),
                rotation: placement.orientation.map_or(DQuat::IDENTITY, DQuat::from_array),
            },
            fixed_base: spawn.fixed_base,
            port_offset: spawn.port_offset.map_or(PortOffset::Free, PortOffset::By),
        };
        let world = xml::add_robot(self.world(), &newcomer, &[])?;
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
