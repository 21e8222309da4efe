//! Loads that several contacts carry: stacks, grasps, piles, light bodies under heavy ones.
//!
//! A stack at rest has the height of the sum of its edges and presses with its weight. A pole between two fingers with
//! the force F does not slip if m g < 2 mu F.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::Motor;
use simpartner_model::{BodyId, JointId, JointKind, Material, Placed, Pose, Shape};

use super::{G, build, on_plane, position, steps, unconverged, velocity};
use crate::scene::{self, ball, body, cube, joint};

#[test]
fn a_stack_of_ten_stands_at_its_height() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        for index in 0..10 {
            let at = DVec3::new(0.001 * f64::from(index % 2), 0.25 + 0.5 * f64::from(index), 0.0);
            world.mechanism.bodies.push(body("box", 10.0, cube(0.5), at));
            world.mechanism.bodies.last_mut().unwrap().material.friction = 0.5;
        }
        let mut engine = build(&world, h);
        let mut open = 0;
        for _ in 0..steps(h, 20.0) {
            engine.step();
            open += unconverged(&*engine);
        }
        let top = position(&*engine, 9).y;
        let ground: f64 =
            engine.contacts().iter().filter(|contact| contact.bodies[0].is_none()).map(|c| c.wrench.force.y).sum();
        println!("stack of 10, 20 s, h {h}: top at {top:.6} m, ground carries {ground:.6} N (981), {open} unconverged");
        assert!((top - 4.75).abs() < 2e-5, "{top}");
        assert!((ground - 981.0).abs() < 1e-3, "{ground}");
        assert_eq!(open, 0);
    }
}

/// Cubes from 0.5 to 5 mm stand as large ones do, alone and on each other.
#[test]
fn stacks_of_small_cubes_stand() {
    for (edge, h) in [(0.005, 0.001), (0.0021, 0.001), (0.002, 0.001), (0.001, 0.001), (0.001, 0.01), (0.0005, 0.004)] {
        let mut world = on_plane(scene::world());
        let height = |level: usize| edge * (0.5 + level as f64);
        for level in 0..4 {
            let mass = 1000.0 * edge * edge * edge;
            world.mechanism.bodies.push(body("cube", mass, cube(edge), DVec3::Y * height(level)));
        }
        let mut engine = build(&world, h);
        (0..steps(h, 3.0)).for_each(|_| engine.step());
        for level in 0..4 {
            let off = position(&*engine, level) - DVec3::Y * height(level);
            assert!(off.length() < 2e-6, "{edge} m at {h} s, cube {level}: {off}");
        }
    }
}

/// A heavy pole between two fingers of 0.1 kg.
#[test]
fn a_grasp_holds_heavy_poles() {
    for h in [0.001, 0.01] {
        for mass in [0.5, 5.0, 20.0] {
            let grip = mass * G * 1.5 / 1.6;
            let mut world = scene::world();
            world.mechanism.gravity = DVec3::ZERO;
            world.mechanism.bodies.push(body("palm", 1.0, None, DVec3::Y));
            world.mechanism.bodies[0].fixed = true;
            for side in [1.0, -1.0] {
                let finger = Some(Shape::Box { size: DVec3::new(0.04, 0.06, 0.02) });
                world.mechanism.bodies.push(body("finger", 0.1, finger, DVec3::new(0.0, 1.0, 0.031 * side)));
            }
            let pole = Shape::Cylinder { radius: 0.02, length: 1.0 };
            let mut held = body("pole", mass, None, DVec3::Y);
            held.shape =
                Some(Placed { pose: Pose { translation: DVec3::ZERO, rotation: DQuat::IDENTITY }, shape: pole });
            world.mechanism.bodies.push(held);
            for finger in [1, 2] {
                world.mechanism.joints.push(joint("slide", JointKind::Slider, 0, finger, DVec3::Y));
            }
            world.mechanism.gravity = DVec3::ZERO;
            let mut engine = build(&world, h);
            let close = |engine: &mut dyn simpartner_dynamics::Engine| {
                for (index, side) in [(0, -1.0), (1, 1.0)] {
                    engine.set_motor(JointId::new(index), 2, Motor::Velocity { target: side, max_effort: grip });
                }
            };
            close(&mut *engine);
            for _ in 0..steps(h, 0.5) {
                engine.step();
            }
            // Gravity starts once the grasp is closed: the state is restored in the same world under gravity.
            let closed = engine.snapshot();
            world.mechanism.gravity = DVec3::new(0.0, -G, 0.0);
            let mut engine = build(&world, h);
            engine.restore(&closed).unwrap();
            for _ in 0..steps(h, 0.5) {
                engine.step();
            }
            let (start, mut open) = (position(&*engine, 3).y, 0);
            for _ in 0..steps(h, 10.0) {
                engine.step();
                open += unconverged(&*engine);
            }
            let slip = start - position(&*engine, 3).y;
            let friction = engine.body(BodyId::new(3)).force.y;
            println!(
                "grasp of {mass} kg, h {h}: slips {slip:.1e} m in 10 s, friction {friction:.6} N, {open} unconverged"
            );
            assert!(slip.abs() < 1e-6, "{slip}");
            assert!((friction - mass * G).abs() < 1e-4 * mass * G, "{friction}");
        }
    }
}

