//! The constant data of a world in rapier.

use rapier3d_f64::prelude::{ColliderHandle, RigidBodyHandle};

use super::articulation::Articulation;
use crate::MassProperties;

/// The constant data of a world, computed at its construction.
pub(super) struct Fixture {
    pub(super) bodies: Vec<RigidBodyHandle>,
    pub(super) names: Vec<String>,
    pub(super) colliders: Vec<Option<ColliderHandle>>,
    pub(super) masses: Vec<MassProperties>,
    pub(super) articulation: Articulation,
}
