//! Joints with initial coordinates other than zero: the bodies have the poses that these coordinates give, and move on
//! as if they had arrived there.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{Axis, BodyId, Joint, JointId, JointKind, OpenLoop, take_initial_positions};

use super::{G, build, run};
use crate::scene::{self, body, cube, joint};

/// A base, an arm of 1 m along x on a joint at the origin, and a hand at its end; each joint can be reversed.
fn arm(kind: JointKind, backwards: bool) -> World {
    let mut world = scene::world();
    for (name, x) in [("base", 0.0), ("arm", 0.5), ("hand", 1.2)] {
        world.mechanism.bodies.push(body(name, 2.0, cube(0.1), DVec3::new(x, 0.0, 0.0)));
    }
    world.mechanism.bodies[0].fixed = true;
    let ends = |inner, outer| if backwards { (outer, inner) } else { (inner, outer) };
    for (name, kind, (parent, child), x) in
        [("shoulder", kind, ends(0, 1), 0.0), ("wrist", JointKind::Hinge, ends(1, 2), 1.0)]
    {
        world.mechanism.joints.push(joint(name, kind, parent, child, DVec3::new(x, 0.0, 0.0)));
    }
    world
}

fn begin(joint: &mut Joint, index: usize, position: f64, rate: Option<f64>) {
    let Axis::Free(free) = &mut joint.axes[index] else { panic!("a free axis") };
    (free.initial_position, free.initial_rate) = (position, rate);
}

fn placed(mut world: World) -> World {
    take_initial_positions(&mut world.mechanism.bodies, &mut world.mechanism.joints).unwrap();
    world
}

#[test]
fn bodies_stand_where_their_joints_begin() {
    for backwards in [false, true] {
        let mut world = arm(JointKind::Hinge, backwards);
        let sign = if backwards { -1.0 } else { 1.0 };
        begin(&mut world.mechanism.joints[0], 2, 0.7 * sign, Some(0.3 * sign));
        begin(&mut world.mechanism.joints[1], 2, -1.1 * sign, None);
        let engine = build(&placed(world), 0.001);
        let (elbow, hand) = (DQuat::from_rotation_z(0.7), DQuat::from_rotation_z(0.7 - 1.1));
        let expected = elbow * DVec3::X + hand * DVec3::new(0.2, 0.0, 0.0);
        let found = engine.body(BodyId::new(2));
        assert!((found.pose.translation - expected).length() < 1e-14, "{}", found.pose.translation);
        assert!(found.pose.rotation.angle_between(hand) < 1e-7);
        assert!((found.angular_velocity - DVec3::Z * 0.3).length() < 1e-14, "{}", found.angular_velocity);
        let speed = (DVec3::Z * 0.3).cross(expected);
        assert!((found.linear_velocity - speed).length() < 1e-14, "{}", found.linear_velocity);
        for (id, position) in [(0, 0.7), (1, -1.1)] {
            assert!((engine.joint(JointId::new(id)).position[2] - sign * position).abs() < 1e-15);
        }
    }
}

/// Every kind of joint with axes and an initial position: its coordinates read so, and in every engine the bodies have
/// the poses of the model.
#[test]
fn every_kind_of_joint_begins_anywhere() {
    for kind in JointKind::ALL.into_iter().filter(|kind| kind.has_axes()) {
        for backwards in [false, true] {
            let mut world = arm(kind, backwards);
            world.mechanism.gravity = DVec3::ZERO;
            let positions = [0.4, -0.3, 0.8];
            let free: Vec<usize> = world.mechanism.joints[0].free_coordinates().map(|(index, _)| index).collect();
            for &index in &free {
                begin(&mut world.mechanism.joints[0], index, positions[index], Some(0.0));
            }
            let world = placed(world);
            let mut engine = build(&world, 0.001);
            let at = |engine: &dyn simpartner_dynamics::Engine| engine.joint(JointId::new(0)).position;
            for &index in &free {
                assert!((at(&*engine)[index] - positions[index]).abs() < 1e-15, "{kind:?} {:?}", at(&*engine));
            }
            for (id, body) in world.mechanism.bodies() {
                let pose = engine.body(id).pose;
                let off = (pose.translation - body.pose.translation).length();
                assert!(off < 1e-14 && pose.rotation.angle_between(body.pose.rotation) < 1e-7, "{kind:?} {off}");
            }
            // No force acts, so it stays.
            run(&mut *engine, 0.001, 0.1);
            for &index in &free {
                assert!((at(&*engine)[index] - positions[index]).abs() < 1e-13, "{kind:?} {:?}", at(&*engine));
            }
        }
    }
}

/// A pendulum with an initial position of 0.7 rad swings as one that was built there.
#[test]
fn a_pendulum_swings_from_where_it_begins() {
    let mut world = arm(JointKind::Hinge, false);
    begin(&mut world.mechanism.joints[0], 2, -0.7, None);
    let mut engine = build(&placed(world), 0.001);
    let mut other = arm(JointKind::Hinge, false);
    let turn = DQuat::from_rotation_z(-0.7);
    for body in &mut other.mechanism.bodies {
        (body.pose.translation, body.pose.rotation) = (turn * body.pose.translation, turn);
    }
    other.mechanism.bodies[0].pose.rotation = DQuat::IDENTITY;
    other.mechanism.joints[1].anchor = turn * DVec3::X;
    let mut built = build(&other, 0.001);
    run(&mut *engine, 0.001, 1.0);
    run(&mut *built, 0.001, 1.0);
    let [one, two] = [&engine, &built].map(|engine| engine.body(BodyId::new(2)).pose.translation);
    assert!((one - two).length() < 1e-9, "{one} {two}");
    assert!(one.y < -0.5 && G > 0.0, "it has fallen: {one}");
}

/// A four-bar linkage that begins folded: with the angles that fit it closes, with others it is refused.
#[test]
fn a_loop_begins_where_it_closes() {
    let linkage = |angles: [f64; 4]| {
        let mut world = scene::world();
        let corners = [DVec3::ZERO, DVec3::Y, DVec3::new(1.0, 1.0, 0.0), DVec3::X];
        world.mechanism.bodies.push(body("base", 1.0, cube(0.1), DVec3::new(0.5, 0.0, 0.0)));
        world.mechanism.bodies[0].fixed = true;
        for pair in corners.windows(2) {
            world.mechanism.bodies.push(body("bar", 1.0, cube(0.1), (pair[0] + pair[1]) / 2.0));
        }
        for (index, (parent, child)) in [(0, 1), (1, 2), (2, 3), (3, 0)].into_iter().enumerate() {
            let mut pin = joint("pin", JointKind::Hinge, parent, child, corners[index]);
            begin(&mut pin, 2, angles[index], None);
            world.mechanism.joints.push(pin);
        }
        world
    };
    let world = placed(linkage([0.4, -0.4, 0.4, -0.4]));
    let mut engine = build(&world, 0.001);
    for (id, angle) in (0..4).zip([0.4, -0.4, 0.4, -0.4]) {
        assert!((engine.joint(JointId::new(id)).position[2] - angle).abs() < 1e-14, "{id}");
    }
    run(&mut *engine, 0.001, 0.05);
    let mut open = linkage([0.4, -0.4, 0.4, 0.0]);
    let refused = take_initial_positions(&mut open.mechanism.bodies, &mut open.mechanism.joints);
    assert!(matches!(refused, Err(OpenLoop { angle, .. }) if (angle - 0.4).abs() < 1e-9), "{refused:?}");
}
