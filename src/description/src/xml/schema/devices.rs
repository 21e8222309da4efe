//! The table's part on sensors and actuators. [`DeviceKind`]'s own table has their types.

use simpartner_wire::signal::DeviceKind;

use super::{
    builders::{any, default, element, maybe, optional, required},
    element::{
        Attribute,
        Content::{Children, Empty},
        Element,
    },
    kind::Kind::{Fraction, Name, NotNegative, Positive, Real, Whole, Within, Word},
    shared::{LENGTH, NAME, PORT},
};

const PORT_ATTRIBUTE: Attribute = required("port", PORT, "", "TCP port, above 1024; 0 is any free port");

/// `<geographicOrigin>`
pub(super) const GEOGRAPHIC_ORIGIN: Element = element(
    "geographicOrigin",
    "The geographic position of the world's origin. GnssSensor and CompassSensor use it.",
    &[
        default("latitude", Within(-89.0, 89.0), "deg", "0", "geodetic latitude (WGS84), north positive"),
        default("longitude", Within(-180.0, 180.0), "deg", "0", "longitude, east positive"),
        default("altitude", Within(-1e5, 1e6), "m", "0", "height above the WGS84 ellipsoid"),
        default(
            "heading",
            Real,
            "rad",
            "0",
            "heading of the world's x axis, clockwise from north seen from above: at 0, x is north and z is east",
        ),
    ],
    Empty,
);

/// `<magneticField>`
pub(super) const MAGNETIC_FIELD: Element = element(
    "magneticField",
    "The magnetic field that a MagnetometerSensor measures, world axes, everywhere the same. Without it, the field is the \
     earth's at the `<geographicOrigin>`.",
    &[
        default("x", Within(-100.0, 100.0), "T", "0", "flux density along x"),
        default("y", Within(-100.0, 100.0), "T", "0", "flux density along y, upwards"),
        default("z", Within(-100.0, 100.0), "T", "0", "flux density along z"),
    ],
    Empty,
);

/// `<sensor>`
pub(super) const SENSOR: Element = element(
    "sensor",
    "A sensor on a body or a joint, with a TCP port of its own.",
    &[
        required("type", Word(DeviceKind::SENSORS), "", "type of the sensor, see the list below"),
        NAME,
        optional("body", Name, "", "name of the body that carries the sensor, except for types that read a joint"),
        optional("joint", Name, "", "for types that read a joint: name of the joint"),
        optional("drive", Name, "", "for an OdometrySensor: name of the vehicle controller"),
        PORT_ATTRIBUTE,
        optional(
            "rate",
            Positive(1e6),
            "Hz",
            "number of new readings per simulated second; without it, one in each step",
        ),
        optional(
            "frame",
            Word(&["world", "sensor", "child", "parent"]),
            "",
            "axes of the reading, for types whose list below has a choice of `frame`; without it, the first of these",
        ),
        default("rays", Whole(1, 100_000), "", "11", "number of rays in a fan of a ScannerSensor"),
        default(
            "halfAngle",
            Positive(std::f64::consts::PI),
            "rad",
            "0.1",
            "angle between the outermost rays of a fan and its middle, the sensor's z axis",
        ),
        default("layers", Whole(1, 10_000), "", "1", "number of fans, one above the other"),
        default(
            "verticalHalfAngle",
            Within(0.0, std::f64::consts::FRAC_PI_2),
            "rad",
            "0",
            "angle between the outermost fans and the sensor's z-x plane; above 0 with several layers",
        ),
        default("range", LENGTH, "m", "10", "largest distance that the sensor measures"),
        default("width", Whole(1, 4096), "", "640", "number of columns of a camera's images"),
        default("height", Whole(1, 4096), "", "480", "number of rows of a camera's images"),
        default(
            "fieldOfView",
            Within(0.001, 3.1395),
            "rad",
            "1.0471975512",
            "angle between the left and the right edge of a camera's image, without the distortion of its lens; the \
             focal length follows from it",
        ),
        default("near", NotNegative, "m", "0.01", "distance at which a camera begins to see"),
        optional("far", Positive(1e9), "m", "distance up to which a camera sees; without it, any distance"),
        default(
            "encoding",
            Word(&["rgb8", "mono8"]),
            "",
            "rgb8",
            "values of a pixel in colour images, named as in ROS",
        ),
        default(
            "samples",
            Whole(1, 8),
            "",
            "1",
            "samples of a pixel along each side in colour images: 2 takes four samples, which smooth edges",
        ),
        default("latency", Within(0.0, 10.0), "s", "0", "delay between measurement and reading"),
        default("dropout", Fraction, "", "0", "probability that a reading is lost; the previous reading then remains"),
        default("threshold", Positive(1e9), "N", "1", "normal force from which a BumperSensor reads pressed"),
    ],
    Children(&[maybe("pose"), any("noise"), maybe("lens"), maybe("imageNoise")]),
);

