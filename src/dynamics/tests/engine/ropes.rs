//! Ropes: long chains of links in free motion. Their fastest waves have 2 sqrt(F / (m l)) rad/s, with the force F in
//! the rope, the mass m of a link and its length l: 280 rad/s under the weight of 100 links of 20 g and 5 cm, more when
//! the end of the rope whips.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{Axis, JointKind, Shape};

use super::{G, build, energy, steps};
use crate::scene::{self, body, joint};

/// The mass, kg, and the length, m, of a link.
const MASS: f64 = 0.02;
const LENGTH: f64 = 0.05;

/// A straight rope of `links` links, released at 1 rad from the vertical.
fn rope(links: usize, kind: JointKind) -> World {
    let along = DVec3::new(1f64.sin(), -1f64.cos(), 0.0);
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for link in 0..links {
        let (begin, shape) = (along * (LENGTH * link as f64), Shape::Capsule { radius: 0.008, length: 0.03 });
        let mut one = body("link", MASS, Some(shape), begin + along * (0.5 * LENGTH));
        one.pose.rotation = DQuat::from_rotation_arc(DVec3::Y, along);
        world.mechanism.bodies.push(one);
        world.mechanism.joints.push(joint("joint", kind, link, link + 1, begin));
    }
    // The links of a robot do not meet.
    scene::as_robot(world)
}

/// Potential energy of the fall to the vertical, J.
fn fall(links: usize) -> f64 {
    MASS * links as f64 * G * (0.5 * LENGTH * links as f64) * (1.0 - 1f64.cos())
}

/// While the rope falls and its end whips, its energy is constant to 1e-4 of the potential energy of the fall. A joint
/// may turn by 0.2 rad in a step before the step is divided. A method of fourth order gains or loses the fifth power of
/// that, 3e-4, of the energy of these links.
#[test]
fn ropes_keep_their_energy() {
    for (links, kind, h, seconds) in [
        (100, JointKind::Hinge, 0.001, 0.5),
        (100, JointKind::Hinge, 0.004, 1.6),
        (100, JointKind::Hinge, 0.01, 1.6),
        (100, JointKind::Ball, 0.004, 1.6),
        (400, JointKind::Ball, 0.004, 0.2),
    ] {
        let world = rope(links, kind);
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        let mut worst = 0.0f64;
        for _ in 0..steps(h, seconds) {
            engine.step();
            worst = worst.max((energy(&world, &*engine) - start).abs());
        }
        let fall = fall(links);
        println!("rope of {links}, {kind:?}, {seconds} s at {h} s: {worst:.1e} of {fall:.1} J");
        assert!(worst < 1e-4 * fall, "{worst:.1e}");
    }
}

/// Dampers that are as stiff as the links are light belong to free motion: the energy of a rope of 60 ball joints falls
/// in every step, and more than a hundredth of the potential energy of the fall is gone after 3 s.
#[test]
fn a_damped_rope_only_loses_energy() {
    let mut world = rope(60, JointKind::Ball);
    for axis in world.mechanism.joints.iter_mut().flat_map(|joint| &mut joint.axes) {
        if let Axis::Free(free) = axis {
            free.damping = 0.05;
        }
    }
    let mut engine = build(&world, 0.004);
    let start = energy(&world, &*engine);
    let mut last = start;
    for _ in 0..steps(0.004, 3.0) {
        engine.step();
        let now = energy(&world, &*engine);
        assert!(now < last + 1e-9, "{now} after {last}");
        last = now;
    }
    println!("the rope has lost {:.2} of {:.2} J", start - last, fall(60));
    assert!(start - last > 0.01 * fall(60), "{last} after {start}");
}
