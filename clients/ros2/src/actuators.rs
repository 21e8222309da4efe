//! Actuators: conversion of ROS messages to commands of the combined port.
//!
//! Each message is accepted as a whole or not at all; errors are reported, and nothing moves.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use simpartner_wire::{
    protocol::{frame, read_numbers},
    signal::DeviceKind,
};

use crate::{
    messages::{JointTrajectory, Twist},
    scene::{Device, Scene, own_name},
};

/// Quantity that a number for a joint sets at its actuator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// Target coordinate, rad or m.
    Position,
    /// A rate to keep, rad/s or m/s.
    Velocity,
    /// A torque or force, N m or N.
    Effort,
}

impl Interface {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Position, Self::Velocity, Self::Effort];

    /// Its word in ros2_control.
    pub fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Velocity => "velocity",
            Self::Effort => "effort",
        }
    }

    /// The interface of an actuator of this kind, and the index in its state of the joint's first coordinate.
    fn of(kind: &str) -> Option<(Self, usize)> {
        match kind {
            "JointController" => Some((Self::Velocity, 3)),
            "AngleController" | "PositionController" => Some((Self::Position, 3)),
            "EffortController" => Some((Self::Effort, 0)),
            _ => None,
        }
    }
}

/// An actuator of a robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Actuator {
    /// Its name.
    pub name: String,
    /// Name of its joint in ROS, for an actuator of a joint with one free coordinate.
    pub joint: Option<String>,
    /// The quantity that a number for that joint sets.
    pub interface: Option<Interface>,
    /// The command that is in force.
    state: Vec<f64>,
    is_vehicle: bool,
    /// Index of the commanded number in the frame.
    place: usize,
}

impl Actuator {
    /// An actuator, and the state that its port sends, a frame.
    ///
    /// # Errors
    /// The state is not a frame.
    pub fn new(scene: &Scene, device: &Device, state: &str) -> Result<Self> {
        let text = state.trim().trim_start_matches('<').trim_end_matches('>');
        // An actuator that a fault has powered off sends none.
        let numbers = if state.starts_with("ERR 10") { Ok(vec![0.0; device.fields.len()]) } else { read_numbers(text) };
        let state = numbers.ok().with_context(|| format!("the state of '{}' is '{state}'", device.name))?;
        let joint = device.joint.and_then(|joint| scene.joints.get(joint));
        let single = joint.and_then(|joint| match &joint.axes[..] {
            [axis] => Some((own_name(&joint.name, Some(&device.robot)).to_owned(), axis.axis)),
            _ => None,
        });
        let interface = Interface::of(&device.kind);
        let place = interface.zip(single.as_ref()).map(|((_, first), (_, axis))| first + axis - 1);
        let place = place.filter(|place| *place < state.len());
        Ok(Self {
            name: device.name.clone(),
            joint: place.and(single).map(|(joint, _)| joint),
            interface: place.and(interface).map(|(interface, _)| interface),
            place: place.unwrap_or(0),
            is_vehicle: DeviceKind::named(&device.kind).is_some_and(DeviceKind::is_vehicle),
            state,
        })
    }

    /// True for a controller of a vehicle.
    pub fn is_vehicle(&self) -> bool {
        self.is_vehicle
    }

    /// The part of a line that sets the number for its joint.
    fn set(&mut self, value: f64) -> String {
        self.state[self.place] = value;
        self.part()
    }

    fn part(&self) -> String {
        let numbers = frame(&self.state);
        format!("{}={}", self.name, numbers.trim_matches(['<', '>']))
    }
}

/// Simulated time without a command after which a vehicle stops, s: that of `diff_drive_controller`.
pub const TIMEOUT_S: f64 = 0.5;

/// Receiver of a `geometry_msgs/Twist`.
#[derive(Debug, Clone, PartialEq)]
pub enum Drive {
    /// The wheels of a differential drive.
    Wheels {
        /// Actuators of the left and the right wheels, each with the direction in which it turns forwards.
        wheels: [Vec<(usize, f64)>; 2],
        /// Radius of the wheels, m.
        wheel_radius: f64,
        /// Distance of the left and right wheels, m.
        track_width: f64,
        /// Time without a command after which the wheels stop, s.
        timeout: f64,
    },
    /// A vehicle controller of the server.
    Vehicle {
        /// Index of the actuator.
        index: usize,
        /// Time without a command after which it stops, s.
        timeout: f64,
    },
}

/// A trajectory that is being followed.
#[derive(Debug, Clone, PartialEq)]
struct Following {
    start: f64,
    actuators: Vec<usize>,
    /// Times from the start, and positions; the first is the commanded position before.
    points: Vec<(f64, Vec<f64>)>,
}

