//! The options of an import, and its result.

use crate::{mesh::Mesh, source::Warning};

/// Import options.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// True to fix the root to the world although it could move.
    pub fixed_base: bool,
    /// True to keep links that cannot move relative to each other as separate bodies.
    pub keep_fixed_joints: bool,
    /// The port of the first device; the others get the following ports. 0 for any free ports.
    pub first_port: u16,
    /// The folder of the meshes, relative to the robot file; `None` to refer to them at their present paths.
    pub mesh_folder: Option<String>,
    /// Decomposes a collision mesh into convex ones, which replace it in the mesh folder; without it the mesh collides
    /// as its convex hull.
    pub decompose: Option<fn(&Mesh) -> Vec<Mesh>>,
    /// The keyframe of an MJCF file with the initial state; `None` for the positions of the file.
    pub keyframe: Option<String>,
    /// The result: the robot, the world, or whichever fits the file.
    pub wanted: Wanted,
}

/// Result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wanted {
    /// A robot if the file has nothing else, otherwise a world.
    #[default]
    Fitting,
    /// The only robot of the file.
    Robot,
    /// A world with the complete file.
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
    /// Differences from the other format: place, finding, and effect on the simulation.
    pub warnings: Vec<Warning>,
    /// The mesh files that belong into the mesh folder.
    pub meshes: Vec<MeshFile>,
}

/// A mesh file beside a robot file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshFile {
    /// Its path seen from the robot file.
    pub path: String,
    /// Its content.
    pub contents: Vec<u8>,
}
