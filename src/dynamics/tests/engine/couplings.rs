//! Couplings of joint axes. Two wheels of inertia I_1 and I_2 in the ratio r turn as one wheel of I_1 + r² I_2: a
//! torque T on the first accelerates it by T / (I_1 + r² I_2), and the teeth transmit r I_2 times that acceleration.

use std::f64::consts::TAU;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{EngineKind, Motor, Settings};
use simpartner_model::{BodyId, Coupling, Inertia, JointAxis, JointId, JointKind, Timestep};

use super::{G, build, run};
use crate::scene::{self, body, joint};

const RATIO: f64 = -2.5;

/// Two wheels side by side on a fixed base, each on a hinge along z. With `backwards`, the child of the second joint is
/// nearer to the root.
fn gear(offset: f64, backwards: bool) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for (name, x, inertia) in [("driver", 0.0, 0.3), ("driven", 1.0, 0.2)] {
        let mut wheel = body(name, 1.0, None, DVec3::new(x, 0.0, 0.0));
        let tensor = DMat3::from_diagonal(DVec3::new(1.0, 1.0, inertia));
        wheel.inertia = Some(Inertia { centre_of_mass: DVec3::ZERO, tensor });
        world.mechanism.bodies.push(wheel);
    }
    world.mechanism.joints.push(joint("first", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let (parent, child) = if backwards { (2, 0) } else { (0, 2) };
    world.mechanism.joints.push(joint("second", JointKind::Hinge, parent, child, DVec3::X));
    let axis = |joint| JointAxis { joint: JointId::new(joint), axis: 2 };
    let source = "gear.xml:9".to_owned();
    world.mechanism.couplings = vec![Coupling { leader: axis(0), follower: axis(1), ratio: RATIO, offset, source }];
    world
}

#[test]
fn geared_wheels_turn_as_one() {
    for backwards in [false, true] {
        for h in [0.001, 0.01] {
            let mut engine = build(&gear(0.0, backwards), h);
            engine.set_motor(JointId::new(0), 2, Motor::Effort(4.0));
            run(&mut *engine, h, 1.0);
            let [leader, follower] = [0, 1].map(|id| engine.joint(JointId::new(id)));
            let acceleration = 4.0 / (0.3 + RATIO * RATIO * 0.2);
            assert!((leader.rate[2] - acceleration).abs() < 1e-10, "{}", leader.rate[2]);
            assert!((leader.position[2] - 0.5 * acceleration).abs() < 1e-10, "{}", leader.position[2]);
            assert!((follower.position[2] - RATIO * leader.position[2]).abs() < 1e-12, "{}", follower.position[2]);
            let [on_leader, on_follower] = [leader, follower].map(|state| state.load.unwrap().passive[2]);
            let teeth = 0.2 * RATIO * acceleration;
            assert!((on_follower - teeth).abs() < 1e-9 && (on_leader + RATIO * teeth).abs() < 1e-9, "{on_follower}");
        }
    }
}

/// Wheels that start out of ratio reach it within some tens of steps, without oscillation.
#[test]
fn a_coupling_that_begins_open_closes() {
    let mut engine = build(&gear(0.01, false), 0.001);
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        engine.step();
        let [leader, follower] = [0, 1].map(|id| engine.joint(JointId::new(id)).position[2]);
        let off = follower - RATIO * leader - 0.01;
        assert!(off.abs() <= last && off <= 1e-12, "{off}");
        last = off.abs();
    }
    assert!(last < 1e-9, "{last}");
}

/// A motor on the leader holds a weight on the follower: it needs r times the moment.
#[test]
fn a_motor_holds_through_a_gear() {
    let mut world = gear(0.0, false);
    world.mechanism.bodies[2].inertia = None;
    world.mechanism.bodies[2].pose.translation = DVec3::new(1.4, 0.0, 0.0);
    let mut engine = build(&world, 0.001);
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 0.0, max_effort: 1000.0 });
    run(&mut *engine, 0.001, 1.0);
    let held = engine.joint(JointId::new(0)).effort[2];
    // The weight turns the follower by -0.4 g, so the leader by -0.4 g r.
    assert!((held - 0.4 * G * RATIO).abs() < 1e-6, "{held}");
    assert!(engine.body(BodyId::new(2)).pose.translation.y.abs() < 1e-6);
}

/// Any two joints of five bars can be coupled, including the joint that would close the loop, and they turn in the
/// given ratio.
#[test]
fn joints_of_a_loop_may_be_coupled() {
    let corners: Vec<DVec3> = (0..5).map(|k| DQuat::from_rotation_z(TAU * f64::from(k) / 5.0) * DVec3::X).collect();
    for (leader, follower) in (0..5).flat_map(|one| (0..5).map(move |other| (one, other))).filter(|(a, b)| a != b) {
        let mut world = scene::world();
        for k in 0..5 {
            let middle = 0.5 * (corners[k] + corners[(k + 4) % 5]);
            world.mechanism.bodies.push(body(&format!("link {k}"), 1.0, scene::cube(0.3), middle));
            let ends = (k, (k + 1) % 5);
            world.mechanism.joints.push(joint(&format!("pin {k}"), JointKind::Hinge, ends.0, ends.1, corners[k]));
        }
        world.mechanism.bodies[0].fixed = true;
        let mut world = scene::as_robot(world);
        let axis = |joint| JointAxis { joint: JointId::new(joint), axis: 2 };
        let [leader_axis, follower_axis] = [leader, follower].map(axis);
        let source = "gear.xml:9".to_owned();
        world.mechanism.couplings =
            vec![Coupling { leader: leader_axis, follower: follower_axis, ratio: -0.7, offset: 0.0, source }];
        let mut engine = build(&world, 0.001);
        engine.set_motor(JointId::new(leader), 2, Motor::Effort(5.0));
        run(&mut *engine, 0.001, 0.3);
        let [own, other] = [leader, follower].map(|joint| engine.joint(JointId::new(joint)).position[2]);
        assert!((other + 0.7 * own).abs() < 1e-9 && own.abs() > 1e-3, "{leader} {follower}: {own} {other}");
        for (k, pin) in corners.iter().enumerate() {
            let carried_by = |link: usize| {
                let pose = engine.body(BodyId::new(link)).pose;
                pose.point(pin - world.mechanism.bodies[link].pose.translation)
            };
            let open = carried_by(k).distance(carried_by((k + 1) % 5));
            // Driven loops are closed in the middle of each step, at its ends to the second order in the timestep.
            assert!(open < 1e-5, "{leader} {follower}: pin {k} is open by {open} m");
        }
    }
}

#[test]
fn what_cannot_be_coupled_is_refused() {
    let refusal = |world: &World, engine| {
        let settings = Settings { engine, ..Settings::default() };
        let built = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings);
        built.err().expect("it is refused").to_string()
    };
    let mut loose = gear(0.0, false);
    loose.mechanism.joints[1].kind = JointKind::Ball;
    assert!(refusal(&loose, EngineKind::Dynamics).starts_with("gear.xml:9: a coupling ties free axes"));
    // Two hinges of the same body make a loop, and both are coupled.
    let mut both = gear(0.0, false);
    both.mechanism.joints[1].child = BodyId::new(1);
    assert!(refusal(&both, EngineKind::Dynamics).contains("no loop may have coupled joints alone"));
    #[cfg(feature = "rapier")]
    assert!(refusal(&gear(0.0, false), EngineKind::Rapier).contains("rapier has no couplings"));
}
