//! The model's shapes as parry's.

use bevy_math::{DQuat, DVec3};
use rapier3d_f64::{
    geometry::{HeightFieldFlags, SharedShape},
    math::Pose as RapierPose,
    parry::{shape::TriMeshFlags, utils::Array2},
};

use crate::model::{Heightfield, Placed, Pose, Shape};

/// A rigid transform in rapier's type.
pub(in crate::physics) fn pose(pose: &Pose) -> RapierPose {
    RapierPose::from_parts(pose.translation, pose.rotation)
}

/// A rigid transform in the model's type.
pub(super) fn model_pose(pose: &RapierPose) -> Pose {
    Pose { translation: pose.translation, rotation: pose.rotation }
}

/// The shape, and where it sits in its body.
///
/// # Errors
/// A sentence that says why parry cannot take it.
pub(in crate::physics) fn collider_shape(placed: &Placed) -> Result<(SharedShape, RapierPose), String> {
    let shape = match &placed.shape {
        Shape::Compound { parts } => {
            let parts: Result<Vec<_>, String> =
                parts.iter().map(|part| Ok((pose(&part.pose), simple_shape(&part.shape)?))).collect();
            SharedShape::compound(parts?)
        }
        simple => simple_shape(simple)?,
    };
    Ok((shape, pose(&placed.pose)))
}

fn simple_shape(shape: &Shape) -> Result<SharedShape, String> {
    Ok(match shape {
        Shape::Box { size } => SharedShape::cuboid(size.x / 2.0, size.y / 2.0, size.z / 2.0),
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Cylinder { radius, length } => SharedShape::cylinder(length / 2.0, *radius),
        Shape::Capsule { radius, length } => SharedShape::capsule_y(length / 2.0, *radius),
        Shape::Cone { radius, length } => SharedShape::cone(length / 2.0, *radius),
        Shape::ConvexHull { points } => {
            SharedShape::convex_hull(points).ok_or("the points of the convexHull span no volume")?
        }
        Shape::TriangleMesh { vertices, triangles } => {
            let flags = TriMeshFlags::FIX_INTERNAL_EDGES | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
            SharedShape::trimesh_with_flags(vertices.clone(), triangles.clone(), flags)
                .map_err(|error| format!("the triangleMesh cannot be used: {error}"))?
        }
        Shape::Compound { .. } => return Err("a compound cannot hold another compound".into()),
    })
}

/// The terrain. Parry's rows run along z and its columns along x; the scale is the full extent.
pub(in crate::physics) fn heightfield(field: &Heightfield) -> SharedShape {
    let heights = Array2::new(field.points_z, field.points_x, field.heights.clone());
    let scale = DVec3::new(field.width, 1.0, field.depth);
    SharedShape::heightfield_with_flags(heights, scale, HeightFieldFlags::FIX_INTERNAL_EDGES)
}

/// A rotation that takes the x axis to local axis `axis` (0 to 2), by a cyclic exchange of the three.
pub(super) fn x_to_axis(axis: usize) -> DQuat {
    match axis {
        0 => DQuat::IDENTITY,
        1 => DQuat::from_xyzw(0.5, 0.5, 0.5, 0.5),
        _ => DQuat::from_xyzw(-0.5, -0.5, -0.5, 0.5),
    }
}
