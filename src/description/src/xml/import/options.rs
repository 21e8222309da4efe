//! The options of an import, and its result.

use crate::{mesh::Mesh, source::Warning};

/// Options where a format leaves the choice open.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// True to fix the root to the world although it could move.
    pub fixed_base: bool,
    /// True to keep links that cannot move relative to each other as separate bodies.
    pub keep_fixed_joints: bool,
    /// The port of the first device; the others follow. 0 for free ones.
    pub first_port: u16,
    /// The folder that the robot file will have its meshes in, seen from its own; without one it names them where they
    /// are.
    pub mesh_folder: Option<String>,
    /// Takes a mesh that collides apart into convex ones, which then stand in the mesh folder in its place; without it
    /// the mesh counts as its convex hull.
    pub decompose: Option<fn(&Mesh) -> Vec<Mesh>>,
    /// The keyframe of an MJCF file that its robots begin in; without one they begin where the file has them.
    pub keyframe: Option<String>,
    /// The result: the robot, the world, or whichever fits the file.
    pub wanted: Wanted,
}

/// Result of an import.
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
