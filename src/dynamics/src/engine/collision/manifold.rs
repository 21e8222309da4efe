//! Contacts of any two shapes: convex ones as a whole, meshes face by face ([`super::faces`]), terrain triangle by
//! triangle.
//!
//! Each search starts afresh, so nothing of it is part of the state. Its buffers are kept, so a step allocates nothing.
//! The directions of normals that the neighbours of a triangle or face allow are parry's.

use std::cell::LazyCell;

use bevy_math::{DMat3, DVec3};

use super::{
    convex::{Core, Difference, Meeting},
    faces::{Faces, QueryBox},
    hit::Hit,
    placed_shape::Placed,
    seam_contacts::{Beside, PartPair},
};
use crate::parry::{
    bounding_volume::{Aabb, BoundingVolume},
    math::Pose,
    query::details::NormalConstraints,
    shape::{HeightField, Shape, Triangle, TrianglePseudoNormals},
};

/// Cosine of the angle of 1e-4, below which two normals count as equal: far above rounding, and far below any real
/// edge.
const SAME_NORMAL_COS: f64 = 1.0 - 5e-9;

/// A convex part of a shape, in the shape's frame, with the thickness of its rounding layer, m.
struct Part<'a> {
    core: Core<'a>,
    layer: f64,
    of: Origin<'a>,
}

/// Origin of a part: a convex shape, a triangle of terrain by its index, or a face of a mesh by its index.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Convex,
    Terrain(&'a HeightField, u32),
    Mesh(&'a Faces, u32),
}

impl<'a> Origin<'a> {
    /// Normals that the neighbours of a triangle allow. They are evaluated lazily, since they cost more than the test
    /// that a shape is far away.
    fn allowed_normals(self) -> Limits<'a> {
        match self {
            Self::Convex => Limits::None,
            Self::Terrain(field, index) => {
                field.triangle_normal_constraints(index).map_or(Limits::None, Limits::Triangle)
            }
            Self::Mesh(faces, index) => Limits::Face(faces, index),
        }
    }
}

/// Allowed directions of the contact normals of a part.
enum Limits<'a> {
    None,
    Triangle(TrianglePseudoNormals),
    Face(&'a Faces, u32),
}

impl Limits<'_> {
    /// The allowed normal nearest to a direction; `None` if there is none on its side.
    fn nearest_allowed_normal(&self, direction: DVec3) -> Option<DVec3> {
        match self {
            Self::None => Some(direction),
            Self::Triangle(limits) => limits.project_local_normal(direction),
            Self::Face(faces, index) => faces.nearest_allowed_normal(*index, direction),
        }
    }
}

/// Buffers of the searches, and the result of the last one.
#[derive(Default)]
pub(super) struct Manifold {
    meeting: Meeting,
    /// Lower bound of the distance of two convex shapes, m.
    pub(super) min_distance: f64,
}

/// A search for the contacts of two shapes nearer than `ahead`.
struct Search<'a> {
    meeting: &'a mut Meeting,
    first: &'a Placed<'a>,
    /// Pose of the second in the frame of the first; `turn` is its rotation matrix.
    relative: Pose,
    turn: DMat3,
    ahead: f64,
    second: &'a Placed<'a>,
    beside: Option<Beside<'a>>,
    hits: &'a mut Vec<Hit>,
}

impl Manifold {
    /// Adds the contacts of two shapes nearer than `ahead`, m; normals from the first to the second.
    pub(super) fn find_hits(
        &mut self,
        a: &Placed,
        b: &Placed,
        ahead: f64,
        beside: Option<Beside>,
        hits: &mut Vec<Hit>,
    ) {
        let back = a.rotation.inverse();
        let relative = Pose::from_parts(back * (b.centre - a.centre), back * b.rotation);
        let turn = DMat3::from_quat(relative.rotation);
        let mut search =
            Search { meeting: &mut self.meeting, first: a, second: b, relative, turn, ahead, beside, hits };
        let (field, meshes) = (a.shape.as_heightfield(), [a.outline.faces(), b.outline.faces()]);
        match (field, meshes, a.convex_part(), b.convex_part()) {
            (Some(field), [_, Some(mesh)], ..) => search.mesh_on_terrain(field, mesh),
            (Some(field), _, _, Some(part)) => search.shape_on_terrain(field, &part),
            (None, [Some(first), Some(second)], ..) => search.mesh_on_mesh(first, second),
            (None, [Some(mesh), None], _, Some(part)) => search.shape_on_mesh(mesh, &*b.shape.0, &part),
            (None, [None, Some(mesh)], Some(part), _) => search.mesh_on_shape(&*a.shape.0, &part, mesh),
            (None, _, Some(one), Some(two)) => {
                search.meeting.min_distance = f64::NEG_INFINITY;
                search.add_contacts(&one, &two);
                self.min_distance = self.meeting.min_distance;
            }
            _ => {}
        }
    }
}

impl Placed<'_> {
    /// The shape as one part, if it is convex.
    fn convex_part(&self) -> Option<Part<'_>> {
        self.outline.core().map(|(core, layer)| Part { core, layer, of: Origin::Convex })
    }
}

impl Part<'_> {
    /// True if a direction is the normal of a triangle of terrain, which its neighbours always allow. Most contacts are
    /// such, and skip the test of the neighbours.
    fn always_allows(&self, direction: DVec3) -> bool {
        matches!(self.of, Origin::Terrain(..)) && self.core.own_normal() == Some(direction)
    }
}

