//! `simpartner grasp run`: grasp tasks in the engine.

use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use simpartner_description::{GraspTaskFile, xml};
use simpartner_grasp::task::Status;
use simpartner_terminal::output::line;

use super::{
    super::exit::{CliError, ExitStatus},
    super::format::ReportArguments,
    keep::TaskStore,
    log,
};
use crate::{
    grasp_batch::{self, Counts, Tasks},
    recorder::ADDRESSES,
};

/// Largest size of a file of targets, bytes: the same as for our own files.
const MAX_TARGETS_SIZE: usize = 16 << 20;

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArguments {
    /// Grasp task file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of tasks, from 1 to 10000000 [default: one for each target of the file; 1 if the file draws random
    /// targets]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    tasks: Option<u64>,
    /// Seed of random targets
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Number of threads, from 1 to 1024; it does not change the results [default: one for each processor core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// File for the results, one row of JSON for each task. An interrupted batch continues at the end of the file
    /// [default: NAME.grasps.jsonl]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the rows into this CSV file as well
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the rows into this RobWork file (.rwtask.xml) as well
    #[arg(long, value_name = "FILE")]
    rwtask: Option<PathBuf>,
    /// RobWork file (.rwtask.xml) with the targets, the approach, the retraction and the gripper's coordinates, in
    /// place of the file's
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// Run only this task, counted from 0, and print its row
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["tasks", "jobs", "output", "csv", "rwtask"])]
    task: Option<u64>,
    #[arg(long, value_name = "URL", help = format!(
        "Add each row to the table `graspTask` of this database as well; with --log, the database of the log [default: the setting log.database]: {ADDRESSES}"
    ))]
    database: Option<String>,
    #[command(flatten)]
    log: log::LogArguments,
    #[command(flatten)]
    report: ReportArguments,
}

pub(super) fn run(arguments: &RunArguments) -> Result<ExitStatus, CliError> {
    let mut file = xml::read_grasp_task(&arguments.file)?;
    if let Some(path) = &arguments.targets {
        let path = path.to_string_lossy();
        let text = xml::read_file(&path, MAX_TARGETS_SIZE).map_err(|problem| CliError::Files(problem.into()))?;
        grasp_batch::rwtask::take(&mut file, &path, &text).map_err(CliError::Input)?;
    }
    let tasks = Tasks::new(&file, arguments.seed, arguments.tasks)?;
    let open_store = || TaskStore::open(arguments.database.as_deref(), &arguments.file, &file.task.name, &tasks);
    if let Some(number) = arguments.task {
        if arguments.log.log {
            return log::run_with_log(&arguments.log, arguments.database.as_deref(), &file, &tasks, number);
        }
        let mut store = open_store()?;
        let row = tasks.run(number)?;
        store.add_row(&row)?;
        store.finish()?;
        let text = serde_json::to_string_pretty(&row).map_err(|error| CliError::Input(error.to_string()))?;
        line(format_args!("{text}"));
        return Ok(ExitStatus::Success);
    }
    let output = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.grasps.jsonl", file.task.name)));
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or_else(cores, usize::from);
    let mut store = open_store()?;
    let bar = batch_bar(tasks.count());
    let counts = grasp_batch::run(&tasks, jobs, &output, &mut |row, counts| {
        bar.set_position(counts.total());
        bar.set_message(counts_text(counts));
        store.add_row(row)
    })?;
    bar.finish_and_clear();
    store.finish()?;
    write_exports(arguments, &file, &output, tasks.count())?;
    if arguments.report.is_json() {
        let statuses = counts.0.iter().map(|(status, count)| (status.name().to_owned(), json!(count)));
        let report = json!({
            "file": arguments.file,
            "rows": output,
            "seed": arguments.seed,
            "tasks": counts.total(),
            "statuses": statuses.collect::<serde_json::Map<_, _>>(),
        });
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: {} tasks, rows in {}", arguments.file.display(), counts.total(), output.display()));
    for status in Status::ALL {
        let Some(count) = counts.0.get(&status) else { continue };
        let percent = 100.0 * *count as f64 / counts.total() as f64;
        line(format_args!("  {:<30} {count:>8}  {percent:>6.2} %", status.name()));
    }
    Ok(ExitStatus::Success)
}

/// Writes the rows as a table and as a file of RobWork, if the flags ask for them.
fn write_exports(arguments: &RunArguments, file: &GraspTaskFile, output: &Path, count: u64) -> Result<(), CliError> {
    if arguments.csv.is_none() && arguments.rwtask.is_none() {
        return Ok(());
    }
    let mut rows = grasp_batch::read(output)?;
    // The file may have more rows, from an earlier call with more tasks.
    rows.retain(|row| row.task < count);
    let csv = arguments.csv.iter().map(|path| (path, grasp_batch::csv(&rows)));
    let rwtask = || simpartner_description::rwtask::write(&grasp_batch::rwtask::of_rows(file, &rows));
    for (path, text) in csv.chain(arguments.rwtask.iter().map(|path| (path, rwtask()))) {
        fs::write(path, text)
            .map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?;
    }
    Ok(())
}

/// The counts as one line of text.
fn counts_text(counts: &Counts) -> String {
    let each = counts.0.iter().map(|(status, count)| format!("{} {count}", status.name()));
    each.collect::<Vec<_>>().join(", ")
}

fn batch_bar(count: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (left {eta})  {msg}");
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
