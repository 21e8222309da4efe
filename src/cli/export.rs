//! `simpartner export`: a run as files for other programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    exit::{CliError, ExitStatus},
    logged::{Bar, LogArguments, RunName},
    output::print,
};
use crate::{
    analysis::export::{Format, Order, export as write},
    recorder::{
        RecordedRun,
        inquiry::{TABLES, Table},
    },
};

/// A step beyond which no run has any.
const LAST: u64 = u32::MAX as u64;

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// The run: a number, `last`, or URL#NUMBER
    run: RunName,
    /// As what: a folder of tables as csv or parquet, or one mcap file for Foxglove and PlotJuggler
    #[arg(long, value_enum)]
    format: FileFormat,
    /// The folder or file to make [default: run-NUMBER-csv, run-NUMBER-parquet or run-NUMBER.mcap]
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Only these tables, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tables: Vec<String>,
    /// From this simulated time on
    #[arg(long, value_name = "SECONDS")]
    from: Option<f64>,
    /// Up to this simulated time
    #[arg(long, value_name = "SECONDS")]
    to: Option<f64>,
    /// Only steps that are divided by this; commands and events are always there
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FileFormat {
    Csv,
    Parquet,
    Mcap,
}

/// Writes the files and prints what is in them.
pub(super) fn export(arguments: &ExportArguments) -> Result<ExitStatus, CliError> {
    let (mut inquiry, run) = arguments.log.open(&arguments.run)?;
    let id = run.simulation_id;
    let (format, output) = match arguments.format {
        FileFormat::Csv => (Format::Csv, format!("run-{id}-csv")),
        FileFormat::Parquet => (Format::Parquet, format!("run-{id}-parquet")),
        FileFormat::Mcap => (Format::Mcap, format!("run-{id}.mcap")),
    };
    let output = arguments.output.clone().unwrap_or_else(|| output.into());
    let order = Order {
        run: &run,
        format,
        output: &output,
        force: arguments.force,
        tables: arguments.tables.iter().map(|name| table(name)).collect::<Result<_, _>>()?,
        steps: steps(&run, arguments.from, arguments.to)?,
        every: arguments.every,
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

fn table(name: &str) -> Result<&'static Table, CliError> {
    Table::named(name).ok_or_else(|| {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        CliError::Usage(format!("--tables: there is no table '{name}'; there are {}", names.join(", ")))
    })
}

/// The steps between two simulated times.
pub(super) fn steps(run: &RecordedRun, from: Option<f64>, to: Option<f64>) -> Result<(u64, u64), CliError> {
    let step = |flag: &str, seconds: f64| match seconds.is_finite() && seconds >= 0.0 {
        true => Ok((seconds / run.timestep.seconds()).round() as u64),
        false => Err(CliError::Usage(format!("{flag}: expected seconds from 0 on, got {seconds}"))),
    };
    let from = from.map_or(Ok(0), |seconds| step("--from", seconds))?;
    let to = to.map_or(Ok(LAST), |seconds| step("--to", seconds))?.min(LAST);
    if from > to {
        return Err(CliError::Usage("--from is later than --to".into()));
    }
    Ok((from, to))
}
