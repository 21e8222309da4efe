//! Ball joints with damping, springs, stops and motors.
//!
//! A body whose moment of inertia J is the same about all axes turns about any axis as a hinge does:
//!
//! ```text
//! damping      w(t) = w(0) exp(-c t / J)
//! spring       theta(t) = w(0) / n sin(n t),  n² = k / J      along the axis of w(0), up to pi
//! cone         m g l sin(a) presses at the swing a;  what slides round it keeps its energy and its swing
//! ```
//!
//! All of it in the tree, walked from either end, and where the joint closes a loop.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, JointState, Motor, Servo, Wrench};
use simpartner_model::{Axis, BodyId, FreeAxis, JointId, JointKind, Shape};

use super::{G, build, energy, run, steps};
use crate::scene::{self, body, joint};

const MASS: f64 = 2.0;
const RADIUS: f64 = 0.3;
const INERTIA: f64 = 0.4 * MASS * RADIUS * RADIUS;

/// Position of a joint in the topology: in the tree with the parent or the child nearer to the root, or closing a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Forwards,
    Backwards,
    Loop,
}

const PLACES: [Place; 3] = [Place::Forwards, Place::Backwards, Place::Loop];

impl Place {
    /// The number of the joint that has the laws.
    fn number(self) -> usize {
        usize::from(self == Self::Loop)
    }

    /// Rates and coordinates of the joint for those of the ball against the base.
    fn sign(self) -> f64 {
        if self == Self::Backwards { -1.0 } else { 1.0 }
    }
}

fn frame() -> DQuat {
    DQuat::from_euler(bevy_math::EulerRot::XYZ, 0.6, -0.4, 0.9)
}

/// A ball on a fixed base, its centre of mass `off` from the joint's origin in the joint's axes.
fn ball(place: Place, off: DVec3, law: FreeAxis, swing: f64) -> World {
    let (anchor, frame) = (DVec3::new(0.4, -0.2, 0.7), frame());
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::new(-0.1, 0.3, 0.2)));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("ball", MASS, Some(Shape::Sphere { radius: RADIUS }), anchor + frame * off));
    world.mechanism.bodies[1].pose.rotation = DQuat::from_rotation_y(0.7);
    let (parent, child) = if place == Place::Backwards { (1, 0) } else { (0, 1) };
    let mut own = joint("joint", JointKind::Ball, parent, child, anchor);
    own.frame = frame;
    if place == Place::Loop {
        world.mechanism.joints.push(own.clone());
    }
    (own.axes, own.swing) = ([Axis::Free(law); 3], swing);
    world.mechanism.joints.push(own);
    world
}

fn free() -> FreeAxis {
    FreeAxis::default()
}

/// The ball turns like this at step 0, in the joint's axes.
fn spun(mut world: World, spin: DVec3) -> World {
    let centre = world.mechanism.bodies[1].pose.translation - world.mechanism.joints[0].anchor;
    let spin = frame() * spin;
    world.mechanism.bodies[1].angular_velocity = spin;
    world.mechanism.bodies[1].linear_velocity = spin.cross(centre);
    world
}

fn weightless(mut world: World) -> World {
    world.mechanism.gravity = DVec3::ZERO;
    world
}

fn state(engine: &dyn Engine, place: Place) -> JointState {
    engine.joint(JointId::new(place.number()))
}

/// Swing and twist of a joint that has these coordinates.
fn swing_and_twist(position: [f64; 3]) -> [f64; 2] {
    let turn = DQuat::from_scaled_axis(DVec3::from_array(position));
    let swing = (turn * DVec3::Z).angle_between(DVec3::Z);
    [swing, 2.0 * turn.z.atan2(turn.w)]
}

