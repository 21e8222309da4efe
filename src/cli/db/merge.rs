//! `simpartner db merge`: copies runs of one database into another.

use clap::Args;

use simpartner_terminal::output::print;

use crate::{
    analysis::Progress,
    cli::{
        exit::{CliError, ExitStatus},
        logged::{Bar, listed},
    },
    recorder::{Database, Merge},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct MergeArguments {
    /// Database to copy from: sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE
    from: String,
    /// Database to copy into, likewise; an SQLite file is created if missing
    into: String,
    /// Numbers of the runs to copy, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    runs: Vec<i64>,
}

/// Copies the runs, each completely or not at all, and prints their new numbers.
pub(super) fn merge(arguments: &MergeArguments) -> Result<ExitStatus, CliError> {
    let (from, into) = (Database::parse(&arguments.from)?, Database::parse(&arguments.into)?);
    if from == into {
        return Err(CliError::Usage("db merge: a database cannot be merged into itself".into()));
    }
    let mut merge = Merge::new(&from, &into)?;
    let runs = merge.runs()?;
    if let Some(missing) = arguments.runs.iter().find(|run| !runs.contains(run)) {
        return Err(CliError::Input(format!("{from} has no run {missing}: {}", listed(runs.iter().rev().copied()))));
    }
    let wanted: Vec<i64> =
        runs.into_iter().filter(|run| arguments.runs.is_empty() || arguments.runs.contains(run)).collect();
    for run in wanted {
        let mut bar = Bar::new();
        bar.begin(&format!("run {run}"), merge.rows(run)?);
        let merged = merge.copy(run, &mut |rows| bar.reach(rows))?;
        drop(bar);
        print(match merged.rows {
            Some(rows) => format!("run {run} was copied as run {}, {rows} rows\n", merged.into),
            None => format!("run {run} has been copied before, as run {}\n", merged.into),
        });
    }
    merge.close()?;
    Ok(ExitStatus::Success)
}
