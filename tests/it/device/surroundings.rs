//! Sensors of the surroundings: rays, contacts, and loads of joints.

use std::{f64::consts::FRAC_PI_2, path::Path, sync::Arc};

use bevy_math::{DQuat, DVec3};
use simpartner::sim::Simulation;
use simpartner_description::{DeviceSpec, Frame, Noise, OnTimeout, Scanner, Sensor, Watchdog, World, xml};
use simpartner_dynamics::{EngineKind, Settings};
use simpartner_model::{BodyId, JointId, JointKind, Pose, Timestep};
use simpartner_wire::signal::DeviceKind;

use super::{Run, cube_at, device, is_exact, near, pose};
use crate::scene::{self, G, as_robot, body, cube, joint, with_plane};

const CUBE: BodyId = BodyId::new(0);

#[test]
fn a_distance_sensor_is_a_scanner_of_one_ray() {
    let mut world = with_plane(cube_at(3.0), 1.0);
    let down = pose(DVec3::new(0.0, -0.5, 0.0), DQuat::from_rotation_x(FRAC_PI_2));
    world.devices = vec![
        device(
            "far",
            Sensor::on(CUBE, down, DeviceKind::DistanceSensor).with_rays(Scanner { range: 10.0, ..Scanner::default() }),
        ),
        device(
            "short",
            Sensor::on(CUBE, down, DeviceKind::DistanceSensor).with_rays(Scanner { range: 2.0, ..Scanner::default() }),
        ),
        device(
            "level",
            Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::DistanceSensor)
                .with_rays(Scanner { range: 7.0, ..Scanner::default() }),
        ),
    ];
    let run = Run::of(world);
    near(&[run.read("far")[0], run.read("short")[0], run.read("level")[0]], &[2.5, 2.0, 7.0], 1e-9);
}

/// 2 m above the ground, a fan tilted down by e meets it after 2 / sin e along its middle; a ray at the azimuth a in
/// the same fan has the same fall, and so the same length. Fans that do not point down read the range.
#[test]
fn a_scanner_of_several_layers_looks_over_and_under() {
    let mut world = with_plane(cube_at(2.0), 1.0);
    let scanner = Scanner { rays: 5, half_angle: 0.6, layers: 3, vertical_half_angle: 0.4, range: 20.0 };
    world.devices =
        vec![device("scanner", Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::ScannerSensor).with_rays(scanner))];
    let run = Run::of(world);
    let read = run.read("scanner");
    near(&read[..5], &[2.0 / 0.4f64.sin(); 5], 1e-9);
    near(&read[5..], &[20.0; 10], 0.0);
    let fields = &run.simulation.layout().devices()[0].fields;
    assert_eq!(
        (fields[0].name.as_str(), fields[14].name.as_str(), fields[14].highest),
        ("distance_1_1", "distance_3_5", 20.0)
    );
}

#[test]
fn contact_and_bumper_feel_the_weight() {
    let mut world = with_plane(cube_at(0.5), 1.0);
    let weight = 2.0 * G;
    let turned = pose(DVec3::ZERO, DQuat::from_rotation_z(FRAC_PI_2));
    world.devices = vec![
        device("contact", Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::ContactSensor).in_frame(Frame::World)),
        device("turned", Sensor::on(CUBE, turned, DeviceKind::ContactSensor).in_frame(Frame::Sensor)),
        device("light", Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::BumperSensor).with_threshold(19.0)),
        device("heavy", Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::BumperSensor).with_threshold(20.0)),
    ];
    let mut run = Run::of(world);
    assert_eq!(run.read("light"), [0.0, 0.0]);
    run.steps(2000);
    let tolerance = if is_exact() { 1e-9 } else { 1e-2 };
    near(&run.read("contact"), &[0.0, weight, 0.0, 0.0, 0.0, 0.0], tolerance);
    near(&run.read("turned"), &[weight, 0.0, 0.0, 0.0, 0.0, 0.0], tolerance);
    near(&run.read("light"), &[1.0, weight], tolerance);
    near(&run.read("heavy"), &[0.0, weight], tolerance);
}

