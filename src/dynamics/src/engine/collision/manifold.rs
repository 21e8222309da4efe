//! Contacts of any two shapes: convex ones at once, meshes face by face ([`super::faces`]), terrain triangle by
//! triangle.
//!
//! Every search is made afresh, so that none of it is part of the state, in buffers that are kept, so that a step
//! allocates nothing. What the neighbours of a triangle or face allow its normals to be is parry's.

use std::cell::LazyCell;

use bevy_math::{DMat3, DVec3};

use super::{
    Hit,
    convex::{Core, Difference, Meeting},
    faces::{Faces, Window},
    narrow::Placed,
};
use crate::parry::{
    bounding_volume::{Aabb, BoundingVolume},
    math::Pose,
    query::details::NormalConstraints,
    shape::{HeightField, Shape, Triangle, TrianglePseudoNormals},
};

/// Normals at a smaller angle than 1e-4 are one, by their cosine: far above rounding, and far below any edge that is
/// one.
const SAME_NORMAL: f64 = 1.0 - 5e-9;

/// A convex part of a shape, in the shape's frame, with the layer around it.
struct Part<'a> {
    core: Core<'a>,
    layer: f64,
    of: Origin<'a>,
}

/// What a part is of: a convex shape, or terrain whose triangle of this number it is, or a mesh whose face.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Convex,
    Terrain(&'a HeightField, u32),
    Mesh(&'a Faces, u32),
}

impl<'a> Origin<'a> {
    /// The directions in which the neighbours of a triangle let it press. They cost more than it takes to see that a
    /// shape is not near.
    fn limits(self) -> Limits<'a> {
        match self {
            Self::Convex => Limits::None,
            Self::Terrain(field, index) => {
                field.triangle_normal_constraints(index).map_or(Limits::None, Limits::Triangle)
            }
            Self::Mesh(faces, index) => Limits::Face(faces, index),
        }
    }
}

/// In which directions a part may press.
enum Limits<'a> {
    None,
    Triangle(TrianglePseudoNormals),
    Face(&'a Faces, u32),
}

impl Limits<'_> {
    /// The one nearest to a direction; `None` if there is none on its side.
    fn allow(&self, direction: DVec3) -> Option<DVec3> {
        match self {
            Self::None => Some(direction),
            Self::Triangle(limits) => limits.project_local_normal(direction),
            Self::Face(faces, index) => faces.allow(*index, direction),
        }
    }
}

/// Memory of the searches.
#[derive(Default)]
pub(super) struct Manifold {
    meeting: Meeting,
    /// How far apart two convex shapes were at least, m.
    pub(super) apart: f64,
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
        let (field, meshes) = (a.shape.as_heightfield(), [a.outline.faces(), b.outline.faces()]);
        match (field, meshes, a.part(), b.part()) {
            (Some(field), [_, Some(mesh)], ..) => search.mesh_on_terrain(field, mesh),
            (Some(field), _, _, Some(part)) => search.shape_on_terrain(field, &part),
            (None, [Some(first), Some(second)], ..) => search.mesh_on_mesh(first, second),
            (None, [Some(mesh), None], _, Some(part)) => search.shape_on_mesh(mesh, &*b.shape.0, &part),
            (None, [None, Some(mesh)], Some(part), _) => search.mesh_on_shape(&*a.shape.0, &part, mesh),
            (None, _, Some(one), Some(two)) => {
                search.meeting.apart = f64::NEG_INFINITY;
                search.add(&one, &two);
                self.apart = self.meeting.apart;
            }
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

impl Part<'_> {
    /// Whether a direction is the normal of a triangle of terrain, along which it may press whatever is beside it: most
    /// contacts do, and the neighbours need not be looked at.
    fn always_allows(&self, direction: DVec3) -> bool {
        matches!(self.of, Origin::Terrain(..)) && self.core.own_normal() == Some(direction)
    }
}

fn part_of_mesh(faces: &Faces, index: u32) -> Part<'_> {
    part(Core::Face(faces.face(index)), Origin::Mesh(faces, index))
}

fn part_of<'a>(triangle: &Triangle, of: Origin<'a>) -> Part<'a> {
    part(Core::Triangle([triangle.a, triangle.b, triangle.c]), of)
}

