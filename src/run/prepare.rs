//! Preparation of a simulation up to its first step: `run` then starts it, and `check` accepts a model from which it
//! can be built.

use std::{path::Path, sync::Arc};

use simpartner_description::{
    Sequence, Timeline, Warning, World,
    xml::{self, Diagnostic, Diagnostics},
};
use simpartner_dynamics::{BuildError, MassProperties};
use simpartner_model::{RobotId, StepIndex};
use simpartner_wire::{
    protocol::{self, Refusal},
    signal::{Layout, Member},
};

use super::error::RunError;
use crate::{
    config::{Config, LockstepConfig},
    realtime::{LockstepSettings, Mode},
    recorder::{Origin, RunDescription},
    sim::{self, Simulation},
};

/// A simulation that is ready to run, with its configuration.
pub struct Job {
    /// The simulation, with the commands of its sequence scheduled.
    pub simulation: Simulation,
    /// Configuration of the run.
    pub config: Config,
    /// The last step; `None` if the run does not end by itself.
    pub end: Option<StepIndex>,
    /// The run that this one continues; `None` if it starts from the model.
    pub origin: Option<Origin>,
}

impl Job {
    /// Reads the world or robot that the configuration names, and the sequence if there is one, and builds the
    /// simulation.
    ///
    /// # Errors
    /// The files have errors, or contents that cannot be simulated; the error gives the place.
    pub fn read(config: Config, sequence: Option<&Path>) -> Result<Self, RunError> {
        let settings = &config.simulation;
        let world = xml::read_world_or_robot(&settings.world_file, settings.fixed_base, &settings.parameters)?;
        let world = Arc::new(world);
        let sequence = sequence.map(xml::read_sequence).transpose()?;
        Self::new(&world, sequence.as_ref(), config)
    }

    /// Builds the simulation of a world that has been read: the engine, the devices, the members of the lockstep. The
    /// commands of the sequence count from step 0.
    ///
    /// # Errors
    /// The world or the settings cannot be simulated; the error gives the place.
    pub fn new(world: &Arc<World>, sequence: Option<&Sequence>, config: Config) -> Result<Self, RunError> {
        let at = |place: &str, what: String| Diagnostics::from(Diagnostic::at_place(place, &world.sources, what));
        let mut simulation = build_simulation(world, &config).map_err(|error| at(&error.place, error.what))?;
        lockstep(&config, simulation.layout())?;
        let timeline = sequence.map(|sequence| sequence.timeline(config.simulation.timestep));
        if let Some(timeline) = &timeline {
            simulation.schedule(timeline).map_err(|error| at(&error.place, error.what))?;
        }
        let end = end_of(&config, timeline.as_ref());
        Ok(Self { simulation, config, end, origin: None })
    }

    /// Warnings: the world can be simulated, but these parts of it are probably mistakes.
    ///
    /// # Errors
    /// The world cannot be built.
    pub fn warnings(&self) -> Result<Vec<Warning>, RunError> {
        warnings(self.simulation.world(), false, &self.config)
    }

    /// The built-in files that a world from the file system includes; none if all of its files are built in.
    pub fn built_in_files(&self) -> Vec<&str> {
        let sources = &self.simulation.world().sources;
        let built_in: Vec<&str> =
            sources.iter().map(|file| file.path.as_str()).filter(|path| xml::is_built_in(path)).collect();
        if built_in.len() < sources.len() { built_in } else { Vec::new() }
    }
}

/// Builds the simulation of a world at step 0 with a configuration's physics and seed.
///
/// # Errors
/// The engine cannot represent something in the world.
pub fn build_simulation(world: &Arc<World>, config: &Config) -> Result<Simulation, BuildError> {
    let settings = &config.simulation;
    Simulation::seeded(Arc::clone(world), settings.timestep, config.physics.clone(), settings.seed)
}

/// The step that ends the run: the configured duration, or in fast mode the end of a sequence that waits for no
/// reading.
fn end_of(config: &Config, timeline: Option<&Timeline>) -> Option<StepIndex> {
    let settings = &config.simulation;
    let duration = settings.duration_s.map(|duration| settings.timestep.steps_in(duration));
    let sequence = timeline.filter(|_| settings.mode == Mode::Fast).and_then(Timeline::fixed_steps);
    duration.or(sequence).map(StepIndex)
}

/// Settings of the lockstep. Its members are the configured ports, or by default the combined ports of all robots.
pub(super) fn lockstep(config: &Config, layout: &Layout) -> Result<LockstepSettings, RunError> {
    let LockstepConfig { members, timeout, on_timeout } = &config.lockstep;
    let named = members.iter().map(|name| protocol::lockstep_member(layout, name));
    let mut members = named.collect::<Result<Vec<_>, _>>().map_err(|refusal| {
        let what = match refusal {
            Refusal::Parameter(what) => what,
            other => other.to_string(),
        };
        RunError::Setting { key: "lockstep.members", what }
    })?;
    if members.is_empty() {
        members = (0..layout.robots().len()).map(|index| Member::Robot(RobotId::new(index))).collect();
    }
    if members.is_empty() && config.simulation.mode == Mode::Lockstep {
        let what = "lockstep needs a robot to wait for, and the world has none".into();
        return Err(RunError::Setting { key: "simulation.mode", what });
    }
    Ok(LockstepSettings { members, timeout: *timeout, on_timeout: *on_timeout })
}

/// Target of this build: architecture and operating system. Floating-point results may differ between targets.
pub fn target() -> String {
    format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Description of the run as a whole, for the log.
pub(super) fn describe(simulation: &Simulation, config: &Config) -> RunDescription {
    let world = simulation.world();
    // The engine was built with these masses, so they can be computed.
    let mass = |body| simpartner_dynamics::mass_properties(body).unwrap_or(MassProperties::ZERO);
    RunDescription {
        world: Arc::clone(world),
        layout: Arc::clone(simulation.layout()),
        masses: world.mechanism.bodies.iter().map(mass).collect(),
        timestep: simulation.timestep(),
        properties: config.effective_text().to_owned(),
        engine: simulation.engine_identity(),
        target: target(),
        mode: config.simulation.mode,
        realtime_grants: String::new(),
        origin: None,
    }
}

/// Warnings: the world can be simulated, but these parts of it are probably mistakes. `alone` is true for a robot
/// without a world.
///
/// # Errors
/// The world cannot be built.
pub fn warnings(world: &World, alone: bool, config: &Config) -> Result<Vec<Warning>, RunError> {
    let mut warnings = sim::warnings(world, alone)?;
    warnings.extend(taken_ports(world, config));
    Ok(warnings)
}

/// Warnings for ports of the model that the server also opens for itself.
fn taken_ports(world: &World, config: &Config) -> Vec<Warning> {
    let own =
        [(config.server.control_port, "server.control_port"), (config.viewer_port.unwrap_or_default(), "viewer.port")];
    let devices = world.devices.iter().map(|device| (device.port.number(), &device.name, &device.source));
    let robots = world.robots().map(|(robot, port)| (port.number(), &robot.name, &robot.source));
    let clashes = devices.chain(robots).filter(|(port, _, _)| *port != 0);
    let clashes = clashes.filter_map(|(port, name, place)| {
        let (_, setting) = own.iter().find(|(taken, _)| *taken == port)?;
        Some(Warning {
            place: place.clone(),
            what: format!("port {port} of '{name}' is also the {setting}, so no server can open both"),
            help: format!("give it another port, or 0 for a free one; or set {setting}"),
        })
    });
    clashes.collect()
}
