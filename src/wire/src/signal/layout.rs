//! Layout of the flat record of a step: the readable quantities and their places.
//!
//! ```text
//! [ bodies: pose 7 | twist 6 | wrench 6 ] [ joints: anchor 3 | position 3 | rate 3 | effort 3 | reaction 6 ]
//! [ devices: their fields ]
//! ```
//!
//! A device of more than [`MOST_FIELDS_IN_RECORD`] fields, such as a lidar, has none of its numbers there: records
//! share its reading.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{BodyId, CameraOptics, DeviceId, DeviceKind, JointId, Member, Port, RobotId};

/// A pose: position x, y, z of the body's origin in metres, then the rotation quaternion x, y, z, w (world from body).
pub const POSE_WIDTH: usize = 7;
/// A twist: linear velocity of the centre of mass in m/s, then angular velocity in rad/s, both in world axes.
pub const TWIST_WIDTH: usize = 6;
/// A contact wrench: force in N, then torque about the centre of mass in N m, both in world axes.
pub const WRENCH_WIDTH: usize = 6;
/// Numbers of a joint: anchor x, y, z in the world in metres; position (rad or m), rate (rad/s or m/s) and motor effort
/// (N m or N) of its three axes, zero for a locked axis; force and torque about the anchor that the parent exerts on
/// the child, in world axes, NaN from an engine that does not compute them.
pub const JOINT_WIDTH: usize = 18;
/// Largest number of a device's fields in the flat record. A longer reading, 32 kB or more, changes some ten times a
/// second, but copying it in every step would cost more than simulating a robot.
pub const MOST_FIELDS_IN_RECORD: usize = 4096;
const BODY_WIDTH: usize = POSE_WIDTH + TWIST_WIDTH + WRENCH_WIDTH;

/// A field of a device's frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name, unique in its device, such as `x` or `velocity_3`.
    pub name: String,
    /// Unit, `1` for a plain number.
    pub unit: &'static str,
    /// Smallest value it takes.
    pub lowest: f64,
    /// Largest value it takes.
    pub highest: f64,
}

/// Mount of a device, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// A sensor sits on a body.
    Body(String),
    /// A joint that an actuator drives or a sensor reads.
    Joint(String),
}

impl Attachment {
    /// The name of the body or joint.
    pub fn name(&self) -> &str {
        let (Self::Body(name) | Self::Joint(name)) = self;
        name
    }

    /// `body` or `joint`.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Body(_) => "body",
            Self::Joint(_) => "joint",
        }
    }
}

/// Device data for clients.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceInfo {
    /// Name, unique in its robot.
    pub name: String,
    /// Kind.
    pub kind: DeviceKind,
    /// Name of the robot that carries it.
    pub robot: String,
    /// Body or joint.
    pub attachment: Attachment,
    /// The port asked for in the model.
    pub port: Port,
    /// The numbers of its frame, in order.
    pub fields: Vec<Field>,
    /// Number of steps between fresh readings, at least 1.
    pub interval_steps: u64,
    /// The geometry of a camera's images; `None` for other kinds.
    pub camera: Option<CameraOptics>,
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

/// A robot's combined port: the sensors that it sends, and the actuators that it commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotInfo {
    /// Name, unique in its world.
    pub name: String,
    /// Its combined port, as asked for in the world.
    pub port: Port,
    /// `file:line:column` of its element, for messages.
    pub source: String,
    /// Its sensors that read numbers, in the order of their ids.
    pub sensors: Vec<DeviceId>,
    /// Its actuators, in the order of their ids.
    pub actuators: Vec<DeviceId>,
}

/// Body data for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyInfo {
    /// Its name; of a robot's body `robot/body`.
    pub name: String,
    /// Its robot; `None` for an object.
    pub robot: Option<RobotId>,
    /// Reason why its pose cannot be set; `None` if it can.
    pub set_pose_obstacle: Option<&'static str>,
    /// True for a static body.
    pub is_fixed: bool,
}

