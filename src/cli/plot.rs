//! `simpartner plot`: line plots of a run's values over time.

use std::path::PathBuf;

use clap::Args;

use simpartner_terminal::output::line;

use super::{
    exit::{CliError, ExitStatus},
    export::StepRange,
    logged::{Bar, LogArguments, RunName},
};
use crate::{
    analysis::curves::{Asked, curves},
    plot::Document,
};

#[derive(Debug, Args)]
pub(super) struct PlotArguments {
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    run: RunName,
    /// Fields to plot, separated by commas: `Position.x` of a device, `body:Wheel*.F_y` of all bodies with such a name,
    /// `joint:Turner.position_1`, `clock:late_ns`. A name may follow its robot's name and a slash. * stands for any
    /// part of a name or field, as in `Scanner.distance_*`
    #[arg(long)]
    fields: String,
    /// Field for the horizontal axis, in place of time, such as `Position.x`. Several, separated by commas, belong to
    /// the --fields one by one
    #[arg(long, value_name = "FIELDS")]
    over: Option<String>,
    /// File to write, .svg or .png [default: run-NUMBER.svg]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    range: StepRange,
    #[command(flatten)]
    log: LogArguments,
}

/// Draws the plot and prints the path of its file.
pub(super) fn plot(arguments: &PlotArguments) -> Result<ExitStatus, CliError> {
    let (mut inquiry, run) = arguments.log.open(&arguments.run)?;
    let output = arguments.output.clone().unwrap_or_else(|| format!("run-{}.svg", run.simulation_id).into());
    let extension = output.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    let is_picture = match extension.as_deref() {
        Some("svg") => false,
        Some("png") => true,
        _ => {
            return Err(CliError::Usage(format!("--output: expected a file .svg or .png, got '{}'", output.display())));
        }
    };
    let steps = arguments.range.steps(&run)?;
    let asked = Asked { fields: &arguments.fields, over: arguments.over.as_deref(), steps };
    let document = curves(&mut inquiry, &run, &asked, &mut Bar::new())?;
    let bytes = if is_picture { png_bytes(&document)? } else { document.svg().into_bytes() };
    std::fs::write(&output, bytes)
        .map_err(|error| CliError::Usage(format!("--output: cannot write '{}': {error}", output.display())))?;
    line(output.display());
    Ok(ExitStatus::Success)
}

#[cfg(feature = "png")]
fn png_bytes(document: &Document) -> Result<Vec<u8>, CliError> {
    document.png().map_err(|error| CliError::Input(error.to_string()))
}

#[cfg(not(feature = "png"))]
fn png_bytes(_: &Document) -> Result<Vec<u8>, CliError> {
    let what = "this build draws no PNG: build it with `cargo build --release --features png`, or write .svg";
    Err(CliError::Input(what.into()))
}
