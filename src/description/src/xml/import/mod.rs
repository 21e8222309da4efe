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
//! | MJCF | `mjcf` | MuJoCo, <https://mujoco.readthedocs.io/en/stable/XMLreference.html> |
//! | SDF | `sdf` | Gazebo, <http://sdformat.org/spec> |

mod attributes;
mod devices;
pub(super) mod element;
mod gazebo;
mod mass;
mod merge;
mod meshes;
mod mjcf;
mod model;
mod notes;
mod robot;
mod scene;
mod sdf;
pub(super) mod text;
mod urdf;

use std::path::Path;

pub(super) use mjcf::about;

use simpartner_wire::signal::Port;

use self::scene::Scene;
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
    /// The keyframe of an MJCF file that its robots begin in; without one they begin where the file has them.
    pub keyframe: Option<String>,
    /// Whether the robot, the world, or what fits the file is wanted.
    pub wanted: Wanted,
}

/// What is to be made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wanted {
    /// A robot if that is all that the file holds, else a world.
    #[default]
    Fitting,
    /// The one robot of the file.
    Robot,
    /// A world with all that the file holds.
    World,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            fixed_base: false,
            keep_fixed_joints: false,
            first_port: 3001,
            mesh_folder: None,
            decompose: None,
            keyframe: None,
            wanted: Wanted::Fitting,
        }
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

/// A format that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Urdf,
    Mjcf,
    Sdf,
}

impl Format {
    /// The format of a file, by the ending of its path and by its root; `None` for one of ours.
    pub(super) fn of(path: &str, roots: &[Node]) -> Option<Self> {
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let root = roots.first().map_or("", |root| root.name.as_str());
        match (ending.to_ascii_lowercase().as_str(), root) {
            ("urdf", _) => Some(Self::Urdf),
            ("mjcf", _) => Some(Self::Mjcf),
            ("sdf", _) => Some(Self::Sdf),
            (_, mjcf::ROOT) => Some(Self::Mjcf),
            (_, sdf::ROOT) => Some(Self::Sdf),
            _ => None,
        }
    }
}

/// Turns a file of another format into a robot file of ours, which names meshes as they are seen from the folder of the first.
///
/// # Errors
/// All problems of the file.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, Diagnostics> {
    let path = path.to_string_lossy();
    let file = Files::Disk.read(&path, MAX_FILE).map_err(Diagnostics::from)?;
    let session = Session::default();
    let reading = Reading::new(&path, &file, Files::Disk, &session);
    let roots = reading.parse(&path, &file).map_err(Diagnostics::from)?;
    let Some(format) = Format::of(&path, &roots) else {
        let problem = Diagnostic::at(&path, &file, 0, format!("'{path}' is of no format that can be imported"));
        return Err(problem
            .with_help("a file that ends with .urdf can be, or one whose root is <mujoco> or <sdf>")
            .into());
    };
    let Some(mut root) = convert(&reading, format, roots, options).filter(|_| reading.is_sound()) else {
        return Err(session.problems.take());
    };
    let mut folder = options.mesh_folder.as_deref().map(|name| MeshFolder::new(&reading, name));
    if let Some(folder) = &mut folder {
        options.decompose.iter().try_for_each(|decompose| folder.take_apart(&mut root, *decompose))?;
        folder.gather(&mut root)?;
    }
    let meshes = folder.map_or(Vec::new(), |folder| folder.files);
    let name = Path::new(&*path).file_name().map_or(path.clone(), |name| name.to_string_lossy());
    let comment = format!(
        "Imported from {name}. Body frames are those of its links, z up; the frame that they stand in has y up."
    );
    Ok(Imported { text: text::write(&root, &comment), warnings: session.warnings.take(), meshes })
}

/// The tree of a robot or world of ours from the elements of a file of another format. `None` where there is none; then there are problems.
pub(super) fn convert(reading: &Reading, format: Format, roots: Vec<Node>, options: &ImportOptions) -> Option<Node> {
    reading.is_imported.set(true);
    let next_port = Port::new(i64::from(options.first_port));
    let first_port = next_port.map_err(|error| reading.problem(0, format!("the first port: {error}"))).ok()?.number();
    let scene = match format {
        Format::Urdf => {
            let mut model = urdf::read(reading, roots)?;
            if !options.keep_fixed_joints {
                model.merge_fixed(None);
            }
            model.fix_root(reading, options.fixed_base);
            model.place();
            Scene::of(model)
        }
        Format::Mjcf => mjcf::read(reading, roots, options)?,
        Format::Sdf => sdf::read(reading, roots, options)?,
    };
    match options.wanted {
        Wanted::Robot => scene.robot(reading, first_port),
        Wanted::Fitting if scene.is_one_robot() => scene.robot(reading, first_port),
        Wanted::Fitting | Wanted::World => scene.world(reading, first_port),
    }
}
