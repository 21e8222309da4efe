//! The figures of a report as tables for a terminal.

use std::fmt::Write;

use super::{Report, Row, SlopeLimit, Steady, WheelFigures};

/// The tables of a report, one after another.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(report, &mut out);
    out
}

fn write_all(report: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "{} on {}, gravity {} m/s², rims at {} m/s",
        report.robot, report.ground, report.gravity, report.rim_speed
    )?;
    writeln!(
        out,
        "{:.3} kg, centre of mass {:.3} m high, wheelbase {:.3} m, track {:.3} m, {:.3} m wide",
        report.mass_kg, report.centre_height_m, report.wheelbase_m, report.track_m, report.width_m
    )?;
    writeln!(
        out,
        "\n{:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "wheel", "driven", "radius m", "width m", "ahead m", "right m", "load N", "shear kPa"
    )?;
    for wheel in &report.wheels {
        let driven = if wheel.driven { "yes" } else { "no" };
        let [ahead, right] = wheel.place_m;
        let width = figure(wheel.width_m, 3);
        let shear = figure(wheel.shear_strength_pa.map(|stress| 1e-3 * stress), 2);
        let WheelFigures { name, radius_m, load_n, .. } = wheel;
        writeln!(
            out,
            "{name:<22} {driven:>7} {radius_m:>9.3} {width:>9} {ahead:>9.3} {right:>9.3} {load_n:>9.2} {shear:>9}"
        )?;
    }
    write_stability(report, out)?;
    if !report.pulls.is_empty() {
        writeln!(out, "\nOn level ground it pulls, at a slip:")?;
        write_rows(&report.pulls, "slip", 1.0, out)?;
    }
    if !report.slopes.is_empty() {
        writeln!(out, "\nUp a slope, with nothing to pull:")?;
        write_rows(&report.slopes, "deg", 180.0 / std::f64::consts::PI, out)?;
    }
    write_limits(report, out)?;
    write_rocks(report, out)
}

fn write_stability(report: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\nStatic stability: the tilt at which it tips over an edge of its support polygon\n{:<44} {:>9} {:>11} {:>13}",
        "over", "edge m", "margin deg", "simulated deg"
    )?;
    for tipping in &report.stability {
        let names: Vec<&str> = tipping.edge.wheels.iter().map(|&wheel| report.wheels[wheel].name.as_str()).collect();
        writeln!(
            out,
            "{:<44} {:>9.3} {:>11.2} {:>13}",
            format!("{} ({:.0} deg from ahead)", names.join(", "), tipping.edge.heading_rad.to_degrees().round() + 0.0),
            tipping.edge.distance_m,
            tipping.edge.margin_rad.to_degrees(),
            figure(tipping.simulated_rad.map(f64::to_degrees), 2)
        )?;
    }
    Ok(())
}

/// Writes three lines for each row: thrust less resistances, the integral of stresses, the simulation.
fn write_rows(rows: &[Row], unit: &str, scale: f64, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "{unit:>6} {:<10} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "by", "slip", "pull N", "thrust N", "compact N", "bulldoz N", "grade N", "torque Nm", "J/m", "sink mm"
    )?;
    let by_stress = rows.iter().any(|row| row.stress.is_some());
    for row in rows {
        for (name, steady) in [("summed", &row.summed), ("stresses", &row.stress), ("simulated", &row.simulated)] {
            let asked = if name == "summed" { format!("{:.2}", row.asked * scale) } else { String::new() };
            if name == "stresses" && !by_stress {
                continue;
            }
            match steady {
                Some(steady) => writeln!(out, "{asked:>6} {name:<10} {}", steady_cells(steady))?,
                None => writeln!(out, "{asked:>6} {name:<10} {:>6}", "-")?,
            }
        }
    }
    Ok(())
}

/// Texts of the columns of a steady motion.
fn steady_cells(steady: &Steady) -> String {
    let Steady { slip, drawbar_pull_n, thrust_n, compaction_n, bulldozing_n, grade_n, .. } = steady;
    format!(
        "{slip:>6.3} {drawbar_pull_n:>9.2} {thrust_n:>9.2} {compaction_n:>9.2} {bulldozing_n:>9.2} {grade_n:>9.2} {:>9.2} {:>9.2} {:>8.2}",
        steady.torque_nm,
        steady.energy_j_per_m,
        1e3 * steady.sinkage_m
    )
}

fn write_limits(report: &Report, out: &mut String) -> std::fmt::Result {
    let [summed, stress, simulated] = report.largest_slope_rad.map(|slope| figure(slope.map(f64::to_degrees), 2));
    let limit = match report.slope_limit {
        Some(SlopeLimit::Traction) => "; the ground gives no more",
        Some(SlopeLimit::Torque) => "; its motors give no more",
        Some(SlopeLimit::Stability) => "; it tips over",
        None => "",
    };
    writeln!(
        out,
        "\nGradeability, with a slip of at most {}: {summed} deg summed, {stress} by stresses, {simulated} simulated{limit}",
        report.most_slip
    )?;
    let step = &report.largest_step_m;
    writeln!(out, "Largest step of firm ground: {} m, {} simulated", figure(step.closed, 3), figure(step.simulated, 3))
}

fn write_rocks(report: &Report, out: &mut String) -> std::fmt::Result {
    if report.free_paths.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nMean free path among rocks, of which those of at least {:.3} m stop it:", report.rock_diameter_m)?;
    writeln!(out, "{:>8} {:>12} {:>12} {:>10} {:>8}", "covered", "formula m", "fields m", "sigma m", "fields")?;
    for path in &report.free_paths {
        writeln!(
            out,
            "{:>8.3} {:>12.2} {:>12} {:>10} {:>8}",
            path.cover,
            path.formula_m,
            figure(path.fields_m, 2),
            figure(path.sigma_m, 2),
            path.fields
        )?;
    }
    for drive in &report.rock_drives {
        writeln!(
            out,
            "field {} covered by {}: a front as wide as it touches a rock after {:.3} m, the robot in the engine after {} m",
            drive.seed,
            drive.cover,
            drive.front_m,
            figure(drive.simulated_m, 3)
        )?;
    }
    Ok(())
}

/// Text of a figure with a number of decimal digits, or a dash if the figure is missing.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}
