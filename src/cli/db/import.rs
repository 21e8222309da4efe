//! `simpartner db import`: imports a spill file into a database.

use std::{fmt::Write, path::PathBuf};

use clap::Args;

use simpartner_terminal::output::print;

use crate::{
    cli::{
        exit::{CliError, ExitStatus},
        logged::LogArguments,
    },
    recorder::{self, Imported},
};

/// Largest number of damaged or missing ranges that are listed, since a file can have any number of them.
const MAX_LISTED_RANGES: usize = 20;

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// Spill file
    file: PathBuf,
    #[command(flatten)]
    log: LogArguments,
}

/// Imports the file; batches that the database already has are skipped. Exit code 4 if something is damaged or missing.
pub(super) fn import(arguments: &ImportArguments) -> Result<ExitStatus, CliError> {
    let (file, database) = (arguments.file.display(), arguments.log.database()?);
    let imported = recorder::import(&arguments.file, &database)?;
    let mut text = String::new();
    let Imported { runs, batches, new_batches, steps, damaged, cut, missing, moved } = &imported;
    let runs: Vec<String> = runs.iter().map(ToString::to_string).collect();
    // Writing into a text cannot fail.
    let _ = writeln!(text, "runs              {}", runs.join(" "));
    let _ = writeln!(text, "batches           {batches}, {new_batches} of them new to the database");
    let _ = writeln!(text, "steps             {steps}");
    list_ranges(&mut text, "moved", moved);
    list_ranges(&mut text, "not imported", damaged);
    list_ranges(&mut text, "missing", missing);
    if let Some(cut) = cut {
        let _ = writeln!(
            text,
            "unfinished        {cut} at the end of the file; it was being written when the process ended,"
        );
        let _ = writeln!(text, "                  or this is a copy that was cut short");
    }
    let advice = match (imported.is_complete(), damaged.is_empty()) {
        (true, _) => format!("it has everything of {file}, which can be deleted"),
        (false, true) => format!("it has every complete batch of {file}"),
        (false, false) => {
            format!("it has every complete batch; keep {file}, and import an undamaged copy of it if there is one")
        }
    };
    let _ = writeln!(text, "now in            {database}; {advice}");
    print(&text);
    Ok(if damaged.is_empty() && missing.is_empty() { ExitStatus::Success } else { ExitStatus::Log })
}

fn list_ranges(text: &mut String, name: &str, ranges: &[impl std::fmt::Display]) {
    for range in ranges.iter().take(MAX_LISTED_RANGES) {
        let _ = writeln!(text, "{name:<17} {range}");
    }
    if let Some(more) = ranges.len().checked_sub(MAX_LISTED_RANGES).filter(|more| *more > 0) {
        let _ = writeln!(text, "{name:<17} and {more} more places");
    }
}
