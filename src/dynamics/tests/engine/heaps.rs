//! Many bodies in one island: every step is solved, and the cost of one body affects only bodies that may touch it.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, Motor, StepCheck};
use simpartner_model::{BodyId, JointId, JointKind, Shape};

use super::{build, on_plane, position, steps};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, joint},
};

/// Twenty dominoes of 12 by 100 by 50 mm, so far apart, the first of which leans on the second.
fn dominoes(apart: f64) -> Box<dyn Engine> {
    let mut world = on_plane(scene::world());
    for index in 0..20 {
        let size = DVec3::new(0.012, 0.1, 0.05);
        let mut one = body("domino", 0.06, Some(Shape::Box { size }), DVec3::new(apart * f64::from(index), 0.05, 0.0));
        one.material.friction = 0.6;
        if index == 0 {
            one.pose.translation += DVec3::new(0.008, 0.0003, 0.0);
            one.pose.rotation = DQuat::from_rotation_z(-0.16);
        }
        world.mechanism.bodies.push(one);
    }
    build(&world, 0.001)
}

/// Dominoes 40 mm apart: all fall, and every step is solved to the tolerance. At the end, some sixty contacts slide or
/// stick in one island.
#[test]
fn dominoes_are_solved_in_every_step() {
    let mut engine = dominoes(0.04);
    let mut unsolved = Vec::new();
    for _ in 0..steps(0.001, 1.5) {
        engine.step();
        unsolved.extend(engine.step_events().iter().filter(|event| event.check == StepCheck::Unconverged).cloned());
    }
    let fallen = (0..20).filter(|&index| position(&*engine, index).y < 0.04).count();
    println!("dominoes: {fallen} fell, {} solves fell short", unsolved.len());
    assert_eq!(fallen, 20);
    assert!(unsolved.is_empty(), "{}: {:?}", unsolved.len(), unsolved.first());
}

/// Dominoes a few micrometres further apart fall another way. The hardest step of each fall takes some 300 sweeps; in
/// five of the first two dozen it took 3000 and more, when a motion that no method solved to 1e-4 m/s was left to
/// homotopy.
#[test]
fn no_step_of_falling_dominoes_takes_the_work_of_hundreds() {
    for wider in [9.0, 15.0, 16.0, 17.0, 20.0] {
        let mut engine = dominoes(0.04 * (1.0 + 1e-4 * wider));
        let mut most = 0.0f64;
        for _ in 0..steps(0.001, 1.5) {
            engine.step();
            most = most.max(engine.solver_cost().unwrap());
            assert!(
                engine.step_events().iter().all(|event| event.check != StepCheck::Unconverged),
                "{:?}",
                engine.step_events()
            );
        }
        println!("{wider}: {most:.0} sweeps at most");
        assert!(most < 800.0, "{wider}: {most} sweeps");
    }
}

/// Twenty-seven cubes of 1 kg fall on a heap and come to rest. The solver's tolerance is relative to the sliding speed:
/// an error of 1e-5 m/s under the weight of all cubes is a power of 3 mW, which bounds the net energy gain during the
/// fall. At the end the kinetic energy is below 1e-15 J, which needs the tight tolerance.
#[test]
fn heaps_gain_nothing_while_they_fall_and_rest_exactly() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        for index in 0..27 {
            let (i, j, level) = (index % 3, index / 3 % 3, index / 9);
            let at = DVec3::new(0.3 * f64::from(i), 0.2 + 0.3 * f64::from(level), 0.3 * f64::from(j));
            let mut one = body("lump", 1.0, scene::cube(0.2), at);
            let turn = f64::from(index);
            one.pose.rotation = DQuat::from_rotation_x(0.3 * turn) * DQuat::from_rotation_y(0.7 * turn);
            one.material.friction = 0.5;
            world.mechanism.bodies.push(one);
        }
        let (mut engine, seconds) = (build(&world, h), 4.0);
        let mut energy = engine.energy_balance().unwrap().stored;
        let (mut gained, mut most) = (0.0f64, 0usize);
        for _ in 0..steps(h, seconds) {
            engine.step();
            assert!(
                engine.step_events().iter().all(|event| event.check != StepCheck::Unconverged),
                "{:?}",
                engine.step_events()
            );
            let now = engine.energy_balance().unwrap();
            gained += (now.stored - energy - now.supplied).max(0.0);
            (energy, most) = (now.stored, most.max(engine.contacts().len()));
        }
        let kinetic = engine.energy_balance().unwrap().kinetic;
        println!(
            "{h} s: {most} contacts at most; the heap gained {gained:.1e} J in all, and keeps {kinetic:.1e} J of motion"
        );
        assert!(most > 30 && gained < 1e-5 * 27.0 * crate::G * seconds, "{gained}");
        assert!(kinetic < 1e-15, "{kinetic}");
    }
}