fn part<'a>(core: Core<'a>, of: Origin<'a>) -> Part<'a> {
    #[cfg(test)]
    super::count::LOOKED_AT.set(super::count::LOOKED_AT.get() + 1);
    Part { core, layer: 0.0, of }
}

impl Search<'_> {
    /// Adds the contacts of two convex parts.
    fn add(&mut self, one: &Part, two: &Part) {
        let (turn, back) = (self.turn, self.turn.transpose());
        let cores = [(one.core, one.layer), (two.core, two.layer)];
        let Some(difference) = Difference::new(cores, turn, self.relative.translation, self.ahead) else { return };
        let (limits, other_limits) = (LazyCell::new(|| one.of.limits()), LazyCell::new(|| two.of.limits()));
        self.meeting.find(&difference, self.ahead, |normal| {
            let allowed = if one.always_allows(normal) { normal } else { limits.allow(normal)? };
            if let Limits::None = *other_limits {
                return Some(allowed);
            }
            let allowed = turn * -other_limits.allow(back * -allowed)?;
            // What the neighbours of the second make of it, those of the first must allow as well: else it is an inner
            // edge of one of them that is in the way.
            let again = limits.allow(allowed)?;
            (again.dot(allowed) > SAME_NORMAL).then_some(allowed)
        });
        let (centre, rotation) = (self.first.centre, self.first.rotation);
        let normal = rotation * self.meeting.normal;
        let touches = self.meeting.touches.iter();
        self.hits.extend(touches.map(|touch| Hit { point: centre + rotation * touch.point, normal, gap: touch.gap }));
    }

    fn shape_on_terrain(&mut self, field: &HeightField, part: &Part) {
        let (back, middle, more) = (self.turn.transpose(), self.relative.translation, self.ahead + part.layer);
        let reach = |sign: f64| DVec3::from_array(DVec3::AXES.map(|axis| part.core.extent(back * axis * sign) + more));
        let around = Aabb::new(middle - reach(-1.0), middle + reach(1.0));
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            self.add(&part_of(triangle, Origin::Terrain(field, index)), part);
        });
    }

    fn mesh_on_terrain(&mut self, field: &HeightField, mesh: &Faces) {
        let back = self.relative.inverse();
        let around = mesh.all_bounds().transform_by(&self.relative).loosened(self.ahead);
        field.map_elements_in_local_aabb(&around, &mut |index, triangle| {
            let own = part_of(triangle, Origin::Terrain(field, index));
            let near = triangle.compute_aabb(&back);
            for other in mesh.near(&Window::new(&near, &Pose::IDENTITY, self.ahead)) {
                self.add(&own, &part_of_mesh(mesh, other));
            }
        });
    }

    fn shape_on_mesh(&mut self, mesh: &Faces, shape: &dyn Shape, part: &Part) {
        for index in mesh.near(&Window::new(&shape.compute_local_aabb(), &self.relative, self.ahead)) {
            self.add(&part_of_mesh(mesh, index), part);
        }
    }

    fn mesh_on_shape(&mut self, shape: &dyn Shape, part: &Part, mesh: &Faces) {
        for index in mesh.near(&Window::new(&shape.compute_local_aabb(), &self.relative.inverse(), self.ahead)) {
            self.add(part, &part_of_mesh(mesh, index));
        }
    }

    /// The faces of the larger mesh that come near the smaller one, each against those of the smaller that it comes
    /// near.
    fn mesh_on_mesh(&mut self, first: &Faces, second: &Faces) {
        let extent = |mesh: &Faces| mesh.all_bounds().half_extents().length_squared();
        let (relative, back) = (self.relative, self.relative.inverse());
        let flipped = extent(first) < extent(second);
        let (large, small, small_in_large, large_in_small) =
            if flipped { (second, first, back, relative) } else { (first, second, relative, back) };
        for index in large.near(&Window::new(&small.all_bounds(), &small_in_large, self.ahead)) {
            let near = large.bounds(index, &large_in_small);
            for other in small.near(&Window::new(&near, &Pose::IDENTITY, self.ahead)) {
                let (one, two) = (part_of_mesh(large, index), part_of_mesh(small, other));
                if flipped { self.add(&two, &one) } else { self.add(&one, &two) }
            }
        }
    }
}
