//! What the tables, views and columns of the log mean: `simpartner schema log`. A test holds it against the database.

use std::fmt::Write as _;

use super::TABLES;

/// A table or view: its name, what a row of it is, and its columns.
struct Entry {
    table: &'static str,
    doc: &'static str,
    /// Names with commas between them, unit, meaning.
    columns: &'static [(&'static str, &'static str, &'static str)],
}

const HEADER: &str = "\
# The log

What the tables, views and columns of a log mean, the same in SQLite, PostgreSQL, MySQL and MariaDB. `simpartner schema log`
prints this file; a test holds it against the database. `ANALYSIS.md` shows queries.

Names in camelCase are those of the thesis; SQL ignores their case (MySQL and MariaDB on Linux do not, but `simpartner query`
spells them for you). Lengths are metres, angles radians, everything else SI; vectors are in world axes, y up, unless a column says
otherwise. A number that is not finite is NULL.

**Start with the views for people**: they have names and times in them, so that no join is needed. The tables they are made of,
and those that describe the model, come after.

**Which rows there are.** `log.detail = \"full\"` gives each logged step a row of every body and joint. In the default, `economical`, a
robot's bodies and joints have rows of a step only if one of them differs from the row before, and an object likewise; every 100th
step has all. After `log.thin_after_s` one step in `log.thin_to_every_n_steps` is logged. So the state of a thing that has no row in a
step is that of its last row before.

**Mathematics.** `sqrt`, `pow`, `sin`, `cos`, `atan2`, `exp`, `ln`, `abs` and `floor` are the same on every database. `log` is not: to
the base of ten on SQLite and PostgreSQL, natural on MySQL and MariaDB. None has `hypot`: write `sqrt(x * x + z * z)`.
";

const ROW: (&str, &str, &str) =
    ("simulationRowID", "", "the step: simulationID * 4294967296 + step; see simulationRow");
const STEP: (&str, &str, &str) = ("step", "", "the step, from 1");
const TIME: (&str, &str, &str) = ("time", "s", "simulated time at the end of the step");
const ROBOT: (&str, &str, &str) = ("robot", "", "name of the robot; NULL for an object");
const DEVICE: (&str, &str, &str) = ("device", "", "name of the device");
const RUN: (&str, &str, &str) = ("simulationID", "", "the run");
const PLACE: (&str, &str, &str) = ("x, y, z", "m", "position of the body's origin");
const TURN: (&str, &str, &str) =
    ("axis_x, axis_y, axis_z, angle", "1, rad", "orientation: unit axis and angle, 0 to pi");
const SPEED: (&str, &str, &str) = ("v_x, v_y, v_z", "m/s", "velocity of the centre of mass");
const SPIN: (&str, &str, &str) = ("omega_x, omega_y, omega_z", "rad/s", "angular velocity");
const FORCE: (&str, &str, &str) = ("F_x, F_y, F_z", "N", "what contacts exerted on the body in the step");
const TORQUE: (&str, &str, &str) = ("T_x, T_y, T_z", "N m", "their torque about the centre of mass");
const ANCHOR: (&str, &str, &str) = ("anchorx, anchory, anchorz", "m", "the joint's anchor in the world");
const POSITION: (&str, &str, &str) = (
    "position_1, position_2, position_3",
    "rad or m",
    "of the joint's axes, 0 as the bodies are placed; a locked axis reads 0",
);
const RATE: (&str, &str, &str) = ("rate_1, rate_2, rate_3", "rad/s or m/s", "of the joint's axes");
const EFFORT: (&str, &str, &str) = ("effort_1, effort_2, effort_3", "N m or N", "what the motor exerted on each axis");
const REACTION: (&str, &str, &str) = (
    "F_x, F_y, F_z, T_x, T_y, T_z",
    "N, N m",
    "force and torque that the parent exerts on the child; NULL with rapier",
);
const SENSED_FORCE: (&str, &str, &str) = (
    "force_x, force_y, force_z, torque_x, torque_y, torque_z",
    "N, N m",
    "in the axes that the sensor is told to read in",
);
const QUATERNION: (&str, &str, &str) = ("qx, qy, qz, qw", "1", "takes sensor axes to world axes");
const SENSED_SPIN: (&str, &str, &str) = ("omega_x, omega_y, omega_z", "rad/s", "in the sensor's axes");
const SPECIFIC_FORCE: (&str, &str, &str) =
    ("fx, fy, fz", "m/s²", "acceleration less gravity, in the sensor's axes: +g upwards at rest");

