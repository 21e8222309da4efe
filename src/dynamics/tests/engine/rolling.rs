//! Contacts that persist while a body tips or rolls: the contact point moves on the bodies, and no energy is lost.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Shape;

use crate::{
    build, energy, on_plane, position,
    scene::{self, body},
    steps,
};

/// A cube balances on an edge and falls over it, sticking: until its face lands, no energy is lost. Its contact point
/// is a corner that turns with it.
#[test]
fn a_cube_tips_over_its_edge_without_loss() {
    for h in [0.001, 0.002, 0.005, 0.01] {
        let (edge, lean) = (0.2f64, 0.15);
        let mut world = on_plane(scene::world());
        let height = edge * 0.5f64.sqrt() * f64::cos(lean);
        world.mechanism.bodies.push(body("cube", 1.0, scene::cube(edge), DVec3::Y * height));
        world.mechanism.bodies[0].pose.rotation = DQuat::from_rotation_z(-std::f64::consts::FRAC_PI_4 - lean);
        world.mechanism.bodies[0].material.friction = 2.0;
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        let mut worst = 0.0f64;
        while position(&*engine, 0).y > 0.55 * edge {
            engine.step();
            worst = worst.max((energy(&world, &*engine) - start).abs());
        }
        println!("tipping cube, h {h}: {worst:.1e} J of {start:.2} J off at most");
        // Of second order; taken at the middle of the step alone, contacts gain 1e-4 J at 1 ms.
        assert!(worst < 10.0 * h * h, "h {h}: {worst}");
    }
}

/// A coin rolls in a curve without slipping, on a rim whose lowest point moves on.
#[test]
fn a_rolling_coin_keeps_its_energy() {
    for h in [0.0005, 0.001, 0.002] {
        let (r, half, lean) = (0.05f64, 0.002, 0.3f64);
        let mut world = on_plane(scene::world());
        // Its axis along x, leaning; the lower rim is r cos(lean) + half sin(lean) below the centre.
        let shape = Shape::Cylinder { radius: r, length: 2.0 * half };
        let at = DVec3::Y * (r * lean.cos() + half * lean.sin());
        world.mechanism.bodies.push(body("coin", 0.1, Some(shape), at));
        let axis = DVec3::new(lean.cos(), lean.sin(), 0.0);
        world.mechanism.bodies[0].pose.rotation = DQuat::from_rotation_arc(DVec3::Y, axis);
        let spin = axis * 30.0;
        let low = DVec3::new(lean.sin() * r - half * lean.cos(), -at.y, 0.0);
        world.mechanism.bodies[0].angular_velocity = spin;
        world.mechanism.bodies[0].linear_velocity = -spin.cross(low);
        world.mechanism.bodies[0].material.friction = 2.0;
        let mut engine = build(&world, h);
        let start = energy(&world, &*engine);
        for _ in 0..steps(h, 1.0) {
            engine.step();
        }
        let loss = 1.0 - energy(&world, &*engine) / start;
        println!(
            "rolling coin, h {h}: lost {loss:.1e} of its energy in a second, height {:.4}",
            position(&*engine, 0).y
        );
        // Of second order; taken at the middle of the step alone, contacts take 7e-5 of it at 1 ms.
        assert!(loss.abs() < 4.0 * h * h, "h {h}: {loss}");
    }
}