/// Cylinders and capsules that bounce off each other: a step has many substeps, one for each time of impact, and the
/// solver has enough sweeps even for the shortest of them. With eight sweeps for these, 53 solves of the cylinders did
/// not converge; a dozen suffice.
#[test]
fn heaps_that_bounce_are_solved() {
    for cylinders in [true, false] {
        let mut world = on_plane(scene::world());
        for index in 0..48 {
            let (i, j, level) = (index % 4, index / 4 % 4, index / 16);
            let at = DVec3::new(0.3 * f64::from(i), 0.3 + 0.35 * f64::from(level), 0.3 * f64::from(j));
            let [long, round] =
                [Shape::Cylinder { radius: 0.1, length: 0.2 }, Shape::Capsule { radius: 0.06, length: 0.2 }];
            let mut one = body("lump", 1.0, Some(if cylinders { long } else { round }), at);
            let turn = f64::from(index + 300);
            one.pose.rotation = DQuat::from_rotation_x(0.3 * turn) * DQuat::from_rotation_y(0.7 * turn);
            (one.material.friction, one.material.restitution) = (0.4, 0.5);
            world.mechanism.bodies.push(one);
        }
        let mut engine = build(&world, 0.001);
        let mut unsolved = 0;
        for _ in 0..steps(0.001, 1.5) {
            engine.step();
            unsolved += engine.step_events().iter().filter(|event| event.check == StepCheck::Unconverged).count();
        }
        println!("cylinders {cylinders}: {unsolved} solves fell short");
        assert!(unsolved < 25, "cylinders {cylinders}: {unsolved}");
    }
}

/// A rotor at 800 rad/s needs divided steps. This does not affect a robot some metres away: its states have the same
/// bits as without the rotor.
#[test]
fn a_fast_rotor_divides_only_its_own_steps() {
    let mut alone = on_plane(scene::world());
    let rover = rover::add(&mut alone, DVec3::ZERO, Wheel::Ball);
    let bodies = alone.mechanism.bodies.len();
    let mut beside = alone.clone();
    let at = DVec3::new(8.0, 2.0, 0.0);
    beside.mechanism.bodies.push(body("hub", 10.0, ball(0.1), at));
    beside.mechanism.bodies[bodies].fixed = true;
    beside.mechanism.bodies.push(body("rotor", 0.1, ball(0.05), at));
    let pin = beside.mechanism.joints.len();
    beside.mechanism.joints.push(joint("pin", JointKind::Hinge, bodies, bodies + 1, at));
    let (mut alone, mut beside) = (build(&alone, 0.001), build(&beside, 0.001));
    beside.set_motor(JointId::new(pin), 2, Motor::Velocity { target: 800.0, max_effort: 5.0 });
    let mut divided = false;
    for engine in [&mut alone, &mut beside] {
        rover.drive(&mut **engine, 4.0);
    }
    for step in 0..300 {
        alone.step();
        beside.step();
        divided |= beside.step_events().iter().any(|event| event.check == StepCheck::Substeps && event.value >= 16.0);
        for index in (0..bodies).map(BodyId::new) {
            assert_eq!(alone.body(index), beside.body(index), "step {step}");
        }
    }
    assert!(divided);
}

/// A ball rests on the fixed hub of an arm that swings freely. The hub is a link of the arm's tree, but nothing moves
/// it, so the ball is in an island of its own.
#[test]
fn a_ball_rests_on_the_fixed_base_of_an_arm() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("hub", 1.0, scene::cube(0.2), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("bob", 1.0, None, DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.joints.push(joint("pin", JointKind::Hinge, 0, 1, DVec3::ZERO));
    world.mechanism.bodies.push(body("ball", 1.0, ball(0.05), DVec3::new(0.0, 0.15, 0.0)));
    let mut engine = build(&world, 0.001);
    (0..steps(0.001, 0.5)).for_each(|_| engine.step());
    assert!((position(&*engine, 2).y - 0.15).abs() < 1e-6, "{}", position(&*engine, 2));
    assert!(position(&*engine, 1).y < -0.1, "the arm swings");
}
