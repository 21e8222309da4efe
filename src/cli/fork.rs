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
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    run: RunName,
    /// Last step that both runs share, or its simulated time as 2.5s
    #[arg(long, value_name = "STEP", value_parser = Moment::or_steps)]
    at: Moment,
    /// Setting that changes from there on, as `--set section.key=value`; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Command sequence to play from there on, in place of the commands of the logged run
    #[arg(long, value_name = "FILE")]
    sequence: Option<PathBuf>,
    /// Leave out the commands of the logged run from there on
    #[arg(long)]
    without_commands: bool,
    /// Mode of the clock [default: fast]
    #[arg(long, value_parser = choices("simulation.mode"))]
    mode: Option<String>,
    /// Simulated time from the fork to the end, in seconds, or in steps as 2500steps [default: to the end of the logged
    /// run or of the sequence]
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
