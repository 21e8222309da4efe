//! The description of a table or view.

use super::columns::Columns;

/// Tables that rows of runs are written into. A table comes before those that refer to it. Stored checksums contain the
/// index of the variant, so a new table must be added at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableId {
    Simulation,
    SimulationFile,
    Robot,
    RobotComponent,
    Body,
    Joint,
    JointAxis,
    Device,
    DeviceField,
    SimulationRow,
    BodyState,
    JointPose,
    ForceAndTorqueInterval,
    SensorReading,
    Command,
    Event,
    Snapshot,
    Batch,
    ContactPoint,
    Scan,
    ModelParameter,
}

/// A table or view of a log.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name, in the spelling of the thesis or the schema.
    pub name: &'static str,
    /// Description of a row in a sentence. For the view of a sensor, the kind of sensor instead.
    pub(super) doc: &'static str,
    pub(super) kind: TableKind,
    pub(super) key: Key,
    /// Number of leading columns that identify a row among those of its run.
    pub(super) key_columns: usize,
    /// Columns by which the rows of a run are sorted.
    pub(crate) order: &'static str,
    pub(super) columns: &'static [Columns],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableKind {
    /// A table with rows of runs.
    Stored(TableId),
    /// A table whose rows belong to no run.
    OfNoRun,
    /// A view of some columns of a table, under their name in the thesis.
    ThesisView,
    /// A view with the names of robots, bodies, joints and devices.
    NamedView,
    /// A view of the readings of one kind of sensor, with the names of robots and devices.
    SensorView,
}

/// Column by which the rows of a table belong to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// `simulationID`.
    Simulation,
    /// `simulationRowID`, which holds the run and the step.
    Row,
    /// `robotID`, through the run's robots.
    Robot,
    /// `jointID`, through the run's joints.
    Joint,
    /// `componentID`, through the components of the run's robots.
    Component,
    /// The rows belong to no run.
    None,
}

impl TableId {
    pub(crate) const COUNT: usize = Self::ModelParameter as usize + 1;

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Simulation,
        Self::SimulationFile,
        Self::Robot,
        Self::RobotComponent,
        Self::Body,
        Self::Joint,
        Self::JointAxis,
        Self::Device,
        Self::DeviceField,
        Self::SimulationRow,
        Self::BodyState,
        Self::JointPose,
        Self::ForceAndTorqueInterval,
        Self::SensorReading,
        Self::Command,
        Self::Event,
        Self::Snapshot,
        Self::Batch,
        Self::ContactPoint,
        Self::Scan,
        Self::ModelParameter,
    ];
}
