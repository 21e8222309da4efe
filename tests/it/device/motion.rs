//! Sensors of motion. The ground supports a body at rest, so its accelerometer reads +g upwards. In free fall no force
//! acts except gravity: it reads 0. On a spinning body it reads the centripetal acceleration at its position.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use bevy_math::{DQuat, DVec3};
use simpartner_description::{Frame, GeographicOrigin, Sensor, World};
use simpartner_model::{BodyId, JointId, JointKind, Pose};
use simpartner_wire::signal::DeviceKind;

use super::{H, Run, cube_at, device, is_exact, near, pose};
use crate::scene::{self, G, as_robot, body, cube, with_plane};

const CUBE: BodyId = BodyId::new(0);

fn on(at: DVec3, rotation: DQuat, kind: DeviceKind) -> Sensor {
    Sensor::on(CUBE, pose(at, rotation), kind)
}

#[test]
fn at_rest_an_accelerometer_reads_g_upwards_whatever_way_it_is_mounted() {
    let mut world = with_plane(cube_at(0.5), 1.0);
    let sideways = DQuat::from_rotation_z(FRAC_PI_2);
    world.devices = vec![
        device("level", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::Accelerometer)),
        device("sideways", on(DVec3::new(0.3, 0.2, 0.1), sideways, DeviceKind::Accelerometer)),
        device("velocity", on(DVec3::ONE, DQuat::IDENTITY, DeviceKind::VelocitySensor).in_frame(Frame::World)),
        device("gyroscope", on(DVec3::ZERO, sideways, DeviceKind::Gyroscope)),
        device("imu", on(DVec3::ZERO, sideways, DeviceKind::ImuSensor)),
    ];
    let mut run = Run::of(world);
    // Before the first step it reads as if its velocity were constant.
    near(&run.read("sideways"), &[G, 0.0, 0.0], 1e-12);
    run.steps(2000);
    let tolerance = if is_exact() { 1e-9 } else { 1e-2 };
    near(&run.read("level"), &[0.0, G, 0.0], tolerance);
    // Rotated by 90 degrees about z, its x axis has the direction of y.
    near(&run.read("sideways"), &[G, 0.0, 0.0], tolerance);
    near(&run.read("velocity"), &[0.0; 6], tolerance);
    near(&run.read("gyroscope"), &[0.0; 3], tolerance);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    near(&run.read("imu"), &[0.0, 0.0, half, half, 0.0, 0.0, 0.0, G, 0.0, 0.0], tolerance);
}

/// In free fall v = -g t in the engine's own arithmetic, a sum of equal parts: n roundings at most.
#[test]
fn in_free_fall_an_accelerometer_reads_nothing() {
    let mut world = cube_at(100.0);
    world.devices = vec![
        device("accelerometer", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::Accelerometer)),
        device("velocity", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::VelocitySensor).in_frame(Frame::World)),
        device("position", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::PositionSensor)),
        device("imu", on(DVec3::new(0.2, 0.0, 0.0), DQuat::IDENTITY, DeviceKind::ImuSensor)),
        device("contact", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::ContactSensor).in_frame(Frame::World)),
        device("bumper", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::BumperSensor).with_threshold(1.0)),
    ];
    let mut run = Run::of(world);
    run.steps(1000);
    near(&run.read("accelerometer"), &[0.0; 3], 1e-9);
    near(&run.read("velocity"), &[0.0, -G, 0.0, 0.0, 0.0, 0.0], 1e-11);
    near(&run.read("imu"), &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-9);
    near(&run.read("contact"), &[0.0; 6], 0.0);
    near(&run.read("bumper"), &[0.0; 2], 0.0);
    assert_eq!(run.read("position"), run.physics()[..3]);
    if is_exact() {
        near(&run.read("position"), &[0.0, 100.0 - G / 2.0, 0.0], 1e-10);
    }
}

