//! The largest power of a motor: effort times rate, where the axis moves with the effort.
//!
//! ```text
//! a wheel of moment J            J (w² - w(0)²) / 2 = P t for any target; from rest the largest effort up to w = P / M
//! a weight m g that is lifted    v -> P / m g, without oscillation
//! against the motion             no bound but the largest effort
//! ```
//!
//! The work of a step is the effort times the way, which is the timestep times the mean rate: the first line holds to
//! rounding in every step, in the tree, walked from either end, where the joint closes a loop, and on a ball joint.

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{Motor, Servo, StepCheck};
use simpartner_model::{Axis, BodyId, FreeAxis, JointId, JointKind, Shape};

use super::{G, build, run, steps};
use crate::{
    scene::{self, body, joint},
    worlds::Chance,
};

const RADIUS: f64 = 0.5;
const MASS: f64 = 2.0;
/// Of the wheel, a ball.
const INERTIA: f64 = 0.4 * MASS * RADIUS * RADIUS;

/// A wheel on a fixed post, with a joint of this kind, or two joints that share the law.
fn wheel(kind: JointKind, backwards: bool, twice: bool, law: FreeAxis) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("post", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("wheel", MASS, Some(Shape::Sphere { radius: RADIUS }), DVec3::ZERO));
    let (parent, child) = if backwards { (1, 0) } else { (0, 1) };
    let own = joint("axle", kind, parent, child, DVec3::ZERO);
    if twice {
        world.mechanism.joints.push(own.clone());
    }
    let axes = own.axes.map(|axis| axis.free().map_or(Axis::Locked, |_| Axis::Free(law)));
    world.mechanism.joints.push(simpartner_model::Joint { axes, ..own });
    world
}

fn spun(mut world: World, rate: f64) -> World {
    world.mechanism.bodies[1].angular_velocity = DVec3::Z * rate;
    world
}

/// All variants of such a wheel, with the number of its joint and the ratio of its rate to the wheel's.
fn wheels(law: FreeAxis) -> Vec<(&'static str, World, JointId, f64)> {
    let one = |name, kind, backwards, twice| {
        let sign = if backwards { -1.0 } else { 1.0 };
        (name, wheel(kind, backwards, twice, law), JointId::new(usize::from(twice)), sign)
    };
    vec![
        one("hinge", JointKind::Hinge, false, false),
        one("hinge, backwards", JointKind::Hinge, true, false),
        one("hinge of a loop", JointKind::Hinge, false, true),
        one("ball", JointKind::Ball, false, false),
        one("ball, backwards", JointKind::Ball, true, false),
        one("ball of a loop", JointKind::Ball, false, true),
    ]
}

/// Motor commands with distant targets.
fn far_motors() -> [Motor; 4] {
    let servo = Servo { position: 1e4, rate: 0.0, stiffness: 1e3, damping: 0.0, max_effort: 1e9 };
    [
        Motor::Velocity { target: 1e3, max_effort: 1e9 },
        Motor::Effort(1e8),
        Motor::Position { target: 1e5, max_effort: 1e9 },
        Motor::Servo(servo),
    ]
}

/// Turned the other way round if `sign` is -1.
fn signed(motor: Motor, sign: f64) -> Motor {
    match motor {
        Motor::Off => motor,
        Motor::Velocity { target, max_effort } => Motor::Velocity { target: sign * target, max_effort },
        Motor::Position { target, max_effort } => Motor::Position { target: sign * target, max_effort },
        Motor::Effort(effort) => Motor::Effort(sign * effort),
        Motor::Servo(servo) => {
            Motor::Servo(Servo { position: sign * servo.position, rate: sign * servo.rate, ..servo })
        }
    }
}

#[test]
fn a_motor_gives_its_largest_power_in_every_step() {
    let (h, max_power) = (0.001, 20.0);
    let law = FreeAxis { max_power, ..FreeAxis::default() };
    for (name, world, id, sign) in wheels(law) {
        // A ball joint's position is a rotation vector, and none of these is far away.
        let is_ball = world.mechanism.joints[0].kind == JointKind::Ball;
        for motor in far_motors().into_iter().take(if is_ball { 2 } else { 4 }) {
            for start in [0.0, 3.0] {
                let mut engine = build(&spun(world.clone(), start), h);
                engine.set_motor(id, 2, signed(motor, sign));
                let mut off = 0.0f64;
                for step in 1..=steps(h, 0.5) {
                    let before = sign * engine.joint(id).rate[2];
                    engine.step();
                    let (t, found) = (step as f64 * h, engine.joint(id));
                    let rate = sign * found.rate[2];
                    let expected = 0.5 * INERTIA * start * start + max_power * t;
                    off = off.max((0.5 * INERTIA * rate * rate / expected - 1.0).abs());
                    let power = sign * found.effort[2] * 0.5 * (before + rate);
                    assert!(power <= max_power * (1.0 + 1e-6), "{name}, {motor:?}: {power} W in step {step}");
                }
                println!("{name}, {motor:?} from {start} rad/s: energy is {off:.1e} of it off P t");
                assert!(off < 1e-6, "{name}, {motor:?}: {off:.1e}");
            }
        }
    }
}

