//! `simpartner draw`: a picture of a world, or of a robot on level ground, as SVG.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use simpartner_description::{Parameters, xml};

use simpartner_terminal::output::line;

use super::{
    arguments::ModelArguments,
    exit::{CliError, ExitStatus},
};
use crate::draw;

#[derive(Debug, Args)]
pub(super) struct DrawArguments {
    /// World or robot files
    #[arg(required = true)]
    worlds: Vec<PathBuf>,
    /// Direction of view
    #[arg(long, value_enum, default_value = "isometric")]
    view: View,
    /// Folder for the pictures, NAME.svg for the world NAME.xml [default: the folder of the world; for a built-in
    /// world, the current folder]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    folders: ModelArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum View {
    /// From the front, the right and above
    Isometric,
    /// From above
    Top,
}

/// Draws every world at step 0 and prints the paths of the pictures.
pub(super) fn draw(arguments: &DrawArguments) -> Result<ExitStatus, CliError> {
    arguments.folders.search()?;
    let view = match arguments.view {
        View::Isometric => draw::View::Isometric,
        View::Top => draw::View::Top,
    };
    for path in &arguments.worlds {
        let world = xml::read_world_or_robot(path, false, &Parameters::default())?;
        let picture = path.with_extension("svg");
        let picture = match (&arguments.output, picture.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            // The folder of a built-in world may not exist.
            (None, Some(name)) if xml::is_built_in(&xml::locate(path).to_string_lossy()) => name.into(),
            _ => picture,
        };
        let folder = picture.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).map_err(|error| {
            CliError::Usage(format!("--output: cannot make the folder '{}': {error}", folder.display()))
        })?;
        std::fs::write(&picture, draw::svg(&world.name, &world.mechanism, view))
            .map_err(|error| CliError::Usage(format!("cannot write '{}': {error}", picture.display())))?;
        line(picture.display());
    }
    Ok(ExitStatus::Success)
}
