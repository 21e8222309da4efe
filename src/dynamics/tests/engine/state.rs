//! State: a snapshot goes on bit for bit, sleep loses nothing, and the number of threads changes nothing.

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, EngineKind, Motor, PreviousIds, Settings};
use simpartner_model::{BodyId, JointId, JointKind, Timestep};

use super::{G, build, build_with, on_plane, position};
use crate::{
    rover::{self, Rover, Wheel},
    scene::{self, ball, body, cube, joint},
};

/// Hills, a robot, boxes that fall on each other, and a linkage with a loop.
fn busy() -> (World, Rover) {
    let mut world = scene::hills();
    let rover = rover::add(&mut world, DVec3::new(-15.0, 0.35, 0.0), Wheel::Cylinder);
    for index in 0..5 {
        let at = DVec3::new(4.0 + 0.1 * f64::from(index), 1.0 + 0.6 * f64::from(index), 0.05 * f64::from(index));
        world.mechanism.bodies.push(body("box", 2.0, if index % 2 == 0 { cube(0.5) } else { ball(0.3) }, at));
        // Some bounce.
        world.mechanism.bodies.last_mut().unwrap().material.restitution = 0.3 * f64::from(index % 3);
    }
    let first = world.mechanism.bodies.len();
    let corners = [DVec3::ZERO, DVec3::Y, DVec3::Y + DVec3::X, DVec3::X].map(|corner| corner + DVec3::Y * 3.0);
    world.mechanism.bodies.push(body("frame", 1.0, None, corners[0]));
    world.mechanism.bodies[first].fixed = true;
    for ends in corners.windows(2) {
        world.mechanism.bodies.push(body("rod", 1.0, ball(0.05), (ends[0] + ends[1]) / 2.0));
    }
    for (index, (parent, child)) in [(0, 1), (1, 2), (2, 3), (0, 3)].into_iter().enumerate() {
        world.mechanism.joints.push(joint("pin", JointKind::Hinge, first + parent, first + child, corners[index]));
    }
    (world, rover)
}

fn assert_equal(world: &World, a: &dyn Engine, b: &dyn Engine, step: usize) {
    for (id, body) in world.mechanism.bodies() {
        assert_eq!(a.body(id), b.body(id), "body '{}' in step {step}", body.name);
    }
    for (id, joint) in world.mechanism.joints() {
        assert_eq!(a.joint(id), b.joint(id), "joint '{}' in step {step}", joint.name);
    }
    assert_eq!(a.contacts(), b.contacts(), "step {step}");
    assert_eq!(a.step_events(), b.step_events(), "step {step}");
}

#[test]
fn a_snapshot_goes_on_bit_for_bit() {
    let (world, rover) = busy();
    let start = |engine: &mut dyn Engine| {
        rover.drive(engine, 4.0);
        engine.set_motor(JointId::new(rover::JOINTS), 2, Motor::Velocity { target: 20.0, max_effort: 300.0 });
    };
    for h in [0.001, 0.01] {
        let mut first = build(&world, h);
        start(&mut *first);
        for round in 0..20 {
            (0..100).for_each(|_| first.step());
            let mut second = build(&world, h);
            let snapshot = first.snapshot();
            second.restore(&snapshot).unwrap();
            assert_eq!(second.snapshot(), snapshot, "nothing is lost on the way");
            for step in 0..20 {
                // Events of the step before the snapshot are not reported again.
                if step > 0 {
                    assert_equal(&world, &*first, &*second, 100 * round + step);
                }
                first.step();
                second.step();
            }
        }
    }
}

/// Boxes and balls that fly past each other, meet and come to rest: an engine that is restored has no record of earlier
/// neighbours, and finds the same contacts, on two threads as well.
#[test]
fn what_an_engine_knows_of_pairs_changes_no_result() {
    let mut world = on_plane(scene::world());
    for index in 0..40 {
        let (i, j, level) = (index % 4, index / 4 % 3, index / 12);
        let at = DVec3::new(0.45 * f64::from(i), 0.4 + 0.5 * f64::from(level), 0.45 * f64::from(j));
        let mut one = body("lump", 1.0, if index % 3 == 0 { ball(0.15) } else { cube(0.3) }, at);
        let turn = f64::from(index);
        one.linear_velocity = DVec3::new((1.3 * turn).sin(), 0.0, (2.1 * turn).cos());
        one.angular_velocity = DVec3::new((0.7 * turn).cos(), (1.9 * turn).sin(), 0.5);
        world.mechanism.bodies.push(one);
    }
    let mut first = build(&world, 0.001);
    for round in 0..10 {
        (0..60).for_each(|_| first.step());
        let mut second = build_with(&world, 0.001, DynamicsSettings { threads: 1 + round % 2, ..Default::default() });
        second.restore(&first.snapshot()).unwrap();
        for step in 0..20 {
            first.step();
            second.step();
            assert_equal(&world, &*first, &*second, 80 * round + step);
        }
    }
}

