//! Sensors and actuators as the model describes them.

use super::Pose;
use crate::signal::{BodyId, JointId, Port, RobotId};

/// A sensor or an actuator.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Name, unique in its robot.
    pub name: String,
    /// The robot that carries it.
    pub robot: RobotId,
    /// Its TCP port, the robot's port offset included.
    pub port: Port,
    /// Fresh readings per second of simulated time; `None` is one every step. Always `None` on an actuator.
    pub rate_hz: Option<f64>,
    /// What it is.
    pub spec: DeviceSpec,
    /// `file:line` of its element, for messages.
    pub source: String,
}

/// The kinds of device with what each needs.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceSpec {
    /// Answers with the last frame it received.
    EchoSensor {
        /// The body it sits on.
        body: BodyId,
    },
    /// Reads where it is in the world.
    PositionSensor {
        /// The body it sits on.
        body: BodyId,
        /// Its place on the body, `body_from_sensor`.
        mount: Pose,
    },
    /// Reads distances.
    ScannerSensor {
        /// The body it sits on.
        body: BodyId,
        /// The fan.
        scanner: Scanner,
    },
    /// Turns or pushes a joint at a given velocity.
    JointController {
        /// The joint it drives.
        joint: JointId,
    },
    /// Holds a joint at given angles.
    AngleController {
        /// The joint it drives.
        joint: JointId,
        /// The gains until a command brings others.
        gains: PidGains,
    },
}

/// A fan of rays in the sensor's z-x plane, spread evenly about its z axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scanner {
    /// Where the rays start, `body_from_sensor`.
    pub mount: Pose,
    /// Number of rays, at least 1.
    pub rays: usize,
    /// The outermost rays stand at plus and minus this angle from the z axis towards x, radians.
    pub half_angle: f64,
    /// A ray that meets nothing within this distance reads it, metres.
    pub range: f64,
}

impl Default for Scanner {
    fn default() -> Self {
        Self { mount: Pose::IDENTITY, rays: 11, half_angle: 0.1, range: 10.0 }
    }
}

/// Gains of a PID controller whose output is a target velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PidGains {
    /// Velocity per error, 1/s.
    pub proportional: f64,
    /// Velocity per integrated error, 1/s².
    pub integral: f64,
    /// Velocity per rate of the error, 1.
    pub derivative: f64,
}

impl Default for PidGains {
    /// A tenth of a second to come closer by 1/e, nothing integrated.
    fn default() -> Self {
        Self { proportional: 10.0, integral: 0.0, derivative: 0.0 }
    }
}
