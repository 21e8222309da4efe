//! The checks of a step: every exceptional event is reported with its bodies and its value, and no state is ever
//! invalid.

use std::f64::consts::FRAC_PI_2;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, Motor, StepCheck, StepEvent};
use simpartner_model::{Body, BodyId, Inertia, Joint, JointId, JointKind, Material, Shape, random::Stream};

use super::{build, build_with, on_plane, position, steps, unconverged};
use crate::{
    rover::{self, Rover, Wheel},
    scene::{self, ball, body, cube, joint},
};

fn events_of(engine: &mut dyn Engine, steps: usize) -> Vec<(usize, StepEvent)> {
    let mut all = Vec::new();
    for step in 0..steps {
        engine.step();
        all.extend(engine.step_events().iter().map(|event| (step, event.clone())));
    }
    all
}

/// A free linkage that spins fast: its steps are divided meanwhile, and both changes are reported.
#[test]
fn fast_joints_divide_the_step() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("hub", 1.0, ball(0.1), DVec3::ZERO));
    world.mechanism.bodies.push(body("blade", 0.1, ball(0.05), DVec3::X * 0.3));
    world.mechanism.joints.push(joint("pin", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let mut engine = build(&world, 0.01);
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 60.0, max_effort: 5.0 });
    let faster = events_of(&mut *engine, 100);
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 0.0, max_effort: 5.0 });
    let slower = events_of(&mut *engine, 100);
    assert!(faster.iter().chain(&slower).all(|(_, event)| event.check == StepCheck::Substeps), "{faster:?}");
    assert_eq!(
        faster.last().map(|(_, event)| event.value),
        Some(16.0),
        "60 rad/s in 10 ms, 0.05 rad each at most: {faster:?}"
    );
    assert_eq!(slower.last().map(|(_, event)| event.value), Some(1.0), "{slower:?}");
    assert_eq!(faster[0].1.bodies, [BodyId::new(1)]);
}

/// A ball on an arm of 1.2 m, whose hinge is 1 m below the ground, turns at 9 rad/s and hits the ground from inside its
/// circle, from ten positions. Between the middles of two steps of 10 ms it leaves its tangent by up to 1.2 m (0.09)²/2
/// = 4.9 mm, which no prediction along the tangent can see. Steps in which it sinks in are divided, and the event has
/// the depth.
#[test]
fn a_step_in_which_something_sinks_in_is_made_in_parts() {
    let (mut told, mut deepest) = (Vec::new(), 0.0f64);
    for place in 0..10 {
        let turn = DQuat::from_rotation_z(-0.009 * f64::from(place));
        let mut world = on_plane(scene::world());
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(body("hub", 1.0, None, DVec3::NEG_Y));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("bob", 1.0, ball(0.05), turn * DVec3::Y * 1.2 - DVec3::Y));
        world.mechanism.bodies[1].angular_velocity = DVec3::Z * -9.0;
        world.mechanism.bodies[1].linear_velocity = turn * DVec3::X * 10.8;
        world.mechanism.bodies[1].material.friction = 0.0;
        world.mechanism.joints.push(joint("arm", JointKind::Hinge, 0, 1, DVec3::NEG_Y));
        let mut engine = build(&world, 0.01);
        for _ in 0..20 {
            engine.step();
            told.extend(engine.step_events().to_vec());
            deepest = engine.contacts().iter().fold(deepest, |deepest, contact| deepest.max(-contact.gap));
        }
    }
    println!("bob: {told:?}, at most {deepest:.1e} m deep");
    assert!(!told.is_empty() && told.iter().all(|event| event.check == StepCheck::Substeps), "{told:?}");
    for event in &told {
        assert!(event.text.contains("'bob' sank") && event.bodies == [BodyId::new(1)], "{event:?}");
        assert!(event.value > 1e-3 && event.value < 5e-3, "{event:?}");
    }
    assert!(deepest < 1e-3, "{deepest}");
}

