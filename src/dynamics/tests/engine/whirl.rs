//! A load carried by a hand: a block between two fingers at the end of an arm that swings.
//!
//! Friction must exactly provide the acceleration of the circle, m (r w² + r w'). The fingers do not turn against each
//! other, so the points where they touch the block move as one rigid body, and sticking friction at one point does not
//! oppose that at another.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{BodyId, JointId, JointKind};

use super::{build, steps, unconverged};
use crate::scene::{self, body, cube, joint};

/// Mass of the block, kg; its distance from the axis, m; largest rate of the arm, rad/s; grip force of a finger, N.
const MASS: f64 = 0.12;
const REACH: f64 = 0.5;
const RATE: f64 = 3.0;
const GRIP: f64 = 100.0;

/// An arm about z with two fingers that close along a direction, and a block between them.
fn hand(closes: DVec3, friction: f64, h: f64) -> Box<dyn Engine> {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    let at = DVec3::X * REACH;
    world.mechanism.bodies.push(body("post", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("palm", 1.0, None, at));
    for side in [-1.0, 1.0] {
        world.mechanism.bodies.push(body("finger", 0.1, cube(0.02), at + closes * (0.025 * side)));
    }
    world.mechanism.bodies.push(body("block", MASS, cube(0.03), at));
    let turn = DQuat::from_rotation_arc(DVec3::Z, closes);
    for body in &mut world.mechanism.bodies[2..] {
        body.pose.rotation = turn;
        body.material.friction = friction;
    }
    world.mechanism.joints.push(joint("arm", JointKind::Hinge, 0, 1, DVec3::ZERO));
    for finger in [2, 3] {
        let mut slide = joint("slide", JointKind::Slider, 1, finger, at);
        slide.frame = turn;
        world.mechanism.joints.push(slide);
    }
    build(&world, h)
}

#[test]
fn friction_carries_a_block_around_and_does_not_fight_itself() {
    for closes in [DVec3::Z, DVec3::Y, DVec3::new(0.0, 0.6, 0.8)] {
        for (friction, h) in [(1.0, 0.001), (100.0, 0.001), (1.0, 0.002)] {
            let mut engine = hand(closes, friction, h);
            let held = |engine: &dyn Engine| {
                engine.body(BodyId::new(2)).pose.inverse().then(&engine.body(BodyId::new(4)).pose)
            };
            let taken = held(&*engine).inverse();
            let (mut braked, mut way, mut turned, mut open) = (0.0f64, 0.0f64, 0.0f64, 0);
            for step in 0..steps(h, 10.0) {
                let rate = RATE * libm::sin((step + 1) as f64 * h);
                engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: rate, max_effort: 1e4 });
                engine.set_motor(JointId::new(1), 2, Motor::Velocity { target: 0.0, max_effort: 1e4 });
                engine.set_motor(JointId::new(2), 2, Motor::Effort(-GRIP));
                engine.step();
                open += unconverged(&*engine);
                let error = taken.then(&held(&*engine));
                way = way.max(error.translation.length());
                turned = turned.max(2.0 * DVec3::new(error.rotation.x, error.rotation.y, error.rotation.z).length());
                let across = engine.contacts().iter().map(|contact| {
                    let force = contact.wrench.force;
                    (force - contact.normal * force.dot(contact.normal)).length()
                });
                braked = braked.max(across.sum());
            }
            // At each of two faces; r w² and r w' are not at their largest together.
            let needed = MASS * REACH * (RATE * RATE + RATE);
            println!(
                "closing along {closes}, friction {friction}, h {h}: {braked:.3} N of friction ({needed:.3} at most needed), \
                 {way:.1e} m, {turned:.1e} rad, {open} unconverged"
            );
            assert!(braked < 1.5 * needed, "{braked} N of friction, {needed} N needed");
            // Displacement by an acceleration within a step, from rest.
            let second_order = (RATE * RATE + RATE) * REACH * h * h;
            assert!(way < second_order && turned < second_order, "{way} m, {turned} rad");
            assert_eq!(open, 0);
        }
    }
}
