//! Forks: a logged run is repeated up to a step, and a new run continues from there with changes.

use std::sync::Arc;

use simpartner_description::{Parameter, Parameters, Sequence, xml};
use simpartner_model::StepIndex;
use simpartner_wire::signal::{Command, Renumbering};

use super::{error::ReplayError, repeat::Replay};
use crate::{
    analysis::Progress,
    config::{Config, Override},
    recorder::Origin,
    run::{self, Job},
    sim::Simulation,
};

/// Settings that a fork cannot change, since they belong to the state that it starts from.
const FIXED_SETTINGS: [&str; 3] = ["simulation.world_file", "simulation.timestep_s", "physics.engine"];

/// Changes of a fork.
#[derive(Debug, Clone, Copy)]
pub struct ForkOptions<'a> {
    /// Last step of the original run; the new run begins after it.
    pub at: StepIndex,
    /// Settings of the new run that differ.
    pub overrides: &'a [Override<'a>],
    /// Commands of the new run.
    pub commands: ForkCommands<'a>,
    /// Duration of the new run, simulated s; `None` continues to the end of the original run or of the sequence.
    pub duration_s: Option<f64>,
}

/// The commands that a fork plays.
#[derive(Debug, Clone, Copy)]
pub enum ForkCommands<'a> {
    /// The commands of the original run.
    OfTheRun,
    /// No commands.
    None,
    /// The commands of a sequence, whose steps count from the step of the fork.
    Of(&'a Sequence),
}

/// Repeats the run up to the step of the fork, and prepares the new run for [`run::run`].
///
/// # Errors
/// An option does not fit the run, or the run is not reproduced up to that step.
pub fn fork(mut replay: Replay, options: &ForkOptions<'_>, progress: &mut dyn Progress) -> Result<Job, ReplayError> {
    let (run, at) = (replay.run.simulation_id, options.at);
    replay.check_has(at)?;
    if let Some(duration) = options.duration_s.filter(|duration| !(duration.is_finite() && *duration > 0.0)) {
        return Err(ReplayError::Duration(duration));
    }
    let config = forked_config(&replay, options.overrides)?;
    replay.go_to(at, progress)?;
    let mut simulation = run::build_simulation(replay.simulation.world(), &config)?;
    let restored = simulation.restore(&replay.simulation.snapshot());
    restored.map_err(|error| ReplayError::OtherSettings { step: at, error })?;
    if let Some(changed) = with_changed_parameters(&simulation, &config, options.overrides)? {
        let numbers = Renumbering::new(simulation.layout(), changed.layout());
        // The new run begins here, so nothing remains of the old one to be logged.
        simulation.go_on_in(changed, &numbers).map_err(|_| ReplayError::FixedParameters)?;
    }
    // The snapshot is taken before any command is submitted, since commands for the next step act on the devices at
    // once.
    let origin =
        Origin { parent: Some(run), step: at, chain_head: replay.chain.head(), state: simulation.snapshot().into() };
    let mut end = Some(replay.provenance.last);
    match options.commands {
        ForkCommands::OfTheRun => copy_commands(&mut replay, &mut simulation, at)?,
        ForkCommands::None => {}
        ForkCommands::Of(sequence) => {
            let timeline = sequence.timeline(config.simulation.timestep);
            end = timeline.fixed_steps().map(|steps| at.after(steps));
            simulation.schedule(&timeline)?;
        }
    }
    if let Some(duration) = options.duration_s {
        end = Some(at.after(config.simulation.timestep.steps_in(duration)));
    }
    Ok(Job { simulation, config, end, origin: Some(origin) })
}

/// The simulation at step 0 of the same world with the parameters that the fork changes; `None` if it changes none.
fn with_changed_parameters(
    simulation: &Simulation,
    config: &Config,
    overrides: &[Override<'_>],
) -> Result<Option<Simulation>, ReplayError> {
    let world = simulation.world();
    let mut parameters = Parameters::of_sources(&world.sources);
    let before = parameters.clone();
    for given in overrides {
        let Some(path) = given.parameter_path() else { continue };
        parameters.set(Parameter::of_parts(path, given.text)?)?;
    }
    if parameters == before {
        return Ok(None);
    }
    let changed = Arc::new(xml::with_parameters(world, parameters)?);
    Ok(Some(run::build_simulation(&changed, config)?))
}

/// The run's configuration with the overrides of the fork.
fn forked_config(replay: &Replay, overrides: &[Override<'_>]) -> Result<Config, ReplayError> {
    if let Some(fixed) = overrides.iter().find(|given| FIXED_SETTINGS.contains(&given.key)) {
        return Err(ReplayError::FixedSetting { name: fixed.name.to_owned(), key: fixed.key.to_owned() });
    }
    let mut config = replay.config(overrides)?;
    // The properties in the log have the database's address without its password.
    let is_overridden = overrides.iter().any(|given| given.key == "log.database");
    if let Some(log) = config.log.as_mut().filter(|_| !is_overridden) {
        log.database = replay.database().clone();
    }
    Ok(config)
}

/// Schedules the commands that the run had after a step.
fn copy_commands(replay: &mut Replay, simulation: &mut Simulation, at: StepIndex) -> Result<(), ReplayError> {
    let commands = replay.commands(at.0 + 1, replay.provenance.last.0)?;
    commands.into_iter().for_each(|(step, command)| simulation.submit(Command { at: Some(step), ..command }));
    Ok(())
}
