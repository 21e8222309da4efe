//! Plots of a report: closed forms as lines, the simulation as points.

use super::{Report, Row, Steady};
use simpartner_plot::{Document, Line, Plot};

/// Files of a report: the name of each, without folder, and its SVG text.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    let pulls = [
        rows_plot(&report.pulls, "Drawbar pull on level ground", "slip", "pull in N", 1.0, |steady| {
            steady.drawbar_pull_n
        }),
        rows_plot(&report.pulls, "Torque of all wheels", "slip", "torque in N m", 1.0, |steady| steady.torque_nm),
        rows_plot(&report.pulls, "Sinkage of the deepest wheel", "slip", "sinkage in mm", 1.0, |steady| {
            1e3 * steady.sinkage_m
        }),
    ];
    let degrees = 180.0 / std::f64::consts::PI;
    let slope = "slope in degrees";
    let slopes = [
        rows_plot(&report.slopes, "Slip up slopes", slope, "slip", degrees, |steady| steady.slip),
        rows_plot(&report.slopes, "Torque of all wheels", slope, "torque in N m", degrees, |steady| steady.torque_nm),
        rows_plot(&report.slopes, "Mechanical energy", slope, "energy in J/m", degrees, |steady| steady.energy_j_per_m),
    ];
    let mut files = Vec::new();
    let mut add = |name, what: &str, plots: Vec<Plot>| {
        let title = format!("{} on {}: {what}", report.robot, report.ground);
        files.push((name, Document { title, plots }.svg()));
    };
    if !report.pulls.is_empty() {
        add("drawbar_pull.svg", "drawbar pull", pulls.into());
    }
    if !report.slopes.is_empty() {
        add("slopes.svg", "slopes", slopes.into());
    }
    add("stability.svg", "static stability", vec![support_polygon(report)]);
    if !report.free_paths.is_empty() {
        add("free_path.svg", "mean free path", vec![free_path_plot(report)]);
    }
    files
}

/// Accessor of one of a row's three results: by either closed form, or simulated.
type Column = fn(&Row) -> &Option<Steady>;

fn rows_plot(rows: &[Row], title: &str, x: &str, y: &str, scale: f64, of: fn(&Steady) -> f64) -> Plot {
    let points = |steady: Column, at_slip: bool| {
        let each = rows.iter().filter_map(|row| {
            let own = steady(row).as_ref()?;
            // The slip of a simulation is that which was measured, not that which was asked for.
            Some((if at_slip && x == "slip" { own.slip } else { row.asked * scale }, of(own)))
        });
        each.collect::<Vec<_>>()
    };
    let mut plot = Plot::new(title, x, y);
    let lines: [(_, _, Column); 3] = [
        ("simulated", Line::Marked(0), |row| &row.simulated),
        ("integral of stresses", Line::Reference, |row| &row.stress),
        ("thrust less resistances", Line::Thesis, |row| &row.summed),
    ];
    for (name, line, steady) in lines {
        let points = points(steady, line == Line::Marked(0));
        if !points.is_empty() {
            plot.add(name, line, points);
        }
    }
    plot
}

/// The support polygon and the centre of mass, as seen from above.
fn support_polygon(report: &Report) -> Plot {
    let corner = |[ahead, right]: [f64; 2]| (right, ahead);
    let mut corners: Vec<_> = report.stability.iter().map(|tipping| corner(tipping.edge.ends_m[0])).collect();
    corners.extend(corners.first().copied());
    let least = report.stability.iter().map(|tipping| tipping.edge.margin_rad).fold(f64::INFINITY, f64::min);
    let title = format!("Support polygon; the least margin is {:.1} degrees", least.to_degrees());
    Plot::new(title, "to the right in m", "ahead in m")
        .to_scale()
        .line("where wheels touch", Line::Marked(0), corners)
        .line("centre of mass", Line::Marked(1), [(0.0, 0.0)])
}

fn free_path_plot(report: &Report) -> Plot {
    let points = |of: fn(&super::FreePath) -> Option<f64>| {
        report.free_paths.iter().filter_map(move |path| Some((path.cover, of(path)?)))
    };
    let title = format!("Mean free path among rocks of at least {:.3} m", report.rock_diameter_m);
    Plot::new(title, "part of the ground that rocks cover", "path in m")
        .logarithmic()
        .line("fields of rocks", Line::Marked(0), points(|path| path.fields_m))
        .line("formula", Line::Reference, points(|path| Some(path.formula_m)))
}
