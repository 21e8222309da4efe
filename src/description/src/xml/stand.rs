//! A robot in place of a world: it stands on level ground.

use std::path::Path;

use bevy_math::DVec3;
use quick_xml::escape::escape;

use super::{Diagnostic, Diagnostics, Document, Expected, locate, read_as, read_text};
use crate::World;

/// Reads a world as [`read_world`](super::read_world) does, or a robot, ours or of a format that is imported: then the world is level
/// ground with the robot on it, so high that its lowest point touches. With `fixed_base` the root of an imported robot is fixed there,
/// although it could move.
///
/// # Errors
/// All problems of the file and of those it names; that a base is to be fixed which is none of an imported robot.
pub fn read_world_or_robot(path: &Path, fixed_base: bool) -> Result<World, Diagnostics> {
    match read_as(path, Expected::WorldOrRobot)? {
        Document::World(_) if fixed_base => {
            let path = locate(path);
            let problem = Diagnostic::at(&path.to_string_lossy(), "", 0, "a world has no base to be fixed");
            Err(problem.with_help("this is for a robot file in place of a world; its <robot> has a fixedBase").into())
        }
        Document::World(world) => Ok(world),
        Document::Robot(robot) => {
            let (path, text) = world_of(&locate(path), &robot, fixed_base);
            match read_text(&path, &text)? {
                Document::World(world) => Ok(world),
                _ => unreachable!("the text is that of a world"),
            }
        }
        Document::Sequence(_) | Document::Assemblies(_) => unreachable!("a world or a robot was asked for"),
    }
}

/// The text of the world, and the path that it could have beside the robot's file.
fn world_of(path: &Path, robot: &World, fixed_base: bool) -> (String, String) {
    let lowest = |body: &simpartner_model::Body| {
        let shape = body.collision_shape()?;
        Some(body.pose.translation.y - shape.reach(body.pose.rotation.inverse() * DVec3::NEG_Y))
    };
    let lowest = robot.mechanism.bodies.iter().filter_map(lowest).reduce(f64::min).unwrap_or(0.0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fixed_base = if fixed_base { " fixedBase=\"true\"" } else { "" };
    let text = format!(
        "<world name=\"{}\">\n  <surface/>\n  <robot file=\"{}\"{fixed_base}><pose y=\"{}\"/></robot>\n</world>\n",
        escape(robot.name.as_str()),
        escape(&*name),
        0.0 - lowest
    );
    (path.with_extension("world").to_string_lossy().into_owned(), text)
}