/// Two boxes that start in overlap are reported once, and pushed apart at no more than the correcting speed.
#[test]
fn penetration_is_told_and_taken_out() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("left", 1.0, cube(1.0), DVec3::ZERO));
    world.mechanism.bodies.push(body("right", 1.0, cube(1.0), DVec3::X * 0.9));
    let mut engine = build(&world, 0.001);
    let told = events_of(&mut *engine, 500);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1.check, StepCheck::Penetration);
    assert!((told[0].1.value - 0.1).abs() < 0.01 && told[0].1.bodies.len() == 2, "{told:?}");
    let apart = position(&*engine, 1).x - position(&*engine, 0).x;
    assert!((apart - 1.0).abs() < 1e-4, "{apart}");
    // The correction adds no speed.
    assert!(engine.body(BodyId::new(1)).linear_velocity.length() < 1e-9);
}

#[test]
fn a_body_that_is_too_fast_is_told_once() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("stone", 1.0, ball(0.1), DVec3::ZERO));
    world.mechanism.bodies[0].linear_velocity = DVec3::X * 50.0;
    let mut engine = build_with(&world, 0.001, DynamicsSettings { max_speed_m_per_s: 60.0, ..Default::default() });
    let told = events_of(&mut *engine, 6000);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].1.check, &told[0].1.bodies[..]), (StepCheck::Speed, &[BodyId::new(0)][..]));
    assert!(told[0].1.value > 60.0 && told[0].1.value < 60.1, "{told:?}");
}

/// Two bodies leave the range of meaningful positions: one with its centre of mass first, the other with its origin,
/// which is half a metre ahead. Each is reported by name in the step of its arrival, and its state stays finite. The
/// third body stays in range and is not reported.
#[test]
fn a_body_that_runs_away_is_told_by_name() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    for (index, (name, far)) in [("stone", 1e6 - 0.5), ("stick", 1e6 - 1.0), ("wall", 0.0)].into_iter().enumerate() {
        world.mechanism.bodies.push(body(name, 1.0, ball(0.1), DVec3::new(far, index as f64, 0.0)));
        world.mechanism.bodies[index].linear_velocity = DVec3::X * if far > 0.0 { 10.0 } else { 0.0 };
    }
    let tensor = DMat3::from_diagonal(DVec3::splat(0.01));
    world.mechanism.bodies[1].inertia = Some(Inertia { centre_of_mass: DVec3::X * -0.5, tensor });
    let mut engine = build(&world, 0.01);
    let told = events_of(&mut *engine, 20);
    let of = |name: &str| told.iter().filter(|(_, event)| event.text.contains(name)).map(|(step, _)| *step).min();
    println!("{told:?}");
    assert!(
        told.iter().all(|(_, event)| event.check == StepCheck::Divergence && event.text.contains("run away to")),
        "{told:?}"
    );
    assert!(matches!((of("stone"), of("stick"), of("wall")), (Some(4..=5), Some(9..=10), None)), "{told:?}");
    assert!(engine.body(BodyId::new(0)).pose.translation.is_finite());
}

/// With one sweep the solver does not converge on a stack, and the event has the residual, m/s.
#[test]
fn an_unconverged_solve_tells_its_residual() {
    let mut world = on_plane(scene::world());
    for index in 0..5 {
        world.mechanism.bodies.push(body("box", 1.0, cube(0.5), DVec3::new(0.0, 0.25 + 0.5 * f64::from(index), 0.0)));
    }
    let mut engine = build_with(&world, 0.001, DynamicsSettings { max_sweeps: 1, ..Default::default() });
    let told = events_of(&mut *engine, 3);
    assert!(!told.is_empty() && told.iter().all(|(_, event)| event.check == StepCheck::Unconverged), "{told:?}");
    assert_eq!(told[0].1.bodies.len(), 5);
    assert!(told[0].1.value > 1e-6);
}

