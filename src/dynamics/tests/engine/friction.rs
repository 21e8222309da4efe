//! Coulomb friction in two dimensions.
//!
//! A sliding body is decelerated by mu N against its motion, for any shape and heading: a body of 10 m/s with mu = 0.5
//! has the speed 10 - 0.5 g t after t seconds and stops after v²/(2 mu g), on its heading and without turning. With two
//! coefficients, the force is that of the friction ellipse with maximum dissipation: F = -N (mu1² v1, mu2² v2)/|(mu1
//! v1, mu2 v2)|. A robot with all joints locked is one body on four feet: on a slope of tan a = 1.2 at 45 degrees to
//! its wheels, it slides with g (sin a - mu cos a), straight down the slope.

use bevy_math::DVec3;
use simpartner_dynamics::{EngineKind, Motor, Settings};
use simpartner_model::{BodyId, CrossFriction, FrictionDirection, JointId, JointKind, Material, Shape, Timestep};

use super::{G, build, on_plane, position, run, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, cube, joint},
};

#[test]
fn a_sliding_body_is_braked_against_its_motion() {
    for h in [0.001, 0.01] {
        for (name, size) in [("cube", DVec3::ONE), ("bar", DVec3::new(2.0, 0.5, 0.4))] {
            for degrees in [0.0f64, 45.0] {
                let mut world = on_plane(scene::world());
                world.mechanism.bodies.push(body(
                    name,
                    1.0,
                    Some(Shape::Box { size }),
                    DVec3::new(0.0, size.y / 2.0, 0.0),
                ));
                world.mechanism.bodies[0].material.friction = 0.5;
                let (sine, cosine) = degrees.to_radians().sin_cos();
                world.mechanism.bodies[0].linear_velocity = DVec3::new(10.0 * cosine, 0.0, -10.0 * sine);
                let mut engine = build(&world, h);
                let (mut worst, mut heading) = (0.0f64, 0.0);
                for step in 1..=steps(h, 2.0) {
                    run(&mut *engine, h, h);
                    let v = velocity(&*engine, 0);
                    worst = worst.max((v.length() - (10.0 - 0.5 * G * step as f64 * h)).abs());
                    if step == steps(h, 1.0) {
                        heading = (-v.z).atan2(v.x).to_degrees();
                    }
                }
                run(&mut *engine, h, 1.0);
                let end = position(&*engine, 0);
                let stop = end.x.hypot(end.z) - 100.0 / G;
                let yaw = engine.body(BodyId::new(0)).angular_velocity.y.abs();
                println!(
                    "{name} slides at {degrees} degrees, h {h}: speed {worst:.1e} m/s off at most, heading {heading:.6}, \
                     stops {stop:+.1e} m off"
                );
                assert!(worst < 1e-9, "{worst}");
                assert!((heading - degrees).abs() < 5e-5, "{heading}");
                assert!(stop.abs() < 2.0 * G * h * h, "{stop}");
                assert!(yaw < 1e-9 && velocity(&*engine, 0).length() < 1e-9, "{yaw}");
            }
        }
    }
}

