//! `simpartner replay`: repeats a logged run and compares every step with its log.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use simpartner_dynamics::RUT_CELL;
use simpartner_model::{Moment, StepIndex};

use simpartner_terminal::output::{line, note, print};

use super::{
    exit::{CliError, ExitStatus},
    logged::{Bar, LogArguments, RunName},
};
use crate::replay::{Mismatch, Replay, ReplayError, ReplayReport, RutRelief};

#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    run: RunName,
    /// Last step to repeat, or its simulated time as 2.5s [default: the last step of the run]
    #[arg(long, value_name = "STEP", value_parser = Moment::or_steps)]
    until: Option<Moment>,
    /// Write the heights of the ground, with its ruts after the last repeated step, into this file: .asc, .csv, .tif or
    /// .png (16 bits), or as a surface .obj or .stl
    #[arg(long, value_name = "FILE")]
    ruts: Option<PathBuf>,
    /// Spacing of these heights, in metres, at least 0.01; each is the deepest of its cell
    #[arg(long, value_name = "METRES", default_value_t = RUT_CELL, value_parser = parse_cell, requires = "ruts")]
    cell: f64,
    #[command(flatten)]
    log: LogArguments,
}

fn parse_cell(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    match number >= RUT_CELL && number.is_finite() {
        true => Ok(number),
        false => Err(format!("expected at least {RUT_CELL}, the cells in which the engine keeps ruts")),
    }
}

/// Repeats the run and prints the result of the comparison.
pub(super) fn replay(arguments: &ReplayArguments) -> Result<ExitStatus, CliError> {
    let (inquiry, run) = arguments.log.open(&arguments.run)?;
    let until = arguments.until.map(|until| StepIndex(until.steps(run.timestep)));
    let mut replay = Replay::open(inquiry, run)?;
    for change in replay.environment_changes() {
        note(format_args!("warning: {change}; results may differ in their last bits"));
    }
    let report = replay.run(until, &mut Bar::new()).map_err(|error| match error {
        ReplayError::NoSuchStep { .. } => CliError::Usage(format!("--until: {error}")),
        other => other.into(),
    })?;
    print(report_text(&report));
    if let Some(path) = arguments.ruts.as_deref().filter(|_| report.mismatch.is_none()) {
        write_ruts(&replay, path, arguments.cell)?;
    }
    Ok(if report.mismatch.is_none() && report.image_mismatch.is_none() {
        ExitStatus::Success
    } else {
        ExitStatus::Differ
    })
}

fn write_ruts(replay: &Replay, path: &Path, cell: f64) -> Result<(), CliError> {
    let refuse = |what: String| CliError::Input(format!("'{}': {what}", path.display()));
    let relief = replay.ruts(cell).map_err(|what| refuse(format!("{what} (--cell)")))?;
    let Some(RutRelief { dem, middle: [x, z], pressed, deepest, left_out }) = relief else {
        return Err(refuse(
            "no ground with soil and heights was pressed in this run, so there are no ruts to write".into(),
        ));
    };
    let bytes = dem.write(&path.to_string_lossy()).map_err(refuse)?;
    fs::write(path, bytes).map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?;
    if left_out > 0 {
        note(format_args!("warning: the ruts of {left_out} planes are left out, which are steeper than 60 degrees"));
    }
    line(format_args!(
        "ruts              {}: {} x {} samples every {cell} m about x = {x:.3}, z = {z:.3}; {pressed} cells pressed, {:.1} mm at most",
        path.display(),
        dem.points_x,
        dem.points_z,
        1e3 * deepest
    ));
    Ok(())
}

fn report_text(report: &ReplayReport) -> String {
    let ReplayReport { run, world, engine, steps, compared, chain_head, state_hash, images, image_mismatch, mismatch } =
        report;
    let images = match (images, image_mismatch) {
        (0, _) => String::new(),
        (count, None) => format!("images            {count} made again, the same\n"),
        (count, Some(first)) => format!("images            {count} made again; the first that differs: {first}\n"),
    };
    let verdict = match mismatch {
        None => format!("chain             the same; its head is {chain_head:016x}\nstate             {state_hash}\n"),
        Some(Mismatch { step, deviation }) => {
            let first = deviation.as_ref().map_or_else(
                || "not in the log: the difference is in a value or in an earlier step that was not logged".into(),
                ToString::to_string,
            );
            format!("chain             different from step {step} on\nfirst difference  step {step}, {first}\n")
        }
    };
    format!(
        "run               {run}, {world}\nengine            {engine}\nsteps made        {steps}, {compared} of them compared with the log\n{verdict}{images}"
    )
}
