//! The model's shapes as parry's.

use bevy_math::DVec3;
use simpartner_model::{GroundMesh, Heightfield, Placed, Pose, Shape, quickhull};

use super::parry::{
    math::Pose as ParryPose,
    query::Ray,
    shape::{HeightField, HeightFieldCellStatus, HeightFieldFlags, SharedShape, TriMeshFlags},
    transformation::{
        try_convex_hull,
        vhacd::{VHACD, VHACDParameters},
    },
    utils::Array2,
};

/// Part of the volume that a convex part has at least: a cell of the grid is 4e-6 of a cube.
const LEAST_PART: f64 = 1e-6;

/// A shape that rays are cast at, apart from any world.
pub struct RayTarget {
    shape: SharedShape,
    pose: ParryPose,
}

impl RayTarget {
    /// A shape in a frame.
    ///
    /// # Errors
    /// A sentence that says why no ray can be cast at it.
    pub fn new(placed: &Placed) -> Result<Self, String> {
        let (shape, pose) = collider_shape(placed)?;
        Ok(Self { shape, pose })
    }

    /// Where a ray from `origin` along a unit vector meets the surface first, within or from without: the distance, m,
    /// and the surface's unit normal there, on the side that the ray goes to. `None` beyond `range`.
    pub fn meet(&self, origin: DVec3, direction: DVec3, range: f64) -> Option<(f64, DVec3)> {
        let hit = self.shape.cast_ray_and_get_normal(&self.pose, &Ray::new(origin, direction), range, false)?;
        let normal = if hit.normal.dot(direction) < 0.0 { -hit.normal } else { hit.normal };
        Some((hit.time_of_impact, normal))
    }
}

/// A rigid transform in parry's type.
pub(super) fn pose(pose: &Pose) -> ParryPose {
    ParryPose::from_parts(pose.translation, pose.rotation)
}

/// The shape, and where it sits in its body.
///
/// # Errors
/// A sentence that says why parry cannot take it.
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

/// From so many points on parry's hull takes longer than ours: 0.2 s.
const MANY: usize = 20_000;

/// The hull of so many points that parry's would take long.
fn hull_of_many(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    if points.len() < MANY { None } else { quickhull(points) }
}

/// Convex shapes that a closed surface of triangles is about made of, each a hull as [`hull_surface`] has it; at most
/// 64 of them. The surface is cut along planes where it is least convex, on a grid of 64 cells along its longest side
/// (V-HACD, Mamou and Ghorbel 2009).
pub fn convex_parts(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<(Vec<DVec3>, Vec<[u32; 3]>)> {
    let parameters = VHACDParameters { max_convex_hulls: 64, ..VHACDParameters::default() };
    let mut parts =
        VHACD::decompose(&parameters, vertices, triangles, true).compute_exact_convex_hulls(vertices, triangles);
    let volume = |(vertices, triangles): &(Vec<DVec3>, Vec<[u32; 3]>)| -> f64 {
        let Some(origin) = vertices.first() else { return 0.0 };
        let corners = triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize] - *origin));
        corners.map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
    };
    // The grid leaves parts without volume where a plane has cut along a surface.
    let least = LEAST_PART * parts.iter().map(volume).sum::<f64>();
    parts.retain(|part| volume(part) > least);
    parts
}

/// Terrain, in its own frame. Parry's rows run along z and its columns along x; the scale is the full extent.
pub(super) fn heightfield(field: &Heightfield) -> SharedShape {
    // Parry wants a number everywhere; the cells around a point without one have no surface, so it counts only for the
    // bounds.
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

/// A ground of triangles, in the world's frame: both sides hold.
///
/// # Errors
/// A sentence that says why parry cannot take it.
pub(super) fn ground_mesh(mesh: &GroundMesh) -> Result<SharedShape, String> {
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
    SharedShape::trimesh_with_flags(mesh.vertices.clone(), mesh.triangles.clone(), flags)
        .map_err(|error| format!("its triangles cannot be used: {error}"))
}
