//! A robot: its topics, its readings and its commands.

use std::{cell::Cell, rc::Rc};

use anyhow::{Result, bail};
use tokio::{sync::mpsc::Sender, task::JoinSet};

use crate::{
    actuators::{Actuator, Actuators, Drive, Interface, TIMEOUT_S},
    cameras::{self, Camera},
    config::{Config, Source},
    frames::Axes,
    link::Server,
    links::{Link, MAP, Naming, OdometryFrame, links_of, root_of},
    messages::{Float64MultiArray, Header, JointState, JointTrajectory, Odometry, RosMessage, Time, Twist},
    odometry::Estimate,
    ros::{Profile, Publish, Ros, snake_case},
    scene::{Device, Scene, Truth, own_name},
    sensors::{self, Kind, Mount},
};

/// A command from a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Index of its robot in the list of robots.
    pub robot: usize,
    /// The topic of the command.
    pub topic: Rc<str>,
    /// Its kind, with its numbers.
    pub kind: CommandKind,
}

/// The kinds of command.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandKind {
    /// A number for every joint that has this interface.
    Set(Interface, Vec<f64>),
    /// A whole command for an actuator.
    Raw(usize, Vec<f64>),
    /// Positions over time.
    Follow(JointTrajectory),
    /// The wheels are to move the robot like this.
    Drive(Twist),
}

/// A schedule of one event in every period of steps, counted from step 0. After a reset of time, the event is due at
/// once.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    period: u64,
    last: Option<u64>,
}

impl Schedule {
    /// Creates a schedule of one event every `period` steps.
    pub fn every(period: u64) -> Self {
        Self { period: period.max(1), last: None }
    }

    /// True if the event is due at this step; it then counts as done. A late step does not delay the next.
    pub fn is_due(&mut self, step: u64) -> bool {
        let is_due = self.last.is_none_or(|last| step < last || step / self.period > last / self.period);
        if is_due {
            self.last = Some(step);
        }
        is_due
    }
}

/// A sensor with a topic, or in the joint states.
struct Sensor {
    name: String,
    /// Range of its fields in a line of readings.
    fields: std::ops::Range<usize>,
    publish: Option<sensors::Publish>,
    schedule: Schedule,
    /// Number of steps between readings. A reading at a multiple of this is repeated until the next one.
    interval: u64,
    /// The joint that it reads, of an encoder.
    joint: Option<usize>,
    /// The topic of an odometry.
    odometry: Option<Publish<Odometry>>,
}

/// Pose of a sensor on a link.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorFrame {
    /// Its place in the scene's list of devices.
    pub device: usize,
    /// The frame's name.
    pub frame: String,
    /// Its axes convention.
    pub axes: Axes,
}

/// A robot.
pub struct Robot {
    /// Its name.
    pub name: String,
    /// Steps between two readings of all that the bridge wants.
    pub interval: u64,
    /// The frames of its sensors.
    pub frames: Vec<SensorFrame>,
    /// Names of all topics, for the user.
    pub topics: Vec<String>,
    scene: Rc<Scene>,
    sensors: Vec<Sensor>,
    joints: Vec<usize>,
    /// Encoder readings: position and rate of each joint of the scene.
    encoders: Vec<Option<[f64; 6]>>,
    joint_states: Publish<JointState>,
    actuators: Actuators,
    /// The base link, and what its odometry sensors estimate, in their order among the sensors.
    base: Option<usize>,
    estimates: Vec<Estimate>,
}

/// Builds a robot's topics.
pub struct RobotBuilder<'a> {
    /// The node.
    pub ros: &'a mut Ros,
    /// The world.
    pub scene: &'a Rc<Scene>,
    /// Its links.
    pub links: &'a [Link],
    /// The configuration.
    pub config: &'a Config,
    /// The source of the configuration, if there is a file.
    pub source: Option<&'a Source>,
    /// The server, which sends the states of actuators.
    pub server: &'a Server,
    /// Number of images that were left out since the bridge was too slow.
    pub missed: &'a Rc<Cell<u64>>,
    /// Queue of commands.
    pub commands: &'a Sender<Command>,
    /// The tasks that take them.
    pub tasks: &'a mut JoinSet<()>,
}