/// The layout of a [`StepRecord`](super::StepRecord): the index of each body, joint and device in its arrays. All
/// readers share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    world: u32,
    seed: u64,
    bodies: usize,
    joints: usize,
    devices: Vec<DeviceInfo>,
    device_starts: Vec<usize>,
    /// Index of each device among the long readings; `None` for a device without them.
    long_readings: Vec<Option<usize>>,
    robots: Vec<RobotInfo>,
    body_infos: Vec<BodyInfo>,
}

impl Layout {
    /// Creates the layout of `bodies` bodies, `joints` joints and the given devices, in that order. Its robots are
    /// those that the devices name, with any combined port.
    pub fn new(bodies: usize, joints: usize, devices: Vec<DeviceInfo>) -> Self {
        let mut start = bodies * BODY_WIDTH + joints * JOINT_WIDTH;
        let mut device_starts = Vec::with_capacity(devices.len() + 1);
        let (mut long_readings, mut long) = (Vec::with_capacity(devices.len()), 0);
        for device in &devices {
            device_starts.push(start);
            let is_long = device.fields.len() > MOST_FIELDS_IN_RECORD;
            long_readings.push(is_long.then_some(long));
            match is_long {
                true => long += 1,
                false => start += device.fields.len(),
            }
        }
        device_starts.push(start);
        let mut names: Vec<String> = devices.iter().map(|device| device.robot.clone()).collect();
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let robots = names.into_iter().map(|name| (name, Port::ANY, String::new()));
        let (empty, body_infos) = (Vec::new(), Vec::new());
        Self { world: 0, seed: 0, bodies, joints, devices, device_starts, long_readings, robots: empty, body_infos }
            .with_robots(robots)
    }

    /// Names all robots of the world, in the order of their ids: name, combined port, `file:line:column` of its
    /// element.
    pub fn with_robots(mut self, robots: impl IntoIterator<Item = (String, Port, String)>) -> Self {
        let robots = robots.into_iter();
        let new = |(name, port, source)| RobotInfo { name, port, source, sensors: Vec::new(), actuators: Vec::new() };
        self.robots = robots.map(new).collect();
        let place: HashMap<String, usize> =
            self.robots.iter().enumerate().map(|(index, robot)| (robot.name.clone(), index)).collect();
        for (index, device) in self.devices.iter().enumerate() {
            let Some(robot) = place.get(&device.robot).map(|&place| &mut self.robots[place]) else { continue };
            match device.kind.is_actuator() {
                true => robot.actuators.push(DeviceId::new(index)),
                false if !device.fields.is_empty() => robot.sensors.push(DeviceId::new(index)),
                false => {}
            }
        }
        self
    }

    /// Sets the descriptions of the bodies, in the order of their ids.
    #[must_use]
    pub fn with_bodies(self, body_infos: Vec<BodyInfo>) -> Self {
        Self { body_infos, ..self }
    }

    /// Sets the seed of the run's random numbers.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The seed of the run's random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Numbers the world that it is of.
    #[must_use]
    pub fn of_world(self, world: u32) -> Self {
        Self { world, ..self }
    }

    /// The number of the world that it is of; a run begins with 0.
    pub fn world(&self) -> u32 {
        self.world
    }

    /// The descriptions of the bodies, in the order of their ids; empty if none were set.
    pub fn body_infos(&self) -> &[BodyInfo] {
        &self.body_infos
    }

    /// Number of values in a record, without long readings.
    pub fn len(&self) -> usize {
        self.device_starts[self.devices.len()]
    }

    /// True for an empty world.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// Number of joints.
    pub fn joints(&self) -> usize {
        self.joints
    }

    /// The devices, in the order of their [`DeviceId`]s.
    pub fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    /// The device of an id.
    pub fn device_info(&self, device: DeviceId) -> &DeviceInfo {
        &self.devices[device.index()]
    }

