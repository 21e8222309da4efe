//! Exit codes and errors of a call.

use std::{path::Path, process::ExitCode};

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use simpartner_wire::ports_file::PortsFileError;
use thiserror::Error;

use crate::{
    analysis::AnalysisError, config::ConfigError, fmu::FmuError, grasp_batch::BatchError, recorder::RecorderError,
    replay::ReplayError, run::RunError, sweep::SweepError,
};

/// The exit codes, for `--help` and the README.
pub const CODES: &str = "\
Exit codes: 0 success; 1 internal error; 2 usage; 3 bad input file or setting; 4 the log failed or is incomplete;
            5 the physics diverged; 6 a case of `verify` failed; 7 the clock was overrun (setting simulation.on_overrun); 8 a port could not be opened or reached;
            9 a lockstep member did not answer (setting lockstep.on_timeout); 10 two runs differ, or a run and its replay;
            11 the end of the log is in a spill file; 12 the server refused a line of `talk`;
            13 the sequence of a fast run waited for a reading that never came";

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Success.
    Success = 0,
    /// Failure of this program or of the operating system.
    Internal = 1,
    /// Error in the command line.
    Usage = 2,
    /// Error in a file or a setting.
    Input = 3,
    /// The log failed, or does not hold the whole run.
    Log = 4,
    /// The state of the physics diverged.
    Diverged = 5,
    /// A figure of `verify` is not within its tolerance.
    Missed = 6,
    /// The clock fell behind, and the settings end the run in that case.
    Overrun = 7,
    /// A port could not be opened or reached.
    Ports = 8,
    /// A member of the lockstep did not answer, and the settings end the run in that case.
    Unanswered = 9,
    /// Two compared runs differ, or a run and its replay do.
    Differ = 10,
    /// The end of the log is not in the database, but in a spill file.
    Undelivered = 11,
    /// The server refused a line.
    Refused = 12,
    /// The sequence of a fast run waited for a reading that never came.
    SequenceBrokenOff = 13,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Errors of a call.
#[derive(Debug, Error)]
pub enum CliError {
    /// Files have problems.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// Settings have problems.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The engine cannot represent a world.
    #[error("{0}")]
    World(#[from] BuildError),
    /// A run could not start, or its physics thread died.
    #[error("{0}")]
    Run(#[from] RunError),
    /// A logged run cannot be repeated or continued.
    #[error("{0}")]
    Replay(#[from] ReplayError),
    /// A log cannot be read or written.
    #[error("{0}")]
    Log(#[from] RecorderError),
    /// The analysis of a log failed.
    #[error("{0}")]
    Analysis(#[from] AnalysisError),
    /// A sweep cannot be planned or run.
    #[error("{0}")]
    Sweep(#[from] SweepError),
    /// A functional mock-up unit cannot be written.
    #[error("{0}")]
    Fmu(#[from] FmuError),
    /// A batch of grasp tasks failed.
    #[error("{0}")]
    Batch(#[from] BatchError),
    /// The ports file cannot be used.
    #[error("{0}")]
    PortsFile(#[from] PortsFileError),
    /// The connection to a server failed.
    #[error("{0}")]
    Talk(String),
    /// An operation of the operating system failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// A file, a setting or a run does not fit the call.
    #[error("{0}")]
    Input(String),
    /// A flag is invalid.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// A path that the command line names cannot be written.
    pub(super) fn not_written(path: &Path, error: &std::io::Error) -> Self {
        Self::Usage(format!("cannot write '{}': {error}", path.display()))
    }

    /// Exit code of the error.
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Files(_)
            | Self::Config(_)
            | Self::World(_)
            | Self::Batch(_)
            | Self::Fmu(_)
            | Self::PortsFile(_)
            | Self::Input(_) => ExitStatus::Input,
            Self::Run(error) => status_of_run(error),
            Self::Replay(error) => status_of_replay(error),
            Self::Sweep(error) => status_of_sweep(error),
            Self::Log(error) | Self::Analysis(AnalysisError::Log(error)) => status_of_log(error),
            Self::Analysis(AnalysisError::Question(_) | AnalysisError::Write { .. } | AnalysisError::Model(_)) => {
                ExitStatus::Input
            }
            Self::Analysis(_) | Self::System(_) => ExitStatus::Internal,
            Self::Talk(_) => ExitStatus::Ports,
            Self::Usage(_) => ExitStatus::Usage,
        }
    }
}

fn status_of_run(error: &RunError) -> ExitStatus {
    match error {
        RunError::Files(_) | RunError::World(_) | RunError::Setting { .. } | RunError::PortsFile(_) => {
            ExitStatus::Input
        }
        RunError::Log(error) => status_of_log(error),
        RunError::Ports(_) => ExitStatus::Ports,
        RunError::Thread(_) | RunError::System(_) => ExitStatus::Internal,
    }
}

fn status_of_sweep(error: &SweepError) -> ExitStatus {
    match error {
        SweepError::Database(error) => status_of_log(error),
        _ => ExitStatus::Input,
    }
}

fn status_of_replay(error: &ReplayError) -> ExitStatus {
    match error {
        ReplayError::NoSuchStep { .. } | ReplayError::Duration(_) | ReplayError::FixedSetting { .. } => {
            ExitStatus::Usage
        }
        ReplayError::Log(error) => status_of_log(error),
        _ => ExitStatus::Input,
    }
}

fn status_of_log(error: &RecorderError) -> ExitStatus {
    match error {
        RecorderError::Query { .. }
        | RecorderError::AlteredFile { .. }
        | RecorderError::NotASpillFile { .. }
        | RecorderError::OtherTables { .. } => ExitStatus::Input,
        RecorderError::Undelivered { .. } => ExitStatus::Undelivered,
        _ => ExitStatus::Log,
    }
}
