//! The kinds of sensors and actuators: one table has their names, mounts, quantities and meanings. The reader, the DTD,
//! the reference page, the protocol and the devices derive from it; `device/sensor/kinds.rs` computes the readings.

mod builders;
mod description;
mod table;

use std::fmt;

use self::table::DESCRIPTIONS;
pub use self::{
    description::{Description, MountedOn, NoiseLaw, Quantity},
    table::DeviceKind,
};

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

    /// Indefinite article before its name.
    pub fn article(self) -> &'static str {
        if self.name().starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
    }

    /// True for a sensor whose port sends images.
    pub fn is_camera(self) -> bool {
        matches!(self, Self::Camera | Self::DepthCamera | Self::SegmentationCamera | Self::RgbdCamera)
    }

    /// True for a controller of the wheels or tracks of a vehicle.
    pub fn is_vehicle(self) -> bool {
        matches!(
            self,
            Self::DifferentialDriveController
                | Self::AckermannController
                | Self::OmnidirectionalController
                | Self::TrackController
        )
    }

    /// True for an actuator.
    pub fn is_actuator(self) -> bool {
        self.description().is_actuator
    }

    /// Permitted lengths of a command frame; empty for a device without commands.
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