#[test]
fn damping_slows_a_ball_down_by_its_law() {
    let (damping, spin, t) = (0.05, DVec3::new(3.0, -2.0, 4.0), 1.0);
    for place in PLACES {
        let law = FreeAxis { damping, ..free() };
        let off = |h: f64| {
            let mut engine = build(&weightless(spun(ball(place, DVec3::ZERO, law, f64::INFINITY), spin)), h);
            run(&mut *engine, h, t);
            (engine.body(BodyId::new(1)).angular_velocity - frame() * spin * (-damping * t / INERTIA).exp()).length()
        };
        let [coarse, fine] = [0.002, 0.001].map(off);
        println!("{place:?}: damping {coarse:.1e} rad/s off at 2 ms, {fine:.1e} at 1 ms");
        // The tree is integrated to fourth order. For a loop joint, the damping is taken at the end of the step, which
        // is of first order: h (c / J)² t / 2 of the rate.
        let part = damping / INERTIA;
        let bound = if place == Place::Loop { 0.5 * 0.001 * part * part * t * spin.length() } else { 1e-9 };
        assert!(fine < bound, "{place:?}: {fine:.1e}");
    }
}

/// The ball swings about a single axis in any direction, up to 2.9 rad.
#[test]
fn a_spring_of_a_ball_joint_is_harmonic_about_any_axis() {
    let (stiffness, axis, t) = (3.0f64, DVec3::new(0.6, -0.48, 0.64), 2.0);
    let rate = (stiffness / INERTIA).sqrt();
    for place in PLACES {
        let world = ball(place, DVec3::ZERO, FreeAxis { stiffness, ..free() }, f64::INFINITY);
        let off = |h: f64| {
            let mut engine = build(&weightless(spun(world.clone(), axis * (2.9 * rate))), h);
            run(&mut *engine, h, t);
            let expected = axis * (2.9 * (rate * t).sin() * place.sign());
            (DVec3::from_array(state(&*engine, place).position) - expected).length()
        };
        let [coarse, fine] = [0.002, 0.001].map(off);
        println!("{place:?}: spring {coarse:.1e} rad off at 2 ms, {fine:.1e} at 1 ms");
        // The frequency of the mean of both ends is (n h)²/12 low.
        let bound = if place == Place::Loop { 2.9 * rate * t * (rate * 0.001).powi(2) / 12.0 } else { 1e-8 };
        assert!(fine < bound && fine < coarse / 3.0, "{place:?}: {fine:.1e} {coarse:.1e}");
    }
}

/// A body with three different moments of inertia tumbles on a spring under its weight: all energy stays in it.
#[test]
fn a_tumbling_body_on_a_spring_keeps_its_energy() {
    for place in PLACES {
        let stiffness = 5.0;
        let mut world = ball(place, DVec3::new(0.1, 0.2, -0.1), FreeAxis { stiffness, ..free() }, f64::INFINITY);
        let size = DVec3::new(0.5, 0.2, 0.1);
        world.mechanism.bodies[1].shape = scene::body("", 1.0, Some(Shape::Box { size }), DVec3::ZERO).shape;
        let world = spun(world, DVec3::new(2.0, 1.0, -3.0));
        let h = 0.001;
        let mut engine = build(&world, h);
        let all = |engine: &dyn Engine| {
            energy(&world, engine) + 0.5 * stiffness * DVec3::from_array(state(engine, place).position).length_squared()
        };
        let (start, mut off) = (all(&*engine), 0.0f64);
        for _ in 0..steps(h, 5.0) {
            engine.step();
            off = off.max((all(&*engine) - start).abs());
        }
        println!("{place:?}: {off:.1e} J of energy off, {start} J at the start");
        assert!(off < if place == Place::Loop { 1e-3 } else { 1e-6 }, "{place:?}: {off:.1e}");
    }
}