impl RobotBuilder<'_> {
    /// Creates the topics of robot number `place` of the list.
    ///
    /// # Errors
    /// A name is not valid in ROS, or the server does not answer.
    pub async fn build(&mut self, name: &str, place: usize) -> Result<Robot> {
        let naming = Naming::of(name, self.scene, self.config);
        // Names that ROS defines take precedence over those of devices.
        let topic = format!("{}/joint_states", naming.namespace);
        let joint_states: Publish<JointState> = Box::new(self.ros.publisher(&topic, Profile::Stream)?);
        let mut topics = vec![topic];
        let mut estimates = Vec::new();
        let (sensors, frames) = self.sensors(name, &naming, &mut topics, &mut estimates).await?;
        let actuators = self.actuators(name, &naming, place, &mut topics).await?;
        let joints = self.scene.joints.iter().enumerate();
        let own = |joint: &crate::scene::Joint| self.scene.bodies[joint.child].robot.as_deref() == Some(name);
        let base = self.scene.steps_in(1.0 / self.config.rate_hz);
        Ok(Robot {
            name: name.to_owned(),
            interval: sensors.iter().map(|sensor| sensor.schedule.period).fold(base, u64::min),
            frames,
            topics,
            scene: Rc::clone(self.scene),
            joints: joints.filter(|(_, joint)| own(joint) && !joint.axes.is_empty()).map(|(index, _)| index).collect(),
            encoders: vec![None; self.scene.joints.len()],
            sensors,
            joint_states,
            actuators,
            base: root_of(self.links, &links_of(self.scene, name).collect::<Vec<_>>()),
            estimates,
        })
    }

    async fn sensors(
        &mut self,
        robot: &str,
        naming: &Naming,
        topics: &mut Vec<String>,
        estimates: &mut Vec<Estimate>,
    ) -> Result<(Vec<Sensor>, Vec<SensorFrame>)> {
        let (mut list, mut frames, mut start) = (Vec::new(), Vec::new(), 0);
        let scene = Rc::clone(self.scene);
        let settings = self.config.robots.iter().find(|(name, _)| name.get_ref() == robot).map(|(_, robot)| robot);
        let profile = if self.config.reliable_sensors { Profile::Stream } else { Profile::BestEffort };
        let has_map = settings.and_then(|robot| robot.map_to_odom).unwrap_or(true);
        for (index, device) in scene.devices.iter().enumerate().filter(|(_, device)| device.robot == robot) {
            if device.actuator || device.fields.is_empty() {
                continue;
            }
            let fields = start..start + device.fields.len();
            start = fields.end;
            let own = settings.and_then(|robot| robot.devices.iter().find(|(name, _)| name.get_ref() == &device.name));
            let own = own.map(|(_, own)| own.clone()).unwrap_or_default();
            if own.publish == Some(false) {
                continue;
            }
            let axes = sensors::axes_of(device, naming.axes);
            let frame = naming.sensor_frame(device, self.links);
            let mount = self.mount(device, naming, &frame, axes);
            let is_odometry = sensors::kind_of(device) == Some(Kind::Odometry);
            let default_name = match is_odometry && estimates.is_empty() {
                true => "odom".to_owned(),
                false => snake_case(&device.name),
            };
            let by_name = || self.ros.free_name(&format!("{}/{default_name}", naming.namespace));
            let topic = own.topic.unwrap_or_else(by_name);
            let wanted = scene.steps_in(1.0 / own.rate_hz.unwrap_or(self.config.rate_hz));
            let publish = sensors::publisher(self.ros, &scene, device, &mount, &topic, profile)?;
            if sensors::kind_of(device) == Some(Kind::Camera) {
                let optical = format!("{frame}_optical_frame");
                frames.push(SensorFrame { device: index, frame: optical.clone(), axes: Axes::Optical });
                let every = ((wanted + device.interval_steps / 2) / device.interval_steps.max(1)).max(1);
                let is_reliable = self.config.reliable_sensors;
                let camera = Camera { device, frame: optical, topic: topic.clone(), every, is_reliable };
                topics.extend(cameras::open(&camera, self.ros, self.server, self.missed, self.tasks).await?);
            }
            let odometry = match is_odometry {
                true => Some(self.open_odometry(device, naming, has_map, &topic, estimates)?),
                false => None,
            };
            topics.extend((publish.is_some() || is_odometry).then_some(topic));
            if device.body.is_some() && !is_odometry {
                frames.push(SensorFrame { device: index, frame, axes });
            }
            let joint = device.joint.filter(|_| sensors::kind_of(device) == Some(Kind::Joint));
            let interval = device.interval_steps.max(1);
            // As often as wanted, but no reading twice.
            let schedule = Schedule::every(interval * ((wanted + interval / 2) / interval).max(1));
            list.push(Sensor { name: device.name.clone(), fields, publish, schedule, interval, joint, odometry });
        }
        Ok((list, frames))
    }

    /// Opens the topic of an odometry, and adds what it estimates.
    fn open_odometry(
        &mut self,
        device: &Device,
        naming: &Naming,
        has_map: bool,
        topic: &str,
        estimates: &mut Vec<Estimate>,
    ) -> Result<Publish<Odometry>> {
        let frame = format!("{}odom", naming.frame_prefix);
        estimates.extend(Estimate::new(device, self.links, frame, has_map));
        let profile = if self.config.reliable_sensors { Profile::Stream } else { Profile::BestEffort };
        Ok(Box::new(self.ros.publisher(topic, profile)?))
    }

    /// The frame that a sensor's messages are in.
    fn mount(&self, device: &Device, naming: &Naming, frame: &str, axes: Axes) -> Mount {
        let joint = device.joint.and_then(|joint| self.scene.joints.get(joint));
        let link = |body: usize| Mount { frame: self.links[body].frame.clone(), axes: naming.axes };
        let in_map = Mount { frame: MAP.to_owned(), axes: Axes::YUp };
        match (sensors::kind_of(device), device.frame.as_deref(), joint) {
            // Places are those of the sensor in the map.
            (Some(Kind::Point | Kind::Pose), ..) => Mount { axes, ..in_map },
            (_, Some("world"), _) => in_map,
            (_, Some("parent"), Some(joint)) => link(joint.parent),
            (_, Some("child"), Some(joint)) => link(joint.child),
            _ => Mount { frame: frame.to_owned(), axes },
        }
    }

    async fn actuators(
        &mut self,
        robot: &str,
        naming: &Naming,
        place: usize,
        topics: &mut Vec<String>,
    ) -> Result<Actuators> {
        let scene = Rc::clone(self.scene);
        let mut list = Vec::new();
        for device in scene.devices.iter().filter(|device| device.robot == robot && device.actuator) {
            let state = self.server.port(device.port).await?.greeting().await?;
            list.push(Actuator::new(&scene, device, &state)?);
            let topic = self.ros.free_name(&format!("{}/{}/command", naming.namespace, snake_case(&device.name)));
            let index = list.len() - 1;
            self.subscribe(place, topic, topics, move |message: Float64MultiArray| {
                CommandKind::Raw(index, message.data)
            })?;
        }
        let settings = self.config.robots.iter().find(|(name, _)| name.get_ref() == robot);
        let drive = match settings.and_then(|(name, settings)| settings.cmd_vel.as_ref().map(|drive| (name, drive))) {
            Some((name, wheels)) => {
                let topic = wheels.topic.clone().unwrap_or_else(|| format!("{}/cmd_vel", naming.namespace));
                self.subscribe(place, topic, topics, CommandKind::Drive)?;
                let drive = drive_of(wheels, &list);
                Some(drive.map_err(|error| match self.source {
                    Some(source) => source.problem(name.span().start, &format!("{error:#}")),
                    None => error,
                })?)
            }
            // A vehicle controller of the model needs no settings.
            None => match list.iter().position(Actuator::is_vehicle) {
                Some(index) => {
                    self.subscribe(place, format!("{}/cmd_vel", naming.namespace), topics, CommandKind::Drive)?;
                    Some(Drive::Vehicle { index, timeout: TIMEOUT_S })
                }
                None => None,
            },
        };
        let actuators = Actuators::new(list, drive);
        for interface in Interface::ALL.into_iter().filter(|&interface| !actuators.with(interface).is_empty()) {
            let topic = format!("{}/{}_controller/commands", naming.namespace, interface.name());
            self.subscribe(place, topic, topics, move |message: Float64MultiArray| {
                CommandKind::Set(interface, message.data)
            })?;
        }
        if !actuators.with(Interface::Position).is_empty() {
            let topic = format!("{}/joint_trajectory_controller/joint_trajectory", naming.namespace);
            self.subscribe(place, topic, topics, CommandKind::Follow)?;
        }
        Ok(actuators)
    }

    fn subscribe<M: RosMessage>(
        &mut self,
        robot: usize,
        topic: String,
        topics: &mut Vec<String>,
        kind: impl Fn(M) -> CommandKind + 'static,
    ) -> Result<()> {
        let subscription = self.ros.subscription::<M>(&topic)?;
        topics.push(topic.clone());
        let (commands, topic) = (self.commands.clone(), Rc::<str>::from(topic));
        self.tasks.spawn_local(async move {
            loop {
                match subscription.async_take().await {
                    Ok((message, _)) => {
                        let command = Command { robot, topic: Rc::clone(&topic), kind: kind(message) };
                        if commands.send(command).await.is_err() {
                            return;
                        }
                    }
                    // An unreadable message is not of this type.
                    Err(_) => tokio::time::sleep(crate::services::UNREADABLE_PAUSE).await,
                }
            }
        });
        Ok(())
    }
}

