//! Numbers of a run over time: which lines a user's fields name, and what the log has for them.

use crate::{
    plot::{Document, LINES, Line, Plot},
    recorder::{
        Inquiry, RecordedRun,
        inquiry::{Component, Part, Selection, Table},
    },
};

use super::{AnalysisError, Progress};

/// Stretches of time of which the lowest and the highest value are kept, so that no peak is lost and no run is too long.
const STRETCHES: u64 = 600;

/// Lines that one plot can hold before they cannot be told apart.
const MOST: usize = LINES;

/// Columns of bodies and of joints, and what they are measured in; of a joint's axis that follows from its kind.
const BODY: &[(&[&str], &str)] = &[
    (&["x", "y", "z"], "m"),
    (&["axis_x", "axis_y", "axis_z"], "axis"),
    (&["angle"], "rad"),
    (&["v_x", "v_y", "v_z"], "m/s"),
    (&["omega_x", "omega_y", "omega_z"], "rad/s"),
    (&["F_x", "F_y", "F_z"], "N"),
    (&["T_x", "T_y", "T_z"], "N m"),
];
const JOINT: &[(&[&str], &str)] = &[
    (&["anchorx", "anchory", "anchorz"], "m"),
    (&["position_1", "position_2", "position_3"], "rad"),
    (&["rate_1", "rate_2", "rate_3"], "rad/s"),
    (&["effort_1", "effort_2", "effort_3"], "N m"),
    (&["F_x", "F_y", "F_z"], "N"),
    (&["T_x", "T_y", "T_z"], "N m"),
];
const CLOCK: &[(&[&str], &str)] = &[(&["late_ns", "compute_ns", "wall_ns"], "ns")];

