//! What each kind of sensor measures, without noise.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    geographic::TangentPlane,
    inertial::Accelerometer,
    joint::{self, LoadCell},
    mount_point::MountPoint,
    rays::{self, Rays},
};
use crate::{
    model::{Frame, Measures, Mount, Sensor, World},
    physics::Engine,
    signal::{BodyId, JointId, Timestep},
};

/// The state of a probe between steps.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ProbeState {
    None,
    /// The last motion that an accelerometer saw.
    Motion([f64; 10]),
    /// The range of rays.
    Range(f64),
}

/// The measuring part of a sensor.
#[derive(Debug, Clone)]
pub(super) enum Probe {
    /// Measures nothing; the protocol answers with the last text that was sent.
    Echo,
    Position(MountPoint),
    Pose(MountPoint),
    Velocity(MountPoint, Frame),
    Acceleration(Accelerometer),
    AngularVelocity(MountPoint),
    Inertial(Accelerometer),
    Geographic(MountPoint, TangentPlane),
    Heading(MountPoint, TangentPlane),
    Rays(Rays),
    Contact(MountPoint, Frame),
    Bump(BodyId, f64),
    JointState(JointId),
    JointLoad(LoadCell),
}

impl Probe {
    pub(super) fn new(sensor: &Sensor, world: &World, timestep: Timestep) -> Self {
        let (body, pose) = match sensor.mount {
            Mount::Body { body, pose } => (body, pose),
            Mount::Joint(joint) => {
                return match sensor.measures {
                    Measures::JointLoad(frame) => Self::JointLoad(LoadCell::new(world, joint, frame)),
                    _ => Self::JointState(joint),
                };
            }
        };
        let mount = MountPoint::new(world, body, pose);
        let accelerometer = || Accelerometer::new(mount, world.gravity, timestep.seconds());
        let plane = TangentPlane::new(world.geographic_origin);
        match sensor.measures {
            Measures::Position => Self::Position(mount),
            Measures::Pose => Self::Pose(mount),
            Measures::Velocity(frame) => Self::Velocity(mount, frame),
            Measures::Acceleration => Self::Acceleration(accelerometer()),
            Measures::AngularVelocity => Self::AngularVelocity(mount),
            Measures::Inertial => Self::Inertial(accelerometer()),
            Measures::Geographic => Self::Geographic(mount, plane),
            Measures::Heading => Self::Heading(mount, plane),
            Measures::Distance { range } => Self::Rays(Rays::new(mount, rays::single(range))),
            Measures::Scan(scanner) => Self::Rays(Rays::new(mount, scanner)),
            Measures::Contact(frame) => Self::Contact(mount, frame),
            Measures::Bump { threshold } => Self::Bump(body, threshold),
            // The reader puts these on joints, and an echo needs no place.
            Measures::Echo | Measures::JointState | Measures::JointLoad(_) => Self::Echo,
        }
    }

    /// Looks at the state before the first step.
    pub(super) fn start(&mut self, engine: &dyn Engine) {
        if let Self::Acceleration(accelerometer) | Self::Inertial(accelerometer) = self {
            accelerometer.start(engine);
        }
    }

    /// Looks at the state after a step, whether a reading is due or not.
    pub(super) fn follow(&mut self, engine: &dyn Engine) {
        if let Self::Acceleration(accelerometer) | Self::Inertial(accelerometer) = self {
            accelerometer.follow(engine);
        }
    }

    /// Puts the fields of a reading into an empty list.
    pub(super) fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let mut push = |vector: DVec3| reading.extend(vector.to_array());
        match self {
            Self::Echo => {}
            Self::Position(mount) => push(mount.point(engine)),
            Self::Pose(mount) => reading.extend(mount.pose(engine).to_array()),
            Self::Velocity(mount, frame) => {
                let spin = engine.body(mount.body).angular_velocity;
                push(mount.in_frame(engine, *frame, mount.velocity(engine)));
                push(mount.in_frame(engine, *frame, spin));
            }
            Self::Acceleration(accelerometer) => push(accelerometer.reading()),
            Self::AngularVelocity(mount) => push(spin_in_sensor(mount, engine)),
            Self::Inertial(accelerometer) => {
                let mount = accelerometer.mount();
                reading.extend(&mount.pose(engine).to_array()[3..]);
                reading.extend(spin_in_sensor(mount, engine).to_array());
                reading.extend(accelerometer.reading().to_array());
            }
            Self::Geographic(mount, plane) => reading.extend(plane.position(mount.point(engine))),
            Self::Heading(mount, plane) => {
                let rotation = mount.pose(engine).rotation;
                reading.push(plane.heading(rotation * DVec3::Z));
                reading.extend((rotation.inverse() * plane.north()).to_array());
            }
            Self::Rays(rays) => rays.read(engine, reading),
            Self::Contact(mount, frame) => {
                let state = engine.body(mount.body);
                push(mount.in_frame(engine, *frame, state.force));
                push(mount.in_frame(engine, *frame, state.torque));
            }
            Self::Bump(body, threshold) => {
                let touching = engine.contacts().iter().filter(|contact| contact.bodies.contains(&Some(*body)));
                let force: f64 = touching.map(|contact| contact.wrench.force.dot(contact.normal).abs()).sum();
                reading.extend([f64::from(force >= *threshold), force]);
            }
            Self::JointState(joint) => joint::read_state(*joint, engine, reading),
            Self::JointLoad(cell) => cell.read(engine, reading),
        }
    }

    /// Its state between steps.
    pub(super) fn state(&self) -> ProbeState {
        match self {
            Self::Acceleration(accelerometer) | Self::Inertial(accelerometer) => {
                ProbeState::Motion(accelerometer.state())
            }
            Self::Rays(rays) => ProbeState::Range(rays.range()),
            _ => ProbeState::None,
        }
    }

    /// Goes on from such a state. False if it is of another kind of sensor.
    pub(super) fn restore(&mut self, state: &ProbeState) -> bool {
        match (self, state) {
            (Self::Acceleration(accelerometer) | Self::Inertial(accelerometer), &ProbeState::Motion(motion)) => {
                accelerometer.restore(motion);
                true
            }
            (Self::Rays(rays), &ProbeState::Range(range)) => {
                rays.set_range(range);
                true
            }
            (Self::Acceleration(_) | Self::Inertial(_) | Self::Rays(_), _) => false,
            (_, state) => *state == ProbeState::None,
        }
    }

    /// Limits distances to the range. A ray that met nothing reads the range, without noise.
    pub(super) fn limit(&self, truth: &[f64], reading: &mut [f64]) {
        if let Self::Rays(rays) = self {
            let range = rays.range();
            for (distance, &truth) in reading.iter_mut().zip(truth) {
                *distance = if truth < range { distance.min(range) } else { range };
            }
        }
    }

    /// Sets the range, if it has one.
    pub(super) fn set_range(&mut self, range: f64) {
        if let Self::Rays(rays) = self {
            rays.set_range(range);
        }
    }
}

fn spin_in_sensor(mount: &MountPoint, engine: &dyn Engine) -> DVec3 {
    mount.in_sensor(engine, engine.body(mount.body).angular_velocity)
}