/// (0.5, 0.1) along the body's x and z, at 5 m/s and 45 degrees: the direction of motion turns towards x. The reference
/// is the differential equation, integrated apart from the engine with 100 000 steps of Heun's method.
#[test]
fn two_direction_friction_follows_maximum_dissipation() {
    for degrees in [0.0f64, 45.0, 90.0] {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let (mut x, mut z) = (5.0 * cosine, 5.0 * sine);
        let rate = |x: f64, z: f64| {
            let length = (0.5 * x).hypot(0.1 * z);
            if length > 0.0 { (-0.25 * G * x / length, -0.01 * G * z / length) } else { (0.0, 0.0) }
        };
        let k = 0.5 / 100_000.0;
        for _ in 0..100_000 {
            let first = rate(x, z);
            let second = rate(x + k * first.0, z + k * first.1);
            (x, z) = (x + 0.5 * k * (first.0 + second.0), z + 0.5 * k * (first.1 + second.1));
        }
        let mut world = on_plane(scene::world());
        world.mechanism.grounds[0].material_mut().across = None;
        world.mechanism.bodies.push(body("cube", 1.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
        let across = CrossFriction { coefficient: 0.1, direction: FrictionDirection::Along(DVec3::X) };
        world.mechanism.bodies[0].material = Material { friction: 0.5, across: Some(across), ..Material::default() };
        world.mechanism.bodies[0].linear_velocity = DVec3::new(5.0 * cosine, 0.0, 5.0 * sine);
        let mut engine = build(&world, 0.001);
        run(&mut *engine, 0.001, 0.5);
        let v = velocity(&*engine, 0);
        println!("friction (0.5, 0.1) at {degrees} degrees: ({:.5}, {:.5}), reference ({x:.5}, {z:.5})", v.x, v.z);
        assert!((v.x - x).abs() < 4e-4 && (v.z - z).abs() < 4e-4, "{v} {x} {z}");
    }
}

/// A locked wheel with mu = 0.8 in its rolling direction and 0.2 along its axle, at any heading.
#[test]
fn friction_across_an_axle_turns_with_the_wheel() {
    for yaw in [0.0f64, 0.7] {
        for (along, coefficient) in [(true, 0.8), (false, 0.2)] {
            let mut world = on_plane(scene::world());
            world.mechanism.bodies.push(body("sledge", 1.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
            let across = CrossFriction { coefficient: 0.2, direction: FrictionDirection::AcrossAxle(DVec3::Z) };
            world.mechanism.bodies[0].material =
                Material { friction: 0.8, across: Some(across), ..Material::default() };
            let rotation = bevy_math::DQuat::from_rotation_y(yaw);
            world.mechanism.bodies[0].pose.rotation = rotation;
            let direction = rotation * if along { DVec3::X } else { DVec3::Z };
            world.mechanism.bodies[0].linear_velocity = direction * 5.0;
            let mut engine = build(&world, 0.001);
            run(&mut *engine, 0.001, 0.5);
            let v = velocity(&*engine, 0);
            let expected = direction * (5.0 - coefficient * G * 0.5);
            assert!((v - expected).length() < 1e-9, "{v} {expected}");
        }
    }
}

#[test]
fn a_robot_with_locked_joints_slides_straight_down_the_slope() {
    for wheel in [Wheel::Ball, Wheel::Cylinder] {
        for h in [0.001, 0.01] {
            let mut world = on_plane(scene::world());
            let rover = rover::add(&mut world, DVec3::ZERO, wheel);
            let mut engine = build(&world, h);
            for joint in rover.joints() {
                engine.set_motor(joint, 2, Motor::Velocity { target: 0.0, max_effort: 1e5 });
            }
            for _ in 0..steps(h, 2.0) {
                engine.step();
            }
            // The robot is at rest when the slope begins: its state is restored in the same world under another
            // direction of gravity.
            let angle = 1.2f64.atan();
            let down = angle.sin() * 0.5f64.sqrt() * G;
            world.mechanism.gravity = DVec3::new(down, -G * angle.cos(), -down);
            let still = engine.snapshot();
            let mut engine = build(&world, h);
            engine.restore(&still).unwrap();
            for _ in 0..steps(h, 1.0) {
                engine.step();
            }
            let total = rover
                .bodies()
                .fold(DVec3::ZERO, |sum, id| sum + engine.body(id).linear_velocity * world.mechanism.body(id).mass);
            let v = total / rover::MASS;
            let (speed, heading) = (v.x.hypot(v.z), (-v.z).atan2(v.x).to_degrees());
            println!("locked robot, {wheel:?}, h {h}: {speed:.4} m/s at {heading:.3} degrees (2.5121 at 45)");
            assert!((speed - 2.5121).abs() < 5e-4, "{speed}");
            assert!((heading - 45.0).abs() < 0.02, "{heading}");
        }
    }
}

/// The rolling resistance of a ball is the torque Crr N r: with I = 2/5 m r², its speed falls by Crr g / (1 + 2/5).
#[test]
fn rolling_friction_brakes_and_then_holds() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        world.mechanism.bodies.push(body("ball", 2.0, ball(0.2), DVec3::new(0.0, 0.2, 0.0)));
        world.mechanism.bodies[0].material = Material { rolling_friction: 0.02, ..Material::default() };
        world.mechanism.bodies[0].linear_velocity = DVec3::new(1.0, 0.0, 0.0);
        world.mechanism.bodies[0].angular_velocity = DVec3::new(0.0, 0.0, -5.0);
        let mut engine = build(&world, h);
        run(&mut *engine, h, 2.0);
        let expected = 1.0 - 0.02 * G / 1.4 * 2.0;
        let v = velocity(&*engine, 0).x;
        println!("rolling friction, h {h}: {v:.9} m/s after 2 s, {expected:.9} by the law");
        assert!((v - expected).abs() < 1e-9, "{v}");
        run(&mut *engine, h, 10.0);
        let place = position(&*engine, 0);
        run(&mut *engine, h, 5.0);
        assert!((position(&*engine, 0) - place).length() < 1e-9, "it stands once it stands");
    }
}

/// The torsional resistance of a top on its tip is the torque c N about the normal: its spin falls by c m g / I.
#[test]
fn torsional_friction_brakes_a_spin() {
    let mut world = on_plane(scene::world());
    world.mechanism.bodies.push(body("top", 2.0, ball(0.2), DVec3::new(0.0, 0.2, 0.0)));
    world.mechanism.bodies[0].material = Material { torsional_friction: 0.01, ..Material::default() };
    world.mechanism.bodies[0].angular_velocity = DVec3::new(0.0, 20.0, 0.0);
    let mut engine = build(&world, 0.001);
    run(&mut *engine, 0.001, 1.0);
    let expected = 20.0 - 0.01 * 2.0 * G / (0.4 * 2.0 * 0.04);
    let spin = engine.body(BodyId::new(0)).angular_velocity.y;
    println!("torsional friction: {spin:.9} rad/s after 1 s, {expected:.9} by the law");
    assert!((spin - expected).abs() < 1e-9, "{spin}");
    let pressing = engine.contacts().iter().map(|contact| contact.wrench.torque.y).sum::<f64>();
    assert!((pressing + 0.01 * 2.0 * G).abs() < 1e-9, "{pressing}");
}

/// Soft ground: k x = m g / 4 in each of four points; the damped spring comes to rest at this depth.
#[test]
fn a_soft_contact_sinks_by_its_weight() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        world.mechanism.bodies.push(body("cube", 4.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
        world.mechanism.bodies[0].material = Material { stiffness: 2000.0, damping: 50.0, ..Material::default() };
        let mut engine = build(&world, h);
        run(&mut *engine, h, 10.0);
        let (sunk, force) = (0.25 - position(&*engine, 0).y, engine.body(BodyId::new(0)).force.y);
        println!("soft contact, h {h}: sunk by {sunk:.9} m ({:.9})", G / 2000.0);
        assert!((sunk - G / 2000.0).abs() < 1e-9 && (force - 4.0 * G).abs() < 1e-8, "{sunk} {force}");
    }
}

/// Slip: a held body creeps with the slip coefficient times the force; a sliding body is decelerated as without slip.
#[test]
fn slip_is_creep_by_force() {
    let mut world = on_plane(scene::world());
    world.mechanism.gravity = DVec3::new(1.0, -G, 0.0);
    world.mechanism.bodies.push(body("cube", 4.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
    world.mechanism.bodies[0].material = Material { slip: 1e-3, ..Material::default() };
    let mut engine = build(&world, 0.001);
    run(&mut *engine, 0.001, 2.0);
    let v = velocity(&*engine, 0).x;
    // Four points share the force of 4 N.
    assert!((v - 1e-3).abs() < 1e-9, "{v}");
}

/// Wheels of cylinders touch with two rims, which share the load evenly, with slip or without: the robot drives
/// straight.
#[test]
fn cylinder_wheels_drive_straight() {
    for h in [0.001, 0.01] {
        for slip in [0.0, 1e-5] {
            let mut world = on_plane(scene::world());
            let rover = rover::add(&mut world, DVec3::ZERO, Wheel::Cylinder);
            world.mechanism.bodies.iter_mut().for_each(|body| body.material.slip = slip);
            let mut engine = build(&world, h);
            for step in 0..steps(h, 10.0) {
                // Started gently, so that no wheel spins.
                rover.drive(&mut *engine, (4.0 * step as f64 * h).min(4.0));
                engine.step();
            }
            let end = position(&*engine, 0);
            println!("cylinder wheels, slip {slip}, 10 s at 0.94 m/s, h {h}: {:+.1e} m off to the side", end.z);
            // A heading of 1e-5 rad, the accumulated rounding of the first steps.
            assert!(end.z.abs() < 1e-4, "{}", end.z);
            assert!((velocity(&*engine, 0).x - 0.94).abs() < 1e-4);
        }
    }
}

/// A robot that starts with spinning wheels and then drives straight: axles that are parallel to 1e-8 rad do not make
/// its wheels brake each other sideways.
#[test]
fn wheels_on_parallel_axles_do_not_brake_each_other() {
    let h = 0.001;
    let mut world = on_plane(scene::world());
    let rover = rover::add(&mut world, DVec3::ZERO, Wheel::Cylinder);
    let mut engine = build(&world, h);
    rover.drive(&mut *engine, 4.0);
    run(&mut *engine, h, 4.0);
    let wheels = [0, 1, 2, 3].map(|wheel| world.mechanism.joint(rover.axle(wheel)).child);
    let mut across = 0.0f64;
    for _ in 0..steps(h, 1.0) {
        engine.step();
        across =
            wheels.iter().map(|&wheel| engine.body(wheel).force).fold(across, |most, f| most.max((f.z / f.y).abs()));
    }
    println!("cylinder wheels that drive straight: {across:.1e} of their load across the way");
    assert!(across < 0.01, "{across}");
}

/// A hinged wheel with a motor: the friction force of the ground balances the motor's torque.
#[test]
fn friction_of_a_driven_wheel_is_torque_over_radius() {
    let mut world = on_plane(scene::world());
    world.mechanism.bodies.push(body("wall", 1.0, None, DVec3::new(0.0, 0.3, 0.0)));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("arm", 0.5, ball(0.05), DVec3::new(0.0, 0.3, 0.0)));
    world.mechanism.bodies[1].collision = None;
    world.mechanism.bodies[1].shape = None;
    world.mechanism.bodies.push(body("wheel", 5.0, ball(0.3), DVec3::new(0.0, 0.3, 0.0)));
    let lift = bevy_math::DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    let mut slider = joint("slider", JointKind::Slider, 0, 1, DVec3::new(0.0, 0.3, 0.0));
    slider.frame = lift;
    world.mechanism.joints.push(slider);
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 1, 2, DVec3::new(0.0, 0.3, 0.0)));
    let mut engine = build(&world, 0.001);
    engine.set_motor(JointId::new(1), 2, Motor::Velocity { target: -100.0, max_effort: 3.0 });
    run(&mut *engine, 0.001, 1.0);
    let force = engine.body(BodyId::new(2)).force;
    assert!((force.x - 10.0).abs() < 1e-9 && (force.y - 5.5 * G).abs() < 1e-9, "{force}");
}

/// A belt starts under a sleeping box, accelerates it, and stops it again, in u / (mu g) each. In between, the engine
/// continues from a snapshot in another world whose belt is off.
#[test]
fn a_belt_starts_and_stops_under_a_box_that_sleeps() {
    let (mu, speed, h) = (0.5, 1.0, 0.001);
    let mut world = scene::world();
    world.mechanism.bodies.push(body("box", 4.0, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
    world.mechanism.bodies.push(body("belt", 1.0, cube(8.0), DVec3::new(0.0, -4.0, 0.0)));
    world.mechanism.bodies[1].fixed = true;
    world.mechanism.bodies[1].pose.rotation = bevy_math::DQuat::from_rotation_y(-std::f64::consts::FRAC_PI_2);
    world.mechanism.bodies.iter_mut().for_each(|body| body.material.friction = mu);
    let settings = Settings { engine: EngineKind::Dynamics, auto_disable: true, ..Settings::default() };
    let start = || simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    let mut engine = start();
    run(&mut *engine, h, 3.0);
    assert_eq!(velocity(&*engine, 0), DVec3::ZERO, "it sleeps");
    // The belt's z axis points against the world's x.
    assert!(engine.set_surface_velocity(BodyId::new(1), DVec3::NEG_Z * speed));
    let slides = speed / (mu * G);
    for (before, target) in [(0.0, speed), (speed, 0.0)] {
        let from = position(&*engine, 0).x;
        run(&mut *engine, h, 1.0);
        let mut other = start();
        other.restore(&engine.snapshot()).unwrap();
        engine = other;
        let (way, now) = (position(&*engine, 0).x - from, velocity(&*engine, 0).x);
        let expected = target + 0.5 * slides * (before - target);
        println!("belt from {before} to {target} m/s: {way} m, {expected} m expected");
        assert!((now - target).abs() < 1e-9, "{now} m/s for {target}");
        assert!((way - expected).abs() < speed * h, "{way} m for {expected}");
        run(&mut *engine, h, 0.5);
        assert!((velocity(&*engine, 0).x - target).abs() < 1e-9, "the snapshot holds the belt's speed");
        assert!(engine.set_surface_velocity(BodyId::new(1), DVec3::ZERO));
    }
}

/// A box is placed on a belt that runs at u: it slides for t = u / (mu g) and then moves with the belt. During this
/// time the belt moves twice as far as the box, so its drive supplies m u², of which the box has half. The test runs on
/// a ground, and on a body turned by 90 degrees about the vertical.
#[test]
fn a_belt_takes_a_box_along() {
    let (mu, speed, mass) = (0.5, 1.0, 4.0);
    for h in [0.001, 0.01] {
        for on_body in [false, true] {
            let mut world = scene::with_plane(scene::world(), mu);
            let belt = Material { friction: mu, surface_velocity: DVec3::new(0.0, 0.3, -speed), ..Material::default() };
            world.mechanism.bodies.push(body("box", mass, cube(0.5), DVec3::new(0.0, 0.25, 0.0)));
            world.mechanism.bodies[0].material.friction = mu;
            let direction = if on_body {
                world.mechanism.bodies.push(body("belt", 1.0, cube(8.0), DVec3::new(0.0, -4.0, 0.0)));
                let conveyor = &mut world.mechanism.bodies[1];
                (conveyor.fixed, conveyor.material) = (true, belt);
                conveyor.pose.rotation = bevy_math::DQuat::from_rotation_y(-std::f64::consts::FRAC_PI_2);
                world.mechanism.grounds.clear();
                DVec3::X
            } else {
                *world.mechanism.grounds[0].material_mut() = belt;
                DVec3::NEG_Z
            };
            let mut engine = build(&world, h);
            let mut given = 0.0;
            for _ in 0..steps(h, 1.0) {
                engine.step();
                given += engine.energy_balance().unwrap().supplied;
            }
            let (way, now) = (position(&*engine, 0).dot(direction), velocity(&*engine, 0));
            let slides = speed / (mu * G);
            println!("belt, h {h}: {way:.6} m, the drive gave {given:.6} J");
            assert!((now - direction * speed).length() < 1e-9, "{now}");
            // The step in which the box stops sliding is not divided.
            assert!((way - speed * (1.0 - 0.5 * slides)).abs() < 0.5 * speed * h, "{way}");
            assert!((given - mass * speed * speed).abs() < mass * speed * mu * G * h, "{given}");
        }
    }
}

/// A shaker: a table on a slider to the world, whose velocity motor follows a sine. It follows to the motor's 1e-8 m/s
/// per newton, with a box of ten times its mass on it.
#[test]
fn a_shaker_moves_as_it_is_told() {
    let h = 0.001;
    let mut world = scene::world();
    let mut ground = body("world", 1.0, None, DVec3::ZERO);
    ground.fixed = true;
    world.mechanism.bodies.push(ground);
    world.mechanism.bodies.push(body("table", 1.0, cube(1.0), DVec3::ZERO));
    world.mechanism.bodies.push(body("box", 10.0, cube(0.2), DVec3::new(0.0, 0.6, 0.0)));
    let mut slider = joint("slider", JointKind::Slider, 0, 1, DVec3::ZERO);
    slider.frame = bevy_math::DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    world.mechanism.joints.push(slider);
    let mut engine = build(&world, h);
    let told = |time: f64| 0.1 * (20.0 * time).sin();
    let mut way = 0.0;
    for step in 0..steps(h, 2.0) {
        let before = if step == 0 { 0.0 } else { told(step as f64 * h) };
        let target = told((step + 1) as f64 * h);
        engine.set_motor(JointId::new(0), 2, Motor::Velocity { target, max_effort: 1e4 });
        engine.step();
        way += 0.5 * h * (before + target);
        // The box weighs and is shaken by no more than 2 m/s²: 130 N at most.
        let [table, cargo] = [1, 2].map(|id| velocity(&*engine, id).y);
        assert!((table - target).abs() < 2e-6 && (cargo - target).abs() < 2e-6, "{step}: {table} {cargo} {target}");
    }
    let off = position(&*engine, 1).y - way;
    assert!(off.abs() < 4e-6, "{off:.1e}");
}