/// A line to be drawn.
#[derive(Debug, Clone)]
struct Curve {
    name: String,
    unit: String,
    table: &'static str,
    /// The column of the component's number, and the number; none of the clock.
    component: Option<(&'static str, i64)>,
    field: String,
}

/// Draws fields of a run over time, a plot for each unit.
///
/// Fields are separated by commas. `WorkPartner/Position.x` is a device's number, `body:WorkPartner/Wheel*.F_y` one of every body
/// of such a name, `joint:Turner.position_1` a joint's, `clock:.late_ns` one of the steps' timing. The robot may be left out.
///
/// # Errors
/// When a field names nothing, or the log cannot be read.
pub fn curves(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    fields: &str,
    steps: (u64, u64),
    progress: &mut dyn Progress,
) -> Result<Document, AnalysisError> {
    let (first, last) = run
        .steps
        .ok_or_else(|| AnalysisError::Question(format!("run {} has no logged step to plot", run.simulation_id)))?;
    let steps = (steps.0.max(first), steps.1.min(last));
    if steps.0 > steps.1 {
        let text = format!("run {} has its logged steps from {first} to {last}", run.simulation_id);
        return Err(AnalysisError::Question(text));
    }
    let components = inquiry.components(run.simulation_id)?;
    let kinds = sliding(inquiry, run)?;
    let mut wanted = Vec::new();
    for field in fields.split(',').map(str::trim).filter(|field| !field.is_empty()) {
        wanted.extend(named(field, &components, &kinds)?);
    }
    if wanted.is_empty() {
        return Err(AnalysisError::Question("--fields names no field".into()));
    }
    let mut panels: Vec<Panel> = Vec::new();
    progress.begin("lines", wanted.len() as u64);
    for (done, curve) in wanted.into_iter().enumerate() {
        progress.reach(done as u64);
        let points = points(inquiry, run, &curve, steps)?;
        let fits = |panel: &&mut Panel| panel.curves[0].unit == curve.unit && panel.curves.len() < MOST;
        match panels.iter_mut().rev().find(fits) {
            Some(panel) => {
                panel.curves.push(curve);
                panel.lines.push(points);
            }
            None => panels.push(Panel { curves: vec![curve], lines: vec![points] }),
        }
    }
    let title = format!("Run {}: {}, {}", run.simulation_id, run.world, run.started);
    Ok(Document { title, plots: panels.into_iter().map(Panel::plot).collect() })
}

/// Lines over the same axes.
struct Panel {
    curves: Vec<Curve>,
    lines: Vec<Vec<(f64, f64)>>,
}

impl Panel {
    fn plot(self) -> Plot {
        let Curve { field, unit, .. } = &self.curves[0];
        // What all lines have in common stands on the axis alone.
        let alike = self.curves.iter().all(|curve| curve.field == *field);
        let axis = if alike { format!("{field} in {unit}") } else { format!("in {unit}") };
        let mut plot = Plot::new("", "time in s", &axis);
        for (index, (curve, points)) in self.curves.into_iter().zip(self.lines).enumerate() {
            plot.add(curve.name, Line::Measured(index), points);
        }
        plot
    }
}

/// The numbers of the joints whose axes are measured in metres.
fn sliding(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<Vec<i64>, AnalysisError> {
    let mut found = Vec::new();
    let selection = Selection::all(table("joint")?, run.simulation_id);
    inquiry.rows(&selection, &["jointID", "kind"], |row| {
        if row[1].text() == "slider" {
            found.extend(row[0].integer());
        }
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

fn table(name: &str) -> Result<&'static Table, AnalysisError> {
    Table::named(name).ok_or_else(|| AnalysisError::Question(format!("the log has no table {name}")))
}

/// The lines that a field names.
fn named(field: &str, components: &[Component], sliding: &[i64]) -> Result<Vec<Curve>, AnalysisError> {
    let wrong = |what: String| AnalysisError::Question(format!("--fields: '{field}' {what}"));
    let (part, rest) = match field.split_once(':') {
        Some(("body", rest)) => (Part::Body, rest),
        Some(("joint", rest)) => (Part::Joint, rest),
        Some(("device", rest)) => (Part::Device, rest),
        Some(("clock", rest)) => {
            return clock(rest).ok_or_else(|| wrong("is none of late_ns, compute_ns, wall_ns".into()));
        }
        Some((other, _)) => return Err(wrong(format!("begins with '{other}', not with body, joint, device or clock"))),
        None => (Part::Device, field),
    };
    let (name, column) = rest.rsplit_once('.').ok_or_else(|| wrong("is no NAME.FIELD".into()))?;
    let of_part: Vec<&Component> = components.iter().filter(|component| component.part == part).collect();
    let matching: Vec<&&Component> = of_part.iter().filter(|component| fits(name, &component.name)).collect();
    if matching.is_empty() {
        return Err(wrong(format!("fits none of {}", listed(of_part.iter().map(|component| component.name.as_str())))));
    }
    let mut found = Vec::new();
    for component in matching {
        let unit = match part {
            Part::Body => unit(BODY, column),
            Part::Joint => unit(JOINT, column).map(|unit| along(unit, column, sliding.contains(&component.number))),
            Part::Device => component.fields.iter().find(|(name, _)| name == column).map(|(_, unit)| unit.clone()),
        };
        let has = || match part {
            Part::Body => listed(BODY.iter().flat_map(|(columns, _)| columns.iter().copied())),
            Part::Joint => listed(JOINT.iter().flat_map(|(columns, _)| columns.iter().copied())),
            Part::Device => listed(component.fields.iter().map(|(name, _)| name.as_str())),
        };
        let unit = unit.ok_or_else(|| wrong(format!("names no field of {}, which has {}", component.name, has())))?;
        let (table, key) = match part {
            Part::Body => ("body_state", "bodyID"),
            Part::Joint => ("jointPose", "jointID"),
            Part::Device => ("sensorReading", "componentID"),
        };
        let name = format!("{}.{column}", component.name);
        found.push(Curve { name, unit, table, component: Some((key, component.number)), field: column.into() });
    }
    Ok(found)
}

fn clock(rest: &str) -> Option<Vec<Curve>> {
    let field = rest.trim_start_matches('.');
    let unit = unit(CLOCK, field)?;
    Some(vec![Curve { name: field.into(), unit, table: "simulationRow", component: None, field: field.into() }])
}

fn unit(of: &[(&[&str], &str)], column: &str) -> Option<String> {
    of.iter().find(|(columns, _)| columns.contains(&column)).map(|(_, unit)| (*unit).to_owned())
}

/// The unit along the axis of a joint.
fn along(unit: String, column: &str, slides: bool) -> String {
    match (slides, column.split('_').next()) {
        (true, Some("position")) => "m".into(),
        (true, Some("rate")) => "m/s".into(),
        (true, Some("effort")) => "N".into(),
        _ => unit,
    }
}

/// Some names, and how many more there are.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(24);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// Whether a name fits a pattern in which `*` stands for anything; without a robot it may be that of any robot.
fn fits(pattern: &str, name: &str) -> bool {
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    glob(pattern.as_bytes(), name.as_bytes()) || (!pattern.contains('/') && glob(pattern.as_bytes(), own.as_bytes()))
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skipped| glob(rest, &text[skipped..])),
        Some((letter, rest)) => text.split_first().is_some_and(|(first, text)| first == letter && glob(rest, text)),
    }
}

/// What the log has of a line: of each stretch of time its lowest and its highest value.
fn points(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    curve: &Curve,
    steps: (u64, u64),
) -> Result<Vec<(f64, f64)>, AnalysisError> {
    let selection = Selection {
        steps: Some(steps),
        among: curve.component.map(|(column, number)| (column, vec![number])),
        ..Selection::all(table(curve.table)?, run.simulation_id)
    };
    let reading = curve.table == "sensorReading";
    let columns = if reading { vec!["step", "value", "field"] } else { vec!["step", curve.field.as_str()] };
    let stretch = (steps.1 - steps.0 + 1).div_ceil(STRETCHES);
    let mut kept: Vec<(u64, [(u64, f64); 2])> = Vec::new();
    let mut end = None;
    inquiry.rows(&selection, &columns, |row| {
        let number = row[1].number().filter(|_| !reading || row[2].text() == curve.field);
        if let (Some(step), Some(value)) = (row[0].integer(), number) {
            let (step, point) = (step as u64 / stretch, (step as u64, value));
            end = Some(point);
            match kept.last_mut().filter(|(last, _)| *last == step) {
                Some((_, [low, high])) => {
                    *low = if value < low.1 { point } else { *low };
                    *high = if value > high.1 { point } else { *high };
                }
                None => kept.push((step, [point; 2])),
            }
        }
        Ok::<_, AnalysisError>(())
    })?;
    let seconds = run.timestep.seconds();
    let mut points = Vec::new();
    for (_, [low, high]) in kept {
        let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
        points.push((first.0 as f64 * seconds, first.1));
        if second.0 != first.0 {
            points.push((second.0 as f64 * seconds, second.1));
        }
    }
    // Where nothing moves a stretch is its first point; the line goes on to the end all the same.
    let end = end.map(|(step, value)| (step as f64 * seconds, value));
    points.extend(end.filter(|end| points.last().is_some_and(|last| last.0 < end.0)));
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_the_robot_may_be_left_out() {
        for (pattern, name, expected) in [
            ("Wheel*", "WorkPartner/Wheel3", true),
            ("WorkPartner/Wheel3", "WorkPartner/Wheel3", true),
            ("*/Wheel*", "WorkPartner/Wheel3", true),
            ("Rover/*", "WorkPartner/Wheel3", false),
            ("Wheel", "WorkPartner/Wheel3", false),
            ("W*l3", "Wheel3", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