const ENTRIES: &[Entry] = &[
    Entry {
        table: "bodyLog",
        doc: "The state of a body after a step.",
        columns: &[ROW, STEP, TIME, ROBOT, ("body", "", "name"), PLACE, TURN, SPEED, SPIN, FORCE, TORQUE],
    },
    Entry {
        table: "contactLog",
        doc: "What contacts did to a body in a step, of bodies that were touched.",
        columns: &[ROW, STEP, TIME, ROBOT, ("body", "", "name"), FORCE, TORQUE],
    },
    Entry {
        table: "jointLog",
        doc: "The state of a joint after a step.",
        columns: &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            ("joint", "", "name"),
            ("kind", "", "hinge, slider, ball ..."),
            ANCHOR,
            POSITION,
            RATE,
            EFFORT,
            REACTION,
        ],
    },
    Entry {
        table: "readingLog",
        doc: "One number of a sensor's reading; the views of each kind have all of them in a row.",
        columns: &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            ("kind", "", "kind of sensor"),
            ("field", "", "which number; deviceField has its unit"),
            ("value", "", "the number"),
        ],
    },
    Entry {
        table: "commandLog",
        doc: "A command, in the step in which it took effect.",
        columns: &[
            RUN,
            STEP,
            TIME,
            ("ordinal", "", "order within the step, from 0"),
            ROBOT,
            DEVICE,
            ("kind", "", "kind of device"),
            ("client", "", "number of the connection; 0 for a sequence played in the process"),
            ("text", "", "what was said"),
            ("reply", "", "what was answered: the state before"),
        ],
    },
    Entry {
        table: "eventLog",
        doc: "What happened beside the plan.",
        columns: &[
            RUN,
            ("eventID", "", "order of the events"),
            STEP,
            TIME,
            ("kind", "", "play, pause, reset, clockSlip, fault, divergence ..."),
            ("subject", "", "whom it concerns"),
            ("text", "", "a sentence"),
            ("value", "", "its figure"),
        ],
    },
    sensor(
        "positionSensor",
        "PositionSensor",
        &[ROW, STEP, TIME, ROBOT, DEVICE, ("x, y, z", "m", "place of the mount")],
    ),
    sensor(
        "poseSensor",
        "PoseSensor",
        &[ROW, STEP, TIME, ROBOT, DEVICE, ("x, y, z", "m", "place of the mount"), QUATERNION],
    ),
    sensor(
        "velocitySensor",
        "VelocitySensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            ("vx, vy, vz, omega_x, omega_y, omega_z", "m/s, rad/s", "in the axes that the sensor is told to read in"),
        ],
    ),
    sensor("accelerometer", "Accelerometer", &[ROW, STEP, TIME, ROBOT, DEVICE, SPECIFIC_FORCE]),
    sensor("gyroscope", "Gyroscope", &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_SPIN]),
    sensor("imuSensor", "ImuSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, QUATERNION, SENSED_SPIN, SPECIFIC_FORCE]),
    sensor(
        "gnssSensor",
        "GnssSensor",
        &[ROW, STEP, TIME, ROBOT, DEVICE, ("latitude, longitude, altitude", "deg, deg, m", "on the WGS84 ellipsoid")],
    ),
    sensor(
        "compassSensor",
        "CompassSensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            ("heading", "rad", "clockwise from north, 0 to 2 pi"),
            ("north_x, north_y, north_z", "1", "unit vector to the north in the sensor's axes"),
        ],
    ),
    sensor(
        "distanceSensor",
        "DistanceSensor",
        &[ROW, STEP, TIME, ROBOT, DEVICE, ("distance", "m", "to the first thing in the way, or the range")],
    ),
    Entry {
        table: "scannerSensor",
        doc: "A ray of a ScannerSensor.",
        columns: &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            ("layer", "", "the fan, from 1 for the lowest"),
            ("ray", "", "the ray in its fan, from 1 at minus the half angle"),
            ("distance", "m", "to the first thing in the way, or the range"),
        ],
    },
    sensor("contactSensor", "ContactSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_FORCE]),
    sensor(
        "bumperSensor",
        "BumperSensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            ("pressed", "", "1 or 0"),
            ("normal_force", "N", "sum of the normal forces of all contacts"),
        ],
    ),
    sensor("jointEncoder", "JointEncoder", &[ROW, STEP, TIME, ROBOT, DEVICE, POSITION, RATE]),
    sensor("forceTorqueSensor", "ForceTorqueSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_FORCE]),
    Entry {
        table: "simulation",
        doc: "A run: from the start, or from a reset, to the next reset or the end.",
        columns: &[
            RUN,
            ("status", "", "running until the run is closed (a killed process leaves it so), then how it ended"),
            ("started, ended", "", "UTC, ISO 8601"),
            ("world", "", "name of the world"),
            ("resets", "", "resets of the same process before this run"),
            ("timestep_ns", "ns", "length of a step"),
            ("every_n_steps", "", "one step in so many is logged"),
            ("clock_mode", "", "at the start; later changes are events"),
            ("program_version, engine, engine_version, engine_features, target", "", "what the run was made with"),
            ("realtime_grants", "", "what the system granted the physics thread"),
            ("steps", "", "steps made, logged or not"),
            ("rows_written", "", "rows of steps, commands and events"),
            ("slips", "", "how often the clock gave up time"),
            ("late_p50_us, late_p99_us, late_p99_9_us, late_max_us", "us", "how late steps began"),
            ("real_time_factor", "", "simulated seconds per wall second while the clock ran"),
            ("stateHash", "", "of the final state, hexadecimal"),
            ("runKey", "", "names the run in every database"),
            ("position", "", "batches of the log that are committed"),
            ("missing_batches", "", "those before it that are not, as ranges; NULL if none"),
            (
                "on_change",
                "",
                "rows left out: 0 none, 1 each that is like the one before, 2 those of what rests (see above)",
            ),
            ("bodies_logged, joints_logged", "", "rows that a step has, or the most that one has"),
            ("steps_logged", "", "logged steps"),
            ("gaps", "", "stretches of steps that are missing"),
            ("chain_head", "", "chain of hashes after the last step"),
            ("parent_simulationID, parent_step", "", "the run, and its step, that a fork goes on from"),
            ("full_steps", "", "the last step before the log is thinned out; NULL where it is not"),
            ("thinned_every_n_steps", "", "one step in so many is logged from then on"),
            ("log_bytes", "B", "how much was written, about: eight bytes a value"),
            ("checksums", "", "version of the run's checksums; NULL if it has none"),
            ("end_checksum", "", "checksum of what was entered at the run's end"),
        ],
    },
    Entry {
        table: "simulationFile",
        doc: "A text that a run was made from.",
        columns: &[
            RUN,
            ("ordinal", "", "order"),
            ("role", "", "model or properties"),
            ("path", "", "as it was opened"),
            ("text", "", "all of it"),
        ],
    },
    Entry {
        table: "robot",
        doc: "A robot of a run.",
        columns: &[("robotID", "", "number"), RUN, ("name", "", "in its world"), ("model", "", "name of the model")],
    },
    Entry {
        table: "robotComponent",
        doc: "What a robot is made of.",
        columns: &[
            ("componentID", "", "number"),
            ("robotID", "", "the robot"),
            ("type", "", "BODY, JOINT, SENSOR or ACTUATOR"),
            ("name", "", "in its robot"),
            ("reference", "", "the bodyID, the jointID or the componentID itself"),
        ],
    },
    Entry {
        table: "body",
        doc: "A body as the physics used it. What its shape does not have is NULL, and of a fixed body mass and inertia.",
        columns: &[
            ("bodyID", "", "number"),
            RUN,
            ("robotID", "", "its robot; NULL for an object"),
            ("name", "", "in its robot or world"),
            ("fixed", "", "1 or 0"),
            ("shape", "", "element name in XML, or particle"),
            ("size_x, size_y, size_z, radius, length", "m", "of the shape"),
            ("mass", "kg", "mass"),
            ("com_x, com_y, com_z", "m", "centre of mass, body axes"),
            ("I_xx, I_yy, I_zz, I_xy, I_xz, I_yz", "kg m²", "inertia about it, body axes"),
            ("friction, restitution, rolling_friction", "1, 1, m", "of its material"),
        ],
    },
    Entry {
        table: "joint",
        doc: "A joint.",
        columns: &[
            ("jointID", "", "number"),
            RUN,
            ("robotID", "", "its robot, if it has one"),
            ("name, kind", "", "name, and hinge, slider ..."),
            ("parent_bodyID, child_bodyID", "", "what it joins"),
            ("anchorx, anchory, anchorz", "m", "anchor in the world at step 0"),
        ],
    },
    Entry {
        table: "jointAxis",
        doc: "A free axis of a joint.",
        columns: &[
            ("jointID, axis", "", "the joint, and 1, 2 or 3"),
            ("x, y, z", "1", "direction at step 0"),
            ("lower_stop, upper_stop", "rad or m", "NULL where there is none"),
            ("damping, friction", "N m s/rad or N s/m; N m or N", "damping and dry friction"),
        ],
    },
    Entry {
        table: "device",
        doc: "A sensor or an actuator.",
        columns: &[
            ("componentID", "", "its component"),
            ("kind", "", "as in the robot's file"),
            ("port", "", "as the model asks for it; 0 is any"),
            ("attached_to", "", "bodyID or jointID"),
            ("interval_steps", "", "steps from one reading to the next"),
        ],
    },
    Entry {
        table: "deviceField",
        doc: "A number of a device's frame.",
        columns: &[
            ("componentID, ordinal", "", "the device, and its place from 0"),
            ("field, unit", "", "name and unit"),
        ],
    },
    Entry {
        table: "simulationRow",
        doc: "A logged step.",
        columns: &[
            ROW,
            RUN,
            STEP,
            ("simulationTime", "s", "simulated time at its end"),
            ("wall_ns", "ns", "wall time of its beginning, since the process's first step"),
            ("late_ns", "ns", "how late it began"),
            ("compute_ns", "ns", "how long it took"),
            ("state_hash", "", "hash of its record and of the one before: a chain over every step, logged or not"),
            ("bodies, joints, readings", "", "rows that belong to it"),
            ("checksum", "", "checksum of its rows, without commands, events and snapshots"),
        ],
    },
    Entry {
        table: "body_state",
        doc: "The state of a body after a step; `pose`, `velocity` and `forceAndTorque` are parts of it.",
        columns: &[ROW, ("bodyID", "", "the body"), PLACE, TURN, SPEED, SPIN, FORCE, TORQUE],
    },
    Entry {
        table: "pose",
        doc: "Position and orientation of a body.",
        columns: &[ROW, ("bodyID", "", "the body"), PLACE, TURN],
    },
    Entry { table: "velocity", doc: "Velocity of a body.", columns: &[ROW, ("bodyID", "", "the body"), SPEED, SPIN] },
    Entry {
        table: "forceAndTorque",
        doc: "What contacts did to a body in a step.",
        columns: &[ROW, ("bodyID", "", "the body"), FORCE, TORQUE],
    },
    Entry {
        table: "jointPose",
        doc: "The state of a joint after a step.",
        columns: &[ROW, ("jointID", "", "the joint"), ANCHOR, POSITION, RATE, EFFORT, REACTION],
    },
    Entry {
        table: "forceAndTorqueInterval",
        doc: "Contact forces on a body over the steps since the last logged one, where steps are left out.",
        columns: &[
            ROW,
            ("bodyID", "", "the body"),
            ("steps", "", "how many steps, this one included"),
            ("mean_F_x, mean_F_y, mean_F_z, mean_T_x, mean_T_y, mean_T_z", "N, N m", "means"),
            ("max_F_x, max_F_y, max_F_z, max_T_x, max_T_y, max_T_z", "N, N m", "greatest magnitudes, with their signs"),
            ("max_F, max_T", "N, N m", "greatest lengths of the vectors"),
        ],
    },
    Entry {
        table: "sensorReading",
        doc: "One number of a reading, in the steps in which it was taken afresh.",
        columns: &[ROW, ("componentID", "", "the sensor"), ("field", "", "which number"), ("value", "", "the number")],
    },
    Entry {
        table: "command",
        doc: "A command, in the step in which it took effect. Between commands an actuator's setting does not change.",
        columns: &[
            RUN,
            STEP,
            ("ordinal", "", "order within the step, from 0"),
            ("port", "", "of the device, as the model asks for it"),
            ("componentID", "", "the device"),
            ("client", "", "number of the connection; 0 for a sequence played in the process"),
            ("text, reply", "", "what was said and answered"),
        ],
    },
    Entry {
        table: "event",
        doc: "What happened beside the plan.",
        columns: &[
            ("eventID", "", "order of the events"),
            RUN,
            STEP,
            ("kind, subject, text", "", "what kind, whom it concerns, a sentence"),
            ("value", "", "its figure"),
            ("wall_ns", "ns", "wall time; NULL after the last step"),
        ],
    },
    Entry {
        table: "snapshot",
        doc: "The whole state after a step, to go on from.",
        columns: &[RUN, STEP, ("chain_head", "", "the chain there"), ("state", "", "bytes that the engine reads")],
    },
    Entry {
        table: "batch",
        doc: "Rows that were committed at once, with the checksums that `db verify` computes again.",
        columns: &[
            RUN,
            ("number", "", "from 1, which is the model"),
            ("first_step, last_step", "", "steps of its rows; NULL where there are none"),
            ("checksum", "", "checksum of all its rows"),
            ("sums", "", "checksums of each column, body, joint, device and file"),
        ],
    },
];

