//! Worlds and robots of ours as files of other formats, z up.
//!
//! | format | module | holds |
//! |---|---|---|
//! | MJCF | `mjcf` | a whole world |
//! | URDF | `urdf` | one robot, without loops |
//!
//! Bodies keep their frames. What a format does not have is told: where it stands in our file, what, and what it means
//! there; a comment at the head of the file lists it.

mod cameras;
mod chain;
mod filters;
mod geoms;
mod grounds;
mod mjcf;
mod mjcf_element;
mod shapes;
mod urdf;
mod writer;

use simpartner_model::{Body, FrictionRule, Ground, Material, Mechanism};

use self::writer::Writer;
use super::import::text;
use crate::{World, source::Warning};

/// A format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The robot description of ROS.
    Urdf,
    /// The models of MuJoCo.
    Mjcf,
}

/// A world or robot in another format.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The file.
    pub text: String,
    /// Differences from the world.
    pub warnings: Vec<Warning>,
    /// Mesh files that the file names: the path of each, seen from the file's folder, and its text (Wavefront OBJ).
    pub meshes: Vec<(String, String)>,
}

/// Writes a world in another format. The shape of bodies without an `<inertia>` is not used: compute their inertias
/// first (`simpartner_dynamics::give_inertias`). URDF meshes have names in `mesh_folder`.
///
/// # Errors
/// A sentence with the reason why the format cannot represent the world at all.
pub fn export(world: &World, format: ExportFormat, mesh_folder: &str) -> Result<Exported, String> {
    let frictions = frictions(&world.mechanism);
    let mut writer = Writer { mechanism: &world.mechanism, frictions, warnings: Vec::new(), meshes: Vec::new() };
    let root = match format {
        ExportFormat::Mjcf => mjcf::root(&mut writer, world),
        ExportFormat::Urdf => urdf::root(&mut writer, world, mesh_folder)?,
    };
    Ok(Exported {
        text: text::write(&root, &comment(&writer.warnings)),
        warnings: writer.warnings,
        meshes: writer.meshes,
    })
}

fn frictions(mechanism: &Mechanism) -> Vec<f64> {
    let bodies = mechanism.bodies.iter().flat_map(Body::materials);
    let materials: Vec<&Material> = bodies.chain(mechanism.grounds.iter().map(Ground::material)).collect();
    // Surfaces that are MuJoCo's keep their own priorities.
    if materials.iter().all(|material| material.friction_rule == FrictionRule::Larger) {
        return Vec::new();
    }
    let mut all: Vec<f64> = materials.iter().map(|material| material.friction).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Comment at the head of a file.
fn comment(warnings: &[Warning]) -> String {
    let mut text = String::from("Written by SimPartner. Metres, kilograms, seconds, radians; z is up.");
    if !warnings.is_empty() {
        text.push_str("\n     Not as it was:");
        warnings.iter().for_each(|Warning { what, help, .. }| text.push_str(&format!("\n     {what}; {help}")));
    }
    text
}