/// A loop that is pulled open too far, and energy without a source, are reported.
#[test]
fn joint_error_and_energy_have_their_limits() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    for index in 0..2 {
        world.mechanism.bodies.push(body("block", 1.0, cube(0.2), DVec3::X * f64::from(index)));
        world.mechanism.bodies[index as usize].angular_velocity = DVec3::Z * if index == 0 { 3.0 } else { -2.0 };
    }
    world.mechanism.joints.push(joint("first", JointKind::Hinge, 0, 1, DVec3::X * 0.5));
    world.mechanism.joints.push(joint("second", JointKind::Hinge, 0, 1, DVec3::X * 0.5 + DVec3::Z));
    let settings = DynamicsSettings { max_joint_error_m: 0.0, max_energy_gain_j: 0.0, ..Default::default() };
    let mut engine = build_with(&world, 0.01, settings);
    let told = events_of(&mut *engine, 100);
    assert!(told.iter().any(|(_, event)| event.check == StepCheck::JointError), "{told:?}");
    // The last bits of the energy vary.
    let gains: Vec<_> = told.iter().filter(|(_, event)| event.check == StepCheck::Energy).collect();
    // Of 0.043 J in all.
    assert!(gains.len() == 1 && gains[0].1.value < 4e-5, "once an episode: {gains:?}");
    let quiet = events_of(&mut *build(&world, 0.01), 100);
    assert!(quiet.iter().all(|(_, event)| event.check == StepCheck::Substeps), "{quiet:?}");
}

/// A motor command of infinite size is limited to the largest effort and rate of the axis: the state stays finite, the
/// limit is reported with the body, and nothing runs away.
#[test]
fn a_state_that_is_not_finite_is_never_read() {
    for effort in [1e200, 1e300, f64::MAX] {
        let mut world = on_plane(scene::world());
        rover::add(&mut world, DVec3::ZERO, Wheel::Ball);
        world.mechanism.bodies.push(body("witness", 1.0, cube(0.2), DVec3::new(5.0, 0.1, 0.0)));
        let mut engine = build(&world, 0.001);
        engine.set_motor(JointId::new(1), 2, Motor::Velocity { target: effort, max_effort: effort });
        let mut seen = false;
        for _ in 0..200 {
            engine.step();
            assert!(!super::diverged(&*engine), "{:?}", engine.step_events());
            seen |= engine
                .step_events()
                .iter()
                .any(|event| event.check == StepCheck::Motor && event.text.contains("largest"));
            for (id, _) in world.mechanism.bodies() {
                let state = engine.body(id);
                assert!(state.pose.translation.is_finite() && state.pose.rotation.is_finite(), "{state:?}");
                assert!(state.linear_velocity.is_finite() && state.force.is_finite(), "{state:?}");
            }
        }
        assert!(seen, "{effort}");
        let witness = position(&*engine, 14);
        assert!((witness - DVec3::new(5.0, 0.1, 0.0)).length() < 1e-6, "what it does not touch goes on: {witness}");
    }
}

/// Random driving over hills for ten minutes, with random blows of a hammer of 3 kg on a crane: the only events are
/// divided steps. By default the test runs a quarter of a minute; with `SIMPARTNER_LONG_TESTS=1` ten minutes, four
/// times.
#[test]
fn random_driving_on_rough_ground_rouses_no_guard() {
    let long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let (minutes, seeds): (f64, &[u64]) = if long { (10.0, &[7, 1, 2, 3]) } else { (0.25, &[7]) };
    for &seed in seeds {
        drive_at_random(seed, minutes);
    }
}

fn drive_at_random(seed: u64, minutes: f64) {
    let mut stream = Stream::from_number(seed);
    let mut random = || stream.between(-1.0, 1.0);
    let (world, crane, rover) = playground();
    let mut engine = build(&world, 0.001);
    rover.drive(&mut *engine, 0.0);
    let (mut told, mut shoves, mut aim) = (Vec::new(), 0, DVec3::ZERO);
    for step in 0..steps(0.001, 60.0 * minutes) {
        if step % 500 == 0 {
            for wheel in 0..4 {
                engine.set_motor(rover.axle(wheel), 2, Motor::Velocity { target: 8.0 * random(), max_effort: 10.0 });
            }
            let steer = Motor::Position { target: 0.5 * random(), max_effort: 200.0 };
            engine.set_motor(JointId::new(rover.first_joint), 2, steer);
            // Half of the time the hammer aims at the robot, otherwise it swings up.
            aim = DVec3::new(random(), if random() > 0.0 { 0.3 } else { 2.0 }, random());
        }
        let way = position(&*engine, rover.first_body) + aim - position(&*engine, crane.hammer);
        for (axis, along) in [way.x, way.y, way.z].into_iter().enumerate() {
            let motor = Motor::Velocity { target: (4.0 * along).clamp(-3.0, 3.0), max_effort: 80.0 };
            engine.set_motor(JointId::new(crane.first_joint + axis), 2, motor);
        }
        engine.step();
        let hit = |bodies: [Option<BodyId>; 2]| bodies.contains(&Some(BodyId::new(crane.hammer)));
        shoves += usize::from(engine.contacts().iter().any(|contact| hit(contact.bodies)));
        told.extend(engine.step_events().iter().filter(|event| event.check != StepCheck::Substeps).cloned());
    }
    let end = position(&*engine, rover.first_body);
    println!(
        "random driving {seed}, {minutes} min: {} events, hammered in {shoves} steps, ends at {end:.2}",
        told.len()
    );
    assert!(told.is_empty(), "{}: {:?}", told.len(), &told[..told.len().min(5)]);
    assert!(end.is_finite() && end.x.abs() < 26.0 && end.z.abs() < 26.0);
    assert!(shoves > 100, "the hammer struck in {shoves} steps only");
}

