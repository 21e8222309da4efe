//! The Minkowski difference of two convex shapes: its support points, separations and faces.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

use super::solid::Core;

/// Depth up to which overlapping shapes touch along the faces that they turn to each other, as a fraction of the size:
/// the depth in any other direction is about the same.
pub(super) const SHALLOW_DEPTH: f64 = 1e-5;
/// Largest depth behind a face of a surface that counts as penetration through that face, as a fraction of the size,
/// and in metres. A deeper point may be on the far side of a thin sheet.
const MAX_DEPTH_BEHIND: f64 = 1e-3;
const MAX_DEPTH_BEHIND_M: f64 = 1e-4;
/// Error allowed for a distance, as a fraction of the size, and the addition for overlapping shapes, as a fraction of
/// the depth.
pub(super) const DISTANCE_TOLERANCE: f64 = 1e-12;
const DEPTH_TOLERANCE: f64 = 1e-5;

/// Minkowski difference of two convex shapes, in the frame of the first. A shape is a core and a rounding layer around
/// it, whose thickness, m, is in `layers`.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::collision) struct Difference<'a> {
    pub(super) cores: [Core<'a>; 2],
    pub(super) layers: [f64; 2],
    /// `first_from_second`: rotation, and translation, m.
    pub(super) turn: DMat3,
    pub(super) shift: DVec3,
    /// Sum of the sizes of the shapes, the reference for tolerances, m.
    pub(super) size: f64,
}

/// A point of the first core minus one of the second, in the frame of the first, m; and the point of the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vertex {
    pub(super) point: DVec3,
    pub(super) first: DVec3,
}

impl Vertex {
    pub(super) const AT_ZERO: Self = Self { point: DVec3::ZERO, first: DVec3::ZERO };
}

