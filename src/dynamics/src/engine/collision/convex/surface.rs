//! The surface of a convex shape about a point: the height of the point, and the faces near it.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::solid::{Core, cone_side_normal, triangle_normal};
use crate::ellipsoid::Ellipsoid;

impl Core<'_> {
    /// Height of a point above the shape with a rounding layer, m: the largest of its heights above the planes of the
    /// faces, negative inside. It is at most the distance. A triangle or face has no inside.
    pub(in crate::engine::collision) fn height_of(&self, layer: f64, point: DVec3) -> f64 {
        let radial = DVec3::new(point.x, 0.0, point.z);
        let height = match *self {
            Self::Segment(half) => (point - DVec3::Y * point.y.clamp(-half, half)).norm(),
            Self::Box(half) => (point.abs() - half).max_element(),
            Self::Cylinder { radius, half } => (radial.norm() - radius).max(point.y.abs() - half),
            Self::Cone { radius, half } => {
                let side = cone_side_normal(radial, radius, half);
                side.dot(point - DVec3::Y * half).max(-point.y - half)
            }
            Self::Ellipsoid(ellipsoid) => height_above_ellipsoid(&ellipsoid, point),
            Self::Hull(hull) => hull.height_of(point),
            Self::Triangle(corners) => flat_height(&corners, triangle_normal(&corners), point),
            Self::Face(face) => flat_height(face.corners, face.normal, point),
        };
        height - layer
    }

    /// Calls `visit` with the outward normal of each face whose plane is less than `depth`, m, above a point. A round
    /// side has the normal at the point.
    pub(in crate::engine::collision) fn visit_faces(
        &self,
        layer: f64,
        point: DVec3,
        depth: f64,
        visit: &mut dyn FnMut(DVec3),
    ) {
        let radial = DVec3::new(point.x, 0.0, point.z);
        let mut attempt = |normal: DVec3, height: f64| {
            if height > -depth {
                visit(normal);
            }
        };
        match *self {
            Self::Segment(half) => {
                let from = point - DVec3::Y * point.y.clamp(-half, half);
                attempt(from.try_normalized().unwrap_or(DVec3::X), from.norm() - layer);
            }
            Self::Box(half) => {
                for axis in 0..3 {
                    attempt(DVec3::AXES[axis], point[axis] - half[axis]);
                    attempt(-DVec3::AXES[axis], -point[axis] - half[axis]);
                }
            }
            Self::Cylinder { radius, half } => {
                attempt(DVec3::Y, point.y - half);
                attempt(DVec3::NEG_Y, -point.y - half);
                attempt(radial.try_normalized().unwrap_or(DVec3::X), radial.norm() - radius);
            }
            Self::Cone { radius, half } => {
                let side = cone_side_normal(radial, radius, half);
                attempt(DVec3::NEG_Y, -point.y - half);
                attempt(side, side.dot(point - DVec3::Y * half));
            }
            Self::Ellipsoid(ellipsoid) => {
                attempt(ellipsoid.nearest_normal(point), height_above_ellipsoid(&ellipsoid, point));
            }
            Self::Hull(hull) => hull.planes_at(point).for_each(|(normal, height)| attempt(normal, height)),
            Self::Triangle(corners) => attempt(triangle_normal(&corners), 0.0),
            Self::Face(face) => {
                attempt(face.normal, 0.0);
                if !face.is_one_sided {
                    attempt(-face.normal, 0.0);
                }
            }
        }
    }
}

/// Height of a point above the tangent plane of an ellipsoid at the surface point nearest to it, m.
fn height_above_ellipsoid(ellipsoid: &Ellipsoid, point: DVec3) -> f64 {
    let normal = ellipsoid.nearest_normal(point);
    normal.dot(point) - ellipsoid.extent(normal)
}

/// Distance of a point from a polygon, along its plane or across it, the larger of the two, m.
fn flat_height(corners: &[DVec3], normal: DVec3, point: DVec3) -> f64 {
    (point - corners[0]).dot(normal).abs().max(distance_beside(corners, normal, point))
}

/// Distance of a point outside of a convex polygon along its plane, m; negative inside. The corners are
/// counterclockwise about the normal.
pub(in crate::engine::collision) fn distance_beside(corners: &[DVec3], normal: DVec3, point: DVec3) -> f64 {
    let sides = corners.iter().zip(corners.iter().cycle().skip(1));
    sides
        .map(|(from, to)| (point - *from).dot((*to - *from).cross(normal).normalized_or_zero()))
        .fold(f64::NEG_INFINITY, f64::max)
}
