//! The table of device kinds. The enum, its list and its names are generated from it.
//!
//! A new kind of sensor needs an entry here and its reading in `device/sensor/kinds.rs`.

use super::{
    builders::{
        ALIKE, ANGULAR_VELOCITY, COLOR_ATTRIBUTES, DISTANCE_QUANTITY, EFFORT_BOUND, FORCE_QUANTITY, FORWARD_SPEED,
        IMAGE_ATTRIBUTES, LINEAR_VELOCITY, MAX_COORDINATE, MAX_EFFORT, MAX_FIELD, MAX_PRESSURE, MAX_SPEED, MAX_TARGET,
        ORIENTATION_QUANTITY, PLANE_VELOCITY, POSITION_QUANTITY, SPECIFIC_FORCE_QUANTITY, STEERED_ATTRIBUTES,
        TORQUE_QUANTITY, TURN_RATE, VEHICLE_ATTRIBUTES, actuator, command, from_zero, gain, image_sensor, on_joint,
        plain, sensor, setting, vehicle_controller,
    },
    description::{Description, MountedOn, NoiseLaw, Quantity},
};

/// Generates the enum of kinds and the array of their descriptions.
macro_rules! device_kinds {
    ($($kind:ident: $description:expr,)*) => {
        /// The kinds of sensor and actuator, in the order of [`DeviceKind::ALL`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the description of each is its documentation")]
        pub enum DeviceKind {
            $($kind,)*
        }

        impl DeviceKind {
            /// All kinds, sensors first.
            pub const ALL: [Self; DESCRIPTIONS.len()] = [$(Self::$kind,)*];
        }

        /// The descriptions, in the order of the enum.
        pub(super) const DESCRIPTIONS: &[Description] =
            &[$(Description { name: stringify!($kind), ..$description },)*];
    };
}

