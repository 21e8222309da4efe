//! From records to rows: the bulk tables as plain cells, the same for every database.

use std::sync::Arc;

use super::axis_angle::AxisAngle;
use crate::signal::{AppliedCommand, BodyId, DeviceId, Event, JointId, Layout, StepIndex, StepRecord, Timestep};

/// A value on its way into a row.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// Unsigned counts, all of them far below 2^63: nanoseconds reach it after 292 years.
impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Integer(count as i64)
    }
}

/// A bulk table: where rows go, and the columns that are filled.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [&'static str],
}

/// The bulk tables, in the order of [`Batch::tables`].
pub(super) const TABLES: [Table; 6] = [
    Table {
        name: "simulationRow",
        columns: &["simulationRowID", "simulationID", "step", "simulationTime", "wall_ns", "late_ns", "compute_ns"],
    },
    Table {
        name: "body_state",
        columns: &[
            "simulationRowID",
            "bodyID",
            "x",
            "y",
            "z",
            "axis_x",
            "axis_y",
            "axis_z",
            "angle",
            "v_x",
            "v_y",
            "v_z",
            "omega_x",
            "omega_y",
            "omega_z",
            "F_x",
            "F_y",
            "F_z",
            "T_x",
            "T_y",
            "T_z",
        ],
    },
    Table {
        name: "jointPose",
        columns: &[
            "simulationRowID",
            "jointID",
            "anchorx",
            "anchory",
            "anchorz",
            "position_1",
            "position_2",
            "position_3",
            "rate_1",
            "rate_2",
            "rate_3",
            "effort_1",
            "effort_2",
            "effort_3",
            "F_x",
            "F_y",
            "F_z",
            "T_x",
            "T_y",
            "T_z",
        ],
    },
    Table { name: "sensorReading", columns: &["simulationRowID", "componentID", "field", "value"] },
    Table {
        name: "command",
        columns: &["simulationID", "step", "ordinal", "port", "componentID", "client", "text", "reply"],
    },
    Table { name: "event", columns: &["simulationID", "step", "kind", "subject", "text", "value", "wall_ns"] },
];

/// The numbers that a run's rows refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    pub(super) simulation: i64,
    /// Number of the first body; the others follow, then the joints, then the devices.
    pub(super) first_component: i64,
}

impl Keys {
    /// The simulationRowID of a step. A step beyond 2^32 (50 days at 1 kHz) would reach into the next run's numbers; the
    /// writer ends the log before it.
    pub(super) fn row(self, step: StepIndex) -> i64 {
        (self.simulation << 32) + step.0 as i64
    }

    pub(super) fn body(self, body: BodyId) -> i64 {
        self.first_component + body.index() as i64
    }

    pub(super) fn joint(self, layout: &Layout, joint: JointId) -> i64 {
        self.first_component + (layout.bodies() + joint.index()) as i64
    }

    pub(super) fn device(self, layout: &Layout, device: DeviceId) -> i64 {
        self.first_component + (layout.bodies() + layout.joints() + device.index()) as i64
    }
}

/// What rows need to know of a run besides its records.
#[derive(Debug)]
pub(super) struct Format {
    layout: Arc<Layout>,
    timestep: Timestep,
    every_n_steps: u64,
    /// The field names of each sensor; empty for actuators, whose settings are in the commands.
    sensor_fields: Vec<Vec<Arc<str>>>,
}

impl Format {
    pub(super) fn new(layout: Arc<Layout>, timestep: Timestep, every_n_steps: u64) -> Self {
        let sensor_fields = layout
            .devices()
            .iter()
            .map(|device| match device.kind.is_actuator() {
                true => Vec::new(),
                false => device.fields.iter().map(|field| Arc::from(field.name.as_str())).collect(),
            })
            .collect();
        Self { layout, timestep, every_n_steps: every_n_steps.max(1), sensor_fields }
    }
}

/// Rows of one transaction, table by table.
#[derive(Debug, Default)]
pub(super) struct Batch {
    cells: [Vec<Cell>; TABLES.len()],
    pub(super) steps_logged: u64,
}