#[test]
fn a_foreign_snapshot_is_refused_and_changes_nothing() {
    let (world, _) = busy();
    let mut engine = build(&world, 0.001);
    (0..100).for_each(|_| engine.step());
    let own = engine.snapshot();
    let other = build(&scene::world(), 0.001).snapshot();
    assert!(engine.restore(&other).is_err());
    assert_eq!(engine.snapshot(), own);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut world = scene::hills();
    let rovers: Vec<Rover> = (0..16)
        .map(|index| {
            let at = DVec3::new(-20.0 + 2.5 * f64::from(index % 4), 0.4, -8.0 + 2.5 * f64::from(index / 4));
            rover::add(&mut world, at, Wheel::Ball)
        })
        .collect();
    let mut engines: Vec<Box<dyn Engine>> = [1, 2, 5]
        .map(|threads| build_with(&world, 0.001, DynamicsSettings { threads, ..Default::default() }))
        .into_iter()
        .collect();
    for engine in &mut engines {
        rovers.iter().for_each(|rover| rover.drive(&mut **engine, 4.0));
    }
    for step in 0..300 {
        engines.iter_mut().for_each(|engine| engine.step());
        if step % 50 == 49 {
            assert_equal(&world, &*engines[0], &*engines[1], step);
            assert_equal(&world, &*engines[0], &*engines[2], step);
        }
    }
}

/// The world with newcomers in front of all its bodies: a post, and a ball that falls far away.
fn with_newcomers(world: &World) -> World {
    let mut world = world.clone();
    let mechanism = &mut world.mechanism;
    let post = body("post", 1.0, cube(1.0), DVec3::new(60.0, 40.0, 60.0));
    mechanism.bodies.splice(0..0, [post, body("newcomer", 3.0, ball(0.4), DVec3::new(60.0, 50.0, 60.0))]);
    mechanism.bodies[0].fixed = true;
    for joint in &mut mechanism.joints {
        (joint.parent, joint.child) = (BodyId::new(joint.parent.index() + 2), BodyId::new(joint.child.index() + 2));
    }
    for pair in &mut mechanism.apart {
        *pair = pair.map(|body| BodyId::new(body.index() + 2));
    }
    world
}

/// Bodies are added and removed far away: all other bodies, their joints, motors, contacts and loops continue with the
/// same bits as without the edit.
#[test]
fn what_is_there_goes_on_when_others_come_and_go() {
    let (world, rover) = busy();
    let grown = with_newcomers(&world);
    let joints: Vec<_> = (0..world.mechanism.joints.len()).map(|joint| Some(JointId::new(joint))).collect();
    let count = world.mechanism.bodies.len();
    let come = PreviousIds {
        bodies: [None; 2].into_iter().chain((0..count).map(|body| Some(BodyId::new(body)))).collect(),
        joints: joints.clone(),
    };
    let go = PreviousIds { bodies: (2..count + 2).map(|body| Some(BodyId::new(body))).collect(), joints };
    for h in [0.001, 0.01] {
        let (mut alone, mut other) = (build(&world, h), build(&world, h));
        for engine in [&mut alone, &mut other] {
            rover.drive(&mut **engine, 4.0);
            engine.set_motor(JointId::new(rover::JOINTS), 2, Motor::Velocity { target: 20.0, max_effort: 300.0 });
        }
        for round in 0..8 {
            let mut next = build(if round % 2 == 0 { &grown } else { &world }, h);
            assert!(next.adopt_state(&*other, if round % 2 == 0 { &come } else { &go }));
            other = next;
            let shift = if round % 2 == 0 { 2 } else { 0 };
            let newcomer = |engine: &dyn Engine| engine.body(BodyId::new(1)).pose.translation.y;
            assert!(shift == 0 || newcomer(&*other) == 50.0, "it begins where the model has it");
            for step in 0..100 {
                for body in 0..count {
                    let (one, two) = (alone.body(BodyId::new(body)), other.body(BodyId::new(body + shift)));
                    assert_eq!(one, two, "body {body} in step {step} of round {round}");
                }
                for joint in (0..world.mechanism.joints.len()).map(JointId::new) {
                    assert_eq!(alone.joint(joint), other.joint(joint), "step {step} of round {round}");
                }
                alone.step();
                other.step();
            }
            assert!(shift == 0 || newcomer(&*other) < 50.0, "and falls from there");
            // A migrated state is a complete state.
            let mut restored = build(if shift > 0 { &grown } else { &world }, h);
            restored.restore(&other.snapshot()).unwrap();
            assert_eq!(restored.snapshot(), other.snapshot());
        }
    }
}

