//! Channels: the places of readings and commands in flat arrays.

use simpartner_model::DeviceId;
use simpartner_wire::{
    protocol::{Refusal, device_named},
    signal::{DeviceKind, Layout},
};

/// A number of an array: a field of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// The device, as `robot/name`.
    pub device: String,
    /// The field.
    pub field: String,
    /// Its unit, `1` for a plain number.
    pub unit: &'static str,
    /// Smallest value it takes.
    pub lowest: f64,
    /// Largest value it takes.
    pub highest: f64,
    /// Kind of the device.
    pub kind: DeviceKind,
}

/// The devices whose numbers follow one another in an array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Channels {
    devices: Vec<DeviceId>,
    width: usize,
}

impl Channels {
    /// All sensors that read numbers, in the order of the world.
    pub fn all_sensors(layout: &Layout) -> Self {
        Self::of_robots(layout, false)
    }

    /// All actuators, in the order of the world.
    pub fn all_actuators(layout: &Layout) -> Self {
        Self::of_robots(layout, true)
    }

    fn of_robots(layout: &Layout, actuators: bool) -> Self {
        let devices = layout.robots().iter().flat_map(|robot| match actuators {
            true => &robot.actuators,
            false => &robot.sensors,
        });
        Self::of_devices(layout, devices.copied().collect())
    }

    /// The devices of these names, `robot/device`, or `device` if only one robot has it.
    ///
    /// # Errors
    /// A name is unknown, or stands for several devices.
    pub fn named<'n>(layout: &Layout, names: impl IntoIterator<Item = &'n str>) -> Result<Self, Refusal> {
        let devices = names.into_iter().map(|name| device_named(layout, name, &[])).collect::<Result<_, _>>()?;
        Ok(Self::of_devices(layout, devices))
    }

    /// The actuators of these names, likewise.
    ///
    /// # Errors
    /// As [`named`](Self::named), or a device takes no commands.
    pub fn actuators_named<'n>(layout: &Layout, names: impl IntoIterator<Item = &'n str>) -> Result<Self, Refusal> {
        let channels = Self::named(layout, names)?;
        match channels.devices.iter().map(|id| layout.device_info(*id)).find(|info| !info.kind.is_actuator()) {
            Some(info) => Err(Refusal::Parameter(format!(
                "expected actuators; '{}/{}' is a {}, which takes no commands",
                info.robot, info.name, info.kind
            ))),
            None => Ok(channels),
        }
    }

    fn of_devices(layout: &Layout, devices: Vec<DeviceId>) -> Self {
        let width = devices.iter().map(|device| layout.device_info(*device).fields.len()).sum();
        Self { devices, width }
    }

    /// The devices, in the order of their numbers.
    pub fn devices(&self) -> &[DeviceId] {
        &self.devices
    }

    /// Number of numbers.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Each number with its device, field and unit.
    pub fn describe(&self, layout: &Layout) -> Vec<Channel> {
        let of = |id: &DeviceId| {
            let info = layout.device_info(*id);
            let device = format!("{}/{}", info.robot, info.name);
            info.fields.iter().map(move |field| Channel {
                device: device.clone(),
                field: field.name.clone(),
                unit: field.unit,
                lowest: field.lowest,
                highest: field.highest,
                kind: info.kind,
            })
        };
        self.devices.iter().flat_map(of).collect()
    }
}
