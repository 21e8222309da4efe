//! Definitions of columns, and the columns that several tables and views share.

use super::super::value::ColumnType;

/// One or more neighbouring columns of the same type, unit and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// Names of the columns, separated by a comma and a blank.
    pub(super) names: &'static str,
    pub(super) column_type: ColumnType,
    pub(super) unit: &'static str,
    /// A phrase for the data dictionary.
    pub(super) doc: &'static str,
    pub(super) reference: Reference,
    pub(super) written: Written,
    pub(super) is_summed: bool,
}

/// Kind of object that the numbers of a column refer to.
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

/// Writer of a column, and the time at which the column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The database, which numbers the rows.
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

    /// Leaves the columns out of the checksums, because their values change after the row was inserted, or are
    /// checksums themselves.
    pub(super) const fn unsummed(mut self) -> Self {
        self.is_summed = false;
        self
    }

    /// Names of the columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(", ")
    }

    pub(crate) fn column_type(&self) -> ColumnType {
        self.column_type
    }

    pub(crate) fn reference(&self) -> Reference {
        self.reference
    }

    /// Unit of the columns; empty if they have none. If the unit depends on the kind of joint, there are two with `or`
    /// between them.
    pub fn unit(&self) -> &'static str {
        self.unit
    }
}

pub(super) const RUN: Columns = integer("simulationID", "number of the run").refers_to(Reference::Run);
pub(super) const ROW: Columns = integer(
    "simulationRowID",
    "key of the logged step, unique over all runs: simulationID * 4294967296 + step; see simulationRow",
)
.refers_to(Reference::Step);
pub(super) const STEP: Columns =
    integer("step", "number of the step, counted from 1 since the start or the last reset");
pub(super) const TIME: Columns = real("time", "s", "simulated time at the end of the step");
pub(super) const DT: Columns = real(
    "dt",
    "s",
    "simulated time since the previous logged step, or since the run's initial state; sum(rate * dt) integrates a rate \
     over time",
);
pub(super) const ROBOT: Columns = text("robot", "name of the robot; NULL for an object of the world");
pub(super) const DEVICE: Columns = text("device", "name of the device");
pub(super) const BODY_ID: Columns = integer("bodyID", "number of the body").refers_to(Reference::Component);
pub(super) const POSITION: Columns = real("x, y, z", "m", "position of the body's origin, world axes");
pub(super) const AXIS: Columns =
    real("axis_x, axis_y, axis_z", "1", "unit axis of the rotation that takes body axes to world axes");
pub(super) const ANGLE: Columns = real("angle", "rad", "angle of that rotation, 0 to pi");
pub(super) const VELOCITY: Columns = real("v_x, v_y, v_z", "m/s", "velocity of the centre of mass, world axes");
pub(super) const ANGULAR_VELOCITY: Columns = real("omega_x, omega_y, omega_z", "rad/s", "angular velocity, world axes");
pub(super) const FORCE: Columns =
    real("F_x, F_y, F_z", "N", "sum of the contact forces on the body, mean over the step, world axes");
pub(super) const TORQUE: Columns = real(
    "T_x, T_y, T_z",
    "N m",
    "torque of the contacts about the body's centre of mass, mean over the step, world axes",
);
pub(super) const CONTACT_NORMAL: Columns =
    real("normal_x, normal_y, normal_z", "1", "unit normal of the contact, towards the body, world axes");
pub(super) const CONTACT_FORCE: Columns =
    real("F_x, F_y, F_z", "N", "force on the body at this point, mean over the step, world axes");
pub(super) const CONTACT_GAP: Columns =
    real("gap", "m", "distance between the two surfaces in the middle of the step; negative is penetration");
pub(super) const ANCHOR: Columns = real("anchorx, anchory, anchorz", "m", "position of the joint's anchor, world axes");
pub(super) const JOINT_POSITION: Columns = real(
    "position_1, position_2, position_3",
    "rad or m",
    "coordinates of the joint's axes 1 to 3: an angle or an offset; 0 where the model places the bodies; a locked axis \
     reads 0",
);
pub(super) const JOINT_RATE: Columns = real("rate_1, rate_2, rate_3", "rad/s or m/s", "rate of each of these axes");
pub(super) const JOINT_EFFORT: Columns = real(
    "effort_1, effort_2, effort_3",
    "N m or N",
    "torque or force of the motor on the child, about or along each axis, mean over the step",
);
pub(super) const REACTION_FORCE: Columns = real(
    "F_x, F_y, F_z",
    "N",
    "force of the parent on the child through the joint, mean over the step, world axes; NULL with the engine rapier",
);
pub(super) const REACTION_TORQUE: Columns = real(
    "T_x, T_y, T_z",
    "N m",
    "torque of the parent on the child about the anchor, mean over the step, world axes; NULL with the engine rapier",
);
