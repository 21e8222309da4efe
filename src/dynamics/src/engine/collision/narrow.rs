//! Where two shapes meet. Two balls, and everything on a plane, are worked out here; all other pairs are those of
//! [`super::manifold`].

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Norm;

use super::{Hit, Outline, convex::Hull, manifold::Manifold, triangles::Triangles};
use crate::{
    parry::{
        math::Pose,
        query::{ShapeCastOptions, cast_shapes},
        shape::SharedShape,
    },
    shape,
};

/// Normals that differ by less than this cosine, 1.1 degrees, belong to one face.
const SAME_FACE: f64 = 0.9998;
/// Points of one face that are nearer to each other than this part of the smaller shape's size are one; at most so many
/// metres.
const SAME_POINT: f64 = 1e-3;
const SAME_POINT_AT_MOST: f64 = 1e-4;
/// Lengths that differ by less than this part are one where corners are chosen.
const SAME_SCORE: f64 = 1e-9;
/// A point of a face that is deeper than its corners by no more than this, m, counts as they do: such gaps are zero to
/// a contact.
const SAME_DEPTH: f64 = 1e-6;

/// A shape where it is now.
pub(super) struct Placed<'a> {
    pub(super) outline: &'a Outline,
    pub(super) shape: &'a SharedShape,
    pub(super) centre: DVec3,
    pub(super) rotation: DQuat,
}

impl Placed<'_> {
    /// `world_from_shape`.
    pub(super) fn pose(&self) -> Pose {
        shape::pose(&simpartner_model::Pose { translation: self.centre, rotation: self.rotation })
    }
}

/// Memory of the searches, kept so that they allocate none.
#[derive(Default)]
pub(super) struct Memory {
    manifold: Manifold,
    triangles: Triangles,
    /// Hits whose face is not known yet, and those of one face.
    rest: Vec<Hit>,
    face: Vec<Hit>,
}

impl Memory {
    /// How far apart the last pair is at least in which no contact was found, m; minus infinity where that is not
    /// known.
    pub(super) fn apart(&self) -> f64 {
        self.manifold.apart
    }
}

/// Contacts of a shape with the half space below `normal · x = distance`, the normal towards the shape.
pub(super) fn on_plane(normal: DVec3, distance: f64, body: &Placed, ahead: f64, hits: &mut Vec<Hit>) {
    let mut touch = |point: DVec3| {
        let gap = normal.dot(point) - distance;
        if gap < ahead {
            hits.push(Hit { point: point - normal * gap, normal, gap });
        }
    };
    let (centre, matrix) = (body.centre, DMat3::from_quat(body.rotation));
    match body.outline {
        Outline::Ball(radius) => touch(centre - normal * *radius),
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
            let (low, side) = rim(&matrix, normal, *radius);
            let below = if end.dot(normal) > 0.0 { -end } else { end };
            touch(centre + below + low);
            touch(centre + below - low);
            touch(centre + below + side);
            touch(centre + below - side);
            touch(centre - below + low);
        }
        Outline::Cone { radius, half } => {
            let end = matrix.y_axis * *half;
            let (low, side) = rim(&matrix, normal, *radius);
            for point in [end, -end + low, -end - low, -end + side, -end - side] {
                touch(centre + point);
            }
        }
        Outline::Hull(Hull { points, .. }) | Outline::Mesh(points, _) | Outline::Points(points) => {
            points.iter().for_each(|point| touch(centre + matrix * *point))
        }
    }
}

/// From the middle of a round end to its lowest point, and sideways.
fn rim(matrix: &DMat3, normal: DVec3, radius: f64) -> (DVec3, DVec3) {
    let axis = matrix.y_axis;
    let down = axis * axis.dot(normal) - normal;
    let length = down.norm();
    let low = if length > 1e-9 { down / length } else { matrix.x_axis };
    (low * radius, axis.cross(low) * radius)
}

