//! Narrow phase: contacts of two shapes. Pairs of balls, and all shapes on a plane, are computed here;
//! [`super::manifold`] and [`super::triangles`] handle all other pairs.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

use super::{
    hit::{Hit, thin_part},
    manifold::Manifold,
    neighbour::Neighbour,
    outline::Outline,
    placed_shape::Placed,
    seam_contacts::{self, Beside},
    triangles::Triangles,
};
use crate::parry::query::{ShapeCastOptions, cast_shapes};

/// Smallest cosine between normals of one face, 1.1 degrees.
const SAME_FACE_COS: f64 = 0.9998;
/// Distance within which two points of a face count as one, as a fraction of the size of the smaller shape; and its
/// upper bound, m.
const SAME_POINT_DISTANCE: f64 = 1e-3;
const MAX_SAME_POINT_DISTANCE: f64 = 1e-4;
/// Relative difference below which two lengths count as equal in the choice of corners.
const SCORE_TOLERANCE: f64 = 1e-9;
/// Most corners that [`reduce_hits`] keeps of a face, without the deeper point.
pub(super) const MAX_KEPT_CORNERS: usize = 4;
/// Depth by which a point must exceed the kept corners to be kept as well, m. Smaller gaps are zero to a contact.
const DEPTH_TOLERANCE: f64 = 1e-6;

/// Buffers of the searches, kept so that steps allocate nothing.
#[derive(Default)]
pub(super) struct Memory {
    manifold: Manifold,
    triangles: Triangles,
    /// Hits that are not yet assigned to a face, and the hits of one face.
    rest: Vec<Hit>,
    face: Vec<Hit>,
}

impl Memory {
    /// Lower bound of the distance of the last pair without a contact, m; minus infinity if unknown.
    pub(super) fn min_distance(&self) -> f64 {
        self.manifold.min_distance
    }
}

/// Adds the contacts of a shape with the half space below `normal · x = distance` that are nearer than `ahead`, m. The
/// normal points to the shape.
pub(super) fn contacts_on_plane(normal: DVec3, distance: f64, body: &Placed, ahead: f64, hits: &mut Vec<Hit>) {
    let mut touch = |point: DVec3| {
        let gap = normal.dot(point) - distance;
        if gap < ahead {
            hits.push(Hit { point: point - normal * (gap - 0.5 * thin_part(gap)), normal, gap });
        }
    };
    let (centre, matrix) = (body.centre, DMat3::from_quat(body.rotation));
    match body.outline {
        Outline::Ball(radius) => touch(centre - normal * *radius),
        Outline::Ellipsoid(own) => touch(centre + matrix * own.support(matrix.transpose() * -normal)),
        Outline::Capsule { radius, half } => {
            let axis = matrix.y_axis * *half;
            touch(centre + axis - normal * *radius);
            touch(centre - axis - normal * *radius);
        }
        Outline::Box(half) => {
            let (x, y, z) = (matrix.x_axis * half.x, matrix.y_axis * half.y, matrix.z_axis * half.z);
            for k in 0..8 {
                let sign = |bit: u8| if k & bit == 0 { 1.0 } else { -1.0 };
                touch(centre + x * sign(1) + y * sign(2) + z * sign(4));
            }
        }
        Outline::Cylinder { radius, half } => {
            let end = matrix.y_axis * *half;
            let (low, side) = rim_offsets(&matrix, normal, *radius);
            let below = if end.dot(normal) > 0.0 { -end } else { end };
            touch(centre + below + low);
            touch(centre + below - low);
            touch(centre + below + side);
            touch(centre + below - side);
            touch(centre - below + low);
        }
        Outline::Cone { radius, half } => {
            let end = matrix.y_axis * *half;
            let (low, side) = rim_offsets(&matrix, normal, *radius);
            for point in [end, -end + low, -end - low, -end + side, -end - side] {
                touch(centre + point);
            }
        }
        corners @ (Outline::Hull(_) | Outline::Mesh(..) | Outline::Points(_)) => {
            corners.corner_points().iter().for_each(|point| touch(centre + matrix * *point))
        }
    }
}

