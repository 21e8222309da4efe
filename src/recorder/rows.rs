//! From records to rows, the same for every database.

use std::sync::Arc;

use simpartner_model::{BodyId, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{AppliedCommand, Event, Layout, StepRecord},
};

use super::{
    Settings,
    axis_angle::AxisAngle,
    cadence::Cadence,
    cell::{self, Cell},
    change::{Changes, Of},
    interval::Interval,
    selection::Selection,
    table::{Batch, Table},
};

/// What is made of the records of a run.
#[derive(Debug)]
pub(super) struct Format {
    layout: Arc<Layout>,
    timestep: Timestep,
    cadence: Cadence,
    selection: Arc<Selection>,
    /// The field names of each device; empty for actuators, whose settings are in the commands.
    fields: Vec<Vec<Arc<str>>>,
    /// Present where steps are thinned out.
    interval: Option<Interval>,
    /// Present where only changes are logged.
    changes: Option<Changes>,
}

impl Format {
    pub(super) fn new(
        settings: &Settings,
        cadence: Cadence,
        selection: Arc<Selection>,
        layout: Arc<Layout>,
        timestep: Timestep,
    ) -> Self {
        let fields = layout
            .devices()
            .iter()
            .map(|device| match device.kind.is_actuator() {
                true => Vec::new(),
                false => device.fields.iter().map(|field| Arc::from(field.name.as_str())).collect(),
            })
            .collect();
        Self {
            timestep,
            cadence,
            fields,
            interval: (cadence.widest() > 1).then(|| Interval::new(&selection.bodies)),
            changes: Changes::new(settings, &selection, &layout),
            selection,
            layout,
        }
    }

    /// Adds what the record says of its step, and tells whether that step is one to be logged. `chain` is the head of the
    /// chain after it.
    pub(super) fn push_step(&mut self, batch: &mut Batch, record: &StepRecord, chain: u64) -> bool {
        let step = record.step.0;
        let is_thinned = self.cadence.spacing(step) > 1;
        if let Some(interval) = self.interval.as_mut().filter(|_| is_thinned) {
            interval.add(&self.layout, &record.values);
        }
        if !self.cadence.is_logged(step) {
            return false;
        }
        if let Some(changes) = &mut self.changes {
            changes.take(&self.selection, &self.layout, record, self.cadence);
        }
        if let Some(interval) = self.interval.as_mut().filter(|_| is_thinned) {
            let changes = self.changes.as_ref();
            interval.push(batch, step, |body| changes.is_none_or(|changes| changes.is_moving(Of::Body, body.index())));
        }
        let bodies = self.push_bodies(batch.of(Table::BodyState), record);
        let joints = self.push_joints(batch.of(Table::JointPose), record);
        let readings = self.push_readings(batch.of(Table::SensorReading), record);
        let timing = record.timing;
        let row = [
            Cell::Step(step),
            Cell::Run,
            step.into(),
            Cell::Real(self.timestep.seconds_at(record.step)),
            timing.wall_ns.into(),
            timing.late_ns.into(),
            timing.compute_ns.into(),
            chain.into(),
            bodies.into(),
            joints.into(),
            readings.into(),
            // Known once the batch is complete.
            Cell::Null,
        ];
        batch.push(Table::SimulationRow, row);
        true
    }

    fn is_written(&self, of: Of, index: usize) -> bool {
        self.changes.as_ref().is_none_or(|changes| changes.is_moving(of, index))
    }

    /// Each of these adds rows and tells how many.
    fn push_bodies(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut rows) = (&self.layout, 0);
        for &body in &self.selection.bodies {
            if self.is_written(Of::Body, body.index()) {
                cells.extend([Cell::Step(record.step.0), cell::body(body)]);
                push_body(cells, layout, body, &record.values);
                rows += 1;
            }
        }
        rows
    }

    fn push_joints(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut rows) = (&self.layout, 0);
        for &joint in &self.selection.joints {
            if self.is_written(Of::Joint, joint.index()) {
                cells.extend([Cell::Step(record.step.0), cell::joint(layout, joint)]);
                cells.extend(record.values[layout.joint(joint)].iter().copied().map(Cell::Real));
                rows += 1;
            }
        }
        rows
    }

    fn push_readings(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut rows) = (&self.layout, 0);
        for &device in self.selection.devices.iter().filter(|device| record.fresh[device.index()]) {
            let (fields, values) = (&self.fields[device.index()], &record.values[layout.device(device)]);
            if self.is_written(Of::Device, device.index()) {
                for (field, &value) in fields.iter().zip(values) {
                    let (step, part) = (Cell::Step(record.step.0), cell::device(layout, device));
                    cells.extend([step, part, Cell::Text(Arc::clone(field)), Cell::Real(value)]);
                }
                rows += fields.len() as u64;
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
                protocol::reply(applied).as_str().into(),
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