/// A hammer on three sliders, along x, y and z.
struct Crane {
    first_joint: usize,
    hammer: usize,
}

/// Hills with a fence, a robot, and a crane that swings a hammer.
fn playground() -> (World, Crane, Rover) {
    let mut world = scene::hills();
    for (x, z) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
        let size = DVec3::new(0.5 + 50.0 * f64::abs(z), 10.0, 0.5 + 50.0 * f64::abs(x));
        let mut wall = body("fence", 1.0, Some(Shape::Box { size }), DVec3::new(25.0 * x, 0.0, 25.0 * z));
        (wall.fixed, wall.material) = (true, Material { friction: 0.0, ..Material::default() });
        world.mechanism.bodies.push(wall);
    }
    let (first, at) = (world.mechanism.bodies.len(), DVec3::new(3.0, 4.0, 3.0));
    for (name, shape) in [("post", None), ("beam", None), ("trolley", None), ("hammer", ball(0.2))] {
        world.mechanism.bodies.push(body(name, 3.0, shape, at));
    }
    world.mechanism.bodies[first].fixed = true;
    let crane = Crane { first_joint: world.mechanism.joints.len(), hammer: first + 3 };
    for (axis, along) in DVec3::AXES.into_iter().enumerate() {
        let mut slider = joint("slider", JointKind::Slider, first + axis, first + axis + 1, at);
        slider.frame = DQuat::from_rotation_arc(DVec3::Z, along);
        world.mechanism.joints.push(slider);
    }
    let rover = rover::add(&mut world, DVec3::new(0.0, 0.4, 0.0), Wheel::Ball);
    (world, crane, rover)
}

/// A slab on a level slider, 1 mm deep in the ground along which it slides. The slider's axis is level but for
/// rounding, so contact forces cannot lift it, and there is no normal force for friction. It slides as if there were no
/// ground.
#[test]
fn what_a_joint_holds_against_the_ground_is_not_pushed_out_by_rounding() {
    for timestep in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        let frame =
            DQuat::from_rotation_x(-FRAC_PI_2) * DQuat::from_rotation_z(0.3) * DQuat::from_rotation_y(FRAC_PI_2);
        let along = frame * DVec3::Z;
        assert!(along.y != 0.0 && along.y.abs() < 1e-15, "{along}");
        let base = Body { fixed: true, ..body("base", 1.0, None, DVec3::ZERO) };
        let at = DVec3::new(0.0, 0.099, 0.0);
        let slab = Body { linear_velocity: along * 0.5, ..body("slab", 1.0, cube(0.2), at) };
        world.mechanism.bodies.extend([base, slab]);
        world.mechanism.joints.push(Joint { frame, ..joint("slide", JointKind::Slider, 0, 1, DVec3::ZERO) });
        let mut engine = build(&world, timestep);
        for _ in 0..steps(timestep, 1.0) {
            engine.step();
            assert_eq!(unconverged(&*engine), 0);
        }
        let moved = position(&*engine, 1) - at;
        assert!((moved - along * 0.5).length() < 1e-9, "{moved} at {timestep}");
    }
}
