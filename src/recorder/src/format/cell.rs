//! A value of a row to be written.
//!
//! The numbers of a run and of its components are not known before the database has numbered the run. So a cell says which robot, step or
//! component it means, and [`RunIds`] tell the number. Rows can thus be made, and kept in a spill file, before there is a database.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use simpartner_model::{BodyId, DeviceId, JointId, StepIndex};
use simpartner_wire::signal::Layout;

use super::{
    ids::RunIds,
    value::{Parameter, Value},
};

/// A value of a row to be written. Spill files hold its variants by their place here: a new one comes last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Cell {
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
    /// The number of a body, joint or device, counted in its run.
    Component(u32),
}

impl Cell {
    /// Its size in a database, about, in bytes: numbers have eight, a text has its own and a length.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Null => 1,
            Self::Text(text) => text.len() as u64 + 2,
            Self::Bytes(bytes) => bytes.len() as u64 + 2,
            _ => 8,
        }
    }

    /// The parameter for it. A number that is not finite is NULL: not every database knows it.
    pub(crate) fn parameter(&self, ids: RunIds) -> Parameter<'_> {
        match self {
            Self::Null => Parameter::Null,
            Self::Integer(integer) => Parameter::Integer(*integer),
            Self::Real(real) if real.is_finite() => Parameter::Real(*real),
            Self::Real(_) => Parameter::Null,
            Self::Text(text) => Parameter::Text(text),
            Self::Bytes(bytes) => Parameter::Bytes(bytes),
            Self::Run => Parameter::Integer(ids.simulation),
            Self::Step(step) => Parameter::Integer(ids.row(StepIndex(*step))),
            Self::Robot(robot) => Parameter::Integer(ids.robot(*robot)),
            Self::Component(component) => Parameter::Integer(ids.component(*component)),
        }
    }
}

/// No input lets a NUL through, but a database that is merged may have one, and not every database stores it: it becomes the
/// replacement character.
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

/// A value that refers to nothing.
impl From<&Value> for Cell {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Real(real) => Self::Real(*real),
            Value::Text(text) => text.as_str().into(),
            Value::Bytes(bytes) => Self::Bytes(bytes.as_slice().into()),
        }
    }
}

/// The cell of a body's number.
pub(crate) fn body(body: BodyId) -> Cell {
    component(body.index())
}

/// The cell of a joint's number.
pub(crate) fn joint(layout: &Layout, joint: JointId) -> Cell {
    component(layout.bodies() + joint.index())
}

/// The cell of a device's number.
pub(crate) fn device(layout: &Layout, device: DeviceId) -> Cell {
    component(layout.bodies() + layout.joints() + device.index())
}

fn component(index: usize) -> Cell {
    // A world has at most 200 000 elements.
    Cell::Component(u32::try_from(index).unwrap_or(u32::MAX))
}