/// A falling cube spins about y at 10 rad/s; a place 0.5 m from its middle is drawn inwards with omega² r = 50 m/s².
/// The mean over a step is shorter by (omega h)² / 24, which is 4e-6.
#[test]
fn on_a_spinning_body_a_place_off_the_axis_feels_its_centripetal_acceleration() {
    let (omega, arm) = (10.0, 0.5);
    let mut world = cube_at(100.0);
    world.mechanism.bodies[0].angular_velocity = DVec3::new(0.0, omega, 0.0);
    let rim = DVec3::new(arm, 0.0, 0.0);
    world.devices = vec![
        device("middle", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::Accelerometer)),
        device("rim", on(rim, DQuat::IDENTITY, DeviceKind::Accelerometer)),
        device("inSensor", on(rim, DQuat::IDENTITY, DeviceKind::VelocitySensor).in_frame(Frame::Sensor)),
        device("tilted", on(rim, DQuat::from_rotation_x(FRAC_PI_2), DeviceKind::Gyroscope)),
        device("pose", on(rim, DQuat::IDENTITY, DeviceKind::PoseSensor)),
    ];
    let mut run = Run::of(world);
    run.steps(100);
    near(&run.read("middle"), &[0.0; 3], 1e-8);
    let share = 1.0 - (omega * H).powi(2) / 24.0;
    let tolerance = if is_exact() { 1e-6 } else { 0.1 };
    near(&run.read("rim"), &[-omega * omega * arm * share, 0.0, 0.0], tolerance);
    // y cross x is -z: the rim moves backwards along its own z axis, and the whole falls.
    near(&run.read("inSensor"), &[0.0, -G * 0.1, -omega * arm, 0.0, omega, 0.0], 1e-6);
    // The -z axis of a sensor rotated by 90 degrees about x has the direction of y.
    near(&run.read("tilted"), &[0.0, 0.0, -omega], 1e-9);
    let turned = omega * 100.0 * H;
    let read = run.read("pose");
    near(&[read[0], read[2]], &[arm * turned.cos(), -arm * turned.sin()], 1e-4);
    near(&read[3..], &[0.0, (turned / 2.0).sin(), 0.0, (turned / 2.0).cos()], 1e-4);
}

/// A bar turns evenly at 10 rad/s about a fixed pin. The pin's force is m omega² r along the bar and zero across it, in
/// the bar's axes at the time of the force. In the axes at the end of the step, a fraction omega h / 2 of it, 0.5 N,
/// would be across.
#[test]
fn a_load_cell_reads_in_the_axes_of_the_same_instant() {
    if !is_exact() {
        return;
    }
    let (omega, arm, mass) = (10.0, 0.5, 2.0);
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("bar", mass, cube(0.1), DVec3::new(arm, 0.0, 0.0)));
    world.mechanism.bodies[1].angular_velocity = DVec3::new(0.0, 0.0, omega);
    world.mechanism.bodies[1].linear_velocity = DVec3::new(0.0, omega * arm, 0.0);
    world.mechanism.joints.push(scene::joint("pin", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let mut world = as_robot(world);
    let cell = Sensor::of(JointId::new(0), DeviceKind::ForceTorqueSensor);
    world.devices = vec![device("cell", cell.in_frame(Frame::Child))];
    let mut run = Run::of(world);
    run.steps(50);
    let share = 1.0 - (omega * H).powi(2) / 24.0;
    // The scheme is of second order: (omega h)² / 8 of the force is its error at most.
    near(&run.read("cell")[..1], &[-mass * omega * omega * arm * share], 100.0 * (omega * H).powi(2) / 8.0);
    near(&run.read("cell")[1..], &[0.0; 5], 1e-9);
}

/// Geodetic coordinates in degrees to earth-centred ones, WGS84, exactly.
fn earth_centred(latitude: f64, longitude: f64, altitude: f64) -> DVec3 {
    let (a, f) = (6_378_137.0, 1.0 / 298.257_223_563);
    let (phi, lambda) = (latitude.to_radians(), longitude.to_radians());
    let e2: f64 = f * (2.0 - f);
    let n = a / (1.0 - e2 * phi.sin().powi(2)).sqrt();
    let across = (n + altitude) * phi.cos();
    DVec3::new(across * lambda.cos(), across * lambda.sin(), (n * (1.0 - e2) + altitude) * phi.sin())
}

/// The plane that touches the earth leaves it by d² / 2 R, which is 2 mm at 160 m.
#[test]
fn a_gnss_sensor_tells_the_place_on_the_ellipsoid() {
    let origin = GeographicOrigin {
        latitude: 60.18f64.to_radians(),
        longitude: 24.82f64.to_radians(),
        altitude: 30.0,
        heading: 0.5,
    };
    let (latitude, longitude) = (60.18f64, 24.82f64);
    let mut world = cube_at(4.0);
    (world.mechanism.bodies[0].pose.translation.x, world.mechanism.bodies[0].pose.translation.z) = (120.0, -100.0);
    world.geographic_origin = origin;
    world.devices = vec![device("gnss", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::GnssSensor))];
    let run = Run::of(world);
    let read = run.read("gnss");
    let (phi, lambda) = (latitude.to_radians(), longitude.to_radians());
    let east = DVec3::new(-lambda.sin(), lambda.cos(), 0.0);
    let north = DVec3::new(-phi.sin() * lambda.cos(), -phi.sin() * lambda.sin(), phi.cos());
    let up = DVec3::new(phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin());
    // The world's x axis points 0.5 rad from north towards east, its z axis a quarter further.
    let (x, z) = (north * 0.5f64.cos() + east * 0.5f64.sin(), east * 0.5f64.cos() - north * 0.5f64.sin());
    let expected = earth_centred(latitude, longitude, 30.0) + x * 120.0 + up * 4.0 + z * -100.0;
    let off = earth_centred(read[0], read[1], read[2]).distance(expected);
    assert!(off < 4e-3, "{off} m off at {read:?}");
}