/// The view of a kind of sensor.
const fn sensor(
    table: &'static str,
    kind: &'static str,
    columns: &'static [(&'static str, &'static str, &'static str)],
) -> Entry {
    Entry { table, doc: kind, columns }
}

/// The text of `LOG.md`.
pub fn dictionary() -> String {
    let mut text = HEADER.to_owned();
    let of_people = |entry: &&Entry| TABLES.iter().any(|table| table.name == entry.table && table.for_people);
    for (title, people) in [("Views for people", true), ("Tables, and the views of the thesis", false)] {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n");
        for entry in ENTRIES.iter().filter(|entry| of_people(entry) == people) {
            // A kind of sensor is told where its file is.
            let doc = match entry.doc.ends_with('.') {
                true => entry.doc.to_owned(),
                false => format!("Readings of each {}; `robots/REFERENCE.md` tells what it reads.", entry.doc),
            };
            let _ = write!(text, "\n### {}\n\n{doc}\n\n| column | unit | |\n|---|---|---|\n", entry.table);
            for (names, unit, meaning) in entry.columns {
                let _ = writeln!(text, "| {names} | {unit} | {meaning} |");
            }
        }
    }
    text
}

/// The columns that are told of each table.
pub fn columns() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let split = |entry: &'static Entry| entry.columns.iter().flat_map(|(names, ..)| names.split(", ")).collect();
    ENTRIES.iter().map(move |entry| (entry.table, split(entry)))
}
