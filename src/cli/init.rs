//! `simpartner init`: a project folder with the worlds, robots and settings that are built into the program.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use simpartner_description::xml;

use simpartner_terminal::output::line;

use super::exit::{CliError, ExitStatus};
use crate::config;

#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// Project folder; created if missing
    folder: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

/// All files of a project, each with its path in the folder.
fn project_files() -> Vec<(Cow<'static, str>, Cow<'static, [u8]>)> {
    let built_in = xml::BUILT_IN.iter().map(|file| (file.path.into(), file.text.as_bytes().into()));
    let book = simpartner_book::FILES.iter().map(|file| (format!("docs/{}", file.path).into(), file.bytes.into()));
    let texts: [(&str, Cow<'static, str>); 11] = [
        ("README.md", include_str!("init/README.md").into()),
        ("properties.toml", config::default_properties().into()),
        ("PROTOCOL.md", simpartner_wire::protocol::SPECIFICATION.into()),
        ("clients/follow.c", include_str!("../../clients/examples/follow.c").into()),
        ("clients/follow.py", include_str!("../../clients/examples/follow.py").into()),
        ("robots/robot.dtd", xml::robot_dtd().into()),
        ("robots/sequence.dtd", xml::sequence_dtd().into()),
        ("worlds/my_world.xml", include_str!("init/my_world.xml").into()),
        ("worlds/grasps/grasp.dtd", xml::grasp_dtd().into()),
        ("worlds/grasps/tasks/graspTask.dtd", xml::grasp_task_dtd().into()),
        ("worlds/world.dtd", xml::world_dtd().into()),
    ];
    let made = texts.into_iter().map(|(path, text)| match text {
        Cow::Borrowed(text) => (path.into(), text.as_bytes().into()),
        Cow::Owned(text) => (path.into(), text.into_bytes().into()),
    });
    built_in.chain(book).chain(made).collect()
}

/// Writes all files, or none if one of them would be overwritten.
pub(super) fn init(arguments: &InitArguments) -> Result<ExitStatus, CliError> {
    let (folder, files) = (&arguments.folder, project_files());
    let taken: Vec<&str> = files
        .iter()
        .filter(|(path, bytes)| {
            let path = folder.join(&**path);
            path.symlink_metadata().is_ok() && fs::read(path).map_or(true, |present| present != **bytes)
        })
        .map(|(path, _)| &**path)
        .collect();
    if !taken.is_empty() && !arguments.force {
        return Err(CliError::Input(format!(
            "init: '{}' has files of its own under these names: {}\nhelp: choose another folder, or let --force replace them",
            folder.display(),
            taken.join(", ")
        )));
    }
    for (path, bytes) in &files {
        write_file(&folder.join(&**path), bytes)?;
    }
    line(format_args!(
        "{}: {} files in worlds, robots, clients and docs, properties.toml and README.md",
        folder.display(),
        files.len()
    ));
    line(format_args!("next: cd {} && simpartner run --world worlds/my_world.xml", folder.display()));
    Ok(ExitStatus::Success)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|error| CliError::Input(format!("init: cannot write '{}': {error}", path.display())))
}