/// `<actuator>`
pub(super) const ACTUATOR: Element = element(
    "actuator",
    "An actuator on a joint or a body, with a TCP port of its own. Until its first command, an actuator on a joint \
     holds the initial pose rigidly, with at most 1000 N (N m) on each axis. An actuator on a body exerts the `<force>` and \
     `<torque>` in its element. A vehicle controller is on the body whose velocity is commanded, and drives a `<wheel>` on \
     each of several joints, or the belt of each `<track>`. In the vehicle's frame x is forward, y up and z to the right; \
     the `<pose>` turns this frame on the body.",
    &[
        required("type", Word(DeviceKind::ACTUATORS), "", "type of the actuator, see the list below"),
        NAME,
        optional("joint", Name, "", "name of the joint that it drives"),
        optional("body", Name, "", "name of the body that it acts on"),
        optional(
            "frame",
            Word(&["world", "body"]),
            "",
            "for a ForceActuator: axes of its force and torque; without it, world axes",
        ),
        PORT_ATTRIBUTE,
        default(
            "p",
            Real,
            "1/s",
            "10",
            "proportional gain of an AngleController: velocity for each unit of error; a command can change it",
        ),
        default(
            "i",
            Real,
            "1/s²",
            "0",
            "integral gain of an AngleController: velocity for each unit of the integrated error",
        ),
        default(
            "d",
            Real,
            "1",
            "0",
            "derivative gain of an AngleController: reduction of the velocity for each unit of velocity",
        ),
        optional(
            "stiffness",
            Positive(1e15),
            "N m/rad or N/m",
            "effort of a PositionController for each unit of error; without it 1e5, and a damping of 1e3",
        ),
        optional(
            "damping",
            Within(0.0, 1e15),
            "N m s/rad or N s/m",
            "effort of a PositionController against each unit of velocity, 0 if only the stiffness is given; of a \
             JointController for each unit of error of its velocity, without it 1e8",
        ),
        optional(
            "integral",
            Within(0.0, 1e15),
            "",
            "effort of a PositionController or JointController for each unit of its integrated error; without it 0",
        ),
        optional("thrustCoefficient", NotNegative, "N s²/rad²", "thrust of a propeller over the square of its rate"),
        default(
            "torqueCoefficient",
            NotNegative,
            "N m s²/rad²",
            "0",
            "torque of a propeller over the square of its rate",
        ),
        default("timeConstant", Within(0.0, 1e3), "s", "0", "time constant with which a propeller approaches its rate"),
        optional("maxRate", Positive(1e6), "rad/s", "largest rate of a propeller; without it, any"),
        default(
            "turning",
            Word(&["left", "right"]),
            "",
            "left",
            "sense of a positive rate of a propeller, seen against the mount's y axis: left is counter-clockwise",
        ),
        optional("maxSpeed", Positive(1e6), "m/s", "largest speed of a vehicle in each direction; without it, none"),
        optional("maxAcceleration", Positive(1e9), "m/s²", "largest change of that speed; without it, any"),
        optional("maxJerk", Positive(1e12), "m/s³", "largest change of that acceleration; without it, any"),
        optional("maxTurnRate", Positive(1e6), "rad/s", "largest turn rate of a vehicle; without it, none"),
        optional("maxTurnAcceleration", Positive(1e9), "rad/s²", "largest change of that rate; without it, any"),
        optional("maxTurnJerk", Positive(1e12), "rad/s³", "largest change of that acceleration; without it, any"),
        optional("maxSteeringRate", Positive(1e6), "rad/s", "largest rate of a vehicle's steerings; without it, any"),
        default(
            "trackWidthFactor",
            Positive(1e3),
            "",
            "1",
            "factor on the distance of a vehicle's wheels or tracks to the left and right, in commands and odometry; \
             above 1 for skid steering, which slips while it turns",
        ),
        default("maxForce", Positive(1e9), "N m", "1000", "largest torque of each wheel and steering of a vehicle"),
        optional(
            "watchdog",
            Positive(1e6),
            "s",
            "simulated time after the last command at which the actuator times out; without it, never. An actuator \
             without any command does not time out",
        ),
        default(
            "onTimeout",
            Word(&["hold", "zero", "brake"]),
            "",
            "hold",
            "behaviour after the timeout, until the next command. hold: keeps its position. zero: exerts nothing. \
             brake: comes to rest. hold and brake use the maximum forces of the last command, or 1000 N (N m) for an \
             EffortController. A vehicle brakes within its limits at both",
        ),
    ],
    Children(&[maybe("motor"), maybe("pose"), maybe("force"), maybe("torque"), any("wheel"), any("track")]),
);

