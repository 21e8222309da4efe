//! The geometry of a colliding shape.

use std::sync::Arc;

use bevy_math::DVec3;

use super::{
    convex::{Core, Hull},
    faces::Faces,
};
use crate::ellipsoid::Ellipsoid;

/// Geometry of a shape for contacts with a plane; lengths in metres.
#[derive(Debug, Clone)]
pub(crate) enum Outline {
    Ball(f64),
    /// Half the edge lengths.
    Box(DVec3),
    Ellipsoid(Ellipsoid),
    Cylinder {
        radius: f64,
        half: f64,
    },
    Capsule {
        radius: f64,
        half: f64,
    },
    Cone {
        radius: f64,
        half: f64,
    },
    Hull(Arc<Hull>),
    /// The corners of a mesh, and its faces.
    Mesh(Arc<[DVec3]>, Arc<Faces>),
    /// Corners that span no volume, or terrain, which has no corners here.
    Points(Vec<DVec3>),
}

impl Outline {
    /// The faces of a mesh.
    pub(super) fn faces(&self) -> Option<&Faces> {
        if let Self::Mesh(_, faces) = self { Some(faces) } else { None }
    }

    /// The corners of a hull or a mesh, or the points without volume; none of other shapes.
    pub(super) fn corner_points(&self) -> &[DVec3] {
        match self {
            Self::Hull(hull) => &hull.points,
            Self::Mesh(points, _) => points,
            Self::Points(points) => points,
            _ => &[],
        }
    }

    /// The shape as the convex search takes it, with the thickness of the rounding layer around it, m; `None` if it is
    /// not convex.
    pub(super) fn core(&self) -> Option<(Core<'_>, f64)> {
        Some(match *self {
            Self::Ball(radius) => (Core::Segment(0.0), radius),
            Self::Capsule { radius, half } => (Core::Segment(half), radius),
            Self::Box(half) => (Core::Box(half), 0.0),
            Self::Ellipsoid(own) => (Core::Ellipsoid(own), 0.0),
            Self::Cylinder { radius, half } => (Core::Cylinder { radius, half }, 0.0),
            Self::Cone { radius, half } => (Core::Cone { radius, half }, 0.0),
            Self::Hull(ref hull) => (Core::Hull(hull), 0.0),
            Self::Points(_) | Self::Mesh(..) => return None,
        })
    }
}
