//! Motion without contact.
//!
//! A body in free fall moves by h = h0 + v t - g t²/2; the midpoint scheme has no error for a constant acceleration. A
//! body without moments keeps its angular momentum and its kinetic energy while it tumbles. A chain of bodies keeps the
//! momentum of all of them; its energy errs by the square of the timestep.

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Integrator, Motor};
use simpartner_model::{Axis, BodyId, FreeAxis, JointId, JointKind, Shape};

use super::{G, build, build_with, energy, momenta, position, run, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, cube, joint},
};

#[test]
fn free_fall_is_exact() {
    for h in [0.001, 0.01] {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("stone", 1.0, cube(1.0), DVec3::new(0.0, 500.0, 0.0)));
        let mut engine = build(&world, h);
        let mut worst = 0.0f64;
        for step in 1..=steps(h, 10.0) {
            run(&mut *engine, h, h);
            let t = step as f64 * h;
            worst = worst.max((position(&*engine, 0).y - (500.0 - 0.5 * G * t * t)).abs());
        }
        println!("free fall of 10 s, h {h}: largest error of height {worst:.1e} m");
        assert!(worst < 1e-9, "{worst}");
        assert!((velocity(&*engine, 0).y + G * 10.0).abs() < 1e-9);
    }
}

/// A robot thrown with its joints at rest flies like a stone; with wheels that spin up its centre of mass does.
#[test]
fn a_robot_in_the_air_falls_like_a_stone() {
    for h in [0.001, 0.01] {
        let mut world = scene::world();
        let rover = rover::add(&mut world, DVec3::new(0.0, 100.0, 0.0), Wheel::Ball);
        let throw = DVec3::new(3.0, 10.0, 0.0);
        world.mechanism.bodies.iter_mut().for_each(|body| body.linear_velocity = throw);
        let mut engine = build(&world, h);
        let start = position(&*engine, 0);
        run(&mut *engine, h, 3.0);
        let expected = start + throw * 3.0 + world.mechanism.gravity * 4.5;
        let error = (position(&*engine, 0) - expected).length();
        println!("robot thrown, joints at rest, 3 s, h {h}: {error:.1e} m off");
        assert!(error < 1e-11, "{error}");

        let mut engine = build(&world, h);
        rover.drive(&mut *engine, 4.0);
        run(&mut *engine, h, 3.0);
        let (momentum, _) = momenta(&world, &*engine);
        let error = (momentum / rover::MASS - (throw + world.mechanism.gravity * 3.0)).length();
        println!("robot thrown, wheels spinning up, 3 s, h {h}: centre of mass {error:.1e} m/s off");
        assert!(error < if h < 0.005 { 2e-5 } else { 3e-4 }, "{error}");
    }
}

#[test]
fn a_tumbling_brick_keeps_energy_and_angular_momentum() {
    // Both are constant but for rounding, 1e-16 in each of 40000 and 4000 half steps, in either direction: the random
    // sum reaches 1e-14.
    for (h, most) in [(0.001, 1e-13), (0.01, 1e-13)] {
        let mut world = scene::world();
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(body(
            "brick",
            1.0,
            Some(Shape::Box { size: DVec3::new(1.0, 0.6, 0.2) }),
            DVec3::ZERO,
        ));
        // Nearly about the axis of the middle moment of inertia, which is unstable.
        world.mechanism.bodies[0].angular_velocity = DVec3::new(0.01, 5.0, 0.01);
        let mut engine = build(&world, h);
        let (start, (_, spin)) = (energy(&world, &*engine), momenta(&world, &*engine));
        run(&mut *engine, h, 20.0);
        let (end, (_, after)) = (energy(&world, &*engine), momenta(&world, &*engine));
        let (of_e, of_l) = ((end / start - 1.0).abs(), (after - spin).length() / spin.length());
        println!("tumbling brick of 20 s, h {h}: dE/E {of_e:.1e}, |dL|/L {of_l:.1e}");
        assert!(of_e < most && of_l < most, "{of_e} {of_l}");
    }
}