impl<'a> Difference<'a> {
    /// The difference of shapes that may be nearer than `reach`, m; `None` if the first direction tested separates
    /// them.
    pub(in crate::engine::collision) fn new(
        [one, two]: [(Core<'a>, f64); 2],
        turn: DMat3,
        shift: DVec3,
        reach: f64,
    ) -> Option<Self> {
        let own = Self { cores: [one.0, two.0], layers: [one.1, two.1], turn, shift, size: 0.0 };
        if own.is_often_apart() && own.is_apart(reach + one.1 + two.1) {
            return None;
        }
        Some(Self { size: one.0.size() + one.1 + two.0.size() + two.1, ..own })
    }

    fn support_of_second(&self, direction: DVec3) -> DVec3 {
        self.turn * self.cores[1].support(self.turn.transpose() * direction) + self.shift
    }

    /// Support point of the difference: the farthest along a direction.
    pub(super) fn support_point(&self, direction: DVec3) -> Vertex {
        let first = self.cores[0].support(direction);
        Vertex { point: first - self.support_of_second(-direction), first }
    }

    /// A difference of inner points. A triangle or face may be much larger than the other shape, so its inner point is
    /// the one near the other's centre.
    pub(super) fn inner_point(&self) -> DVec3 {
        let [one, two] = self.cores;
        let first = one.inner_point(self.turn * two.middle() + self.shift);
        first - (self.turn * two.inner_point(self.turn.transpose() * (first - self.shift)) + self.shift)
    }

    /// True if testing one separating direction first pays off. A shape is near only few of the triangles and faces
    /// whose boxes it meets, and a hull has many faces.
    fn is_often_apart(&self) -> bool {
        self.cores.iter().any(|core| matches!(core, Core::Triangle(_) | Core::Face(_) | Core::Hull(_)))
    }

    /// True if the cores are farther apart than `reach`, m, along the direction that the distance search starts with.
    fn is_apart(&self, reach: f64) -> bool {
        let towards = self.inner_point();
        self.separation_along(-towards) > reach * towards.norm()
    }

    /// Separation of the cores along a unit vector, m; along any other vector, times its length.
    pub(super) fn separation_along(&self, normal: DVec3) -> f64 {
        let [one, two] = self.cores;
        self.shift.dot(normal) - one.extent(normal) - two.extent(self.turn.transpose() * -normal)
    }

    /// Separation of the shapes along a unit vector, m.
    pub(in crate::engine::collision) fn separation(&self, normal: DVec3) -> f64 {
        self.separation_along(normal) - self.layers[0] - self.layers[1]
    }

    /// Normals of the faces that the shapes turn to each other's centre, as directions from the first shape to the
    /// second.
    fn faces_between(&self) -> [DVec3; 2] {
        let [one, two] = self.cores;
        let first = one.face_below(self.turn * two.middle() + self.shift);
        let second = two.face_below(self.turn.transpose() * (one.middle() - self.shift));
        [first, self.turn * -second]
    }

    /// True if both are faces of surfaces, which have no thickness. Where these cross, the smaller penetration could be
    /// on either side, so their own normals decide.
    pub(super) fn are_surfaces(&self) -> bool {
        self.cores.iter().all(Core::is_one_sided)
    }

    /// True if both are lines or points. Their difference is flat and has no depth across it;
    /// [`super::best_axis_normal`] tries that direction.
    pub(super) fn are_lines(&self) -> bool {
        self.cores.iter().all(|core| matches!(core, Core::Segment(_)))
    }

    /// Largest depth of points behind a one-sided face that are still pushed out along its normal, m.
    fn max_depth_behind(&self) -> f64 {
        MAX_DEPTH_BEHIND_M.min(MAX_DEPTH_BEHIND * self.size)
    }

    /// Separations and normals of the faces to try first, and the largest penetration for which they count, m. If both
    /// shapes are surfaces, the larger separation comes first.
    ///
    /// # Errors
    /// A lower bound of the distance, m, if the shapes are farther apart than `reach`; minus infinity if one is behind
    /// a face of the other.
    pub(super) fn faces_to_try(&self, reach: f64) -> Result<([(f64, DVec3); 2], f64), f64> {
        let mut faces = [(0.0, DVec3::ZERO); 2];
        for ((face, normal), core) in faces.iter_mut().zip(self.faces_between()).zip(&self.cores) {
            let separation = self.separation_along(normal);
            if separation >= reach {
                return Err(separation);
            }
            if core.is_one_sided() && self.separation_along(-normal) > self.max_depth_behind() {
                return Err(f64::NEG_INFINITY);
            }
            *face = (separation, normal);
        }
        if !self.are_surfaces() {
            return Ok((faces, SHALLOW_DEPTH * self.size));
        }
        if faces[1].0 > faces[0].0 {
            faces.swap(0, 1);
        }
        Ok((faces, self.max_depth_behind()))
    }

    /// Error allowed for the distance of which a separation is computed, m.
    pub(super) fn distance_tolerance(&self, separation: f64) -> f64 {
        DISTANCE_TOLERANCE * self.size + DEPTH_TOLERANCE * separation.abs()
    }

    /// Normals of the faces that the shapes turn along a direction and against it, both as directions from the first to
    /// the second.
    pub(super) fn faces_along(&self, normal: DVec3) -> [DVec3; 2] {
        let second = self.cores[1].face_along(self.turn.transpose() * -normal);
        [self.cores[0].face_along(normal), self.turn * -second]
    }

    /// Normal and corners of the face that a shape turns in a direction.
    pub(super) fn face_towards(&self, index: usize, direction: DVec3, corners: &mut Vec<DVec3>) -> DVec3 {
        let core = &self.cores[index];
        if index == 0 {
            let normal = core.face_along(direction);
            core.face_corners(normal, direction, corners);
            return normal;
        }
        let direction = self.turn.transpose() * direction;
        let normal = core.face_along(direction);
        core.face_corners(normal, direction, corners);
        corners.iter_mut().for_each(|corner| *corner = self.turn * *corner + self.shift);
        self.turn * normal
    }
}
