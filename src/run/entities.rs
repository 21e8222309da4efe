//! The worlds in which a run goes on when robots come and go. The server knows neither files nor settings nor the log; this adapter knows them all.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use bevy_math::{DQuat, DVec3};
use simpartner_description::{
    World,
    xml::{self, Diagnostics, Newcomer, NewcomerFile, PortOffset},
};
use simpartner_model::Pose;
use simpartner_wire::{
    ports_file::PortsFile,
    protocol::{Spawn, SpawnSource},
};

use super::prepare;
use crate::{
    config::Config,
    recorder::{AnnouncedWorlds, RunDescription},
    server::Entities,
    sim::Simulation,
};

/// The next worlds of a run.
#[derive(Debug)]
pub(super) struct NextWorlds {
    config: Config,
    /// Where the log finds the next world; none without a log.
    log: OnceLock<(AnnouncedWorlds, String)>,
    /// The file of ports, written anew.
    ports_file: Mutex<Option<PathBuf>>,
}

impl NextWorlds {
    pub(super) fn new(config: &Config) -> Self {
        Self { config: config.clone(), log: OnceLock::new(), ports_file: Mutex::new(config.ports_file.clone()) }
    }

    /// Tells the log of worlds from now on, whose physics thread has these grants.
    pub(super) fn tell(&self, worlds: AnnouncedWorlds, grants: String) {
        // Of two, the first stays.
        let _ = self.log.set((worlds, grants));
    }

    /// From now on nothing is written: the file of ports is about to be removed.
    pub(super) fn close(&self) {
        *self.ports_file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn build(&self, world: Result<World, Diagnostics>, number: u32) -> Result<Simulation, String> {
        let world = Arc::new(world.map_err(|problems| in_a_line(&problems))?);
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
        let simulation = self.build(xml::add_robot(world, &newcomer, taken), number)?;
        // It stands behind all others.
        let name = simulation.world().mechanism.robots.last().map(|robot| robot.name.clone());
        Ok((simulation, name.unwrap_or_default()))
    }

    fn without(&self, world: &World, number: u32, name: &str) -> Result<Simulation, String> {
        self.build(xml::remove_entity(world, name), number)
    }

    fn spawnable(&self, world: &World) -> Vec<String> {
        world.sources.first().map(|own| xml::spawnable_robots(&own.path)).unwrap_or_default()
    }

    fn announce(&self, simulation: &Simulation) {
        if let Some((worlds, grants)) = self.log.get() {
            let description = prepare::describe(simulation, &self.config);
            worlds.announce(RunDescription { realtime_grants: grants.clone(), ..description });
        }
    }

    fn write_ports(&self, ports: &PortsFile) {
        let path = self.ports_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &*path
            && let Err(error) = ports.write(path)
        {
            tracing::warn!("the file of ports is not up to date: {error}");
        }
    }
}

/// The problems in one line.
fn in_a_line(problems: &Diagnostics) -> String {
    /// More are no help on a wire.
    const MOST: usize = 3;
    let told = problems.problems.iter().take(MOST).map(|problem| {
        let help = problem.help.as_deref().map_or(String::new(), |help| format!("; {help}"));
        format!("{}:{}:{}: {}{help}", problem.path, problem.line, problem.column, problem.message)
    });
    let mut line = told.collect::<Vec<_>>().join("; ");
    let more = problems.problems.len().saturating_sub(MOST) + problems.more;
    if more > 0 {
        line += &format!("; and {more} more");
    }
    line.replace(['\n', '\r'], " ")
}
