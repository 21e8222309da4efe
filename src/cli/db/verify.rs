//! `simpartner db verify`: checks that logged runs are complete.

use clap::Args;

use simpartner_terminal::output::line;

use super::super::{
    exit::{CliError, ExitStatus},
    logged::{LogArguments, RunName},
};
use crate::recorder::{Completeness, Reader};

#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArguments {
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database [default: all runs]
    run: Option<RunName>,
    #[command(flatten)]
    log: LogArguments,
}

/// Prints for each run whether it is complete, and what is missing.
pub(super) fn verify(arguments: &VerifyArguments) -> Result<ExitStatus, CliError> {
    let (database, number) = match &arguments.run {
        Some(run) => {
            let (database, number) = arguments.log.locate(run)?;
            (database, Some(number))
        }
        None => (arguments.log.database()?, None),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(Reader::new(&database).verify(number))?;
    if found.is_empty() {
        let what = number.map_or_else(|| "no run".to_owned(), |run| format!("no run {run}"));
        return Err(CliError::Input(format!("{database} has {what}")));
    }
    for Completeness { simulation_id, steps, rows, chain_head, has_checksums, findings } in &found {
        let verdict = if findings.is_empty() { "complete" } else { "incomplete" };
        line(format_args!("run {simulation_id:<6} {verdict:<10}  {steps} steps, {rows} rows, chain {chain_head:016x}"));
        if !has_checksums {
            line(
                "           an earlier version logged this run without checksums: its rows are counted, but not compared",
            );
        }
        for finding in findings {
            line(format_args!("           {finding}"));
        }
    }
    let whole = found.iter().all(|run| run.findings.is_empty());
    Ok(if whole { ExitStatus::Success } else { ExitStatus::Log })
}
