//! `simpartner run`: runs a simulation, with an announcement before and a summary after it.

use std::path::PathBuf;

use clap::Args;
use simpartner_model::Moment;
use simpartner_terminal::output::{self, note};

use super::{
    arguments::{ConfigurationArguments, choices},
    exit::{CliError, ExitStatus},
    patience::with_notes,
    process, signals,
    summary::{announce, summary},
};
use crate::{
    config::{Config, Override},
    realtime::Outcome,
    run::{self, Job, Observer, RunReport, Started, StopSignals},
};

#[derive(Debug, Clone, Default, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Mode of the clock: `realtime` keeps pace with wall time, `fast` never waits, `lockstep` waits for the
    /// controllers at every step [default: the setting simulation.mode]
    #[arg(long, value_parser = choices("simulation.mode"))]
    mode: Option<String>,
    /// Simulated seconds per second of wall time in the mode realtime, from 0.001 to 1000 [default: the setting
    /// simulation.rate]
    #[arg(long)]
    rate: Option<String>,
    /// Simulated time after which the run ends, in seconds, or in steps as 2500steps [default: the setting
    /// simulation.duration_s]
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    duration: Option<Moment>,
    /// Command sequence to play from step 0. In the mode fast, the run ends with the sequence
    #[arg(long, value_name = "FILE")]
    sequence: Option<PathBuf>,
    /// Database of the log: sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE; `none` for no log
    /// [default: the setting log.database]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Start paused, and wait for PLAY on the control port
    #[arg(long)]
    paused: bool,
    /// Do not serve the viewer's page
    #[arg(long)]
    no_viewer: bool,
}

impl RunArguments {
    fn config(&self) -> Result<Config, CliError> {
        let Some(duration) = self.duration else { return self.config_with(None) };
        // A duration in steps needs the timestep, which the settings contain.
        let timestep = self.config_with(None)?.simulation.timestep;
        self.config_with(Some(&duration.seconds(timestep).to_string()))
    }

    fn config_with(&self, duration: Option<&str>) -> Result<Config, CliError> {
        let without_log = self.database.as_deref() == Some("none");
        let given = [
            ("--mode", "simulation.mode", self.mode.as_deref()),
            ("--rate", "simulation.rate", self.rate.as_deref()),
            ("--duration", "simulation.duration_s", duration),
            ("--paused", "simulation.start_paused", self.paused.then_some("true")),
            ("--database", "log.database", self.database.as_deref().filter(|_| !without_log)),
            ("--no-viewer", "viewer.enabled", self.no_viewer.then_some("false")),
            ("--database none", "log.enabled", without_log.then_some("false")),
        ];
        let flags = given.into_iter().filter_map(|(name, key, text)| text.map(|text| Override { name, key, text }));
        self.configuration.config(&flags.collect::<Vec<_>>())
    }
}

/// Runs the configured world.
pub(super) fn run(arguments: &RunArguments) -> Result<ExitStatus, CliError> {
    let config = arguments.config()?;
    let what = format!("reading {}", config.simulation.world_file.display());
    let job = with_notes(what, || Job::read(config, arguments.sequence.as_deref()))?;
    let built_in = job.built_in_files();
    if !built_in.is_empty() {
        note(format_args!("built in  {}", built_in.join(", ")));
    }
    for warning in job.warnings()? {
        tracing::warn!("{warning}");
    }
    run_job(job)
}

/// Announces and runs a job, and prints its summary.
pub(super) fn run_job(job: Job) -> Result<ExitStatus, CliError> {
    process::check_limits()?;
    if job.config.server.token.is_some() {
        process::keep_files_private();
    }
    print_and_judge(run::run(job, &mut Console)?)
}

/// The observer of a run from the command line. It prints the announcement, and signals of the operating system end the
/// run.
struct Console;

impl Observer for Console {
    fn stop_signals(&mut self) -> StopSignals {
        Box::pin(signals::termination())
    }

    fn started(&mut self, started: &Started<'_>) {
        announce(started);
    }
}

/// Prints the summary and determines the exit status.
fn print_and_judge(report: RunReport) -> Result<ExitStatus, CliError> {
    output::summary(summary(&report));
    let RunReport { clock, log } = report;
    let is_incomplete = log.transpose()?.is_some_and(|log| log.ended_early.is_some());
    Ok(match clock.outcome {
        Outcome::Completed | Outcome::Quit if !is_incomplete => ExitStatus::Success,
        Outcome::Completed | Outcome::Quit | Outcome::LogEnded => ExitStatus::Log,
        Outcome::Diverged(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Diverged
        }
        Outcome::SequenceBrokenOff(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::SequenceBrokenOff
        }
        Outcome::Overrun => ExitStatus::Overrun,
        Outcome::LockstepTimeout(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Unanswered
        }
    })
}