/// Vectors from the centre of a round end to the lowest point of its rim, and to the side, m.
fn rim_offsets(matrix: &DMat3, normal: DVec3, radius: f64) -> (DVec3, DVec3) {
    let axis = matrix.y_axis;
    let down = axis * axis.dot(normal) - normal;
    let length = down.norm();
    let low = if length > 1e-9 { down / length } else { matrix.x_axis };
    (low * radius, axis.cross(low) * radius)
}

/// Drops all hits if none is within `reach` and the second shape, displaced by `motion` relative to the first, does not
/// come within `reach` either. A shape that passes by must not be pushed out of its way.
pub(super) fn drop_unreached(a: &Placed, b: &Placed, motion: DVec3, reach: f64, hits: &mut Vec<Hit>) {
    // A hit within reach counts in any case.
    if hits.is_empty() || hits.iter().any(|hit| hit.gap <= reach) {
        return;
    }
    let options = ShapeCastOptions { target_distance: reach, ..ShapeCastOptions::with_max_time_of_impact(1.0) };
    let still = DVec3::ZERO;
    // If parry reports an error, nothing is dropped.
    if let Ok(None) = cast_shapes(&a.pose(), still, &*a.shape.0, &b.pose(), motion, &*b.shape.0, options) {
        hits.clear();
    }
}

/// Adds the contacts of two shapes nearer than `ahead`, m; normals from the first to the second. A ground must be the
/// first shape. `beside` has the shapes beside either on its rigid piece, if there are any.
pub(super) fn contacts_of_pair(
    a: &Placed,
    b: &Placed,
    ahead: f64,
    beside: Option<Beside>,
    memory: &mut Memory,
    hits: &mut Vec<Hit>,
) {
    memory.manifold.min_distance = f64::NEG_INFINITY;
    match (a.outline, b.outline) {
        (Outline::Ball(first), Outline::Ball(second)) => {
            let offset = b.centre - a.centre;
            let distance = offset.norm();
            let gap = distance - first - second;
            if gap < ahead {
                // Two balls with the same centre are separated along y, an arbitrary direction.
                let normal = if distance > 1e-12 { offset / distance } else { DVec3::Y };
                hits.push(Hit { point: a.centre + normal * (first + 0.5 * gap), normal, gap });
            }
        }
        (_, Outline::Ball(radius)) if has_triangles(a) => {
            ball_on_surface([a, b], *radius, ahead, (0, beside), &mut memory.triangles, hits);
        }
        (Outline::Ball(radius), _) if has_triangles(b) => {
            let start = hits.len();
            ball_on_surface([b, a], *radius, ahead, (1, beside), &mut memory.triangles, hits);
            hits[start..].iter_mut().for_each(|hit| hit.normal = -hit.normal);
        }
        _ => memory.manifold.find_hits(a, b, ahead, beside, hits),
    }
}

fn has_triangles(placed: &Placed) -> bool {
    placed.shape.as_trimesh().is_some() || placed.shape.as_heightfield().is_some()
}

/// Adds the contacts of a surface of triangles with a ball, normals towards the ball. `side` is the index of the
/// surface in the pair.
fn ball_on_surface(
    [surface, ball]: [&Placed; 2],
    radius: f64,
    ahead: f64,
    (side, beside): (usize, Option<Beside>),
    triangles: &mut Triangles,
    hits: &mut Vec<Hit>,
) {
    let start = hits.len();
    let local = surface.rotation.inverse() * (ball.centre - surface.centre);
    if let Some(mesh) = surface.shape.as_trimesh() {
        triangles.ball_on_mesh(mesh, local, radius, ahead, hits);
    } else if let Some(field) = surface.shape.as_heightfield() {
        triangles.ball_on_heightfield(field, local, radius, ahead, hits);
    }
    for hit in &mut hits[start..] {
        hit.normal = surface.rotation * hit.normal;
        hit.point = surface.centre + surface.rotation * hit.point;
    }
    if let Some(beside) = beside.filter(|beside| !beside.lists[side].is_empty()) {
        let own = Neighbour::Shape(*surface);
        seam_contacts::keep_allowed_of_ball((side, &own), (ball.centre, radius), &beside, start, hits);
    }
    hits[start..].iter_mut().for_each(|hit| hit.point += hit.normal * (0.5 * thin_part(hit.gap)));
}