impl Batch {
    /// The cells of every table that has any, row after row.
    pub(super) fn tables(&self) -> impl Iterator<Item = (usize, &[Cell])> {
        self.cells.iter().enumerate().filter(|(_, cells)| !cells.is_empty()).map(|(table, cells)| (table, &cells[..]))
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        TABLES.iter().zip(&self.cells).map(|(table, cells)| (cells.len() / table.columns.len()) as u64).sum()
    }

    /// Empties it for the next transaction.
    pub(super) fn clear(&mut self) {
        self.cells.iter_mut().for_each(Vec::clear);
        self.steps_logged = 0;
    }

    /// Adds what the record says of its step, if that step is one to be logged.
    pub(super) fn push_step(&mut self, format: &Format, keys: Keys, record: &StepRecord) {
        if !record.step.0.is_multiple_of(format.every_n_steps) {
            return;
        }
        self.steps_logged += 1;
        let [rows, bodies, joints, readings, ..] = &mut self.cells;
        let row = Cell::Integer(keys.row(record.step));
        rows.extend([
            row.clone(),
            Cell::Integer(keys.simulation),
            record.step.0.into(),
            Cell::Real(format.timestep.seconds_at(record.step)),
            record.timing.wall_ns.into(),
            record.timing.late_ns.into(),
            record.timing.compute_ns.into(),
        ]);
        let layout = &format.layout;
        for body in (0..layout.bodies()).map(BodyId::new) {
            bodies.extend([row.clone(), Cell::Integer(keys.body(body))]);
            push_body(bodies, layout, body, &record.values);
        }
        for joint in (0..layout.joints()).map(JointId::new) {
            joints.extend([row.clone(), Cell::Integer(keys.joint(layout, joint))]);
            joints.extend(record.values[layout.joint(joint)].iter().copied().map(Cell::Real));
        }
        for (index, fields) in format.sensor_fields.iter().enumerate().filter(|(index, _)| record.fresh[*index]) {
            let device = DeviceId::new(index);
            for (field, &value) in fields.iter().zip(&record.values[layout.device(device)]) {
                let component = Cell::Integer(keys.device(layout, device));
                readings.extend([row.clone(), component, Cell::Text(Arc::clone(field)), Cell::Real(value)]);
            }
        }
    }

    /// Adds a command.
    pub(super) fn push_command(&mut self, format: &Format, keys: Keys, step: StepIndex, applied: &AppliedCommand) {
        let command = &applied.command;
        let [.., commands, _] = &mut self.cells;
        commands.extend([
            Cell::Integer(keys.simulation),
            step.0.into(),
            u64::from(applied.order).into(),
            u64::from(format.layout.device_info(command.device).port.number()).into(),
            Cell::Integer(keys.device(&format.layout, command.device)),
            command.client.0.into(),
            command.text.as_str().into(),
            applied.reply.as_str().into(),
        ]);
    }

    /// Adds an event, with the wall time of the record that brought it.
    pub(super) fn push_event(&mut self, keys: Keys, event: &Event, wall_ns: Option<u64>) {
        let [.., events] = &mut self.cells;
        events.extend([
            Cell::Integer(keys.simulation),
            event.step.0.into(),
            event.kind.name().into(),
            event.subject.as_str().into(),
            event.text.as_str().into(),
            event.value.map_or(Cell::Null, Cell::Real),
            wall_ns.map_or(Cell::Null, Cell::from),
        ]);
    }
}

fn push_body(cells: &mut Vec<Cell>, layout: &Layout, body: BodyId, values: &[f64]) {
    let pose = &values[layout.pose(body)];
    let AxisAngle { axis, angle } = AxisAngle::from_quaternion([pose[3], pose[4], pose[5], pose[6]]);
    let state = pose[..3].iter().chain(&axis).chain([&angle]);
    let state = state.chain(&values[layout.twist(body)]).chain(&values[layout.wrench(body)]);
    cells.extend(state.copied().map(Cell::Real));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_where_the_batch_puts_their_rows() {
        let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
        assert_eq!(names, ["simulationRow", "body_state", "jointPose", "sensorReading", "command", "event"]);
    }
}