/// 27 boxes and balls of 1 to 50 kg fall on a heap.
#[test]
fn a_pile_comes_to_rest() {
    for h in [0.001, 0.01] {
        let mut world = on_plane(scene::world());
        for index in 0..27usize {
            let (i, j, level) = (index % 3, index / 3 % 3, index / 9);
            let s = 0.15 + 0.05 * ((index * 7) % 5) as f64;
            let size = DVec3::new(s, 0.4 - s, 0.2) * 2.0;
            let at = DVec3::new(0.7 * i as f64, 1.0 + 0.9 * level as f64, -0.7 * j as f64);
            let shape = if index % 4 == 0 { ball(0.25) } else { Some(Shape::Box { size }) };
            let mut one = body("lump", [1.0, 5.0, 50.0][index % 3], shape, at);
            one.pose.rotation = DQuat::from_rotation_x(0.3 * index as f64) * DQuat::from_rotation_y(0.7 * index as f64);
            one.material = Material { friction: 0.5, ..Material::default() };
            world.mechanism.bodies.push(one);
        }
        let mut engine = build(&world, h);
        let (mut solves, mut open, mut deepest) = (0, 0, 0.0f64);
        for _ in 0..steps(h, 10.0) {
            engine.step();
            assert!(!super::diverged(&*engine));
            open += unconverged(&*engine);
            solves += islands(&*engine, 27);
            deepest = engine.contacts().iter().fold(deepest, |deepest, contact| deepest.max(-contact.gap));
        }
        let fastest = (0..27).map(|index| velocity(&*engine, index).length()).fold(0.0, f64::max);
        let weight: f64 = world.mechanism.bodies.iter().map(|body| body.mass * G).sum();
        let carried: f64 =
            engine.contacts().iter().filter(|contact| contact.bodies[0].is_none()).map(|c| c.wrench.force.y).sum();
        println!(
            "pile of 27, 10 s, h {h}: fastest {fastest:.1e} m/s, deepest {deepest:.1e} m, {open} of {solves} solves unconverged"
        );
        assert!((0..27).all(|index| position(&*engine, index).y > 0.045));
        assert!((carried / weight - 1.0).abs() < 0.05, "{carried} {weight}");
        assert!((open as f64) < 1e-3 * solves as f64, "{open} of {solves}");
    }
}

/// Number of groups of bodies that touch each other or the ground.
fn islands(engine: &dyn simpartner_dynamics::Engine, bodies: usize) -> usize {
    let mut group: Vec<usize> = (0..bodies).collect();
    let mut touches = vec![false; bodies];
    for contact in engine.contacts() {
        let ends: Vec<usize> = contact.bodies.into_iter().flatten().map(BodyId::index).collect();
        ends.iter().for_each(|&body| touches[body] = true);
        if let [a, b] = ends[..] {
            let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
            group.iter_mut().filter(|other| **other == from).for_each(|other| *other = to);
        }
    }
    (0..bodies).filter(|&body| touches[body] && group[body] == body).count()
}

/// A box of 1000 kg on two boxes of 1 kg.
#[test]
fn a_heavy_box_stands_on_light_ones() {
    for h in [0.001, 0.01] {
        for mass in [10.0, 100.0, 1000.0] {
            let mut world = on_plane(scene::world());
            for (index, mass) in [1.0, 1.0, mass].into_iter().enumerate() {
                let mut one = body("box", mass, cube(0.5), DVec3::new(0.0, 0.25 + 0.5 * index as f64, 0.0));
                one.material.friction = 0.5;
                world.mechanism.bodies.push(one);
            }
            let mut engine = build(&world, h);
            let mut open = 0;
            for _ in 0..steps(h, 5.0) {
                engine.step();
                open += unconverged(&*engine);
            }
            let (top, v) = (position(&*engine, 2), velocity(&*engine, 2).length());
            println!("{mass} kg on two of 1 kg, 5 s, h {h}: top at {:.6} m, {v:.1e} m/s, {open} unconverged", top.y);
            assert!((top.y - 1.25).abs() < 1e-4 && v < 1e-3, "{top} {v}");
        }
    }
}
