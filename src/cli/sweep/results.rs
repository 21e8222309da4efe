//! `simpartner sweep results`: cases, figures, correlations and plots of a sweep.

use std::{fs, path::PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use simpartner_plot::Document;
use simpartner_terminal::output::{line, print};
use simpartner_wire::near::did_you_mean;

use super::planned::find_sweep;
use crate::{
    cli::{
        exit::{CliError, ExitStatus},
        logged::LogArguments,
    },
    recorder::SweepStore,
    sweep::{Figures, SweepTable, correlations, figures, histogram, scatter},
};

/// Form of the results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ResultsFormat {
    /// Figures of each measure, and its rank correlations with the parameters
    #[default]
    Figures,
    /// All cases as CSV
    Csv,
    /// All cases as JSON
    Json,
    /// Plots as SVG: a histogram of each measure, and each measure over each parameter
    Svg,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ResultsArguments {
    /// Name or number of the sweep
    #[arg(value_name = "SWEEP")]
    sweep: String,
    /// Form of the results
    #[arg(long, value_enum, default_value = "figures")]
    format: ResultsFormat,
    /// Only this measure
    #[arg(long, value_name = "NAME")]
    measure: Option<String>,
    /// File for the results [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    log: LogArguments,
}

pub(super) fn print_results(arguments: &ResultsArguments) -> Result<ExitStatus, CliError> {
    let mut store = SweepStore::open_existing(&arguments.log.database()?)?;
    let sweep = find_sweep(&mut store, &arguments.sweep)?;
    let mut table = SweepTable::read(&mut store, sweep.id, sweep.cases)?;
    if let Some(name) = &arguments.measure {
        let Some(place) = table.measures.iter().position(|known| known == name) else {
            let near = did_you_mean(name, table.measures.iter().map(String::as_str));
            return Err(CliError::Usage(format!(
                "--measure: {} has no '{name}'{near}; it has {}",
                sweep.name,
                table.measures.join(", ")
            )));
        };
        table.measures = vec![name.clone()];
        table.rows.iter_mut().for_each(|row| row.measures = vec![row.measures[place]]);
    }
    let text = match arguments.format {
        ResultsFormat::Figures => figures_text(&table, &mut store, sweep.id, sweep.cases)?,
        ResultsFormat::Csv => table.csv(),
        ResultsFormat::Json => json_text(&table),
        ResultsFormat::Svg => plots_text(&table, &sweep.name)?,
    };
    match &arguments.output {
        None => print(text),
        Some(path) => {
            let failed = |error| CliError::Input(format!("cannot write '{}': {error}", path.display()));
            fs::write(path, text).map_err(failed)?;
            line(format_args!("{}: {} cases in {}", sweep.name, table.rows.len(), path.display()));
        }
    }
    Ok(ExitStatus::Success)
}

fn figures_text(table: &SweepTable, store: &mut SweepStore, sweep: i64, cases: u64) -> Result<String, CliError> {
    let mut text = format!("{} of {cases} cases\n", table.rows.len());
    let head = ["measure", "cases", "mean", "deviation", "min", "5 %", "50 %", "95 %", "max"];
    text += &format!(
        "{:<20} {:>7} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n",
        head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7], head[8]
    );
    for (place, name) in table.measures.iter().enumerate() {
        let Some(Figures { count, mean, deviation, quantiles: [min, low, middle, high, max] }) =
            figures(&table.values(place))
        else {
            text += &format!("{name:<20} {:>7}\n", 0);
            continue;
        };
        text += &format!(
            "{name:<20} {count:>7} {mean:>12.6} {deviation:>12.6} {min:>12.6} {low:>12.6} {middle:>12.6} {high:>12.6} {max:>12.6}\n"
        );
    }
    let found = correlations(table);
    if !found.is_empty() {
        text += "\nrank correlation   parameter -> measure\n";
    }
    for correlation in found {
        text += &format!("{:>16.3}   {} -> {}\n", correlation.value, correlation.parameter, correlation.measure);
    }
    let failed = store.finished(sweep, 0..cases)?.into_values().filter(|case| !case.cause.is_empty());
    for case in failed.take(10) {
        text += &format!("\ncase {} {}: {}\n", case.case, case.status, case.cause);
    }
    Ok(text)
}

fn json_text(table: &SweepTable) -> String {
    let rows = table.rows.iter().map(|row| {
        let parameters = table
            .parameters
            .iter()
            .zip(&row.parameters)
            .map(|(path, (text, value))| (path.clone(), value.map_or_else(|| json!(text), |value| json!(value))));
        let measures = table.measures.iter().cloned().zip(row.measures.iter().map(|value| json!(value)));
        json!({
            "case": row.case,
            "status": row.status,
            "parameters": parameters.collect::<serde_json::Map<_, _>>(),
            "measures": measures.collect::<serde_json::Map<_, _>>(),
        })
    });
    format!("{:#}\n", json!(rows.collect::<Vec<_>>()))
}

fn plots_text(table: &SweepTable, name: &str) -> Result<String, CliError> {
    let mut plots = Vec::new();
    for measure in 0..table.measures.len() {
        plots.push(histogram(table, measure));
        for parameter in 0..table.parameters.len() {
            if !table.points(parameter, measure).is_empty() {
                plots.push(scatter(table, parameter, measure));
            }
        }
    }
    if plots.is_empty() {
        return Err(CliError::Input(format!("{name} has no measured case to plot")));
    }
    Ok(Document { title: format!("Sweep {name}"), plots }.svg())
}
