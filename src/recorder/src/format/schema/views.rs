//! The views of a log: those of the thesis, and those with the names of things in them.

use super::{
    columns::{
        ANCHOR, ANGLE, ANGULAR_VELOCITY, AXIS, BODY_ID, CONTACT_FORCE, CONTACT_GAP, CONTACT_NORMAL, Columns, DEVICE,
        DT, FORCE, JOINT_EFFORT, JOINT_POSITION, JOINT_RATE, POSITION, REACTION_FORCE, REACTION_TORQUE, ROBOT, ROW,
        RUN, STEP, TIME, TORQUE, VELOCITY, integer, real, text,
    },
    table::{Key, Table, TableKind},
};

const fn view(
    kind: TableKind,
    name: &'static str,
    key: Key,
    order: &'static str,
    doc: &'static str,
    columns: &'static [Columns],
) -> Table {
    Table { name, doc, kind, key, key_columns: 0, order, columns }
}

/// A part of `body_state` under the name that it has in the thesis.
const fn of_thesis(name: &'static str, doc: &'static str, columns: &'static [Columns]) -> Table {
    view(TableKind::ThesisView, name, Key::Row, "simulationRowID, bodyID", doc, columns)
}

/// The readings of one kind of sensor.
const fn sensor(name: &'static str, kind: &'static str, columns: &'static [Columns]) -> Table {
    view(TableKind::SensorView, name, Key::Row, "simulationRowID, robot, device", kind, columns)
}

const MOUNT: Columns = real("x, y, z", "m", "place of the mount");
const QUATERNION: Columns = real("qx, qy, qz, qw", "1", "takes sensor axes to world axes");
const SENSED_FORCE: Columns =
    real("force_x, force_y, force_z", "N", "in the axes that the sensor is configured to read in");
const SENSED_TORQUE: Columns =
    real("torque_x, torque_y, torque_z", "N m", "in the axes that the sensor is configured to read in");
const SENSED_SPIN: Columns = real("omega_x, omega_y, omega_z", "rad/s", "in the sensor's axes");
const SPECIFIC_FORCE: Columns =
    real("fx, fy, fz", "m/s²", "acceleration less gravity, in the sensor's axes: +g upwards at rest");

pub(super) const VIEWS: [Table; 27] = [
    of_thesis("pose", "Position and orientation of a body.", &[ROW, BODY_ID, POSITION, AXIS, ANGLE]),
    of_thesis("velocity", "Velocity of a body.", &[ROW, BODY_ID, VELOCITY, ANGULAR_VELOCITY]),
    of_thesis("forceAndTorque", "What contacts did to a body in a step.", &[ROW, BODY_ID, FORCE, TORQUE]),
    BODY_LOG,
    MOTION_LOG,
    WHEEL_LOG,
    CONTACT_LOG,
    CONTACT_POINT_LOG,
    JOINT_LOG,
    READING_LOG,
    COMMAND_LOG,
    EVENT_LOG,
    sensor("positionSensor", "PositionSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, MOUNT, RUN]),
    sensor("poseSensor", "PoseSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, MOUNT, QUATERNION, RUN]),
    sensor(
        "velocitySensor",
        "VelocitySensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            real("vx, vy, vz", "m/s", "in the axes that the sensor is configured to read in"),
            real("omega_x, omega_y, omega_z", "rad/s", "in the same axes"),
            RUN,
        ],
    ),
    sensor("accelerometer", "Accelerometer", &[ROW, STEP, TIME, ROBOT, DEVICE, SPECIFIC_FORCE, RUN]),
    sensor("gyroscope", "Gyroscope", &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_SPIN, RUN]),
    sensor("imuSensor", "ImuSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, QUATERNION, SENSED_SPIN, SPECIFIC_FORCE, RUN]),
    sensor(
        "gnssSensor",
        "GnssSensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            real("latitude, longitude", "deg", "on the WGS84 ellipsoid"),
            real("altitude", "m", "above the WGS84 ellipsoid"),
            RUN,
        ],
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
            real("heading", "rad", "clockwise from north, 0 to 2 pi"),
            real("north_x, north_y, north_z", "1", "unit vector to the north in the sensor's axes"),
            RUN,
        ],
    ),
    sensor("distanceSensor", "DistanceSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, DISTANCE, RUN]),
    sensor("contactSensor", "ContactSensor", &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_FORCE, SENSED_TORQUE, RUN]),
    sensor(
        "soilSensor",
        "SoilSensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            real("sinkage", "m", "below the surface that was there at first"),
            real("slip", "1", "slip ratio, a mean over the length of the contact"),
            real("slip_angle", "rad", "positive towards the axle"),
            real(
                "normal_force, drawbar_pull, lateral_force",
                "N",
                "of the soil, along its normal, forwards and along the axle",
            ),
            real("resistance", "N", "what normal stress takes of the drawbar pull"),
            real("torque", "N m", "against the turning of the wheel"),
            RUN,
        ],
    ),
    sensor(
        "bumperSensor",
        "BumperSensor",
        &[
            ROW,
            STEP,
            TIME,
            ROBOT,
            DEVICE,
            real("pressed", "", "1 or 0"),
            real("normal_force", "N", "sum of the normal forces of all contacts"),
            RUN,
        ],
    ),
    sensor("jointEncoder", "JointEncoder", &[ROW, STEP, TIME, ROBOT, DEVICE, JOINT_POSITION, JOINT_RATE, RUN]),
    sensor(
        "forceTorqueSensor",
        "ForceTorqueSensor",
        &[ROW, STEP, TIME, ROBOT, DEVICE, SENSED_FORCE, SENSED_TORQUE, RUN],
    ),
    SCANNER_SENSOR,
];

