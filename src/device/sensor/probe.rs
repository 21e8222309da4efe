//! What each kind of sensor reads, without any imperfection.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_description::{Frame, Measures, Mount, Sensor, World};
use simpartner_dynamics::Engine;
use simpartner_model::{BodyId, JointId, Timestep};

use super::{
    geographic::TangentPlane,
    inertial::Accelerometer,
    joint::{self, LoadCell},
    rays::{self, Rays},
    seat::Seat,
};

/// What a probe carries from step to step.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Memory {
    None,
    /// What an accelerometer saw last.
    Motion([f64; 10]),
    /// How far rays reach.
    Range(f64),
}

/// The measuring part of a sensor.
#[derive(Debug, Clone)]
pub(super) enum Probe {
    /// Reads nothing: it says what it hears.
    Echo,
    Position(Seat),
    Pose(Seat),
    Velocity(Seat, Frame),
    Acceleration(Accelerometer),
    AngularVelocity(Seat),
    Inertial(Accelerometer),
    Geographic(Seat, TangentPlane),
    Heading(Seat, TangentPlane),
    Rays(Rays),
    Contact(Seat, Frame),
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
        let seat = Seat::new(world, body, pose);
        let accelerometer = || Accelerometer::new(seat, world.mechanism.gravity, timestep.seconds());
        let plane = TangentPlane::new(world.geographic_origin);
        match sensor.measures {
            Measures::Position => Self::Position(seat),
            Measures::Pose => Self::Pose(seat),
            Measures::Velocity(frame) => Self::Velocity(seat, frame),
            Measures::Acceleration => Self::Acceleration(accelerometer()),
            Measures::AngularVelocity => Self::AngularVelocity(seat),
            Measures::Inertial => Self::Inertial(accelerometer()),
            Measures::Geographic => Self::Geographic(seat, plane),
            Measures::Heading => Self::Heading(seat, plane),
            Measures::Distance { range } => Self::Rays(Rays::new(seat, rays::single(range))),
            Measures::Scan(scanner) => Self::Rays(Rays::new(seat, scanner)),
            Measures::Contact(frame) => Self::Contact(seat, frame),
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
            Self::Position(seat) => push(seat.point(engine)),
            Self::Pose(seat) => reading.extend(seat.pose(engine).to_array()),
            Self::Velocity(seat, frame) => {
                let spin = engine.body(seat.body).angular_velocity;
                push(seat.in_frame(engine, *frame, seat.velocity(engine)));
                push(seat.in_frame(engine, *frame, spin));
            }
            Self::Acceleration(accelerometer) => push(accelerometer.reading()),
            Self::AngularVelocity(seat) => push(spin_in_sensor(seat, engine)),
            Self::Inertial(accelerometer) => {
                let seat = accelerometer.seat();
                reading.extend(&seat.pose(engine).to_array()[3..]);
                reading.extend(spin_in_sensor(seat, engine).to_array());
                reading.extend(accelerometer.reading().to_array());
            }
            Self::Geographic(seat, plane) => reading.extend(plane.position(seat.point(engine))),
            Self::Heading(seat, plane) => {
                let rotation = seat.pose(engine).rotation;
                reading.push(plane.heading(rotation * DVec3::Z));
                reading.extend((rotation.inverse() * plane.north()).to_array());
            }
            Self::Rays(rays) => rays.read(engine, reading),
            Self::Contact(seat, frame) => {
                let state = engine.body(seat.body);
                push(seat.in_frame(engine, *frame, state.force));
                push(seat.in_frame(engine, *frame, state.torque));
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

    /// What it carries from step to step.
    pub(super) fn memory(&self) -> Memory {
        match self {
            Self::Acceleration(accelerometer) | Self::Inertial(accelerometer) => Memory::Motion(accelerometer.memory()),
            Self::Rays(rays) => Memory::Range(rays.range()),
            _ => Memory::None,
        }
    }

    /// Takes that up again. False if it is of another kind of sensor.
    pub(super) fn recall(&mut self, memory: &Memory) -> bool {
        match (self, memory) {
            (Self::Acceleration(accelerometer) | Self::Inertial(accelerometer), &Memory::Motion(motion)) => {
                accelerometer.recall(motion);
                true
            }
            (Self::Rays(rays), &Memory::Range(range)) => {
                rays.set_range(range);
                true
            }
            (Self::Acceleration(_) | Self::Inertial(_) | Self::Rays(_), _) => false,
            (_, memory) => *memory == Memory::None,
        }
    }

    /// Keeps distances within what it sees. A ray that met nothing reads the range, which no noise changes.
    pub(super) fn limit(&self, truth: &[f64], reading: &mut [f64]) {
        if let Self::Rays(rays) = self {
            let range = rays.range();
            for (distance, &truth) in reading.iter_mut().zip(truth) {
                *distance = if truth < range { distance.min(range) } else { range };
            }
        }
    }

    /// How far it sees from now on, where it sees.
    pub(super) fn set_range(&mut self, range: f64) {
        if let Self::Rays(rays) = self {
            rays.set_range(range);
        }
    }
}

fn spin_in_sensor(seat: &Seat, engine: &dyn Engine) -> DVec3 {
    seat.in_sensor(engine, engine.body(seat.body).angular_velocity)
}