/// The actuators of a robot and their commands in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Actuators {
    list: Vec<Actuator>,
    following: Option<Following>,
    drive: Option<Drive>,
    /// Time at which the wheels stop without another command.
    stop_wheels_at: Option<f64>,
}

impl Actuators {
    /// The actuators of a robot, and its vehicle.
    pub fn new(list: Vec<Actuator>, drive: Option<Drive>) -> Self {
        Self { list, following: None, drive, stop_wheels_at: None }
    }

    /// All of them.
    pub fn list(&self) -> &[Actuator] {
        &self.list
    }

    /// Which have this interface, in the order of the model.
    pub fn with(&self, interface: Interface) -> Vec<usize> {
        (0..self.list.len()).filter(|&index| self.list[index].interface == Some(interface)).collect()
    }

    /// Sets a number for each of some actuators.
    ///
    /// # Errors
    /// There are more or fewer numbers, or one is not finite.
    pub fn set_all(&mut self, actuators: &[usize], values: &[f64]) -> Result<String> {
        let joints =
            || actuators.iter().filter_map(|&index| self.list[index].joint.clone()).collect::<Vec<_>>().join(", ");
        ensure!(
            values.len() == actuators.len(),
            "expected {} numbers, for {}, got {}",
            actuators.len(),
            joints(),
            values.len()
        );
        finite(values)?;
        // The newest command for a joint applies.
        self.following =
            self.following.take().filter(|old| !old.actuators.iter().any(|index| actuators.contains(index)));
        let parts = actuators.iter().zip(values).map(|(&index, &value)| self.list[index].set(value));
        Ok(parts.collect::<Vec<_>>().join(";"))
    }

    /// A complete command for one actuator, as its own port accepts it.
    ///
    /// # Errors
    /// A number is not finite. The server checks their count.
    pub fn set_raw(&mut self, index: usize, values: &[f64]) -> Result<String> {
        finite(values)?;
        ensure!(!values.is_empty(), "expected numbers, got none");
        let actuator = &mut self.list[index];
        let part = format!("{}={}", actuator.name, frame(values).trim_matches(['<', '>']));
        if values.len() == actuator.state.len() {
            actuator.state.copy_from_slice(values);
        }
        Ok(part)
    }

    /// Starts a trajectory at this time, in place of the previous one.
    ///
    /// # Errors
    /// It names a joint without a position actuator, or its points are invalid.
    pub fn follow(&mut self, trajectory: &JointTrajectory, now: f64) -> Result<()> {
        let known: BTreeMap<&str, usize> = self
            .with(Interface::Position)
            .into_iter()
            .filter_map(|index| Some((self.list[index].joint.as_deref()?, index)))
            .collect();
        let mut actuators = Vec::new();
        for name in &trajectory.joint_names {
            let Some(&index) = known.get(name.as_str()) else {
                let names = known.keys().copied().collect::<Vec<_>>().join(", ");
                bail!("no actuator holds positions of the joint '{name:.60}'; there are {names}")
            };
            ensure!(!actuators.contains(&index), "the joint '{name}' comes twice");
            actuators.push(index);
        }
        let stamp = trajectory.header.stamp.seconds();
        let start = if stamp == 0.0 { now } else { stamp };
        let from = actuators.iter().map(|&index| self.list[index].state[self.list[index].place]);
        let mut points = vec![(0.0, from.collect::<Vec<f64>>())];
        for (index, point) in trajectory.points.iter().enumerate() {
            let (count, place) = (point.positions.len(), index + 1);
            ensure!(count == actuators.len(), "point {place}: expected {} positions, got {count}", actuators.len());
            finite(&point.positions).with_context(|| format!("point {place}"))?;
            let time = point.time_from_start.seconds();
            let before = points.last().map_or(0.0, |(time, _)| *time);
            let fits = time > before || (index == 0 && time == 0.0);
            ensure!(fits, "point {place}: expected a time_from_start after {before} s, got {time} s");
            points.push((time, point.positions.clone()));
        }
        // Without points it ends the previous one, as in ros2_control.
        self.following = (!trajectory.points.is_empty()).then_some(Following { start, actuators, points });
        Ok(())
    }

