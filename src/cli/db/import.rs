//! `simpartner db import`: what waits in a spill file, brought into a database.

use std::path::PathBuf;

use clap::Args;

use super::super::{CliError, ExitStatus, logged::LogArguments, output::line};
use crate::recorder;

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// The spill file
    file: PathBuf,
    #[command(flatten)]
    log: LogArguments,
}

/// Brings it in; what is there already is passed over.
pub(super) fn import(arguments: &ImportArguments) -> Result<ExitStatus, CliError> {
    let (file, database) = (&arguments.file, arguments.log.database()?);
    let imported = recorder::import(file, &database)?;
    let runs: Vec<String> = imported.runs.iter().map(ToString::to_string).collect();
    line(format_args!("runs              {}", runs.join(" ")));
    line(format_args!("portions          {}", imported.portions));
    line(format_args!("steps             {}", imported.steps));
    if imported.torn_bytes > 0 {
        line(format_args!(
            "torn              the last {} bytes, which were being written when the process ended",
            imported.torn_bytes
        ));
    }
    line(format_args!("now in            {database}; {} can be deleted", file.display()));
    Ok(ExitStatus::Success)
}