    /// The robots, in the order of their [`RobotId`]s.
    pub fn robots(&self) -> &[RobotInfo] {
        &self.robots
    }

    /// The robot of an id.
    pub fn robot_info(&self, robot: RobotId) -> &RobotInfo {
        &self.robots[robot.index()]
    }

    /// Name of a lockstep member: `robot/device`, or the robot for its combined port.
    pub fn member_name(&self, member: Member) -> String {
        match member {
            Member::Device(device) => {
                let info = self.device_info(device);
                format!("{}/{}", info.robot, info.name)
            }
            Member::Robot(robot) => self.robot_info(robot).name.clone(),
        }
    }

    /// Place of a body's pose ([`POSE_WIDTH`] numbers).
    pub fn pose(&self, body: BodyId) -> Range<usize> {
        let start = body.index() * BODY_WIDTH;
        start..start + POSE_WIDTH
    }

    /// Place of a body's twist ([`TWIST_WIDTH`] numbers).
    pub fn twist(&self, body: BodyId) -> Range<usize> {
        let start = body.index() * BODY_WIDTH + POSE_WIDTH;
        start..start + TWIST_WIDTH
    }

    /// Place of a body's contact wrench ([`WRENCH_WIDTH`] numbers).
    pub fn wrench(&self, body: BodyId) -> Range<usize> {
        let start = body.index() * BODY_WIDTH + POSE_WIDTH + TWIST_WIDTH;
        start..start + WRENCH_WIDTH
    }

    /// Place of a joint ([`JOINT_WIDTH`] numbers).
    pub fn joint(&self, joint: JointId) -> Range<usize> {
        let start = self.bodies * BODY_WIDTH + joint.index() * JOINT_WIDTH;
        start..start + JOINT_WIDTH
    }

    /// Average number of values of a step; a long reading counts by the fraction of steps with a fresh one.
    pub fn numbers_per_step(&self) -> usize {
        let long = self.devices.iter().filter(|device| device.fields.len() > MOST_FIELDS_IN_RECORD);
        self.len()
            + long.map(|device| device.fields.len().div_ceil(device.interval_steps.max(1) as usize)).sum::<usize>()
    }

    /// Number of devices with long readings.
    pub fn long_readings(&self) -> usize {
        self.long_readings.iter().flatten().count()
    }

    /// Index of a device's reading among the long ones; `None` if it is in the flat record.
    pub fn long_reading(&self, device: DeviceId) -> Option<usize> {
        self.long_readings[device.index()]
    }

    /// Range of a device's fields in the flat record: a sensor's reading, or an actuator's present command. It is empty
    /// for a [long reading](Self::long_reading); [`StepRecord::device`](super::StepRecord::device) has both.
    pub fn device(&self, device: DeviceId) -> Range<usize> {
        self.device_starts[device.index()]..self.device_starts[device.index() + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_record_has_exactly_one_owner() {
        let field = |name: &str| Field { name: name.into(), unit: "m", lowest: -1.0, highest: 1.0 };
        let device = |fields| DeviceInfo {
            name: "d".into(),
            kind: DeviceKind::PositionSensor,
            robot: "r".into(),
            attachment: Attachment::Body("b".into()),
            port: Port::ANY,
            fields,
            interval_steps: 1,
            camera: None,
            source: String::new(),
        };
        let layout =
            Layout::new(2, 3, vec![device(vec![field("x"), field("y")]), device(vec![]), device(vec![field("z")])]);
        let mut owners = vec![0; layout.len()];
        let bodies = (0..2).map(BodyId::new).flat_map(|b| [layout.pose(b), layout.twist(b), layout.wrench(b)]);
        let joints = (0..3).map(|j| layout.joint(JointId::new(j)));
        let devices = (0..3).map(|d| layout.device(DeviceId::new(d)));
        for range in bodies.chain(joints).chain(devices) {
            owners[range].iter_mut().for_each(|count| *count += 1);
        }
        assert!(owners.iter().all(|&count| count == 1), "{owners:?}");
    }
}