/// The pendulum leans on its cone with its weight's moment, and on both stops of its twist when a moment turns it
/// there.
#[test]
fn stops_hold_what_leans_on_them() {
    let (length, swing, h) = (0.5, 0.4, 0.001);
    for place in PLACES {
        let law = FreeAxis { lower: -0.3, upper: 0.5, damping: 1.0, ..free() };
        let mut world = ball(place, DVec3::Z * length, law, swing);
        // Gravity is horizontal, so the pendulum would hang at 90 degrees.
        world.mechanism.gravity = frame() * (DVec3::X * G);
        let mut engine = build(&world, h);
        run(&mut *engine, h, 3.0);
        let found = state(&*engine, place);
        let [leaning, twist] = swing_and_twist(found.position);
        let stop = DVec3::from_array(found.load.expect("the engine knows").stop);
        let moment = MASS * G * length * swing.cos();
        println!("{place:?}: swing {leaning}, twist {twist:.1e}, stop {stop} for {moment} N m");
        assert!((leaning - swing).abs() < 1e-9 && twist.abs() < 1e-9, "{place:?}: {leaning} {twist}");
        assert!((stop - DVec3::NEG_Y * moment * place.sign()).length() < 1e-6, "{place:?}: {stop} {moment}");
        // Walked from the child, the joint turns the base against the ball.
        let stops = if place == Place::Backwards { [0.3, -0.5] } else { [0.5, -0.3] };
        for (moment, twist_stop) in [3.0, -3.0].into_iter().zip(stops) {
            let mut pushed = build(&weightless(ball(place, DVec3::Z * length, law, swing)), h);
            pushed.set_motor(JointId::new(place.number()), 2, Motor::Effort(moment * place.sign()));
            run(&mut *pushed, h, 3.0);
            let found = state(&*pushed, place);
            let load = found.load.expect("the engine knows");
            assert!((found.position[2] * place.sign() - twist_stop).abs() < 1e-9, "{place:?}: {found:?}");
            assert!((load.stop[2] * place.sign() + moment).abs() < 1e-6, "{place:?}: {load:?}");
        }
    }
}

/// A pendulum that an external force holds against its cone and moves round it for some turns. It is on the surface at
/// the middle of each step, so at the ends it is off by the curve of half a step, which is of second order. It slides
/// without loss, falls back where gravity pulls it off the cone, and gains no energy.
#[test]
fn a_pendulum_slides_round_its_cone() {
    let (length, swing, pushed) = (0.5, 0.6, 0.3);
    for place in PLACES {
        let worst = |h: f64| {
            let mut world = ball(place, DVec3::Z * length, free(), swing);
            world.mechanism.gravity = frame() * (DVec3::X * 0.3 * G);
            let mut engine = build(&world, h);
            let force = frame() * DVec3::new(10.0, 40.0, 0.0);
            let (mut over, mut pressed, mut most, mut given) = (0.0f64, 0, f64::NEG_INFINITY, 0.0);
            for step in 0..steps(h, 4.0) {
                let is_pushed = step as f64 * h < pushed;
                if is_pushed {
                    let at = engine.body(BodyId::new(1)).pose.translation;
                    engine.apply_wrench(BodyId::new(1), at, Wrench { force, torque: DVec3::ZERO });
                }
                engine.step();
                let found = state(&*engine, place);
                over = over.max(swing_and_twist(found.position)[0] - swing);
                pressed += usize::from(DVec3::from_array(found.load.expect("the engine knows").stop).length() > 1e-3);
                let now = energy(&world, &*engine);
                if is_pushed { given = now } else { most = most.max(now) }
            }
            println!("{place:?}, {h} s: on the cone in {pressed} steps, {:.1e} J of {given} J gained", most - given);
            assert!(pressed > steps(h, 1.0), "{place:?}: it slides for a while: {pressed}");
            assert!(most < given + 1e-3 * given.abs(), "{place:?}: {most} {given}");
            over
        };
        let [coarse, fine] = [0.002, 0.001].map(worst);
        println!("{place:?}: the swing is passed by {coarse:.1e} rad at 2 ms, {fine:.1e} at 1 ms");
        assert!(fine < 1e-4 && fine < coarse / 3.0, "{place:?}: {fine:.1e} {coarse:.1e}");
    }
}

