//! `simpartner convert`: writes a robot or world as a file of another format.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use simpartner_description::xml::{self, Document, ExportFormat};
use simpartner_dynamics::give_inertias;
use simpartner_terminal::output::{line, tell};

use super::{
    arguments::ModelArguments,
    exit::{CliError, ExitStatus},
    patience::with_notes,
};

#[derive(Debug, Args)]
pub(super) struct ConvertArguments {
    /// Robot or world file in SimPartner's format, URDF, MJCF or SDF
    file: PathBuf,
    /// File to write: URDF if its name ends with .urdf, MJCF if it ends with .xml or .mjcf; meshes go into a folder
    /// beside it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Treat warnings about omitted content as errors: exit code 3, and nothing is written
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    folders: ModelArguments,
}

/// Writes the file, and warns about content that the format cannot represent.
pub(super) fn convert(arguments: &ConvertArguments) -> Result<ExitStatus, CliError> {
    arguments.folders.search()?;
    let output = &arguments.output;
    let format = match output.extension().and_then(|ending| ending.to_str()) {
        Some("urdf") => ExportFormat::Urdf,
        Some("xml" | "mjcf") => ExportFormat::Mjcf,
        _ => {
            let message = format!(
                "--output: expected a file name that ends with .urdf, .xml or .mjcf, got '{}'",
                output.display()
            );
            return Err(CliError::Usage(message));
        }
    };
    let mut world = match with_notes(arguments.file.display(), || xml::read_any(&arguments.file))? {
        Document::World(world) | Document::Robot(world) => world,
        Document::Assemblies(_) | Document::Sequence(_) | Document::Grasp(_) | Document::GraspTask(_) => {
            return Err(CliError::Input(format!("'{}' holds neither a robot nor a world", arguments.file.display())));
        }
    };
    give_inertias(&mut world.mechanism).map_err(|error| CliError::Input(error.to_string()))?;
    let meshes = format!("meshes/{}", output.file_stem().unwrap_or_default().to_string_lossy());
    let exported = xml::export(&world, format, &meshes).map_err(CliError::Input)?;
    for warning in &exported.warnings {
        tell(format_args!("{warning}\n"));
    }
    if arguments.strict && !exported.warnings.is_empty() {
        return Ok(ExitStatus::Input);
    }
    let folder = output.parent().unwrap_or(Path::new(""));
    let write = |path: PathBuf, text: &str| {
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))
    };
    for (path, text) in &exported.meshes {
        write(folder.join(path), text)?;
    }
    write(output.clone(), &exported.text)?;
    line(format_args!("{}: written, with {} meshes", output.display(), exported.meshes.len()));
    Ok(ExitStatus::Success)
}
