//! Fields of a run, read from the records of its steps: the same names as in `plot`.

use simpartner_model::{BodyId, JointId};
use simpartner_wire::{
    near::did_you_mean,
    protocol::device_named,
    signal::{BodyInfo, Layout, StepRecord},
};

/// Columns of a body, in the order of its pose, its twist and its contact wrench.
const POSE_COLUMNS: [&str; 3] = ["x", "y", "z"];
const TWIST_COLUMNS: [&str; 6] = ["v_x", "v_y", "v_z", "omega_x", "omega_y", "omega_z"];
const WRENCH_COLUMNS: [&str; 6] = ["F_x", "F_y", "F_z", "T_x", "T_y", "T_z"];
/// Columns of a joint, from the fourth number of its state on.
const JOINT_COLUMNS: [&str; 9] =
    ["position_1", "position_2", "position_3", "rate_1", "rate_2", "rate_3", "effort_1", "effort_2", "effort_3"];
/// Numbers of a joint's state before these columns: its anchor.
const ANCHOR_WIDTH: usize = 3;

/// A number of every step, as a user names it: `Robot/Sensor.field`, `body:Robot/Body.x` or `joint:Robot/Joint.rate_1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldName(String);

/// Place of a field in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field(usize);

/// A limit that ends a case when a field passes it, such as `body:Robot/Body.x > 5`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    pub(super) field: FieldName,
    is_upper: bool,
    value: f64,
}

impl FieldName {
    /// Parses the form of a field; the names are looked up in a world.
    pub(super) fn parse_name(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (kind, name) = text.split_once(':').unwrap_or(("device", text));
        let kinds = ["body", "joint", "device"];
        if !kinds.contains(&kind) {
            let near = did_you_mean(kind, kinds);
            return Err(format!("'{text}' begins with '{kind}', not with body, joint or device{near}"));
        }
        match name.rsplit_once('.') {
            Some((name, field)) if !name.is_empty() && !field.is_empty() => Ok(Self(text.to_owned())),
            _ => Err(format!("'{text}' is no field; write it as body:Robot/Body.x or Robot/Sensor.field")),
        }
    }

    /// Finds the field in the records of a world.
    pub(super) fn find_in(&self, layout: &Layout, joints: &[String]) -> Result<Field, String> {
        let (kind, rest) = self.0.split_once(':').unwrap_or(("device", &self.0));
        let (name, column) = rest.rsplit_once('.').unwrap_or((rest, ""));
        let found = match kind {
            "body" => body_field(layout, name, column),
            "joint" => joint_field(layout, joints, name, column),
            _ => device_field(layout, name, column),
        };
        found.map_err(|what| format!("'{}': {what}", self.0))
    }
}

impl Field {
    pub(super) fn value_in(self, record: &StepRecord) -> f64 {
        record.values[self.0]
    }
}

fn column_place(column: &str, known: &[&str]) -> Result<usize, String> {
    known.iter().position(|known| *known == column).ok_or_else(|| {
        format!(
            "there is no field '{column}'{}; there are {}",
            did_you_mean(column, known.iter().copied()),
            known.join(", ")
        )
    })
}

fn body_field(layout: &Layout, name: &str, column: &str) -> Result<Field, String> {
    let names: Vec<&str> = layout.body_infos().iter().map(|body: &BodyInfo| body.name.as_str()).collect();
    let body = BodyId::new(place_of(name, &names, "body")?);
    let all = [&POSE_COLUMNS[..], &TWIST_COLUMNS, &WRENCH_COLUMNS].concat();
    let place = column_place(column, &all)?;
    let (twist, wrench) = (POSE_COLUMNS.len(), POSE_COLUMNS.len() + TWIST_COLUMNS.len());
    Ok(Field(match place {
        place if place < twist => layout.pose(body).start + place,
        place if place < wrench => layout.twist(body).start + place - twist,
        place => layout.wrench(body).start + place - wrench,
    }))
}

fn joint_field(layout: &Layout, joints: &[String], name: &str, column: &str) -> Result<Field, String> {
    let names: Vec<&str> = joints.iter().map(String::as_str).collect();
    let joint = JointId::new(place_of(name, &names, "joint")?);
    Ok(Field(layout.joint(joint).start + ANCHOR_WIDTH + column_place(column, &JOINT_COLUMNS)?))
}

fn device_field(layout: &Layout, name: &str, column: &str) -> Result<Field, String> {
    let device = device_named(layout, name, &[]).map_err(|refusal| refusal.to_string())?;
    let info = layout.device_info(device);
    let fields: Vec<&str> = info.fields.iter().map(|field| field.name.as_str()).collect();
    let place = column_place(column, &fields)?;
    match layout.device(device).nth(place) {
        Some(index) => Ok(Field(index)),
        None => Err("this reading has too many numbers for a measure of a field; measure it with sql".into()),
    }
}

/// Place of a name among names with their robots, with or without the robot.
fn place_of(name: &str, names: &[&str], what: &str) -> Result<usize, String> {
    if let Some(place) = names.iter().position(|known| *known == name) {
        return Ok(place);
    }
    let own = |known: &str| known.rsplit_once('/').is_some_and(|(_, own)| own == name);
    let mut found = (0..names.len()).filter(|&place| own(names[place]));
    match (found.next(), found.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(format!("several robots have a {what} '{name}'; write it as Robot/{name}")),
        (None, _) => Err(format!("there is no {what} '{name}'{}", did_you_mean(name, names.iter().copied()))),
    }
}

impl Limit {
    /// Parses a limit of the form `FIELD > NUMBER` or `FIELD < NUMBER`.
    pub(super) fn parse_limit(text: &str) -> Result<Self, String> {
        let expected = || format!("expected FIELD > NUMBER or FIELD < NUMBER, got '{text}'");
        let at = text.find(['<', '>']).ok_or_else(expected)?;
        let value: f64 = text[at + 1..].trim().parse().map_err(|_| expected())?;
        if !value.is_finite() {
            return Err(expected());
        }
        Ok(Self { field: FieldName::parse_name(&text[..at])?, is_upper: text[at..].starts_with('>'), value })
    }

    /// True if a value is beyond the limit.
    pub(super) fn is_passed(&self, value: f64) -> bool {
        if self.is_upper { value > self.value } else { value < self.value }
    }
}