/// Three bars on crossed hinges swing through large angles; a quarter of the timestep has a sixteenth of the error.
#[test]
fn a_swinging_chain_errs_by_the_square_of_the_step() {
    let error = |h: f64| {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        let bar = Some(Shape::Box { size: DVec3::new(0.5, 0.1, 0.1) });
        for index in 0..3 {
            let x = 0.5 * index as f64;
            world.mechanism.bodies.push(body("bar", 1.0, bar.clone(), DVec3::new(x + 0.25, 0.0, 0.0)));
            let mut hinge = joint("hinge", JointKind::Hinge, index, index + 1, DVec3::new(x, 0.0, 0.0));
            if index == 1 {
                hinge.frame = bevy_math::DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            }
            world.mechanism.joints.push(hinge);
        }
        // The bars of a robot do not meet.
        let world = scene::as_robot(world);
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        let mut worst = 0.0f64;
        for _ in 0..steps(h, 5.0) {
            engine.step();
            worst = worst.max((energy(&world, &*engine) - start).abs());
        }
        worst
    };
    let (coarse, fine) = (error(0.002), error(0.0005));
    println!("triple pendulum, 5 s: energy errs by {coarse:.1e} J at 2 ms, {fine:.1e} J at 0.5 ms");
    assert!(coarse < 0.1, "{coarse}");
    assert!(coarse / fine > 10.0, "of second order it would be 16: {}", coarse / fine);
}

/// Bobs of 1 kg on rods of 0.5 m, released from the horizontal.
fn pendulum(bobs: usize) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for index in 0..bobs {
        let x = 0.5 * index as f64;
        world.mechanism.bodies.push(body("bob", 1.0, ball(0.05), DVec3::X * (x + 0.5)));
        world.mechanism.joints.push(joint("hinge", JointKind::Hinge, index, index + 1, DVec3::X * x));
    }
    // The bobs of a robot do not meet.
    scene::as_robot(world)
}

/// The largest error of the energy in a run, and the difference of its means over the last and the first sixth, J.
fn energy_errors(world: &World, h: f64, seconds: f64, integrator: Integrator) -> (f64, f64) {
    let mut engine = build_with(world, h, DynamicsSettings { integrator, ..DynamicsSettings::default() });
    let start = energy(world, &*engine);
    let mut off = Vec::new();
    for _ in 0..steps(h, seconds) {
        engine.step();
        off.push(energy(world, &*engine) - start);
    }
    let (part, mean) = (off.len() / 6, |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64);
    let drift = mean(&off[off.len() - part..]) - mean(&off[..part]);
    (off.iter().fold(0.0f64, |worst, off| worst.max(off.abs())), drift)
}

/// The double pendulum moves chaotically, its elbow at up to w = 30 rad/s. Gauss's method errs by (w h)⁴/4320 of 10 J,
/// and by twenty times that if all terms of its error add up, in both directions: in ten minutes it loses less than in
/// a turn. MuJoCo's Runge-Kutta method has 1.9e-7 J at 1 ms and 7.6e-3 J at 10 ms, and loses steadily.
#[test]
fn a_double_pendulum_keeps_its_energy_to_fourth_order() {
    for (h, seconds) in [(0.001, 60.0), (0.01, 60.0), (0.002, 600.0)] {
        let (worst, drift) = energy_errors(&pendulum(2), h, seconds, Integrator::Gauss);
        println!("double pendulum, {seconds} s, h {h}: energy errs by {worst:.1e} J, drifts by {drift:.1e} J");
        let bound = 200.0 * (30.0 * h).powi(4) / 4320.0;
        assert!(worst < bound && drift.abs() < 0.5 * bound, "{worst} {drift}");
    }
}

/// A mass of 1e-19 kg between two hinges in one line: the remaining inertia of the inner one is rounding, negative or
/// positive. The outer one swings the bob as if it were alone.
#[test]
fn a_speck_between_two_hinges_in_line_changes_nothing() {
    let swing = |has_speck: bool| {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("bob", 1.0, ball(0.05), DVec3::new(0.5, 0.0, 0.0)));
        if has_speck {
            world.mechanism.bodies.push(body("speck", 1e-19, ball(0.01), DVec3::ZERO));
            world.mechanism.joints.push(joint("inner", JointKind::Hinge, 0, 2, DVec3::ZERO));
            world.mechanism.joints.push(joint("outer", JointKind::Hinge, 2, 1, DVec3::ZERO));
        } else {
            world.mechanism.joints.push(joint("outer", JointKind::Hinge, 0, 1, DVec3::ZERO));
        }
        // Bodies of a robot that joints connect do not meet.
        let mut engine = build(&scene::as_robot(world), 0.001);
        (0..2000).for_each(|_| engine.step());
        engine.body(BodyId::new(1)).pose.translation
    };
    let (with, without) = (swing(true), swing(false));
    assert!(with.distance(without) < 1e-9, "{with} {without}");
}

