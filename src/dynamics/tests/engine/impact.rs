//! Impacts.
//!
//! Newton's law: a body that arrives at v leaves at e v. In free flight the heights of the peaks then follow h' = e² h;
//! with e = 1 all peaks are equal. Two equal balls exchange their velocities along the line of their centres. Momentum,
//! angular momentum and, for e = 1, energy are constant. Energy never increases.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{JointId, JointKind, Material, Shape};

use super::{G, build, energy, momenta, on_plane, position, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, ball, body, joint},
};

#[test]
fn a_bouncing_ball_comes_back_by_the_square_of_e() {
    for h in [0.001, 0.01] {
        for e in [0.5, 0.9, 1.0] {
            let mut world = on_plane(scene::world());
            world.mechanism.bodies.push(body("ball", 1.0, ball(0.5), DVec3::new(0.0, 5.0, 0.0)));
            world.mechanism.bodies[0].material.restitution = e;
            let mut engine = build(&world, h);
            let start = energy(&world, &*engine);
            let (mut peaks, mut highest, mut rising, mut most) = (Vec::new(), 0.0f64, false, start);
            for _ in 0..steps(h, 10.0) {
                engine.step();
                most = most.max(energy(&world, &*engine));
                let (y, v) = (position(&*engine, 0).y, velocity(&*engine, 0).y);
                if v > 0.0 {
                    // The peak of the arc, which is between two steps.
                    (rising, highest) = (true, y + 0.5 * v * v / G);
                } else if rising {
                    peaks.push(std::mem::take(&mut highest));
                    rising = false;
                }
            }
            let effective = |pair: &[f64]| ((pair[1] - 0.5) / (pair[0] - 0.5)).sqrt();
            let all: Vec<f64> = std::iter::once(5.0).chain(peaks.iter().copied()).collect();
            let errors = all.windows(2).take(2).map(|pair| (effective(pair) - e).abs());
            let worst = errors.fold(0.0f64, f64::max);
            println!(
                "bounce e {e}, h {h}: effective e {worst:.1e} off at most, energy {:+.1e} J at most",
                most - start
            );
            assert!(peaks.len() >= 3, "{peaks:?}");
            assert!(worst < 1e-9, "{worst} {peaks:?}");
            assert!(most - start < 1e-9 * start, "{most} {start}");
        }
    }
}

#[test]
fn two_balls_exchange_their_velocities() {
    for h in [0.001, 0.01] {
        for offset in [0.0, 0.2] {
            let mut world = scene::world();
            world.mechanism.gravity = DVec3::ZERO;
            for side in [-1.0, 1.0] {
                let mut one = body("ball", 1.0, ball(0.5), DVec3::new(side * 2.0, side * offset, 0.0));
                one.linear_velocity = DVec3::new(-5.0 * side, 0.0, 0.0);
                one.material = Material { friction: 0.0, restitution: 1.0, ..Material::default() };
                world.mechanism.bodies.push(one);
            }
            let mut engine = build(&world, h);
            for _ in 0..steps(h, 1.0) {
                engine.step();
            }
            let (a, b) = (velocity(&*engine, 0), velocity(&*engine, 1));
            let (sum, gain) = ((a + b).length(), (a.length_squared() + b.length_squared()) / 50.0 - 1.0);
            println!("two balls, offset {offset}, h {h}: |v1 + v2| {sum:.1e} m/s, dE/E {gain:+.1e}");
            assert!(sum < 1e-12 && gain.abs() < 1e-12, "{sum} {gain}");
            assert!(a.x < if offset == 0.0 { -4.999_999 } else { -1.0 }, "{a}");
        }
    }
}

/// A ball hits the outer of two hinged bars that float.
#[test]
fn an_impact_on_a_chain_keeps_its_momenta() {
    for (h, of_p, of_l) in [(0.001, 2e-4, 1e-4), (0.01, 5e-3, 1e-3)] {
        for e in [0.0, 1.0] {
            let mut world = scene::world();
            world.mechanism.gravity = DVec3::ZERO;
            let bar = Some(Shape::Box { size: DVec3::new(0.48, 0.1, 0.1) });
            world.mechanism.bodies.push(body("first", 2.0, bar.clone(), DVec3::ZERO));
            world.mechanism.bodies.push(body("second", 1.0, bar, DVec3::new(0.5, 0.0, 0.0)));
            world.mechanism.joints.push(joint("hinge", JointKind::Hinge, 0, 1, DVec3::new(0.25, 0.0, 0.0)));
            world.mechanism.bodies.push(body("ball", 0.5, ball(0.05), DVec3::new(0.65, -1.0, 0.0)));
            world.mechanism.bodies[2].linear_velocity = DVec3::new(0.0, 5.0, 0.0);
            for body in &mut world.mechanism.bodies {
                body.material = Material { friction: 0.0, restitution: e, ..Material::default() };
            }
            let mut engine = build(&world, h);
            let (start, (p0, l0)) = (energy(&world, &*engine), momenta(&world, &*engine));
            for _ in 0..steps(h, 0.4) {
                engine.step();
            }
            let (end, (p1, l1)) = (energy(&world, &*engine), momenta(&world, &*engine));
            let (dp, dl) = ((p1 - p0).length() / p0.length(), (l1 - l0).length() / l0.length());
            println!("impact on a chain, e {e}, h {h}: dp/p {dp:.1e}, dL/L {dl:.1e}, energy {start:.4} -> {end:.4} J");
            assert!(engine.joint(JointId::new(0)).rate[2].abs() > 0.1, "it was hit");
            assert!(dp < of_p && dl < of_l, "{dp} {dl}");
            assert!(end < start * 1.001 && (e == 0.0) == (end < 0.9 * start), "{start} {end}");
        }
    }
}

