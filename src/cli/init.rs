//! `simpartner init`: a project folder with the worlds, robots and settings that are built into the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use simpartner_description::xml;

use simpartner_terminal::output::line;

use super::exit::{CliError, ExitStatus};
use crate::{config, recorder::inquiry};

#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// The folder; it is made if there is none
    folder: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

/// Every file of a project, by its path in the folder.
fn files() -> Vec<(&'static str, String)> {
    let built_in = xml::BUILT_IN.iter().map(|file| (file.path, file.text.to_owned()));
    let made = [
        ("README.md", include_str!("init/README.md").to_owned()),
        ("properties.toml", config::default_properties()),
        ("PROTOCOL.md", simpartner_wire::protocol::SPECIFICATION.to_owned()),
        ("LOG.md", inquiry::dictionary()),
        ("ANALYSIS.md", include_str!("../../ANALYSIS.md").to_owned()),
        ("clients/follow.c", include_str!("../../clients/examples/follow.c").to_owned()),
        ("clients/follow.py", include_str!("../../clients/examples/follow.py").to_owned()),
        ("robots/REFERENCE.md", xml::reference()),
        ("robots/TUTORIAL.md", include_str!("../../robots/TUTORIAL.md").to_owned()),
        ("robots/robot.dtd", xml::robot_dtd()),
        ("robots/sequence.dtd", xml::sequence_dtd()),
        ("worlds/my_world.xml", include_str!("init/my_world.xml").to_owned()),
        ("worlds/grasps/grasp.dtd", xml::grasp_dtd()),
        ("worlds/grasps/tasks/graspTask.dtd", xml::grasp_task_dtd()),
        ("worlds/world.dtd", xml::world_dtd()),
    ];
    built_in.chain(made).collect()
}

/// Writes all files, or none where one of them would be overwritten.
pub(super) fn init(arguments: &InitArguments) -> Result<ExitStatus, CliError> {
    let (folder, files) = (&arguments.folder, files());
    let differs = |(path, text): &&(&str, String)| {
        let path = folder.join(path);
        path.symlink_metadata().is_ok() && fs::read(path).map_or(true, |present| present != text.as_bytes())
    };
    let taken: Vec<&str> = files.iter().filter(differs).map(|(path, _)| *path).collect();
    if !taken.is_empty() && !arguments.force {
        return Err(CliError::Input(format!(
            "init: '{}' has files of its own under these names: {}\nhelp: choose another folder, or let --force replace them",
            folder.display(),
            taken.join(", ")
        )));
    }
    for (path, text) in &files {
        write(&folder.join(path), text)?;
    }
    line(format_args!(
        "{}: {} files in worlds, robots and clients, properties.toml, README.md and other pages",
        folder.display(),
        files.len()
    ));
    line(format_args!("next: cd {} && simpartner run --world worlds/my_world.xml", folder.display()));
    Ok(ExitStatus::Success)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| CliError::Input(format!("init: cannot write '{}': {error}", path.display())))
}