/// A position motor turns its ball joint by the shortest rotation; a velocity motor turns it about the joint's axes,
/// which move with the parent. Neither exceeds its largest effort.
#[test]
fn a_motor_turns_a_ball_by_an_exact_angle() {
    let h = 0.001;
    for place in PLACES {
        let world = weightless(ball(place, DVec3::ZERO, free(), f64::INFINITY));
        for target in [DVec3::new(0.4, -1.1, 0.7), DVec3::new(-1.2, 2.0, 1.8), DVec3::new(0.0, 0.0, -3.0)] {
            let mut engine = build(&world, h);
            for axis in 0..3 {
                let motor = Motor::Position { target: target[axis], max_effort: 1e9 };
                engine.set_motor(JointId::new(place.number()), axis, motor);
            }
            // It reaches the target within some steps, at more than 100 rad/s.
            (0..steps(h, 1.0)).for_each(|_| engine.step());
            let found = DVec3::from_array(state(&*engine, place).position);
            assert!((found - target).length() < 1e-9, "{place:?}: {found} for {target}");
        }
        let (rate, t) = (DVec3::new(0.5, -0.2, 1.3), 2.0);
        let mut engine = build(&world, h);
        for axis in 0..3 {
            engine.set_motor(
                JointId::new(place.number()),
                axis,
                Motor::Velocity { target: rate[axis], max_effort: 100.0 },
            );
        }
        run(&mut *engine, h, t);
        let found = state(&*engine, place);
        // At the end of the first step it has the rate.
        let expected = rate * (t - 0.5 * h);
        assert!((DVec3::from_array(found.position) - expected).length() < 1e-6, "{place:?}: {found:?} {expected}");
        assert!((DVec3::from_array(found.rate) - rate).length() < 1e-7, "{place:?}: {found:?}");
    }
}

/// The effort limit of each axis is its own: under a weight, motors yield about the axes on which they are too weak.
#[test]
fn every_motor_of_a_ball_joint_has_its_own_bound() {
    let (h, efforts) = (0.001, [3.0, 0.5, 0.1]);
    for place in PLACES {
        let world = weightless(ball(place, DVec3::ZERO, free(), f64::INFINITY));
        let mut engine = build(&world, h);
        for (axis, max_effort) in efforts.into_iter().enumerate() {
            engine.set_motor(JointId::new(place.number()), axis, Motor::Velocity { target: 1e3, max_effort });
        }
        engine.step();
        let found = state(&*engine, place);
        for (axis, effort) in efforts.into_iter().enumerate() {
            assert!((found.effort[axis] - effort).abs() < 1e-12, "{place:?}: {found:?}");
            // From rest, about the axes as the parent carries them: of a ball w = M t / J.
            assert!((found.rate[axis] - effort * h / INERTIA).abs() < 1e-9, "{place:?}: {found:?}");
        }
    }
}

/// A servo of a damper and a spring that is wound to 3 rad follows the damped oscillation of a hinge about that axis.
#[test]
fn a_servo_of_a_ball_joint_goes_the_shortest_way() {
    let (h, axis, start) = (0.0005, DVec3::new(0.0, 0.6, 0.8), 2.5f64);
    let (stiffness, damping) = (20.0f64, 0.2);
    for place in PLACES {
        let world = weightless(ball(place, DVec3::ZERO, free(), f64::INFINITY));
        let mut engine = build(&world, h);
        for k in 0..3 {
            let servo = Servo { position: axis[k] * start, rate: 0.0, stiffness, damping, max_effort: 1e3 };
            engine.set_motor(JointId::new(place.number()), k, Motor::Servo(servo));
        }
        let t = 0.8;
        run(&mut *engine, h, t);
        let (decay, square) = (0.5 * damping / INERTIA, stiffness / INERTIA);
        let rate = (square - decay * decay).sqrt();
        let way = start * (1.0 - (-decay * t).exp() * ((rate * t).cos() + decay / rate * (rate * t).sin()));
        let found = DVec3::from_array(state(&*engine, place).position);
        println!("{place:?}: {found}, {}", axis * way);
        // Motors act on the state at the end of a step: an error of first order.
        assert!((found - axis * way).length() < h * start * square, "{place:?}: {found} {}", axis * way);
        assert!(found.cross(axis).length() < 1e-9, "{place:?}: it leaves its axis: {found}");
    }
}
