//! A robot in place of a world, on level ground.

use std::path::Path;

use bevy_math::DVec3;
use quick_xml::escape::escape;

use super::{
    built_in::{self, locate},
    document::{Expected, place_alone, read_element},
    files::Files,
    reading::Reading,
    robot,
    schema::WORLD,
    session::Session,
    world,
};
use crate::{
    World,
    limits::MAX_FILE,
    parameter::Parameters,
    source::SourceFile,
    text::diagnostic::{Diagnostic, Diagnostics},
};

/// Reads a world as [`read_world`](super::read_world) does, or a robot, ours or of a format that is imported: then the
/// world is level ground with the robot on it, so high that its lowest point touches. With `fixed_base` the root of an
/// imported robot is fixed there, although it could move. `parameters` replace values of the files.
///
/// # Errors
/// All problems of the file and of those it names; that a base is to be fixed which is none of an imported robot.
pub fn read_world_or_robot(path: &Path, fixed_base: bool, parameters: &Parameters) -> Result<World, Diagnostics> {
    let located = locate(path);
    let path = located.to_string_lossy();
    let text = Files::Disk.read(&path, MAX_FILE);
    let text = text.map_err(|problem| Diagnostics::from(built_in::with_help(problem)))?;
    let session = Session::with_parameters(parameters.clone());
    let reading = Reading::new(&path, &text, Files::Disk, &session);
    let root = read_element(&reading, Expected::WorldOrRobot, fixed_base)?;
    let refuse = |what: &str, help: &str| Err(Diagnostic::at(&path, "", 0, what).with_help(help).into());
    if root.name == WORLD {
        if fixed_base {
            let help = "this is for a robot file in place of a world; its <robot> has a fixedBase";
            return refuse("a world has no base to be fixed", help);
        }
        return finish_reading(&reading, world::read(&reading, &root));
    }
    let draft = robot::read(&reading, &root, None);
    let alone = draft.as_ref().map(|draft| place_alone(&reading, &root, draft));
    let (Some(draft), Some(alone), true) = (draft, alone, reading.is_sound()) else {
        session.report_parameters();
        return Err(session.problems.take());
    };
    let (world_path, world_text) = world_of(&located, &alone, fixed_base);
    let reading = Reading::new(&world_path, &world_text, Files::Disk, &session);
    let root = read_element(&reading, Expected::World, false)?;
    let prepared = (SourceFile::new(path.to_string(), text.clone()), draft);
    finish_reading(&reading, world::read_with_robot(&reading, &root, Some(prepared)))
}

fn finish_reading(reading: &Reading, mut world: World) -> Result<World, Diagnostics> {
    let session = reading.session;
    session.report_parameters();
    let problems = session.problems.take();
    if !problems.is_empty() {
        return Err(problems);
    }
    session.finish(&mut world);
    Ok(world)
}

/// The text of the world, and a path for it beside the robot's file.
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
