//! Values of rows to be written.
//!
//! The numbers of a run and of its components are not known before the database has numbered the run. So a cell counts
//! robots, steps and components within the run, and [`RunIds`] convert these counts to numbers. Thus rows can be
//! encoded, and kept in a spill file, before the database is reachable.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use simpartner_model::{BodyId, DeviceId, JointId, StepIndex};
use simpartner_wire::signal::Layout;

use super::{
    ids::RunIds,
    value::{Parameter, Value},
};

/// A value of a row to be written. Spill files store the index of the variant, so a new variant must be added at the
/// end.
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
    /// The robotID of a robot, which is counted within its run.
    Robot(u32),
    /// The number of a body, joint or device, which is counted within its run.
    Component(u32),
}

impl Cell {
    /// Approximate size of the value in a database, in bytes: eight for a number, the length and two more for a text.
    pub(crate) fn size_bytes(&self) -> u64 {
        match self {
            Self::Null => 1,
            Self::Text(text) => text.len() as u64 + 2,
            Self::Bytes(bytes) => bytes.len() as u64 + 2,
            _ => 8,
        }
    }

    /// The value as a parameter of a statement. A number that is not finite becomes NULL, because not every database
    /// can store it.
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

/// A NUL character becomes the replacement character, because not every database can store it. Inputs never contain
/// one, but a database that is merged may.
impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        match text.contains('\0') {
            true => Self::Text(text.replace('\0', "\u{fffd}").into()),
            false => Self::Text(text.into()),
        }
    }
}

/// Unsigned counts, all of which stay below 2^63: nanoseconds reach this after 292 years.
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

/// Values of columns without references to a run, step, robot or component.
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
