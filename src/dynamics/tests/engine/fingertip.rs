//! Small shapes: a fingertip is a ball of 5 mm, and it holds objects of that size. No length constant of the engine may
//! be large compared with that.

use bevy_math::DVec3;
use simpartner_dynamics::{Motor, Settings};
use simpartner_model::{Body, Joint, JointId, JointKind, Material, Timestep};

use super::{G, build, on_plane, position, run, scene, steps, velocity};
use crate::scene::{ball, body, cube, joint, world};

/// A ball of 2.5 mm flies past a cube of 1 cm at 6 m/s with a clearance of 1 mm. It moves by 6 mm in a step, and the
/// nearest point of the cube is ahead of it for a while: it must not be pushed aside.
#[test]
fn a_small_ball_passes_a_small_cube_by() {
    for offset in 0..12 {
        let mut world = world();
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(Body { fixed: true, ..body("cube", 1.0, cube(0.01), DVec3::ZERO) });
        let at = DVec3::new(-0.05 - 5e-4 * f64::from(offset), 0.0085, 0.0);
        let flies = DVec3::X * 6.0;
        world.mechanism.bodies.push(Body { linear_velocity: flies, ..body("ball", 0.001, ball(0.0025), at) });
        let mut engine = build(&world, 1e-3);
        run(&mut *engine, 1e-3, 0.02);
        assert_eq!(velocity(&*engine, 1), flies, "from {at}");
    }
}

/// The same, 1 mm too low to pass: it meets the cube.
#[test]
fn a_small_ball_hits_what_is_in_its_way() {
    let mut world = world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(Body { fixed: true, ..body("cube", 1.0, cube(0.01), DVec3::ZERO) });
    let at = DVec3::new(-0.05, 0.0065, 0.0);
    world.mechanism.bodies.push(Body { linear_velocity: DVec3::X * 6.0, ..body("ball", 0.001, ball(0.0025), at) });
    let mut engine = build(&world, 1e-3);
    (0..20).for_each(|_| engine.step());
    let after = velocity(&*engine, 1);
    assert!(after.y > 0.5 && after.x < 5.9, "{after}");
}

/// Two fingertips of 5 mm press with 1 N each on a cube of 1 cm and 8 g. With friction of 0.5 they could hold 1 N, and
/// the cube weighs 0.078 N. They lift it by 5 cm in a second. The lift yields by 1e-8 m/s for each newton of load. The
/// cube stays at its place between the fingers: sticking contacts have no velocity at the end of a step, so it slips
/// only by the solver's tolerance of 1e-6 m/s for two seconds, 2 um.
#[test]
fn two_fingertips_lift_a_cube_of_a_centimetre() {
    let mut world = world();
    let grip = Material { friction: 0.5, torsional_friction: 0.002, ..Material::default() };
    world.mechanism.bodies.push(Body { fixed: true, ..body("rail", 1.0, None, DVec3::ZERO) });
    world.mechanism.bodies.push(body("hand", 0.1, None, DVec3::new(0.0, 0.05, 0.0)));
    for (name, x) in [("left", -0.01), ("right", 0.01)] {
        world
            .mechanism
            .bodies
            .push(Body { material: grip, ..body(name, 0.01, ball(0.005), DVec3::new(x, 0.005, 0.0)) });
    }
    world
        .mechanism
        .bodies
        .push(Body { material: grip, ..body("cube", 0.008, cube(0.01), DVec3::new(0.0, 0.005, 0.0)) });
    let slider = |name: &str, parent: usize, child: usize, axis: DVec3| {
        let frame = bevy_math::DQuat::from_rotation_arc(DVec3::Z, axis);
        Joint { frame, ..joint(name, JointKind::Slider, parent, child, DVec3::ZERO) }
    };
    world.mechanism.joints.push(slider("lift", 0, 1, DVec3::Y));
    world.mechanism.joints.push(slider("left", 1, 2, DVec3::X));
    world.mechanism.joints.push(slider("right", 1, 3, DVec3::NEG_X));
    let mut engine = build(&on_plane(world), 1e-3);
    let mut relative = Vec::new();
    for step in 0..2000 {
        let lift = if (500..1500).contains(&step) { 0.05 } else { 0.0 };
        engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: lift, max_effort: 100.0 });
        (1..3).for_each(|joint| engine.set_motor(JointId::new(joint), 2, Motor::Effort(1.0)));
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
        relative.push(position(&*engine, 4) - position(&*engine, 2));
    }
    let slip = (relative[1999] - relative[400]).length();
    let height = position(&*engine, 4).y - 0.005;
    println!("fingertips: the cube is lifted by {height:.6} m and slips by {slip:.1e} m");
    assert!((height - 0.05).abs() < 2e-6 && slip < 2e-6, "{height} {slip}");
}

/// A cube of 5 mm slides to rest from 0.5 m/s on a plane with friction of 0.5, over v² / (2 mu g), as a large one does.
/// In the last step the scheme deviates from the law by half a step at the speed of one step, mu g h² / 2.
#[test]
fn a_cube_of_five_millimetres_slides_as_far_as_a_large_one() {
    let (mu, v, h) = (0.5, 0.5, 1e-3);
    let mut world = scene::with_plane(world(), mu);
    let thrown = body("cube", 0.001, cube(0.005), DVec3::Y * 0.0025);
    let material = Material { friction: mu, ..Material::default() };
    world.mechanism.bodies.push(Body { linear_velocity: DVec3::X * v, material, ..thrown });
    let mut engine = build(&world, h);
    run(&mut *engine, h, 0.5);
    let (distance, law) = (position(&*engine, 0).x, v * v / (2.0 * mu * G));
    println!("small cube: slides {distance:.6} m, by the law {law:.6} m");
    assert!((distance - law).abs() < mu * G * h * h, "{distance} {law}");
}

/// A body that moves by its own size in half a second is not at rest, although its speed is below the rest limit of
/// large bodies.
#[test]
fn a_small_cube_that_creeps_does_not_fall_asleep() {
    let (speed, h) = (0.008, 1e-3);
    let mut world = scene::with_plane(world(), 0.0);
    world.mechanism.bodies.push(Body {
        linear_velocity: DVec3::X * speed,
        material: Material { friction: 0.0, ..Material::default() },
        ..body("cube", 0.001, cube(0.005), DVec3::Y * 0.0025)
    });
    let settings = Settings { auto_disable: true, ..Settings::default() };
    let mut engine =
        simpartner_dynamics::build(&world.mechanism, Timestep::from_seconds(h).unwrap(), &settings).unwrap();
    (0..steps(h, 2.0)).for_each(|_| engine.step());
    assert!((position(&*engine, 0).x - 2.0 * speed).abs() < 1e-9, "{}", position(&*engine, 0));
}
