//! What a user describes: a world of mechanisms with robots, devices and their ports, and sequences of commands. [`xml`] reads
//! them from files.
//!
//! What stands in a [`World`] has been checked; nobody who reads it checks it again. The crate knows nothing of physics engines,
//! running devices and sockets.

mod device;
mod image;
pub mod mesh;
mod sequence;
pub mod xml;

pub use device::{
    Actuator, Device, DeviceSpec, Frame, GeographicOrigin, Law, MotorLimits, Mount, Noise, OnTimeout, PidGains, Push,
    Scanner, Sensor, SensorOptions, Watchdog,
};
pub use sequence::{Sequence, SequenceItem, Timeline, TimelineCommand};

use std::fmt;

use serde::Serialize;
use simpartner_model::{DeviceId, Mechanism, Robot};
use simpartner_wire::signal::Port;

/// The whole world, ready to be simulated.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Name of the world.
    pub name: String,
    /// Robots, objects and grounds: what moves, and what it moves on.
    pub mechanism: Mechanism,
    /// Where on the earth its origin is.
    pub geographic_origin: GeographicOrigin,
    /// For each robot, the port of all its readings and commands in one.
    pub combined_ports: Vec<Port>,
    /// Sensors and actuators, in the order of their ids.
    pub devices: Vec<Device>,
    /// The texts that the world was read from, the world file first; they go into the log with the run.
    pub sources: Vec<SourceFile>,
    /// What is right by its form but hardly meant.
    pub warnings: Vec<Warning>,
}

impl World {
    /// The device of an id.
    pub fn device(&self, device: DeviceId) -> &Device {
        &self.devices[device.index()]
    }

    /// All devices with their ids.
    pub fn devices(&self) -> impl Iterator<Item = (DeviceId, &Device)> {
        self.devices.iter().enumerate().map(|(index, device)| (DeviceId::new(index), device))
    }

    /// All robots with their combined ports.
    pub fn robots(&self) -> impl Iterator<Item = (&Robot, Port)> {
        self.mechanism.robots.iter().zip(self.combined_ports.iter().copied())
    }
}

/// Something in a file that can be simulated, but hardly as it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// `file:line:column` of the element.
    pub place: String,
    /// What there is, and what comes of it.
    pub what: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.place, self.what, self.help)
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as it was opened.
    pub path: String,
    /// The whole text.
    pub text: String,
}
