//! A simulation that is ready for its first step: what this makes, `run` starts and `check` calls right.

use std::sync::Arc;

use simpartner_description::{
    Sequence, Timeline, Warning, World,
    xml::{Diagnostic, Diagnostics},
};

use super::{CliError, properties::Properties, run};
use crate::sim::{self, Simulation};

/// A simulation with its sequence in place.
pub(super) struct Prepared {
    pub(super) simulation: Simulation,
    pub(super) timeline: Option<Timeline>,
}

/// Builds the whole simulation that the settings ask for: the engine, the devices, the members of the lockstep, the commands of
/// the sequence.
///
/// # Errors
/// What of the files or the settings cannot be simulated, with its place.
pub(super) fn prepare(
    world: &Arc<World>,
    sequence: Option<&Sequence>,
    properties: &Properties,
) -> Result<Prepared, CliError> {
    let settings = &properties.simulation;
    let at = |place: &str, what: String| Diagnostics::from(Diagnostic::at_place(place, &world.sources, what));
    let physics = properties.physics.clone();
    let mut simulation = Simulation::seeded(Arc::clone(world), settings.timestep, physics, settings.seed)
        .map_err(|error| at(&error.place, error.what))?;
    run::lockstep(properties, simulation.layout())?;
    let timeline = sequence.map(|sequence| sequence.timeline(settings.timestep));
    if let Some(timeline) = &timeline {
        simulation.schedule(timeline).map_err(|error| at(&error.place, error.what))?;
    }
    Ok(Prepared { simulation, timeline })
}

/// What of a world that can be simulated is hardly meant; `alone` is a robot without a world.
///
/// # Errors
/// When the world cannot be built.
pub(super) fn warnings(world: &World, alone: bool, properties: &Properties) -> Result<Vec<Warning>, CliError> {
    let mut warnings = sim::warnings(world, alone)?;
    warnings.extend(taken_ports(world, properties));
    Ok(warnings)
}

/// Ports of the model that the server wants for itself.
fn taken_ports(world: &World, properties: &Properties) -> Vec<Warning> {
    let own = [
        (properties.server.control_port, "server.control_port"),
        (properties.viewer_port.unwrap_or_default(), "viewer.port"),
    ];
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
