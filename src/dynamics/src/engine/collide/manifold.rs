//! Contacts of any two shapes: convex ones at once, meshes and terrain triangle by triangle.
//!
//! Every search is made afresh, so that none of it is part of the state, in buffers that are kept, so that a step allocates
//! nothing. What a triangle's neighbours allow its normals to be is parry's.

use std::cell::LazyCell;

use bevy_math::DMat3;

use super::{
    Hit,
    convex::{Core, Difference, Meeting},
    narrow::Placed,
};
use crate::parry::{
    bounding_volume::BoundingVolume,
    math::Pose,
    query::details::NormalConstraints,
    shape::{HeightField, Shape, TriMesh, Triangle, TrianglePseudoNormals},
};

/// Normals at a smaller angle than 1e-4 are one, by their cosine: far above rounding, and far below any edge that is one.
const SAME_NORMAL: f64 = 1.0 - 5e-9;

/// A convex part of a shape, in the shape's frame, with the layer around it.
struct Part<'a> {
    core: Core<'a>,
    layer: f64,
    of: Origin<'a>,
}

/// What a part is of: a convex shape, or terrain or a mesh whose triangle of this number it is.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Convex,
    Terrain(&'a HeightField, u32),
    Mesh(&'a TriMesh, u32),
}

impl Origin<'_> {
    /// The directions in which the neighbours of a triangle let it press. They cost more than it takes to see that a shape is not near.
    fn normals(self) -> Option<TrianglePseudoNormals> {
        match self {
            Self::Convex => None,
            Self::Terrain(field, index) => field.triangle_normal_constraints(index),
            Self::Mesh(mesh, index) => mesh.triangle_normal_constraints(index),
        }
    }
}

/// Memory of the searches.
#[derive(Default)]
pub(super) struct Manifold {
    meeting: Meeting,
}

/// A search for the contacts of two shapes nearer than `ahead`.
struct Search<'a> {
    meeting: &'a mut Meeting,
    first: &'a Placed<'a>,
    /// Pose of the second in the frame of the first.
    relative: Pose,
    turn: DMat3,
    ahead: f64,
    hits: &'a mut Vec<Hit>,
}

impl Manifold {
    /// Contacts of two shapes, normals from the first to the second.
    pub(super) fn find(&mut self, a: &Placed, b: &Placed, ahead: f64, hits: &mut Vec<Hit>) {
        let back = a.rotation.inverse();
        let relative = Pose::from_parts(back * (b.centre - a.centre), back * b.rotation);
        let turn = DMat3::from_quat(relative.rotation);
        let mut search = Search { meeting: &mut self.meeting, first: a, relative, turn, ahead, hits };
        let (field, meshes) = (a.shape.as_heightfield(), [a.shape.as_trimesh(), b.shape.as_trimesh()]);
        match (field, meshes, a.part(), b.part()) {
            (Some(field), [_, Some(mesh)], ..) => search.mesh_on_terrain(field, mesh),
            (Some(field), _, _, Some(part)) => search.shape_on_terrain(field, &*b.shape.0, &part),
            (None, [Some(first), Some(second)], ..) => search.mesh_on_mesh(first, second),
            (None, [Some(mesh), None], _, Some(part)) => search.shape_on_mesh(mesh, &*b.shape.0, &part),
            (None, [None, Some(mesh)], Some(part), _) => search.mesh_on_shape(&*a.shape.0, &part, mesh),
            (None, _, Some(one), Some(two)) => search.add(&one, &two),
            _ => {}
        }
    }
}

impl Placed<'_> {
    /// The shape if it is convex.
    fn part(&self) -> Option<Part<'_>> {
        self.outline.core().map(|(core, layer)| Part { core, layer, of: Origin::Convex })
    }
}

fn part_of_mesh(mesh: &TriMesh, index: u32) -> Part<'_> {
    part_of(&mesh.triangle(index), Origin::Mesh(mesh, index))
}

