//! A value of a table, on its way in and out.
//!
//! On the way in the numbers of a run and of its parts are not known yet: a cell says which part it means, and [`Keys`] tell
//! the number once the database has named the run. So rows can be made, and kept, before there is a database.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, DeviceId, JointId, StepIndex};
use simpartner_wire::signal::Layout;

/// Bits of a run's numbers that count its own parts: robots, and on a line of their own bodies, joints and devices.
const PART_BITS: u32 = 20;

/// Bits of a simulationRowID that count steps.
const STEP_BITS: u32 = 32;

/// A value on its way into a row, or out of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    /// The simulationID of the run.
    Run,
    /// The simulationRowID of a step.
    Step(u64),
    /// The robotID of a robot, counted in its run.
    Robot(u32),
    /// The componentID of a body, joint or device, counted in its run.
    Part(u32),
}

/// A value as the database takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Cell {
    /// How much room it takes in a database, about.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Null => 1,
            Self::Text(text) => text.len() as u64 + 2,
            Self::Bytes(bytes) => bytes.len() as u64 + 2,
            _ => 8,
        }
    }
}

/// No way in lets a NUL through, but a database that is merged may have one, and not every database stores it: it becomes the
/// sign for a character that cannot be shown.
impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        match text.contains('\0') {
            true => Self::Text(text.replace('\0', "\u{fffd}").into()),
            false => Self::Text(text.into()),
        }
    }
}

/// Unsigned counts, all of them far below 2^63: nanoseconds reach it after 292 years.
impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Integer(count as i64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Real)
    }
}

/// The numbers that a run's rows refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) simulation: i64,
    /// Number of the first body; the others follow, then the joints, then the devices.
    pub(super) first_part: i64,
}

impl Keys {
    /// Of a new run: its parts are numbered from its own number times 2^20 on, so that any number of runs may begin at the
    /// same time and none has to know of the others.
    pub(super) fn new(simulation: i64) -> Self {
        // A damaged log may have any number; its rows are then not found.
        Self { simulation, first_part: simulation.wrapping_shl(PART_BITS) }
    }

    /// The simulationRowID of a step. A step beyond 2^32 (50 days at 1 kHz) would reach into the next run's numbers; the
    /// writer ends the log before it.
    pub(super) fn row(self, step: StepIndex) -> i64 {
        (self.simulation << STEP_BITS).wrapping_add(step.0 as i64)
    }

    /// The number of the first row of this run, and of the first of the next.
    pub(super) fn rows(self) -> (i64, i64) {
        (self.simulation << STEP_BITS, self.simulation.wrapping_add(1) << STEP_BITS)
    }

    /// What the database takes for a cell. A number that is not finite is NULL: not all of them know it.
    pub(super) fn value(self, cell: &Cell) -> Value<'_> {
        match cell {
            Cell::Null => Value::Null,
            Cell::Integer(integer) => Value::Integer(*integer),
            Cell::Real(real) if real.is_finite() => Value::Real(*real),
            Cell::Real(_) => Value::Null,
            Cell::Text(text) => Value::Text(text),
            Cell::Bytes(bytes) => Value::Bytes(bytes),
            Cell::Run => Value::Integer(self.simulation),
            Cell::Step(step) => Value::Integer(self.row(StepIndex(*step))),
            Cell::Robot(robot) => Value::Integer((self.simulation << PART_BITS).wrapping_add(i64::from(*robot))),
            Cell::Part(part) => Value::Integer(self.first_part.wrapping_add(i64::from(*part))),
        }
    }
}

/// The cell of a body.
pub(super) fn body(body: BodyId) -> Cell {
    part(body.index())
}

/// The cell of a joint.
pub(super) fn joint(layout: &Layout, joint: JointId) -> Cell {
    part(layout.bodies() + joint.index())
}

/// The cell of a device.
pub(super) fn device(layout: &Layout, device: DeviceId) -> Cell {
    part(layout.bodies() + layout.joints() + device.index())
}

fn part(index: usize) -> Cell {
    // A world has at most 200 000 elements.
    Cell::Part(u32::try_from(index).unwrap_or(u32::MAX))
}

/// A row of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row(pub(super) Vec<Cell>);

impl Row {
    /// A column that holds a whole number, unless it is NULL.
    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            Some(Cell::Integer(integer)) => Some(*integer),
            Some(Cell::Real(real)) => Some(*real as i64),
            _ => None,
        }
    }

    /// A column that holds a count; NULL is 0.
    pub(super) fn count(&self, column: usize) -> u64 {
        self.integer(column).map_or(0, |integer| integer.max(0) as u64)
    }

    /// A column that holds a number, unless it is NULL.
    pub(super) fn real(&self, column: usize) -> Option<f64> {
        match self.0.get(column) {
            Some(Cell::Real(real)) => Some(*real),
            Some(Cell::Integer(integer)) => Some(*integer as f64),
            _ => None,
        }
    }

    /// A column that holds a text; NULL is empty.
    pub(super) fn text(&self, column: usize) -> &str {
        match self.0.get(column) {
            Some(Cell::Text(text)) => text,
            _ => "",
        }
    }
}
