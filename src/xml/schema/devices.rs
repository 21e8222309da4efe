//! The part of the table that is about sensors and actuators. What their types are is told by [`DeviceKind`]'s own table.

use super::words::{default, element, maybe, optional, required};
use super::{
    Attribute,
    Content::{Children, Empty},
    Element,
    Kind::{Name, Positive, Real, Whole, Within, Word},
    table::{LENGTH, NAME, PORT},
};
use crate::signal::DeviceKind;

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
        default("threshold", Positive(1e9), "N", "1", "the force from which a bumper is pressed"),
    ],
    Children(&[maybe("pose")]),
);

/// `<actuator>`
pub(super) const ACTUATOR: Element = element(
    "actuator",
    "An actuator on a joint, with a TCP port of its own. Until its first command it holds its initial pose with at most \
     1000 N (N m) an axis.",
    &[
        required("type", Word(DeviceKind::ACTUATORS), "", "how it drives the joint; the table below tells"),
        NAME,
        required("joint", Name, "", "the joint it drives"),
        PORT_ATTRIBUTE,
        default("p", Real, "1/s", "10", "of an angle controller: velocity per error, until a command brings another"),
        default("i", Real, "1/s²", "0", "of an angle controller: velocity per integrated error"),
        default("d", Real, "1", "0", "of an angle controller: velocity taken off per velocity"),
    ],
    Empty,
);
