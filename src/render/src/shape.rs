//! Shapes of a scene: form, owner, colour and look.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_model::{BodyId, Color, Pose};

use crate::{light::linear_of, look::SceneLook, mesh::Mesh, solid::Solid, terrain::Terrain};

/// The owner of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A ground, by its place in the world.
    Ground(usize),
    /// A body.
    Body(BodyId),
}

/// The form of a shape, in its own frame.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    Solid(Solid),
    Mesh(Arc<Mesh>),
    Terrain(Arc<Terrain>),
}

/// Look of a surface: linear red, green and blue, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Finish {
    pub(crate) color: [f32; 3],
    /// Colour of every other square of a metre; the same one where there are no squares.
    pub(crate) other: [f32; 3],
    /// 1 for what nothing is seen through.
    pub(crate) opacity: f32,
}

/// A shape with an end.
#[derive(Debug, Clone)]
pub(crate) struct SceneShape {
    pub(crate) owner: Owner,
    /// Body from shape; of a ground, world from shape.
    pub(crate) pose: Pose,
    pub(crate) form: Form,
    pub(crate) finish: Finish,
    /// Look beside its colour; `None` for a plain one.
    pub(crate) look: Option<Arc<SceneLook>>,
    /// Lowest and highest corner of its box, own frame, m.
    pub(crate) bounds: [DVec3; 2],
}

impl Finish {
    pub(crate) fn of_color(color: Color) -> Self {
        let linear = linear_of(color);
        Self { color: linear, other: linear, opacity: f32::from(color.alpha) / 255.0 }
    }
}
