//! `simpartner grasp chart`: the tilts of gravity, and other disturbances, that a grasp holds.

use std::{fs, path::PathBuf};

use clap::Args;
use serde_json::{Value, json};
use simpartner_grasp::{
    Statics,
    chart::{self, Cell, Chart, Disturb, Disturbance},
    harker,
};
use simpartner_model::Grasp;
use simpartner_terminal::output::{Rounded, line};

use super::{
    super::exit::{CliError, ExitStatus},
    super::format::ReportArguments,
    input::{Friction, Input, json_of, program_of_1994, refuse, shown, statics},
    keep::{Answer, Keep, store_answer},
};
use crate::{
    plot::{Mark, Polar},
    recorder::Database,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct ChartArguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    friction: Friction,
    /// Use the method of 1994, with its linear program, 21 rows, 39 columns, and counts from 1
    #[arg(long, conflicts_with_all = ["edges", "svg", "force", "torque", "tilt"])]
    as_1994: bool,
    /// With --as-1994: follow the text of Harker's thesis, with 40 columns and counts from 0
    #[arg(long, requires = "as_1994")]
    corrected: bool,
    /// Largest tilt, in degrees, above 0 and up to 180 [default: that of the file]
    #[arg(long, value_name = "DEGREES", value_parser = parse_degrees)]
    tilt: Option<f64>,
    /// Draw the chart into this .svg file
    #[arg(short = 'o', long = "output", visible_alias = "svg", value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Find the largest force that the grasp holds in addition to the load, up to this many newtons
    #[arg(long, value_name = "NEWTONS", value_parser = parse_positive)]
    force: Option<f64>,
    /// Find the largest torque that the grasp holds in addition to the load, up to this many newton metres
    #[arg(long, value_name = "NEWTON_METRES", value_parser = parse_positive)]
    torque: Option<f64>,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    keep: Keep,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value <= 1e9)
        .ok_or("expected a number above 0 and at most 1e9".into())
}

pub(super) fn parse_degrees(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value <= 180.0)
        .ok_or("expected degrees above 0 and at most 180".into())
}