/// A box thrown on its corner, with friction and restitution: the case in which Newton's law alone creates energy.
#[test]
fn a_tumbling_box_never_gains_energy() {
    for (h, bound) in [(0.001, 1e-6), (0.01, 1e-5)] {
        for e in [0.5, 0.9, 1.0] {
            let mut world = on_plane(scene::world());
            world.mechanism.bodies.push(body(
                "box",
                2.0,
                Some(Shape::Box { size: DVec3::new(0.6, 0.2, 0.4) }),
                DVec3::Y * 1.5,
            ));
            world.mechanism.bodies[0].pose.rotation = DQuat::from_xyzw(0.2, 0.1, -0.3, 1.0).normalize();
            world.mechanism.bodies[0].linear_velocity = DVec3::new(2.0, 0.0, -1.0);
            world.mechanism.bodies[0].angular_velocity = DVec3::new(3.0, 2.0, 5.0);
            world.mechanism.bodies[0].material = Material { friction: 0.8, restitution: e, ..Material::default() };
            let mut engine = build(&world, h);
            let start = energy(&world, &*engine);
            let (mut last, mut gain) = (start, 0.0f64);
            for _ in 0..steps(h, 3.0) {
                engine.step();
                let now = energy(&world, &*engine);
                (gain, last) = (gain.max(now - last), now);
            }
            println!("tumbling box of {start:.0} J, e {e}, h {h}: gains {gain:.1e} J in a step at most");
            assert!(gain < bound * start, "{gain}");
        }
    }
}

/// The robot without motors, dropped at an angle from 1 m: its joints reach hundreds of radians per second.
#[test]
fn a_limp_robot_keeps_its_energy_in_check() {
    let mut worst = (0.0f64, String::new());
    for h in [0.001, 0.002, 0.005, 0.01, 0.02] {
        for e in [0.0, 0.5, 0.9, 1.0] {
            for mu in [0.0, 0.8] {
                let world = limp(e, mu);
                let mut engine = build(&world, h);
                let start = energy(&world, &*engine);
                let mut most = start;
                for step in 0..steps(h, 3.0) {
                    engine.step();
                    let now = energy(&world, &*engine);
                    assert!(now.is_finite() && !super::diverged(&*engine), "h {h} e {e} mu {mu}: step {step}");
                    most = most.max(now);
                }
                let gain = most / start - 1.0;
                if gain > worst.0 {
                    worst = (gain, format!("h {h} e {e} mu {mu}"));
                }
                println!("limp robot, h {h}, e {e}, mu {mu}: {start:.1} J, at most {:+.3} %", 100.0 * gain);
                assert!(gain < 0.01, "h {h} e {e} mu {mu}: {gain}");
            }
        }
    }
    println!("limp robot: at worst {:+.3} % ({})", 100.0 * worst.0, worst.1);
}

fn limp(restitution: f64, friction: f64) -> World {
    let mut world = on_plane(scene::world());
    rover::add(&mut world, DVec3::ZERO, Wheel::Ball);
    let turn = DQuat::from_xyzw(0.1, 0.05, -0.15, 1.0).normalize();
    let (centre, lift) = (DVec3::Y * rover::RIDE, DVec3::Y * (1.0 + rover::RIDE));
    for body in &mut world.mechanism.bodies {
        body.pose.translation = turn * (body.pose.translation - centre) + lift;
        body.pose.rotation = turn * body.pose.rotation;
        body.material = Material { friction, restitution, ..Material::default() };
        body.angular_velocity = DVec3::new(0.0, 0.0, -1.0);
        body.linear_velocity = body.angular_velocity.cross(body.pose.translation - lift);
    }
    for joint in &mut world.mechanism.joints {
        joint.anchor = turn * (joint.anchor - centre) + lift;
        joint.frame = turn * joint.frame;
    }
    world
}

/// A ball of 5 cm at 100 m/s does not pass through a plate of 1 cm, and a ball that flies past an edge is not
/// deflected.
#[test]
fn a_fast_ball_is_stopped_by_a_thin_plate() {
    for h in [0.001, 0.005, 0.01] {
        for (offset, hits) in [(0.0, true), (0.3, true), (0.56, false)] {
            for start in 0..10 {
                let mut world = scene::world();
                world.mechanism.gravity = DVec3::ZERO;
                let plate = Some(Shape::Box { size: DVec3::new(1.0, 0.01, 1.0) });
                world.mechanism.bodies.push(body("plate", 1.0, plate, DVec3::ZERO));
                world.mechanism.bodies[0].fixed = true;
                let height = 3.0 + 0.0137 * f64::from(start);
                world.mechanism.bodies.push(body("ball", 0.1, ball(0.025), DVec3::new(offset, height, 0.0)));
                world.mechanism.bodies[1].linear_velocity = DVec3::new(0.0, -100.0, 0.0);
                let mut engine = build(&world, h);
                for _ in 0..steps(h, 0.1) {
                    engine.step();
                }
                let (place, v) = (position(&*engine, 1), velocity(&*engine, 1));
                if hits {
                    assert!((place.y - 0.03).abs() < 2e-6 && v.length() < 1e-6, "h {h} {offset}: {place} {v}");
                } else {
                    assert!((place.y - (height - 10.0)).abs() < 1e-9, "h {h} {offset}: {place} {v}");
                }
            }
        }
    }
}
