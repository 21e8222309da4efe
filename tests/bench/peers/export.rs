//! A scene as plain text that the peers read: a line for everything, numbers behind its word.

use std::fmt::Write;

use bevy_math::DVec3;
use simpartner::benchmark::peers;
use simpartner_description::World;

use super::rover::{self, JOINTS, Rover};

/// The whole scene: what [`peers::scene`] says, and the joints of the rovers with their motors.
pub fn text(world: &World, rovers: &[Rover]) -> String {
    let mut text = peers::scene(&world.mechanism);
    for rover in rovers {
        for index in 0..JOINTS {
            let joint = &world.mechanism.joints[rover.first_joint + index];
            let mut numbers = vec![joint.parent.index() as f64, joint.child.index() as f64];
            numbers.extend(joint.anchor.to_array());
            numbers.extend((joint.frame * DVec3::Z).to_array());
            let servo = rover::servo(index, 4.0);
            numbers.extend([servo.position, servo.rate, servo.stiffness, servo.damping, servo.max_effort]);
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            writeln!(text, "hinge {}", numbers.join(" ")).expect("text takes everything");
        }
    }
    text
}