/// A bob at 15 rad/s turns by 0.15 rad in 10 ms. Such a step has four parts, or two in free motion. Near a stop the
/// motion is no longer free, and an attempt as free motion is repeated in four parts.
#[test]
fn what_moves_freely_is_divided_half_as_often() {
    let works = |law: FreeAxis| {
        let mut world = pendulum(1);
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.joints[0].axes[2] = Axis::Free(law);
        let bob = &mut world.mechanism.bodies[1];
        (bob.linear_velocity, bob.angular_velocity) = (DVec3::Y * 7.5, DVec3::Z * 15.0);
        let mut engine = build(&world, 0.01);
        let works = (0..5).map(|_| {
            engine.step();
            engine.solver_cost().expect("it counts its cost")
        });
        works.collect::<Vec<f64>>()
    };
    let free = works(FreeAxis::default());
    let rubbed = works(FreeAxis { friction: 1e-9, ..FreeAxis::default() });
    assert!(free.iter().zip(&rubbed).all(|(free, rubbed)| *free < 0.7 * rubbed), "{free:?} {rubbed:?}");
    let stopped = works(FreeAxis { upper: 0.5, ..FreeAxis::default() });
    assert!(stopped[0] == free[0] && stopped.iter().any(|work| *work > 1.4 * free[0]), "{free:?} {stopped:?}");
}

/// The midpoint scheme errs by (w h)²/12 of 10 J and is symmetric in time, so losses and gains balance: after five
/// minutes the mean is still within the oscillation.
#[test]
fn a_double_pendulum_keeps_its_energy_to_second_order() {
    let (worst, drift) = energy_errors(&pendulum(2), 0.001, 300.0, Integrator::Midpoint);
    println!("double pendulum, 300 s, midpoint: energy errs by {worst:.1e} J, drifts by {drift:.1e} J");
    let bound = 10.0 * 0.015f64.powi(2);
    assert!(worst < bound && drift.abs() < 0.5 * bound, "{worst} {drift}");
}

/// Three and ten bobs at steps that the tips' rates divide: the energy of 15 and 150 J stays to a ten-thousandth.
#[test]
fn chains_keep_their_energy() {
    for (bobs, h, size) in [(3, 0.001, 30.0), (3, 0.002, 30.0), (10, 0.001, 270.0)] {
        let (worst, drift) = energy_errors(&pendulum(bobs), h, 20.0, Integrator::Gauss);
        println!("{bobs} bobs, 20 s, h {h}: energy errs by {worst:.1e} J, drifts by {drift:.1e} J");
        assert!(worst < 1e-4 * size, "{worst}");
    }
}

/// A spring keeps its energy and the period 2 pi sqrt(m/k); an armature adds to the mass that it swings.
#[test]
fn a_spring_swings_with_its_period() {
    for (h, bound) in [(0.001, 1e-5), (0.01, 1e-3)] {
        let mut world = scene::world();
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("mass", 2.0, ball(0.1), DVec3::ZERO));
        world.mechanism.bodies[1].linear_velocity = DVec3::new(0.0, 0.0, 1.0);
        let mut slider = joint("slider", JointKind::Slider, 0, 1, DVec3::ZERO);
        let axis = FreeAxis { stiffness: 100.0, armature: 2.0, ..Default::default() };
        slider.axes[2] = Axis::Free(axis);
        world.mechanism.joints.push(slider);
        let mut engine = build(&world, h);
        let omega = (100.0f64 / 4.0).sqrt();
        let mut worst = 0.0f64;
        for step in 1..=steps(h, 10.0) {
            run(&mut *engine, h, h);
            let (t, state) = (step as f64 * h, engine.joint(JointId::new(0)));
            worst = worst.max((state.position[2] - (omega * t).sin() / omega).abs());
        }
        println!("mass on a spring, 10 s, h {h}: {worst:.1e} m off");
        assert!(worst < bound * 10.0, "{worst}");
        let amplitude = (engine.joint(JointId::new(0)).rate[2].powi(2) / 25.0 + position(&*engine, 1).z.powi(2)).sqrt();
        assert!((amplitude * omega - 1.0).abs() < bound, "{amplitude}");
    }
}

