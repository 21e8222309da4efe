//! The shapes of bodies.

use bevy_math::DVec3;

use super::{Color, Pose};

/// A shape in its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Where the shape's own frame is, `body_from_shape`.
    pub pose: Pose,
    /// The shape.
    pub shape: Shape,
}

/// What is seen of a body in place of its shape. Nothing collides with it and it has no mass.
#[derive(Debug, Clone, PartialEq)]
pub struct Visual {
    /// The shape and where it is, `body_from_shape`. A mesh of triangles need not be closed here.
    pub placed: Placed,
    /// Its colour; without one whoever draws it chooses.
    pub color: Option<Color>,
}

/// A shape about the origin of its own frame; lengths in metres. The round ones stand along their y axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A cuboid of the given edge lengths.
    Box {
        /// Edge lengths along x, y and z.
        size: DVec3,
    },
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A cylinder along y.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Length along y.
        length: f64,
    },
    /// A cylinder along y with half balls on both ends.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length of the cylindrical part.
        length: f64,
    },
    /// A cone along y, its tip at +length/2.
    Cone {
        /// Radius of the base.
        radius: f64,
        /// Length along y.
        length: f64,
    },
    /// The convex hull of at least four points that do not lie in a plane.
    ConvexHull {
        /// The points.
        points: Vec<DVec3>,
    },
    /// A closed surface of triangles.
    TriangleMesh {
        /// The corners.
        vertices: Vec<DVec3>,
        /// Three indices into `vertices` each, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// Several shapes as one.
    Compound {
        /// The parts, none of them a compound.
        parts: Vec<Placed>,
    },
}

impl Shape {
    /// The name of its element in XML.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Box { .. } => "box",
            Self::Sphere { .. } => "sphere",
            Self::Cylinder { .. } => "cylinder",
            Self::Capsule { .. } => "capsule",
            Self::Cone { .. } => "cone",
            Self::ConvexHull { .. } => "convexHull",
            Self::TriangleMesh { .. } => "triangleMesh",
            Self::Compound { .. } => "compound",
        }
    }

    /// How many points and triangles describe it, each part of a compound counted as one at least.
    pub fn points(&self) -> usize {
        match self {
            Self::ConvexHull { points } => points.len(),
            Self::TriangleMesh { vertices, triangles } => vertices.len() + triangles.len(),
            Self::Compound { parts } => parts.iter().map(|part| part.shape.points().max(1)).sum(),
            _ => 0,
        }
    }

    /// The radius it rolls on: of balls, cylinders and capsules, in metres.
    pub fn rolling_radius(&self) -> Option<f64> {
        match self {
            Self::Sphere { radius } | Self::Cylinder { radius, .. } | Self::Capsule { radius, .. } => Some(*radius),
            _ => None,
        }
    }
}
