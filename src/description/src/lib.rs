//! The description of a simulation: a world of mechanisms with robots, devices and their ports, and command sequences.
//! [`xml`] reads them from files.
//!
//! The content of a [`World`] has been checked; its users need no checks. The crate does not depend on physics engines,
//! running devices and sockets.

pub mod dem;
mod device;
mod limits;
pub mod mesh;
mod parameter;
pub mod rwtask;
mod sequence;
mod source;
mod text;
mod texture;
mod vehicle;
mod watchdog;
pub mod xml;

pub use device::{
    Actuator, Camera, Device, DeviceSpec, Frame, GeographicOrigin, ImageNoise, Law, MotorLimits, Mount, Noise,
    PidGains, Propeller, Push, Scanner, Sensor, SensorOptions, ServoGains,
};
pub use parameter::{Parameter, ParameterError, ParameterPath, ParameterValue, Parameters};
pub use sequence::{
    Comparison, Condition, DeviceReference, Section, Sequence, SequenceItem, Timeline, TimelineCommand,
};
pub use source::{Content, SourceFile, Warning};
pub use vehicle::{MotionLimits, Steering, Track, Vehicle, VehicleWheel};
pub use watchdog::{OnTimeout, Watchdog};

use bevy_math::DVec3;
use simpartner_model::{DeviceId, GraspTask, Mechanism, Robot};
use simpartner_wire::signal::Port;

/// The whole world, ready to be simulated.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Name of the world.
    pub name: String,
    /// Bodies, joints and grounds of all robots and objects.
    pub mechanism: Mechanism,
    /// Geographic position of its origin.
    pub geographic_origin: GeographicOrigin,
    /// Magnetic flux density in world axes, T; `None` for the earth's at the geographic origin.
    pub magnetic_field: Option<DVec3>,
    /// The combined port of each robot, with all its readings and commands.
    pub combined_ports: Vec<Port>,
    /// Sensors and actuators, in the order of their ids.
    pub devices: Vec<Device>,
    /// The files from which the world was read, the world file first; they are logged with the run.
    pub sources: Vec<SourceFile>,
    /// Warnings: the file is valid, but this is probably a mistake.
    pub warnings: Vec<Warning>,
}

/// Grasp tasks, and the world that they are for.
#[derive(Debug, Clone)]
pub struct GraspTaskFile {
    /// The world, with the gripper and the object.
    pub world: World,
    /// The tasks.
    pub task: GraspTask,
    /// The files in addition to those of the world, their own first.
    pub sources: Vec<SourceFile>,
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
