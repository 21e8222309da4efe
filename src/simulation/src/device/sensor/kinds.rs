//! The noiseless measurement of each kind of sensor.
//!
//! [`probe`] and [`on_body`] have an arm for each kind. A kind that reads the present state is a closure in
//! its arm. A kind with a state of its own is a type in another file of this folder.

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
    odometry::Odometry,
    probe::Probe,
    rays::RaySensor,
};

/// A probe of a vector, from a closure.
fn vector_probe(read: impl Fn(&dyn Engine) -> DVec3 + Send + 'static) -> Box<dyn Probe> {
    closure_probe(move |engine, reading| reading.extend(read(engine).to_array()))
}

/// A probe from a closure. The bound tells the compiler the types of the closure's arguments.
fn closure_probe(read: impl Fn(&dyn Engine, &mut Vec<f64>) + Send + 'static) -> Box<dyn Probe> {
    Box::new(read)
}

/// Creates the probe of a sensor.
pub(super) fn probe(sensor: &Sensor, world: &World, timestep: Timestep) -> Box<dyn Probe> {
    match sensor.mount {
        Mount::Body { body, pose } => on_body(sensor, MountPoint::new(world, body, pose), world, timestep),
        Mount::Joint(id) => match sensor.kind {
            DeviceKind::ForceTorqueSensor => Box::new(joint_load_cell(world, id, sensor.options.frame)),
            _ => closure_probe(move |engine, reading| joint::read_state(id, engine, reading)),
        },
    }
}

fn on_body(sensor: &Sensor, mount: MountPoint, world: &World, timestep: Timestep) -> Box<dyn Probe> {
    let frame = sensor.options.frame;
    let plane = TangentPlane::new(world.geographic_origin);
    let accelerometer = || Accelerometer::new(mount, world.mechanism.gravity, timestep.seconds());
    match sensor.kind {
        DeviceKind::PositionSensor => vector_probe(move |engine| mount.point(engine)),
        DeviceKind::PoseSensor => closure_probe(move |engine, reading| reading.extend(mount.pose(engine).to_array())),
        DeviceKind::VelocitySensor => velocity_probe(mount, frame),
        DeviceKind::Accelerometer => Box::new(accelerometer()),
        DeviceKind::Gyroscope => vector_probe(move |engine| mount.angular_velocity(engine)),
        DeviceKind::ImuSensor => Box::new(InertialUnit(accelerometer())),
        DeviceKind::GnssSensor => {
            closure_probe(move |engine, reading| reading.extend(plane.position(mount.point(engine))))
        }
        DeviceKind::CompassSensor => compass_probe(mount, plane),
        DeviceKind::MagnetometerSensor => {
            let field = world.magnetic_field.unwrap_or_else(|| plane.earth_field());
            vector_probe(move |engine| mount.vector_in_frame(engine, Frame::Sensor, field))
        }
        DeviceKind::DistanceSensor | DeviceKind::ScannerSensor => {
            Box::new(RaySensor::new(mount, sensor.rays().unwrap_or_default()))
        }
        DeviceKind::ContactSensor => {
            let axes = (frame != Frame::World).then_some((mount.body, mount.pose_on_body));
            Box::new(LoadCell::new(Source::Contacts(mount.body), axes))
        }
        DeviceKind::SoilSensor => soil_probe(mount.body),
        DeviceKind::BumperSensor => bumper_probe(mount.body, sensor.options.threshold),
        DeviceKind::AltimeterSensor => altimeter_probe(mount, world),
        DeviceKind::BarometerSensor => barometer_probe(mount, world),
        DeviceKind::AirSpeedSensor => air_speed_probe(mount, world),
        DeviceKind::OdometrySensor => match &sensor.vehicle {
            Some(vehicle) => Box::new(Odometry::of_vehicle(vehicle, timestep)),
            None => closure_probe(|_, _| {}),
        },
        // An echo measures nothing: the protocol answers with the last text that was sent. A camera reads the step of
        // its image. The other kinds are not mounted on bodies, or are actuators.
        DeviceKind::EchoSensor
        | DeviceKind::Camera
        | DeviceKind::DepthCamera
        | DeviceKind::SegmentationCamera
        | DeviceKind::RgbdCamera
        | DeviceKind::JointEncoder
        | DeviceKind::ForceTorqueSensor
        | DeviceKind::JointController
        | DeviceKind::AngleController
        | DeviceKind::PositionController
        | DeviceKind::EffortController
        | DeviceKind::ForceActuator
        | DeviceKind::ConveyorController
        | DeviceKind::PropellerController
        | DeviceKind::DifferentialDriveController
        | DeviceKind::AckermannController
        | DeviceKind::OmnidirectionalController
        | DeviceKind::TrackController => closure_probe(|_, _| {}),
    }
}

