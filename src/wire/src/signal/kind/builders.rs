//! Parts from which the table of device kinds is written: bounds, common quantities, and constructors.

use super::description::{Description, MountedOn, NoiseLaw, Quantity};

/// Largest meaningful coordinate of a world, metres.
pub(super) const MAX_COORDINATE: f64 = 1e9;
/// Beyond this no speed (m/s, rad/s) does; see the engine's own bound.
pub(super) const MAX_SPEED: f64 = 1e6;
/// Largest specific force, m/s².
pub(super) const SPECIFIC_FORCE: f64 = 1e9;
/// Reading in free fall of a sensor of places.
pub(super) const ALIKE: &str = "the same as at rest at this position";
/// Largest magnetic flux density, T: twice that of the strongest magnets.
pub(super) const MAX_FIELD: f64 = 100.0;
/// Largest pressure, Pa: ten times that of the deepest sea.
pub(super) const MAX_PRESSURE: f64 = 1e9;
/// Largest force, torque or effort, N or N m.
pub(super) const EFFORT_BOUND: f64 = 1e9;
/// Largest rate, coordinate or gain that a command may ask for.
pub(super) const MAX_TARGET: f64 = 1e6;

pub(super) const fn plain(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    bound: f64,
) -> Quantity {
    Quantity { name, fields, unit, linear_unit: None, lowest: -bound, highest: bound, noise: NoiseLaw::Additive }
}

pub(super) const fn on_joint(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    linear_unit: &'static str,
    bound: f64,
) -> Quantity {
    Quantity { linear_unit: Some(linear_unit), ..plain(name, fields, unit, bound) }
}

pub(super) const fn from_zero(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    highest: f64,
) -> Quantity {
    Quantity { lowest: 0.0, ..plain(name, fields, unit, highest) }
}

pub(super) const POSITION_QUANTITY: Quantity = plain("position", &["x", "y", "z"], "m", MAX_COORDINATE);
pub(super) const ORIENTATION_QUANTITY: Quantity =
    Quantity { noise: NoiseLaw::Rotation, ..plain("orientation", &["qx", "qy", "qz", "qw"], "1", 1.0) };
pub(super) const LINEAR_VELOCITY: Quantity = plain("linearVelocity", &["vx", "vy", "vz"], "m/s", MAX_SPEED);
pub(super) const ANGULAR_VELOCITY: Quantity =
    plain("angularVelocity", &["omega_x", "omega_y", "omega_z"], "rad/s", MAX_SPEED);
pub(super) const SPECIFIC_FORCE_QUANTITY: Quantity =
    plain("specificForce", &["fx", "fy", "fz"], "m/s²", SPECIFIC_FORCE);
pub(super) const FORCE_QUANTITY: Quantity = plain("force", &["force_x", "force_y", "force_z"], "N", EFFORT_BOUND);
pub(super) const TORQUE_QUANTITY: Quantity =
    plain("torque", &["torque_x", "torque_y", "torque_z"], "N m", EFFORT_BOUND);
pub(super) const DISTANCE_QUANTITY: Quantity = from_zero("distance", &["distance"], "m", 1e6);
/// Largest step number that a field holds exactly.
pub(super) const MAX_STEP: f64 = (1_u64 << 53) as f64;
pub(super) const FRAME_QUANTITY: Quantity =
    Quantity { noise: NoiseLaw::None, ..from_zero("frame", &["frame_step"], "1", MAX_STEP) };
/// Attributes of all cameras.
pub(super) const IMAGE_ATTRIBUTES: &[&str] = &["width", "height", "fieldOfView", "near", "far"];
/// Attributes of cameras with colours.
pub(super) const COLOR_ATTRIBUTES: &[&str] = &["width", "height", "fieldOfView", "near", "far", "encoding", "samples"];
pub(super) const MAX_EFFORT: Quantity =
    command("maxForce", &["max_force_1", "max_force_2", "max_force_3"], "N m", "N", 0.0, EFFORT_BOUND);

pub(super) const fn command(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    linear_unit: &'static str,
    lowest: f64,
    highest: f64,
) -> Quantity {
    Quantity { name, fields, unit, linear_unit: Some(linear_unit), lowest, highest, noise: NoiseLaw::None }
}

/// Numbers of a command with one unit, for any mount of the device.
pub(super) const fn setting(
    name: &'static str,
    fields: &'static [&'static str],
    unit: &'static str,
    bound: f64,
) -> Quantity {
    Quantity { noise: NoiseLaw::None, ..plain(name, fields, unit, bound) }
}

pub(super) const fn gain(name: &'static str, fields: &'static [&'static str], unit: &'static str) -> Quantity {
    setting(name, fields, unit, MAX_TARGET)
}

/// A sensor on a body; entries override the differences. The name comes from the entry.
pub(super) const fn sensor(doc: &'static str, quantities: &'static [Quantity]) -> Description {
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

/// A camera; the attributes come from the entry.
pub(super) const fn image_sensor(doc: &'static str, attributes: &'static [&'static str]) -> Description {
    Description {
        at_rest: "the step of its last image",
        in_free_fall: ALIKE,
        attributes,
        ..sensor(doc, &[FRAME_QUANTITY])
    }
}

pub(super) const fn actuator(
    doc: &'static str,
    quantities: &'static [Quantity],
    command_lengths: &'static [usize],
) -> Description {
    Description { mounted_on: MountedOn::Joint, is_actuator: true, command_lengths, ..sensor(doc, quantities) }
}

/// A controller of a vehicle with wheels.
pub(super) const fn vehicle_controller(
    doc: &'static str,
    quantities: &'static [Quantity],
    command_lengths: &'static [usize],
    attributes: &'static [&'static str],
) -> Description {
    Description { mounted_on: MountedOn::Body, attributes, ..actuator(doc, quantities, command_lengths) }
}

/// Attributes of all vehicle controllers.
pub(super) const VEHICLE_ATTRIBUTES: &[&str] = &[
    "maxSpeed",
    "maxAcceleration",
    "maxJerk",
    "maxTurnRate",
    "maxTurnAcceleration",
    "maxTurnJerk",
    "trackWidthFactor",
    "maxForce",
];
/// Attributes of a vehicle that steers: its turn rate follows from its speed.
pub(super) const STEERED_ATTRIBUTES: &[&str] =
    &["maxSpeed", "maxAcceleration", "maxJerk", "maxTurnRate", "maxSteeringRate", "trackWidthFactor", "maxForce"];
pub(super) const FORWARD_SPEED: Quantity = setting("speed", &["v_forward"], "m/s", MAX_TARGET);
pub(super) const PLANE_VELOCITY: Quantity = setting("velocity", &["v_forward", "v_left"], "m/s", MAX_TARGET);
pub(super) const TURN_RATE: Quantity = setting("turnRate", &["omega"], "rad/s", MAX_TARGET);
