//! The tables of a log, in the order of their foreign keys, with the columns in the order in which rows have their values.

use super::{
    columns::{
        ANCHOR, ANGLE, ANGULAR_VELOCITY, AXIS, BODY_ID, CONTACT_FORCE, CONTACT_GAP, CONTACT_NORMAL, Columns, FORCE,
        JOINT_EFFORT, JOINT_POSITION, JOINT_RATE, POSITION, REACTION_FORCE, REACTION_TORQUE, ROW, RUN, Reference, STEP,
        TORQUE, VELOCITY, Written, bytes, integer, real, text,
    },
    table::{Key, Table, TableId, TableKind},
};

/// A table: `key_columns` is how many columns at its beginning tell a row from the others of its run.
const fn table(
    id: TableId,
    name: &'static str,
    (key, key_columns, order): (Key, usize, &'static str),
    doc: &'static str,
    columns: &'static [Columns],
) -> Table {
    Table { name, doc, kind: TableKind::Stored(id), key, key_columns, order, columns }
}

const ROBOT_ID: Columns = integer("robotID", "the robot; NULL for an object").refers_to(Reference::Robot);
const COMPONENT_ID: Columns = integer("componentID", "the device").refers_to(Reference::Component);
const JOINT_ID: Columns = integer("jointID", "the joint").refers_to(Reference::Component);

pub(super) const STORED: [Table; TableId::COUNT] = [
    SIMULATION,
    table(
        TableId::SimulationFile,
        "simulationFile",
        (Key::Simulation, 2, "ordinal"),
        "A file that a run was made from. Behind the model of a grasp task's run comes a text that names the task, with its files.",
        &[
            RUN,
            integer("ordinal", "order"),
            text("role", "model or properties"),
            text("path", "as it was opened"),
            text("text", "all of it; empty for a file that is not text"),
            bytes("content", "all of it, of a file that is not text"),
            text("blake3", "the BLAKE3 hash of it, in hexadecimal"),
        ],
    ),
    table(
        TableId::Robot,
        "robot",
        (Key::Simulation, 1, "robotID"),
        "A robot of a run.",
        &[
            integer("robotID", "number").refers_to(Reference::Robot),
            RUN,
            text("name", "in its world"),
            text("model", "name of the model"),
        ],
    ),
    table(
        TableId::RobotComponent,
        "robotComponent",
        (Key::Robot, 1, "componentID"),
        "A part of a robot: a body, a joint or a device.",
        &[
            integer("componentID", "number").refers_to(Reference::Component),
            integer("robotID", "the robot").refers_to(Reference::Robot),
            text("type", "BODY, JOINT, SENSOR or ACTUATOR"),
            text("name", "in its robot"),
            integer("reference", "the bodyID, the jointID or the componentID itself").refers_to(Reference::Component),
        ],
    ),
    table(
        TableId::Body,
        "body",
        (Key::Simulation, 1, "bodyID"),
        "A body as the physics used it. What its shape does not have is NULL, and of a fixed body mass and inertia.",
        &[
            integer("bodyID", "number").refers_to(Reference::Component),
            RUN,
            ROBOT_ID,
            text("name", "in its robot or world"),
            integer("fixed", "1 or 0"),
            text("shape", "element name in XML, or particle"),
            real("size_x, size_y, size_z, radius, length", "m", "of the shape"),
            real("mass", "kg", "mass"),
            real("com_x, com_y, com_z", "m", "centre of mass, body axes"),
            real("I_xx, I_yy, I_zz, I_xy, I_xz, I_yz", "kg m²", "inertia about it, body axes"),
            real("friction, restitution", "1", "of its material"),
            real("rolling_friction", "m", "of its material"),
            real("up_x, up_y, up_z", "1", "the world's y axis in body axes, as the model places the body"),
            real(
                "forward_x, forward_y, forward_z",
                "1",
                "the body's x axis made level, as the model places the body, in body axes; where x is upright, the axis that is most level",
            ),
            real("wheel_radius", "m", "of a wheel (see wheelLog); NULL for other bodies"),
            real("axle_x, axle_y, axle_z", "1", "of a wheel: the axis of its hinge, body axes"),
        ],
    ),
    table(
        TableId::Joint,
        "joint",
        (Key::Simulation, 1, "jointID"),
        "A joint.",
        &[
            integer("jointID", "number").refers_to(Reference::Component),
            RUN,
            ROBOT_ID,
            text("name, kind", "name, and hinge, slider ..."),
            integer("parent_bodyID, child_bodyID", "what it joins").refers_to(Reference::Component),
            real("anchorx, anchory, anchorz", "m", "anchor in the world at step 0"),
        ],
    ),
    table(
        TableId::JointAxis,
        "jointAxis",
        (Key::Joint, 2, "jointID, axis"),
        "A free axis of a joint.",
        &[
            JOINT_ID,
            integer("axis", "1, 2 or 3"),
            real("x, y, z", "1", "direction at step 0"),
            real("lower_stop, upper_stop", "rad or m", "NULL where there is none"),
            real("damping", "N m s/rad or N s/m", "viscous damping"),
            real("friction", "N m or N", "dry friction"),
        ],
    ),
    table(
        TableId::Device,
        "device",
        (Key::Component, 1, "componentID"),
        "A sensor or an actuator.",
        &[
            integer("componentID", "its component").refers_to(Reference::Component),
            text("kind", "as in the robot's file"),
            integer("port", "as the model asks for it; 0 is any"),
            integer("attached_to", "bodyID or jointID").refers_to(Reference::Component),
            integer("interval_steps", "steps from one reading to the next"),
        ],
    ),
    table(
        TableId::DeviceField,
        "deviceField",
        (Key::Component, 2, "componentID, ordinal"),
        "A number of a device's frame.",
        &[COMPONENT_ID, integer("ordinal", "its place from 0"), text("field, unit", "name and unit")],
    ),
    SIMULATION_ROW,
    table(
        TableId::BodyState,
        "body_state",
        (Key::Row, 2, "simulationRowID, bodyID"),
        "The state of a body after a step; `pose`, `velocity` and `forceAndTorque` are parts of it.",
        &[ROW, BODY_ID, POSITION, AXIS, ANGLE, VELOCITY, ANGULAR_VELOCITY, FORCE, TORQUE],
    ),
    table(
        TableId::JointPose,
        "jointPose",
        (Key::Row, 2, "simulationRowID, jointID"),
        "The state of a joint after a step.",
        &[ROW, JOINT_ID, ANCHOR, JOINT_POSITION, JOINT_RATE, JOINT_EFFORT, REACTION_FORCE, REACTION_TORQUE],
    ),
    table(
        TableId::ForceAndTorqueInterval,
        "forceAndTorqueInterval",
        (Key::Row, 2, "simulationRowID, bodyID"),
        "Contact forces on a body over the steps since the last logged one, where steps are left out.",
        &[
            ROW,
            BODY_ID,
            integer("steps", "how many steps, this one included"),
            real("mean_F_x, mean_F_y, mean_F_z", "N", "mean force"),
            real("mean_T_x, mean_T_y, mean_T_z", "N m", "mean torque"),
            real("max_F_x, max_F_y, max_F_z", "N", "greatest magnitude of each component, with its sign"),
            real("max_T_x, max_T_y, max_T_z", "N m", "greatest magnitude of each component, with its sign"),
            real("max_F", "N", "greatest length of the force"),
            real("max_T", "N m", "greatest length of the torque"),
        ],
    ),
    table(
        TableId::SensorReading,
        "sensorReading",
        (Key::Row, 3, "simulationRowID, componentID, field"),
        "One number of a reading, in the steps in which the sensor took a new one.",
        &[
            ROW,
            integer("componentID", "the sensor").refers_to(Reference::Component),
            text("field", "which number"),
            real("value", "", "the number"),
        ],
    ),
    table(
        TableId::Command,
        "command",
        (Key::Simulation, 3, "step, ordinal"),
        "A command, in the step in which it took effect. A command that no step of its run follows has the number of the step that would have been next. Between commands an actuator's setting does not change.",
        &[
            RUN,
            STEP,
            integer("ordinal", "order within the step, from 0"),
            integer("port", "of the device, as the model asks for it; 0 where a body is put elsewhere"),
            integer("componentID", "the device, or the body that is put elsewhere (PLACE)")
                .refers_to(Reference::Component),
            integer("client", "number of the connection; 0 for a sequence played in the process"),
            text("text, reply", "the command and the answer to it"),
        ],
    ),
    table(
        TableId::Event,
        "event",
        (Key::Simulation, 2, "eventID"),
        "An event: a pause, a reset, a fault, a client that connects ...",
        &[
            integer("eventID", "order of the events").written(Written::ByDatabase),
            RUN,
            STEP,
            text("kind, subject, text", "kind of event, the device or client it is about, a sentence"),
            real("value", "", "its figure"),
            integer("wall_ns", "wall time; NULL after the last step").in_unit("ns"),
        ],
    ),
    table(
        TableId::Snapshot,
        "snapshot",
        (Key::Simulation, 2, "step"),
        "The whole state after a step, from which a fork can go on.",
        &[
            RUN,
            STEP,
            integer("chain_head", "head of the chain of hashes there"),
            bytes("state", "bytes that the engine reads"),
        ],
    ),
    table(
        TableId::Batch,
        "batch",
        (Key::Simulation, 2, "number"),
        "Rows that were committed at once, with the checksums that `db verify` computes again.",
        &[
            RUN,
            integer("number", "from 1, which is the model"),
            integer("first_step, last_step", "steps of its rows; NULL where there are none"),
            integer("checksum", "checksum of all its rows"),
            bytes("sums", "checksums of each column, body, joint, device and file"),
        ],
    ),
    table(
        TableId::ContactPoint,
        "contactPoint",
        (Key::Row, 3, "simulationRowID, ordinal"),
        "A point where two bodies touched in a step, with `log.contacts`: the 128 of a step with the largest forces, in single \
         precision.",
        &[
            ROW,
            BODY_ID,
            integer("ordinal", "place in its step, from 0"),
            integer("other_bodyID", "what touches it; NULL for the ground").refers_to(Reference::Component),
            real("x, y, z", "m", "where, in the world"),
            CONTACT_NORMAL,
            CONTACT_FORCE,
            CONTACT_GAP,
        ],
    ),
    table(
        TableId::Scan,
        "scan",
        (Key::Row, 2, "simulationRowID, componentID"),
        "A reading of more than 4096 numbers, in the steps in which the sensor took a new one. It has no rows in sensorReading; \
         scannerSensor has a row for each of its rays.",
        &[
            ROW,
            integer("componentID", "the sensor").refers_to(Reference::Component),
            text(
                "distances",
                "its numbers in m, in the order of deviceField.ordinal: an array in JSON, null for what is no number",
            ),
        ],
    ),
];

const SIMULATION: Table = table(
    TableId::Simulation,
    "simulation",
    (Key::Simulation, 0, "simulationID"),
    "A run: from the start, from a reset, or from where something came or went, to the next of these or the end.",
    &[
        RUN.written(Written::ByDatabase),
        text("runKey", "names the run in every database"),
        text("status", "running until the run is closed (a killed process leaves it so), then how it ended")
            .written(Written::WithRowAndAtEnd)
            .unsummed(),
        text("started", "UTC, ISO 8601"),
        text("world", "name of the world"),
        integer("resets", "resets of the same process before this run"),
        integer("timestep_ns", "length of a step").in_unit("ns"),
        integer("every_n_steps", "one step in so many is logged"),
        text("clock_mode", "at the start; later changes are events"),
        text("program_version", "version of this program"),
        text("engine, engine_version, engine_features", "the physics engine"),
        text("target", "architecture and system that the program was built for"),
        text("realtime_grants", "what the system granted the physics thread"),
        integer(
            "on_change",
            "which rows are left out: 0 none, 1 each that is like the one before, 2 those of what rests (see above)",
        ),
        integer("bodies_logged, joints_logged", "rows that a step has, or the most that one has"),
        integer(
            "parent_simulationID, parent_step",
            "the run, and its step, that a fork goes on from; a step without a run is that of the run before, after which something came or went",
        ),
        integer("full_steps", "the last step before the log is thinned out; NULL where it is not"),
        integer("thinned_every_n_steps", "one step in so many is logged from then on"),
        integer("checksums", "version of the run's checksums; NULL if it has none"),
        text("ended", "UTC, ISO 8601").written(Written::AtEnd),
        integer("steps", "steps made, logged or not").written(Written::AtEnd),
        integer("rows_written", "rows of steps, commands and events").written(Written::AtEnd),
        integer("steps_logged", "logged steps").written(Written::AtEnd),
        integer("gaps", "ranges of steps that are missing").written(Written::AtEnd),
        integer("chain_head", "head of the chain of hashes after the last step").written(Written::AtEnd),
        integer("slips", "how often the clock gave up time").written(Written::AtEnd),
        real("late_p50_us, late_p99_us, late_p99_9_us, late_max_us", "us", "how late steps began")
            .written(Written::AtEnd),
        real("real_time_factor", "", "simulated seconds per wall second while the clock ran").written(Written::AtEnd),
        text("stateHash", "hash of the final state, hexadecimal").written(Written::AtEnd),
        integer("end_checksum", "checksum of the columns that are written at the run's end")
            .written(Written::AtEnd)
            .unsummed(),
        integer("position", "number of the last batch that is committed").written(Written::WithBatch),
        text("missing_batches", "batches before it that are not, as ranges; NULL if none").written(Written::WithBatch),
        integer("log_bytes", "size of what was written, about: eight bytes a value")
            .in_unit("B")
            .written(Written::WithBatch),
    ],
);

const SIMULATION_ROW: Table = table(
    TableId::SimulationRow,
    "simulationRow",
    (Key::Row, 1, "simulationRowID"),
    "A logged step.",
    &[
        ROW,
        RUN,
        STEP,
        real("simulationTime", "s", "simulated time at its end"),
        integer("wall_ns", "wall time of its beginning, since the process's first step").in_unit("ns"),
        integer("late_ns", "how late it began").in_unit("ns"),
        integer("compute_ns", "how long it took").in_unit("ns"),
        integer("state_hash", "hash of its record and of the one before: a chain over every step, logged or not"),
        integer("bodies, joints, readings", "rows that belong to it"),
        integer("checksum", "checksum of its rows, without commands, events and snapshots").unsummed(),
    ],
);