/// An arm of 3 kg that extends by 0.5 m from a post, on a joint of this kind; its axes are rotated by 90 degrees about
/// y.
fn post_and_arm(kind: JointKind) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("post", 1.0, cube(0.1), DVec3::new(0.0, 2.0, 0.0)));
    world.mechanism.bodies[0].fixed = true;
    let mut arm = body("arm", 3.0, cube(0.2), DVec3::new(0.5, 2.0, 0.0));
    arm.pose.rotation = DQuat::from_rotation_y(FRAC_PI_2);
    world.mechanism.bodies.push(arm);
    world.mechanism.joints.push(joint("shoulder", kind, 0, 1, DVec3::new(0.0, 2.0, 0.0)));
    as_robot(world)
}

#[test]
fn a_joint_carries_what_hangs_on_it() {
    let mut world = post_and_arm(JointKind::Fixed);
    // A vane on the post, so that the world has a moving body.
    world.mechanism.bodies.push(body("vane", 0.1, cube(0.1), DVec3::new(-0.5, 2.0, 0.0)));
    world.mechanism.joints.push(joint("pin", JointKind::Hinge, 0, 2, DVec3::new(-0.4, 2.0, 0.0)));
    let mut world = as_robot(world);
    let cell = |frame| Sensor::of(JointId::new(0), DeviceKind::ForceTorqueSensor).in_frame(frame);
    world.devices = vec![
        device("world", cell(Frame::World)),
        device("parent", cell(Frame::Parent)),
        device("child", cell(Frame::Child)),
    ];
    let rapier = Settings { engine: EngineKind::Rapier, ..Settings::default() };
    let refusal = Simulation::new(Arc::new(world.clone()), Timestep::MILLISECOND, rapier).err().unwrap();
    assert_eq!(
        refusal.to_string(),
        "robot.xml:7: the engine 'rapier' does not tell what a joint transmits, so ForceTorqueSensor 'world' has nothing to \
         read; use physics.engine = \"dynamics\""
    );
    if is_exact() {
        let mut run = Run::of(world);
        run.steps(10);
        let (weight, torque) = (3.0 * G, 3.0 * G * 0.5);
        near(&run.read("world"), &[0.0, weight, 0.0, 0.0, 0.0, torque], 1e-9);
        assert_eq!(run.read("parent"), run.read("world"));
        // The arm's x axis has the direction of -z, so the torque about z is one about its -x.
        near(&run.read("child"), &[0.0, weight, 0.0, -torque, 0.0, 0.0], 1e-9);
    }
}

/// The arm swings: the first step from rest brings m g r / I about the axle, I = m a² / 6 + m r².
#[test]
fn an_encoder_tells_the_angle_and_its_rate() {
    let mut world = post_and_arm(JointKind::Hinge);
    world.devices = vec![device("encoder", Sensor::of(JointId::new(0), DeviceKind::JointEncoder))];
    let mut run = Run::of(world);
    assert_eq!(run.read("encoder"), [0.0; 6]);
    run.steps(1);
    let acceleration = -3.0 * G * 0.5 / (3.0 * 0.04 / 6.0 + 3.0 * 0.25);
    let read = run.read("encoder");
    near(&[read[5]], &[acceleration * 1e-3], 1e-7);
    run.steps(400);
    let joint = &run.record.values[run.simulation.layout().joint(JointId::new(0))];
    assert_eq!(run.read("encoder"), joint[3..9]);
    assert!(joint[5] < -0.5, "it swings down: {joint:?}");
}