    /// Turns the wheels so that the robot moves like this: m/s forwards and rad/s to the left.
    ///
    /// # Errors
    /// When there are no wheels, or a number is not finite.
    pub fn drive(&mut self, twist: &Twist, now: f64) -> Result<String> {
        let Some(drive) = self.drive.clone() else { bail!("this robot has no wheels to drive") };
        let (forwards, left, turn) = (twist.linear.x, twist.linear.y, twist.angular.z);
        finite(&[forwards, left, turn])?;
        let is_moving = (forwards, left, turn) != (0.0, 0.0, 0.0);
        match drive {
            Drive::Wheels { wheels, wheel_radius, track_width, timeout } => {
                self.stop_wheels_at = Some(now + timeout).filter(|_| is_moving);
                let half = 0.5 * turn * track_width;
                let rates = [(forwards - half) / wheel_radius, (forwards + half) / wheel_radius];
                let sides = wheels.iter().zip(rates);
                let wheels =
                    sides.flat_map(|(wheels, rate)| wheels.iter().map(move |&(index, sign)| (index, sign * rate)));
                let parts: Vec<String> = wheels.map(|(index, rate)| self.list[index].set(rate)).collect();
                Ok(parts.join(";"))
            }
            Drive::Vehicle { index, timeout } => {
                self.stop_wheels_at = Some(now + timeout).filter(|_| is_moving);
                match self.list[index].state.len() {
                    3 => self.set_raw(index, &[forwards, left, turn]),
                    _ => self.set_raw(index, &[forwards, turn]),
                }
            }
        }
    }

    /// The commands of the trajectory and the wheels at this time.
    pub fn commands_at(&mut self, now: f64) -> Vec<String> {
        let mut parts = Vec::new();
        if self.stop_wheels_at.is_some_and(|end| now >= end) {
            parts.extend(self.drive(&Twist::default(), now));
        }
        let Some(following) = self.following.take() else { return parts };
        if now < following.start {
            self.following = Some(following);
            return parts;
        }
        let since = now - following.start;
        let positions = interpolate(&following.points, since);
        for (&index, position) in following.actuators.iter().zip(positions) {
            parts.push(self.list[index].set(position));
        }
        if following.points.last().is_some_and(|(end, _)| since < *end) {
            self.following = Some(following);
        }
        parts
    }

    /// Discards commands in progress, when time has been reset.
    pub fn reset(&mut self) {
        self.following = None;
        self.stop_wheels_at = None;
    }
}

fn finite(values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => bail!("number {} is {}, expected a finite one", index + 1, values[index]),
        None => Ok(()),
    }
}

