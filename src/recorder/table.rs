//! The tables: where rows go, and the columns that are filled, the same in every database.

use serde::{Deserialize, Serialize};

use super::cell::Cell;

/// The tables, each before those that refer to it. Stored checksums name them by their place here: a new one comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
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
}

/// How many tables there are.
pub(super) const TABLES: usize = Table::Batch as usize + 1;

impl Table {
    pub(super) const ALL: [Self; TABLES] = [
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
    ];

    /// Its name, spelt as it was created.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Simulation => "simulation",
            Self::SimulationFile => "simulationFile",
            Self::Robot => "robot",
            Self::RobotComponent => "robotComponent",
            Self::Body => "body",
            Self::Joint => "joint",
            Self::JointAxis => "jointAxis",
            Self::Device => "device",
            Self::DeviceField => "deviceField",
            Self::SimulationRow => "simulationRow",
            Self::BodyState => "body_state",
            Self::JointPose => "jointPose",
            Self::ForceAndTorqueInterval => "forceAndTorqueInterval",
            Self::SensorReading => "sensorReading",
            Self::Command => "command",
            Self::Event => "event",
            Self::Snapshot => "snapshot",
            Self::Batch => "batch",
        }
    }

    /// The columns that are filled, in their order in a row.
    pub(super) fn columns(self) -> &'static str {
        match self {
            Self::Simulation => SIMULATION,
            Self::SimulationFile => "simulationID, ordinal, role, path, text",
            Self::Robot => "robotID, simulationID, name, model",
            Self::RobotComponent => "componentID, robotID, type, name, reference",
            Self::Body => BODY,
            Self::Joint => JOINT,
            Self::JointAxis => "jointID, axis, x, y, z, lower_stop, upper_stop, damping, friction",
            Self::Device => "componentID, kind, port, attached_to, interval_steps",
            Self::DeviceField => "componentID, ordinal, field, unit",
            Self::SimulationRow => SIMULATION_ROW,
            Self::BodyState => BODY_STATE,
            Self::JointPose => JOINT_POSE,
            Self::ForceAndTorqueInterval => INTERVAL,
            Self::SensorReading => "simulationRowID, componentID, field, value",
            Self::Command => "simulationID, step, ordinal, port, componentID, client, text, reply",
            Self::Event => "simulationID, step, kind, subject, text, value, wall_ns",
            Self::Snapshot => "simulationID, step, chain_head, state",
            Self::Batch => "simulationID, number, first_step, last_step, checksum, sums",
        }
    }

    /// How many columns at the beginning tell a row from the others of the run.
    pub(super) fn key_columns(self) -> usize {
        match self {
            Self::Simulation => 0,
            Self::Robot | Self::RobotComponent | Self::Body | Self::Joint | Self::Device | Self::SimulationRow => 1,
            Self::SensorReading | Self::Command => 3,
            _ => 2,
        }
    }

    /// Whether its rows belong to a row in `simulationRow`.
    pub(super) fn has_row_of_step(self) -> bool {
        use Table::{BodyState, ForceAndTorqueInterval, JointPose, SensorReading, SimulationRow};
        matches!(self, SimulationRow | BodyState | JointPose | ForceAndTorqueInterval | SensorReading)
    }

    /// How many columns that are.
    pub(super) fn width(self) -> usize {
        self.columns().split(',').count()
    }

    /// The statement that inserts so many rows at once, with a question mark for each value.
    pub(super) fn insert(self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.width()].join(","));
        format!("INSERT INTO {} ({}) VALUES {}", self.name(), self.columns(), vec![row.as_str(); rows].join(","))
    }
}

const SIMULATION: &str = "\
    runKey, status, started, world, resets, timestep_ns, every_n_steps, clock_mode, program_version, engine, \
    engine_version, engine_features, target, realtime_grants, on_change, bodies_logged, joints_logged, \
    parent_simulationID, parent_step, full_steps, thinned_every_n_steps, checksums";
const BODY: &str = "\
    bodyID, simulationID, robotID, name, fixed, shape, size_x, size_y, size_z, radius, length, mass, com_x, \
    com_y, com_z, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz, friction, restitution, rolling_friction";
const JOINT: &str = "\
    jointID, simulationID, robotID, name, kind, parent_bodyID, child_bodyID, anchorx, anchory, anchorz";
const SIMULATION_ROW: &str = "\
    simulationRowID, simulationID, step, simulationTime, wall_ns, late_ns, compute_ns, state_hash, bodies, \
    joints, readings, checksum";
const BODY_STATE: &str = "\
    simulationRowID, bodyID, x, y, z, axis_x, axis_y, axis_z, angle, v_x, v_y, v_z, omega_x, omega_y, omega_z, \
    F_x, F_y, F_z, T_x, T_y, T_z";
const JOINT_POSE: &str = "\
    simulationRowID, jointID, anchorx, anchory, anchorz, position_1, position_2, position_3, rate_1, rate_2, \
    rate_3, effort_1, effort_2, effort_3, F_x, F_y, F_z, T_x, T_y, T_z";
const INTERVAL: &str = "\
    simulationRowID, bodyID, steps, mean_F_x, mean_F_y, mean_F_z, mean_T_x, mean_T_y, mean_T_z, max_F_x, max_F_y, \
    max_F_z, max_T_x, max_T_y, max_T_z, max_F, max_T";

/// What a row takes in a database besides its values: its own head and its entry in the primary key, about.
const ROW_BYTES: u64 = 24;

/// Rows of one transaction, table by table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    cells: [Vec<Cell>; TABLES],
}

impl Batch {
    /// The cells of a table, row after row, to be added to.
    pub(super) fn of(&mut self, table: Table) -> &mut Vec<Cell> {
        &mut self.cells[table as usize]
    }

    /// Adds a row.
    pub(super) fn push<const COLUMNS: usize>(&mut self, table: Table, row: [Cell; COLUMNS]) {
        debug_assert_eq!(COLUMNS, table.width(), "{}", table.name());
        self.of(table).extend(row);
    }

    /// The cells of a table.
    pub(super) fn cells(&self, table: Table) -> &[Cell] {
        &self.cells[table as usize]
    }

    /// How many rows there are, but for the one with the checksums.
    pub(super) fn rows(&self) -> u64 {
        let logged = Table::ALL.iter().filter(|&&table| table != Table::Batch);
        logged.map(|&table| (self.cells(table).len() / table.width()) as u64).sum()
    }

    /// How much room the rows take in a database, about.
    pub(super) fn bytes(&self) -> u64 {
        let values = self.cells.iter().flatten().map(Cell::bytes).sum::<u64>();
        values + self.rows() * ROW_BYTES
    }
}
