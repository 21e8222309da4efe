//! Robots that people already have: files of other formats turned into ours.
//!
//! A file is taken apart into the tree that all XML goes through, the importer of its format reads a [`model::Model`]
//! from that, with links, joints and the frames of the format, and [`robot::element`] makes of it the tree of a
//! `<robot>` of our own. Its elements keep the places of those they came from, so that whatever our reader has to say,
//! it says of the user's file. What the simulation does not have is told as a warning: where, what, and what it means.
//!
//! | format | module | its names |
//! |---|---|---|
//! | URDF | `urdf` | ROS, <http://wiki.ros.org/urdf/XML> |
//! | MJCF | `mjcf` | MuJoCo, <https://mujoco.readthedocs.io/en/stable/XMLreference.html> |
//! | SDF | `sdf` | Gazebo, <http://sdformat.org/spec> |

mod attributes;
mod camera;
mod devices;
pub(super) mod element;
mod finish;
mod gazebo;
mod lights;
mod mass;
mod merge;
mod meshes;
mod mjcf;
mod model;
mod names;
mod omissions;
mod options;
mod pairs;
mod paths;
mod robot;
mod scene;
mod sdf;
mod search;
pub(super) mod text;
mod urdf;

use std::path::Path;

pub use gazebo::gazebo_plugins;
pub(super) use mjcf::about;
pub use options::{ImportOptions, Imported, MeshFile, Wanted};
pub use search::search_models_in;

use simpartner_wire::signal::Port;

use self::scene::Scene;
use super::{files::Files, node::Node, reading::Reading, session::Session};
use crate::{
    limits::MAX_FILE,
    text::diagnostic::{Diagnostic, Diagnostics},
};
use meshes::MeshFolder;

/// A format that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Urdf,
    Mjcf,
    Sdf,
}

impl Format {
    /// The format of a file, by the extension of its path and by its root; `None` for SimPartner's own.
    pub(super) fn of(path: &str, roots: &[Node]) -> Option<Self> {
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let root = roots.first().map_or("", |root| root.name.as_str());
        match (ending.to_ascii_lowercase().as_str(), root) {
            ("urdf" | "xacro", _) => Some(Self::Urdf),
            ("mjcf", _) => Some(Self::Mjcf),
            ("sdf", _) => Some(Self::Sdf),
            (_, mjcf::ROOT) => Some(Self::Mjcf),
            (_, sdf::ROOT) => Some(Self::Sdf),
            _ => None,
        }
    }
}

/// Converts a file of another format to a robot file, with paths of meshes relative to the folder of the original.
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
            .with_help("a file that ends with .urdf or .xacro can be, or one whose root is <mujoco> or <sdf>")
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

/// Converts the elements of a file of another format to the tree of a robot or world. `None` if there are problems.
pub(super) fn convert(reading: &Reading, format: Format, roots: Vec<Node>, options: &ImportOptions) -> Option<Node> {
    reading.is_imported.set(true);
    let next_port = Port::new(i64::from(options.first_port));
    let first_port = next_port.map_err(|error| reading.problem(0, format!("the first port: {error}"))).ok()?.number();
    let scene = match format {
        Format::Urdf => {
            let (mut model, roots) = urdf::read(reading, roots)?;
            if roots.len() == 1 {
                if !options.keep_fixed_joints {
                    model.merge_fixed(None);
                }
                model.fix_root(reading, options.fixed_base);
                model.place();
                Scene::of(model)
            } else {
                let mut model = model.on_world(&roots);
                if !options.keep_fixed_joints {
                    model.merge_fixed(Some(scene::WORLD));
                }
                Scene::split(reading, model, options.fixed_base)
            }
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