fn part_of<'a>(triangle: &Triangle, of: Origin<'a>) -> Part<'a> {
    #[cfg(test)]
    super::count::LOOKED_AT.set(super::count::LOOKED_AT.get() + 1);
    Part { core: Core::Triangle([triangle.a, triangle.b, triangle.c]), layer: 0.0, of }
}

impl Search<'_> {
    /// Adds the contacts of two convex parts.
    fn add(&mut self, one: &Part, two: &Part) {
        let (turn, back) = (self.turn, self.turn.transpose());
        let difference =
            Difference::new([(one.core, one.layer), (two.core, two.layer)], turn, self.relative.translation);
        let (limits, other_limits) = (LazyCell::new(|| one.of.normals()), LazyCell::new(|| two.of.normals()));
        self.meeting.find(&difference, self.ahead, |normal| {
            let mut allowed = normal;
            if let Some(limits) = &*limits {
                allowed = limits.project_local_normal(allowed)?;
            }
            let Some(others) = &*other_limits else { return Some(allowed) };
            let allowed = turn * -others.project_local_normal(back * -allowed)?;
            // What the neighbours of the second make of it, those of the first must allow as well: else it is an inner edge of one of
            // them that is in the way.
            let again = limits.as_ref().map_or(Some(allowed), |limits| limits.project_local_normal(allowed))?;
            (again.dot(allowed) > SAME_NORMAL).then_some(allowed)
        });
        let (centre, rotation) = (self.first.centre, self.first.rotation);
        let normal = rotation * self.meeting.normal;
        let touches = self.meeting.touches.iter();
        self.hits.extend(touches.map(|touch| Hit { point: centre + rotation * touch.point, normal, gap: touch.gap }));
    }

    fn shape_on_terrain(&mut self, field: &HeightField, shape: &dyn Shape, part: &Part) {
        let around = shape.compute_aabb(&self.relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            self.add(&part_of(triangle, Origin::Terrain(field, index)), part);
        });
    }

    fn mesh_on_terrain(&mut self, field: &HeightField, mesh: &TriMesh) {
        let back = self.relative.inverse();
        let around = mesh.bvh().root_aabb().transform_by(&self.relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            let own = part_of(triangle, Origin::Terrain(field, index));
            let near = triangle.compute_aabb(&back).loosened(self.ahead);
            for other in mesh.bvh().intersect_aabb(&near) {
                self.add(&own, &part_of_mesh(mesh, other));
            }
        });
    }

    fn shape_on_mesh(&mut self, mesh: &TriMesh, shape: &dyn Shape, part: &Part) {
        let around = shape.compute_aabb(&self.relative).loosened(self.ahead);
        for index in mesh.bvh().intersect_aabb(&around) {
            self.add(&part_of_mesh(mesh, index), part);
        }
    }

    fn mesh_on_shape(&mut self, shape: &dyn Shape, part: &Part, mesh: &TriMesh) {
        let around = shape.compute_aabb(&self.relative.inverse()).loosened(self.ahead);
        for index in mesh.bvh().intersect_aabb(&around) {
            self.add(part, &part_of_mesh(mesh, index));
        }
    }

    /// The triangles of the larger mesh that come near the smaller one, each against those of the smaller that it comes near.
    fn mesh_on_mesh(&mut self, first: &TriMesh, second: &TriMesh) {
        let extent = |mesh: &TriMesh| mesh.bvh().root_aabb().half_extents().length_squared();
        let (relative, back) = (self.relative, self.relative.inverse());
        let flipped = extent(first) < extent(second);
        let (large, small, small_in_large, large_in_small) =
            if flipped { (second, first, back, relative) } else { (first, second, relative, back) };
        let around = small.bvh().root_aabb().transform_by(&small_in_large).loosened(self.ahead);
        for index in large.bvh().intersect_aabb(&around) {
            let near = large.triangle(index).compute_aabb(&large_in_small).loosened(self.ahead);
            for other in small.bvh().intersect_aabb(&near) {
                let (one, two) = (part_of_mesh(large, index), part_of_mesh(small, other));
                if flipped { self.add(&two, &one) } else { self.add(&one, &two) }
            }
        }
    }
}
