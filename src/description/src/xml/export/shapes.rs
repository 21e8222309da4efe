//! Shapes of other formats: the axis of round ones is z.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Placed, Pose, Shape};

/// Corners of the base of a cone.
const CONE_CORNERS: u32 = 24;

/// A shape without parts.
pub(super) enum Simple<'s> {
    Box(DVec3),
    Sphere(f64),
    /// Half of its lengths.
    Ellipsoid(DVec3),
    /// Radius and length.
    Cylinder(f64, f64),
    Capsule(f64, f64),
    /// Points, and triangles between them: none for a hull.
    Mesh(Vec<DVec3>, &'s [[u32; 3]]),
}

/// The parts of a shape, each with its pose in the body.
pub(super) fn simple(placed: &Placed) -> Vec<(Pose, Simple<'_>)> {
    // Our y is the others' z.
    let upright = Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2) };
    let along_z = placed.pose.then(&upright);
    match &placed.shape {
        Shape::Box { size } => vec![(placed.pose, Simple::Box(*size))],
        Shape::Sphere { radius } => vec![(placed.pose, Simple::Sphere(*radius))],
        Shape::Ellipsoid { radii } => vec![(placed.pose, Simple::Ellipsoid(*radii))],
        Shape::Cylinder { radius, length } => vec![(along_z, Simple::Cylinder(*radius, *length))],
        Shape::Capsule { radius, length } => vec![(along_z, Simple::Capsule(*radius, *length))],
        Shape::Cone { radius, length } => vec![(placed.pose, Simple::Mesh(cone(*radius, *length), &[]))],
        Shape::ConvexHull { points } => vec![(placed.pose, Simple::Mesh(points.clone(), &[]))],
        Shape::TriangleMesh { vertices, triangles, .. } => {
            vec![(placed.pose, Simple::Mesh(vertices.clone(), triangles))]
        }
        Shape::Compound { parts } => {
            let all = parts.iter().flat_map(simple);
            all.map(|(pose, part)| (placed.pose.then(&pose), part)).collect()
        }
    }
}

/// The corners of a cone along y.
fn cone(radius: f64, length: f64) -> Vec<DVec3> {
    let corner = |number: u32| {
        let (sine, cosine) = libm::sincos(std::f64::consts::TAU * f64::from(number) / f64::from(CONE_CORNERS));
        DVec3::new(radius * cosine, -0.5 * length, radius * sine)
    };
    (0..CONE_CORNERS).map(corner).chain([DVec3::Y * (0.5 * length)]).collect()
}
