//! Contact points of two faces: the corners of their intersection as seen along the normal, with the gap at each.
//!
//! Tilting or separating the faces slightly does not change the corners. The polygons overlap or they do not, and a
//! corner counts according to its gap.

use bevy_math::{DVec2, DVec3};
use simpartner_model::Norm;

use super::minkowski_difference::Difference;

/// Smallest cosine between the normals of a face and of the contact. A steeper face has no defined height along the
/// contact normal.
const MIN_FACE_COS: f64 = 0.02;
/// Distance of points outside of a face that still count as on it, as a fraction of the size, and its upper bound, m.
/// It exceeds the motion of blocks in a row that the solver's residual causes. Without it, the intersection of two
/// nearly coincident sides would be a corner that wanders along them.
const CLIP_TOLERANCE: f64 = 1e-8;
const MAX_CLIP_TOLERANCE: f64 = 1e-9;
/// Distance below which two lines touch in more than a point, as a fraction of the size: round sides are apart by half
/// the square of it.
const SAME_LINE_DISTANCE: f64 = 1e-6;

/// A face, or a line, projected along a direction.
#[derive(Debug, Default)]
struct Patch {
    corners: Vec<DVec2>,
    /// Height at the first corner, m, and its gradient.
    height: f64,
    slope: DVec2,
}

/// Buffers of the searches.
#[derive(Debug, Default)]
pub(super) struct Patches {
    patches: [Patch; 2],
    corners: Vec<DVec3>,
    common: Vec<DVec2>,
    clipped: Vec<DVec2>,
    /// Distance by which the clipping polygon is enlarged, m.
    pub(super) border: f64,
}

/// Unit vectors: the contact's normal and two tangents.
#[derive(Debug, Clone, Copy)]
struct View {
    x: DVec3,
    y: DVec3,
    normal: DVec3,
}

impl View {
    /// Coordinates of a point across the normal.
    fn project(&self, point: DVec3) -> DVec2 {
        DVec2::new(point.dot(self.x), point.dot(self.y))
    }
}

impl Patch {
    /// Projects a face. Returns false if its height along the normal is undefined.
    fn project_face(&mut self, corners: &[DVec3], normal: DVec3, view: &View) -> bool {
        self.corners.clear();
        self.corners.extend(corners.iter().map(|&corner| view.project(corner)));
        self.height = corners[0].dot(view.normal);
        self.slope = match corners {
            [_] => DVec2::ZERO,
            [from, to] => {
                let along = self.corners[1] - self.corners[0];
                let square = along.length_squared();
                if square == 0.0 {
                    return false;
                }
                along * ((*to - *from).dot(view.normal) / square)
            }
            _ => {
                let steepness = normal.dot(view.normal);
                if steepness.abs() < MIN_FACE_COS {
                    return false;
                }
                view.project(normal) / -steepness
            }
        };
        true
    }

    fn height_at(&self, point: DVec2) -> f64 {
        self.height + self.slope.dot(point - self.corners[0])
    }
}

impl Patches {
    /// Calls `touch` with each corner of the intersection of the two faces: a point half way between the surfaces, and
    /// the gap there, m.
    pub(super) fn clip_faces(&mut self, difference: &Difference, normal: DVec3, mut touch: impl FnMut(DVec3, f64)) {
        let (x, y) = normal.any_orthonormal_pair();
        let view = View { x, y, normal };
        for (index, direction) in [normal, -normal].into_iter().enumerate() {
            let face = difference.face_towards(index, direction, &mut self.corners);
            if !self.patches[index].project_face(&self.corners, face, &view) {
                return;
            }
        }
        let [one, two] = &self.patches;
        let (few, many) = if one.corners.len() > two.corners.len() { (two, one) } else { (one, two) };
        self.common.clear();
        if many.corners.len() > 2 {
            // The polygon with fewer sides cuts the other one; a polygon cuts a line or a point.
            let (cut, by) = if few.corners.len() > 2 { (many, few) } else { (few, many) };
            self.common.extend_from_slice(&cut.corners);
            clip_by_polygon(
                &mut self.common,
                &by.corners,
                MAX_CLIP_TOLERANCE.min(CLIP_TOLERANCE * difference.size).max(self.border),
                &mut self.clipped,
            );
        } else {
            self.common.extend_from_slice(&few.corners);
            clip_to_line(&mut self.common, &many.corners, SAME_LINE_DISTANCE * difference.size);
        }
        let [one_layer, two_layer] = difference.layers;
        for &point in &self.common {
            let (low, high) = (one.height_at(point) + one_layer, two.height_at(point) - two_layer);
            touch(x * point.x + y * point.y + normal * (0.5 * (low + high)), high - low);
        }
    }
}

/// Clips a polygon, a line or a point by the sides of a convex polygon (Sutherland and Hodgman 1974).
fn clip_by_polygon(subject: &mut Vec<DVec2>, polygon: &[DVec2], on: f64, memory: &mut Vec<DVec2>) {
    let around: f64 = sides_of(polygon).map(|(from, to)| (from - polygon[0]).perp_dot(to - polygon[0])).sum();
    for (from, to) in sides_of(polygon) {
        let along = to - from;
        let length = along.norm();
        if !(length > on) {
            continue;
        }
        let inwards = along.perp() * (1f64.copysign(around) / length);
        let depth = |point: DVec2| (point - from).dot(inwards) + on;
        memory.clear();
        for (start, end) in sides_of(subject) {
            let (first, second) = (depth(start), depth(end));
            if first >= 0.0 {
                memory.push(start);
            }
            if (first < 0.0) != (second < 0.0) {
                memory.push(start + (end - start) * (first / (first - second)));
            }
        }
        std::mem::swap(subject, memory);
    }
}

/// Pairs of each corner with the next.
fn sides_of(polygon: &[DVec2]) -> impl Iterator<Item = (DVec2, DVec2)> {
    polygon.iter().copied().zip(polygon.iter().copied().cycle().skip(1))
}

/// Clips a line, or a point, to its part within `near`, m, of another line.
fn clip_to_line(subject: &mut Vec<DVec2>, line: &[DVec2], near: f64) {
    let Some((direction, length)) = line.get(1).map(|end| (*end - line[0]).normalize_and_length()) else {
        subject.retain(|point| (*point - line[0]).norm() < near);
        return;
    };
    let along = |point: DVec2| (point - line[0]).dot(direction);
    if let [start, end] = subject[..] {
        let (from, to) = (along(start), along(end));
        let at = |place: f64| start + (end - start) * ((place.clamp(0.0, length) - from) / (to - from)).clamp(0.0, 1.0);
        let (first, second) = (at(from), at(to));
        subject.clear();
        subject.extend([first, second]);
    }
    subject.retain(|point| {
        let place = along(*point);
        place > -near && place < length + near && (*point - line[0]).perp_dot(direction).abs() < near
    });
}