/// Near Helsinki the earth's field is 52.5 uT strong and dips by 73.5 degrees, 10 degrees to the east of north. A field
/// of the world's file takes its place. The reading turns with the sensor.
#[test]
fn a_magnetometer_reads_the_field_in_its_axes() {
    let mut world = cube_at(4.0);
    world.geographic_origin =
        GeographicOrigin { latitude: 60.17f64.to_radians(), longitude: 24.94f64.to_radians(), ..Default::default() };
    let turned = DQuat::from_euler(bevy_math::EulerRot::XYZ, 0.3, -1.1, 2.0);
    world.devices = vec![
        device("level", on(DVec3::ZERO, DQuat::IDENTITY, DeviceKind::MagnetometerSensor)),
        device("turned", on(DVec3::ZERO, turned, DeviceKind::MagnetometerSensor)),
    ];
    let read = |world: &World, name: &str| DVec3::from_slice(&Run::of(world.clone()).read(name));
    let field = read(&world, "level");
    // x is north, y up, z east.
    let (level, declination) = (field.x.hypot(field.z), field.z.atan2(field.x).to_degrees());
    let dip = (-field.y).atan2(level).to_degrees();
    assert!((field.length() - 52.5e-6).abs() < 0.8e-6, "{} T", field.length());
    assert!((dip - 73.5).abs() < 1.0 && (declination - 10.0).abs() < 1.5, "dip {dip}, declination {declination}");
    assert!(read(&world, "turned").distance(turned.inverse() * field) < 1e-18);
    world.magnetic_field = Some(DVec3::new(1e-5, 2e-5, 3e-5));
    assert_eq!(read(&world, "level"), DVec3::new(1e-5, 2e-5, 3e-5));
}

#[test]
fn a_compass_counts_clockwise_from_the_worlds_x_axis() {
    for (turn, world_heading, expected) in [
        (0.0, 0.0, FRAC_PI_2),
        (0.4, 0.0, FRAC_PI_2 - 0.4),
        (PI, 0.0, 1.5 * PI),
        (0.0, 0.3, FRAC_PI_2 + 0.3),
        (2.0, 0.0, FRAC_PI_2 - 2.0 + TAU),
    ] {
        let mut world = cube_at(1.0);
        world.mechanism.bodies[0].pose.rotation = DQuat::from_rotation_y(turn);
        world.geographic_origin.heading = world_heading;
        let up = DQuat::from_rotation_x(-FRAC_PI_2);
        world.devices = vec![
            device("compass", Sensor::on(CUBE, Pose::IDENTITY, DeviceKind::CompassSensor)),
            device("upwards", on(DVec3::ZERO, up, DeviceKind::CompassSensor)),
        ];
        let run = Run::of(world);
        let read = run.read("compass");
        near(&read[..1], &[expected], 1e-12);
        // North seen from the sensor: so far from its z axis, and on the left of it, which is +x.
        near(&read[1..], &[expected.sin(), 0.0, expected.cos()], 1e-12);
        assert_eq!(run.read("upwards")[0], 0.0);
    }
}
