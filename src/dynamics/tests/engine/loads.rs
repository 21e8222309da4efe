//! Loads of joints.
//!
//! A motor below its limit exerts the effort of statics, and at its limit exactly the limit; so do stops and dry
//! friction. The reaction of a joint is the wrench that its child needs beside gravity and contacts for its motion
//! (Newton and Euler). Its component along the axis therefore equals the sum of motor, stop, spring, damping and
//! friction, which checks the engine's bookkeeping.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, Motor, Settings, StepCheck};
use simpartner_model::{Axis, BodyId, FreeAxis, Inertia, JointId, JointKind, Shape, Timestep};

use super::{G, build, build_with, on_plane, run, steps};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, joint},
};

/// A bar of 1 m that turns about a fixed pin at the origin.
fn arm(mass: f64, axis: FreeAxis) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("arm", mass, None, DVec3::new(0.5, 0.0, 0.0)));
    let moments = DVec3::new(0.01 / 12.0 * 2.0, 1.01 / 12.0, 1.01 / 12.0) * mass;
    let tensor = DMat3::from_diagonal(moments);
    world.mechanism.bodies[1].inertia = Some(Inertia { centre_of_mass: DVec3::ZERO, tensor });
    let mut hinge = joint("pin", JointKind::Hinge, 0, 1, DVec3::ZERO);
    hinge.axes[2] = Axis::Free(axis);
    world.mechanism.joints.push(hinge);
    world
}

#[test]
fn a_motor_exerts_its_limit_and_says_so() {
    for h in [0.001, 0.01, 0.02] {
        for limit in [3.0, 6.0, 20.0] {
            let mut world = arm(1.0, FreeAxis::default());
            world.mechanism.gravity = DVec3::ZERO;
            let mut engine = build(&world, h);
            engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 1000.0, max_effort: limit });
            run(&mut *engine, h, 0.02);
            let before = engine.joint(JointId::new(0)).rate[2];
            for _ in 0..steps(h, 0.2) {
                engine.step();
            }
            let state = engine.joint(JointId::new(0));
            let effective = (state.rate[2] - before) * (1.01 / 12.0 + 0.25) / 0.2;
            println!("motor limit {limit} N m, h {h}: {effective:.9} by the motion, {:.9} reported", state.effort[2]);
            assert!((effective - limit).abs() < 1e-9 * limit && (state.effort[2] - limit).abs() < 1e-12, "{effective}");
        }
    }
}

/// A motor below its limit is exact: a velocity motor at zero stands still under 49 N m, and one at 0.3 rad/s keeps its
/// rate.
#[test]
fn a_velocity_motor_below_its_limit_does_not_creep() {
    for h in [0.001, 0.01] {
        for rate in [0.0, 0.3] {
            let mut engine = build(&arm(10.0, FreeAxis::default()), h);
            engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: rate, max_effort: 1000.0 });
            // It gathers speed for some milliseconds.
            run(&mut *engine, h, 0.1);
            let start = engine.joint(JointId::new(0)).position[2];
            run(&mut *engine, h, 10.0);
            let off = engine.joint(JointId::new(0)).position[2] - start - 10.0 * rate;
            println!("h {h}, {rate} rad/s: {off:.1e} rad off after 10 s");
            // Ten times the 49 N m of a change of load, at 1e-8 rad/s for each N m.
            assert!(off.abs() < 5e-6, "{off}");
        }
    }
}

/// A body on a ball joint starts with the velocity of its file, for both directions of the joint.
#[test]
fn a_ball_joint_begins_with_the_velocity_of_its_bodies() {
    for backwards in [false, true] {
        let mut world = arm(1.0, FreeAxis::default());
        world.mechanism.gravity = DVec3::ZERO;
        let (parent, child) = if backwards { (1, 0) } else { (0, 1) };
        world.mechanism.joints[0] = joint("ball", JointKind::Ball, parent, child, DVec3::ZERO);
        world.mechanism.joints[0].frame = DQuat::from_rotation_x(0.7);
        let spin = DVec3::new(0.3, -0.7, 1.1);
        world.mechanism.bodies[1].angular_velocity = spin;
        world.mechanism.bodies[1].linear_velocity = spin.cross(DVec3::new(0.5, 0.0, 0.0));
        let engine = build(&world, 0.001);
        let state = engine.body(BodyId::new(1));
        assert!((state.angular_velocity - spin).length() < 1e-15, "{}", state.angular_velocity);
        let expected = world.mechanism.bodies[1].linear_velocity;
        assert!((state.linear_velocity - expected).length() < 1e-15, "{}", state.linear_velocity);
    }
}

#[test]
fn a_stop_holds_and_tells_its_torque() {
    for h in [0.001, 0.01, 0.02] {
        let world = arm(10.0, FreeAxis { lower: -0.5, upper: 0.5, ..FreeAxis::default() });
        let mut engine = build(&world, h);
        let mut farthest = 0.0f64;
        for _ in 0..steps(h, 5.0) {
            engine.step();
            farthest = farthest.min(engine.joint(JointId::new(0)).position[2]);
        }
        let load = engine.joint(JointId::new(0)).load.unwrap();
        let expected = 10.0 * G * 0.5 * 0.5f64.cos();
        println!(
            "stop at -0.5 rad, h {h}: passed by {:.1e} rad, torque {:.6} ({expected:.6})",
            -0.5 - farthest,
            load.stop[2]
        );
        assert!((farthest + 0.5).abs() < 1e-9, "{farthest}");
        assert!((load.stop[2] - expected).abs() < 1e-6, "{load:?}");
    }
}

