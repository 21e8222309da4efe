//! Rays against planes.

use simpartner_model::Plane;

use super::Ray;

/// The distance along a ray to a plane, m; 0 from below the plane.
pub(super) fn distance_to_plane(plane: &Plane, ray: &Ray) -> Option<f64> {
    let (height, slope) = (plane.normal.dot(ray.origin) - plane.distance, plane.normal.dot(ray.direction));
    let distance = if height <= 0.0 { 0.0 } else { -height / slope };
    (distance >= 0.0 && distance <= ray.range).then_some(distance)
}
