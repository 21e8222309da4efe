//! A shape beside another one on the same rigid piece: the height of a point above it, and its faces about a point.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{convex::distance_beside, placed_shape::Placed};
use crate::parry::{bounding_volume::Aabb, shape::HeightField};

/// Largest width of a gap between two shapes that is a seam, m: 0.1 mm with a margin for rounding and for the position
/// of a point that is not exactly on the surface.
pub(super) const MAX_SEAM_GAP: f64 = 1.2e-4;
/// Height range about the faces of a mesh in which points count as inside or outside, m. It exceeds the distance by
/// which [`super::seam_contacts`] displaces points, and the penetration of a body that slides.
const MESH_REACH: f64 = 5e-4;
/// Depth below terrain to which points count as inside, m. The ground is solid.
const TERRAIN_DEPTH: f64 = 1.0;

/// A shape, or the half space below the plane n x = d.
pub(super) enum Neighbour<'a> {
    Shape(Placed<'a>),
    Plane(DVec3, f64),
}

impl Neighbour<'_> {
    /// Height of a point above the shape, m, negative inside; infinite where a mesh has no face near.
    pub(super) fn height_of(&self, point: DVec3) -> f64 {
        let placed = match self {
            Self::Plane(normal, distance) => return normal.dot(point) - distance,
            Self::Shape(placed) => placed,
        };
        let local = placed.rotation.inverse() * (point - placed.centre);
        if let Some((core, layer)) = placed.outline.core() {
            return core.height_of(layer, local);
        }
        let mut height: Option<f64> = None;
        placed.visit_flat_faces(local, [MESH_REACH, TERRAIN_DEPTH], &mut |_, own| {
            height = Some(height.map_or(own, |height| height.max(own)));
        });
        height.unwrap_or(f64::INFINITY)
    }

    /// Calls `visit` with the outward normal of each face within the width of a seam of a point.
    pub(super) fn visit_faces_at(&self, point: DVec3, visit: &mut dyn FnMut(DVec3)) {
        let placed = match self {
            Self::Plane(normal, distance) => {
                if (normal.dot(point) - distance).abs() <= MAX_SEAM_GAP {
                    visit(*normal);
                }
                return;
            }
            Self::Shape(placed) => placed,
        };
        let local = placed.rotation.inverse() * (point - placed.centre);
        match placed.outline.core() {
            Some((core, layer)) => {
                core.visit_faces(layer, local, MAX_SEAM_GAP, &mut |normal| visit(placed.rotation * normal));
            }
            None => placed.visit_flat_faces(local, [MAX_SEAM_GAP; 2], &mut |normal, height| {
                if height.abs() <= MAX_SEAM_GAP {
                    visit(placed.rotation * normal);
                }
            }),
        }
    }
}

impl Placed<'_> {
    /// Calls `visit` with the normal of each face of a mesh or terrain beside which a point is, and with the height of
    /// the point above its plane, m. The two values of `reach` limit that height for a mesh and for terrain, m.
    fn visit_flat_faces(&self, point: DVec3, reach: [f64; 2], visit: &mut dyn FnMut(DVec3, f64)) {
        if let Some(faces) = self.outline.faces() {
            faces.visit_faces(point, MAX_SEAM_GAP, reach[0], visit);
        } else if let Some(field) = self.shape.as_heightfield() {
            visit_terrain(field, point, reach[1], visit);
        }
    }
}

/// Calls `visit` with the upward normal of each triangle of terrain above or below a point, and with the height of the
/// point above its plane, m.
fn visit_terrain(field: &HeightField, point: DVec3, reach: f64, visit: &mut dyn FnMut(DVec3, f64)) {
    let around = DVec3::new(MAX_SEAM_GAP, reach, MAX_SEAM_GAP);
    field.map_elements_in_local_aabb(&Aabb::new(point - around, point + around), &mut |_, triangle| {
        let corners = [triangle.a, triangle.b, triangle.c];
        let area = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        let Some(normal) = area.try_normalized() else { return };
        if distance_beside(&corners, normal, point) <= MAX_SEAM_GAP {
            let up = normal * 1f64.copysign(normal.y);
            visit(up, (point - corners[0]).dot(up));
        }
    });
}