#[test]
fn dry_friction_holds_and_tells_its_torque() {
    for h in [0.001, 0.01] {
        let world = arm(10.0, FreeAxis { friction: 60.0, ..FreeAxis::default() });
        let mut engine = build(&world, h);
        run(&mut *engine, h, 5.0);
        let state = engine.joint(JointId::new(0));
        let load = state.load.unwrap();
        assert!(state.position[2].abs() < 1e-9 && state.rate[2].abs() < 1e-12, "{state:?}");
        assert!((load.passive[2] - 49.05).abs() < 1e-9, "{load:?}");
    }
}

/// Two links in a row held by motors: force and moment in each joint are those of statics.
#[test]
fn reactions_are_those_of_statics() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("upper", 2.0, ball(0.05), DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.bodies.push(body("lower", 3.0, ball(0.05), DVec3::new(1.5, 0.0, 0.0)));
    world.mechanism.joints.push(joint("shoulder", JointKind::Hinge, 0, 1, DVec3::ZERO));
    world.mechanism.joints.push(joint("elbow", JointKind::Hinge, 1, 2, DVec3::X));
    // The elbow turns about the vertical, so its motor carries no load and its bearing the whole.
    world.mechanism.joints[1].frame = bevy_math::DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    let mut engine = build(&world, 0.001);
    for index in 0..2 {
        engine.set_motor(JointId::new(index), 2, Motor::Position { target: 0.0, max_effort: 1e4 });
    }
    run(&mut *engine, 0.001, 5.0);
    let reaction = |index: usize| engine.joint(JointId::new(index)).load.unwrap().reaction;
    let (first, second) = (reaction(0), reaction(1));
    println!("reactions: {first:?} (49.05 N, 53.955 N m), {second:?} (29.43 N, 14.715 N m)");
    assert!((first.force - DVec3::Y * 49.05).length() < 1e-3, "{first:?}");
    assert!((first.torque - DVec3::Z * 53.955).length() < 1e-2, "{first:?}");
    assert!((second.force - DVec3::Y * 29.43).length() < 1e-3, "{second:?}");
    assert!((second.torque - DVec3::Z * 14.715).length() < 1e-2, "{second:?}");
    assert!(engine.joint(JointId::new(1)).effort[2].abs() < 1e-6);
}

/// The largest difference between a joint's reaction along its axis and the sum of its motor, stops and losses.
/// Reaction and axis are those of the middle of the step: halfway between the parent's orientations at both ends.
fn imbalance(world: &World, engine: &dyn Engine, before: &[DQuat]) -> f64 {
    let each = world.mechanism.joints().map(|(id, joint)| {
        let state = engine.joint(id);
        let load = state.load.unwrap();
        let middle = before[joint.parent.index()].slerp(engine.body(joint.parent).pose.rotation, 0.5);
        let axis = middle * world.mechanism.body(joint.parent).pose.rotation.inverse() * joint.frame * DVec3::Z;
        (load.reaction.torque.dot(axis) - state.effort[2] - load.stop[2] - load.passive[2]).abs()
    });
    each.fold(0.0, f64::max)
}

#[test]
fn the_books_of_a_driving_robot_balance() {
    for (name, ground) in [("flat", false), ("terrain", true)] {
        let mut world = if ground { scene::hills() } else { on_plane(scene::world()) };
        let at = if ground { DVec3::new(-15.0, 0.35, 0.0) } else { DVec3::ZERO };
        let rover = rover::add(&mut world, at, Wheel::Ball);
        for joint in &mut world.mechanism.joints {
            joint.axes[2] = Axis::Free(FreeAxis { damping: 0.2, friction: 0.1, armature: 0.01, ..FreeAxis::default() });
        }
        let mut engine = build(&world, 0.001);
        rover.drive(&mut *engine, 4.0);
        let mut worst = 0.0f64;
        for step in 0..6000 {
            let before: Vec<DQuat> = world.mechanism.bodies().map(|(id, _)| engine.body(id).pose.rotation).collect();
            engine.step();
            // The engine checks its own books in every step, those with impacts too.
            assert!(
                engine.step_events().iter().all(|event| event.check != StepCheck::Imbalance),
                "{:?}",
                engine.step_events()
            );
            if step > 3000 {
                worst = worst.max(imbalance(&world, &*engine, &before));
            }
        }
        println!("axis reactions against motors, stops and losses, {name}: {worst:.1e} N m off at most");
        // During impacts of the wheels, only the engine knows the axis at the middle of the step.
        assert!(worst < if ground { 1e-2 } else { 1e-9 }, "{worst}");
    }
}

