//! The description of a table or view.

use super::columns::Columns;

/// The tables that rows are written into, each before those that refer to it. Stored checksums name them by their place here: a
/// new one comes last.
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
}

/// A table or view of a log.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name as the thesis or the schema spells it.
    pub name: &'static str,
    /// What a row is, a sentence; of a sensor's view the kind of sensor.
    pub(super) doc: &'static str,
    pub(super) kind: TableKind,
    pub(super) key: Key,
    pub(super) key_columns: usize,
    /// The columns that its rows are sorted by within a run.
    pub(crate) order: &'static str,
    pub(super) columns: &'static [Columns],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableKind {
    Stored(TableId),
    /// Rows that belong to no run.
    OfNoRun,
    /// A part of a table under the name that it has in the thesis.
    ThesisView,
    /// A view with the names of things in it.
    NamedView,
    /// The readings of one kind of sensor, with the names of things in it.
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
    /// None: they belong to no run.
    None,
}

impl TableId {
    pub(crate) const COUNT: usize = Self::Scan as usize + 1;

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
    ];
}
