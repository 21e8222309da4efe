//! `simpartner run`: the main job, announced and summed up.

use super::{
    CliError, ExitStatus, RunArguments,
    output::{note, print},
    signals,
    summary::{announce, summary},
};
use crate::{
    realtime::Outcome,
    run::{self, Job, Observer, RunReport, Started, StopSignal},
};

/// Runs the configured world.
pub(super) fn run(arguments: &RunArguments) -> Result<ExitStatus, CliError> {
    let job = Job::read(arguments.config()?, arguments.sequence.as_deref())?;
    let built_in = job.built_in_files();
    if !built_in.is_empty() {
        note(format_args!("built in  {}", built_in.join(", ")));
    }
    for warning in job.warnings()? {
        tracing::warn!("{warning}");
    }
    carry_out(job)
}

/// Runs a job, announces it, and prints its summary.
pub(super) fn carry_out(job: Job) -> Result<ExitStatus, CliError> {
    conclude(run::run(job, &mut Console)?)
}

/// The observer of a run that a person started: it prints the announcement, and the signals of the operating system end the run.
struct Console;

impl Observer for Console {
    fn stop_signal(&mut self) -> StopSignal {
        Box::pin(signals::termination())
    }

    fn started(&mut self, started: &Started<'_>) {
        announce(started);
    }
}

/// Prints the summary and decides how the call ends.
fn conclude(report: RunReport) -> Result<ExitStatus, CliError> {
    print(summary(&report));
    let RunReport { clock, log } = report;
    let is_incomplete = log.transpose()?.is_some_and(|log| log.ended_early.is_some());
    Ok(match clock.outcome {
        Outcome::Completed | Outcome::Quit if !is_incomplete => ExitStatus::Success,
        Outcome::Completed | Outcome::Quit | Outcome::LogEnded => ExitStatus::Log,
        Outcome::Diverged(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Diverged
        }
        Outcome::Overrun => ExitStatus::Overrun,
        Outcome::LockstepTimeout(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Unanswered
        }
    })
}
