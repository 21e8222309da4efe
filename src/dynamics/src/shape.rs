//! Conversion of the model's shapes to parry's.

use bevy_math::DVec3;
use simpartner_model::{GroundMesh, Heightfield, Placed, Pose, Shape, quickhull};

use super::{
    ellipsoid::Ellipsoid,
    parry::{
        math::Pose as ParryPose,
        query::Ray,
        shape::{HeightField, HeightFieldCellStatus, HeightFieldFlags, SharedShape, TriMeshFlags},
        transformation::{
            try_convex_hull,
            vhacd::{VHACD, VHACDParameters},
        },
        utils::Array2,
    },
};

/// Smallest volume of a convex part relative to the whole; a cell of the grid is 4e-6 of a cube.
const LEAST_PART: f64 = 1e-6;

/// A single shape for ray casts, outside any world.
pub struct RayTarget {
    shape: SharedShape,
    pose: ParryPose,
}

impl RayTarget {
    /// Converts a shape.
    ///
    /// # Errors
    /// The reason why rays cannot be cast at it.
    pub fn new(placed: &Placed) -> Result<Self, String> {
        let (shape, pose) = collider_shape(placed)?;
        Ok(Self { shape, pose })
    }

    /// The first intersection of a ray from `origin` along a unit vector with the surface, from outside or inside:
    /// distance, m, and the surface's unit normal, on the side that the ray enters. `None` beyond `range`.
    pub fn meet(&self, origin: DVec3, direction: DVec3, range: f64) -> Option<(f64, DVec3)> {
        let hit = self.shape.cast_ray_and_get_normal(&self.pose, &Ray::new(origin, direction), range, false)?;
        let normal = if hit.normal.dot(direction) < 0.0 { -hit.normal } else { hit.normal };
        Some((hit.time_of_impact, normal))
    }
}

/// Converts a rigid transform.
pub(super) fn pose(pose: &Pose) -> ParryPose {
    ParryPose::from_parts(pose.translation, pose.rotation)
}

/// The shape, and `body_from_shape`.
///
/// # Errors
/// The reason why parry cannot represent it.
pub(super) fn collider_shape(placed: &Placed) -> Result<(SharedShape, ParryPose), String> {
    let shape = match &placed.shape {
        Shape::Compound { parts } => {
            let parts: Result<Vec<_>, String> =
                parts.iter().map(|part| Ok((pose(&part.pose), simple_shape(&part.shape)?))).collect();
            let parts = parts?;
            if parts.is_empty() || parts.iter().any(|(_, shape)| shape.as_trimesh().is_some()) {
                return Err("a triangleMesh cannot be a part of a compound here, and a compound has parts".into());
            }
            SharedShape::compound(parts)
        }
        simple => simple_shape(simple)?,
    };
    Ok((shape, pose(&placed.pose)))
}

fn simple_shape(shape: &Shape) -> Result<SharedShape, String> {
    Ok(match shape {
        Shape::Box { size } => SharedShape::cuboid(size.x / 2.0, size.y / 2.0, size.z / 2.0),
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Ellipsoid { radii } => SharedShape::new(Ellipsoid { radii: *radii }),
        Shape::Cylinder { radius, length } => SharedShape::cylinder(length / 2.0, *radius),
        Shape::Capsule { radius, length } => SharedShape::capsule_y(length / 2.0, *radius),
        Shape::Cone { radius, length } => SharedShape::cone(length / 2.0, *radius),
        Shape::ConvexHull { points } => {
            let shape = match hull_of_many(points) {
                Some((corners, triangles)) => SharedShape::convex_mesh(corners, &triangles),
                None => SharedShape::convex_hull(points),
            };
            shape.ok_or("the points of the convexHull span no volume")?
        }
        Shape::TriangleMesh { vertices, triangles } => {
            let flags = TriMeshFlags::FIX_INTERNAL_EDGES | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
            SharedShape::trimesh_with_flags(vertices.clone(), triangles.clone(), flags)
                .map_err(|error| format!("the triangleMesh cannot be used: {error}"))?
        }
        Shape::Compound { .. } => return Err("a compound cannot hold another compound".into()),
    })
}

/// The surface of the convex hull of points: its corners, and triangles of them, counter-clockwise seen from outside.
/// `None` if the points span no volume.
pub fn hull_surface(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    hull_of_many(points).or_else(|| try_convex_hull(points).ok())
}

/// Number of points from which parry's hull takes longer than the model's [`quickhull`]: 0.2 s.
const LARGE_POINT_COUNT: usize = 20_000;

/// The hull of [`LARGE_POINT_COUNT`] or more points; `None` for fewer.
fn hull_of_many(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    if points.len() < LARGE_POINT_COUNT { None } else { quickhull(points) }
}

/// Approximate decomposition of a closed surface of triangles into at most 64 convex parts, each a hull as from
/// [`hull_surface`]. The surface is cut along planes where it is least convex, on a grid of 64 cells along its longest
/// side (V-HACD, Mamou and Ghorbel 2009).
pub fn convex_parts(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<(Vec<DVec3>, Vec<[u32; 3]>)> {
    let parameters = VHACDParameters { max_convex_hulls: 64, ..VHACDParameters::default() };
    let mut parts =
        VHACD::decompose(&parameters, vertices, triangles, true).compute_exact_convex_hulls(vertices, triangles);
    let volume = |(vertices, triangles): &(Vec<DVec3>, Vec<[u32; 3]>)| -> f64 {
        let Some(origin) = vertices.first() else { return 0.0 };
        let corners = triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize] - *origin));
        corners.map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
    };
    // The grid produces parts without volume where a plane cuts along a surface.
    let least = LEAST_PART * parts.iter().map(volume).sum::<f64>();
    parts.retain(|part| volume(part) > least);
    parts
}

/// Terrain in its own frame. Parry's rows are along z and its columns along x; its scale is the full extent.
pub(super) fn heightfield(field: &Heightfield) -> SharedShape {
    // Parry requires a height at every point. Cells around a point without height have no surface, so this height
    // affects only the bounds.
    let lowest = field.heights.iter().fold(f64::INFINITY, |low, &height| low.min(height));
    let heights = field.heights.iter().map(|&height| if height.is_nan() { lowest } else { height });
    let heights = Array2::new(field.points_z, field.points_x, heights.collect());
    let scale = DVec3::new(field.width, 1.0, field.depth);
    let mut shape = HeightField::with_flags(heights, scale, HeightFieldFlags::FIX_INTERNAL_EDGES);
    for i in 0..field.points_x - 1 {
        for j in (0..field.points_z - 1).filter(|&j| !field.has_surface(i, j)) {
            shape.set_cell_status(j, i, HeightFieldCellStatus::CELL_REMOVED);
        }
    }
    SharedShape::new(shape)
}

/// A two-sided ground of triangles in the world frame.
///
/// # Errors
/// The reason why parry cannot represent it.
pub(super) fn ground_mesh(mesh: &GroundMesh) -> Result<SharedShape, String> {
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
    SharedShape::trimesh_with_flags(mesh.vertices.clone(), mesh.triangles.clone(), flags)
        .map_err(|error| format!("its triangles cannot be used: {error}"))
}
