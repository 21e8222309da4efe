//! Encodes step records as table rows, the same for every database.

use std::sync::Arc;

use simpartner_model::{BodyId, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{AppliedCommand, Contact, Event, Layout, StepRecord, Target},
};

use super::{changes::Changes, interval::Interval, logged_components::LoggedComponents, settings::Settings};
use crate::format::{
    axis_angle::AxisAngle,
    cadence::Cadence,
    cell::{self, Cell},
    component::ComponentKind,
    number_list::format_numbers,
    schema::TableId,
    table_rows::TableRows,
};

/// Encodes the records of a run as table rows.
#[derive(Debug)]
pub(crate) struct RowEncoder {
    layout: Arc<Layout>,
    timestep: Timestep,
    cadence: Cadence,
    logged: Arc<LoggedComponents>,
    contacts: bool,
    /// Field names of each device; empty for actuators, whose settings are in the commands.
    fields: Vec<Vec<Arc<str>>>,
    /// Statistics over the steps between two logged ones; `None` if every step is logged.
    interval: Option<Interval>,
    /// Change detection; `None` if all rows are logged.
    changes: Option<Changes>,
}

impl RowEncoder {
    pub(crate) fn new(
        settings: &Settings,
        cadence: Cadence,
        logged: Arc<LoggedComponents>,
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
            contacts: settings.contacts,
            fields,
            interval: (cadence.widest() > 1).then(|| Interval::new(&logged.bodies)),
            changes: Changes::new(settings, &logged, &layout),
            logged,
            layout,
        }
    }

    /// Adds the rows of the record's step, and returns true if that step is logged. `chain` is the head of the state
    /// chain after the step.
    pub(crate) fn push_step(&mut self, rows: &mut TableRows, record: &StepRecord, chain: u64) -> bool {
        let step = record.step.0;
        let is_thinned = self.cadence.spacing(step) > 1;
        if let Some(interval) = self.interval.as_mut().filter(|_| is_thinned) {
            interval.add_step(&self.layout, &record.values);
        }
        if !self.cadence.is_logged(step) {
            return false;
        }
        if let Some(changes) = &mut self.changes {
            changes.find_changed(&self.logged, &self.layout, record, self.cadence);
        }
        if let Some(interval) = self.interval.as_mut().filter(|_| is_thinned) {
            let changes = self.changes.as_ref();
            let is_written = |body: BodyId| match changes {
                Some(changes) => changes.is_written(ComponentKind::Body, body.index()),
                None => true,
            };
            interval.push_rows(rows, step, is_written);
        }
        let bodies = self.push_bodies(rows.cells_mut(TableId::BodyState), record);
        let joints = self.push_joints(rows.cells_mut(TableId::JointPose), record);
        let readings = self.push_readings(rows.cells_mut(TableId::SensorReading), record);
        self.push_scans(rows.cells_mut(TableId::Scan), record);
        if self.contacts {
            push_contacts(rows.cells_mut(TableId::ContactPoint), record);
        }
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
            // Place of the checksum, which is known once the batch is complete.
            Cell::Null,
        ];
        rows.push(TableId::SimulationRow, row);
        true
    }

    fn is_written(&self, kind: ComponentKind, index: usize) -> bool {
        self.changes.as_ref().is_none_or(|changes| changes.is_written(kind, index))
    }

    /// Adds the rows of bodies, and returns their number.
    fn push_bodies(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut count) = (&self.layout, 0);
        for &body in &self.logged.bodies {
            if self.is_written(ComponentKind::Body, body.index()) {
                cells.extend([Cell::Step(record.step.0), cell::body(body)]);
                push_body(cells, layout, body, &record.values);
                count += 1;
            }
        }
        count
    }

    fn push_joints(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut count) = (&self.layout, 0);
        for &joint in &self.logged.joints {
            if self.is_written(ComponentKind::Joint, joint.index()) {
                cells.extend([Cell::Step(record.step.0), cell::joint(layout, joint)]);
                cells.extend(record.values[layout.joint(joint)].iter().copied().map(Cell::Real));
                count += 1;
            }
        }
        count
    }

    fn push_readings(&self, cells: &mut Vec<Cell>, record: &StepRecord) -> u64 {
        let (layout, mut count) = (&self.layout, 0);
        for &device in self.logged.devices.iter().filter(|device| record.fresh[device.index()]) {
            // Long readings have no values in the flat record; `push_scans` writes them.
            let (fields, values) = (&self.fields[device.index()], &record.values[layout.device(device)]);
            if !values.is_empty() && self.is_written(ComponentKind::Device, device.index()) {
                for (field, &value) in fields.iter().zip(values) {
                    let (step, number) = (Cell::Step(record.step.0), cell::device(layout, device));
                    cells.extend([step, number, Cell::Text(Arc::clone(field)), Cell::Real(value)]);
                }
                count += fields.len() as u64;
            }
        }
        count
    }

    /// Adds the rows of long readings, such as the distances of a laser scanner.
    fn push_scans(&self, cells: &mut Vec<Cell>, record: &StepRecord) {
        let layout = &self.layout;
        for &device in self.logged.devices.iter().filter(|device| record.fresh[device.index()]) {
            let Some(place) = layout.long_reading(device) else { continue };
            if self.is_written(ComponentKind::Device, device.index()) {
                let distances = format_numbers(record.long_readings[place].numbers());
                cells.extend([Cell::Step(record.step.0), cell::device(layout, device), distances.as_str().into()]);
            }
        }
    }

    /// Adds the row of a command. `step` is the step that it acts in.
    pub(super) fn push_command(&self, rows: &mut TableRows, step: StepIndex, applied: &AppliedCommand) {
        let command = &applied.command;
        let (port, component) = match command.target {
            Target::Device(device) => {
                (self.layout.device_info(device).port.number(), cell::device(&self.layout, device))
            }
            Target::Body(body) => (0, cell::body(body)),
        };
        rows.push(
            TableId::Command,
            [
                Cell::Run,
                step.0.into(),
                u64::from(applied.order).into(),
                u64::from(port).into(),
                component,
                command.client.0.into(),
                command.text.as_str().into(),
                protocol::reply(applied).as_str().into(),
            ],
        );
    }
}

/// Adds the row of an event. `wall_ns` is the wall time of the record that contains the event, if there is one.
pub(super) fn push_event(rows: &mut TableRows, event: &Event, wall_ns: Option<u64>) {
    rows.push(
        TableId::Event,
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

/// Adds the rows of the step's contact points, those with the largest forces.
fn push_contacts(cells: &mut Vec<Cell>, record: &StepRecord) {
    for (ordinal, contact) in record.contacts.largest().iter().enumerate() {
        let &Contact { body, other, point, normal, force, gap } = contact;
        cells.extend([Cell::Step(record.step.0), cell::body(body), (ordinal as u64).into()]);
        cells.push(other.map_or(Cell::Null, cell::body));
        let numbers = point.into_iter().chain(normal).chain(force).chain([gap]);
        cells.extend(numbers.map(|number| Cell::Real(f64::from(number))));
    }
}

fn push_body(cells: &mut Vec<Cell>, layout: &Layout, body: BodyId, values: &[f64]) {
    let pose = &values[layout.pose(body)];
    let AxisAngle { axis, angle } = AxisAngle::from_quaternion([pose[3], pose[4], pose[5], pose[6]]);
    let state = pose[..3].iter().chain(&axis).chain([&angle]);
    let state = state.chain(&values[layout.twist(body)]).chain(&values[layout.wrench(body)]);
    cells.extend(state.copied().map(Cell::Real));
}
