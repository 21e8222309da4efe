//! Robots that people already have: files of other formats turned into ours.
//!
//! A file is taken apart into the tree that all XML goes through, the importer of its format reads a [`model::Model`] from that, with
//! links, joints and the frames of the format, and [`robot::element`] makes of it the tree of a `<robot>` of our own. Its
//! elements keep the places of those they came from, so that whatever our reader has to say, it says of the user's file. What the
//! simulation does not have is told as a warning: where, what, and what it means.
//!
//! | format | module | its names |
//! |---|---|---|
//! | URDF | `urdf` | ROS, <http://wiki.ros.org/urdf/XML> |

mod meshes;
mod model;
mod robot;
mod text;
mod urdf;

use std::path::Path;

use simpartner_wire::signal::Port;

use super::{
    Diagnostic, Diagnostics,
    files::Files,
    limits::{MAX_FILE, Session},
    reading::Reading,
    tree::Node,
};
use crate::{Warning, mesh::Mesh};
use meshes::MeshFolder;

/// What an importer may decide where the format leaves it open.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Whether the root is fixed to the world, although it could move.
    pub fixed_base: bool,
    /// Whether links that do not move against each other stay bodies of their own.
    pub keep_fixed_joints: bool,
    /// The port of the first device; the others follow. 0 for free ones.
    pub first_port: u16,
    /// The folder that the robot file will have its meshes in, seen from its own; without one it names them where they are.
    pub mesh_folder: Option<String>,
    /// Takes a mesh that collides apart into convex ones, which then stand in the mesh folder in its place; without it the mesh counts as
    /// its convex hull.
    pub decompose: Option<fn(&Mesh) -> Vec<Mesh>>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { fixed_base: false, keep_fixed_joints: false, first_port: 3001, mesh_folder: None, decompose: None }
    }
}

/// A robot of another format in ours.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The robot file.
    pub text: String,
    /// What is not as the other format has it: where, what, and what it means for the simulation.
    pub warnings: Vec<Warning>,
    /// The mesh files that belong into the mesh folder.
    pub meshes: Vec<MeshFile>,
}

/// A mesh file beside a robot file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshFile {
    /// Its path seen from the robot file.
    pub path: String,
    /// What it holds.
    pub contents: Vec<u8>,
}

/// Whether a path is that of a robot of another format, by its ending.
pub(super) fn is_foreign(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ending.eq_ignore_ascii_case("urdf")
}

/// Turns a file of another format into a robot file of ours, which names meshes as they are seen from the folder of the first.
///
/// # Errors
/// All problems of the file.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, Diagnostics> {
    let path = path.to_string_lossy();
    if !is_foreign(&path) {
        let problem = Diagnostic::at(&path, "", 0, format!("'{path}' is of no format that can be imported"));
        return Err(problem.with_help("what ends with .urdf can be").into());
    }
    let file = Files::Disk.read(&path, MAX_FILE).map_err(Diagnostics::from)?;
    let session = Session::default();
    let reading = Reading::new(&path, &file, Files::Disk, &session);
    let roots = reading.parse(&path, &file).map_err(Diagnostics::from)?;
    let Some(mut root) = convert(&reading, roots, options).filter(|_| reading.is_sound()) else {
        return Err(session.problems.take());
    };
    let mut folder = options.mesh_folder.as_deref().map(|name| MeshFolder::new(&reading, name));
    if let Some(folder) = &mut folder {
        options.decompose.iter().try_for_each(|decompose| folder.take_apart(&mut root, *decompose))?;
        folder.gather(&mut root)?;
    }
    let meshes = folder.map_or(Vec::new(), |folder| folder.files);
    let name = Path::new(&*path).file_name().map_or(path.clone(), |name| name.to_string_lossy());
    Ok(Imported { text: text::write(&root, &name), warnings: session.warnings.take(), meshes })
}

/// The tree of a robot of ours from the elements of a file of another format. `None` where there is none; then there are problems.
pub(super) fn convert(reading: &Reading, roots: Vec<Node>, options: &ImportOptions) -> Option<Node> {
    let mut model = urdf::read(reading, roots)?;
    if !options.keep_fixed_joints {
        model.merge_fixed();
    }
    let next_port = Port::new(i64::from(options.first_port));
    let first_port = next_port.map_err(|error| reading.problem(0, format!("the first port: {error}"))).ok()?;
    robot::element(reading, &model, options.fixed_base, first_port.number())
}