/// A four-bar linkage with a driven crank: its loop stays closed.
#[test]
fn a_driven_four_bar_stays_closed() {
    for h in [0.001, 0.01] {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        let up = DVec3::Y * 0.3;
        let bar = |from: DVec3, to: DVec3| body("bar", 1.0, ball(0.02), (from + to) / 2.0);
        let corners = [DVec3::ZERO, up, DVec3::X + up, DVec3::X];
        world.mechanism.bodies.extend(corners.windows(2).map(|ends| bar(ends[0], ends[1])));
        for (index, (parent, child)) in [(0, 1), (1, 2), (2, 3), (0, 3)].into_iter().enumerate() {
            world.mechanism.joints.push(joint("pin", JointKind::Hinge, parent, child, corners[index]));
        }
        let mut engine = build(&world, h);
        engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 0.8, max_effort: 100.0 });
        let mut worst = 0.0f64;
        for _ in 0..steps(h, 10.0) {
            run(&mut *engine, h, h);
            let (coupler, rocker) = (engine.body(BodyId::new(2)).pose, engine.body(BodyId::new(3)).pose);
            let ends = (coupler.point(corners[2] - (corners[1] + corners[2]) / 2.0), rocker.point(up / 2.0));
            worst = worst.max((ends.0 - ends.1).length());
        }
        let turned = engine.joint(JointId::new(0)).position[2];
        println!("four-bar, 10 s at 0.8 rad/s, h {h}: open by {worst:.1e} m at most, crank at {turned:.2} rad");
        // The solver leaves at most 1e-9 m/s, which a correction of a fifth in every step keeps below 5 h 1e-9.
        assert!(worst < 1e-9, "{worst}");
        assert!((turned - 8.0).abs() < 0.1, "{turned}");
    }
}

/// At any rate, in steps in which it hardly moves or turns many times over, a free body keeps its energy as long as
/// there is sense in it, and finite numbers in any case.
#[test]
fn a_body_that_turns_at_any_rate_stays_finite() {
    for spin in [1e-300, 1e-160, 1e-3, 1e2, 1e4, 9e5] {
        let mut world = scene::world();
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(body(
            "box",
            1.0,
            Some(Shape::Box { size: DVec3::new(1.0, 0.6, 0.2) }),
            DVec3::ZERO,
        ));
        world.mechanism.bodies[0].angular_velocity = DVec3::new(0.3, 0.8, 0.5) * spin;
        let mut engine = build(&world, 0.01);
        for _ in 0..100 {
            engine.step();
            let state = engine.body(BodyId::new(0));
            let length = state.pose.rotation.length();
            assert!((length - 1.0).abs() < 1e-12, "{spin}: {:?}", state.pose.rotation);
            // Its angular momentum stays, and its moments of inertia are within a factor of 3.4 of each other.
            let ratio = state.angular_velocity.abs().max_element() / spin;
            assert!((0.1..5.0).contains(&ratio), "{spin}: {:?}", state.angular_velocity);
        }
    }
}

/// A needle and a plate that tumble by up to a thousand turns in a step, far from any principal axis. No step can
/// resolve this, but angular momentum and energy are constant.
#[test]
fn what_tumbles_faster_than_any_step_keeps_energy_and_angular_momentum() {
    for h in [0.001, 0.01] {
        for size in [DVec3::new(0.01, 1.0, 0.02), DVec3::new(1.0, 0.01, 0.6)] {
            for spin in [30.0, 300.0, 3e3, 3e4, 6e5] {
                let mut world = scene::world();
                world.mechanism.gravity = DVec3::ZERO;
                let mut one = body("one", 1.0, Some(Shape::Box { size }), DVec3::ZERO);
                one.angular_velocity = DVec3::new(0.5, -0.6, 0.62).normalize() * spin;
                world.mechanism.bodies.push(one);
                let mut engine = build(&world, h);
                let (start, (_, momentum)) = (energy(&world, &*engine), momenta(&world, &*engine));
                let mut off = [0.0f64; 2];
                for _ in 0..100 {
                    engine.step();
                    let now = momenta(&world, &*engine).1;
                    off[0] = off[0].max((energy(&world, &*engine) / start - 1.0).abs());
                    off[1] = off[1].max((now - momentum).length() / momentum.length());
                }
                println!("{size} at {spin} rad/s, h {h}: energy {:.1e}, angular momentum {:.1e} off", off[0], off[1]);
                assert!(off[0] < 1e-10 && off[1] < 1e-10, "{size} at {spin} rad/s, {h} s: {off:?}");
            }
        }
    }
}
