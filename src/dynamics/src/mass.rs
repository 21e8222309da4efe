//! Mass distribution of bodies: as given in the file, or uniform over the shape.

use std::collections::HashMap;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Body, Inertia, Mechanism, Placed, Shape};

use super::{BuildError, parry::mass_properties::MassProperties as ParryMass, shape};

/// Mass, centre of mass and inertia of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MassProperties {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass, body frame, metres.
    pub centre_of_mass: DVec3,
    /// Inertia tensor about the centre of mass, body axes, kg m².
    pub tensor: DMat3,
}

impl MassProperties {
    /// Mass properties of a fixed body.
    pub const ZERO: Self = Self { mass: 0.0, centre_of_mass: DVec3::ZERO, tensor: DMat3::ZERO };
}

/// The mass properties of a body: those of the file, else of its shape with uniform density, else of a particle without
/// inertia.
///
/// # Errors
/// The reason why the shape has no volume.
pub fn mass_properties(body: &Body) -> Result<MassProperties, String> {
    if let Some(given) = body.inertia {
        return Ok(MassProperties { mass: body.mass, centre_of_mass: given.centre_of_mass, tensor: given.tensor });
    }
    let Some(placed) = &body.shape else {
        return Ok(MassProperties { mass: body.mass, centre_of_mass: DVec3::ZERO, tensor: DMat3::ZERO });
    };
    let mut spread = filled(placed)?;
    spread.set_mass(body.mass, true);
    Ok(MassProperties {
        mass: body.mass,
        centre_of_mass: spread.local_com,
        tensor: spread.reconstruct_inertia_matrix(),
    })
}

/// Gives each moving body without inertia the inertia of its shape, for readers that ignore shapes.
///
/// # Errors
/// The first body whose shape has no volume.
pub fn give_inertias(mechanism: &mut Mechanism) -> Result<(), BuildError> {
    for body in mechanism.bodies.iter_mut().filter(|body| !body.fixed && body.inertia.is_none()) {
        let mass = mass_properties(body).map_err(|what| BuildError { place: body.source.clone(), what })?;
        body.inertia = Some(Inertia { centre_of_mass: mass.centre_of_mass, tensor: mass.tensor });
    }
    Ok(())
}

/// The volume of a shape, m³: the sum over its parts, even if they overlap.
///
/// # Errors
/// The reason why the shape has no volume.
pub fn volume(placed: &Placed) -> Result<f64, String> {
    filled(placed).map(|mass| mass.mass())
}

/// The mass properties of a shape with a density of 1 kg/m³.
fn filled(placed: &Placed) -> Result<ParryMass, String> {
    if !is_closed(&placed.shape) {
        return Err(
            "the triangleMesh is not closed, so no mass can be spread over what it encloses: each edge belongs to two \
                    triangles that name its corners in opposite order; close it, or give the body an <inertia>"
                .into(),
        );
    }
    // Parry's compound does not support meshes.
    let spread: ParryMass = match &placed.shape {
        Shape::Compound { parts } => {
            let parts: Result<Vec<_>, String> = parts.iter().map(one_filled).collect();
            parts?.into_iter().sum::<ParryMass>().transform_by(&shape::pose(&placed.pose))
        }
        _ => one_filled(placed)?,
    };
    if !(spread.mass() > 0.0 && spread.mass().is_finite()) {
        return Err(format!("the {} encloses no volume: give the body an <inertia>", placed.shape.name()));
    }
    Ok(spread)
}

fn one_filled(placed: &Placed) -> Result<ParryMass, String> {
    let (shape, pose) = shape::collider_shape(placed)?;
    Ok(shape.mass_properties(1.0).transform_by(&pose))
}

/// True if the meshes in a shape have no boundary: each edge occurs equally often in both directions. Vertices at the
/// same position count as one vertex, as some programs write each triangle separately.
fn is_closed(shape: &Shape) -> bool {
    let (vertices, triangles) = match shape {
        Shape::TriangleMesh { vertices, triangles } => (vertices, triangles),
        Shape::Compound { parts } => return parts.iter().all(|part| is_closed(&part.shape)),
        _ => return true,
    };
    // Zeros of either sign are the same position.
    let place = |index: u32| (vertices[index as usize] + DVec3::ZERO).to_array().map(f64::to_bits);
    let mut balance: HashMap<_, i64> = HashMap::new();
    for triangle in triangles {
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            let (from, to) = (place(triangle[from]), place(triangle[to]));
            let (edge, sense) = if from <= to { ((from, to), 1) } else { ((to, from), -1) };
            // An edge without length has no direction.
            *balance.entry(edge).or_default() += if from == to { 0 } else { sense };
        }
    }
    balance.values().all(|sum| *sum == 0)
}