/// A load cell in a joint. It reads in the axes of the world, of the joint's parent or of its child.
fn joint_load_cell(world: &World, id: JointId, frame: Frame) -> LoadCell {
    let joint = world.mechanism.joint(id);
    let axes = match frame {
        Frame::World => None,
        Frame::Parent => Some(joint.parent),
        Frame::Child | Frame::Sensor => Some(joint.child),
    };
    LoadCell::new(Source::Joint(id), axes.map(|body| (body, Pose::IDENTITY)))
}

/// A bumper: 1 if the sum of the normal forces of the body's contacts is at least `threshold`, N, else 0; then that
/// sum, N.
fn bumper_probe(body: BodyId, threshold: f64) -> Box<dyn Probe> {
    closure_probe(move |engine, reading| {
        let touching = engine.contacts().iter().filter(|contact| contact.bodies.contains(&Some(body)));
        let force: f64 = touching.map(|contact| contact.wrench.force.dot(contact.normal).abs()).sum();
        reading.extend([f64::from(force >= threshold), force]);
    })
}

fn velocity_probe(mount: MountPoint, frame: Frame) -> Box<dyn Probe> {
    closure_probe(move |engine, reading| {
        let spin = engine.body(mount.body).angular_velocity;
        reading.extend(mount.vector_in_frame(engine, frame, mount.velocity(engine)).to_array());
        reading.extend(mount.vector_in_frame(engine, frame, spin).to_array());
    })
}

fn compass_probe(mount: MountPoint, plane: TangentPlane) -> Box<dyn Probe> {
    closure_probe(move |engine, reading| {
        let rotation = mount.pose(engine).rotation;
        reading.push(plane.heading(rotation * DVec3::Z));
        reading.extend((rotation.inverse() * plane.north()).to_array());
    })
}

fn soil_probe(body: BodyId) -> Box<dyn Probe> {
    closure_probe(move |engine, reading| {
        let soil = engine.soil_reading(body).unwrap_or_default();
        reading.extend([soil.sinkage, soil.slip, soil.slip_angle]);
        reading.extend([soil.normal_force, soil.drawbar_pull, soil.lateral_force, soil.resistance, soil.torque]);
    })
}

/// An altimeter: height above the start, m, and vertical velocity, m/s.
fn altimeter_probe(mount: MountPoint, world: &World) -> Box<dyn Probe> {
    let start = world.mechanism.body(mount.body).pose.point(mount.pose_on_body.translation).y;
    closure_probe(move |engine, reading| {
        reading.extend([mount.point(engine).y - start, mount.velocity(engine).y]);
    })
}

/// A barometer: pressure, Pa.
fn barometer_probe(mount: MountPoint, world: &World) -> Box<dyn Probe> {
    let (fluids, gravity) = (world.mechanism.fluids, world.mechanism.gravity.length());
    closure_probe(move |engine, reading| reading.push(fluids.pressure_at(mount.point(engine).y, gravity)))
}

/// A sensor of air speed: velocity of the flow past it, m/s, and the dynamic pressure of its part against z, Pa.
fn air_speed_probe(mount: MountPoint, world: &World) -> Box<dyn Probe> {
    let fluids = world.mechanism.fluids;
    closure_probe(move |engine, reading| {
        let fluid = fluids.at(mount.point(engine), DVec3::ZERO);
        let flow = mount.vector_in_frame(engine, Frame::Sensor, fluid.velocity - mount.velocity(engine));
        let against = (-flow.z).max(0.0);
        reading.extend(flow.to_array());
        reading.push(0.5 * fluid.density * against * against);
    })
}
