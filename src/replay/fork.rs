//! A fork: a logged run repeated up to a step, and a new run that goes on from there with something changed.

use simpartner_description::Sequence;
use simpartner_model::StepIndex;
use simpartner_wire::signal::Command;

use super::{error::ReplayError, repeat::Replay};
use crate::{
    analysis::Progress,
    config::{Config, Override},
    recorder::Origin,
    run::{self, Job},
    sim::Simulation,
};

/// Settings that belong to the state that a fork starts from.
const FIXED: [&str; 3] = ["simulation.world_file", "simulation.timestep_s", "physics.engine"];

/// What a fork changes.
#[derive(Debug, Clone, Copy)]
pub struct ForkOptions<'a> {
    /// The step after which the new run differs.
    pub at: StepIndex,
    /// Settings that change there.
    pub overrides: &'a [Override<'a>],
    /// The commands from there on.
    pub commands: ForkCommands<'a>,
    /// Simulated seconds after the fork; `None` goes on to the end of the run or of the sequence.
    pub duration_s: Option<f64>,
}

/// The commands that a fork plays.
#[derive(Debug, Clone, Copy)]
pub enum ForkCommands<'a> {
    /// Those of the run.
    OfTheRun,
    /// None.
    None,
    /// Those of a sequence, counted from the step of the fork.
    Of(&'a Sequence),
}

/// Repeats the run as far as the fork, and prepares the new run, which [`run::run`] carries out.
///
/// # Errors
/// When an option does not fit the run, or the run is not reproduced up to that step.
pub fn fork(mut replay: Replay, options: &ForkOptions<'_>, progress: &mut dyn Progress) -> Result<Job, ReplayError> {
    let (run, at) = (replay.run.simulation_id, options.at);
    replay.check_has(at)?;
    if let Some(duration) = options.duration_s.filter(|duration| !(duration.is_finite() && *duration > 0.0)) {
        return Err(ReplayError::Duration(duration));
    }
    let config = forked_config(&replay, options.overrides)?;
    replay.restore_nearest_snapshot(at)?;
    if let Some(mismatch) = replay.advance(at, progress)? {
        return Err(ReplayError::NotReproduced { run, step: mismatch.step });
    }
    let mut simulation = run::build_simulation(replay.simulation.world(), &config)?;
    let restored = simulation.restore(&replay.simulation.snapshot());
    restored.map_err(|error| ReplayError::OtherSettings { step: at, error })?;
    // Before any command: what is submitted for the very next step acts on the devices at once.
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

/// The run's configuration with the overrides of the fork.
fn forked_config(replay: &Replay, overrides: &[Override<'_>]) -> Result<Config, ReplayError> {
    if let Some(fixed) = overrides.iter().find(|given| FIXED.contains(&given.key)) {
        return Err(ReplayError::FixedSetting { name: fixed.name.to_owned(), key: fixed.key.to_owned() });
    }
    let mut config = replay.config(overrides)?;
    // The properties in the log have the address without its password.
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