/// Up to w = P / M the effort limit applies, then the power limit: J w² / 2 = P (t - t_1 / 2) with t_1 = J P / M². A
/// motor at its target exerts the effort that holds it.
#[test]
fn effort_then_power_then_target_bound_a_motor() {
    let (h, max_power, max_effort, target) = (0.001, 20.0, 5.0, 12.0);
    let law = FreeAxis { max_power, max_effort, ..FreeAxis::default() };
    let (first, reached) = (max_power / max_effort, INERTIA * max_power / (max_effort * max_effort));
    let end = 0.5 * INERTIA * target * target / max_power + 0.5 * reached;
    for (name, world, id, sign) in wheels(law) {
        let mut engine = build(&world, h);
        engine.set_motor(id, 2, signed(Motor::Velocity { target, max_effort: 1e9 }, sign));
        let (mut off, mut told) = (0.0f64, Vec::new());
        for step in 1..=steps(h, 1.5 * end) {
            engine.step();
            let (t, rate) = (step as f64 * h, sign * engine.joint(id).rate[2]);
            let expected = match t {
                t if t <= reached => max_effort * t / INERTIA,
                t if t <= end => (2.0 * max_power * (t - 0.5 * reached) / INERTIA).sqrt(),
                _ => target,
            };
            off = off.max((rate - expected).abs());
            told.extend(
                engine
                    .step_events()
                    .iter()
                    .filter(|event| event.check == StepCheck::Motor)
                    .map(|event| event.text.clone()),
            );
        }
        println!("{name}: {off:.1e} rad/s off, {first} rad/s at {reached} s, {told:?}");
        // The change from effort to power falls within a step, which gains h times the acceleration at most, less than
        // that in its power.
        assert!(off < 0.5 * h * max_effort / INERTIA, "{name}: {off:.1e}");
        assert!(told[0].contains("a motor on 'wheel' is at its largest effort, 5.0000e0"), "{name}: {told:?}");
    }
    for (name, world, id, sign) in wheels(FreeAxis { max_power, ..FreeAxis::default() }) {
        let mut engine = build(&world, h);
        engine.set_motor(id, 2, signed(Motor::Velocity { target, max_effort: 1e9 }, sign));
        engine.step();
        let events = engine.step_events();
        let told = events.iter().find(|event| event.check == StepCheck::Motor);
        let told = told.unwrap_or_else(|| panic!("{name}: nothing is told: {events:?}"));
        assert_eq!(told.text, "a motor on 'wheel' is at its largest power, 2.0000e1", "{name}");
    }
}

/// A motor brakes with all its effort, and is bounded again as soon as it turns the other way.
#[test]
fn what_brakes_has_no_bound_of_power() {
    let (h, max_power, effort, start) = (0.001, 20.0, 5.0, 30.0);
    let law = FreeAxis { max_power, ..FreeAxis::default() };
    let stopped = start * INERTIA / effort;
    for (name, world, id, sign) in wheels(law) {
        let mut engine = build(&spun(world, start), h);
        engine.set_motor(id, 2, signed(Motor::Effort(-effort), sign));
        run(&mut *engine, h, 0.9 * stopped);
        let rate = sign * engine.joint(id).rate[2];
        assert!((rate - 0.1 * start).abs() < 1e-9, "{name}: {rate}");
        for _ in 0..steps(h, 2.0 * stopped) {
            let before = engine.joint(id).rate[2];
            engine.step();
            let found = engine.joint(id);
            let power = found.effort[2] * 0.5 * (before + found.rate[2]);
            assert!(power <= max_power * (1.0 + 1e-6), "{name}: {power} W");
        }
        assert!(sign * engine.joint(id).rate[2] < -max_power / effort, "{name}: it has turned round");
    }
}