/// A robot hits bumps, and its work budget allows no second pass for the changed bias. Steps are not converged, and
/// still every joint transmits along its axis the exerted effort. An earlier version had updated the bias but not the
/// motion.
#[test]
fn the_books_balance_where_work_is_at_its_end() {
    let mut world = scene::hills();
    let rover = rover::add(&mut world, DVec3::new(-15.0, 0.35, 0.0), Wheel::Ball);
    let mut engine = build_with(&world, 0.001, DynamicsSettings { max_sweeps: 1, ..Default::default() });
    rover.drive(&mut *engine, 8.0);
    let mut unsolved = 0;
    for step in 0..3000 {
        engine.step();
        let told = |check: StepCheck| engine.step_events().iter().find(|event| event.check == check);
        assert!(told(StepCheck::Imbalance).is_none(), "step {step}: {:?}", told(StepCheck::Imbalance));
        unsolved += usize::from(told(StepCheck::Unconverged).is_some());
    }
    assert!(unsolved > 0);
}

/// The wheels of a standing robot carry its weight in every single step.
#[test]
fn wheels_carry_the_weight_to_rounding() {
    for h in [0.001, 0.002, 0.01, 0.02] {
        for rate in [0.0, 4.0] {
            let mut world = on_plane(scene::world());
            let rover = rover::add(&mut world, DVec3::ZERO, Wheel::Ball);
            let mut engine = build(&world, h);
            rover.drive(&mut *engine, rate);
            // The legs settle first.
            for _ in 0..steps(h, 8.0) {
                engine.step();
            }
            let mut worst = 0.0f64;
            for _ in 0..steps(h, 5.0) {
                run(&mut *engine, h, h);
                let force: f64 = rover.bodies().map(|id| engine.body(id).force.y).sum();
                let listed: f64 = engine.contacts().iter().map(|contact| contact.wrench.force.y).sum();
                worst = worst.max((force / (rover::MASS * G) - 1.0).abs()).max((listed - force).abs());
            }
            println!("robot at {rate} rad/s, h {h}: wheels carry its weight to {worst:.1e} in every step");
            assert!(worst < 1e-9, "{worst}");
            assert!(engine.contacts().iter().all(|contact| contact.bodies[0].is_none() && contact.normal == DVec3::Y));
        }
    }
}

/// A closed loop: the pins of a hanging parallelogram share its weight as in statics.
#[test]
fn the_pins_of_a_loop_carry_its_weight() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    let rod = |x: f64| body("rod", 1.0, ball(0.02), DVec3::new(x, -0.5, 0.0));
    world.mechanism.bodies.extend([rod(0.0), body("tray", 4.0, ball(0.02), DVec3::new(0.5, -1.0, 0.0)), rod(1.0)]);
    let pin = |parent, child, x: f64, y: f64| joint("pin", JointKind::Hinge, parent, child, DVec3::new(x, y, 0.0));
    world.mechanism.joints.extend([
        pin(0, 1, 0.0, 0.0),
        pin(1, 2, 0.0, -1.0),
        pin(0, 3, 1.0, 0.0),
        pin(3, 2, 1.0, -1.0),
    ]);
    let mut engine = build(&world, 0.001);
    run(&mut *engine, 0.001, 1.0);
    for (index, expected) in [(0, 3.0), (1, -2.0), (2, 3.0), (3, -2.0)] {
        let force = engine.joint(JointId::new(index)).load.unwrap().reaction.force;
        let sign = if index % 2 == 1 { -1.0 } else { 1.0 };
        // Each upper pin carries a rod and half the tray; each lower one half the tray.
        let wanted = expected * sign * G;
        assert!((force.y - wanted).abs() < 1e-6 && force.x.abs() < 1e-6, "pin {index}: {force}, {wanted}");
    }
    assert!(engine.body(BodyId::new(2)).linear_velocity.length() < 1e-9);
}

/// A shelf welded to a wall cannot move, and its joint still reports its load: its own 3 kg at 0.5 m, and a cube of 5
/// kg that has come to rest on it at 0.8 m, awake or asleep.
#[test]
fn a_welded_shelf_tells_what_stands_on_it() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("wall", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    let plank = Some(Shape::Box { size: DVec3::new(1.0, 0.1, 1.0) });
    world.mechanism.bodies.push(body("shelf", 3.0, plank, DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.bodies.push(body("cube", 5.0, scene::cube(0.2), DVec3::new(0.8, 0.15, 0.0)));
    world.mechanism.joints.push(joint("weld", JointKind::Fixed, 0, 1, DVec3::ZERO));
    for auto_disable in [false, true] {
        let settings = Settings { auto_disable, ..scene::settings() };
        let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
        run(&mut *engine, 0.001, 5.0);
        let load = engine.joint(JointId::new(0)).load.unwrap().reaction;
        println!("shelf: {} N, {} N m, auto-disable {auto_disable}", load.force.y, load.torque.z);
        assert!((load.force.y - 8.0 * G).abs() < 1e-9 && load.force.x.abs() < 1e-9);
        assert!((load.torque.z - (3.0 * 0.5 + 5.0 * 0.8) * G).abs() < 1e-9, "{}", load.torque);
    }
}
