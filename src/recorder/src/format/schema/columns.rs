//! What the schema says of a column, and the columns that several tables and views have in common.

use super::super::value::ColumnType;

/// One or more neighbouring columns of the same type, unit and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// Their names, separated by a comma and a blank.
    pub(super) names: &'static str,
    pub(super) column_type: ColumnType,
    pub(super) unit: &'static str,
    /// A phrase for the data dictionary.
    pub(super) doc: &'static str,
    pub(super) reference: Reference,
    pub(super) written: Written,
    pub(super) is_summed: bool,
}

/// What the numbers of a column refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    None,
    /// A run, by its simulationID.
    Run,
    /// A step of a run, by its simulationRowID.
    Step,
    /// A robot, by its robotID.
    Robot,
    /// A body, joint or device, by its bodyID, jointID or componentID.
    Component,
}

/// Who writes a column, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The database numbers the rows itself.
    ByDatabase,
    /// The recorder, when it inserts the row.
    WithRow,
    /// The recorder, when it inserts the run's row and again when the run ends.
    WithRowAndAtEnd,
    /// The recorder, when the run ends.
    AtEnd,
    /// The recorder, with each batch that it commits.
    WithBatch,
}

const fn columns(names: &'static str, column_type: ColumnType, unit: &'static str, doc: &'static str) -> Columns {
    let (reference, written) = (Reference::None, Written::WithRow);
    Columns { names, column_type, unit, doc, reference, written, is_summed: true }
}

pub(super) const fn integer(names: &'static str, doc: &'static str) -> Columns {
    columns(names, ColumnType::Integer, "", doc)
}

pub(super) const fn real(names: &'static str, unit: &'static str, doc: &'static str) -> Columns {
    columns(names, ColumnType::Real, unit, doc)
}

pub(super) const fn text(names: &'static str, doc: &'static str) -> Columns {
    columns(names, ColumnType::Text, "", doc)
}

pub(super) const fn bytes(names: &'static str, doc: &'static str) -> Columns {
    columns(names, ColumnType::Bytes, "", doc)
}

impl Columns {
    pub(super) const fn in_unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    pub(super) const fn refers_to(mut self, reference: Reference) -> Self {
        self.reference = reference;
        self
    }

    pub(super) const fn written(mut self, written: Written) -> Self {
        self.written = written;
        self
    }

    /// The checksums leave it out: its value changes after the row was inserted, or is a checksum itself.
    pub(super) const fn unsummed(mut self) -> Self {
        self.is_summed = false;
        self
    }

    /// Its names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(", ")
    }

    pub(crate) fn column_type(&self) -> ColumnType {
        self.column_type
    }

    pub(crate) fn reference(&self) -> Reference {
        self.reference
    }

    /// The unit; empty for what has none, and two with `or` between them where it depends on the joint's kind.
    pub fn unit(&self) -> &'static str {
        self.unit
    }
}

pub(super) const RUN: Columns = integer("simulationID", "the run").refers_to(Reference::Run);
pub(super) const ROW: Columns =
    integer("simulationRowID", "the step: simulationID * 4294967296 + step; see simulationRow")
        .refers_to(Reference::Step);
pub(super) const STEP: Columns = integer("step", "the step, from 1");
pub(super) const TIME: Columns = real("time", "s", "simulated time at the end of the step");
pub(super) const DT: Columns = real(
    "dt",
    "s",
    "simulated time since the logged step before, or since the run's first state: what to multiply a rate by to sum it over time",
);
pub(super) const ROBOT: Columns = text("robot", "name of the robot; NULL for an object");
pub(super) const DEVICE: Columns = text("device", "name of the device");
pub(super) const BODY_ID: Columns = integer("bodyID", "the body").refers_to(Reference::Component);
pub(super) const POSITION: Columns = real("x, y, z", "m", "position of the body's origin");
pub(super) const AXIS: Columns = real("axis_x, axis_y, axis_z", "1", "unit axis of the orientation");
pub(super) const ANGLE: Columns = real("angle", "rad", "angle of the orientation about that axis, 0 to pi");
pub(super) const VELOCITY: Columns = real("v_x, v_y, v_z", "m/s", "velocity of the centre of mass");
pub(super) const ANGULAR_VELOCITY: Columns = real("omega_x, omega_y, omega_z", "rad/s", "angular velocity");
pub(super) const FORCE: Columns = real("F_x, F_y, F_z", "N", "force that contacts exerted on the body in the step");
pub(super) const TORQUE: Columns = real("T_x, T_y, T_z", "N m", "their torque about the centre of mass");
pub(super) const CONTACT_NORMAL: Columns =
    real("normal_x, normal_y, normal_z", "1", "unit normal towards the body, world axes");
pub(super) const CONTACT_FORCE: Columns =
    real("F_x, F_y, F_z", "N", "force on the body at this point, mean over the step, world axes");
pub(super) const CONTACT_GAP: Columns = real("gap", "m", "distance of the two surfaces, negative for penetration");
pub(super) const ANCHOR: Columns = real("anchorx, anchory, anchorz", "m", "the joint's anchor in the world");
pub(super) const JOINT_POSITION: Columns = real(
    "position_1, position_2, position_3",
    "rad or m",
    "position of the joint's axes, 0 as the bodies are placed; a locked axis reads 0",
);
pub(super) const JOINT_RATE: Columns = real("rate_1, rate_2, rate_3", "rad/s or m/s", "rate of the joint's axes");
pub(super) const JOINT_EFFORT: Columns =
    real("effort_1, effort_2, effort_3", "N m or N", "what the motor exerted on each axis");
pub(super) const REACTION_FORCE: Columns =
    real("F_x, F_y, F_z", "N", "force that the parent exerts on the child; NULL with rapier");
pub(super) const REACTION_TORQUE: Columns =
    real("T_x, T_y, T_z", "N m", "torque that the parent exerts on the child; NULL with rapier");
