//! The table of device kinds. The enum, its list and its names are made from it.
//!
//! A new kind of sensor is an entry here and what it measures in `device/sensor/kinds.rs`.

use super::description::{Description, MountedOn, NoiseLaw, Quantity};

/// Beyond this no coordinate of a world makes sense, metres.
const MAX_COORDINATE: f64 = 1e9;
/// Beyond this no speed (m/s, rad/s) does; see the engine's own bound.
const MAX_SPEED: f64 = 1e6;
/// Largest specific force, m/s².
const SPECIFIC_FORCE: f64 = 1e9;
/// Largest force, torque or effort, N or N m.
const EFFORT_BOUND: f64 = 1e9;
/// Largest rate, coordinate or gain that a command may ask for.
const MAX_TARGET: f64 = 1e6;

const fn plain(name: &'static str, fields: &'static [&'static str], unit: &'static str, bound: f64) -> Quantity {
    Quantity { name, fields, unit, linear_unit: None, lowest: -bound, highest: bound, noise: NoiseLaw::Additive }
}

const fn on_joint(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    linear_unit: &'static str,
    bound: f64,
) -> Quantity {
    Quantity { linear_unit: Some(linear_unit), ..plain(name, fields, unit, bound) }
}

const fn from_zero(name: &'static str, fields: &'static [&'static str], unit: &'static str, highest: f64) -> Quantity {
    Quantity { lowest: 0.0, ..plain(name, fields, unit, highest) }
}

const POSITION_QUANTITY: Quantity = plain("position", &["x", "y", "z"], "m", MAX_COORDINATE);
const ORIENTATION_QUANTITY: Quantity =
    Quantity { noise: NoiseLaw::Rotation, ..plain("orientation", &["qx", "qy", "qz", "qw"], "1", 1.0) };
const LINEAR_VELOCITY: Quantity = plain("linearVelocity", &["vx", "vy", "vz"], "m/s", MAX_SPEED);
const ANGULAR_VELOCITY: Quantity = plain("angularVelocity", &["omega_x", "omega_y", "omega_z"], "rad/s", MAX_SPEED);
const SPECIFIC_FORCE_QUANTITY: Quantity = plain("specificForce", &["fx", "fy", "fz"], "m/s²", SPECIFIC_FORCE);
const FORCE_QUANTITY: Quantity = plain("force", &["force_x", "force_y", "force_z"], "N", EFFORT_BOUND);
const TORQUE_QUANTITY: Quantity = plain("torque", &["torque_x", "torque_y", "torque_z"], "N m", EFFORT_BOUND);
const DISTANCE_QUANTITY: Quantity = from_zero("distance", &["distance"], "m", 1e6);
const MAX_EFFORT: Quantity =
    command("maxForce", &["max_force_1", "max_force_2", "max_force_3"], "N m", "N", 0.0, EFFORT_BOUND);

const fn command(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    linear_unit: &'static str,
    lowest: f64,
    highest: f64,
) -> Quantity {
    Quantity { name, fields, unit, linear_unit: Some(linear_unit), lowest, highest, noise: NoiseLaw::None }
}

/// Numbers of a command that have one unit, whatever the device is mounted on.
const fn setting(name: &'static str, fields: &'static [&'static str], unit: &'static str, bound: f64) -> Quantity {
    Quantity { noise: NoiseLaw::None, ..plain(name, fields, unit, bound) }
}

const fn gain(name: &'static str, fields: &'static [&'static str], unit: &'static str) -> Quantity {
    setting(name, fields, unit, MAX_TARGET)
}

/// A sensor on a body; entries change what differs. The name comes from the entry.
const fn sensor(doc: &'static str, quantities: &'static [Quantity]) -> Description {
    Description {
        name: "",
        mounted_on: MountedOn::Body,
        is_actuator: false,
        doc,
        quantities,
        at_rest: "",
        in_free_fall: "",
        attributes: &[],
        frames: &[],
        command_lengths: &[],
    }
}

const fn actuator(
    doc: &'static str,
    quantities: &'static [Quantity],
    command_lengths: &'static [usize],
) -> Description {
    Description { mounted_on: MountedOn::Joint, is_actuator: true, command_lengths, ..sensor(doc, quantities) }
}

/// Makes the enum of kinds and the array of their descriptions, which get their names from it.
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

const ALIKE: &str = "the same as at rest in that place";

device_kinds! {
    EchoSensor: Description {
        at_rest: "the last text it was sent",
        in_free_fall: "the same",
        ..sensor("Answers with the last text it was sent, to test a connection.", &[])
    },
    PositionSensor: Description {
        at_rest: "its place",
        in_free_fall: ALIKE,
        ..sensor("Position of its mount in world axes.", &[POSITION_QUANTITY])
    },
    PoseSensor: Description {
        at_rest: "its pose",
        in_free_fall: ALIKE,
        ..sensor(
            "Position of its mount in world axes, and its orientation as the unit quaternion x, y, z, w that takes sensor axes \
             to world axes.",
            &[POSITION_QUANTITY, ORIENTATION_QUANTITY],
        )
    },
    VelocitySensor: Description {
        at_rest: "0",
        in_free_fall: "g t downwards in world axes, and the spin",
        frames: &["world", "sensor"],
        ..sensor(
            "Velocity of its mount, the point itself, and angular velocity; in world axes, or in the sensor's.",
            &[LINEAR_VELOCITY, ANGULAR_VELOCITY],
        )
    },
    Accelerometer: Description {
        at_rest: "+g along whatever axis points up",
        in_free_fall: "0",
        ..sensor(
            "Specific force at its mount: the acceleration of that point less gravity, the mean over the last step, in the \
             sensor's axes as they stood in the middle of it. At step 0, before any step, it reads as if its velocity were \
             constant.",
            &[SPECIFIC_FORCE_QUANTITY],
        )
    },
    Gyroscope: Description {
        at_rest: "0",
        in_free_fall: "the spin, as anywhere",
        ..sensor("Angular velocity in the sensor's axes.", &[ANGULAR_VELOCITY])
    },
    ImuSensor: Description {
        at_rest: "its orientation; 0; +g along whatever axis points up",
        in_free_fall: "its orientation; the spin; 0",
        ..sensor(
            "Orientation as a PoseSensor has it, then what a Gyroscope and an Accelerometer in its place read.",
            &[ORIENTATION_QUANTITY, ANGULAR_VELOCITY, SPECIFIC_FORCE_QUANTITY],
        )
    },
    GnssSensor: Description {
        at_rest: "its place",
        in_free_fall: ALIKE,
        ..sensor(
            "Geographic position of its mount: the world is laid on the plane that touches the WGS84 ellipsoid at the world's \
             `<geographicOrigin>`, metres north and east become degrees by the two radii of curvature there, and y is \
             added to the altitude. Over 10 km the plane is 8 m above the ellipsoid. Without the element, latitude, \
             longitude and altitude of the origin are 0.",
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
            "Heading of the sensor's z axis, the one a scanner looks along: clockwise from north, seen from above, 0 to 2 pi. \
             Then the unit vector that points north, in the sensor's axes. North is the world's x axis and east its z axis \
             unless `<geographicOrigin>` says otherwise. Straight up or down the heading is 0.",
            &[
                Quantity { noise: NoiseLaw::Angle, ..from_zero("heading", &["heading"], "rad", std::f64::consts::TAU) },
                plain("north", &["north_x", "north_y", "north_z"], "1", 1.0),
            ],
        )
    },
    DistanceSensor: Description {
        at_rest: "the distance",
        in_free_fall: ALIKE,
        attributes: &["range"],
        ..sensor(
            "Distance along the sensor's z axis to the first thing in its way, at most its range, which it reads where there is \
             nothing. The body it sits on does not stand in its way.",
            &[DISTANCE_QUANTITY],
        )
    },
    ScannerSensor: Description {
        at_rest: "the distances",
        in_free_fall: ALIKE,
        attributes: &["rays", "halfAngle", "layers", "verticalHalfAngle", "range"],
        ..sensor(
            "Distances along a fan of rays, each like a DistanceSensor's: from minus to plus the half angle about the sensor's z \
             axis in its z-x plane. With several layers the fans are tilted towards y, from minus to plus the vertical half \
             angle, and follow each other from the lowest. A ray that meets nothing reads the range, without noise. All rays see \
             the step that the reading is made in. A reading of more than 200 rays takes a while, as that of a scanner that turns once \
             in each period: it arrives one period (1/rate) after its step, or after its latency where that is longer.",
            &[DISTANCE_QUANTITY],
        )
    },
    ContactSensor: Description {
        at_rest: "the force that carries the body",
        in_free_fall: "0",
        frames: &["world", "sensor"],
        ..sensor(
            "Sum of the contact forces on its body and their torque about the body's centre of mass, means over the last step; \
             in world axes, or in the sensor's. 0 at step 0.",
            &[FORCE_QUANTITY, TORQUE_QUANTITY],
        )
    },
    SoilSensor: Description {
        at_rest: "the sinkage, 0, 0, the load on the wheel, and the forces that hold it",
        in_free_fall: "0",
        ..sensor(
            "A body that rolls on soil as a cylinder: its sinkage below the surface that was there at first; slip ratio, 1 - v/(r omega) \
             where it drives and r omega/v - 1 where it brakes, a mean over the length of its contact; slip angle, positive towards \
             its axle; the force of the soil along the ground's normal, forwards (where it rolls) and along its axle; what normal \
             stress takes of the force forwards; and the torque against its turning. Means over the last step. 0 where it \
             touches no soil, and on the rapier engine's firm ground.",
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
        at_rest: "1 and the pressure on the body, where it touches something",
        in_free_fall: "0, 0",
        attributes: &["threshold"],
        ..sensor(
            "Whether its body is pressed on, 1 or 0, and by how much: the sum of the normal forces of all its contacts, of \
             which a body squeezed from two sides has both. It is pressed from the threshold on. 0 at step 0.",
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
            "The three coordinates of a joint, 0 as the bodies are placed, and their rates. A locked one reads 0.",
            &[
                on_joint("position", &["position_1", "position_2", "position_3"], "rad", "m", MAX_COORDINATE),
                on_joint("rate", &["rate_1", "rate_2", "rate_3"], "rad/s", "m/s", MAX_SPEED),
            ],
        )
    },
    ForceTorqueSensor: Description {
        mounted_on: MountedOn::Joint,
        at_rest: "what carries the child and all that hangs on it",
        in_free_fall: "0, unless the joint holds something that turns",
        frames: &["child", "parent", "world"],
        ..sensor(
            "Force that the parent exerts on the child through a joint, and its torque about the joint's anchor, motor and stops \
             included, means over the last step; in the axes of the child's body, of the parent's, or of the world. 0 at step \
             0. The rapier engine cannot tell and refuses it.",
            &[FORCE_QUANTITY, TORQUE_QUANTITY],
        )
    },
    JointController: actuator(
        "Brings each axis of its joint to a velocity with at most the maximum force.",
        &[
            MAX_EFFORT,
            command("velocity", &["velocity_1", "velocity_2", "velocity_3"], "rad/s", "m/s", -MAX_TARGET, MAX_TARGET),
        ],
        &[6],
    ),
    AngleController: Description {
        attributes: &["p", "i", "d"],
        ..actuator(
            "Brings each axis of its joint to a coordinate: a PID controller with anti-windup sets the velocity of a motor of \
             bounded force.",
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
    PositionController: actuator(
        "Holds each axis of its joint at a coordinate like a stiff spring of 1e5 N m/rad (N/m) with a damper of 1e3 N m s/rad \
         (N s/m), with at most the maximum force. Of a ball joint the position is a rotation vector, and the spring acts along the \
         shortest turn there.",
        &[MAX_EFFORT, command("position", &["position_1", "position_2", "position_3"], "rad", "m", -MAX_TARGET, MAX_TARGET)],
        &[3, 6],
    ),
    EffortController: actuator(
        "Exerts a torque or force about or along each axis of its joint.",
        &[command("effort", &["effort_1", "effort_2", "effort_3"], "N m", "N", -EFFORT_BOUND, EFFORT_BOUND)],
        &[3],
    ),
    ForceActuator: Description {
        mounted_on: MountedOn::Body,
        frames: &["world", "body"],
        ..actuator(
            "Pushes its body with a force at its mount, and a torque, until the next command: a thruster, a propeller, a wind, a \
             hand. In world axes, or in those of its mount, which turn with the body. Several on one body add up.",
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
            "Moves the surface of its body at a velocity, in the body's axes, as a belt does: what touches it is rubbed along. Until its \
             first command it has the surfaceVelocity of the body's material. The rapier engine refuses it.",
            &[setting("velocity", &["velocity_x", "velocity_y", "velocity_z"], "m/s", MAX_TARGET)],
            &[3],
        )
    },
}