fn face_part(faces: &Faces, index: u32) -> Part<'_> {
    flat_part(Core::Face(faces.face(index)), Origin::Mesh(faces, index))
}

fn triangle_part<'a>(triangle: &Triangle, of: Origin<'a>) -> Part<'a> {
    flat_part(Core::Triangle([triangle.a, triangle.b, triangle.c]), of)
}

fn flat_part<'a>(core: Core<'a>, of: Origin<'a>) -> Part<'a> {
    #[cfg(test)]
    super::count::TRIANGLES_VISITED.set(super::count::TRIANGLES_VISITED.get() + 1);
    Part { core, layer: 0.0, of }
}

impl Search<'_> {
    /// Adds the contacts of two convex parts.
    fn add_contacts(&mut self, one: &Part, two: &Part) {
        let (turn, back) = (self.turn, self.turn.transpose());
        let cores = [(one.core, one.layer), (two.core, two.layer)];
        let Some(difference) = Difference::new(cores, turn, self.relative.translation, self.ahead) else { return };
        let (limits, other_limits) =
            (LazyCell::new(|| one.of.allowed_normals()), LazyCell::new(|| two.of.allowed_normals()));
        self.meeting.find_points(&difference, self.ahead, |normal| {
            let allowed = if one.always_allows(normal) { normal } else { limits.nearest_allowed_normal(normal)? };
            if let Limits::None = *other_limits {
                return Some(allowed);
            }
            let allowed = turn * -other_limits.nearest_allowed_normal(back * -allowed)?;
            // The neighbours of the first must also allow the result for the second. Otherwise an inner edge of one of
            // the surfaces is in the way.
            let again = limits.nearest_allowed_normal(allowed)?;
            (again.dot(allowed) > SAME_NORMAL_COS).then_some(allowed)
        });
        let (centre, rotation) = (self.first.centre, self.first.rotation);
        if let Some(beside) = self.beside.filter(|_| !self.meeting.touches.is_empty()) {
            let pair = PartPair {
                cores,
                centres: [centre, self.second.centre],
                rotations: [rotation, self.second.rotation],
                turn,
                ahead: self.ahead,
                beside,
            };
            pair.keep_allowed(self.meeting, &difference);
        }
        let normal = rotation * self.meeting.normal;
        let touches = self.meeting.touches.iter();
        self.hits.extend(touches.map(|touch| Hit { point: centre + rotation * touch.point, normal, gap: touch.gap }));
    }

    fn shape_on_terrain(&mut self, field: &HeightField, part: &Part) {
        let (back, middle, more) = (self.turn.transpose(), self.relative.translation, self.ahead + part.layer);
        let reach = |sign: f64| DVec3::from_array(DVec3::AXES.map(|axis| part.core.extent(back * axis * sign) + more));
        let around = Aabb::new(middle - reach(-1.0), middle + reach(1.0));
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            self.add_contacts(&triangle_part(triangle, Origin::Terrain(field, index)), part);
        });
    }

    /// Triangles of terrain near the mesh, each against the faces of the mesh near it.
    fn mesh_on_terrain(&mut self, field: &HeightField, mesh: &Faces) {
        let back = self.relative.inverse();
        let around = mesh.bounding_box().transform_by(&self.relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            let own = triangle_part(triangle, Origin::Terrain(field, index));
            let near = triangle.compute_aabb(&back);
            for other in mesh.faces_near(&QueryBox::new(&near, &Pose::IDENTITY, self.ahead)) {
                self.add_contacts(&own, &face_part(mesh, other));
            }
        });
    }

    fn shape_on_mesh(&mut self, mesh: &Faces, shape: &dyn Shape, part: &Part) {
        for index in mesh.faces_near(&QueryBox::new(&shape.compute_local_aabb(), &self.relative, self.ahead)) {
            self.add_contacts(&face_part(mesh, index), part);
        }
    }

    fn mesh_on_shape(&mut self, shape: &dyn Shape, part: &Part, mesh: &Faces) {
        for index in mesh.faces_near(&QueryBox::new(&shape.compute_local_aabb(), &self.relative.inverse(), self.ahead))
        {
            self.add_contacts(part, &face_part(mesh, index));
        }
    }

    /// Faces of the larger mesh near the smaller one, each against the faces of the smaller mesh near it.
    fn mesh_on_mesh(&mut self, first: &Faces, second: &Faces) {
        let extent = |mesh: &Faces| mesh.bounding_box().half_extents().length_squared();
        let (relative, back) = (self.relative, self.relative.inverse());
        let flipped = extent(first) < extent(second);
        let (large, small, small_in_large, large_in_small) =
            if flipped { (second, first, back, relative) } else { (first, second, relative, back) };
        for index in large.faces_near(&QueryBox::new(&small.bounding_box(), &small_in_large, self.ahead)) {
            let near = large.face_bounds(index, &large_in_small);
            for other in small.faces_near(&QueryBox::new(&near, &Pose::IDENTITY, self.ahead)) {
                let (one, two) = (face_part(large, index), face_part(small, other));
                if flipped { self.add_contacts(&two, &one) } else { self.add_contacts(&one, &two) }
            }
        }
    }
}
