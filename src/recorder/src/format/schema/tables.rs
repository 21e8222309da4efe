//! The tables of a log, in the order of their foreign keys. Their columns are in the order of the values in a row.

use super::{
    columns::{
        ANCHOR, ANGLE, ANGULAR_VELOCITY, AXIS, BODY_ID, CONTACT_FORCE, CONTACT_GAP, CONTACT_NORMAL, Columns, FORCE,
        JOINT_EFFORT, JOINT_POSITION, JOINT_RATE, POSITION, REACTION_FORCE, REACTION_TORQUE, ROW, RUN, Reference, STEP,
        TORQUE, VELOCITY, Written, bytes, integer, real, text,
    },
    table::{Key, Table, TableId, TableKind},
};

/// A table. `key_columns` is the number of leading columns that identify a row among those of its run.
const fn table(
    id: TableId,
    name: &'static str,
    (key, key_columns, order): (Key, usize, &'static str),
    doc: &'static str,
    columns: &'static [Columns],
) -> Table {
    Table { name, doc, kind: TableKind::Stored(id), key, key_columns, order, columns }
}

const ROBOT_ID: Columns =
    integer("robotID", "number of the robot; NULL for an object of the world").refers_to(Reference::Robot);
const COMPONENT_ID: Columns = integer("componentID", "number of the device").refers_to(Reference::Component);
const JOINT_ID: Columns = integer("jointID", "number of the joint").refers_to(Reference::Component);

pub(super) const STORED: [Table; TableId::COUNT] = [
    SIMULATION,
    table(
        TableId::SimulationFile,
        "simulationFile",
        (Key::Simulation, 2, "ordinal"),
        "A file that a run was made from. In the run of a grasp task the files of the model are followed by a text \
         that names the task, and by the task's files.",
        &[
            RUN,
            integer("ordinal", "position in the list of files, from 0"),
            text("role", "model or properties"),
            text("path", "path by which the file was opened"),
            text("text", "content of a text file; empty for other files"),
            bytes("content", "content of a file that is not text; NULL for text files"),
            text("blake3", "BLAKE3 hash of the content, hexadecimal"),
        ],
    ),
    table(
        TableId::Robot,
        "robot",
        (Key::Simulation, 1, "robotID"),
        "A robot of a run.",
        &[
            integer("robotID", "number of the robot, unique in the database").refers_to(Reference::Robot),
            RUN,
            text("name", "name of the robot in its world"),
            text("model", "name of the robot's model"),
        ],
    ),
    table(
        TableId::RobotComponent,
        "robotComponent",
        (Key::Robot, 1, "componentID"),
        "A component of a robot: a body, a joint or a device.",
        &[
            integer("componentID", "number of the component, unique in the database").refers_to(Reference::Component),
            integer("robotID", "number of the robot").refers_to(Reference::Robot),
            text("type", "kind of the component: BODY, JOINT, SENSOR or ACTUATOR"),
            text("name", "name of the component in its robot"),
            integer("reference", "bodyID of a body, jointID of a joint, the componentID itself of a device")
                .refers_to(Reference::Component),
        ],
    ),
    table(
        TableId::Body,
        "body",
        (Key::Simulation, 1, "bodyID"),
        "A body with the properties that the engine used. Dimensions that its shape does not have are NULL. A fixed \
         body has no mass and no inertia: both are NULL.",
        &[
            integer("bodyID", "number of the body, unique in the database").refers_to(Reference::Component),
            RUN,
            ROBOT_ID,
            text("name", "name of the body in its robot, or of the object in the world"),
            integer("fixed", "1 for a static body, else 0"),
            text("shape", "name of the shape's XML element, or particle for a body without a shape"),
            real(
                "size_x, size_y, size_z, radius, length",
                "m",
                "dimensions of the shape; size_x, size_y and size_z are the full lengths of a box or an ellipsoid",
            ),
            real("mass", "kg", "mass"),
            real("com_x, com_y, com_z", "m", "position of the centre of mass, body frame"),
            real("I_xx, I_yy, I_zz, I_xy, I_xz, I_yz", "kg m²", "inertia tensor about the centre of mass, body axes"),
            real(
                "friction, restitution",
                "1",
                "Coulomb friction coefficient and coefficient of restitution of the body's material",
            ),
            real(
                "rolling_friction",
                "1",
                "rolling resistance coefficient Crr of the body's material: torque = Crr x normal force x radius",
            ),
            real(
                "up_x, up_y, up_z",
                "1",
                "unit vector of the world's y axis in body axes, as the model places the body",
            ),
            real(
                "forward_x, forward_y, forward_z",
                "1",
                "unit vector of the body's forward direction in body axes: its x axis, projected on the horizontal as \
                 the model places the body. If x is vertical there, the more level of y and z.",
            ),
            real("wheel_radius", "m", "radius of a wheel (see wheelLog); NULL for other bodies"),
            real("axle_x, axle_y, axle_z", "1", "unit axis of a wheel's hinge, body axes; NULL for other bodies"),
        ],
    ),
    table(
        TableId::Joint,
        "joint",
        (Key::Simulation, 1, "jointID"),
        "A joint.",
        &[
            integer("jointID", "number of the joint, unique in the database").refers_to(Reference::Component),
            RUN,
            ROBOT_ID,
            text("name, kind", "name of the joint in its robot, and its type: hinge, slider, ..."),
            integer("parent_bodyID, child_bodyID", "numbers of the two bodies that it connects")
                .refers_to(Reference::Component),
            real("anchorx, anchory, anchorz", "m", "position of the anchor at step 0, world axes"),
        ],
    ),
    table(
        TableId::JointAxis,
        "jointAxis",
        (Key::Joint, 2, "jointID, axis"),
        "A free axis of a joint.",
        &[
            JOINT_ID,
            integer("axis", "number of the local axis: 1, 2 or 3"),
            real("x, y, z", "1", "unit direction of the axis at step 0, world axes"),
            real("lower_stop, upper_stop", "rad or m", "positions of the stops; NULL for a stop that does not exist"),
            real("damping", "N m s/rad or N s/m", "coefficient of viscous damping"),
            real("friction", "N m or N", "dry friction: constant effort against the motion"),
        ],
    ),
    table(
        TableId::Device,
        "device",
        (Key::Component, 1, "componentID"),
        "A sensor or an actuator.",
        &[
            integer("componentID", "number of the device, the same as in robotComponent")
                .refers_to(Reference::Component),
            text("kind", "type of the device, as in the robot's file"),
            integer("port", "port number in the model; 0 is any free port"),
            integer("attached_to", "bodyID or jointID of the body or joint that carries the device")
                .refers_to(Reference::Component),
            integer("interval_steps", "number of steps from one reading to the next"),
        ],
    ),
    table(
        TableId::DeviceField,
        "deviceField",
        (Key::Component, 2, "componentID, ordinal"),
        "One number of a device's reading or command.",
        &[
            COMPONENT_ID,
            integer("ordinal", "position in the reading or command, from 0"),
            text("field, unit", "name of the number, and its unit"),
        ],
    ),
    SIMULATION_ROW,
    table(
        TableId::BodyState,
        "body_state",
        (Key::Row, 2, "simulationRowID, bodyID"),
        "The state of a body after a step. The views `pose`, `velocity` and `forceAndTorque` show parts of it.",
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
        "Statistics of the contact forces on a body over an interval of steps: those since the previous logged step. \
         The table has rows only where the log leaves steps out. Axes are those of the world; torques are about the \
         centre of mass.",
        &[
            ROW,
            BODY_ID,
            integer("steps", "number of steps in the interval, this one included"),
            real("mean_F_x, mean_F_y, mean_F_z", "N", "mean of the contact force"),
            real("mean_T_x, mean_T_y, mean_T_z", "N m", "mean of the contact torque"),
            real(
                "max_F_x, max_F_y, max_F_z",
                "N",
                "signed value of largest magnitude in the interval, for each component",
            ),
            real(
                "max_T_x, max_T_y, max_T_z",
                "N m",
                "signed value of largest magnitude in the interval, for each component",
            ),
            real("max_F", "N", "largest magnitude of the force in the interval"),
            real("max_T", "N m", "largest magnitude of the torque in the interval"),
        ],
    ),
    table(
        TableId::SensorReading,
        "sensorReading",
        (Key::Row, 3, "simulationRowID, componentID, field"),
        "One number of a sensor's reading. A reading has rows in the step in which it was new; other steps have none.",
        &[
            ROW,
            integer("componentID", "number of the sensor").refers_to(Reference::Component),
            text("field", "name of the number, as in deviceField"),
            real("value", "", "value, in the unit of the field in deviceField"),
        ],
    ),
    table(
        TableId::Command,
        "command",
        (Key::Simulation, 3, "step, ordinal"),
        "A command, with the step in which it took effect. If the run ended before that, the step is the one that \
         would have been next. Between commands the state of an actuator does not change.",
        &[
            RUN,
            STEP,
            integer("ordinal", "position within the step, from 0"),
            integer("port", "port number of the device in the model; 0 for a placement or a push (PLACE, PUSH)"),
            integer("componentID", "number of the device, or of the body of a placement or a push")
                .refers_to(Reference::Component),
            integer("client", "number of the client's connection; 0 for a sequence that the server itself played"),
            text("text, reply", "the command, and the server's answer"),
        ],
    ),
    table(
        TableId::Event,
        "event",
        (Key::Simulation, 2, "eventID"),
        "An event, such as a pause, a reset, a fault or a client that connects. [Events](events.md) lists all kinds.",
        &[
            integer("eventID", "number of the event; a later event has a larger one").written(Written::ByDatabase),
            RUN,
            STEP,
            text(
                "kind, subject, text",
                "kind of the event; the device, body, robot or client that it concerns; a sentence",
            ),
            real("value", "", "figure of the event; its meaning and unit depend on the kind, see [Events](events.md)"),
            integer(
                "wall_ns",
                "wall time at the beginning of its step, since the process's first step; NULL after the last step",
            )
            .in_unit("ns"),
        ],
    ),
    table(
        TableId::Snapshot,
        "snapshot",
        (Key::Simulation, 2, "step"),
        "The complete state of the simulation after a step. A fork continues from it.",
        &[
            RUN,
            STEP,
            integer("chain_head", "head of the chain of hashes after this step"),
            bytes("state", "the state, in the program's own binary format"),
        ],
    ),
    table(
        TableId::Batch,
        "batch",
        (Key::Simulation, 2, "number"),
        "Rows that were committed in one transaction, with the checksums that `simpartner db verify` compares.",
        &[
            RUN,
            integer("number", "number of the batch in its run, from 1; batch 1 has the model"),
            integer("first_step, last_step", "first and last step of its rows; NULL if it has no rows of steps"),
            integer("checksum", "checksum over all its rows"),
            bytes("sums", "checksums of each column, body, joint, device and file"),
        ],
    ),
    table(
        TableId::ContactPoint,
        "contactPoint",
        (Key::Row, 3, "simulationRowID, ordinal"),
        "A point where two bodies touched in a step, in single precision. The setting `log.contacts` enables the \
         table. A step has at most 128 rows: the points with the largest forces.",
        &[
            ROW,
            BODY_ID,
            integer("ordinal", "position in the list of the step's points, from 0"),
            integer("other_bodyID", "number of the other body; NULL for the ground").refers_to(Reference::Component),
            real("x, y, z", "m", "position of the point, world axes"),
            CONTACT_NORMAL,
            CONTACT_FORCE,
            CONTACT_GAP,
        ],
    ),
    table(
        TableId::Scan,
        "scan",
        (Key::Row, 2, "simulationRowID, componentID"),
        "A reading of more than 4096 numbers, in the step in which it was new. It has no rows in sensorReading. The \
         view scannerSensor has a row for each ray.",
        &[
            ROW,
            integer("componentID", "number of the sensor").refers_to(Reference::Component),
            text(
                "distances",
                "distances in m as a JSON array, in the order of deviceField.ordinal; null for a value that is not \
                 finite",
            ),
        ],
    ),
    table(
        TableId::ModelParameter,
        "parameter",
        (Key::Simulation, 2, "ordinal"),
        "A value of the model's files that the run replaced, by `--model`, by the section `[model]` of the properties, \
         by `PARAM` or by a sweep.",
        &[
            RUN,
            integer("ordinal", "position in the list of parameters, from 0"),
            text("path", "path of the value, such as surface.friction"),
            text("text", "the value as given; with a star in front a factor on the number in the file"),
            real("value", "", "the number, or the factor; NULL for a word"),
        ],
    ),
];

const SIMULATION: Table = table(
    TableId::Simulation,
    "simulation",
    (Key::Simulation, 0, "simulationID"),
    "A run. It begins at the start of the server, as a fork, at a reset, or when a robot or object comes or goes. It \
     ends at the next of these, or with the server.",
    &[
        RUN.written(Written::ByDatabase),
        text("runKey", "unique name of the run, the same in every database"),
        text("status", "running, until the run ends; then how it ended. After a killed process it stays running.")
            .written(Written::WithRowAndAtEnd)
            .unsummed(),
        text("started", "time at which the run began, UTC, ISO 8601"),
        text("world", "name of the world"),
        integer("resets", "number of resets of the same process before this run"),
        integer("timestep_ns", "timestep").in_unit("ns"),
        integer("every_n_steps", "logging interval: one step in this many is logged"),
        text("clock_mode", "mode of the clock at the start: realtime, fast or lockstep; later changes are events"),
        text("program_version", "version of the program that made the run"),
        text("engine, engine_version, engine_features", "name, version and build features of the physics engine"),
        text("target", "processor architecture and operating system that the program was built for"),
        text("realtime_grants", "real-time rights that the operating system granted to the physics thread"),
        integer(
            "on_change",
            "rule for leaving rows out: 0 none; 1 each row that equals the one before; 2 the rows of a robot or object \
             at rest (see *Which rows there are*)",
        ),
        integer(
            "bodies_logged, joints_logged",
            "number of bodies and joints whose state is logged: the most rows that a step can have",
        ),
        integer(
            "parent_simulationID, parent_step",
            "run and step that a fork continues from. A step without a run: a robot or object came or went after this \
             step of the run before.",
        ),
        integer("full_steps", "last step before the log is thinned out; NULL if the log is never thinned out"),
        integer("thinned_every_n_steps", "logging interval after full_steps: one step in this many"),
        integer("checksums", "version of the checksum scheme; NULL for a run without checksums"),
        text("ended", "time at which the run ended, UTC, ISO 8601").written(Written::AtEnd),
        integer("steps", "number of steps made, logged or not").written(Written::AtEnd),
        integer("rows_written", "number of rows of steps, commands and events").written(Written::AtEnd),
        integer("steps_logged", "number of logged steps").written(Written::AtEnd),
        integer("gaps", "number of gaps in the sequence of steps").written(Written::AtEnd),
        integer("chain_head", "head of the chain of hashes after the last step").written(Written::AtEnd),
        integer("slips", "number of clock slips: the clock gave up lost time").written(Written::AtEnd),
        real(
            "late_p50_us, late_p99_us, late_p99_9_us, late_max_us",
            "us",
            "lateness of the starts of steps: 50th, 99th and 99.9th percentile and maximum",
        )
        .written(Written::AtEnd),
        real("real_time_factor", "", "real-time factor: simulated seconds per wall second while the clock ran")
            .written(Written::AtEnd),
        text("stateHash", "hash of the final state, hexadecimal").written(Written::AtEnd),
        integer("end_checksum", "checksum over the columns that are written at the end of the run")
            .written(Written::AtEnd)
            .unsummed(),
        integer("position", "number of the last committed batch").written(Written::WithBatch),
        text("missing_batches", "numbers of earlier batches that are not committed, as ranges; NULL if none")
            .written(Written::WithBatch),
        integer("log_bytes", "approximate size of the written rows, at eight bytes for each value")
            .in_unit("B")
            .written(Written::WithBatch),
    ],
);

const SIMULATION_ROW: Table = table(
    TableId::SimulationRow,
    "simulationRow",
    (Key::Row, 1, "simulationRowID"),
    "A logged step, with its timing.",
    &[
        ROW,
        RUN,
        STEP,
        real("simulationTime", "s", "simulated time at the end of the step"),
        integer("wall_ns", "wall time at the beginning of the step, since the process's first step").in_unit("ns"),
        integer("late_ns", "delay of the step's start after its deadline; 0 in the mode fast").in_unit("ns"),
        integer("compute_ns", "computing time of the step").in_unit("ns"),
        integer(
            "state_hash",
            "hash of the step's record and of the previous hash: a chain over every step, logged or not",
        ),
        integer("bodies, joints, readings", "numbers of rows of the step: of bodies, of joints and of readings"),
        integer("checksum", "checksum over the rows of the step, without commands, events and snapshots").unsummed(),
    ],
);
