//! `simpartner replay`: repeats a logged run and compares every step with its log.

use clap::Args;
use simpartner_model::StepIndex;

use super::{
    exit::{CliError, ExitStatus},
    logged::{Bar, LogArguments, RunName},
    output::{note, print},
};
use crate::replay::{Mismatch, Replay, ReplayError, ReplayReport};

#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// The run: a number, `last`, or URL#NUMBER
    run: RunName,
    /// Up to this step [default: the last]
    #[arg(long, value_name = "STEP")]
    until: Option<u64>,
    #[command(flatten)]
    log: LogArguments,
}

/// Repeats the run and prints how it compares.
pub(super) fn replay(arguments: &ReplayArguments) -> Result<ExitStatus, CliError> {
    let (inquiry, run) = arguments.log.open(&arguments.run)?;
    let replay = Replay::open(inquiry, run)?;
    for change in replay.environment_changes() {
        note(format_args!("warning: {change}; the same bits are not to be expected"));
    }
    let report = replay.run(arguments.until.map(StepIndex), &mut Bar::new()).map_err(|error| match error {
        ReplayError::NoSuchStep { .. } => CliError::Usage(format!("--until: {error}")),
        other => other.into(),
    })?;
    print(text(&report));
    Ok(if report.mismatch.is_none() { ExitStatus::Success } else { ExitStatus::Differ })
}

fn text(report: &ReplayReport) -> String {
    let ReplayReport { run, world, engine, steps, compared, chain_head, state_hash, mismatch } = report;
    let verdict = match mismatch {
        None => format!("chain             the same; its head is {chain_head:016x}\nstate             {state_hash}\n"),
        Some(Mismatch { step, deviation }) => {
            let first = deviation.as_ref().map_or_else(
                || "no number that is logged: what differs was left out of the log, or lies in an earlier step that was".into(),
                ToString::to_string,
            );
            format!("chain             not the same from step {step} on\nfirst difference  step {step}, {first}\n")
        }
    };
    format!(
        "run               {run}, {world}\nengine            {engine}\nsteps made        {steps}, {compared} of them held \
         against the log\n{verdict}"
    )
}
