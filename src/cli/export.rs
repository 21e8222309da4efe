//! `simpartner export`: a run as files for other programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use simpartner_model::Moment;
use simpartner_terminal::output::print;
use simpartner_wire::near::did_you_mean;

use super::{
    exit::{CliError, ExitStatus},
    logged::{Bar, LogArguments, RunName},
};
use crate::{
    analysis::export::{Format, Order, export as write},
    recorder::{
        RecordedRun,
        inquiry::{TABLES, Table},
    },
    replay::recorded_seed,
};

/// Upper bound on step numbers: no run has more steps.
const MAX_STEP: u64 = u32::MAX as u64;

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    run: RunName,
    /// Format: a folder of tables as csv or parquet, or one mcap file for Foxglove and PlotJuggler
    #[arg(long, value_enum)]
    format: FileFormat,
    /// Folder or file to write [default: run-NUMBER-csv, run-NUMBER-parquet or run-NUMBER.mcap]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Overwrite an existing folder or file
    #[arg(long)]
    force: bool,
    /// Tables to export, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tables: Vec<String>,
    /// Make the images of all cameras from the logged poses, some milliseconds for each; only for mcap
    #[arg(long)]
    images: bool,
    #[command(flatten)]
    range: StepRange,
    /// Interval of the exported steps, in steps, or in simulated time as 0.1s; commands and events are always exported
    #[arg(long, value_name = "STEPS", default_value = "1", value_parser = Moment::or_steps)]
    every: Moment,
    #[command(flatten)]
    log: LogArguments,
}

/// A range of steps of a run.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct StepRange {
    /// First simulated time, in seconds, or as a step such as 2500steps [default: the start of the run]
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    from: Option<Moment>,
    /// Last simulated time, in seconds, or as a step such as 5000steps [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    to: Option<Moment>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FileFormat {
    Csv,
    Parquet,
    Mcap,
}

/// Writes the files and prints the number of rows of each table.
pub(super) fn export(arguments: &ExportArguments) -> Result<ExitStatus, CliError> {
    let (mut inquiry, run) = arguments.log.open(&arguments.run)?;
    let id = run.simulation_id;
    let (format, output) = match arguments.format {
        FileFormat::Csv => (Format::Csv, format!("run-{id}-csv")),
        FileFormat::Parquet => (Format::Parquet, format!("run-{id}-parquet")),
        FileFormat::Mcap => (Format::Mcap, format!("run-{id}.mcap")),
    };
    let output = arguments.output.clone().unwrap_or_else(|| output.into());
    let every = arguments.every.steps(run.timestep);
    if every == 0 {
        return Err(CliError::Usage("--every: expected at least one step".into()));
    }
    if arguments.images && !matches!(format, Format::Mcap) {
        return Err(CliError::Usage("--images applies to mcap only".into()));
    }
    let images = if arguments.images { Some(recorded_seed(&mut inquiry, &run)?) } else { None };
    let order = Order {
        run: &run,
        format,
        output: &output,
        force: arguments.force,
        tables: arguments.tables.iter().map(|name| table_named(name)).collect::<Result<_, _>>()?,
        steps: arguments.range.steps(&run)?,
        every,
        images,
    };
    let mut bar = Bar::new();
    let exported = write(&mut inquiry, &order, &mut bar)?;
    drop(bar);
    let mut text = format!("{}\n", exported.place.display());
    for (name, count) in &exported.counts {
        text += &format!("{count:>12}  {name}\n");
    }
    print(text);
    Ok(ExitStatus::Success)
}

fn table_named(name: &str) -> Result<&'static Table, CliError> {
    Table::named(name).ok_or_else(|| {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        let meant = did_you_mean(name, names.iter().copied());
        CliError::Usage(format!(
            "--tables: there is no table '{name}'{meant}{} {}",
            if meant.is_empty() { "; there are" } else { " There are" },
            names.join(", ")
        ))
    })
}

impl StepRange {
    /// First and last step of the range.
    pub(super) fn steps(&self, run: &RecordedRun) -> Result<(u64, u64), CliError> {
        let step = |moment: Moment| moment.steps(run.timestep);
        let (from, to) = (self.from.map_or(0, step), self.to.map_or(MAX_STEP, step));
        match from <= to {
            true => Ok((from, to)),
            false => Err(CliError::Usage("--from is later than --to".into())),
        }
    }
}