const DISTANCE: Columns = real("distance", "m", "to the first thing in the way, or the range");

const BODY_LOG: Table = view(
    TableKind::NamedView,
    "bodyLog",
    Key::Row,
    "simulationRowID, robot, body",
    "The state of a body after a step.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        text("body", "name"),
        POSITION,
        AXIS,
        ANGLE,
        VELOCITY,
        ANGULAR_VELOCITY,
        FORCE,
        TORQUE,
        RUN,
        DT,
    ],
);

const MOTION_LOG: Table = view(
    TableKind::NamedView,
    "motionLog",
    Key::Row,
    "simulationRowID, robot, body",
    "Attitude of a body, and its velocity in its own axes. They are the directions that were forward, up and right in the model's initial \
     pose: up is the world's y axis, forward the body's x axis made level, right completes them. Imported robots, whose links have z up, \
     read like ours. SQLite needs its mathematical functions here, which `simpartner query` and the `sqlite3` shell have.",
    &[
        ROW,
        RUN,
        STEP,
        TIME,
        DT,
        ROBOT,
        text("body", "name"),
        real(
            "qx, qy, qz, qw",
            "1",
            "orientation as a unit quaternion, takes body axes to world axes; qw is not negative",
        ),
        real("heading", "rad", "of the forward axis, from the world's x axis, clockwise seen from above, -pi to pi"),
        real("pitch", "rad", "of the forward axis above the horizon, -pi/2 to pi/2"),
        real("roll", "rad", "about the forward axis, positive with the right side down, -pi to pi"),
        real("tilt", "rad", "angle between the up axis and the world's y axis, 0 to pi"),
        real("speed", "m/s", "of the centre of mass"),
        real("v_forward, v_up, v_right", "m/s", "velocity of the centre of mass along the body's axes"),
        real(
            "omega_forward, omega_up, omega_right",
            "rad/s",
            "angular velocity about them: rates of roll to the right, of yaw to the left, of pitch upwards",
        ),
    ],
);

const WHEEL_LOG: Table = view(
    TableKind::NamedView,
    "wheelLog",
    Key::Row,
    "simulationRowID, robot, body",
    "A wheel after a step, on rigid ground and on soil. A wheel is a sphere, or a cylinder or capsule that a hinge without stops turns about its own axis. SQLite needs its \
     mathematical functions here, which `simpartner query` and the `sqlite3` shell have.",
    &[
        ROW,
        RUN,
        STEP,
        TIME,
        DT,
        ROBOT,
        text("body", "name"),
        real("contact_force", "N", "length of the force that contacts exerted on it in the step"),
        real("rolling", "m/s", "radius times angular velocity about the axle"),
        real(
            "along",
            "m/s",
            "velocity of its centre of mass in the plane of the wheel, positive where a positive rolling would lead",
        ),
        real("across", "m/s", "velocity of its centre of mass along the axle"),
        real(
            "slip",
            "1",
            "(rolling - along) over the larger of the two, signed as rolling: 0 rolls, 1 spins on the spot, -1 skids locked; NULL off the \
             ground and below 1 mm/s",
        ),
        real(
            "slip_angle",
            "rad",
            "of the velocity against the plane of the wheel, positive towards the axle, -pi/2 to pi/2; NULL where slip is",
        ),
    ],
);

