//! The figures of a report as a table for a terminal.

use std::fmt::Write;

use super::{
    Figures, JointError, OURS, Outcome,
    published::{self, Published},
    report::{Report, Row},
};

/// Table of a report: a line for each engine under its case, then the published runs of the same cases.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(report, &mut out);
    out
}

fn write_all(report: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "{:<46} {:>9} {:>10} {:>9} {:>9} {:>7} {:>7} {:>7} {:>9} {:>9} {:>8} {:>6}",
        "engine",
        "drop mm",
        "creep um/s",
        "way mm",
        "angle deg",
        "1 mm s",
        "1 cm s",
        "5 deg s",
        "legacy J",
        "energy J",
        "wall s",
        "share"
    )?;
    for row in &report.rows {
        writeln!(
            out,
            "{}, friction {}, {} ms, {} s{}",
            row.title,
            row.friction,
            1e3 * row.timestep_s,
            row.seconds,
            if row.note.is_empty() { String::new() } else { format!("; {}", row.note) }
        )?;
        let ours = row.ours();
        for outcome in &row.outcomes {
            writeln!(out, "{}", outcome_line(outcome, ours))?;
        }
        for (engine, why) in &row.missing {
            writeln!(out, "  {engine}: {why}")?;
        }
        for event in row.outcomes.iter().flat_map(|outcome| &outcome.events) {
            writeln!(
                out,
                "    {} in {} steps, first at {:.3} s: {}",
                event.guard, event.steps, event.first_s, event.text
            )?;
        }
        write_joints(row, out)?;
    }
    writeln!(
        out,
        "\ncreep: mean over the second half; way and angle: the largest in a jaw's frame; legacy: the published energy; energy: of pose and twist in\n\
         a jaw's frame, both with 1 ms; wall: of the steps alone; share: the wall time of {OURS} to it"
    )?;
    write_published(report, out)
}

/// Writes the tracking errors of the joints, a line for each engine and figure.
fn write_joints(row: &Row, out: &mut String) -> std::fmt::Result {
    let Some(first) = row.outcomes.iter().find(|outcome| !outcome.joints.is_empty()) else { return Ok(()) };
    let names: String = first.joints.iter().map(|joint| format!("{:>14}", joint.joint)).collect();
    writeln!(out, "    {:<42}{names}", "angles of the joints, rad")?;
    for outcome in row.outcomes.iter().filter(|outcome| !outcome.joints.is_empty()) {
        let mut figures = |what: &str, of: &dyn Fn(&JointError) -> Option<f64>| {
            let cells: Vec<String> = outcome.joints.iter().filter_map(of).map(|own| format!("{own:>14.4}")).collect();
            if cells.is_empty() {
                return Ok(());
            }
            writeln!(
                out,
                "    {:<42}{}",
                format!("{}: {what}", outcome.engine.split(',').next().unwrap_or("")),
                cells.concat()
            )
        };
        figures("largest error", &|joint| Some(joint.largest_rad))?;
        figures("rms error", &|joint| Some(joint.rms_rad))?;
        figures("apart from ours", &|joint| joint.apart_rad)?;
    }
    Ok(())
}

fn outcome_line(outcome: &Outcome, ours: Option<&Outcome>) -> String {
    let Figures { drop_m, creep_m_per_s, way_m, angle_rad, legacy_j, corrected_j, .. } = outcome.figures;
    let Figures { reached_1_mm_s, reached_1_cm_s, reached_5_deg_s, .. } = outcome.figures;
    let share = ours.filter(|ours| !std::ptr::eq(*ours, outcome)).map(|ours| ours.wall_s / outcome.wall_s);
    let cells = [
        format!("{:>9}", drop_m.map_or("-".into(), |drop| two_digits(1e3 * drop))),
        format!("{:>10}", creep_m_per_s.map_or("-".into(), |creep| two_digits(1e6 * creep))),
        format!("{:>9}", two_digits(1e3 * way_m)),
        format!("{:>9}", two_digits(angle_rad.to_degrees())),
        format!("{:>7}", time_or_never(reached_1_mm_s)),
        format!("{:>7}", time_or_never(reached_1_cm_s)),
        format!("{:>7}", time_or_never(reached_5_deg_s)),
        format!("{:>9}", two_digits(legacy_j)),
        format!("{:>9}", two_digits(corrected_j)),
        format!("{:>8}", two_digits(outcome.wall_s)),
        format!("{:>6}", share.map_or("-".into(), |share| format!("{share:.2}"))),
    ];
    format!("  {:<44} {}", outcome.engine, cells.join(" "))
}

/// A number with two significant digits, in powers of ten where the plain number would be long; `lost` if it is not
/// finite.
fn two_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (1e-3..1e6).contains(&size) => {
            let digits = (1 - libm::floor(libm::log10(size)) as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
        size if size.is_finite() => format!("{value:.1e}"),
        _ => "lost".into(),
    }
}

/// A time in s, or `never`.
fn time_or_never(seconds: Option<f64>) -> String {
    seconds.map_or("never".into(), |seconds| format!("{seconds:.3}"))
}

/// Writes how long the published engines held the object, and ours by the same measure.
fn write_published(report: &Report, out: &mut String) -> std::fmt::Result {
    let all = published::all();
    let engines = published::engines(&all);
    let mut cases: Vec<&str> = Vec::new();
    for row in &report.rows {
        let known = all.iter().any(|run| run.case == row.case);
        if known && !cases.contains(&row.case.as_str()) {
            cases.push(&row.case);
        }
    }
    if cases.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nPublished, friction 100 / 1e8: seconds until the legacy energy of an object passed 1e7 J; + held on for 100 s; ? log ends without a reason"
    )?;
    write!(out, "{:<24}", "")?;
    engines.iter().try_for_each(|engine| write!(out, "{engine:>16}"))?;
    writeln!(out, "{:>24}", OURS)?;
    for case in cases {
        write!(out, "{case:<24}")?;
        for engine in &engines {
            let of = |friction: f64| {
                let run = all.iter().find(|run| run.case == case && run.engine == *engine && run.friction == friction);
                run.map_or("-".into(), Published::shown)
            };
            write!(out, "{:>16}", format!("{} / {}", of(100.0), of(1e8)))?;
        }
        writeln!(out, "{:>24}", held_text(report, case))?;
    }
    Ok(())
}

/// Duration of the hold of our engine in a case, the shortest of its runs, in the format of [`Published::shown`].
fn held_text(report: &Report, case: &str) -> String {
    let rows = report.rows.iter().filter(|row: &&Row| row.case == case);
    let ours = rows.filter_map(Row::ours);
    let lost = ours.clone().filter_map(|outcome| outcome.figures.legacy_end_s).fold(f64::INFINITY, f64::min);
    if lost.is_finite() {
        return format!("{lost:.2}");
    }
    let seconds = ours.map(|outcome| outcome.figures.seconds).fold(f64::INFINITY, f64::min);
    if seconds.is_finite() { format!("{seconds:.0}+") } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_two_digits() {
        let shown = [0.0, 0.012_34, 1.26, 12.6, 1234.5, 2.5e-7, 3e9, f64::INFINITY].map(two_digits);
        assert_eq!(shown, ["0", "0.012", "1.3", "13", "1234", "2.5e-7", "3.0e9", "lost"]);
    }
}
