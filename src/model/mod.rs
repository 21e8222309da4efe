//! The world as resolved data: bodies, joints and devices in flat lists, all references as ids, all numbers in SI units,
//! world frame right-handed with y up. What stands here has been checked; nobody below the reader checks it again.
//!
//! It knows nothing of XML, of any physics engine and of sockets. Start at [`World`].

mod body;
mod device;
mod graph;
mod heightfield;
mod joint;
mod pose;
mod sequence;
mod shape;

pub use body::{Body, CrossFriction, FrictionDirection, Inertia, Material};
pub use device::{
    Actuator, Device, DeviceSpec, Frame, GeographicOrigin, Law, MotorLimits, Mount, Noise, OnTimeout, PidGains,
    Scanner, Sensor, SensorOptions, Watchdog,
};
pub use graph::{Graph, SpanningForest, Tree, TreeEdge};
pub use heightfield::Heightfield;
pub use joint::{Axis, FreeAxis, Joint, JointKind};
pub use pose::Pose;
pub use sequence::{Sequence, SequenceItem, Timeline, TimelineCommand};
pub use shape::{Placed, Shape};

use std::fmt;

use bevy_math::DVec3;
use serde::Serialize;

use crate::signal::{BodyId, DeviceId, JointId, Port, RobotId};

/// The whole world, ready to be simulated.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Name of the world.
    pub name: String,
    /// Gravity, world frame, m/s².
    pub gravity: DVec3,
    /// Where on the earth its origin is.
    pub geographic_origin: GeographicOrigin,
    /// The surface plane, if there is one.
    pub plane: Option<Plane>,
    /// The terrain, if there is one.
    pub heightfield: Option<Heightfield>,
    /// The robots, in the order of the file.
    pub robots: Vec<Robot>,
    /// Objects first, then the robots' bodies, each in the order of its file.
    pub bodies: Vec<Body>,
    /// Joints in the same order.
    pub joints: Vec<Joint>,
    /// Sensors and actuators in the same order.
    pub devices: Vec<Device>,
    /// The texts that the world was read from, the world file first; they go into the log with the run.
    pub sources: Vec<SourceFile>,
    /// What is right by its form but hardly meant.
    pub warnings: Vec<Warning>,
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

/// A robot placed in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robot {
    /// Name, unique in the world.
    pub name: String,
    /// Name of the model in its file.
    pub model: String,
    /// True if bodies of this robot collide with each other (bodies that share a joint never do).
    pub self_collision: bool,
    /// The port of all its readings and commands in one.
    pub combined_port: Port,
    /// `file:line:column` of its element in the world, for messages.
    pub source: String,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as it was opened.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The surface plane a x + b y + c z = d (thesis equation 6); what lies below it, against the normal, is solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// Unit normal (a, b, c), world frame.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, in metres.
    pub distance: f64,
    /// What it is made of.
    pub material: Material,
}

impl World {
    /// The body of an id.
    pub fn body(&self, body: BodyId) -> &Body {
        &self.bodies[body.index()]
    }

    /// The joint of an id.
    pub fn joint(&self, joint: JointId) -> &Joint {
        &self.joints[joint.index()]
    }

    /// The device of an id.
    pub fn device(&self, device: DeviceId) -> &Device {
        &self.devices[device.index()]
    }

    /// The robot of an id.
    pub fn robot(&self, robot: RobotId) -> &Robot {
        &self.robots[robot.index()]
    }

    /// All bodies with their ids.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, &Body)> {
        self.bodies.iter().enumerate().map(|(index, body)| (BodyId::new(index), body))
    }

    /// All joints with their ids.
    pub fn joints(&self) -> impl Iterator<Item = (JointId, &Joint)> {
        self.joints.iter().enumerate().map(|(index, joint)| (JointId::new(index), joint))
    }

    /// All devices with their ids.
    pub fn devices(&self) -> impl Iterator<Item = (DeviceId, &Device)> {
        self.devices.iter().enumerate().map(|(index, device)| (DeviceId::new(index), device))
    }

    /// The name of a body among all of the world: that of its robot before it.
    pub fn qualified_name(&self, body: &Body) -> String {
        match body.robot {
            Some(robot) => format!("{}/{}", self.robot(robot).name, body.name),
            None => body.name.clone(),
        }
    }

    /// The body of this name, of the robot or among the objects.
    pub fn body_named(&self, robot: Option<RobotId>, name: &str) -> Option<BodyId> {
        self.bodies().find(|(_, body)| body.robot == robot && body.name == name).map(|(id, _)| id)
    }

    /// The joint of this name, of the robot or among the objects.
    pub fn joint_named(&self, robot: Option<RobotId>, name: &str) -> Option<JointId> {
        self.joints().find(|(_, joint)| joint.robot == robot && joint.name == name).map(|(id, _)| id)
    }
}
