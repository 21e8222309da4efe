//! The tables of the log as readers and movers of runs need them: which rows belong to a run, and in which order they stand.
//!
//! Columns are asked from the database itself, so that a log of another version is read with the columns it has.

/// By which column a table's rows belong to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum Key {
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
}

/// A table or view of the log.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name as it is spelt in the thesis, or in the schema.
    pub name: &'static str,
    /// True if its rows are of steps, so that ranges of steps and every so many of them can be asked for.
    pub of_steps: bool,
    /// True if it holds nothing of its own.
    pub view: bool,
    /// True if it has the rows of other tables with the names of things in them.
    pub for_people: bool,
    pub(in crate::recorder) key: Key,
    pub(in crate::recorder) order: &'static str,
}

const fn table(name: &'static str, key: Key, order: &'static str) -> Table {
    Table { name, of_steps: matches!(key, Key::Row), view: false, for_people: false, key, order }
}

const fn view(name: &'static str, key: Key, order: &'static str) -> Table {
    Table { view: true, ..table(name, key, order) }
}

const fn for_people(name: &'static str, key: Key, order: &'static str) -> Table {
    Table { for_people: true, ..view(name, key, order) }
}

const fn sensors(name: &'static str) -> Table {
    for_people(name, Key::Row, "simulationRowID, robot, device")
}

/// Every table and view of the log; what others refer to stands before them.
pub const TABLES: &[Table] = &[
    table("simulation", Key::Simulation, "simulationID"),
    table("simulationFile", Key::Simulation, "ordinal"),
    table("robot", Key::Simulation, "robotID"),
    table("robotComponent", Key::Robot, "componentID"),
    table("body", Key::Simulation, "bodyID"),
    table("joint", Key::Simulation, "jointID"),
    table("jointAxis", Key::Joint, "jointID, axis"),
    table("device", Key::Component, "componentID"),
    table("deviceField", Key::Component, "componentID, ordinal"),
    table("simulationRow", Key::Row, "simulationRowID"),
    table("body_state", Key::Row, "simulationRowID, bodyID"),
    view("pose", Key::Row, "simulationRowID, bodyID"),
    view("velocity", Key::Row, "simulationRowID, bodyID"),
    view("forceAndTorque", Key::Row, "simulationRowID, bodyID"),
    table("jointPose", Key::Row, "simulationRowID, jointID"),
    table("forceAndTorqueInterval", Key::Row, "simulationRowID, bodyID"),
    table("sensorReading", Key::Row, "simulationRowID, componentID, field"),
    table("command", Key::Simulation, "step, ordinal"),
    table("event", Key::Simulation, "eventID"),
    table("snapshot", Key::Simulation, "step"),
    table("batch", Key::Simulation, "number"),
    for_people("bodyLog", Key::Row, "simulationRowID, robot, body"),
    for_people("contactLog", Key::Row, "simulationRowID, robot, body"),
    for_people("jointLog", Key::Row, "simulationRowID, robot, joint"),
    for_people("readingLog", Key::Row, "simulationRowID, robot, device, field"),
    for_people("commandLog", Key::Simulation, "step, ordinal"),
    for_people("eventLog", Key::Simulation, "step, eventID"),
    sensors("positionSensor"),
    sensors("poseSensor"),
    sensors("velocitySensor"),
    sensors("accelerometer"),
    sensors("gyroscope"),
    sensors("imuSensor"),
    sensors("gnssSensor"),
    sensors("compassSensor"),
    sensors("distanceSensor"),
    sensors("contactSensor"),
    sensors("bumperSensor"),
    sensors("jointEncoder"),
    sensors("forceTorqueSensor"),
    for_people("scannerSensor", Key::Row, "simulationRowID, robot, device, layer, ray"),
];

/// Names with capitals: a database that folds case gives them back without.
const SPELLINGS: &[&str] = &[
    "simulationID",
    "parent_simulationID",
    "simulationRowID",
    "simulationTime",
    "robotID",
    "componentID",
    "bodyID",
    "jointID",
    "eventID",
    "parent_bodyID",
    "child_bodyID",
    "stateHash",
    "runKey",
    "mean_F_x",
    "mean_F_y",
    "mean_F_z",
    "mean_T_x",
    "mean_T_y",
    "mean_T_z",
    "max_F_x",
    "max_F_y",
    "max_F_z",
    "max_T_x",
    "max_T_y",
    "max_T_z",
    "max_F",
    "max_T",
    "F_x",
    "F_y",
    "F_z",
    "T_x",
    "T_y",
    "T_z",
    "I_xx",
    "I_yy",
    "I_zz",
    "I_xy",
    "I_xz",
    "I_yz",
];

/// A column's name as it is spelt in the schema, from whatever case the database gave it.
pub(in crate::recorder) fn spelt(name: &str) -> String {
    let known = SPELLINGS.iter().find(|known| known.eq_ignore_ascii_case(name));
    known.copied().unwrap_or(name).to_owned()
}

/// A step beyond which no run has any.
pub(in crate::recorder) const LAST_STEP: u64 = u32::MAX as u64;

/// The first of a run's row numbers, and the first of the next run's.
pub(in crate::recorder) fn rows_of(run: i64) -> (i64, i64) {
    (run.saturating_mul(1 << 32), run.saturating_add(1).saturating_mul(1 << 32))
}

impl Table {
    /// The table of a name, in whatever case.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// True if it has a column `step` of its own.
    pub(in crate::recorder) fn has_steps(&self) -> bool {
        self.order.starts_with("step") || self.name == "event"
    }

    /// The table that has a row for each logged step.
    pub(in crate::recorder) fn of_logged_steps() -> &'static Self {
        Self::named("simulationRow").unwrap_or(&TABLES[0])
    }

    /// What is true of a run's rows and of no others; tables of the condition are qualified by `schema`, if there is one.
    pub(in crate::recorder) fn belongs_to(&self, run: i64, schema: &str) -> String {
        let of_robots = format!("robotID IN (SELECT robotID FROM {schema}robot WHERE simulationID = {run})");
        match self.key {
            Key::Simulation => format!("simulationID = {run}"),
            Key::Row => {
                let (first, next) = rows_of(run);
                format!("simulationRowID >= {first} AND simulationRowID < {next}")
            }
            Key::Robot => of_robots,
            Key::Joint => format!("jointID IN (SELECT jointID FROM {schema}joint WHERE simulationID = {run})"),
            Key::Component => {
                format!("componentID IN (SELECT componentID FROM {schema}robotComponent WHERE {of_robots})")
            }
        }
    }
}
