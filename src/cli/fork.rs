//! `simpartner fork`: repeats a logged run up to a step, and continues from there as a new run.

use std::path::PathBuf;

use clap::Args;
use simpartner_description::xml;
use simpartner_model::{Moment, StepIndex};

use simpartner_terminal::output::note;

use super::{
    arguments::{choices, overrides},
    exit::{CliError, ExitStatus},
    logged::{Bar, LogArguments, RunName},
    run,
};
use crate::{
    config::Override,
    replay::{self, ForkCommands, ForkOptions, Replay, ReplayError},
};

#[derive(Debug, Args)]
pub(super) struct ForkArguments {
    /// The run: a number, `last`, or URL#NUMBER
    run: RunName,
    /// The step after which the new run goes its own way, or its simulated time as 2.5s
    #[arg(long, value_name = "STEP", value_parser = Moment::or_steps)]
    at: Moment,
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
    #[arg(long, value_parser = choices("simulation.mode"))]
    mode: Option<String>,
    /// End so many simulated seconds after the fork, or steps as 2500steps [default: where the run or the sequence
    /// ends]
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    duration: Option<Moment>,
    #[command(flatten)]
    log: LogArguments,
}

/// Prepares the new run and runs it.
pub(super) fn fork(arguments: &ForkArguments) -> Result<ExitStatus, CliError> {
    let (inquiry, run) = arguments.log.open(&arguments.run)?;
    let timestep = run.timestep;
    let replay = Replay::open(inquiry, run)?;
    for change in replay.environment_changes() {
        note(format_args!("warning: {change}; the fork may not start where the run was"));
    }
    let mode = arguments.mode.as_deref().unwrap_or("fast");
    let mut changes = vec![Override { name: "--mode", key: "simulation.mode", text: mode }];
    changes.extend(overrides(&arguments.set)?);
    let sequence = arguments.sequence.as_deref().map(xml::read_sequence).transpose()?;
    let options = ForkOptions {
        at: StepIndex(arguments.at.steps(timestep)),
        overrides: &changes,
        commands: match &sequence {
            Some(sequence) => ForkCommands::Of(sequence),
            None if arguments.without_commands => ForkCommands::None,
            None => ForkCommands::OfTheRun,
        },
        duration_s: arguments.duration.map(|duration| duration.seconds(timestep)),
    };
    let job = replay::fork(replay, &options, &mut Bar::new()).map_err(|error| match error {
        ReplayError::NoSuchStep { .. } => CliError::Usage(format!("--at: {error}")),
        ReplayError::Duration(_) => CliError::Usage(format!("--duration: {error}")),
        other => other.into(),
    })?;
    run::run_job(job)
}