/// Reduces the hits of each face to at most four corners, and one point that is deeper. On the corners of a rectangle,
/// a flat face stands as it does on all of its points. More points would only enlarge the problem and make its solution
/// less determined. Coincident points are merged.
pub(super) fn reduce_hits(hits: &mut Vec<Hit>, size: f64, memory: &mut Memory) {
    let near = MAX_SAME_POINT_DISTANCE.min(SAME_POINT_DISTANCE * size);
    let mut index = 1;
    while index < hits.len() {
        let hit = hits[index];
        let same = |other: &Hit| {
            (other.point - hit.point).length_squared() < near * near && other.normal.dot(hit.normal) > SAME_FACE_COS
        };
        match hits[..index].iter().position(same) {
            Some(other) => {
                hits[other].gap = hits[other].gap.min(hit.gap);
                hits.remove(index);
            }
            None => index += 1,
        }
    }
    if hits.len() <= 2 {
        return;
    }
    let Memory { rest, face, .. } = memory;
    std::mem::swap(hits, rest);
    hits.clear();
    while let Some(first) = rest.first().map(|hit| hit.normal) {
        face.clear();
        rest.retain(|hit| {
            let belongs = hit.normal.dot(first) > SAME_FACE_COS;
            if belongs {
                face.push(*hit);
            }
            !belongs
        });
        if face.is_empty() {
            // A NaN normal belongs to no face, not even its own.
            rest.clear();
        } else {
            keep_corners(face, near, hits);
        }
    }
}

/// Keeps two distant corners of a face, the points farthest to both sides of the line between them unless they are on
/// it, and a deeper point if there is one. Gaps that differ by rounding only do not matter, so the choice is the same
/// as in the last step.
fn keep_corners(face: &[Hit], near: f64, hits: &mut Vec<Hit>) {
    let best = |score: &dyn Fn(&Hit) -> f64| {
        let mut best = (f64::NEG_INFINITY, 0);
        for (index, hit) in face.iter().enumerate() {
            let score = score(hit);
            if score > best.0 + SCORE_TOLERANCE * score.abs() {
                best = (score, index);
            }
        }
        best.1
    };
    let farthest = |from: DVec3| best(&|hit: &Hit| (hit.point - from).length_squared());
    let one = farthest(face[0].point);
    let other = farthest(face[one].point);
    let from = face[one].point;
    let across = (face[other].point - from).cross(face[one].normal).normalized_or_zero();
    let offset_from_line = |hit: &Hit| (hit.point - from).dot(across);
    let mut kept: [usize; MAX_KEPT_CORNERS] =
        [one, other, best(&offset_from_line), best(&|hit| -offset_from_line(hit))];
    for index in &mut kept[2..] {
        if offset_from_line(&face[*index]).abs() < near {
            *index = one;
        }
    }
    kept.sort_unstable();
    let start = hits.len();
    for (place, &index) in kept.iter().enumerate() {
        if !kept[..place].contains(&index) {
            hits.push(face[index]);
        }
    }
    let least = hits[start..].iter().map(|hit| hit.gap).fold(f64::INFINITY, f64::min);
    let deepest = face.iter().fold(face[0], |deepest, hit| if hit.gap < deepest.gap { *hit } else { deepest });
    if deepest.gap < least - DEPTH_TOLERANCE {
        hits.push(deepest);
    }
}
