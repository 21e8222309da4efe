//! `simpartner sweep`: plans and runs sweeps, and shows their results.

mod planned;
mod results;
mod run;
mod submit;

use clap::{Args, Subcommand};
use serde_json::json;
use simpartner_terminal::output::line;

use self::planned::{FileArguments, find_sweep, store_plan};
use super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    logged::LogArguments,
};
use crate::recorder::{Database, NewSweep, SweepStore};

#[derive(Debug, Subcommand)]
pub(super) enum SweepVerb {
    /// Check a sweep file, and store its cases with their parameters in the database.
    Plan(PlanArguments),
    /// Simulate the cases that are not stored yet. A call that was interrupted continues where it was.
    Run(run::RunArguments),
    /// Count the cases of the stored sweeps by their status.
    Status(StatusArguments),
    /// Print the cases with their parameters and results, or figures, correlations and plots of them.
    Results(results::ResultsArguments),
    /// Remove the failed cases, so that `run` simulates them again.
    Retry(RetryArguments),
    /// Print the command line that runs one case alone.
    Case(CaseArguments),
    /// Copy sweeps and their results from SQLite files into one database.
    Merge(MergeArguments),
    /// Submit the cases to an engine that distributes them: Slurm or HyperQueue.
    Submit(submit::SubmitArguments),
}

#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Only check the file and print the first cases; store nothing
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    report: ReportArguments,
}

#[derive(Debug, Args)]
pub(super) struct RetryArguments {
    /// Name or number of the sweep
    #[arg(value_name = "SWEEP")]
    sweep: String,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Args)]
pub(super) struct CaseArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Number of the case, from 0
    #[arg(value_name = "CASE")]
    case: u64,
}

#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    /// SQLite files, as sqlite:FILE
    #[arg(value_name = "URL", required = true)]
    from: Vec<String>,
    #[command(flatten)]
    log: LogArguments,
}

/// Number of cases that `plan` prints.
const SHOWN_CASES: u64 = 5;

/// Carries out a verb of sweeps.
pub(super) fn sweep_verb(verb: &SweepVerb) -> Result<ExitStatus, CliError> {
    match verb {
        SweepVerb::Plan(arguments) => plan_sweep(arguments),
        SweepVerb::Run(arguments) => run::run_cases(arguments),
        SweepVerb::Status(arguments) => print_status(arguments),
        SweepVerb::Results(arguments) => results::print_results(arguments),
        SweepVerb::Retry(arguments) => forget_failed(arguments),
        SweepVerb::Case(arguments) => print_case(arguments),
        SweepVerb::Merge(arguments) => merge_files(arguments),
        SweepVerb::Submit(arguments) => submit::submit_cases(arguments),
    }
}

fn plan_sweep(arguments: &PlanArguments) -> Result<ExitStatus, CliError> {
    let sweep = arguments.file.read_sweep()?;
    let database = arguments.file.results_database(&sweep)?;
    for case in 0..sweep.cases().min(SHOWN_CASES) {
        let given = sweep.parameters(case);
        let values: Vec<String> = given.iter().map(|given| format!("{}={}", given.path, given.text)).collect();
        line(format_args!("case {case:>6}  {}", values.join("  ")));
    }
    if arguments.check {
        line(format_args!("{}: {} cases, not stored", sweep.name(), sweep.cases()));
        return Ok(ExitStatus::Success);
    }
    let mut store = SweepStore::open(&database)?;
    let stored = store_plan(&mut store, &sweep)?;
    line(format_args!("{}: {} cases, sweep {} in {database}", stored.name, stored.cases, stored.id));
    store.close()?;
    Ok(ExitStatus::Success)
}

fn print_status(arguments: &StatusArguments) -> Result<ExitStatus, CliError> {
    let mut store = SweepStore::open_existing(&arguments.log.database()?)?;
    let sweeps = store.sweeps()?;
    let mut listed = Vec::new();
    for sweep in &sweeps {
        let counts = store.counts(sweep.id)?;
        let done: u64 = counts.iter().map(|(_, count)| count).sum();
        let differences = store.differences(sweep.id)?;
        if arguments.report.is_json() {
            let counts: serde_json::Map<_, _> =
                counts.into_iter().map(|(status, count)| (status, json!(count))).collect();
            listed.push(json!({
                "sweep": sweep.id, "name": sweep.name, "hash": sweep.hash, "planned": sweep.planned,
                "cases": sweep.cases, "done": done, "statuses": counts, "differences": differences.len(),
            }));
            continue;
        }
        let counts: Vec<String> = counts.iter().map(|(status, count)| format!("{status} {count}")).collect();
        let counts = if counts.is_empty() { "none simulated".to_owned() } else { counts.join(", ") };
        line(format_args!("{:>4}  {:<24}  {done} of {} cases: {counts}", sweep.id, sweep.name, sweep.cases));
        for (case, text) in &differences {
            line(format_args!("      case {case} was simulated again with another result: {text}"));
        }
    }
    if arguments.report.is_json() {
        line(format_args!("{:#}", json!(listed)));
    } else if sweeps.is_empty() {
        line(format_args!("the database has no sweep; `simpartner sweep run FILE` makes one"));
    }
    Ok(ExitStatus::Success)
}

fn forget_failed(arguments: &RetryArguments) -> Result<ExitStatus, CliError> {
    let mut store = SweepStore::open_existing(&arguments.log.database()?)?;
    let sweep = find_sweep(&mut store, &arguments.sweep)?;
    let removed = store.forget(sweep.id, "failed")?;
    line(format_args!("{}: {removed} failed cases removed; `simpartner sweep run` simulates them again", sweep.name));
    Ok(ExitStatus::Success)
}

fn print_case(arguments: &CaseArguments) -> Result<ExitStatus, CliError> {
    let sweep = arguments.file.read_sweep()?;
    if arguments.case >= sweep.cases() {
        let what = format!("{} has the cases 0 to {}, not {}", sweep.name(), sweep.cases() - 1, arguments.case);
        return Err(CliError::Usage(what));
    }
    line(format_args!("{}", sweep.command(arguments.case)));
    Ok(ExitStatus::Success)
}

fn merge_files(arguments: &MergeArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.log.database()?;
    let mut target = SweepStore::open(&database)?;
    for url in &arguments.from {
        let mut source = SweepStore::open_existing(&Database::parse(url)?)?;
        for sweep in source.sweeps()? {
            let plan = source.plan_of(sweep.id)?;
            let mut parameters: Vec<Vec<_>> = vec![Vec::new(); sweep.cases as usize];
            for number in source.parameters(sweep.id)? {
                if let Some(of_case) = parameters.get_mut(number.case as usize) {
                    let (path, text, value) = (number.name, number.text, number.value);
                    of_case.push(crate::recorder::CaseParameter { path, text, value });
                }
            }
            let new = NewSweep { name: &sweep.name, hash: &sweep.hash, cases: sweep.cases, plan: &plan };
            let stored = target.plan(&new, |case| parameters[case as usize].clone())?;
            // The runs of cases stay in their files.
            let results: Vec<_> = source
                .finished(sweep.id, 0..sweep.cases)?
                .into_values()
                .map(|case| crate::recorder::CaseResult { run: None, ..case })
                .collect();
            let known = target.keep(stored.id, &results)?;
            let copied = results.len() - known.len();
            line(format_args!("{url}: {}: {copied} cases copied, {} were there", sweep.name, known.len()));
        }
    }
    target.close()?;
    Ok(ExitStatus::Success)
}
