//! Contacts by parry: of two convex shapes, and of meshes and terrain triangle by triangle.
//!
//! Parry's entry point for any two shapes (`contact_manifolds`) keeps manifolds from step to step and allocates their memory.
//! Here every manifold is computed afresh, so that none of them is part of the state, and in buffers that are kept, so that a
//! step allocates nothing. The algorithms are parry's own: separating axes for two boxes and for a box and a triangle, and for
//! all other shapes GJK (Gilbert, Johnson and Keerthi 1988) and EPA (van den Bergen 2001).

use bevy_math::DVec3;

use super::{Hit, narrow::Placed};
use crate::parry::{
    bounding_volume::BoundingVolume,
    math::Pose,
    query::{
        ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher, TrackedContact,
        details::{NormalConstraints, NormalConstraintsPair},
        epa::EPA,
        gjk::{self, CsoPoint, GJKResult, VoronoiSimplex},
    },
    shape::{
        HeightField, PackedFeatureId, PolygonalFeature, PolygonalFeatureMap, Shape, ShapeType, TriMesh,
        TrianglePseudoNormals,
    },
};

/// Parry drops a point that its correction of normals has pushed to more than so many times the depth found.
const DEEPEST_CORRECTION: f64 = 5.0;

/// Memory of the searches.
#[derive(Default)]
pub(super) struct Manifold {
    points: ContactManifold<(), ()>,
    epa: EPA,
}

/// Two convex shapes.
struct Couple<'a> {
    shapes: [&'a dyn Shape; 2],
    /// Pose of the second in the frame of the first.
    relative: Pose,
    /// The directions in which a triangle's neighbours let its contacts press.
    constraints: [Option<TrianglePseudoNormals>; 2],
}

/// A search for the contacts of two shapes nearer than `ahead`.
struct Search<'a> {
    memory: &'a mut Manifold,
    first: &'a Placed<'a>,
    ahead: f64,
    hits: &'a mut Vec<Hit>,
}

impl Manifold {
    /// Contacts of two shapes, normals from the first to the second.
    pub(super) fn find(&mut self, a: &Placed, b: &Placed, ahead: f64, hits: &mut Vec<Hit>) {
        let (one, two) = (&*a.shape.0, &*b.shape.0);
        let relative = a.pose().inverse() * b.pose();
        let mut search = Search { memory: self, first: a, ahead, hits };
        match (one.as_heightfield(), one.as_trimesh(), two.as_trimesh()) {
            (Some(field), _, Some(mesh)) => search.mesh_on_terrain(field, mesh, relative),
            (Some(field), _, None) => search.shape_on_terrain(field, two, relative),
            (None, Some(first), Some(second)) => search.mesh_on_mesh(first, second, relative),
            (None, Some(mesh), None) => search.shape_on_mesh(mesh, two, relative),
            (None, None, Some(mesh)) => search.mesh_on_shape(one, mesh, relative),
            (None, None, None) => search.add(&Couple { shapes: [one, two], relative, constraints: [None, None] }),
        }
    }

    /// Computes the manifold of two convex shapes.
    fn fill(&mut self, couple: &Couple, ahead: f64) {
        self.points.clear();
        (self.points.local_n1, self.points.local_n2) = (DVec3::ZERO, DVec3::ZERO);
        let [one, two] = couple.shapes;
        let [first, second] = couple.constraints.each_ref();
        let first = first.as_ref().map(|normals| normals as &dyn NormalConstraints);
        let second = second.as_ref().map(|normals| normals as &dyn NormalConstraints);
        match (one.as_polygonal_feature_map(), two.as_polygonal_feature_map()) {
            (Some(one_core), Some(two_core)) if needs_support_maps(one, two) => {
                self.fill_by_support_maps(&couple.relative, [one_core, two_core], (first, second), ahead);
            }
            _ => {
                let (relative, points) = (&couple.relative, &mut self.points);
                // Parry knows all pairs of convex shapes that the format has, so there is no error.
                let _ = DefaultQueryDispatcher
                    .contact_manifold_convex_convex(relative, one, two, first, second, ahead, points);
            }
        }
    }

