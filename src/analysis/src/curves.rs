//! Plots quantities of a run over time, or over each other: resolves the fields that a user names, and draws their
//! curves.

mod points;

use simpartner_model::JointKind;
use simpartner_wire::{near::did_you_mean, pattern::matches_pattern, signal::MOST_FIELDS_IN_RECORD};

use self::points::{Curve, read_points};
use simpartner_plot::{Document, LINES, Line, Plot};
use simpartner_recorder::{
    Inquiry, RecordedRun,
    inquiry::{Component, ComponentKind, Selection},
};

use super::{AnalysisError, Progress, find_table};

/// Largest number of curves in one plot: one for each colour.
const MAX_CURVES_PER_PLOT: usize = LINES;

/// Largest number of curves in all plots of a file. It bounds the time and the memory for a pattern such as `*.*`.
const MAX_CURVES: usize = 200;

/// Largest number of names in a message.
const MAX_NAMES: usize = 24;

/// Request for plots of a run.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Fields to draw, separated by commas.
    pub fields: &'a str,
    /// Field on the horizontal axis, or one field for each curve; `None` for time.
    pub over: Option<&'a str>,
    /// First and last step.
    pub steps: (u64, u64),
}

/// Draws fields of a run over time or over another field, with a plot for each unit.
///
/// Fields are separated by commas, and may contain `*` for any text. `WorkPartner/Position.x` is a field of a device,
/// `body:WorkPartner/Wheel*.F_y` a column of every body with a matching name, `joint:Turner.position_1` a column of a
/// joint, `clock:.late_ns` a column of the steps' timing, and `Scanner.distance_*` all matching fields of a device. The
/// robot may be left out.
///
/// # Errors
/// When a field names nothing, or the log cannot be read.
pub fn curves(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    asked: &Asked<'_>,
    progress: &mut dyn Progress,
) -> Result<Document, AnalysisError> {
    let (first, last) = run
        .steps
        .ok_or_else(|| AnalysisError::Question(format!("run {} has no logged step to plot", run.simulation_id)))?;
    let steps = (asked.steps.0.max(first), asked.steps.1.min(last));
    if steps.0 > steps.1 {
        let text = format!("the logged steps of run {} are {first} to {last}", run.simulation_id);
        return Err(AnalysisError::Question(text));
    }
    let components = inquiry.components(run.simulation_id)?;
    let kinds = joint_kinds(inquiry, run)?;
    let all = |flag: &str, fields: &str| {
        let fields = fields.split(',').map(str::trim).filter(|field| !field.is_empty());
        let named: Result<Vec<Vec<Curve>>, AnalysisError> =
            fields.map(|field| resolve_field(flag, field, &components, &kinds)).collect();
        let named: Vec<Curve> = named?.into_iter().flatten().collect();
        match named.len() {
            0 => Err(AnalysisError::Question(format!("{flag} names no field"))),
            1..=MAX_CURVES => Ok(named),
            count => {
                Err(AnalysisError::Question(format!("{flag} names {count} lines; at most {MAX_CURVES} can be drawn")))
            }
        }
    };
    let wanted = all("--fields", asked.fields)?;
    let over = asked.over.map(|over| one_for_each(all("--over", over)?, wanted.len())).transpose()?;
    let drawn = read_points(inquiry, run, &wanted, over.as_deref(), steps, progress)?;
    if drawn.iter().all(Vec::is_empty) {
        let text = "the log has no number of these fields in these steps: an actuator has no readings (its commands are in \
                    the table command), and log.bodies, log.joints or log.devices may have left them out";
        return Err(AnalysisError::Question(text.into()));
    }
    let mut panels: Vec<Panel> = Vec::new();
    for (index, (curve, points)) in wanted.into_iter().zip(drawn).enumerate() {
        let across = over.as_ref().map(|over| over[index].clone());
        let fits = |panel: &&mut Panel| {
            panel.curves[0].unit == curve.unit
                && panel.curves.len() < MAX_CURVES_PER_PLOT
                && panel.across.as_ref().map(|across| &across.unit) == across.as_ref().map(|across| &across.unit)
        };
        match panels.iter_mut().rev().find(fits) {
            Some(panel) => {
                panel.curves.push(curve);
                panel.lines.push(points);
            }
            None => panels.push(Panel { curves: vec![curve], lines: vec![points], across }),
        }
    }
    let title = format!("Run {}: {}, {}", run.simulation_id, run.world, run.started);
    Ok(Document { title, plots: panels.into_iter().map(Panel::into_plot).collect() })
}

