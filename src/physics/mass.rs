//! Where the mass of a body is: as the file says, or spread evenly over its shape.

use bevy_math::{DMat3, DVec3};
use rapier3d_f64::parry::mass_properties::MassProperties as ParryMass;

use super::rapier::shape;
use crate::model::Body;

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
    /// Of a body that nothing moves.
    pub const ZERO: Self = Self { mass: 0.0, centre_of_mass: DVec3::ZERO, tensor: DMat3::ZERO };
}

/// The mass properties of a body: those of its file, else those of its shape filled evenly with its mass, else those of a
/// particle (no inertia).
///
/// # Errors
/// A sentence that says why the shape has no volume to spread the mass over.
pub fn mass_properties(body: &Body) -> Result<MassProperties, String> {
    if let Some(given) = body.inertia {
        return Ok(MassProperties { mass: body.mass, centre_of_mass: given.centre_of_mass, tensor: given.tensor });
    }
    let Some(placed) = &body.shape else {
        return Ok(MassProperties { mass: body.mass, centre_of_mass: DVec3::ZERO, tensor: DMat3::ZERO });
    };
    let (shape, pose) = shape::collider_shape(placed)?;
    let mut spread: ParryMass = shape.mass_properties(1.0).transform_by(&pose);
    if !(spread.mass() > 0.0 && spread.mass().is_finite()) {
        return Err(format!("the {} encloses no volume: give the body an <inertia>", placed.shape.name()));
    }
    spread.set_mass(body.mass, true);
    Ok(MassProperties {
        mass: body.mass,
        centre_of_mass: spread.local_com,
        tensor: spread.reconstruct_inertia_matrix(),
    })
}