    /// Parry's `contact_manifold_pfm_pfm` on a manifold without points, in memory that is kept. A shape is a core and a radius
    /// around it.
    fn fill_by_support_maps(
        &mut self,
        relative: &Pose,
        [(one, one_radius), (two, two_radius)]: [(&dyn PolygonalFeatureMap, f64); 2],
        constraints: (Option<&dyn NormalConstraints>, Option<&dyn NormalConstraints>),
        ahead: f64,
    ) {
        let Some((on_one, on_two, direction)) = self.closest(relative, one, two, ahead + one_radius + two_radius)
        else {
            return;
        };
        let (mut normal_one, mut normal_two) = (direction, relative.rotation.inverse() * -direction);
        let distance = (on_two - on_one).dot(normal_one);
        if !constraints.project_local_normals(relative, &mut normal_one, &mut normal_two) {
            return;
        }
        let manifold = &mut self.points;
        let (mut face_one, mut face_two) = (PolygonalFeature::default(), PolygonalFeature::default());
        let on_two_there = relative.inverse_transform_point(on_two);
        one.local_support_feature_toward(normal_one, on_one, &mut face_one);
        two.local_support_feature_toward(normal_two, on_two_there, &mut face_two);
        let back = relative.inverse();
        PolygonalFeature::contacts(relative, &back, normal_one, normal_two, &face_one, &face_two, manifold, false);
        if normal_one == direction {
            let unknown = PackedFeatureId::UNKNOWN;
            manifold.points.push(TrackedContact::new(on_one, on_two_there, unknown, unknown, distance));
        }
        if constraints.0.is_some() || constraints.1.is_some() {
            let deepest = DEEPEST_CORRECTION * distance;
            manifold.points.retain(|point| distance >= 0.0 || point.dist >= 0.0 || point.dist >= deepest);
        }
        if one_radius != 0.0 || two_radius != 0.0 {
            for point in &mut manifold.points {
                point.local_p1 += normal_one * one_radius;
                point.local_p2 += normal_two * two_radius;
                point.dist -= one_radius + two_radius;
            }
        }
        manifold.local_n1 = normal_one;
        manifold.local_n2 = normal_two;
    }

    /// The closest points of two shapes, in the frame of the first, and the unit vector from the first to the second; of
    /// shapes that overlap, the points that are deepest. `None` if they are farther apart than `reach`.
    fn closest(
        &mut self,
        relative: &Pose,
        one: &dyn PolygonalFeatureMap,
        two: &dyn PolygonalFeatureMap,
        reach: f64,
    ) -> Option<(DVec3, DVec3, DVec3)> {
        let start = relative.translation.try_normalize().unwrap_or(DVec3::X);
        let mut simplex = VoronoiSimplex::new();
        simplex.reset(CsoPoint::from_shapes(relative, one, two, start));
        match gjk::closest_points(relative, one, two, reach, true, &mut simplex) {
            GJKResult::ClosestPoints(on_one, on_two, direction) => Some((on_one, on_two, direction)),
            GJKResult::Intersection => self.epa.closest_points(relative, one, two, &simplex),
            GJKResult::Proximity(_) | GJKResult::NoIntersection(_) => None,
        }
    }
}

