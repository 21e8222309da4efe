//! A row of cubes between two jaws, held by friction alone.
//!
//! Each jaw presses with the constant force F along the row. n cubes of mass m hang in between: at each jaw, friction
//! carries half of their weight, n m g / 2 <= mu F. The weight bends the middle of the row with the moment n² m g a / 8
//! for cubes of edge a. The thrust of the jaws can balance at most F a while it stays within the faces, so F >= n² m g
//! / 8 as well. Within both limits nothing slides by Coulomb's law, and the corners of each face keep the cubes from
//! turning about each other.

use bevy_math::DVec3;
use simpartner_model::{Axis, FreeAxis, JointKind, Material, Shape};

use super::{G, build, position, steps};
use crate::scene::{self, body, cube, joint};

const EDGE: f64 = 0.1;

/// A row of cubes of 1 kg, with the odd ones shifted sideways.
struct Grasp {
    cubes: usize,
    friction: f64,
    /// Of each jaw, N.
    force: f64,
    shift: f64,
    h: f64,
}

impl Grasp {
    /// Largest displacement of a cube across the row within `seconds`, m.
    fn slip(&self, seconds: f64) -> f64 {
        let Self { cubes, friction, force, shift, h } = *self;
        let mut world = scene::world();
        let material = Material { friction, ..Material::default() };
        let mechanism = &mut world.mechanism;
        mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
        mechanism.bodies[0].fixed = true;
        let middle = 0.5 * EDGE * cubes as f64 + 0.05;
        for side in [-1.0, 1.0] {
            let (jaw, at) = (mechanism.bodies.len(), DVec3::new(0.0, 0.5, side * middle));
            let shape = Shape::Box { size: DVec3::new(0.2, 0.2, 0.1) };
            mechanism.bodies.push(body("jaw", 1.0, Some(shape), at));
            mechanism.bodies[jaw].material = material;
            let mut slide = joint("slide", JointKind::Slider, 0, jaw, at);
            // A soft spring from afar is a constant force.
            let spring_position = -side * 1000.0;
            slide.axes[2] = Axis::Free(FreeAxis { stiffness: force / 1000.0, spring_position, ..FreeAxis::default() });
            mechanism.joints.push(slide);
        }
        for index in 0..cubes {
            let along = (index as f64 - 0.5 * (cubes - 1) as f64) * EDGE;
            let sideways = if index % 2 == 1 { shift } else { 0.0 };
            mechanism.bodies.push(body("cube", 1.0, cube(EDGE), DVec3::new(sideways, 0.5, along)));
            mechanism.bodies[3 + index].material = material;
        }
        let mut engine = build(&world, h);
        let start: Vec<DVec3> = (0..cubes).map(|index| position(&*engine, 3 + index)).collect();
        (0..steps(h, seconds)).for_each(|_| engine.step());
        let moved = |index: usize| (position(&*engine, 3 + index) - start[index]).truncate().length();
        (0..cubes).map(moved).fold(0.0, f64::max)
    }
}

/// The face of each jaw meets the first cube's with all its corners, and each cube meets the next, from the first step
/// on. By default the test makes four grasps of a second; with `SIMPARTNER_LONG_TESTS=1` sixty-four of 5 s.
#[test]
fn no_cube_slips_in_a_grasp() {
    let long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let all = [1, 3, 6, 8, 11].into_iter().flat_map(|cubes| {
        [0.5, 1.0].into_iter().flat_map(move |friction| {
            [0.001, 0.002, 0.005, 0.01].map(|h| Grasp { cubes, friction, force: 100.0 * cubes as f64, shift: 0.0, h })
        })
    });
    let weight = |cubes: usize| cubes as f64 * G;
    let others = [3, 6, 8, 11].into_iter().flat_map(|cubes| {
        [0.002, 0.005].into_iter().flat_map(move |h| {
            // Three other grasps: with hardly enough force, with a large force, and with faces that overlap by half.
            [(1.5, 0.0), (100.0, 0.0), (6.0, 0.05)].map(|(times, shift)| {
                let force = times * weight(cubes);
                Grasp { cubes, friction: 0.5, force, shift, h }
            })
        })
    });
    let wanted = |grasp: &Grasp| {
        long || (grasp.cubes == 8 && grasp.friction == 0.5 && grasp.shift == 0.0 && grasp.h == 0.002)
            || (grasp.cubes == 11 && grasp.h == 0.01)
    };
    let (seconds, mut worst) = (if long { 5.0 } else { 1.0 }, 0.0f64);
    for grasp in all.chain(others).filter(wanted) {
        let slip = grasp.slip(seconds);
        let Grasp { cubes, friction, force, shift, h } = grasp;
        println!("{cubes} cubes, friction {friction}, {force:.0} N, {shift} m sideways, h {h}: {slip:.1e} m");
        worst = worst.max(slip);
    }
    assert!(worst < 1e-6, "{worst}");
}