/// Of what is not yet in reach, keeps only what the bodies really come to when the second moves on by `motion` relative
/// to the first: what passes by must not be pushed out of its way.
pub(super) fn keep_real(a: &Placed, b: &Placed, motion: DVec3, reach: f64, hits: &mut Vec<Hit>) {
    // What is in reach at once is met.
    if hits.is_empty() || hits.iter().any(|hit| hit.gap <= reach) {
        return;
    }
    let options = ShapeCastOptions { target_distance: reach, ..ShapeCastOptions::with_max_time_of_impact(1.0) };
    let still = DVec3::ZERO;
    // Where parry cannot tell, nothing is dropped.
    if let Ok(None) = cast_shapes(&a.pose(), still, &*a.shape.0, &b.pose(), motion, &*b.shape.0, options) {
        hits.clear();
    }
}

/// Contacts of two shapes, of which a ground is the first, normals from the first to the second.
pub(super) fn of_pair(a: &Placed, b: &Placed, ahead: f64, memory: &mut Memory, hits: &mut Vec<Hit>) {
    memory.manifold.apart = f64::NEG_INFINITY;
    match (a.outline, b.outline) {
        (Outline::Ball(first), Outline::Ball(second)) => {
            let offset = b.centre - a.centre;
            let distance = offset.norm();
            let gap = distance - first - second;
            if gap < ahead {
                // Two in one place go apart along a direction of our choice.
                let normal = if distance > 1e-12 { offset / distance } else { DVec3::Y };
                hits.push(Hit { point: a.centre + normal * (first + 0.5 * gap), normal, gap });
            }
        }
        (_, Outline::Ball(radius)) if has_triangles(a) => {
            ball_on_surface(a, b, *radius, ahead, &mut memory.triangles, hits);
        }
        (Outline::Ball(radius), _) if has_triangles(b) => {
            let start = hits.len();
            ball_on_surface(b, a, *radius, ahead, &mut memory.triangles, hits);
            hits[start..].iter_mut().for_each(|hit| hit.normal = -hit.normal);
        }
        _ => memory.manifold.find(a, b, ahead, hits),
    }
}

fn has_triangles(placed: &Placed) -> bool {
    placed.shape.as_trimesh().is_some() || placed.shape.as_heightfield().is_some()
}

fn ball_on_surface(
    surface: &Placed,
    ball: &Placed,
    radius: f64,
    ahead: f64,
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
        hit.point = surface.centre + surface.rotation * hit.point;
        hit.normal = surface.rotation * hit.normal;
    }
}

/// Keeps of every face the points that are corners of it, four at most, and one that is deeper. With the corners of a
/// rectangle a flat face stands as it does on all of its points: more would only make the problem larger and its
/// solution less determined. Of points that fall together one is enough.
pub(super) fn reduce(hits: &mut Vec<Hit>, size: f64, memory: &mut Memory) {
    let near = SAME_POINT_AT_MOST.min(SAME_POINT * size);
    let mut index = 1;
    while index < hits.len() {
        let hit = hits[index];
        let same = |other: &Hit| {
            (other.point - hit.point).length_squared() < near * near && other.normal.dot(hit.normal) > SAME_FACE
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
            let belongs = hit.normal.dot(first) > SAME_FACE;
            if belongs {
                face.push(*hit);
            }
            !belongs
        });
        if face.is_empty() {
            // A normal that is no number belongs to no face, not even its own.
            rest.clear();
        } else {
            keep_widest(face, near, hits);
        }
    }
}

/// Keeps two corners of a face that are far from each other, those farthest to both sides of the line between them
/// unless they are on it, and a deeper point if there is one. Gaps that are zero but for rounding have no say, so the
/// choice is that of the last step.
fn keep_widest(face: &[Hit], near: f64, hits: &mut Vec<Hit>) {
    let best = |score: &dyn Fn(&Hit) -> f64| {
        let mut best = (f64::NEG_INFINITY, 0);
        for (index, hit) in face.iter().enumerate() {
            let score = score(hit);
            if score > best.0 + SAME_SCORE * score.abs() {
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
    let aside = |hit: &Hit| (hit.point - from).dot(across);
    let mut kept = [one, other, best(&aside), best(&|hit| -aside(hit))];
    for index in &mut kept[2..] {
        if aside(&face[*index]).abs() < near {
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
    if deepest.gap < least - SAME_DEPTH {
        hits.push(deepest);
    }
}
