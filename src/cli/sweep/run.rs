//! `simpartner sweep run`: simulates the cases of a sweep.

use std::{io::IsTerminal, ops::Range};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use simpartner_terminal::output::{line, note};

use super::planned::{FileArguments, store_plan};
use crate::{
    cli::{
        exit::{CliError, ExitStatus},
        format::ReportArguments,
    },
    recorder::{Database, SweepStore},
    sweep::{self, Options, Progress, Summary},
};

/// Largest number of differences that are printed.
const SHOWN_DIFFERENCES: usize = 10;

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Simulate these cases, as FIRST..LAST, both included. Those that are stored are simulated again and compared
    #[arg(long, value_name = "FIRST..LAST", value_parser = case_range)]
    cases: Option<Range<u64>>,
    /// Simulate the cases of part K of N equal parts that are not stored yet, as K/N with K from 1: for job arrays
    #[arg(long, value_name = "K/N", value_parser = part_of, conflicts_with = "cases")]
    part: Option<(u64, u64)>,
    /// Number of threads, from 1 to 1024; it does not change the results [default: one for each processor core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    report: ReportArguments,
}

fn case_range(text: &str) -> Result<Range<u64>, String> {
    let expected = || format!("expected FIRST..LAST, both included, as 100..199, got '{text}'");
    let (first, last) = text.split_once("..").ok_or_else(expected)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
    match (number(first)?, number(last.trim_start_matches('='))?) {
        (first, last) if first <= last && last < u64::MAX => Ok(first..last + 1),
        _ => Err(expected()),
    }
}

fn part_of(text: &str) -> Result<(u64, u64), String> {
    let expected = || format!("expected K/N with K from 1 to N, as 3/100, got '{text}'");
    let (part, parts) = text.split_once('/').ok_or_else(expected)?;
    match (part.trim().parse(), parts.trim().parse()) {
        (Ok(part), Ok(parts)) if 1 <= part && part <= parts => Ok((part, parts)),
        _ => Err(expected()),
    }
}

/// Cases of part `part` of `parts` equal parts.
fn cases_of_part(cases: u64, (part, parts): (u64, u64)) -> Range<u64> {
    let begin = |part: u64| (u128::from(cases) * u128::from(part) / u128::from(parts)) as u64;
    begin(part - 1)..begin(part)
}

pub(super) fn run_cases(arguments: &RunArguments) -> Result<ExitStatus, CliError> {
    let sweep = arguments.file.read_sweep()?;
    let database = arguments.file.results_database(&sweep)?;
    let cases = arguments.part.map(|part| cases_of_part(sweep.cases(), part)).or_else(|| arguments.cases.clone());
    if let Some(cases) = cases.as_ref().filter(|cases| cases.end > sweep.cases()) {
        let what = format!("--cases: {} has the cases 0 to {}, not {}", sweep.name(), sweep.cases() - 1, cases.end - 1);
        return Err(CliError::Usage(what));
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = arguments.threads.map_or_else(cores, usize::from);
    if sweep.keeps_logs() && matches!(database, Database::Sqlite(_)) && threads > 1 {
        note("an SQLite file takes the rows of one run at a time, so the cases are simulated one after the other");
        threads = 1;
    }
    let mut store = SweepStore::open(&database)?;
    let stored = store_plan(&mut store, &sweep)?;
    let bar = progress_bar();
    let options = Options { cases, compares: arguments.cases.is_some(), threads };
    let summary =
        sweep::run(&sweep, &mut store, &stored, &database, &options, &mut |progress| show_progress(&bar, progress))?;
    bar.finish_and_clear();
    store.close()?;
    print_summary(&summary, sweep.name(), stored.id, &database, arguments.report.is_json());
    Ok(match (summary.different.is_empty(), summary.progress.failed) {
        (false, _) => ExitStatus::Differ,
        (true, 0) => ExitStatus::Success,
        (true, _) => ExitStatus::Missed,
    })
}

fn print_summary(summary: &Summary, name: &str, id: i64, database: &Database, is_json: bool) {
    let Progress { done, failed, steps, .. } = summary.progress;
    if is_json {
        let different: Vec<_> =
            summary.different.iter().map(|(case, text)| json!({"case": case, "difference": text})).collect();
        let report = json!({
            "sweep": id, "name": name, "simulated": done, "failed": failed, "steps": steps,
            "stored": summary.stored, "equal": summary.equal, "different": different,
        });
        return line(format_args!("{report:#}"));
    }
    line(format_args!(
        "{name}: {done} cases simulated, {failed} failed, {steps} steps; {} stored as sweep {id} in {database}",
        summary.stored
    ));
    if summary.equal + summary.different.len() as u64 > 0 {
        line(format_args!(
            "compared with stored cases: {} equal, {} different",
            summary.equal,
            summary.different.len()
        ));
    }
    for (case, text) in summary.different.iter().take(SHOWN_DIFFERENCES) {
        line(format_args!("  case {case}: {text}"));
    }
    if failed > 0 {
        line(format_args!(
            "`simpartner sweep results {name}` lists the causes; `simpartner sweep retry {name}` forgets failed cases"
        ));
    }
}

fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:30} {pos}/{len} cases, {per_sec}, {elapsed} (left {eta})  {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn show_progress(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.planned);
    bar.set_position(progress.done);
    if progress.failed > 0 {
        bar.set_message(format!("{} failed", progress.failed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_cases_once() {
        for (cases, parts) in [(10, 3), (3, 10), (1, 1), (1_000_000, 7)] {
            let mut next = 0;
            for part in 1..=parts {
                let range = cases_of_part(cases, (part, parts));
                assert_eq!(range.start, next);
                next = range.end;
            }
            assert_eq!(next, cases);
        }
    }

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(case_range("100..199"), Ok(100..200));
        for text in ["", "5", "7..3", "a..b", "1..x", "-1..2"] {
            assert!(case_range(text).is_err(), "{text}");
        }
        for text in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(part_of(text).is_err(), "{text}");
        }
    }
}