/// Linear interpolation between points; constant before the first and after the last.
fn interpolate(points: &[(f64, Vec<f64>)], time: f64) -> Vec<f64> {
    let next = points.partition_point(|(at, _)| *at <= time);
    match (next.checked_sub(1).and_then(|index| points.get(index)), points.get(next)) {
        (Some((start, from)), Some((end, to))) => {
            let share = (time - start) / (end - start);
            from.iter().zip(to).map(|(from, to)| from + (to - from) * share).collect()
        }
        (Some((_, only)), None) | (None, Some((_, only))) => only.clone(),
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        messages::{Duration, Header, JointTrajectoryPoint, Vector3},
        scene::tests::pendulum,
    };

    const STATES: [&str; 3] = ["<1000,1000,50,0,0,0.25>", "<10,10,10,0,0,0>", "<0,0,0>"];

    /// Position, velocity and effort motors, all on one hinge.
    fn actuators(drive: Option<Drive>) -> Actuators {
        let scene = pendulum();
        let devices = scene.devices.iter().filter(|device| device.actuator);
        let list = devices.zip(STATES).map(|(device, state)| Actuator::new(&scene, device, state).unwrap());
        Actuators::new(list.collect(), drive)
    }

    fn trajectory(names: &[&str], points: &[(i32, &[f64])]) -> JointTrajectory {
        let point = |&(sec, positions): &(i32, &[f64])| JointTrajectoryPoint {
            positions: positions.to_vec(),
            time_from_start: Duration { sec, nanosec: 0 },
            ..JointTrajectoryPoint::default()
        };
        JointTrajectory {
            header: Header::default(),
            joint_names: names.iter().map(|&name| name.to_owned()).collect(),
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn a_number_goes_to_the_free_coordinate_and_the_rest_of_the_command_stays() {
        let mut actuators = actuators(None);
        let set = |actuators: &mut Actuators, interface, value| {
            let which = actuators.with(interface);
            actuators.set_all(&which, &[value]).unwrap()
        };
        assert_eq!(set(&mut actuators, Interface::Position, 0.5), "Motor=1000,1000,50,0,0,0.5");
        assert_eq!(set(&mut actuators, Interface::Velocity, -2.0), "Wheel=10,10,10,0,0,-2");
        assert_eq!(set(&mut actuators, Interface::Effort, 3.0), "Force=0,0,3");
        assert_eq!(actuators.set_raw(1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(), "Wheel=1,2,3,4,5,6");
        assert_eq!(set(&mut actuators, Interface::Velocity, 7.0), "Wheel=1,2,3,4,5,7");
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut actuators = actuators(None);
        let before = actuators.clone();
        let which = actuators.with(Interface::Position);
        for values in [&[][..], &[1.0, 2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(actuators.set_all(&which, values).is_err(), "{values:?}");
        }
        let error = actuators.set_all(&which, &[1.0, 2.0]).unwrap_err().to_string();
        assert_eq!(error, "expected 1 numbers, for Shoulder, got 2");
        assert!(actuators.set_raw(0, &[f64::NAN]).is_err() && actuators.set_raw(0, &[]).is_err());
        for (names, points, expected) in [
            (
                &["Knee"][..],
                &[(1, &[0.0][..])][..],
                "no actuator holds positions of the joint 'Knee'; there are Shoulder",
            ),
            (&["Shoulder", "Shoulder"], &[(1, &[0.0, 0.0])], "the joint 'Shoulder' comes twice"),
            (&["Shoulder"], &[(1, &[0.0, 0.0])], "point 1: expected 1 positions, got 2"),
            (&["Shoulder"], &[(1, &[0.0]), (1, &[1.0])], "point 2: expected a time_from_start after 1 s, got 1 s"),
            (&["Shoulder"], &[(-1, &[0.0])], "point 1: expected a time_from_start after 0 s, got -1 s"),
            (&["Shoulder"], &[(1, &[f64::NAN])], "point 1"),
        ] {
            let error = actuators.follow(&trajectory(names, points), 0.0).unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        assert!(actuators.drive(&Twist::default(), 0.0).is_err());
        assert_eq!(actuators, before);
    }

    #[test]
    fn a_trajectory_goes_straight_from_point_to_point_and_ends_at_the_last() {
        let mut actuators = actuators(None);
        actuators.follow(&trajectory(&["Shoulder"], &[(2, &[1.25]), (3, &[0.25])]), 10.0).unwrap();
        let mut at = |time| actuators.commands_at(time).join("|");
        // It starts at the commanded position of the motor.
        assert_eq!(at(10.0), "Motor=1000,1000,50,0,0,0.25");
        assert_eq!(at(11.0), "Motor=1000,1000,50,0,0,0.75");
        assert_eq!(at(12.5), "Motor=1000,1000,50,0,0,0.75");
        assert_eq!(at(14.0), "Motor=1000,1000,50,0,0,0.25");
        assert_eq!(at(15.0), "");
    }

    #[test]
    fn a_later_command_ends_a_trajectory() {
        let mut actuators = actuators(None);
        actuators.follow(&trajectory(&["Shoulder"], &[(2, &[1.0])]), 0.0).unwrap();
        let which = actuators.with(Interface::Position);
        actuators.set_all(&which, &[0.1]).unwrap();
        assert!(actuators.commands_at(1.0).is_empty());
        actuators.follow(&trajectory(&["Shoulder"], &[(2, &[1.0])]), 0.0).unwrap();
        actuators.follow(&trajectory(&[], &[]), 0.0).unwrap();
        assert!(actuators.commands_at(1.0).is_empty());
        // A trajectory with a time stamp starts at that time.
        let mut later = trajectory(&["Shoulder"], &[(2, &[1.1])]);
        later.header.stamp.sec = 5;
        actuators.follow(&later, 0.0).unwrap();
        assert!(actuators.commands_at(4.9).is_empty());
        assert_eq!(actuators.commands_at(7.0), ["Motor=1000,1000,50,0,0,1.1"]);
    }

    #[test]
    fn wheels_turn_as_the_twist_says_and_stop_when_nothing_follows() {
        let wheels = [vec![(1, 1.0)], vec![(1, -1.0)]];
        let mut actuators =
            actuators(Some(Drive::Wheels { wheels, wheel_radius: 0.5, track_width: 2.0, timeout: 0.5 }));
        let twist =
            |x, z| Twist { linear: Vector3 { x, ..Vector3::default() }, angular: Vector3 { z, ..Vector3::default() } };
        // 1 m/s and 0.5 rad/s to the left: 0.5 m/s at the left wheel and 1.5 at the right, which is mounted the other
        // way.
        let parts = actuators.drive(&twist(1.0, 0.5), 3.0).unwrap();
        assert_eq!(parts, "Wheel=10,10,10,0,0,1;Wheel=10,10,10,0,0,-3");
        assert!(actuators.commands_at(3.4).is_empty());
        assert_eq!(actuators.commands_at(3.5).len(), 1);
        assert!(actuators.commands_at(3.6).is_empty(), "once");
        assert!(actuators.drive(&twist(f64::NAN, 0.0), 4.0).is_err());
    }
}
