//! A scene as plain text that the peers read: a line for everything, numbers behind its word.

use std::fmt::Write;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::mass_properties;
use simpartner_model::{Placed, Shape};

use super::rover::{self, JOINTS, Rover};

/// The whole scene. Quaternions are w x y z; cylinders and capsules stand along their z axes, as the peers have them.
pub fn text(world: &World, rovers: &[Rover]) -> String {
    let mut text = String::new();
    let mut line = |word: &str, numbers: &[f64]| {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        writeln!(text, "{word} {}", numbers.join(" ")).expect("text takes everything");
    };
    line("gravity", &world.mechanism.gravity.to_array());
    if world.mechanism.planes().next().is_some() {
        line("plane", &[0.8]);
    }
    if let Some(field) = world.mechanism.heightfields().next() {
        line("field", &[field.points_x as f64, field.points_z as f64, field.width, field.depth]);
        line("heights", &field.heights);
    }
    for (id, body) in world.mechanism.bodies() {
        let mass = mass_properties(body).expect("the bodies of the scenes have mass");
        let moments = DVec3::new(mass.tensor.x_axis.x, mass.tensor.y_axis.y, mass.tensor.z_axis.z);
        let robot = body.robot.map_or(-1.0, |robot| robot.index() as f64);
        let mut numbers = vec![id.index() as f64, robot, mass.mass];
        numbers.extend(moments.to_array());
        numbers.extend(pose(body.pose.translation, body.pose.rotation));
        line("body", &numbers);
        if let Some(Placed { pose: at, shape }) = body.collision_shape() {
            let upright = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
            let (word, size, rotation) = match shape {
                Shape::Sphere { radius } => ("sphere", [*radius, 0.0, 0.0], at.rotation),
                Shape::Box { size } => ("box", (*size * 0.5).to_array(), at.rotation),
                Shape::Cylinder { radius, length } => ("cylinder", [*radius, 0.5 * length, 0.0], at.rotation * upright),
                Shape::Capsule { radius, length } => ("capsule", [*radius, 0.5 * length, 0.0], at.rotation * upright),
                other => unreachable!("no scene has a {}", other.name()),
            };
            let mut numbers = vec![id.index() as f64];
            numbers.extend(size);
            numbers.extend(pose(at.translation, rotation));
            numbers.push(body.material.friction);
            line(word, &numbers);
        }
    }
    for rover in rovers {
        for index in 0..JOINTS {
            let joint = &world.mechanism.joints[rover.first_joint + index];
            let mut numbers = vec![joint.parent.index() as f64, joint.child.index() as f64];
            numbers.extend(joint.anchor.to_array());
            numbers.extend((joint.frame * DVec3::Z).to_array());
            let servo = rover::servo(index, 4.0);
            numbers.extend([servo.position, servo.rate, servo.stiffness, servo.damping, servo.max_effort]);
            line("hinge", &numbers);
        }
    }
    text
}

fn pose(at: DVec3, rotation: DQuat) -> [f64; 7] {
    [at.x, at.y, at.z, rotation.w, rotation.x, rotation.y, rotation.z]
}
