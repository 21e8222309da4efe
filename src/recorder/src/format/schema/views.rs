//! The views of a log: the views of the thesis, and the views with the names of robots, bodies, joints and devices.

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

/// A view of some columns of `body_state`, under their name in the thesis.
const fn of_thesis(name: &'static str, doc: &'static str, columns: &'static [Columns]) -> Table {
    view(TableKind::ThesisView, name, Key::Row, "simulationRowID, bodyID", doc, columns)
}

/// A view of the readings of one kind of sensor.
const fn sensor(name: &'static str, kind: &'static str, columns: &'static [Columns]) -> Table {
    view(TableKind::SensorView, name, Key::Row, "simulationRowID, robot, device", kind, columns)
}

const MOUNT: Columns = real("x, y, z", "m", "position of the sensor's mount, world axes");
const QUATERNION: Columns =
    real("qx, qy, qz, qw", "1", "unit quaternion of the rotation that takes sensor axes to world axes");
const SENSED_FORCE: Columns =
    real("force_x, force_y, force_z", "N", "measured force, in the axes that the sensor's attribute `frame` names");
const SENSED_TORQUE: Columns = real("torque_x, torque_y, torque_z", "N m", "measured torque, in the same axes");
const SENSED_SPIN: Columns = real("omega_x, omega_y, omega_z", "rad/s", "angular velocity, sensor axes");
const SPECIFIC_FORCE: Columns =
    real("fx, fy, fz", "m/s²", "specific force: acceleration minus gravity, sensor axes; +g upwards at rest");

pub(super) const VIEWS: [Table; 27] = [
    of_thesis("pose", "Position and orientation of a body.", &[ROW, BODY_ID, POSITION, AXIS, ANGLE]),
    of_thesis("velocity", "Velocity of a body.", &[ROW, BODY_ID, VELOCITY, ANGULAR_VELOCITY]),
    of_thesis("forceAndTorque", "Contact force and torque on a body in a step.", &[ROW, BODY_ID, FORCE, TORQUE]),
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
            real(
                "vx, vy, vz",
                "m/s",
                "velocity of the sensor's mount, in the axes that the sensor's attribute `frame` names",
            ),
            real("omega_x, omega_y, omega_z", "rad/s", "angular velocity, in the same axes"),
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
            real(
                "latitude, longitude",
                "deg",
                "geodetic latitude and longitude on the WGS84 ellipsoid; north and east positive",
            ),
            real("altitude", "m", "height above the WGS84 ellipsoid"),
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
            real("heading", "rad", "heading of the sensor's z axis, clockwise from north seen from above, 0 to 2 pi"),
            real("north_x, north_y, north_z", "1", "unit vector to the north, sensor axes"),
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
            real("sinkage", "m", "depth of the wheel below the surface that the ground began with"),
            real(
                "slip",
                "1",
                "slip ratio, mean over the length of the contact: 1 - v / (r omega) driving, r omega / v - 1 braking",
            ),
            real("slip_angle", "rad", "angle from the wheel's heading to its velocity, positive towards the axle"),
            real(
                "normal_force, drawbar_pull, lateral_force",
                "N",
                "forces of the soil on the wheel: along the ground's normal, forwards, and along the axle",
            ),
            real("resistance", "N", "motion resistance: the part of the drawbar pull that normal stress takes away"),
            real("torque", "N m", "torque of the soil about the axle, against the turning of the wheel"),
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
            real("pressed", "", "1 while the normal force is at least the sensor's threshold, else 0"),
            real("normal_force", "N", "sum of the normal forces of all contacts of the body"),
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

const DISTANCE: Columns =
    real("distance", "m", "distance to the first obstacle along the ray; the sensor's range if there is none");

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
        text("body", "name of the body"),
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
    "Attitude of a body, and its velocity along its own forward, up and right axes. These axes are fixed in the body. \
     In the model's initial pose, up is the world's y axis, forward is the body's x axis projected on the horizontal, \
     and right completes them. The columns therefore mean the same for imported robots, whose links have z up. On \
     SQLite the view needs mathematical functions, which `simpartner query` and the `sqlite3` shell have.",
    &[
        ROW,
        RUN,
        STEP,
        TIME,
        DT,
        ROBOT,
        text("body", "name of the body"),
        real(
            "qx, qy, qz, qw",
            "1",
            "unit quaternion of the rotation that takes body axes to world axes; qw is not negative",
        ),
        real(
            "heading",
            "rad",
            "heading of the forward axis: angle from the world's x axis, clockwise seen from above, -pi to pi",
        ),
        real("pitch", "rad", "pitch: elevation of the forward axis above the horizontal, -pi/2 to pi/2"),
        real("roll", "rad", "roll about the forward axis, positive with the right side down, -pi to pi"),
        real("tilt", "rad", "angle between the up axis and the world's y axis, 0 to pi"),
        real("speed", "m/s", "magnitude of the velocity of the centre of mass"),
        real("v_forward, v_up, v_right", "m/s", "velocity of the centre of mass along the forward, up and right axes"),
        real(
            "omega_forward, omega_up, omega_right",
            "rad/s",
            "angular velocity about these axes; positive is roll to the right, yaw to the left, pitch upwards",
        ),
    ],
);