/// The quantity on the horizontal axis of each curve. `over` has one quantity for all curves, or one for each.
fn one_for_each(over: Vec<Curve>, lines: usize) -> Result<Vec<Curve>, AnalysisError> {
    match over.len() {
        1 => Ok(vec![over[0].clone(); lines]),
        count if count == lines => Ok(over),
        count => {
            let text = format!("--over names {count} fields and --fields {lines}; expected one, or one for each");
            Err(AnalysisError::Question(text))
        }
    }
}

/// Numbers of a run's joints in the log, each with the kind of joint.
type JointKinds = [(i64, JointKind)];

/// Curves on common axes.
struct Panel {
    curves: Vec<Curve>,
    /// Quantity on the horizontal axis; `None` for time.
    across: Option<Curve>,
    /// Points of each curve.
    lines: Vec<Vec<(f64, f64)>>,
}

impl Panel {
    fn into_plot(self) -> Plot {
        let Curve { field, unit, .. } = &self.curves[0];
        // The axis is labelled with the field only if all curves have the same one.
        let alike = self.curves.iter().all(|curve| curve.field == *field);
        let axis = if alike { format!("{field} in {unit}") } else { format!("in {unit}") };
        let time = "time in s".to_owned();
        let across = self.across.as_ref().map_or(time, |across| format!("{} in {}", across.name, across.unit));
        let mut plot = Plot::new("", &across, &axis);
        // A path of a point, metres over metres, is drawn to scale.
        plot.to_scale = self.across.is_some_and(|across| across.unit == *unit && across.unit == "m");
        for (index, (curve, points)) in self.curves.into_iter().zip(self.lines).enumerate() {
            plot.add(curve.name, Line::Measured(index), points);
        }
        plot
    }
}