/// The wheels that the file names.
fn drive_of(wheels: &crate::config::CmdVel, list: &[Actuator]) -> Result<Drive> {
    let side = |names: &[String]| -> Result<Vec<(usize, f64)>> {
        let wheel = |name: &String| {
            let (own, sign) = name.strip_prefix('-').map_or((name.as_str(), 1.0), |own| (own, -1.0));
            let found = list.iter().position(|item| item.name == own && item.interface == Some(Interface::Velocity));
            match found {
                Some(index) => Ok((index, sign)),
                None => {
                    let motors = list.iter().filter(|item| item.interface == Some(Interface::Velocity));
                    let names: Vec<&str> = motors.map(|item| item.name.as_str()).collect();
                    bail!("cmd_vel: the robot has no velocity motor '{own}'; it has {}", names.join(", "))
                }
            }
        };
        names.iter().map(wheel).collect()
    };
    Ok(Drive::Wheels {
        wheels: [side(&wheels.left)?, side(&wheels.right)?],
        wheel_radius: wheels.wheel_radius,
        track_width: wheels.track_width,
        timeout: wheels.timeout_s,
    })
}

impl Robot {
    /// Publishes the readings of a step, except those of devices that are powered off. Each has its own time stamp.
    pub fn publish(&mut self, step: u64, values: &[f64], off: &[&str]) {
        let mut estimates = self.estimates.iter_mut();
        for sensor in &mut self.sensors {
            let estimate = sensor.odometry.as_ref().and_then(|publish| Some((estimates.next()?, publish)));
            let Some(fields) = values.get(sensor.fields.clone()) else { continue };
            if off.contains(&sensor.name.as_str()) {
                continue;
            }
            if let Some(joint) = sensor.joint {
                self.encoders[joint] = fields.try_into().ok();
            }
            let made = step - step % sensor.interval;
            if let Some((estimate, publish)) = estimate {
                estimate.update(fields);
                if sensor.schedule.is_due(made) {
                    publish(estimate.message(&Time::from_seconds(made as f64 * self.scene.timestep)));
                }
                continue;
            }
            if let Some(publish) = sensor.publish.as_ref().filter(|_| sensor.schedule.is_due(made)) {
                publish(fields, &Time::from_seconds(made as f64 * self.scene.timestep));
            }
        }
    }