/// A hoist reaches the speed P / m g and keeps it.
#[test]
fn a_hoist_lifts_as_fast_as_its_power_allows() {
    let (max_power, t) = (50.0, 8.0);
    for h in [0.001, 0.01] {
        for backwards in [false, true] {
            let law = FreeAxis { max_power, ..FreeAxis::default() };
            let mut world = wheel(JointKind::Slider, backwards, false, law);
            world.mechanism.joints[0].frame = bevy_math::DQuat::from_rotation_arc(DVec3::Z, DVec3::Y);
            let sign = if backwards { -1.0 } else { 1.0 };
            let mut engine = build(&world, h);
            engine.set_motor(JointId::new(0), 2, Motor::Effort(sign * 1e6));
            let (mut last, mut swings) = (f64::INFINITY, 0);
            for _ in 0..steps(h, t) {
                engine.step();
                let speed = engine.body(BodyId::new(1)).linear_velocity.y;
                // Its initial speed is above the speed that it can keep.
                swings += usize::from(speed > last + 1e-7 && last > max_power / (MASS * G) + 1e-9);
                last = speed;
            }
            println!("hoist, h {h}: {last} m/s, {} expected", max_power / (MASS * G));
            // A tangent at a mean rate that is 1e-4 off is 1e-8 of the power below it.
            assert!((last - max_power / (MASS * G)).abs() < 1e-7 && swings == 0, "{h}: {last}, {swings}");
        }
    }
}

/// Four boxes in a chain of all joints, or in a ring of those with two and three axes.
fn linkage(chance: &mut Chance, closes: bool, max_power: f64) -> World {
    let kinds = [JointKind::Hinge, JointKind::Slider, JointKind::Ball, JointKind::Universal, JointKind::Constrained];
    let (mut world, links) = (scene::world(), 4);
    for link in 0..links {
        let at = DVec3::new(0.3 * link as f64, 0.3 + chance.between(0.0, 0.2), chance.between(-0.1, 0.1));
        let size = DVec3::new(0.2, 0.1, 0.1);
        let mut one = body(&format!("b{link}"), chance.between(0.5, 3.0), Some(Shape::Box { size }), at);
        one.pose.rotation = chance.turn();
        world.mechanism.bodies.push(one);
    }
    let mut ties: Vec<(usize, usize)> = (1..links).map(|child| (child - 1, child)).collect();
    ties.extend(closes.then_some((0, links - 1)));
    for (number, (parent, child)) in ties.into_iter().enumerate() {
        let bodies = &world.mechanism.bodies;
        let anchor = bodies[child].pose.translation.lerp(bodies[parent].pose.translation, 0.5);
        let kind = kinds[chance.between(if closes { 2.0 } else { 0.0 }, 4.999) as usize];
        let mut one = joint(&format!("j{number}"), kind, parent, child, anchor);
        one.frame = chance.turn();
        let law = FreeAxis { max_power, damping: 0.05, ..FreeAxis::default() };
        one.axes = one.axes.map(|axis| axis.free().map_or(Axis::Locked, |_| Axis::Free(law)));
        world.mechanism.joints.push(one);
    }
    scene::as_robot(world)
}

/// Linkages in the air whose motors get random commands at any time: in any step they supply together no more than the
/// sum of their powers.
#[test]
fn no_motor_of_any_linkage_gives_more_than_its_power() {
    let (h, max_power) = (0.001, 15.0);
    let (mut at_bound, mut unsolved) = (0, 0);
    for seed in 0..40 {
        let mut chance = Chance(0x5eed_u64.wrapping_mul(seed + 1));
        let world = linkage(&mut chance, seed % 2 == 1, max_power);
        let axes: usize = world.mechanism.joints.iter().map(simpartner_model::Joint::degrees_of_freedom).sum();
        let bound = max_power * axes as f64 * h;
        let mut engine = build(&world, h);
        for step in 0..steps(h, 0.5) {
            for id in (0..world.mechanism.joints.len()).filter(|_| step % 50 == 0) {
                for axis in 0..3 {
                    let target = chance.between(-20.0, 20.0);
                    let motor = match chance.between(0.0, 3.0) as usize {
                        0 => Motor::Velocity { target, max_effort: 1e2 },
                        1 => Motor::Effort(target),
                        _ => Motor::Position { target: 0.1 * target, max_effort: 1e2 },
                    };
                    engine.set_motor(JointId::new(id), axis, motor);
                }
            }
            engine.step();
            let given = engine.energy_balance().expect("the engine keeps an energy balance").supplied;
            at_bound += usize::from(engine.step_events().iter().any(|event| event.text.contains("largest power")));
            // Unconverged steps do not obey the limit.
            if super::unconverged(&*engine) > 0 {
                unsolved += 1;
                continue;
            }
            assert!(given <= bound * (1.0 + 1e-6), "{seed}, step {step}: {given} J of {bound}");
        }
    }
    println!("{at_bound} times a motor was at its largest power; {unsolved} of 20,000 steps were not solved");
    assert!(at_bound > 30 && unsolved < 200, "motors are at their bounds: {at_bound}, {unsolved}");
}
