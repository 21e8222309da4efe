//! From records to rows, the same for every database.

use std::sync::Arc;

use super::{
    axis_angle::AxisAngle,
    cell::{self, Cell},
    table::{Batch, Table},
};
use crate::signal::{AppliedCommand, BodyId, DeviceId, Event, JointId, Layout, StepIndex, StepRecord, Timestep};

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

    /// Adds what the record says of its step, and tells whether that step is one to be logged. `chain` is the head of the
    /// chain after it.
    pub(super) fn push_step(&self, batch: &mut Batch, record: &StepRecord, chain: u64) -> bool {
        if !record.step.0.is_multiple_of(self.every_n_steps) {
            return false;
        }
        let layout = &self.layout;
        let row = Cell::Step(record.step.0);
        let bodies = batch.of(Table::BodyState);
        for body in (0..layout.bodies()).map(BodyId::new) {
            bodies.extend([row.clone(), cell::body(body)]);
            push_body(bodies, layout, body, &record.values);
        }
        let joints = batch.of(Table::JointPose);
        for joint in (0..layout.joints()).map(JointId::new) {
            joints.extend([row.clone(), cell::joint(layout, joint)]);
            joints.extend(record.values[layout.joint(joint)].iter().copied().map(Cell::Real));
        }
        let readings = self.push_readings(batch.of(Table::SensorReading), record);
        let timing = record.timing;
        batch.push(
            Table::SimulationRow,
            [
                row,
                Cell::Run,
                record.step.0.into(),
                Cell::Real(self.timestep.seconds_at(record.step)),
                timing.wall_ns.into(),
                timing.late_ns.into(),
                timing.compute_ns.into(),
                chain.into(),
                (layout.bodies() as u64).into(),
                (layout.joints() as u64).into(),
                readings.into(),
            ],
        );
        true
    }

    /// Adds the readings that are fresh, and tells how many rows they are.
    fn push_readings(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let mut rows = 0;
        for (index, fields) in self.sensor_fields.iter().enumerate().filter(|(index, _)| record.fresh[*index]) {
            let device = DeviceId::new(index);
            for (field, &value) in fields.iter().zip(&record.values[self.layout.device(device)]) {
                let part = cell::device(&self.layout, device);
                cells.extend([Cell::Step(record.step.0), part, Cell::Text(Arc::clone(field)), Cell::Real(value)]);
                rows += 1;
            }
        }
        rows
    }

    /// Adds a command.
    pub(super) fn push_command(&self, batch: &mut Batch, step: StepIndex, applied: &AppliedCommand) {
        let command = &applied.command;
        batch.push(
            Table::Command,
            [
                Cell::Run,
                step.0.into(),
                u64::from(applied.order).into(),
                u64::from(self.layout.device_info(command.device).port.number()).into(),
                cell::device(&self.layout, command.device),
                command.client.0.into(),
                command.text.as_str().into(),
                applied.reply.as_str().into(),
            ],
        );
    }
}

/// Adds an event, with the wall time of the record that brought it.
pub(super) fn push_event(batch: &mut Batch, event: &Event, wall_ns: Option<u64>) {
    batch.push(
        Table::Event,
        [
            Cell::Run,
            event.step.0.into(),
            event.kind.name().into(),
            event.subject.as_str().into(),
            event.text.as_str().into(),
            event.value.into(),
            wall_ns.map_or(Cell::Null, Cell::from),
        ],
    );
}

fn push_body(cells: &mut Vec<Cell>, layout: &Layout, body: BodyId, values: &[f64]) {
    let pose = &values[layout.pose(body)];
    let AxisAngle { axis, angle } = AxisAngle::from_quaternion([pose[3], pose[4], pose[5], pose[6]]);
    let state = pose[..3].iter().chain(&axis).chain([&angle]);
    let state = state.chain(&values[layout.twist(body)]).chain(&values[layout.wrench(body)]);
    cells.extend(state.copied().map(Cell::Real));
}
