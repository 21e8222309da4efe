//! What each kind of sensor measures, without noise.
//!
//! [`probe`] has an arm for each kind. A kind that reads the present state is a closure in its arm; one with a memory of its own is
//! a type in a file beside this one.

use bevy_math::DVec3;
use simpartner_description::{Frame, Mount, Sensor, World};
use simpartner_dynamics::Engine;
use simpartner_model::{BodyId, JointId, Pose, Timestep};
use simpartner_wire::signal::DeviceKind;

use super::{
    geographic::TangentPlane,
    inertial::{Accelerometer, InertialUnit},
    joint,
    load::{LoadCell, Source},
    mount_point::MountPoint,
    probe::Probe,
    rays::RaySensor,
};

/// A probe that reads a vector.
fn vector(read: impl Fn(&dyn Engine) -> DVec3 + Send + 'static) -> Box<dyn Probe> {
    boxed(move |engine, reading| reading.extend(read(engine).to_array()))
}

/// A probe from a closure; the bound tells the compiler the types of its arguments.
fn boxed(read: impl Fn(&dyn Engine, &mut Vec<f64>) + Send + 'static) -> Box<dyn Probe> {
    Box::new(read)
}

/// The probe of a sensor.
pub(super) fn probe(sensor: &Sensor, world: &World, timestep: Timestep) -> Box<dyn Probe> {
    match sensor.mount {
        Mount::Body { body, pose } => on_body(sensor, MountPoint::new(world, body, pose), world, timestep),
        Mount::Joint(id) => match sensor.kind {
            DeviceKind::ForceTorqueSensor => Box::new(in_joint(world, id, sensor.options.frame)),
            _ => boxed(move |engine, reading| joint::read_state(id, engine, reading)),
        },
    }
}

fn on_body(sensor: &Sensor, mount: MountPoint, world: &World, timestep: Timestep) -> Box<dyn Probe> {
    let frame = sensor.options.frame;
    let plane = TangentPlane::new(world.geographic_origin);
    let accelerometer = || Accelerometer::new(mount, world.mechanism.gravity, timestep.seconds());
    match sensor.kind {
        DeviceKind::PositionSensor => vector(move |engine| mount.point(engine)),
        DeviceKind::PoseSensor => boxed(move |engine, reading| reading.extend(mount.pose(engine).to_array())),
        DeviceKind::VelocitySensor => boxed(move |engine, reading| {
            let spin = engine.body(mount.body).angular_velocity;
            reading.extend(mount.in_frame(engine, frame, mount.velocity(engine)).to_array());
            reading.extend(mount.in_frame(engine, frame, spin).to_array());
        }),
        DeviceKind::Accelerometer => Box::new(accelerometer()),
        DeviceKind::Gyroscope => vector(move |engine| mount.spin(engine)),
        DeviceKind::ImuSensor => Box::new(InertialUnit(accelerometer())),
        DeviceKind::GnssSensor => boxed(move |engine, reading| reading.extend(plane.position(mount.point(engine)))),
        DeviceKind::CompassSensor => boxed(move |engine, reading| {
            let rotation = mount.pose(engine).rotation;
            reading.push(plane.heading(rotation * DVec3::Z));
            reading.extend((rotation.inverse() * plane.north()).to_array());
        }),
        DeviceKind::DistanceSensor | DeviceKind::ScannerSensor => {
            Box::new(RaySensor::new(mount, sensor.rays().unwrap_or_default()))
        }
        DeviceKind::ContactSensor => {
            let axes = (frame != Frame::World).then_some((mount.body, mount.pose_on_body));
            Box::new(LoadCell::new(Source::Contacts(mount.body), axes))
        }
        DeviceKind::SoilSensor => boxed(move |engine, reading| {
            let soil = engine.soil(mount.body).unwrap_or_default();
            reading.extend([soil.sinkage, soil.slip, soil.slip_angle]);
            reading.extend([soil.normal_force, soil.drawbar_pull, soil.lateral_force, soil.resistance, soil.torque]);
        }),
        DeviceKind::BumperSensor => bumper(mount.body, sensor.options.threshold),
        // An echo measures nothing: the protocol answers with the last text that was sent. The others are not on bodies.
        DeviceKind::EchoSensor
        | DeviceKind::JointEncoder
        | DeviceKind::ForceTorqueSensor
        | DeviceKind::JointController
        | DeviceKind::AngleController
        | DeviceKind::PositionController
        | DeviceKind::EffortController
        | DeviceKind::ForceActuator
        | DeviceKind::ConveyorController => boxed(|_, _| {}),
    }
}

/// A load cell in a joint, which reads in the axes of the world, of the joint's parent or of its child.
fn in_joint(world: &World, id: JointId, frame: Frame) -> LoadCell {
    let joint = world.mechanism.joint(id);
    let axes = match frame {
        Frame::World => None,
        Frame::Parent => Some(joint.parent),
        Frame::Child | Frame::Sensor => Some(joint.child),
    };
    LoadCell::new(Source::Joint(id), axes.map(|body| (body, Pose::IDENTITY)))
}

/// Whether a body is pressed with at least this force, and the sum of the normal forces of its contacts.
fn bumper(body: BodyId, threshold: f64) -> Box<dyn Probe> {
    boxed(move |engine, reading| {
        let touching = engine.contacts().iter().filter(|contact| contact.bodies.contains(&Some(body)));
        let force: f64 = touching.map(|contact| contact.wrench.force.dot(contact.normal).abs()).sum();
        reading.extend([f64::from(force >= threshold), force]);
    })
}
