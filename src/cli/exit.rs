//! How a call can end.

use std::process::ExitCode;

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::BuildError;
use thiserror::Error;

use crate::{
    analysis::AnalysisError,
    realtime::ThreadError,
    recorder::RecorderError,
    server::{PortsFileError, ServerError},
    sim::ScheduleError,
};

/// The exit codes, for `--help` and the README.
pub const CODES: &str = "\
Exit codes: 0 success; 1 internal error; 2 usage; 3 bad input file or setting; 4 the log failed or is incomplete;
            5 the physics diverged; 6 a case of `verify` missed; 7 the clock fell behind and slips were to end the run; 8 a port could not be had or reached;
            9 a member of the lockstep did not answer and that was to end the run; 10 two runs differ, or a run and its replay;
            11 the end of the log waits in a spill file; 12 the server refused what `talk` said";

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// All went well.
    Success = 0,
    /// A fault of this program or of the operating system.
    Internal = 1,
    /// The call cannot be understood.
    Usage = 2,
    /// A file or a setting is wrong.
    Input = 3,
    /// The log failed, or does not hold the whole run.
    Log = 4,
    /// The physics came to a state that is not sound.
    Diverged = 5,
    /// A case of `verify` is not within its tolerance.
    Missed = 6,
    /// The clock fell behind and the settings end the run then.
    Overrun = 7,
    /// A port could not be had, or not be reached.
    Ports = 8,
    /// A member of the lockstep did not answer and the settings end the run then.
    Unanswered = 9,
    /// Two runs that were compared differ, or a run that was made again came out otherwise.
    Differ = 10,
    /// The end of the log did not come into the database, and waits in a spill file.
    Undelivered = 11,
    /// The server refused what it was told.
    Refused = 12,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum CliError {
    /// Files with problems.
    #[error("{0}")]
    Files(#[from] Diagnostics),
    /// Settings with problems.
    #[error("{0}")]
    Properties(#[from] super::properties::PropertiesError),
    /// A world the engine cannot represent.
    #[error("{0}")]
    World(#[from] BuildError),
    /// A sequence that does not fit the world's devices.
    #[error("{0}")]
    Sequence(#[from] ScheduleError),
    /// The log.
    #[error("{0}")]
    Log(#[from] RecorderError),
    /// Looking into a log.
    #[error("{0}")]
    Analysis(#[from] AnalysisError),
    /// The ports.
    #[error("{0}")]
    Ports(#[from] ServerError),
    /// The file of ports.
    #[error("{0}")]
    PortsFile(#[from] PortsFileError),
    /// A server that cannot be talked to.
    #[error("{0}")]
    Talk(String),
    /// Threads.
    #[error("{0}")]
    Thread(#[from] ThreadError),
    /// The operating system.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// A setting that does not fit the world.
    #[error("{0}")]
    Setting(String),
    /// A flag that cannot be understood.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// The exit code.
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Files(_) | Self::Properties(_) | Self::World(_) | Self::Sequence(_) | Self::Setting(_) => {
                ExitStatus::Input
            }
            Self::Log(RecorderError::Query { .. })
            | Self::Analysis(
                AnalysisError::Log(RecorderError::Query { .. })
                | AnalysisError::Question(_)
                | AnalysisError::Write { .. }
                | AnalysisError::Model(_),
            ) => ExitStatus::Input,
            Self::Log(RecorderError::NotASpillFile { .. } | RecorderError::OtherTables { .. }) => ExitStatus::Input,
            Self::Log(RecorderError::Undelivered { .. }) => ExitStatus::Undelivered,
            Self::Log(_) | Self::Analysis(AnalysisError::Log(_)) => ExitStatus::Log,
            Self::Analysis(_) => ExitStatus::Internal,
            Self::PortsFile(_) => ExitStatus::Input,
            Self::Ports(_) | Self::Talk(_) => ExitStatus::Ports,
            Self::Thread(_) | Self::System(_) => ExitStatus::Internal,
            Self::Usage(_) => ExitStatus::Usage,
        }
    }
}