/// `<wheel>`
pub(super) const WHEEL_ELEMENT: Element = element(
    "wheel",
    "A wheel of a vehicle controller. Its place and the direction of its axle follow from the joint at the initial \
     positions; springs that move the wheel later are not considered. If the wheel's material has a `rollerAngle`, it holds \
     the ground along its rollers only.",
    &[
        required("joint", Name, "", "name of the joint that the wheel turns on"),
        optional("radius", LENGTH, "m", "radius; without it, that of the wheel's round collision shape"),
        optional("steering", Name, "", "for an AckermannController: name of the joint that steers the wheel"),
        default("driven", Word(&["true", "false"]), "", "true", "false for a wheel that only rolls"),
    ],
    Empty,
);

/// `<track>`
pub(super) const TRACK_ELEMENT: Element = element(
    "track",
    "A track of a TrackController: a body around which a belt runs, about the vehicle's z axis.",
    &[required("body", Name, "", "name of the body")],
    Empty,
);

/// `<noise>`
pub(super) const NOISE: Element = element(
    "noise",
    "The error model of a sensor: reading = round(true value + bias + drift + noise), limited to the range of the \
     field. For an orientation, the numbers are radians about the sensor's axes, and the reading is rotated by their \
     sum. Each device has a random stream of its own. It follows from simulation.seed, the robot's name and the \
     device's name, and is independent of other devices.",
    &[
        optional(
            "of",
            Name,
            "",
            "name of the quantity, as in the list of types; without it, all quantities of the sensor",
        ),
        default(
            "standardDeviation",
            NotNegative,
            "the quantity's",
            "0",
            "standard deviation of Gaussian noise, which is new in each reading",
        ),
        default("bias", Real, "the quantity's", "0", "constant error"),
        default(
            "drift",
            NotNegative,
            "the quantity's, by √s",
            "0",
            "random walk from 0: its standard deviation after one second, which grows with the square root of time",
        ),
        default("quantisation", NotNegative, "the quantity's", "0", "rounding step of the reading; 0 does not round"),
    ],
    Empty,
);

/// `<motor>`
pub(super) const MOTOR: Element = element(
    "motor",
    "The limits of an actuator's motor and gear, on each free axis of the joint. While it drives the joint in its \
     direction of motion, the largest effort is gearRatio x efficiency x stallTorque x (1 - |rate| x gearRatio / \
     noLoadSpeed), at the rate before the step. Against the motion it is gearRatio x stallTorque / efficiency. Rotor \
     and friction are added to the joint: gearRatio² x rotorInertia to its armature, gearRatio x friction to its dry \
     friction. `robots/gears.xml` has a hinge with backlash, as an assembly.",
    &[
        required("stallTorque", Positive(1e9), "N m or N", "largest effort of the motor at rest"),
        required("noLoadSpeed", Positive(1e6), "rad/s or m/s", "rate of the motor without load"),
        default(
            "gearRatio",
            Positive(1e6),
            "rad or rad/m",
            "1",
            "gear ratio: rotation of the motor for each unit of the joint's coordinate",
        ),
        default("efficiency", Positive(1.0), "", "1", "fraction of the motor's power that reaches the joint"),
        default(
            "rotorInertia",
            NotNegative,
            "kg m² or kg",
            "0",
            "inertia of the rotor, on the motor's side of the gear",
        ),
        default("friction", NotNegative, "N m or N", "0", "dry friction of the motor, on the motor's side of the gear"),
    ],
    Empty,
);
