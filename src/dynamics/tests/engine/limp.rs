//! A figure without motors that falls and comes to rest on many of its edges and corners.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::StepCheck;
use simpartner_model::{Axis, FreeAxis, JointKind, Shape, random::Stream};

use super::{build, on_plane, steps, velocity};
use crate::scene::{self, body, joint};

/// A torso with a head, arms and legs: fifteen boxes and fourteen hinges, 24 kg, turned at random half a metre above
/// the ground.
fn figure(next: &mut impl FnMut() -> f64) -> World {
    let mut world = on_plane(scene::world());
    let mut boxes: Vec<(Option<usize>, DVec3, DVec3, f64)> = vec![
        (None, DVec3::ZERO, DVec3::new(0.3, 0.4, 0.2), 10.0),
        (Some(0), DVec3::new(0.0, 0.32, 0.0), DVec3::new(0.16, 0.2, 0.16), 2.0),
        (Some(0), DVec3::new(0.0, -0.28, 0.0), DVec3::new(0.28, 0.12, 0.18), 2.0),
    ];
    for side in [-1.0, 1.0] {
        let (arm, leg) = (0.21 * side, 0.1 * side);
        let first = boxes.len();
        boxes.push((Some(0), DVec3::new(arm, 0.05, 0.0), DVec3::new(0.08, 0.26, 0.08), 1.0));
        boxes.push((Some(first), DVec3::new(arm, -0.22, 0.0), DVec3::new(0.07, 0.24, 0.07), 0.8));
        boxes.push((Some(first + 1), DVec3::new(arm, -0.4, 0.0), DVec3::new(0.04, 0.12, 0.1), 0.4));
        boxes.push((Some(2), DVec3::new(leg, -0.53, 0.0), DVec3::new(0.12, 0.36, 0.12), 1.5));
        boxes.push((Some(first + 3), DVec3::new(leg, -0.9, 0.0), DVec3::new(0.1, 0.36, 0.1), 1.0));
        boxes.push((Some(first + 4), DVec3::new(leg, -1.11, 0.04), DVec3::new(0.1, 0.06, 0.24), 0.5));
    }
    let turn = DQuat::from_rotation_y(next()) * DQuat::from_rotation_x(1.5 + next()) * DQuat::from_rotation_z(next());
    for (index, (parent, at, size, mass)) in boxes.iter().copied().enumerate() {
        let mut one = body("part", mass, Some(Shape::Box { size }), turn * at + DVec3::Y * 1.2);
        one.pose.rotation = turn;
        one.material.friction = 1.0;
        world.mechanism.bodies.push(one);
        let Some(parent) = parent else { continue };
        let anchor = 0.5 * (at + boxes[parent].1);
        let mut hinge = joint("hinge", JointKind::Hinge, parent, index, turn * anchor + DVec3::Y * 1.2);
        // Hinges alternate between the lateral and the forward axis.
        hinge.frame =
            turn * if index % 3 == 0 { DQuat::IDENTITY } else { DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2) };
        let law =
            FreeAxis { lower: -1.5, upper: 1.5, damping: 0.01, friction: 0.1, armature: 0.01, ..FreeAxis::default() };
        hinge.axes[2] = Axis::Free(law);
        world.mechanism.joints.push(hinge);
    }
    world
}

/// Every step is solved, from the fall to rest. Rocking on corners changes the energy by a negligible amount, and no
/// step is divided for it: a step lists its contacts once for each part, and the figure never has more than sixteen.
#[test]
fn a_limp_figure_is_solved_in_whole_steps_and_comes_to_rest() {
    let mut stream = Stream::from_number(5);
    let mut next = || stream.between(-1.0, 1.0);
    for round in 0..12 {
        let world = figure(&mut next);
        let (mut engine, mut unsolved, mut most) = (build(&world, 0.001), 0, 0);
        for _ in 0..steps(0.001, 3.0) {
            engine.step();
            unsolved += engine.step_events().iter().filter(|event| event.check == StepCheck::Unconverged).count();
            most = most.max(engine.contacts().len());
        }
        let speed = (0..world.mechanism.bodies.len()).map(|part| velocity(&*engine, part).length()).fold(0.0, f64::max);
        println!("figure {round}: {most} contacts at most, {unsolved} steps unsolved, {speed:.1e} m/s in the end");
        assert_eq!(unsolved, 0, "figure {round}");
        assert!((9..=16).contains(&most) && speed < 1e-9, "figure {round}: {most} {speed}");
    }
}