pub(super) fn chart(arguments: &ChartArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.keep.database()?;
    if arguments.as_1994 {
        return chart_as_1994(arguments, database.as_ref());
    }
    let grasp = arguments.input.grasp()?;
    let statics = statics(&grasp, &arguments.friction)?;
    let tilt = arguments.tilt.map_or(grasp.tilt, f64::to_radians);
    let found = chart::chart(&statics, tilt).map_err(refuse)?;
    let disturbed = [(Disturb::Force, arguments.force), (Disturb::Torque, arguments.torque)];
    let disturbances: Vec<(Disturb, f64, Disturbance)> = disturbed
        .into_iter()
        .filter_map(|(kind, most)| most.map(|most| (kind, most, chart::disturbed(&statics, kind, most))))
        .collect();
    if let Some(path) = &arguments.svg {
        let picture = polar_chart(&grasp, &found).svg();
        fs::write(path, picture)
            .map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?;
    }
    let kept = [("solid_angle", found.solid_angle()), ("safe_tilt", found.safe_tilt())];
    let answer = Answer { verb: "chart", name: &grasp.name, verdict: "", figures: &kept };
    let report = || json_of_chart(arguments, &grasp, &statics, &found, &disturbances);
    store_answer(database.as_ref(), &arguments.input, &answer, report)?;
    if arguments.report.is_json() {
        line(format_args!("{:#}", report()));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: gravity tilted by up to {} degrees", arguments.input.shown(), Rounded(tilt.to_degrees())));
    print_cells(&found.cells, tilt.to_degrees(), |cell| match cell {
        Cell::Holds => 'o',
        Cell::Impossible => 'x',
        Cell::Undecided => '?',
    });
    figure_lines(&found).iter().for_each(|figure| line(format_args!("  {figure}")));
    for (kind, most, disturbance) in &disturbances {
        print_disturbance(&grasp, *kind, *most, disturbance);
    }
    Ok(ExitStatus::Success)
}

/// Sentences with the figures of a chart.
fn figure_lines(found: &Chart) -> Vec<String> {
    let [holds, all] = found.count();
    let percent = 100.0 * holds as f64 / all as f64;
    let mut figures = vec![
        format!(
            "holds in {holds} of {all} directions ({percent:.2} %), {:.2} % of the solid angle",
            100.0 * found.solid_angle()
        ),
        match found.first_failure {
            None => "holds in all directions of the chart".to_owned(),
            Some([azimuth, tilt]) => {
                let (azimuth, tilt) = (Rounded(azimuth.to_degrees()), Rounded(tilt.to_degrees()));
                format!("largest safe tilt {tilt} degrees; beyond it the azimuth of {azimuth} degrees fails first")
            }
        },
    ];
    figures.push(format!("cone programs solved: {}", found.solved));
    figures
}

fn print_cells<T: Copy>(rows: &[Vec<T>], tilt: f64, mark: impl Fn(T) -> char) {
    for (row, cells) in rows.iter().enumerate() {
        let marks: String = cells.iter().map(|cell| mark(*cell)).collect();
        line(format_args!("  {:>7.2} {marks}", tilt * row as f64 / chart::ROWS as f64));
    }
}

fn name_and_unit(kind: Disturb) -> (&'static str, &'static str) {
    match kind {
        Disturb::Force => ("force", "N"),
        Disturb::Torque => ("torque", "N m"),
    }
}

fn print_disturbance(grasp: &Grasp, kind: Disturb, most: f64, found: &Disturbance) {
    let (name, unit) = name_and_unit(kind);
    line(format_args!("  a {name} beside the load, searched up to {} {unit}:", Rounded(most)));
    for (direction, size) in &found.sizes {
        let more = if *size == most { " or more" } else { "" };
        line(format_args!(
            "    along {:<34} {} {unit}{more}",
            shown(grasp.object.pose.rotation * *direction),
            Rounded(*size)
        ));
    }
    line(format_args!("    in every direction {} {unit}", Rounded(found.every)));
}

fn polar_chart(grasp: &Grasp, found: &Chart) -> Polar {
    let mark = |cell: &Cell| match cell {
        Cell::Holds => Mark::Good,
        Cell::Impossible => Mark::Bad,
        Cell::Undecided => Mark::Open,
    };
    Polar {
        title: format!("Tilt of gravity that {} holds", grasp.name),
        notes: figure_lines(found),
        rim: found.tilt.to_degrees(),
        cells: found.cells.iter().map(|row| row.iter().map(mark).collect()).collect(),
        safe: found.safe.iter().map(|tilt| tilt.to_degrees()).collect(),
    }
}

fn json_of_chart(
    arguments: &ChartArguments,
    grasp: &Grasp,
    statics: &Statics,
    found: &Chart,
    disturbances: &[(Disturb, f64, Disturbance)],
) -> Value {
    let [holds, all] = found.count();
    let rows = found.cells.iter().enumerate().map(|(row, cells)| {
        let tilt = found.tilt * row as f64 / chart::ROWS as f64;
        let words = cells.iter().map(|cell| match cell {
            Cell::Holds => "holds",
            Cell::Impossible => "impossible",
            Cell::Undecided => "undecided",
        });
        json!({ "tilt_rad": tilt, "cells": words.collect::<Vec<_>>() })
    });
    let disturbances = disturbances.iter().map(|(kind, most, found)| {
        let (name, unit) = name_and_unit(*kind);
        let along = found.sizes.iter().map(|(direction, size)| {
            json!({ "direction": json_of(grasp.object.pose.rotation * *direction), "held": size })
        });
        json!({ "kind": name, "unit": unit, "searched_up_to": most, "along": along.collect::<Vec<_>>(), "every": found.every })
    });
    json!({
        "file": arguments.input.shown(),
        "name": grasp.name,
        "weight_N": json_of(grasp.object.pose.rotation * statics.weight),
        "tilt_rad": found.tilt,
        "rows": rows.collect::<Vec<_>>(),
        "holds": holds,
        "directions": all,
        "solid_angle": found.solid_angle(),
        "safe_tilt_rad": found.safe_tilt(),
        "first_failure": found.first_failure.map(|[azimuth, tilt]| json!({ "azimuth_rad": azimuth, "tilt_rad": tilt })),
        "safe_tilt_of_columns_rad": found.safe,
        "solved": found.solved,
        "disturbances": disturbances.collect::<Vec<_>>(),
    })
}

fn chart_as_1994(arguments: &ChartArguments, database: Option<&Database>) -> Result<ExitStatus, CliError> {
    let case = arguments.input.harker()?;
    let rows = harker::chart(&case, program_of_1994(arguments.corrected)).map_err(refuse)?;
    let (standing, directions) = (rows.iter().flatten().filter(|stands| **stands).count(), 21 * rows[0].len());
    // The counter of 1994 began at 1, and its total was 820 whatever the columns.
    let (count, total) = if arguments.corrected { (standing, directions) } else { (standing + 1, 820) };
    let percent = 100.0 * count as f64 / total as f64;
    let report = json!({
        "file": arguments.input.shown(), "model": "1994", "rows": rows, "printed_count": count, "printed_total": total,
        "printed_percent": percent, "directions": directions,
    });
    let answer = Answer { verb: "chart", name: "", verdict: "", figures: &[] };
    store_answer(database, &arguments.input, &answer, || report.clone())?;
    if arguments.report.is_json() {
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: as in 1994", arguments.input.shown()));
    print_cells(&rows, case.tilt, |stands| if stands { 'o' } else { 'x' });
    line(format_args!(
        "  Grasp was in equilibrium for {count} out of {total} perturbations of G, (={percent:.2} percent)"
    ));
    Ok(ExitStatus::Success)
}