device_kinds! {
    EchoSensor: Description {
        at_rest: "the last text that it received",
        in_free_fall: "the same",
        ..sensor("Answers with the last text that it received, to test a connection.", &[])
    },
    PositionSensor: Description {
        at_rest: "its position",
        in_free_fall: ALIKE,
        ..sensor("Position of its mount, world axes.", &[POSITION_QUANTITY])
    },
    PoseSensor: Description {
        at_rest: "its pose",
        in_free_fall: ALIKE,
        ..sensor(
            "Position of its mount, world axes, and orientation: the unit quaternion x, y, z, w that takes sensor axes \
             to world axes.",
            &[POSITION_QUANTITY, ORIENTATION_QUANTITY],
        )
    },
    VelocitySensor: Description {
        at_rest: "0",
        in_free_fall: "velocity g t downwards in world axes, and the angular velocity",
        frames: &["world", "sensor"],
        ..sensor(
            "Velocity of the mount's point, and angular velocity, in the axes of `frame`.",
            &[LINEAR_VELOCITY, ANGULAR_VELOCITY],
        )
    },
    Accelerometer: Description {
        at_rest: "+g along the axis that points up",
        in_free_fall: "0",
        ..sensor(
            "Specific force at its mount: acceleration of this point minus gravity, mean over the last step, in the \
             sensor axes at the middle of the step. At step 0 the reading is that of a constant velocity.",
            &[SPECIFIC_FORCE_QUANTITY],
        )
    },
    Gyroscope: Description {
        at_rest: "0",
        in_free_fall: "the angular velocity",
        ..sensor("Angular velocity, sensor axes.", &[ANGULAR_VELOCITY])
    },
    ImuSensor: Description {
        at_rest: "its orientation; 0; +g along the axis that points up",
        in_free_fall: "its orientation; the angular velocity; 0",
        ..sensor(
            "Orientation as of a PoseSensor, then the readings of a Gyroscope and an Accelerometer on the same mount.",
            &[ORIENTATION_QUANTITY, ANGULAR_VELOCITY, SPECIFIC_FORCE_QUANTITY],
        )
    },
    GnssSensor: Description {
        at_rest: "its position",
        in_free_fall: ALIKE,
        ..sensor(
            "Geographic position of its mount, on the plane that is tangent to the WGS84 ellipsoid at the world's \
             `<geographicOrigin>`. Metres north and east are converted to degrees by the two radii of curvature there, \
             and y is added to the altitude. At a distance of 10 km the plane is 8 m above the ellipsoid. Without the \
             element, latitude, longitude and altitude of the origin are 0.",
            &[
                plain("latitude", &["latitude"], "deg", 90.0),
                plain("longitude", &["longitude"], "deg", 180.0),
                plain("altitude", &["altitude"], "m", MAX_COORDINATE),
            ],
        )
    },
    CompassSensor: Description {
        at_rest: "its heading",
        in_free_fall: ALIKE,
        ..sensor(
            "Heading of the sensor's z axis, which is also the direction of a scanner: clockwise from north, seen from \
             above, 0 to 2 pi. Then the unit vector to the north, sensor axes. North is the world's x axis and east \
             its z axis, unless `<geographicOrigin>` turns them. If z is vertical, the heading is 0.",
            &[
                Quantity { noise: NoiseLaw::Angle, ..from_zero("heading", &["heading"], "rad", std::f64::consts::TAU) },
                plain("north", &["north_x", "north_y", "north_z"], "1", 1.0),
            ],
        )
    },
    MagnetometerSensor: Description {
        at_rest: "the field",
        in_free_fall: ALIKE,
        ..sensor(
            "Magnetic flux density at its mount, sensor axes: the world's `<magneticField>`, or without it the earth's at \
             the `<geographicOrigin>`, by the World Magnetic Model at the beginning of 2025. Its horizontal part points to \
             magnetic north, which differs from the north of a CompassSensor by the declination.",
            &[plain("field", &["field_x", "field_y", "field_z"], "T", MAX_FIELD)],
        )
    },
    DistanceSensor: Description {
        at_rest: "the distance",
        in_free_fall: ALIKE,
        attributes: &["range"],
        ..sensor(
            "Distance along the sensor's z axis to the first obstacle. Without an obstacle within its range, it reads \
             the range. It does not see the body that carries it.",
            &[DISTANCE_QUANTITY],
        )
    },
    ScannerSensor: Description {
        at_rest: "the distances",
        in_free_fall: ALIKE,
        attributes: &["rays", "halfAngle", "layers", "verticalHalfAngle", "range"],
        ..sensor(
            "Distances along a fan of rays, each as of a DistanceSensor. The rays are in the sensor's z-x plane, at \
             angles from minus to plus `halfAngle`, which count from its z axis towards x. With several layers, the fans are tilted towards y, from \
             minus to plus `verticalHalfAngle`, in the order from the lowest. A ray without an obstacle reads the \
             range, without noise. All rays measure in the same step. A reading of more than 200 rays arrives one \
             period (1/rate) after its step, as from a scanner that turns once in each period, or after `latency` if \
             that is longer.",
            &[DISTANCE_QUANTITY],
        )
    },
    Camera: image_sensor(
        "Colour images (`rgb8`, or `mono8` by `encoding`). It looks along the sensor's z axis with y upwards in the \
         image, as a ScannerSensor does. The optical frame of REP 103 (z forward, x right, y down) is this frame turned \
         by pi about z. Its port sends images; in the log and on other ports its reading is the step of the image that \
         arrived last.",
        COLOR_ATTRIBUTES,
    ),
    DepthCamera: image_sensor(
        "Images of the distance along the optical axis, m (`32FC1`): +inf for what is beyond `far`, -inf for what is \
         nearer than `near` (REP 118). Mount and reading are those of a Camera.",
        IMAGE_ATTRIBUTES,
    ),
    SegmentationCamera: image_sensor(
        "Images of two integers (`32SC2`). The first is the number of the visible body, from 1 in the order of the \
         world's bodies; 0 for the sky and -1, -2 and so on for grounds. The second is the class of the body, which its \
         attribute `class` sets. Mount and reading are those of a Camera.",
        IMAGE_ATTRIBUTES,
    ),
    RgbdCamera: image_sensor(
        "A colour image and a depth image of the same step from the same place: a Camera and a DepthCamera in one.",
        COLOR_ATTRIBUTES,
    ),
    ContactSensor: Description {
        at_rest: "the force that supports the body",
        in_free_fall: "0",
        frames: &["world", "sensor"],
        ..sensor(
            "Sum of the contact forces on its body, and their torque about the body's centre of mass, means over the \
             last step, in the axes of `frame`. 0 at step 0.",
            &[FORCE_QUANTITY, TORQUE_QUANTITY],
        )
    },
    SoilSensor: Description {
        at_rest: "the sinkage, 0, 0, the load on the wheel, and the forces that hold it",
        in_free_fall: "0",
        ..sensor(
            "State of a wheel (a rolling cylinder) in soil, means over the last step. Sinkage: depth below the surface \
             that the ground began with. Slip ratio: 1 - v/(r omega) while it drives, r omega/v - 1 while it brakes, a \
             mean over the length of the contact. Slip angle: positive towards the axle. Forces of the soil: along the \
             ground's normal, forwards (drawbar pull), along the axle, and the motion resistance, the part of the \
             drawbar pull that normal stress takes away. Torque: against the turning of the wheel. All are 0 without \
             contact with soil, and with the engine rapier.",
            &[
                from_zero("sinkage", &["sinkage"], "m", MAX_COORDINATE),
                plain("slip", &["slip"], "1", 1.0),
                plain("slipAngle", &["slip_angle"], "rad", std::f64::consts::PI),
                plain("force", &["normal_force", "drawbar_pull", "lateral_force", "resistance"], "N", EFFORT_BOUND),
                plain("torque", &["torque"], "N m", EFFORT_BOUND),
            ],
        )
    },
    BumperSensor: Description {
        at_rest: "1 and the normal force on the body, if it touches something",
        in_free_fall: "0, 0",
        attributes: &["threshold"],
        ..sensor(
            "1 while the normal force is at least `threshold`, else 0; then the normal force: the sum of the normal \
             forces of all contacts of its body. For a body that is squeezed from two sides, both count. 0 at step 0.",
            &[
                Quantity { noise: NoiseLaw::None, ..from_zero("pressed", &["pressed"], "1", 1.0) },
                from_zero("force", &["force"], "N", EFFORT_BOUND),
            ],
        )
    },
    JointEncoder: Description {
        mounted_on: MountedOn::Joint,
        at_rest: "the coordinates; 0",
        in_free_fall: "as at rest, unless the joint moves",
        ..sensor(
            "The three coordinates of a joint, which are 0 where the file places the bodies, and their rates. A locked \
             coordinate reads 0.",
            &[
                on_joint("position", &["position_1", "position_2", "position_3"], "rad", "m", MAX_COORDINATE),
                on_joint("rate", &["rate_1", "rate_2", "rate_3"], "rad/s", "m/s", MAX_SPEED),
            ],
        )
    },
    ForceTorqueSensor: Description {
        mounted_on: MountedOn::Joint,
        at_rest: "the force and torque that support the child and everything that is attached to it",
        in_free_fall: "0, unless the joint holds a rotating body",
        frames: &["child", "parent", "world"],
        ..sensor(
            "Force of the parent on the child through a joint, and its torque about the joint's anchor, with motor and \
             stops, means over the last step, in the axes of `frame`: the child body's, the parent body's or the \
             world's. 0 at step 0. The engine rapier refuses it.",
            &[FORCE_QUANTITY, TORQUE_QUANTITY],
        )
    },
    AltimeterSensor: Description {
        at_rest: "its height; 0",
        in_free_fall: "its height; -g t",
        ..sensor(
            "Height of its mount above the height at which it began, and its vertical velocity.",
            &[plain("height", &["height"], "m", MAX_COORDINATE), plain("velocity", &["v_up"], "m/s", MAX_SPEED)],
        )
    },
    BarometerSensor: Description {
        at_rest: "the pressure at its height",
        in_free_fall: ALIKE,
        ..sensor(
            "Pressure of the standard atmosphere (ISO 2533) at the height of its mount, from the altitude of \
             `<geographicOrigin>` on. Below the surface of `<water>` the weight of the water adds to it.",
            &[from_zero("pressure", &["pressure"], "Pa", MAX_PRESSURE)],
        )
    },
    AirSpeedSensor: Description {
        at_rest: "the wind",
        in_free_fall: "the wind, and g t upwards",
        ..sensor(
            "Velocity of the air, or of the water, relative to its mount, sensor axes, without gusts; then its dynamic \
             pressure, density / 2 x v², of the flow along the sensor's z axis against it, as a Pitot tube that points \
             along z measures.",
            &[LINEAR_VELOCITY, from_zero("dynamicPressure", &["dynamic_pressure"], "Pa", MAX_PRESSURE)],
        )
    },
    OdometrySensor: Description {
        mounted_on: MountedOn::Vehicle,
        at_rest: "the last place that it estimated; 0",
        in_free_fall: "as at rest, unless the wheels turn",
        ..sensor(
            "Odometry of the vehicle that `drive` names: the place and heading that follow from the turning of its \
             wheels and the angles of its steerings, or from the motion of its tracks. They begin at 0 and count in \
             the frame in which the vehicle began: metres forward and to the left, radians to the left, without \
             wrapping at pi. Then the velocity in the vehicle's present frame. Wheels that slip make it wrong, as in \
             reality; PoseSensor reads the true pose. A vehicle that a client moves keeps its estimate.",
            &[
                plain("place", &["forward", "left"], "m", MAX_COORDINATE),
                plain("heading", &["heading"], "rad", MAX_COORDINATE),
                plain("velocity", &["v_forward", "v_left"], "m/s", MAX_SPEED),
                plain("turnRate", &["omega"], "rad/s", MAX_SPEED),
            ],
        )
    },
    JointController: Description {
        attributes: &["damping", "integral"],
        ..actuator(
            "Drives each axis of its joint to a target velocity, with at most the maximum force. Its effort is `damping` \
             times the error of the velocity, plus `integral` times the integrated error.",
            &[
                MAX_EFFORT,
                command(
                    "velocity",
                    &["velocity_1", "velocity_2", "velocity_3"],
                    "rad/s",
                    "m/s",
                    -MAX_TARGET,
                    MAX_TARGET,
                ),
            ],
            &[6],
        )
    },
    AngleController: Description {
        attributes: &["p", "i", "d"],
        ..actuator(
            "Drives each axis of its joint to a target coordinate: a PID controller with anti-windup sets the velocity \
             of a motor with bounded force.",
            &[
                MAX_EFFORT,
                command("angle", &["angle_1", "angle_2", "angle_3"], "rad", "m", -MAX_TARGET, MAX_TARGET),
                gain("p", &["p"], "1/s"),
                gain("i", &["i"], "1/s²"),
                gain("d", &["d"], "1"),
            ],
            &[6, 9],
        )
    },
    PositionController: Description {
        attributes: &["stiffness", "damping", "integral"],
        ..actuator(
            "Holds each axis of its joint at a target coordinate, like a spring with a damper, with at most the maximum \
             force: `stiffness` times the error, plus `integral` times the integrated error, minus `damping` times the \
             velocity. Spring and damper are evaluated at the end of the step, which is stable for all gains. The \
             integral does not grow while the effort is at its limit. For a ball joint the target is a rotation vector, \
             and the spring acts along the shortest rotation.",
            &[
                MAX_EFFORT,
                command(
                    "position",
                    &["position_1", "position_2", "position_3"],
                    "rad",
                    "m",
                    -MAX_TARGET,
                    MAX_TARGET,
                ),
            ],
            &[3, 6],
        )
    },
    EffortController: actuator(
        "Exerts a torque about, or a force along, each axis of its joint.",
        &[command("effort", &["effort_1", "effort_2", "effort_3"], "N m", "N", -EFFORT_BOUND, EFFORT_BOUND)],
        &[3],
    ),
    ForceActuator: Description {
        mounted_on: MountedOn::Body,
        frames: &["world", "body"],
        ..actuator(
            "Exerts a force on its body at the mount, and a torque, until the next command: for a thruster, a \
             propeller, wind or a hand. The axes of `frame` are the world's or those of the mount, which turn with the \
             body. Several actuators on one body add up.",
            &[
                setting("force", &["force_x", "force_y", "force_z"], "N", EFFORT_BOUND),
                setting("torque", &["torque_x", "torque_y", "torque_z"], "N m", EFFORT_BOUND),
            ],
            &[6],
        )
    },
    ConveyorController: Description {
        mounted_on: MountedOn::Body,
        ..actuator(
            "Moves the surface of its body at a velocity, body axes, like a conveyor belt: friction drags touching \
             bodies along. Until the first command the velocity is the surfaceVelocity of the body's material. The \
             engine rapier refuses it.",
            &[setting("velocity", &["velocity_x", "velocity_y", "velocity_z"], "m/s", MAX_TARGET)],
            &[3],
        )
    },
    PropellerController: Description {
        mounted_on: MountedOn::Body,
        attributes: &["thrustCoefficient", "torqueCoefficient", "timeConstant", "maxRate", "turning"],
        ..actuator(
            "Turns a propeller, a rotor or a thruster: rate of turning, which the rotor approaches with its time constant. \
             It exerts thrustCoefficient x rate x |rate| on its body along the mount's y axis, and against its turning \
             the torque torqueCoefficient x rate x |rate|. A reversed rate reverses both.",
            &[setting("rate", &["rate"], "rad/s", MAX_TARGET)],
            &[1],
        )
    },
    DifferentialDriveController: vehicle_controller(
        "Drives a vehicle with fixed axles, two or more wheels, like `diff_drive_controller` of ROS 2: speed forward, \
         and rate of turning to the left. With several wheels on a side it is skid steering.",
        &[FORWARD_SPEED, TURN_RATE],
        &[2],
        VEHICLE_ATTRIBUTES,
    ),
    AckermannController: vehicle_controller(
        "Drives and steers a vehicle whose wheels turn about one common point: speed forward of the unsteered axle, \
         and rate of turning to the left. The curvature is the ratio of the two, within the stops of the steering; at \
         speed 0 the steering stays. If all wheels are steered, the vehicle turns about a point abreast of their \
         middle.",
        &[FORWARD_SPEED, TURN_RATE],
        &[2],
        STEERED_ATTRIBUTES,
    ),
    OmnidirectionalController: vehicle_controller(
        "Drives a vehicle with mecanum or omni wheels, whose materials have a `rollerAngle`: velocity forward and to \
         the left, and rate of turning to the left.",
        &[PLANE_VELOCITY, TURN_RATE],
        &[3],
        VEHICLE_ATTRIBUTES,
    ),
    TrackController: vehicle_controller(
        "Drives a vehicle by tracks, bodies around which a belt runs: speed forward, and rate of turning to the left \
         without slip. The engine rapier refuses it.",
        &[FORWARD_SPEED, TURN_RATE],
        &[2],
        VEHICLE_ATTRIBUTES,
    ),
}
