//! A robot: its topics, its readings and its commands.

use std::rc::Rc;

use anyhow::{Result, bail};
use tokio::{sync::mpsc::Sender, task::JoinSet};

use crate::{
    actuators::{Actuator, Actuators, Drive, Interface},
    config::{Config, Source},
    frames::Axes,
    link::Server,
    links::{Link, MAP, Naming},
    messages::{Float64MultiArray, Header, JointState, JointTrajectory, RosMessage, Time, Twist},
    ros::{Profile, Publish, Ros, snake_case},
    scene::{Device, Scene, Truth, own_name},
    sensors::{self, Kind, Mount},
};

/// Something that a subscriber of ours was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Which robot it is for, by its place in the list of robots.
    pub robot: usize,
    /// On which topic it came.
    pub topic: Rc<str>,
    /// What is wanted.
    pub wish: Wish,
}

/// What an order wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// A number for every joint that has this interface.
    Set(Interface, Vec<f64>),
    /// A whole command for an actuator.
    Raw(usize, Vec<f64>),
    /// Positions over time.
    Follow(JointTrajectory),
    /// The wheels are to move the robot like this.
    Drive(Twist),
}

/// Whether something is due: once in every so many steps, counted from step 0, and at once when time has gone back.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    period: u64,
    last: Option<u64>,
}

impl Due {
    /// Every so many steps.
    pub fn every(period: u64) -> Self {
        Self { period: period.max(1), last: None }
    }

    /// Whether it is due at this step; then it is done. A step that comes late does not put off the next.
    pub fn at(&mut self, step: u64) -> bool {
        let due = self.last.is_none_or(|last| step < last || step / self.period > last / self.period);
        if due {
            self.last = Some(step);
        }
        due
    }
}

/// A sensor with a topic, or in the joint states.
struct Sensor {
    name: String,
    /// Where its fields are in a line of readings.
    fields: std::ops::Range<usize>,
    publish: Option<sensors::Publish>,
    due: Due,
    /// Steps from one reading to the next. It makes them at multiples of it and tells them until the next.
    interval: u64,
    /// The joint that it reads, of an encoder.
    joint: Option<usize>,
}

/// Where a sensor on a link is.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorFrame {
    /// Its place in the scene's list of devices.
    pub device: usize,
    /// The frame's name.
    pub frame: String,
    /// How its axes are turned.
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
    /// All topics, for who wants to know.
    pub topics: Vec<String>,
    scene: Rc<Scene>,
    sensors: Vec<Sensor>,
    joints: Vec<usize>,
    /// What its encoders read: position and rate of each joint of the scene.
    encoders: Vec<Option<[f64; 6]>>,
    joint_states: Publish<JointState>,
    actuators: Actuators,
}

/// What the making of a robot's topics needs.
pub struct Maker<'a> {
    /// The node.
    pub ros: &'a mut Ros,
    /// The world.
    pub scene: &'a Rc<Scene>,
    /// Its links.
    pub links: &'a [Link],
    /// The settings, and where they come from.
    pub config: &'a Config,
    /// Where the settings come from, if there is a file.
    pub source: Option<&'a Source>,
    /// The server, which tells the state of actuators.
    pub server: &'a Server,
    /// Where orders go.
    pub orders: &'a Sender<Order>,
    /// The tasks that take them.
    pub tasks: &'a mut JoinSet<()>,
}

