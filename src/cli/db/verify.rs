//! `simpartner db verify`: proves that logged runs are complete.

use clap::Args;

use simpartner_terminal::output::line;

use super::super::{
    exit::{CliError, ExitStatus},
    logged::LogArguments,
};
use crate::recorder::{Completeness, Reader};

#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArguments {
    /// Number of a run [default: all]
    run: Option<i64>,
    #[command(flatten)]
    log: LogArguments,
}

/// Prints for each run whether it is complete, and what is missing.
pub(super) fn verify(arguments: &VerifyArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.log.database()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(Reader::new(&database).verify(arguments.run))?;
    if found.is_empty() {
        let what = arguments.run.map_or_else(|| "no run".to_owned(), |run| format!("no run {run}"));
        return Err(CliError::Input(format!("{database} has {what}")));
    }
    for Completeness { simulation_id, steps, rows, chain_head, has_checksums, findings } in &found {
        let verdict = if findings.is_empty() { "complete" } else { "incomplete" };
        line(format_args!("run {simulation_id:<6} {verdict:<10}  {steps} steps, {rows} rows, chain {chain_head:016x}"));
        if !has_checksums {
            line("           it has no checksums (an earlier version logged it): its rows are counted, not proved");
        }
        for finding in findings {
            line(format_args!("           {finding}"));
        }
    }
    let whole = found.iter().all(|run| run.findings.is_empty());
    Ok(if whole { ExitStatus::Success } else { ExitStatus::Log })
}
