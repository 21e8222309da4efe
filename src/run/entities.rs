//! World edits of a run: the worlds in which it continues when robots are added or removed, or parameters
//! change. The server knows neither
//! files nor settings nor the log; this adapter knows them all.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use simpartner_description::{
    Parameter, ParameterError, Parameters, World,
    xml::{self, Diagnostics, Newcomer},
};
use simpartner_wire::{ports_file::PortsFile, protocol::Spawn};

use super::prepare;
use crate::{
    config::Config,
    recorder::{RunDescription, WorldRegistry},
    server::Entities,
    sim::Simulation,
};

/// Builder of the edited worlds of a run.
#[derive(Debug)]
pub(super) struct NextWorlds {
    config: Config,
    /// Registry in which the log finds the edited worlds, and the grants of the physics thread; unset without a log.
    log: OnceLock<(WorldRegistry, String)>,
    /// Path of the ports file, which is rewritten for each world; `None` if it is not written.
    ports_file: Mutex<Option<PathBuf>>,
}

impl NextWorlds {
    pub(super) fn new(config: &Config) -> Self {
        Self { config: config.clone(), log: OnceLock::new(), ports_file: Mutex::new(config.ports_file.clone()) }
    }

    /// Sets the registry of the log, and the grants of the physics thread. From now on edited worlds are registered for
    /// the log.
    pub(super) fn set_log(&self, worlds: WorldRegistry, grants: String) {
        // A second call has no effect.
        let _ = self.log.set((worlds, grants));
    }

    /// Stops writing the ports file, because it is about to be removed.
    pub(super) fn close(&self) {
        *self.ports_file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn build(&self, world: Result<World, Diagnostics>, number: u32) -> Result<Simulation, String> {
        let world = Arc::new(world.map_err(|problems| problems.one_line())?);
        let simulation = prepare::build_simulation(&world, &self.config).map_err(|error| error.to_string())?;
        Ok(simulation.of_world(number))
    }
}

impl Entities for NextWorlds {
    fn with_robot(
        &self,
        world: &World,
        number: u32,
        spawn: &Spawn,
        taken: &[u16],
    ) -> Result<(Simulation, String), String> {
        let newcomer = Newcomer::of_spawn(spawn);
        let simulation = self.build(xml::add_robot(world, &newcomer, taken), number)?;
        // The new robot is the last one.
        let name = simulation.world().mechanism.robots.last().map(|robot| robot.name.clone());
        Ok((simulation, name.unwrap_or_default()))
    }

    fn without(&self, world: &World, number: u32, name: &str) -> Result<Simulation, String> {
        self.build(xml::remove_entity(world, name), number)
    }

    fn with_parameter(&self, world: &World, number: u32, path: &str, value: &str) -> Result<Simulation, String> {
        let told = |error: ParameterError| error.to_string();
        let parameter = Parameter::of_parts(path, value).map_err(told)?;
        let mut parameters = Parameters::of_sources(&world.sources);
        parameters.set(parameter).map_err(told)?;
        self.build(xml::with_parameters(world, parameters), number)
    }

    fn spawnable(&self, world: &World) -> Vec<String> {
        world.sources.first().map(|own| xml::spawnable_robots(&own.path)).unwrap_or_default()
    }

    fn register_world(&self, simulation: &Simulation) {
        if let Some((worlds, grants)) = self.log.get() {
            let description = prepare::describe(simulation, &self.config);
            worlds.register(RunDescription { realtime_grants: grants.clone(), ..description });
        }
    }

    fn write_ports(&self, ports: &PortsFile) {
        let path = self.ports_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &*path
            && let Err(error) = ports.write(path)
        {
            tracing::warn!("the ports file cannot be updated: {error}");
        }
    }
}