const WHEEL_LOG: Table = view(
    TableKind::NamedView,
    "wheelLog",
    Key::Row,
    "simulationRowID, robot, body",
    "The motion of a wheel after a step, on rigid ground and on soil. A wheel is a body on a hinge without stops: a \
     sphere, or a cylinder, capsule or spheroid that turns about its own axis. On SQLite the view needs mathematical functions, \
     which `simpartner query` and the `sqlite3` shell have.",
    &[
        ROW,
        RUN,
        STEP,
        TIME,
        DT,
        ROBOT,
        text("body", "name of the body"),
        real("contact_force", "N", "magnitude of the contact force on the wheel, mean over the step"),
        real("rolling", "m/s", "rolling speed: radius times angular velocity about the axle"),
        real(
            "along",
            "m/s",
            "velocity of the centre of mass in the plane of the wheel, positive in the direction of a positive \
             `rolling`",
        ),
        real("across", "m/s", "velocity of the centre of mass along the axle"),
        real(
            "slip",
            "1",
            "slip ratio: (rolling - along) over the larger magnitude of the two, with the sign of rolling. 0 is \
             rolling, 1 spinning on the spot, -1 skidding with a locked wheel, above 1 to 2 rolling against the \
             motion. NULL off the ground and below 1 mm/s",
        ),
        real(
            "slip_angle",
            "rad",
            "angle of the velocity against the plane of the wheel, positive towards the axle, -pi/2 to pi/2; NULL \
             where slip is NULL",
        ),
    ],
);

const CONTACT_LOG: Table = view(
    TableKind::NamedView,
    "contactLog",
    Key::Row,
    "simulationRowID, robot, body",
    "Contact force and torque on a body in a step. Only bodies that were touched have rows.",
    &[ROW, STEP, TIME, ROBOT, text("body", "name of the body"), FORCE, TORQUE, RUN, DT],
);

const CONTACT_POINT_LOG: Table = view(
    TableKind::NamedView,
    "contactPointLog",
    Key::Row,
    "simulationRowID, ordinal",
    "A point where two bodies touched in a step. The setting `log.contacts` enables the log of points.",
    &[
        ROW,
        STEP,
        TIME,
        integer("ordinal", "position in the list of the step's points, from 0"),
        ROBOT,
        text("body", "name of the body"),
        text("other_robot, other_body", "robot and name of the other body; both are NULL for the ground"),
        real("x, y, z", "m", "position of the point, world axes"),
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
        text("joint", "name of the joint"),
        text("kind", "type of the joint: hinge, slider, ball, ..."),
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
            "work of the motor since the previous logged step, positive when it drives the joint; the sum over all \
             rows is the work in the run, also in a thinned log",
        ),
    ],
);

const READING_LOG: Table = view(
    TableKind::NamedView,
    "readingLog",
    Key::Row,
    "simulationRowID, robot, device, field",
    "One number of a sensor's reading. The view of the sensor's kind has all numbers of a reading in one row.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        DEVICE,
        text("kind", "type of the sensor"),
        text("field", "name of the number; deviceField has its unit"),
        real("value", "", "value of the number"),
        RUN,
    ],
);

const COMMAND_LOG: Table = view(
    TableKind::NamedView,
    "commandLog",
    Key::Simulation,
    "step, ordinal",
    "A command, with the step in which it took effect. For a placement or a push (PLACE, PUSH) the column `device` has \
     the name of the body, and `kind` is NULL.",
    &[
        RUN,
        STEP,
        TIME,
        integer("ordinal", "position within the step, from 0"),
        ROBOT,
        DEVICE,
        text("kind", "type of the device"),
        integer("client", "number of the client's connection; 0 for a sequence that the server itself played"),
        text("text", "the command"),
        text("reply", "the server's answer: the state of the device before the command"),
    ],
);

const EVENT_LOG: Table = view(
    TableKind::NamedView,
    "eventLog",
    Key::Simulation,
    "step, eventID",
    "An event, such as a pause, a reset, a fault or a client that connects. [Events](events.md) lists all kinds.",
    &[
        RUN,
        integer("eventID", "number of the event; a later event has a larger one"),
        STEP,
        TIME,
        text("kind", "kind of the event: play, pause, reset, clockSlip, fault, divergence, tipOver, leftGround, ..."),
        text("subject", "the device, body, robot or client that it concerns"),
        text("text", "description of the event, a sentence"),
        real("value", "", "figure of the event; its meaning and unit depend on the kind, see [Events](events.md)"),
    ],
);

const SCANNER_SENSOR: Table = view(
    TableKind::NamedView,
    "scannerSensor",
    Key::Row,
    "simulationRowID, robot, device, layer, ray",
    "One ray of a ScannerSensor's reading.",
    &[
        ROW,
        STEP,
        TIME,
        ROBOT,
        DEVICE,
        integer("layer", "number of the fan, from 1 for the lowest"),
        integer("ray", "number of the ray in its fan, from 1 at minus the half angle"),
        DISTANCE,
        RUN,
    ],
);