    /// The frame `odom` by the first OdometrySensor; `None` without one.
    pub fn odometry<'a>(&'a self, links: &[Link], truth: &Truth) -> Option<OdometryFrame<'a>> {
        let (base, estimate) = (self.base?, self.estimates.first()?);
        let base_in_odom = estimate.root_pose(base, links, truth);
        Some(OdometryFrame { base, frame: &estimate.frame, base_in_odom, has_map: estimate.has_map })
    }

    /// Publishes the joints: the readings of encoders, and the true state of joints without one.
    pub fn publish_joints(&self, truth: &Truth, stamp: &Time) {
        let mut message = JointState { header: Header::new(stamp, ""), ..JointState::default() };
        for &index in &self.joints {
            let (joint, is) = (&self.scene.joints[index], &truth.joints[index]);
            let name = own_name(&joint.name, Some(&self.name));
            for axis in &joint.axes {
                let place = axis.axis - 1;
                let read = self.encoders[index].map(|read| (read[place], read[place + 3]));
                let (position, rate) = read.unwrap_or((is.position[place], is.rate[place]));
                let is_only = joint.axes.len() == 1;
                message.name.push(if is_only { name.to_owned() } else { format!("{name}_{}", axis.axis) });
                message.position.push(position);
                message.velocity.push(rate);
                message.effort.push(is.effort[place]);
            }
        }
        (self.joint_states)(message);
    }

    /// The part of a line for a command; a trajectory acts over time.
    ///
    /// # Errors
    /// The command does not fit the robot; then nothing acts.
    pub fn command(&mut self, kind: &CommandKind, now: f64) -> Result<Option<String>> {
        Ok(match kind {
            CommandKind::Set(interface, values) => {
                Some(self.actuators.set_all(&self.actuators.with(*interface), values)?)
            }
            CommandKind::Raw(index, values) => Some(self.actuators.set_raw(*index, values)?),
            CommandKind::Drive(twist) => Some(self.actuators.drive(twist, now)?),
            CommandKind::Follow(trajectory) => {
                self.actuators.follow(trajectory, now)?;
                None
            }
        })
    }

    /// The commands of trajectories and wheels at this time.
    pub fn commands_at(&mut self, now: f64) -> Vec<String> {
        self.actuators.commands_at(now)
    }

    /// Discards pending commands, when time has been reset.
    pub fn reset(&mut self) {
        self.actuators.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_every_ten_steps_is_due_again_after_a_reset() {
        let mut schedule = Schedule::every(10);
        let steps = [0, 1, 9, 10, 25, 30, 35, 40, 0, 5, 10];
        let got: Vec<u64> = steps.into_iter().filter(|&step| schedule.is_due(step)).collect();
        assert_eq!(got, [0, 10, 25, 30, 40, 0, 10]);
    }
}
