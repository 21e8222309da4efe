//! `simpartner fork`: a logged run made again up to a step, and gone on with from there as a run of its own.

use std::path::PathBuf;

use clap::Args;
use simpartner_description::xml;
use simpartner_model::StepIndex;
use simpartner_wire::signal::Command;

use super::{
    CliError, ExitStatus,
    again::{self, Again},
    logged::{Bar, LogArguments, RunName},
    output::note,
    properties::Flag,
    run::{self, Job},
};
use crate::{recorder::Origin, sim::Simulation};

/// Settings that belong to the state that a fork starts from.
const FIXED: [&str; 3] = ["simulation.world_file", "simulation.timestep_s", "physics.engine"];

#[derive(Debug, Args)]
pub(super) struct ForkArguments {
    /// The run: a number, `last`, or URL#NUMBER
    run: RunName,
    /// The step after which the new run goes its own way
    #[arg(long, value_name = "STEP")]
    at: u64,
    /// A setting that is different from there on, as `--set section.key=value`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Play this command sequence from there on, in place of the commands that the run had
    #[arg(long, value_name = "FILE")]
    sequence: Option<PathBuf>,
    /// Leave out the commands that the run had from there on
    #[arg(long)]
    without_commands: bool,
    /// Clock [default: fast]
    #[arg(long, value_name = "realtime|fast|lockstep")]
    mode: Option<String>,
    /// End so many simulated seconds after the fork [default: where the run or the sequence ends]
    #[arg(long)]
    duration: Option<f64>,
    #[command(flatten)]
    log: LogArguments,
}

/// Makes the run again as far as the fork, and starts the new one there.
pub(super) fn fork(arguments: &ForkArguments) -> Result<ExitStatus, CliError> {
    let mut again = Again::open(&arguments.log, &arguments.run)?;
    for change in again.changes() {
        note(format_args!("warning: {change}; the fork may not start where the run was"));
    }
    let (number, at) = (again.run.simulation_id, StepIndex(arguments.at));
    let (first, last) = (again.simulation.step_index(), again.made.last);
    if at < first || at > last {
        return Err(CliError::Usage(format!("--at {at}: run {number} has the steps {first} to {last}")));
    }
    let mut properties = again.changed(&flags(arguments)?)?;
    // In the text of the log an address has no password.
    if let Some(log) = properties.log.as_mut().filter(|_| !sets(arguments, "log.database")) {
        log.database = again.database().clone();
    }
    let timeline = match &arguments.sequence {
        Some(file) => Some(xml::read_sequence(file)?.timeline(properties.simulation.timestep)),
        None => None,
    };
    if let Some(duration) = arguments.duration.filter(|duration| !(duration.is_finite() && *duration > 0.0)) {
        return Err(CliError::Usage(format!("--duration {duration}: expected seconds above 0")));
    }
    again.leap(at)?;
    let mut bar = Bar::new();
    let otherwise = again.make(at, &mut bar)?;
    drop(bar);
    if let Some(otherwise) = otherwise {
        let what = format!(
            "run {number} does not come out the same in step {}; `simpartner replay {number}` says more",
            otherwise.step
        );
        return Err(CliError::Setting(what));
    }
    let mut simulation = again::build(again.simulation.world(), &properties)?;
    let state = again.simulation.snapshot();
    let restored = simulation.restore(&state);
    restored.map_err(|error| CliError::Setting(format!("the settings do not fit the state of step {at}: {error}")))?;
    // Before any command: what is submitted for the very next step acts on the devices at once.
    let origin =
        Origin { parent: number, step: at, chain_head: again.chain.head(), state: simulation.snapshot().into() };
    let mut end = last;
    if let Some(timeline) = &timeline {
        end = at.after(timeline.steps);
        simulation.schedule(timeline)?;
    } else if !arguments.without_commands {
        hand_down(&mut again, &mut simulation, at)?;
    }
    if let Some(duration) = arguments.duration {
        end = at.after(properties.simulation.timestep.steps_in(duration));
    }
    drop(again);
    run::launch(Job { simulation, properties, end: Some(end), origin: Some(origin) })
}

/// Gives the fork the commands that the run had from there on.
fn hand_down(again: &mut Again, simulation: &mut Simulation, at: StepIndex) -> Result<(), CliError> {
    let commands = again.commands(at.0 + 1, again.made.last.0)?;
    commands.into_iter().for_each(|(step, command)| simulation.submit(Command { at: Some(step), ..command }));
    Ok(())
}

fn sets(arguments: &ForkArguments, key: &str) -> bool {
    arguments.set.iter().any(|setting| setting.split('=').next() == Some(key))
}

/// The settings that are given for the fork.
fn flags(arguments: &ForkArguments) -> Result<Vec<Flag<'_>>, CliError> {
    let mut flags =
        vec![Flag { name: "--mode", key: "simulation.mode", text: arguments.mode.as_deref().unwrap_or("fast") }];
    for setting in &arguments.set {
        let (key, text) = setting
            .split_once('=')
            .ok_or_else(|| CliError::Usage(format!("--set {setting}: expected section.key=value")))?;
        if FIXED.contains(&key) {
            return Err(CliError::Usage(format!(
                "--set {setting}: a fork goes on from a state, which {key} belongs to"
            )));
        }
        flags.push(Flag { name: "--set", key, text });
    }
    Ok(flags)
}
