//! The second engine refuses unsupported features by name, so that no feature is ignored silently.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{EngineKind, Settings};
use simpartner_model::{
    Axis, Coupling, CrossFriction, FreeAxis, FrictionDirection, Joint, JointAxis, JointId, JointKind, Material, Placed,
    Pose, Shape, Timestep,
};

use crate::scene::{self, body, cube, joint};

/// A box on the ground, and a post with two hinged links; the third joint is a ball joint.
fn world() -> World {
    let mut world = scene::with_plane(scene::world(), 0.5);
    for (index, name) in ["post", "one", "two", "three"].into_iter().enumerate() {
        world.mechanism.bodies.push(body(name, 1.0, cube(0.2), DVec3::new(0.5 * index as f64, 1.0, 0.0)));
    }
    for child in 1..4 {
        let kind = if child == 3 { JointKind::Ball } else { JointKind::Hinge };
        let mut own = joint(&format!("j{child}"), kind, child - 1, child, DVec3::new(0.5 * child as f64, 1.0, 0.0));
        own.source = format!("robot.xml:{child}");
        world.mechanism.joints.push(own);
    }
    world.mechanism.bodies[1].source = "robot.xml:7".into();
    scene::as_robot(world)
}

type Change = fn(&mut World);

fn material(world: &mut World, change: fn(&mut Material)) {
    change(&mut world.mechanism.bodies[1].material);
}

/// Changes the axis of a joint that turns about its third.
fn axis(world: &mut World, joint: usize, change: fn(&mut FreeAxis)) {
    for axis in &mut world.mechanism.joints[joint].axes {
        if let Axis::Free(axis) = axis {
            change(axis);
        }
    }
}

/// Unsupported features, with message and position.
const REFUSED: &[(&str, &str, Change)] = &[
    ("second coefficient of friction", "robot.xml:7", |world| {
        material(world, |material| {
            let direction = FrictionDirection::Along(DVec3::X);
            material.across = Some(CrossFriction { coefficient: 0.1, direction });
        });
    }),
    ("torsional friction", "robot.xml:7", |world| material(world, |material| material.torsional_friction = 0.1)),
    ("soft surfaces", "robot.xml:7", |world| material(world, |material| material.stiffness = 1e5)),
    ("slip", "robot.xml:7", |world| material(world, |material| material.slip = 1e-3)),
    ("surfaces that move", "robot.xml:7", |world| material(world, |material| material.surface_velocity = DVec3::X)),
    ("surfaces that move", "the ground", |world| {
        world.mechanism.grounds[0].material_mut().surface_velocity = DVec3::X;
    }),
    ("ellipsoids", "robot.xml:7", |world| {
        let shape = Shape::Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.1) };
        world.mechanism.bodies[1].shape = Some(Placed { pose: Pose::IDENTITY, shape });
    }),
    ("springs in joints", "robot.xml:1", |world| axis(world, 0, |axis| axis.stiffness = 1.0)),
    ("springs in joints", "robot.xml:3", |world| axis(world, 2, |axis| axis.stiffness = 1.0)),
    ("rotors in joints", "robot.xml:1", |world| axis(world, 0, |axis| axis.armature = 1.0)),
    ("largest efforts, rates and powers of joints", "robot.xml:1", |world| {
        axis(world, 0, |axis| axis.max_effort = 1.0)
    }),
    ("largest efforts, rates and powers of joints", "robot.xml:1", |world| axis(world, 0, |axis| axis.max_rate = 1.0)),
    ("largest efforts, rates and powers of joints", "robot.xml:1", |world| axis(world, 0, |axis| axis.max_power = 1.0)),
    ("damping, friction and stops of ball joints", "robot.xml:3", |world| axis(world, 2, |axis| axis.damping = 1.0)),
    ("damping, friction and stops of ball joints", "robot.xml:3", |world| axis(world, 2, |axis| axis.friction = 1.0)),
    ("damping, friction and stops of ball joints", "robot.xml:3", |world| axis(world, 2, |axis| axis.upper = 1.0)),
    ("damping, friction and stops of ball joints", "robot.xml:3", |world| world.mechanism.joints[2].swing = 1.0),
    ("initial positions of joints", "robot.xml:1", |world| axis(world, 0, |axis| axis.initial_position = 1.0)),
    ("couplings", "robot.xml:9", |world| {
        let [leader, follower] = [0, 1].map(|joint| JointAxis { joint: JointId::new(joint), axis: 2 });
        let source = "robot.xml:9".into();
        world.mechanism.couplings.push(Coupling { leader, follower, ratio: 2.0, offset: 0.0, source });
    }),
    ("springs in joints", "robot.xml:4", |world| {
        // A loop joint.
        let last: Joint = Joint {
            source: "robot.xml:4".into(),
            frame: DQuat::IDENTITY,
            ..joint("j4", JointKind::Hinge, 0, 3, DVec3::new(0.0, 2.0, 0.0))
        };
        world.mechanism.joints.push(last);
        axis(world, 3, |axis| axis.stiffness = 1.0);
    }),
];

#[test]
fn rapier_refuses_by_name_what_it_lacks() {
    let build = |engine, world: &World| {
        let settings = Settings { engine, ..Settings::default() };
        simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings)
    };
    assert!(build(EngineKind::Rapier, &world()).is_ok(), "all else it takes");
    for (what, place, change) in REFUSED {
        let mut world = world();
        change(&mut world);
        let refusal = build(EngineKind::Rapier, &world).err().unwrap_or_else(|| panic!("{what} is taken")).to_string();
        assert!(refusal.starts_with(place), "{what}: {refusal}");
        assert!(refusal.contains(&format!("has no {what}")) && refusal.contains("rapier"), "{what}: {refusal}");
        assert!(refusal.contains("dynamics"), "{what}: it says what helps: {refusal}");
        let own = build(EngineKind::Dynamics, &world);
        assert!(own.is_ok(), "{what}: {}", own.err().map_or(String::new(), |error| error.to_string()));
    }
}
