//! A world's text with one of its robots moved.

use bevy_math::DVec3;
use simpartner_model::{Axis, Mechanism, Pose, RobotId};

use crate::{
    source::SourceFile,
    text::tree::{self, child},
};

/// The world with a robot moved as a rigid body, and with the initial positions of `mechanism`, which otherwise equals
/// the world's. All other text is unchanged. `None` if the text has no `<robot>` of that index.
pub fn move_robot(world: &SourceFile, mechanism: &Mechanism, robot: RobotId, motion: &Pose) -> Option<SourceFile> {
    let text = world.text();
    let roots = tree::parse::<()>(&world.path, text).ok()?.roots;
    let node = roots.first()?.children.iter().filter(|child| child.name == "robot").nth(robot.index())?;
    let mut cuts = Vec::new();
    let mut pose = Pose::IDENTITY;
    if let Some(placed) = child(node, "pose") {
        let given = |name: &str| {
            let attribute = placed.attributes.iter().find(|attribute| attribute.name == name);
            attribute.and_then(|attribute| attribute.value.trim().parse().ok()).unwrap_or(0.0)
        };
        let [x, y, z, roll, pitch, yaw] = ["x", "y", "z", "roll", "pitch", "yaw"].map(given);
        pose = Pose::from_xyz_rpy(DVec3::new(x, y, z), DVec3::new(roll, pitch, yaw));
    }
    for gone in node.children.iter().filter(|child| matches!(child.name.as_str(), "pose" | "initial")) {
        cuts.push(gone.offset..end_of(text, gone.offset, &gone.name)?);
    }
    let moved = motion.then(&pose);
    let ([x, y, z], [roll, pitch, yaw]) = (moved.translation.to_array(), moved.roll_pitch_yaw().to_array());
    let mut put = format!("<pose x=\"{x}\" y=\"{y}\" z=\"{z}\" roll=\"{roll}\" pitch=\"{pitch}\" yaw=\"{yaw}\"/>");
    for joint in mechanism.joints.iter().filter(|joint| joint.robot == Some(robot) && joint.kind.has_axes()) {
        for (index, axis) in joint.axes.iter().enumerate() {
            let Axis::Free(free) = axis else { continue };
            let (name, number, at) = (&joint.name, index + 1, free.initial_position);
            let rate = free.initial_rate.map_or(String::new(), |rate| format!(" rate=\"{rate}\""));
            put += &format!("<initial joint=\"{name}\" axis=\"{number}\" position=\"{at}\"{rate}/>");
        }
    }
    let (tag, is_empty) = tag_end(text, node.offset)?;
    let mut made = text[..if is_empty { tag - 2 } else { tag - 1 }].to_owned() + ">" + &put;
    let mut from = tag;
    if is_empty {
        made += "</robot>";
    }
    for cut in cuts {
        made += &text[from..cut.start];
        from = cut.end;
    }
    Some(SourceFile::new(world.path.clone(), made + &text[from..]))
}

/// End of the tag at an offset, and true if its element ends there, too.
pub(super) fn tag_end(text: &str, start: usize) -> Option<(usize, bool)> {
    let mut quote = None;
    for (at, c) in text[start..].char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '>') => return Some((start + at + 1, text[..start + at].ends_with('/'))),
            _ => {}
        }
    }
    None
}

/// End of an element without children.
fn end_of(text: &str, start: usize, name: &str) -> Option<usize> {
    let (tag, is_empty) = tag_end(text, start)?;
    if is_empty {
        return Some(tag);
    }
    let close = tag + text[tag..].find(&format!("</{name}"))?;
    Some(tag_end(text, close)?.0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::xml;

    /// The arm of a world's second robot, moved and at another angle, however its elements are written.
    #[test]
    fn a_robot_is_moved_and_all_else_stays() {
        let robot = |inside: &str| {
            format!(
                "<world name=\"w\"><robot name=\"A\"><body name=\"B\"><mass>1</mass></body></robot><!-- <robot> -->\n\
                 <robot name=\"C\">{inside}<body name=\"Base\"><static>true</static></body><body name=\"Arm\"><mass>1</mass>\
                 <pose x=\"1\"/></body><joint type=\"hinge\" name=\"J\"><parent>Base</parent><child>Arm</child></joint></robot></world>"
            )
        };
        for inside in ["", "<pose x=\"2\" yaw=\"0.3\"/>", "<initial joint=\"J\" position=\"0.1\"/><pose y='1'></pose>"]
        {
            let text = robot(inside);
            let Ok(xml::Document::World(world)) = xml::read_text("w.xml", &text) else { panic!("{text}") };
            let motion = Pose::from_xyz_rpy(DVec3::new(0.1, 0.2, 0.3), DVec3::new(0.5, -0.4, 1.0));
            let moved =
                move_robot(&world.sources[0], &world.mechanism, RobotId::new(1), &motion).unwrap_or_else(|| panic!());
            let read = xml::read_kept(&[moved]).unwrap_or_else(|problems| panic!("{problems}"));
            for (before, after) in world.mechanism.bodies.iter().zip(&read.mechanism.bodies) {
                let expected = if before.name == "B" { before.pose } else { motion.then(&before.pose) };
                assert!(after.pose.translation.distance(expected.translation) < 1e-12, "{inside} {}", before.name);
                assert!(after.pose.rotation.angle_between(expected.rotation) < 1e-7, "{inside} {}", before.name);
            }
            assert_eq!(read.mechanism.joints[0].axes, world.mechanism.joints[0].axes);
        }
        // The files that ship, with a self-closing pose in a <robot> of a file.
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds/grasps/tasks/box.xml");
        let file = xml::read_grasp_task(&shipped).unwrap_or_else(|problems| panic!("{problems}"));
        let moved = move_robot(&file.world.sources[0], &file.world.mechanism, file.task.gripper, &Pose::IDENTITY);
        let sources: Vec<SourceFile> = moved.into_iter().chain(file.world.sources[1..].iter().cloned()).collect();
        let read = xml::read_kept(&sources).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(read.mechanism.bodies.len(), file.world.mechanism.bodies.len());
    }
}