impl Search<'_> {
    /// Adds the contacts of two convex shapes, the first of them a part of the first of the search, in its frame.
    fn add(&mut self, couple: &Couple) {
        self.memory.fill(couple, self.ahead);
        let manifold = &self.memory.points;
        if manifold.points.is_empty() {
            return;
        }
        let (first, normal) = (self.first.pose(), self.first.rotation * manifold.local_n1);
        for point in manifold.points.iter().filter(|point| point.dist < self.ahead) {
            let surface = first * point.local_p1;
            self.hits.push(Hit { point: surface + normal * (0.5 * point.dist), normal, gap: point.dist });
        }
    }

    fn shape_on_terrain(&mut self, field: &HeightField, shape: &dyn Shape, relative: Pose) {
        let around = shape.compute_aabb(&relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            let constraints = [field.triangle_normal_constraints(index), None];
            self.add(&Couple { shapes: [triangle, shape], relative, constraints });
        });
    }

    fn mesh_on_terrain(&mut self, field: &HeightField, mesh: &TriMesh, relative: Pose) {
        let back = relative.inverse();
        let around = mesh.bvh().root_aabb().transform_by(&relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            let near = triangle.compute_aabb(&back).loosened(self.ahead);
            for other in mesh.bvh().intersect_aabb(&near) {
                let constraints = [field.triangle_normal_constraints(index), mesh.triangle_normal_constraints(other)];
                self.add(&Couple { shapes: [triangle, &mesh.triangle(other)], relative, constraints });
            }
        });
    }

    fn shape_on_mesh(&mut self, mesh: &TriMesh, shape: &dyn Shape, relative: Pose) {
        let around = shape.compute_aabb(&relative).loosened(self.ahead);
        for index in mesh.bvh().intersect_aabb(&around) {
            let constraints = [mesh.triangle_normal_constraints(index), None];
            self.add(&Couple { shapes: [&mesh.triangle(index), shape], relative, constraints });
        }
    }

    fn mesh_on_shape(&mut self, shape: &dyn Shape, mesh: &TriMesh, relative: Pose) {
        let back = relative.inverse();
        let around = shape.compute_aabb(&back).loosened(self.ahead);
        for index in mesh.bvh().intersect_aabb(&around) {
            let constraints = [None, mesh.triangle_normal_constraints(index)];
            let relative = back.inverse();
            self.add(&Couple { shapes: [shape, &mesh.triangle(index)], relative, constraints });
        }
    }

    /// The triangles of the larger mesh that come near the smaller one, each against those of the smaller that it comes near.
    fn mesh_on_mesh(&mut self, first: &TriMesh, second: &TriMesh, relative: Pose) {
        let extent = |mesh: &TriMesh| mesh.bvh().root_aabb().half_extents().length_squared();
        let flipped = extent(first) < extent(second);
        let (large, small, small_in_large, large_in_small) = if flipped {
            (second, first, relative.inverse(), relative)
        } else {
            (first, second, relative, relative.inverse())
        };
        let around = small.bvh().root_aabb().transform_by(&small_in_large).loosened(self.ahead);
        for index in large.bvh().intersect_aabb(&around) {
            let triangle = large.triangle(index);
            let near = triangle.compute_aabb(&large_in_small).loosened(self.ahead);
            for other in small.bvh().intersect_aabb(&near) {
                let (other_triangle, own) = (small.triangle(other), large.triangle_normal_constraints(index));
                let others = small.triangle_normal_constraints(other);
                self.add(&if flipped {
                    let shapes: [&dyn Shape; 2] = [&other_triangle, &triangle];
                    Couple { shapes, relative: large_in_small, constraints: [others, own] }
                } else {
                    let shapes: [&dyn Shape; 2] = [&triangle, &other_triangle];
                    Couple { shapes, relative: large_in_small.inverse(), constraints: [own, others] }
                });
            }
        }
    }
}

/// Whether parry has nothing for two shapes but their support maps.
fn needs_support_maps(one: &dyn Shape, two: &dyn Shape) -> bool {
    use ShapeType::{Ball, Capsule, Cuboid, Triangle};
    !matches!(
        (one.shape_type(), two.shape_type()),
        (Ball, _) | (_, Ball) | (Cuboid | Triangle, Cuboid) | (Cuboid, Triangle) | (Capsule, Capsule)
    )
}
