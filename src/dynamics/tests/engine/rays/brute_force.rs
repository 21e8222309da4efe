//! Rays against each shape alone, as parry computes it, and against each triangle of terrain alone.
//!
//! Parry follows a ray over terrain from cell to cell. If rounding puts the entry point into the terrain's box outside
//! of all cells, parry begins at a corner of the terrain instead, and may miss the surface. A loop over all triangles
//! has no first cell.

use bevy_math::DVec3;
use parry3d_f64::{
    math::Pose as ParryPose,
    query::{Ray as Line, RayCast},
    shape::{HeightField, HeightFieldCellStatus, SharedShape, TriMeshFlags},
    utils::Array2,
};
use simpartner_dynamics::{Engine, Ray};
use simpartner_model::{BodyId, Ground, Heightfield, Mechanism, Pose, Shape};

/// A world's shapes in the order of its bodies, and their poses.
pub struct Shapes {
    bodies: Vec<(BodyId, SharedShape, Pose)>,
    grounds: Vec<(SharedShape, ParryPose)>,
    placed: Vec<(BodyId, SharedShape, ParryPose, f64)>,
}

impl Shapes {
    /// The shapes of a world that is not placed yet.
    pub fn new(model: &Mechanism) -> Self {
        let of_body = |(id, body): (BodyId, &simpartner_model::Body)| {
            body.collision_shape().map(|placed| (id, shape(&placed.shape), placed.pose))
        };
        let grounds = model.grounds.iter().map(|ground| match ground {
            Ground::Plane(plane) => {
                let pose = ParryPose::from_translation(plane.normal * plane.distance);
                (SharedShape::halfspace(plane.normal), pose)
            }
            Ground::Heightfield(field) => (heightfield(field), at(&field.pose)),
            Ground::Mesh(mesh) => {
                let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
                let triangles = (mesh.vertices.clone(), mesh.triangles.clone());
                let shape = SharedShape::trimesh_with_flags(triangles.0, triangles.1, flags).expect("a sound mesh");
                (shape, ParryPose::IDENTITY)
            }
        });
        Self { bodies: model.bodies().filter_map(of_body).collect(), grounds: grounds.collect(), placed: Vec::new() }
    }

    /// Moves the shapes to the poses of the engine's bodies.
    pub fn place(&mut self, engine: &dyn Engine) {
        let placed = self.bodies.iter().map(|(body, shape, pose)| {
            let pose = engine.body(*body).pose.then(pose);
            let reach = shape.compute_local_bounding_sphere();
            (*body, shape.clone(), at(&pose), reach.center.length() + reach.radius)
        });
        self.placed = placed.collect();
    }

    /// The distance along a ray to the first of them.
    pub fn cast(&self, ray: &Ray) -> Option<f64> {
        let line = Line::new(ray.origin, ray.direction);
        let mut nearest: Option<f64> = None;
        let mut see = |distance: Option<f64>| {
            if let Some(distance) = distance {
                nearest = Some(nearest.map_or(distance, |nearest: f64| nearest.min(distance)));
            }
        };
        for (shape, pose) in &self.grounds {
            let line = line.inverse_transform_by(pose);
            match shape.as_heightfield() {
                Some(field) => {
                    field.triangles().for_each(|triangle| see(triangle.cast_local_ray(&line, ray.range, true)));
                }
                None => see(shape.cast_local_ray(&line, ray.range, true)),
            }
        }
        for (body, shape, pose, reach) in &self.placed {
            if ray.ignore != Some(*body) && !misses(ray, pose.translation, *reach) {
                see(shape.cast_ray(pose, &line, ray.range, true));
            }
        }
        nearest
    }
}

/// True if the ray passes a ball by.
fn misses(ray: &Ray, centre: DVec3, radius: f64) -> bool {
    let offset = centre - ray.origin;
    let along = offset.dot(ray.direction).clamp(0.0, ray.range);
    (offset - ray.direction * along).length_squared() > radius * radius * (1.0 + 1e-9)
}

fn at(pose: &Pose) -> ParryPose {
    ParryPose::from_parts(pose.translation, pose.rotation)
}

fn shape(shape: &Shape) -> SharedShape {
    match shape {
        Shape::Box { size } => SharedShape::cuboid(size.x / 2.0, size.y / 2.0, size.z / 2.0),
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Ellipsoid { .. } => panic!("parry has no ellipsoids; ellipsoids.rs tests their rays"),
        Shape::Cylinder { radius, length } => SharedShape::cylinder(length / 2.0, *radius),
        Shape::Capsule { radius, length } => SharedShape::capsule_y(length / 2.0, *radius),
        Shape::Cone { radius, length } => SharedShape::cone(length / 2.0, *radius),
        Shape::ConvexHull { points } => SharedShape::convex_hull(points).expect("points that span a volume"),
        Shape::TriangleMesh { vertices, triangles } => {
            SharedShape::trimesh(vertices.clone(), triangles.clone()).expect("a sound mesh")
        }
        Shape::Compound { parts } => {
            SharedShape::compound(parts.iter().map(|part| (at(&part.pose), self::shape(&part.shape))).collect())
        }
    }
}

fn heightfield(field: &Heightfield) -> SharedShape {
    let lowest = field.heights.iter().fold(f64::INFINITY, |low, &height| low.min(height));
    let heights = field.heights.iter().map(|&height| if height.is_nan() { lowest } else { height }).collect();
    let heights = Array2::new(field.points_z, field.points_x, heights);
    let mut shape = HeightField::new(heights, DVec3::new(field.width, 1.0, field.depth));
    for (i, j) in (0..field.points_x - 1).flat_map(|i| (0..field.points_z - 1).map(move |j| (i, j))) {
        if !field.has_surface(i, j) {
            shape.set_cell_status(j, i, HeightFieldCellStatus::CELL_REMOVED);
        }
    }
    SharedShape::new(shape)
}