/// Reads the numbers and kinds of a run's joints.
fn joint_kinds(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<Vec<(i64, JointKind)>, AnalysisError> {
    let mut found = Vec::new();
    let selection = Selection::all(find_table("joint")?, run.simulation_id);
    inquiry.rows(&selection, &["jointID", "kind"], |row| {
        found.extend(row[0].integer().zip(JointKind::named(row[1].text())));
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

/// Finds the curves that a field of the option `flag` names.
fn resolve_field(
    flag: &str,
    field: &str,
    components: &[Component],
    kinds: &JointKinds,
) -> Result<Vec<Curve>, AnalysisError> {
    let wrong = |what: String| AnalysisError::Question(format!("{flag}: '{field}' {what}"));
    let (kind, rest) = match field.split_once(':') {
        Some(("body", rest)) => (ComponentKind::Body, rest),
        Some(("joint", rest)) => (ComponentKind::Joint, rest),
        Some(("device", rest)) => (ComponentKind::Device, rest),
        Some(("clock", rest)) => {
            return clock_curve(rest)?.ok_or_else(|| wrong("is none of late_ns, compute_ns, wall_ns".into()));
        }
        Some((other, _)) => {
            let near = did_you_mean(other, ["body", "joint", "device", "clock"]);
            return Err(wrong(format!("begins with '{other}', not with body, joint, device or clock{near}")));
        }
        None => (ComponentKind::Device, field),
    };
    let (name, column) = rest.rsplit_once('.').ok_or_else(|| wrong("is no NAME.FIELD".into()))?;
    let of_kind: Vec<&Component> = components.iter().filter(|component| component.kind == kind).collect();
    let matching: Vec<&&Component> = of_kind.iter().filter(|component| matches_name(name, &component.name)).collect();
    if matching.is_empty() {
        let names = of_kind.iter().map(|component| component.name.as_str());
        let own = names.clone().filter_map(|name| Some(name.rsplit_once('/')?.1)).filter(|_| !name.contains('/'));
        let near = did_you_mean(name, names.clone().chain(own));
        return Err(wrong(format!("fits none of {}{near}", join_names(names))));
    }
    let mut found = Vec::new();
    for component in matching {
        let columns = component_columns(component, kinds)?;
        let names = || join_names(columns.iter().map(|(name, _)| *name));
        let named = columns.iter().enumerate();
        let fitting: Vec<_> = named.filter(|(_, (name, _))| matches_pattern(column, name)).collect();
        if fitting.is_empty() {
            let near = did_you_mean(column, columns.iter().map(|(name, _)| *name));
            return Err(wrong(format!("names no field of {}, which has {}{near}", component.name, names())));
        }
        let (table, key) = match kind {
            ComponentKind::Body => ("body_state", "bodyID"),
            ComponentKind::Joint => ("jointPose", "jointID"),
            ComponentKind::Device if component.fields.len() > MOST_FIELDS_IN_RECORD => ("scan", "componentID"),
            ComponentKind::Device => ("sensorReading", "componentID"),
        };
        found.extend(fitting.into_iter().map(|(place, (field, unit))| Curve {
            name: format!("{}.{field}", component.name),
            unit: unit.clone(),
            table,
            component: Some((key, component.number)),
            field: (*field).to_owned(),
            place,
        }));
    }
    Ok(found)
}

/// Columns or fields of a component, with their units.
fn component_columns<'a>(
    component: &'a Component,
    kinds: &JointKinds,
) -> Result<Vec<(&'a str, String)>, AnalysisError> {
    let kind = kinds.iter().find(|(number, _)| *number == component.number).map(|(_, kind)| *kind);
    // Columns of a joint's coordinates end with the number of the coordinate. Their unit has two forms, for turning and
    // for sliding coordinates.
    let slides = |name: &str| {
        let index = name.rsplit_once('_').and_then(|(_, number)| number.parse::<usize>().ok()?.checked_sub(1));
        kind.zip(index).is_some_and(|(kind, index)| kind.is_linear(index))
    };
    let unit = |name: &str, unit: &str| match unit.split_once(" or ") {
        Some((_, sliding)) if slides(name) => sliding.to_owned(),
        Some((turning, _)) => turning.to_owned(),
        None => unit.to_owned(),
    };
    // Columns behind the step and the component.
    let of_table = |name: &str| -> Result<Vec<(&'static str, String)>, AnalysisError> {
        Ok(find_table(name)?.columns().skip(2).map(|(name, columns)| (name, unit(name, columns.unit()))).collect())
    };
    match component.kind {
        ComponentKind::Body => of_table("body_state"),
        ComponentKind::Joint => of_table("jointPose"),
        ComponentKind::Device => {
            Ok(component.fields.iter().map(|(name, unit)| (name.as_str(), unit.clone())).collect())
        }
    }
}

/// The curve of a timing column of the steps; `None` if there is no such column.
fn clock_curve(rest: &str) -> Result<Option<Vec<Curve>>, AnalysisError> {
    let (name, table) = (rest.trim_start_matches('.'), find_table("simulationRow")?);
    let unit = table.unit(name).filter(|unit| *unit == "ns");
    let curve = |unit: &str| Curve {
        name: name.into(),
        unit: unit.into(),
        table: table.name,
        component: None,
        field: name.into(),
        place: 0,
    };
    Ok(unit.map(|unit| vec![curve(unit)]))
}

/// The first [`MAX_NAMES`] names, separated by commas, and the number of further ones.
fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// True if a name matches a pattern. A pattern without a robot matches names of every robot.
fn matches_name(pattern: &str, name: &str) -> bool {
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    matches_pattern(pattern, name) || (!pattern.contains('/') && matches_pattern(pattern, own))
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
            assert_eq!(matches_name(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_joints_numbers_have_the_units_of_its_coordinates() {
        let joint = Component { kind: ComponentKind::Joint, number: 7, name: "Arm/Joint".into(), fields: Vec::new() };
        for (kind, units) in [
            (JointKind::Hinge, ["rad", "rad", "rad"]),
            (JointKind::Slider, ["rad", "rad", "m"]),
            (JointKind::Cylindrical, ["rad", "m", "rad"]),
            (JointKind::Planar, ["m", "m", "rad"]),
        ] {
            let columns = component_columns(&joint, &[(7, kind)]).unwrap();
            let unit = |name: String| columns.iter().find(|(column, _)| *column == name).unwrap().1.as_str();
            for (number, position) in (1..).zip(units) {
                let (rate, effort) = if position == "m" { ("m/s", "N") } else { ("rad/s", "N m") };
                let found = ["position", "rate", "effort"].map(|name| unit(format!("{name}_{number}")));
                assert_eq!(found, [position, rate, effort], "{kind:?}");
            }
        }
    }
}
