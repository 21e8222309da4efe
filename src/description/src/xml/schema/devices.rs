//! The part of the table that is about sensors and actuators. [`DeviceKind`]'s own table says what their types are.

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

const PORT_ATTRIBUTE: Attribute = required("port", PORT, "", "its port, above 1024, or 0 for a free one");

/// `<geographicOrigin>`
pub(super) const GEOGRAPHIC_ORIGIN: Element = element(
    "geographicOrigin",
    "Where on the earth the world's origin is, for what a GnssSensor and a CompassSensor read.",
    &[
        default("latitude", Within(-89.0, 89.0), "deg", "0", "geodetic latitude (WGS84), north positive"),
        default("longitude", Within(-180.0, 180.0), "deg", "0", "longitude, east positive"),
        default("altitude", Within(-1e5, 1e6), "m", "0", "height above the ellipsoid"),
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

/// `<sensor>`
pub(super) const SENSOR: Element = element(
    "sensor",
    "A sensor on a body or a joint, with a TCP port of its own.",
    &[
        required("type", Word(DeviceKind::SENSORS), "", "what it reads; the table below tells"),
        NAME,
        optional("body", Name, "", "the body it sits on, for all types but those that read a joint"),
        optional("joint", Name, "", "of those types: the joint"),
        PORT_ATTRIBUTE,
        optional("rate", Positive(1e6), "Hz", "fresh readings per simulated second; one every step where not given"),
        optional(
            "frame",
            Word(&["world", "sensor", "child", "parent"]),
            "",
            "the axes it reads in, where the table below gives a choice; the first of them where not given",
        ),
        default("rays", Whole(1, 100_000), "", "11", "number of rays, of a fan"),
        default("halfAngle", Positive(std::f64::consts::PI), "rad", "0.1", "angle of the outermost rays"),
        default("layers", Whole(1, 10_000), "", "1", "number of fans above each other"),
        default(
            "verticalHalfAngle",
            Within(0.0, std::f64::consts::FRAC_PI_2),
            "rad",
            "0",
            "angle of the outermost fans; above 0 where there are several",
        ),
        default("range", LENGTH, "m", "10", "how far it sees"),
        default("latency", Within(0.0, 10.0), "s", "0", "how long a reading is under way"),
        default("dropout", Fraction, "", "0", "probability that a reading is lost; the one before then stays"),
        default("threshold", Positive(1e9), "N", "1", "the force from which a bumper is pressed"),
    ],
    Children(&[maybe("pose"), any("noise")]),
);

/// `<actuator>`
pub(super) const ACTUATOR: Element = element(
    "actuator",
    "An actuator on a joint or a body, with a TCP port of its own. Until its first command one on a joint holds its initial pose \
     with at most 1000 N (N m) an axis, one on a body pushes with the force and torque that stand in it.",
    &[
        required("type", Word(DeviceKind::ACTUATORS), "", "how it drives the joint; the table below tells"),
        NAME,
        optional("joint", Name, "", "the joint it drives"),
        optional("body", Name, "", "the body it pushes"),
        optional(
            "frame",
            Word(&["world", "body"]),
            "",
            "of a ForceActuator: the axes of its force and torque; the world's by default",
        ),
        PORT_ATTRIBUTE,
        default("p", Real, "1/s", "10", "of an angle controller: velocity per error, until a command brings another"),
        default("i", Real, "1/s²", "0", "of an angle controller: velocity per integrated error"),
        default("d", Real, "1", "0", "of an angle controller: velocity taken off per velocity"),
        optional(
            "watchdog",
            Positive(1e6),
            "s",
            "simulated time without a command after which an actuator that has had one times out; it never does where not given",
        ),
        default(
            "onTimeout",
            Word(&["hold", "zero", "brake"]),
            "",
            "hold",
            "what it does then until the next command: stay where it is, exert nothing, or come to rest; with the maximum forces \
             of its last command, an effort controller with 1000 N (N m)",
        ),
    ],
    Children(&[maybe("motor"), maybe("pose"), maybe("force"), maybe("torque")]),
);

/// `<noise>`
pub(super) const NOISE: Element = element(
    "noise",
    "How far a sensor's readings are off: reading = round(true + bias + drift + noise), kept within the field's range. Of an \
     orientation the figures are radians about the sensor's axes, and the sum turns it. Every device draws from a stream of \
     its own, which simulation.seed, its robot's name and its own name make; what other devices do changes nothing.",
    &[
        optional("of", Name, "", "the quantity, as the list of types names it; all of the sensor's where not given"),
        default("standardDeviation", NotNegative, "the quantity's", "0", "of Gaussian noise, fresh in each reading"),
        default("bias", Real, "the quantity's", "0", "a constant"),
        default(
            "drift",
            NotNegative,
            "the quantity's, by √s",
            "0",
            "a random walk from 0: its standard deviation after a second, growing with the root of time",
        ),
        default(
            "quantisation",
            NotNegative,
            "the quantity's",
            "0",
            "the step that readings are rounded to; 0 does not",
        ),
    ],
    Empty,
);

/// `<motor>`
pub(super) const MOTOR: Element = element(
    "motor",
    "What an actuator's motor and gear are able to, on each free axis of the joint. Pushing the way the joint goes it exerts at \
     most gearRatio x efficiency x stallTorque x (1 - |rate| x gearRatio / noLoadSpeed), at the rate before the step; pushing \
     against it, gearRatio x stallTorque / efficiency. Rotor and friction belong to the joint from then on: its armature grows by \
     gearRatio² x rotorInertia, its dry friction by gearRatio x friction. A hinge with backlash is an assembly in gears.xml.",
    &[
        required("stallTorque", Positive(1e9), "N m or N", "what the motor exerts at rest"),
        required("noLoadSpeed", Positive(1e6), "rad/s or m/s", "how fast the motor turns without load"),
        default("gearRatio", Positive(1e6), "rad or rad/m", "1", "turns of the motor for one of the joint"),
        default("efficiency", Positive(1.0), "", "1", "share of the motor's power that reaches the joint"),
        default("rotorInertia", NotNegative, "kg m² or kg", "0", "inertia of the rotor"),
        default("friction", NotNegative, "N m or N", "0", "dry friction of the motor"),
    ],
    Empty,
);