impl Maker<'_> {
    /// Makes the topics of a robot, the `place`th of the list.
    ///
    /// # Errors
    /// When a name is not one of ROS, or the server does not answer.
    pub async fn robot(&mut self, name: &str, place: usize) -> Result<Robot> {
        let naming = Naming::of(name, self.scene, self.config);
        // Names that ROS gives come before those of devices.
        let topic = format!("{}/joint_states", naming.namespace);
        let joint_states: Publish<JointState> = Box::new(self.ros.publisher(&topic, Profile::Stream)?);
        let mut topics = vec![topic];
        let (sensors, frames) = self.sensors(name, &naming, &mut topics)?;
        let actuators = self.actuators(name, &naming, place, &mut topics).await?;
        let joints = self.scene.joints.iter().enumerate();
        let own = |joint: &crate::scene::Joint| self.scene.bodies[joint.child].robot.as_deref() == Some(name);
        let base = self.scene.steps_in(1.0 / self.config.rate_hz);
        Ok(Robot {
            name: name.to_owned(),
            interval: sensors.iter().map(|sensor| sensor.due.period).fold(base, u64::min),
            frames,
            topics,
            scene: Rc::clone(self.scene),
            joints: joints.filter(|(_, joint)| own(joint) && !joint.axes.is_empty()).map(|(index, _)| index).collect(),
            encoders: vec![None; self.scene.joints.len()],
            sensors,
            joint_states,
            actuators,
        })
    }

    fn sensors(
        &mut self,
        robot: &str,
        naming: &Naming,
        topics: &mut Vec<String>,
    ) -> Result<(Vec<Sensor>, Vec<SensorFrame>)> {
        let (mut list, mut frames, mut start) = (Vec::new(), Vec::new(), 0);
        let scene = Rc::clone(self.scene);
        let settings = self.config.robots.iter().find(|(name, _)| name.get_ref() == robot).map(|(_, robot)| robot);
        let profile = if self.config.reliable_sensors { Profile::Stream } else { Profile::BestEffort };
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
            let by_name = || self.ros.free_name(&format!("{}/{}", naming.namespace, snake_case(&device.name)));
            let topic = own.topic.unwrap_or_else(by_name);
            let publish = sensors::publisher(self.ros, &scene, device, &mount, &topic, profile)?;
            if publish.is_some() {
                topics.push(topic);
            }
            if device.body.is_some() {
                frames.push(SensorFrame { device: index, frame, axes });
            }
            let wanted = scene.steps_in(1.0 / own.rate_hz.unwrap_or(self.config.rate_hz));
            let joint = device.joint.filter(|_| sensors::kind_of(device) == Some(Kind::Joint));
            let interval = device.interval_steps.max(1);
            // As often as wanted, but no reading twice.
            let due = Due::every(interval * ((wanted + interval / 2) / interval).max(1));
            list.push(Sensor { name: device.name.clone(), fields, publish, due, interval, joint });
        }
        Ok((list, frames))
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
            self.subscribe(place, topic, topics, move |message: Float64MultiArray| Wish::Raw(index, message.data))?;
        }
        let settings = self.config.robots.iter().find(|(name, _)| name.get_ref() == robot);
        let drive = match settings.and_then(|(name, settings)| settings.cmd_vel.as_ref().map(|drive| (name, drive))) {
            Some((name, wheels)) => {
                let topic = wheels.topic.clone().unwrap_or_else(|| format!("{}/cmd_vel", naming.namespace));
                self.subscribe(place, topic, topics, Wish::Drive)?;
                let drive = drive_of(wheels, &list);
                Some(drive.map_err(|error| match self.source {
                    Some(source) => source.problem(name.span().start, &format!("{error:#}")),
                    None => error,
                })?)
            }
            None => None,
        };
        let actuators = Actuators::new(list, drive);
        for interface in Interface::ALL.into_iter().filter(|&interface| !actuators.with(interface).is_empty()) {
            let topic = format!("{}/{}_controller/commands", naming.namespace, interface.name());
            self.subscribe(place, topic, topics, move |message: Float64MultiArray| Wish::Set(interface, message.data))?;
        }
        if !actuators.with(Interface::Position).is_empty() {
            let topic = format!("{}/joint_trajectory_controller/joint_trajectory", naming.namespace);
            self.subscribe(place, topic, topics, Wish::Follow)?;
        }
        Ok(actuators)
    }

    fn subscribe<M: RosMessage>(
        &mut self,
        robot: usize,
        topic: String,
        topics: &mut Vec<String>,
        wish: impl Fn(M) -> Wish + 'static,
    ) -> Result<()> {
        let subscription = self.ros.subscription::<M>(&topic)?;
        topics.push(topic.clone());
        let (orders, topic) = (self.orders.clone(), Rc::<str>::from(topic));
        self.tasks.spawn_local(async move {
            loop {
                match subscription.async_take().await {
                    Ok((message, _)) => {
                        let order = Order { robot, topic: Rc::clone(&topic), wish: wish(message) };
                        if orders.send(order).await.is_err() {
                            return;
                        }
                    }
                    // What cannot be read is no message of this type.
                    Err(_) => tokio::time::sleep(crate::services::UNREADABLE).await,
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
    Ok(Drive {
        wheels: [side(&wheels.left)?, side(&wheels.right)?],
        wheel_radius: wheels.wheel_radius,
        track_width: wheels.track_width,
        timeout: wheels.timeout_s,
    })
}

impl Robot {
    /// Publishes the readings of a step, but those of devices that are off. Each has the time at which it was made.
    pub fn publish(&mut self, step: u64, values: &[f64], off: &[&str]) {
        for sensor in &mut self.sensors {
            let Some(fields) = values.get(sensor.fields.clone()) else { continue };
            if off.contains(&sensor.name.as_str()) {
                continue;
            }
            if let Some(joint) = sensor.joint {
                self.encoders[joint] = fields.try_into().ok();
            }
            let made = step - step % sensor.interval;
            if let Some(publish) = sensor.publish.as_ref().filter(|_| sensor.due.at(made)) {
                publish(fields, &Time::from_seconds(made as f64 * self.scene.timestep));
            }
        }
    }

    /// Publishes the joints: as encoders read them, those without one as they are.
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

    /// The part of a line that an order becomes; a trajectory acts over time.
    ///
    /// # Errors
    /// When the order does not fit the robot; then nothing acts.
    pub fn command(&mut self, wish: &Wish, now: f64) -> Result<Option<String>> {
        Ok(match wish {
            Wish::Set(interface, values) => Some(self.actuators.set_all(&self.actuators.with(*interface), values)?),
            Wish::Raw(index, values) => Some(self.actuators.set_raw(*index, values)?),
            Wish::Drive(twist) => Some(self.actuators.drive(twist, now)?),
            Wish::Follow(trajectory) => {
                self.actuators.follow(trajectory, now)?;
                None
            }
        })
    }

    /// What trajectories and wheels want at this time.
    pub fn at(&mut self, now: f64) -> Vec<String> {
        self.actuators.at(now)
    }

    /// Forgets what was to come, when time has gone back.
    pub fn reset(&mut self) {
        self.actuators.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_every_ten_steps_is_due_again_after_a_reset() {
        let mut due = Due::every(10);
        let steps = [0, 1, 9, 10, 25, 30, 35, 40, 0, 5, 10];
        let got: Vec<u64> = steps.into_iter().filter(|&step| due.at(step)).collect();
        assert_eq!(got, [0, 10, 25, 30, 40, 0, 10]);
    }
}
