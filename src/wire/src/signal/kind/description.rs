//! The description of a kind of device: names, mount, quantities with their units and ranges.

/// Description of a kind of device.
#[derive(Debug)]
pub struct Description {
    /// Name in XML, in `INFO` and in the database.
    pub name: &'static str,
    /// Its mount: a body or a joint.
    pub mounted_on: MountedOn,
    /// True for an actuator.
    pub is_actuator: bool,
    /// The measured or commanded quantity.
    pub doc: &'static str,
    /// The numbers of its frame, in order.
    pub quantities: &'static [Quantity],
    /// Reading at rest.
    pub at_rest: &'static str,
    /// Reading in free fall.
    pub in_free_fall: &'static str,
    /// Attributes in XML that only some kinds have.
    pub attributes: &'static [&'static str],
    /// Axes in which it can read, the default first; empty if there is no choice.
    pub frames: &'static [&'static str],
    /// The lengths of a frame that it takes as a command.
    pub command_lengths: &'static [usize],
}

/// Mount of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountedOn {
    /// A body.
    Body,
    /// A joint.
    Joint,
    /// The body of a vehicle controller, which is named in its place.
    Vehicle,
}

/// Numbers of a frame that belong together and share their noise.
#[derive(Debug)]
pub struct Quantity {
    /// Name.
    pub name: &'static str,
    /// Names of its fields; a scanner repeats its one field for each ray.
    pub fields: &'static [&'static str],
    /// Unit; `1` for a plain number.
    pub unit: &'static str,
    /// Unit on a sliding joint, if it differs from that on a turning joint.
    pub linear_unit: Option<&'static str>,
    /// Smallest value.
    pub lowest: f64,
    /// Largest value.
    pub highest: f64,
    /// Its noise law.
    pub noise: NoiseLaw,
}

/// Noise law of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseLaw {
    /// Noise added to each field.
    Additive,
    /// The fields are a unit quaternion x, y, z, w; the noise is a small turn, its three angles about the sensor's own
    /// axes.
    Rotation,
    /// Noise added to an angle from 0 to 2 pi, which wraps around.
    Angle,
    /// No unit: the quantity is a yes or no, or not a reading.
    None,
}
