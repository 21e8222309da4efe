//! `simpartner import`: writes a file of another format as a robot or world file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use simpartner_description::{
    mesh::Mesh,
    xml::{self, ImportOptions, Wanted},
};
use simpartner_dynamics::convex_parts;
use simpartner_terminal::output::{line, print, tell};

use super::{
    arguments::ModelArguments,
    exit::{CliError, ExitStatus},
    patience::with_notes,
};

#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    /// Robot or world file in URDF, MJCF or SDF
    file: PathBuf,
    /// Robot or world file to write; its meshes go into a folder beside it. Without this flag the file is printed, and
    /// refers to the meshes where they are
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Fix the root link to the world
    #[arg(long)]
    fixed_base: bool,
    /// Keep links that are connected by fixed joints as separate bodies, instead of merging them
    #[arg(long)]
    keep_fixed_joints: bool,
    /// Port of the first device; the others get the following ports. 0 gives any free ports
    #[arg(long, value_name = "PORT", default_value_t = 3001)]
    first_port: u16,
    /// Decompose collision meshes into convex parts, which are written into the mesh folder. Without this flag, each
    /// mesh collides as its convex hull
    #[arg(long, requires = "output")]
    decompose: bool,
    /// Write a robot file with the only robot of the file, without ground and other bodies [default: a world, if there
    /// are any]
    #[arg(long, conflicts_with = "world")]
    robot: bool,
    /// Write a world, even for a single robot
    #[arg(long)]
    world: bool,
    /// Keyframe of an MJCF file that gives the initial state
    #[arg(long, value_name = "NAME")]
    keyframe: Option<String>,
    /// Treat warnings about omitted or changed content as errors: exit code 3, and nothing is written
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    folders: ModelArguments,
}

/// Imports the robot or world, and warns about content that was left out or changed.
pub(super) fn import(arguments: &ImportArguments) -> Result<ExitStatus, CliError> {
    arguments.folders.search()?;
    let ImportArguments { fixed_base, keep_fixed_joints, first_port, .. } = *arguments;
    let mesh_folder = arguments.output.as_deref().map(mesh_folder);
    let wanted = match (arguments.robot, arguments.world) {
        (true, _) => Wanted::Robot,
        (_, true) => Wanted::World,
        _ => Wanted::Fitting,
    };
    let keyframe = arguments.keyframe.clone();
    let decompose: Option<fn(&Mesh) -> Vec<Mesh>> = if arguments.decompose { Some(decompose_mesh) } else { None };
    let options = ImportOptions { fixed_base, keep_fixed_joints, first_port, mesh_folder, decompose, keyframe, wanted };
    let imported = with_notes(arguments.file.display(), || xml::import(&arguments.file, &options))?;
    for warning in &imported.warnings {
        tell(format_args!("{warning}\n"));
    }
    if arguments.strict && !imported.warnings.is_empty() {
        return Ok(ExitStatus::Input);
    }
    let Some(output) = &arguments.output else {
        print(&imported.text);
        return Ok(ExitStatus::Success);
    };
    let folder = output.parent().unwrap_or(Path::new(""));
    for mesh in &imported.meshes {
        write_with_folder(&folder.join(&mesh.path), &mesh.contents)?;
    }
    write_with_folder(output, imported.text.as_bytes())?;
    // Reading the written file proves that it is valid.
    xml::read_any(output)?;
    let meshes = imported.meshes.len();
    line(format_args!("{}: written, with {meshes} mesh{}", output.display(), if meshes == 1 { "" } else { "es" }));
    Ok(ExitStatus::Success)
}

fn decompose_mesh(mesh: &Mesh) -> Vec<Mesh> {
    let parts = convex_parts(&mesh.vertices, &mesh.triangles);
    parts.into_iter().map(|(vertices, triangles)| Mesh::new(vertices, triangles)).collect()
}

/// Folder of the meshes: `meshes/NAME`, with the name of the output file.
fn mesh_folder(output: &Path) -> String {
    format!("meshes/{}", output.file_stem().unwrap_or_default().to_string_lossy())
}

/// Writes a file, and creates its folder if it is missing.
fn write_with_folder(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
    written.map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))
}
