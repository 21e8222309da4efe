//! The kinds of sensor and actuator: one table says what each is called, what it is mounted on, which numbers it has and what they
//! mean. The reader, the DTD, the reference page, the protocol and the devices derive from it; `device/sensor/kinds.rs` computes what
//! a sensor measures.

mod table;

use std::fmt;

use self::table::DESCRIPTIONS;
pub use self::table::DeviceKind;

/// What a kind of device is.
#[derive(Debug)]
pub struct Description {
    /// Name in XML, in `INFO` and in the database.
    pub name: &'static str,
    /// What it is mounted on.
    pub mounted_on: MountedOn,
    /// True for a device that moves something.
    pub is_actuator: bool,
    /// What it reads or does.
    pub doc: &'static str,
    /// The numbers of its frame, in order.
    pub quantities: &'static [Quantity],
    /// What it reads where nothing moves.
    pub at_rest: &'static str,
    /// What it reads in free fall.
    pub in_free_fall: &'static str,
    /// Attributes in XML that only some kinds have.
    pub attributes: &'static [&'static str],
    /// The axes it may be told to read in, the default first; empty where there is no choice.
    pub frames: &'static [&'static str],
    /// The lengths of a frame that it takes as a command.
    pub command_lengths: &'static [usize],
}

/// What a device is mounted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountedOn {
    /// A body.
    Body,
    /// A joint.
    Joint,
}

/// Numbers of a frame that belong together and share their noise.
#[derive(Debug)]
pub struct Quantity {
    /// Name.
    pub name: &'static str,
    /// Names of its fields; a scanner has the one as often as it has rays.
    pub fields: &'static [&'static str],
    /// Unit; `1` for a plain number.
    pub unit: &'static str,
    /// The unit on a joint that slides instead of turning, where it is another one.
    pub linear_unit: Option<&'static str>,
    /// Smallest value.
    pub lowest: f64,
    /// Largest value.
    pub highest: f64,
    /// How noise acts on it.
    pub noise: NoiseLaw,
}

/// How noise acts on a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseLaw {
    /// It is added to each field.
    Additive,
    /// The fields are a unit quaternion x, y, z, w; the noise is a small turn, its three angles about the sensor's own axes.
    Rotation,
    /// It is added to an angle from 0 to 2 pi, which goes round.
    Angle,
    /// There is none: the quantity is a yes or no, or no reading at all.
    None,
}

/// The number of kinds that are actuators, or that are not.
const fn count(actuators: bool) -> usize {
    let (mut kind, mut found) = (0, 0);
    while kind < DESCRIPTIONS.len() {
        if DESCRIPTIONS[kind].is_actuator == actuators {
            found += 1;
        }
        kind += 1;
    }
    found
}

/// Names of the kinds that are actuators, or that are not.
const fn names<const N: usize>(actuators: bool) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut kind, mut found) = (0, 0);
    while kind < DESCRIPTIONS.len() {
        if DESCRIPTIONS[kind].is_actuator == actuators {
            names[found] = DESCRIPTIONS[kind].name;
            found += 1;
        }
        kind += 1;
    }
    names
}

impl DeviceKind {
    /// Names of all sensors.
    pub const SENSORS: &'static [&'static str] = &names::<{ count(false) }>(false);
    /// Names of all actuators.
    pub const ACTUATORS: &'static [&'static str] = &names::<{ count(true) }>(true);

    /// Its entry in the table.
    pub const fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name used in XML, in `INFO` and in the database.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// True for a device that moves something.
    pub fn is_actuator(self) -> bool {
        self.description().is_actuator
    }

    /// The lengths of a frame that this device takes as a command; empty where it takes none.
    pub fn command_lengths(self) -> &'static [usize] {
        self.description().command_lengths
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::MAX_STATE_NUMBERS;

    #[test]
    fn every_kind_is_found_by_its_name_and_listed_as_sensor_or_actuator() {
        for kind in DeviceKind::ALL {
            assert_eq!(DeviceKind::named(kind.name()), Some(kind));
            let listed = if kind.is_actuator() { DeviceKind::ACTUATORS } else { DeviceKind::SENSORS };
            assert!(listed.contains(&kind.name()));
            assert!(kind.command_lengths().iter().all(|&numbers| numbers <= MAX_STATE_NUMBERS));
        }
        assert_eq!(DeviceKind::SENSORS.len() + DeviceKind::ACTUATORS.len(), DeviceKind::ALL.len());
    }
}