/// Sensors of every type on WorkPartner 4 while it drives: no bit of bodies and joints changes. (Its tyres are soft,
/// which rapier does not support; there the test uses WorkPartner 1.)
#[test]
fn adding_sensors_to_a_robot_changes_no_bit_of_the_physics() {
    let file = if is_exact() { "balance.xml" } else { "flat.xml" };
    let world = xml::read_world(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/worlds")).join(file)).unwrap();
    let mut watched = world.clone();
    let body = world.mechanism.body_named(Some(simpartner_model::RobotId::new(0)), "FrontChassis").unwrap();
    let on = |kind| Sensor { latency_s: 0.005, dropout: 0.2, ..Sensor::on(body, Pose::IDENTITY, kind) };
    let mut sensors = vec![
        on(DeviceKind::PositionSensor),
        on(DeviceKind::PoseSensor),
        on(DeviceKind::VelocitySensor).in_frame(Frame::Sensor),
        on(DeviceKind::Accelerometer),
        on(DeviceKind::Gyroscope),
        on(DeviceKind::ImuSensor),
        on(DeviceKind::GnssSensor),
        on(DeviceKind::CompassSensor),
        on(DeviceKind::DistanceSensor).with_rays(Scanner { range: 5.0, ..Scanner::default() }),
        on(DeviceKind::ScannerSensor).with_rays(Scanner { layers: 2, vertical_half_angle: 0.1, ..Scanner::default() }),
        on(DeviceKind::ContactSensor).in_frame(Frame::World),
        on(DeviceKind::BumperSensor).with_threshold(1.0),
        Sensor::of(JointId::new(0), DeviceKind::JointEncoder),
    ];
    if is_exact() {
        sensors.push(Sensor::of(JointId::new(0), DeviceKind::ForceTorqueSensor).in_frame(Frame::Child));
    }
    watched.devices.splice(0..0, sensors.into_iter().enumerate().map(|(i, sensor)| device(&format!("s{i}"), sensor)));
    let drive = |world: World| {
        let mut run = Run::of(world);
        for step in 0..300 {
            if step == 20 {
                run.drive("WheelMotor1", &[1000.0, 1000.0, 100.0, 0.0, 0.0, 2.0]);
            }
            run.steps(1);
        }
        run.physics().iter().map(|value| value.to_bits()).collect::<Vec<u64>>()
    };
    assert_eq!(drive(watched), drive(world));
}

/// The built-in example has one of every kind. Its noise, motor and watchdog are in the model, and it runs.
#[test]
fn the_examples_have_one_of_every_kind() {
    let shipped = |name: &str| {
        xml::read_world(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds").join(name)).unwrap()
    };
    let mut world = shipped("square.xml");
    let others = ["vehicles.xml", "air.xml", "water.xml"].map(shipped);
    let devices = || others.iter().flat_map(|other| &other.devices).chain(&world.devices);
    for kind in DeviceKind::ALL {
        assert!(devices().any(|device| device.spec.kind() == kind), "no {kind}");
    }
    let named = |name: &str| world.devices.iter().find(|device| device.name == name).unwrap();
    let DeviceSpec::Sensor(imu) = &named("Imu").spec else { panic!("the IMU is a sensor") };
    let spin = Noise { standard_deviation: 0.002, bias: 0.001, drift: 0.0001, quantisation: 0.0005 };
    assert_eq!(
        imu.noise,
        [Noise::default(), spin, Noise { standard_deviation: 0.02, bias: -0.05, ..Noise::default() }]
    );
    assert_eq!((imu.rate_hz, imu.latency_s, imu.dropout), (Some(200.0), 0.005, 0.0));
    let DeviceSpec::Actuator(motor) = &named("NeckMotor").spec else { panic!("the motor is an actuator") };
    let limits = motor.motor.unwrap();
    near(&[limits.stall_effort, limits.no_load_rate, limits.efficiency], &[25.0, 6.0, 0.8], 1e-12);
    assert_eq!(motor.watchdog, Some(Watchdog { timeout_s: 0.5, action: OnTimeout::Brake }));
    // Rotor and friction are the joint's from then on.
    let axis = *world.mechanism.joint(named("NeckMotor").spec.joint().unwrap()).axes[2].free().unwrap();
    near(&[axis.armature, axis.friction], &[2500.0 * 2e-5, 50.0 * 0.004], 1e-12);
    assert!((world.geographic_origin.latitude.to_degrees() - 60.1867).abs() < 1e-12);
    if is_exact() {
        let mut run = Run::of(world);
        run.steps(1000);
        let fields = run.simulation.layout().devices().iter().map(|info| info.fields.len()).sum::<usize>();
        let devices = &run.record.values[run.record.values.len() - fields..];
        assert!(devices.iter().all(|value| value.is_finite()));
        // The total mass is 15 kg; the face of the wall is at 7.9 m, the sensor 0.5 m ahead of the middle.
        near(&run.read("Contact")[..3], &[0.0, 15.0 * G, 0.0], 1e-6);
        assert_eq!(run.read("Distance"), [4.0]);
        near(&run.read("Scanner")[90..91], &[7.9], 1e-3);
    } else {
        // The second engine lacks some features of the example, and reports that.
        world.devices.retain(|device| device.spec.kind() != DeviceKind::ForceTorqueSensor);
        let built = Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings());
        let refusal = built.err().unwrap().to_string();
        assert!(refusal.contains("instruments.xml:"), "{refusal}");
    }
}