/// A tower falls asleep, still reports its loads, and wakes as a whole when a ball rolls against it.
#[test]
fn sleep_loses_nothing() {
    let mut world = on_plane(scene::world());
    for index in 0..3 {
        world.mechanism.bodies.push(body("box", 2.0, cube(0.5), DVec3::new(0.0, 0.25 + 0.5 * f64::from(index), 0.0)));
    }
    world.mechanism.bodies.push(body("ball", 5.0, ball(0.3), DVec3::new(8.0, 0.3, 0.0)));
    world.mechanism.bodies[3].linear_velocity = DVec3::X * -3.0;
    world.mechanism.bodies[3].angular_velocity = DVec3::Z * 10.0;
    let settings = Settings { engine: EngineKind::Dynamics, auto_disable: true, ..Settings::default() };
    let start = || simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    let mut engine = start();
    (0..1000).for_each(|_| engine.step());
    let asleep = engine.body(BodyId::new(0));
    let snapshot = engine.snapshot();
    (0..500).for_each(|_| engine.step());
    assert_eq!(engine.body(BodyId::new(0)), asleep, "asleep, nothing changes to the bit");
    assert!((asleep.force.y - 2.0 * G).abs() < 1e-6, "{}", asleep.force);
    let ground: f64 =
        engine.contacts().iter().filter(|c| c.bodies == [None, Some(BodyId::new(0))]).map(|c| c.wrench.force.y).sum();
    assert!((ground - 6.0 * G).abs() < 1e-6, "{ground}");
    (0..3000).for_each(|_| engine.step());
    let top = position(&*engine, 2);
    assert!(position(&*engine, 0).x < -0.01 && (top - DVec3::Y * 1.25).length() > 0.01, "it was pushed: {top}");
    let mut other = start();
    other.restore(&snapshot).unwrap();
    (0..3500).for_each(|_| other.step());
    assert_equal(&world, &*engine, &*other, 4500);
}

/// The lowest box of a sleeping tower is removed: the others wake up, fall onto the ground and sleep again.
#[test]
fn what_is_asleep_on_something_that_goes_wakes_up() {
    let mut world = on_plane(scene::world());
    for index in 0..3 {
        world.mechanism.bodies.push(body("box", 2.0, cube(0.5), DVec3::new(0.0, 0.25 + 0.5 * f64::from(index), 0.0)));
    }
    let settings = Settings { engine: EngineKind::Dynamics, auto_disable: true, ..Settings::default() };
    let build = |world: &World| simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    let mut tower = build(&world);
    (0..1000).for_each(|_| tower.step());
    let asleep = tower.body(BodyId::new(2));
    tower.step();
    assert_eq!(tower.body(BodyId::new(2)), asleep, "it sleeps");
    world.mechanism.bodies.remove(0);
    let mut less = build(&world);
    let kept = PreviousIds { bodies: [1, 2].map(|body| Some(BodyId::new(body))).to_vec(), joints: Vec::new() };
    assert!(less.adopt_state(&*tower, &kept));
    // Half a metre takes 0.32 s.
    (0..2000).for_each(|_| less.step());
    for (index, height) in [0.25, 0.75].into_iter().enumerate() {
        let found = position(&*less, index).y;
        assert!((found - height).abs() < 1e-3, "box {index} is at {found}");
    }
}

/// A hanging parallelogram of objects comes to rest and sleeps. Its joints, including the loop joint, keep reporting
/// their loads, in a restored world as well; after it wakes up, they report them once, not twice.
#[test]
fn joints_that_sleep_still_tell_what_they_carry() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    let rod = |x: f64| body("rod", 1.0, None, DVec3::new(x, -0.5, 0.0));
    world.mechanism.bodies.extend([rod(0.0), body("tray", 4.0, cube(0.2), DVec3::new(0.5, -1.0, 0.0)), rod(1.0)]);
    let pin = |parent, child, x: f64, y: f64| joint("pin", JointKind::Hinge, parent, child, DVec3::new(x, y, 0.0));
    world.mechanism.joints.extend([
        pin(0, 1, 0.0, 0.0),
        pin(1, 2, 0.0, -1.0),
        pin(0, 3, 1.0, 0.0),
        pin(3, 2, 1.0, -1.0),
    ]);
    // It falls on the tray long after that has fallen asleep.
    world.mechanism.bodies.push(body("weight", 2.0, cube(0.1), DVec3::new(0.5, 20.0, 0.0)));
    let settings = Settings { engine: EngineKind::Dynamics, auto_disable: true, ..Settings::default() };
    let start = || simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    let mut engine = start();
    (0..1000).for_each(|_| engine.step());
    let carried = |engine: &dyn Engine| -> Vec<f64> {
        (0..4).map(|pin| engine.joint(JointId::new(pin)).load.unwrap().reaction.force.y.abs()).collect()
    };
    let asleep = engine.body(BodyId::new(2));
    let mut other = start();
    other.restore(&engine.snapshot()).unwrap();
    for engine in [&mut engine, &mut other] {
        engine.step();
        assert_eq!(engine.body(BodyId::new(2)), asleep, "it sleeps");
        for (force, expected) in carried(&**engine).into_iter().zip([3.0 * G, 2.0 * G, 3.0 * G, 2.0 * G]) {
            assert!((force - expected).abs() < 1e-3, "{force} {expected}");
        }
    }
    for step in 0..4000 {
        assert_equal(&world, &*engine, &*other, step);
        engine.step();
        other.step();
        // The hanging load is at most the weight and the blow: never twice the load of the step before it woke.
        if engine.contacts().is_empty() {
            assert!(carried(&*engine).iter().all(|&force| force < 5.0 * G), "step {step}: {:?}", carried(&*engine));
        }
    }
    assert_ne!(engine.body(BodyId::new(2)).pose, asleep.pose, "the weight has come down on it");
}
