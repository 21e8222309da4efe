//! Loop joints obey the same laws as tree joints.
//!
//! A door on two hinges of one axis has one coordinate, whichever hinge is in the tree: with equal names the first one
//! is, and the second one closes a loop. So a law (stop, motor, spring, damper, friction, rotor) on the first hinge and
//! the same law on the second are one mechanism, and both worlds must move alike up to the solver's tolerance.

mod rings;

use std::f64::consts::TAU;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, Integrator, Motor, Servo, StepCheck, mass_properties};
use simpartner_model::{Axis, Body, BodyId, FreeAxis, JointId, JointKind, Shape};

use super::{build, build_with, energy, run, steps};
use crate::scene::{self, body, joint};

/// The law is on the hinge of the tree, or on the hinge that closes the loop.
const IN_TREE: usize = 0;
const IN_LOOP: usize = 1;
const TIMESTEPS: [f64; 5] = [0.0005, 0.001, 0.002, 0.005, 0.01];
/// Residual velocity of a solver's sweep, rad/s: the largest difference of two solutions of one step.
const SOLVED: f64 = 1e-9;

/// A door of 3 kg on two hinges, 1.7 m apart on one axis along z, that turns at `rate`. The law is on the hinge
/// `place`.
fn door(law: FreeAxis, place: usize, rate: f64) -> World {
    let mut world = scene::world();
    let post = Shape::Box { size: DVec3::new(0.3, 0.3, 2.0) };
    world.mechanism.bodies.push(body("frame", 5.0, Some(post), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    let leaf = Shape::Box { size: DVec3::new(0.8, 0.05, 2.0) };
    world.mechanism.bodies.push(body("door", 3.0, Some(leaf), DVec3::new(0.4, 0.0, 0.1)));
    world.mechanism.bodies[1].angular_velocity = DVec3::Z * rate;
    world.mechanism.bodies[1].linear_velocity = DVec3::Y * (0.4 * rate);
    for z in [-1.0, 0.7] {
        world.mechanism.joints.push(joint("hinge", JointKind::Hinge, 0, 1, DVec3::Z * z));
    }
    world.mechanism.joints[place].axes[2] = Axis::Free(law);
    world
}

/// Moment of inertia of the door about its hinges.
fn inertia() -> f64 {
    let door = &door(FreeAxis::default(), IN_TREE, 0.0).mechanism.bodies[1];
    mass_properties(door).unwrap().tensor.z_axis.z + door.mass * 0.16
}

fn weightless(mut world: World) -> World {
    world.mechanism.gravity = DVec3::ZERO;
    world
}

/// Readings of a joint: coordinate, rate, and the efforts of motor, stops and passive elements.
fn read(engine: &dyn Engine, joint: usize) -> ([f64; 2], [f64; 3]) {
    let state = engine.joint(JointId::new(joint));
    let load = state.load.unwrap();
    ([state.position[2], state.rate[2]], [state.effort[2], load.stop[2], load.passive[2]])
}

/// The largest differences between the two doors, of coordinates and rates and of efforts.
fn differ(law: FreeAxis, motor: Option<Motor>, rate: f64, h: f64) -> (f64, f64) {
    let mut engines = [IN_TREE, IN_LOOP].map(|place| {
        // Under gravity the energy check may divide a step near a turning point, depending on the energy of the tree.
        // The spring and the rotor of a tree joint are included in it, those of a loop joint are not.
        let (world, stores) = (door(law, place, rate), law.stiffness > 0.0 || law.armature > 0.0);
        let mut engine = build(&if stores { weightless(world) } else { world }, h);
        if let Some(motor) = motor {
            engine.set_motor(JointId::new(place), 2, motor);
        }
        engine
    });
    let (mut motion, mut effort) = (0.0f64, 0.0f64);
    for _ in 0..steps(h, 2.0) {
        engines.iter_mut().for_each(|engine| engine.step());
        let [one, other] = [IN_TREE, IN_LOOP].map(|place| read(&*engines[place], place));
        motion = one.0.iter().zip(other.0).fold(motion, |worst, (a, b)| worst.max((a - b).abs()));
        effort = one.1.iter().zip(other.1).fold(effort, |worst, (a, b)| worst.max((a - b).abs()));
        assert_eq!(engines[0].step_events().len(), engines[1].step_events().len(), "{:?}", engines[1].step_events());
    }
    (motion, effort)
}

#[test]
fn a_law_on_a_loop_joint_is_the_law_on_a_tree_joint() {
    let none = FreeAxis::default();
    let stops = FreeAxis { lower: -0.4, upper: 0.3, ..none };
    let spring = FreeAxis { stiffness: 80.0, spring_position: 0.2, ..none };
    let servo = Servo { position: 0.4, rate: 0.0, stiffness: 200.0, damping: 15.0, max_effort: 30.0 };
    let all = FreeAxis { damping: 0.7, armature: 0.8, ..FreeAxis { lower: -0.4, upper: 0.3, ..spring } };
    let cases = [
        ("nothing", none, None, 0.0),
        ("stops, hit at 5 rad/s", stops, None, -5.0),
        ("stops, hit at 20 rad/s", stops, None, 20.0),
        ("stops, fallen on", stops, None, 0.0),
        ("damper", FreeAxis { damping: 2.0, ..none }, None, 3.0),
        ("dry friction", FreeAxis { friction: 8.0, ..none }, None, 3.0),
        ("dry friction that holds", FreeAxis { friction: 20.0, ..none }, None, 3.0),
        ("spring", spring, None, 0.0),
        ("rotor", FreeAxis { armature: 2.0, ..none }, None, 2.0),
        ("spring and rotor", FreeAxis { armature: 2.0, ..spring }, None, 2.0),
        ("rate", none, Some(Motor::Velocity { target: 2.0, max_effort: 100.0 }), 0.0),
        // Not 50 rad/s: at 2 ms that is the rate from which steps are divided, and both doors are within rounding of
        // it.
        ("rate out of reach", none, Some(Motor::Velocity { target: 60.0, max_effort: 20.0 }), 0.0),
        ("position", none, Some(Motor::Position { target: 1.0, max_effort: 60.0 }), 0.0),
        ("effort", FreeAxis { armature: 0.5, ..none }, Some(Motor::Effort(6.0)), 0.0),
        ("servo", none, Some(Motor::Servo(servo)), 1.0),
        ("all but friction", all, Some(Motor::Servo(servo)), 4.0),
        ("all but stops", FreeAxis { friction: 2.0, lower: -9.0, upper: 9.0, ..all }, Some(Motor::Servo(servo)), 4.0),
    ];
    for h in TIMESTEPS {
        for (name, law, motor, rate) in cases {
            let (motion, effort) = differ(law, motor, rate, h);
            println!("{name}, h {h}: {motion:.1e} rad and rad/s, {effort:.1e} N m");
            // Every step may leave the solver's residual; the motion of a pendulum does not amplify it quickly.
            let solved = SOLVED * steps(h, 2.0) as f64;
            // A rigid motor of a loop joint yields by 1e-8 rad/s for each of up to 100 N m; one of a tree does not.
            let yields = if matches!(motor, Some(Motor::Velocity { .. })) { 1e-8 * 100.0 * 2.0 } else { 0.0 };
            assert!(motion < solved + yields, "{name}, h {h}: {motion}");
            // An effort is the change of a rate in a step times an inertia, here of up to 10 kg m².
            assert!(effort < 10.0 * motion.max(SOLVED) / h, "{name}, h {h}: {effort}");
        }
    }
}

/// A stop is inelastic: after the impact the door rests at the stop.
#[test]
fn a_stop_of_a_loop_joint_gives_nothing_back() {
    for h in TIMESTEPS {
        // Rates up to the limit at which a step is divided: a joint may turn by 0.1 rad.
        for rate in [0.5, 5.0, 0.09 / h] {
            let stops = FreeAxis { lower: -0.4, upper: 0.3, ..FreeAxis::default() };
            let mut engine = build(&weightless(door(stops, IN_LOOP, -rate)), h);
            let mut farthest = 0.0f64;
            for _ in 0..steps(h, 0.4 / rate + 10.0 * h) {
                run(&mut *engine, h, h);
                farthest = farthest.min(read(&*engine, IN_LOOP).0[0]);
            }
            let ([angle, after], _) = read(&*engine, IN_LOOP);
            println!("stop hit at {rate} rad/s, h {h}: passed by {:.1e} rad, {after:.1e} rad/s after", -0.4 - farthest);
            assert!((farthest + 0.4).abs() < 1e-9 && (angle - farthest).abs() < 1e-9, "{farthest} {angle}");
            assert!(after.abs() < SOLVED, "{after}");
        }
    }
}

/// A torque T turns door and rotor together: q = T t² / 2 (I + J), which the scheme has exactly.
#[test]
fn a_rotor_on_a_loop_joint_turns_with_it() {
    for h in TIMESTEPS {
        let law = FreeAxis { armature: 2.0, ..FreeAxis::default() };
        let mut engine = build(&weightless(door(law, IN_LOOP, 0.0)), h);
        engine.set_motor(JointId::new(IN_LOOP), 2, Motor::Effort(5.0));
        run(&mut *engine, h, 1.0);
        let (([angle, rate], _), wanted) = (read(&*engine, IN_LOOP), 5.0 / (inertia() + 2.0));
        println!("rotor, h {h}: {:.1e} rad, {:.1e} rad/s off", angle - 0.5 * wanted, rate - wanted);
        assert!((angle - 0.5 * wanted).abs() < 1e-9 && (rate - wanted).abs() < 1e-9, "{angle} {rate} {wanted}");
    }
}

/// Door, rotor and spring conserve (I + J) q'²/2 + k q²/2. The period has an error of half a percent in 10 s at 10 ms,
/// where a step is 0.05 rad of the oscillation; the energy itself is constant.
#[test]
fn a_spring_and_a_rotor_on_a_loop_joint_keep_their_energy() {
    for h in TIMESTEPS {
        let law = FreeAxis { stiffness: 80.0, armature: 2.0, ..FreeAxis::default() };
        let mut engine = build(&weightless(door(law, IN_LOOP, 2.0)), h);
        let held = |engine: &dyn Engine| {
            let ([angle, rate], _) = read(engine, IN_LOOP);
            0.5 * (inertia() + 2.0) * rate * rate + 0.5 * 80.0 * angle * angle
        };
        let start = held(&*engine);
        let mut worst = 0.0f64;
        for _ in 0..steps(h, 10.0) {
            engine.step();
            worst = worst.max((held(&*engine) / start - 1.0).abs());
        }
        println!("spring and rotor, h {h}: energy off by a share of {worst:.1e}");
        assert!(worst < SOLVED * steps(h, 10.0) as f64, "{worst}");
    }
}

/// Two hinges on one axis, at any position: the rows of the second one are zero but for rounding, and constrain
/// nothing.
#[test]
fn a_door_on_two_hinges_swings_like_one_on_one() {
    for (place, turn) in [
        (DVec3::ZERO, DQuat::IDENTITY),
        (DVec3::new(3.0, -2.0, 7.0), DQuat::from_rotation_x(0.7)),
        (DVec3::new(300.0, 20.0, -700.0), DQuat::from_euler(bevy_math::EulerRot::XYZ, 1.1, -0.6, 0.4)),
    ] {
        for free in [false, true] {
            let doors = [1, 2].map(|hinges| {
                let mut world = door(FreeAxis::default(), IN_TREE, 1.0);
                world.mechanism.joints.truncate(hinges);
                world.mechanism.bodies[0].fixed = !free;
                moved(&mut world, place, turn);
                world
            });
            // A single hinge would be integrated to fourth order.
            let second = || DynamicsSettings { integrator: Integrator::Midpoint, ..DynamicsSettings::default() };
            let mut engines = [build_with(&doors[0], 0.001, second()), build_with(&doors[1], 0.001, second())];
            let mut worst = 0.0f64;
            for _ in 0..steps(0.001, 5.0) {
                engines.iter_mut().for_each(|engine| engine.step());
                let [one, two] = [0, 1].map(|k| read(&*engines[k], 0).0);
                worst = worst.max((one[0] - two[0]).abs()).max((one[1] - two[1]).abs());
                assert!(engines[1].step_events().is_empty(), "{:?}", engines[1].step_events());
            }
            println!("door on two hinges at {place}, free frame {free}: {worst:.1e} rad and rad/s");
            // Rounding of places, a unit in the last place of the distance, times the number of steps. On a frame that
            // turns there is a bias, which among the rows of a loop is found to 1e-8 of the energy, and alone to
            // rounding.
            let bias = if free { 1e-8 } else { 0.0 };
            assert!(worst < 5000.0 * f64::EPSILON * (1.0 + place.length()) + bias, "{worst}");
            assert!(read(&*engines[1], 0).0[1].abs() > 0.1, "it swings");
        }
    }
}

fn moved(world: &mut World, by: DVec3, turn: DQuat) {
    for body in &mut world.mechanism.bodies {
        body.pose.translation = by + turn * body.pose.translation;
        body.pose.rotation = turn * body.pose.rotation;
        body.linear_velocity = turn * body.linear_velocity;
        body.angular_velocity = turn * body.angular_velocity;
    }
    for joint in &mut world.mechanism.joints {
        joint.anchor = by + turn * joint.anchor;
        joint.frame = turn * joint.frame;
    }
}

/// The angle of a hinge that closes a loop counts whole turns, as that of a tree does.
#[test]
fn a_loop_joint_counts_its_turns() {
    let mut engine = build(&weightless(door(FreeAxis::default(), IN_LOOP, 9.0)), 0.001);
    run(&mut *engine, 0.001, 3.0);
    for hinge in [IN_TREE, IN_LOOP] {
        let angle = read(&*engine, hinge).0[0];
        assert!((angle - 27.0).abs() < 1e-9 && angle > 4.0 * TAU, "hinge {hinge}: {angle}");
    }
    let snapshot = engine.snapshot();
    let mut other = build(&weightless(door(FreeAxis::default(), IN_LOOP, 9.0)), 0.001);
    other.restore(&snapshot).unwrap();
    assert_eq!(read(&*other, IN_LOOP), read(&*engine, IN_LOOP));
}

/// A crank of 0.1 m, a rod of 0.3 m and a slider run free at 5 rad/s and more, under gravity. Energy swings to and fro
/// as the crank turns, by the fourth power of the timestep; in 20 s, some 40 turns, its mean stays.
#[test]
fn a_free_crank_and_slider_keeps_its_energy() {
    for h in [0.001, 0.002, 0.005] {
        let world = crank_and_slider();
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        let mut off = Vec::new();
        for _ in 0..steps(h, 20.0) {
            run(&mut *engine, h, h);
            off.push(energy(&world, &*engine) - start);
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let drift = mean(&off[off.len() * 3 / 4..]) - mean(&off[..off.len() / 4]);
        let swing = off.iter().fold(0.0f64, |swing, off| swing.max(off.abs()));
        println!("crank and slider, 20 s, h {h}: energy swings by {swing:.1e} J and drifts by {drift:.1e} J");
        // The kinetic energy is about 0.5 J, and the pin of the rod turns at up to 20 rad/s. Gauss's method errs by
        // 1/4320 of the fourth power of w h, and by twenty times that if all terms of its error add up. Each step may
        // add rounding.
        let bound = 0.5 * 20.0 * (20.0 * h).powi(4) / 4320.0 + 1e-16 * steps(h, 20.0) as f64;
        assert!(swing < bound && drift.abs() < 0.5 * bound, "{swing} {drift}");
    }
}

fn crank_and_slider() -> World {
    let mut world = scene::world();
    let (angle, rate, crank, rod) = (0.4f64, 5.0, 0.1, 0.3);
    let tilt = -(crank * angle.sin() / rod).asin();
    let turn = -rate * crank * angle.cos() / (rod * tilt.cos());
    let along = |angle: f64| DVec3::new(angle.cos(), angle.sin(), 0.0);
    let (pin, tip) = (along(angle) * crank, along(angle) * crank + along(tilt) * rod);
    let velocity = DVec3::Z.cross(pin) * rate;
    let bar = |length: f64| Some(Shape::Box { size: DVec3::new(length, 0.02, 0.02) });
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    let mut add = |name: &str, mass: f64, shape, place: DVec3, angle: f64, velocity: DVec3, rate: f64| {
        let mut link = body(name, mass, shape, place);
        link.pose.rotation = DQuat::from_rotation_z(angle);
        (link.linear_velocity, link.angular_velocity) = (velocity, DVec3::Z * rate);
        world.mechanism.bodies.push(link);
    };
    add("crank", 1.0, bar(crank), pin / 2.0, angle, velocity / 2.0, rate);
    let spin = DVec3::Z * turn;
    add("rod", 0.3, bar(rod), (pin + tip) / 2.0, tilt, velocity + spin.cross(tip - pin) / 2.0, turn);
    add("slider", 0.2, bar(0.04), tip, 0.0, velocity + spin.cross(tip - pin), 0.0);
    for (parent, child, anchor) in [(0, 1, DVec3::ZERO), (1, 2, pin), (2, 3, tip)] {
        world.mechanism.joints.push(joint("pin", JointKind::Hinge, parent, child, anchor));
    }
    let mut guide = joint("guide", JointKind::Slider, 0, 3, tip);
    guide.frame = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    world.mechanism.joints.push(guide);
    // The links of a robot do not meet.
    scene::as_robot(world)
}

/// The work of a motor in a loop joint is counted, so the energy check covers such worlds as well.
#[test]
fn a_driven_loop_is_no_excuse_for_energy() {
    let law = FreeAxis { armature: 1.0, stiffness: 10.0, damping: 0.5, ..FreeAxis::default() };
    for motor in [Motor::Effort(40.0), Motor::Velocity { target: 6.0, max_effort: 200.0 }] {
        for h in TIMESTEPS {
            let strict = DynamicsSettings { max_energy_gain_j: 1e-7, ..DynamicsSettings::default() };
            let world = weightless(door(law, IN_LOOP, 0.0));
            let mut engine = build_with(&world, h, strict);
            engine.set_motor(JointId::new(IN_LOOP), 2, motor);
            let start = energy(&world, &*engine);
            let mut most = 0.0f64;
            for _ in 0..steps(h, 1.0) {
                engine.step();
                most = most.max(energy(&world, &*engine) - start);
                let alarms = engine.step_events().iter().filter(|event| event.check != StepCheck::Substeps).count();
                assert_eq!(alarms, 0, "h {h}: {:?}", engine.step_events());
            }
            assert!(most > 1.0, "the motor gave {most} J");
        }
    }
}

/// A four-bar linkage between two fixed posts kicks a ball on a pendulum. The motion is the same whether the pendulum
/// hangs on a post of the linkage or on its own. An earlier version took the shared post for a link of the pendulum's
/// tree, which caused a panic or moved the wrong links.
#[test]
fn what_hangs_on_the_post_of_a_loop_does_not_matter() {
    let run = |post: usize| {
        let mut world = scene::world();
        for name in ["left", "right", "third"] {
            world.mechanism.bodies.push(Body { fixed: true, ..body(name, 1.0, None, DVec3::ZERO) });
        }
        let links = [("crank", 0.0, -0.5), ("rod", 1.0, -1.0), ("rocker", 2.0, -0.5), ("ball", 2.205, -0.5)];
        for (name, x, y) in links {
            world.mechanism.bodies.push(body(name, 1.0, scene::ball(0.1), DVec3::new(x, y, 0.0)));
        }
        let hinges = [(0, 3, 0.0, 0.0), (3, 4, 0.0, -1.0), (4, 5, 2.0, -1.0), (1, 5, 2.0, 0.0), (post, 6, 2.205, 0.0)];
        for (parent, child, x, y) in hinges {
            let anchor = DVec3::new(x, y, 0.0);
            world.mechanism.joints.push(joint("hinge", JointKind::Hinge, parent, child, anchor));
        }
        let mut engine = build(&world, 0.001);
        engine.set_motor(JointId::new(0), 2, Motor::Effort(5.0));
        let mut touched = false;
        for _ in 0..300 {
            engine.step();
            touched |= !engine.contacts().is_empty();
            let quiet = engine.step_events().iter().all(|event| event.check == StepCheck::Substeps);
            assert!(quiet, "{:?}", engine.step_events());
        }
        assert!(touched, "the rocker kicks the ball");
        [3, 4, 5, 6].map(|body| engine.body(BodyId::new(body)).pose.translation)
    };
    let (own, shared) = (run(2), run(1));
    let off = own.iter().zip(shared).map(|(own, shared)| (*own - shared).length()).fold(0.0, f64::max);
    println!("the linkages differ by {off:.1e} m");
    assert!(off < 1e-9, "{own:?} {shared:?}");
}