const CONTACT_LOG: Table = view(
    TableKind::NamedView,
    "contactLog",
    Key::Row,
    "simulationRowID, robot, body",
    "What contacts did to a body in a step, of bodies that were touched.",
    &[ROW, STEP, TIME, ROBOT, text("body", "name"), FORCE, TORQUE, RUN, DT],
);

const CONTACT_POINT_LOG: Table = view(
    TableKind::NamedView,
    "contactPointLog",
    Key::Row,
    "simulationRowID, ordinal",
    "A point where two bodies touched in a step, with `log.contacts`.",
    &[
        ROW,
        STEP,
        TIME,
        integer("ordinal", "place in its step, from 0"),
        ROBOT,
        text("body", "name"),
        text("other_robot, other_body", "robot and name of what touches it; both are NULL for the ground"),
        real("x, y, z", "m", "where, in the world"),
        CONTACT_NORMAL,
        CONTACT_FORCE,
        CONTACT_GAP,
        RUN,
        DT,
    ],
);

const JOINT_LOG: Table = view(
    TableKind::NamedView,
    "jointLog",
    Key::Row,
    "simulationRowID, robot, joint",
    "The state of a joint after a step.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        text("joint", "name"),
        text("kind", "hinge, slider, ball ..."),
        ANCHOR,
        JOINT_POSITION,
        JOINT_RATE,
        JOINT_EFFORT,
        REACTION_FORCE,
        REACTION_TORQUE,
        RUN,
        DT,
        real("power", "W", "mechanical power of the motor: the sum of effort times rate over the axes"),
        real(
            "energy",
            "J",
            "work of the motor since the logged step before, positive where it drives the joint; the sum over rows is the work of a run, thinned or not",
        ),
    ],
);

const READING_LOG: Table = view(
    TableKind::NamedView,
    "readingLog",
    Key::Row,
    "simulationRowID, robot, device, field",
    "One number of a sensor's reading; the views of each kind have all of them in a row.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        DEVICE,
        text("kind", "kind of sensor"),
        text("field", "which number; deviceField has its unit"),
        real("value", "", "the number"),
        RUN,
    ],
);

const COMMAND_LOG: Table = view(
    TableKind::NamedView,
    "commandLog",
    Key::Simulation,
    "step, ordinal",
    "A command, in the step in which it took effect. Where a body is put elsewhere (PLACE), device is its name and kind NULL.",
    &[
        RUN,
        STEP,
        TIME,
        integer("ordinal", "order within the step, from 0"),
        ROBOT,
        DEVICE,
        text("kind", "kind of device"),
        integer("client", "number of the connection; 0 for a sequence played in the process"),
        text("text", "the command"),
        text("reply", "the answer to it: the state before"),
    ],
);

const EVENT_LOG: Table = view(
    TableKind::NamedView,
    "eventLog",
    Key::Simulation,
    "step, eventID",
    "An event: a pause, a reset, a fault, a client that connects ...",
    &[
        RUN,
        integer("eventID", "order of the events"),
        STEP,
        TIME,
        text("kind", "play, pause, reset, clockSlip, fault, divergence, tipOver, leftGround ..."),
        text("subject", "the device or client it is about"),
        text("text", "a sentence"),
        real("value", "", "its figure"),
    ],
);

const SCANNER_SENSOR: Table = view(
    TableKind::NamedView,
    "scannerSensor",
    Key::Row,
    "simulationRowID, robot, device, layer, ray",
    "A ray of a ScannerSensor.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        DEVICE,
        integer("layer", "the fan, from 1 for the lowest"),
        integer("ray", "the ray in its fan, from 1 at minus the half angle"),
        DISTANCE,
        RUN,
    ],
);
