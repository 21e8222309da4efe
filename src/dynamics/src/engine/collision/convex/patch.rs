//! Where two faces meet: what they have in common as seen along the normal, with the gap at each corner of it.
//!
//! A face never loses its corners, however little it is tilted or apart: the polygons overlap or they do not, and a
//! corner counts if its gap does.

use bevy_math::{DVec2, DVec3};
use simpartner_model::Norm;

use super::Difference;

/// A face whose normal is nearer than this to a right angle with the contact's has no height along it.
const STEEP: f64 = 0.02;
/// Part of the size by which points may be outside of a face and still be on it, and how far at most, m: more than what
/// the solver leaves moves blocks by that lie in a row. Where sides that are nearly one cross would be a corner that
/// wanders along them.
const ON: f64 = 1e-8;
const ON_AT_MOST: f64 = 1e-9;
/// Two lines touch in more than a point if they are nearer to each other than this part of the size: round sides are
/// apart by half the square of it.
const SAME_LINE: f64 = 1e-6;

/// A face, or a line, seen along a direction.
#[derive(Debug, Default)]
struct Patch {
    corners: Vec<DVec2>,
    /// Height at the first corner, and by how much more it is farther on.
    height: f64,
    slope: DVec2,
}

/// Memory of the searches.
#[derive(Debug, Default)]
pub(super) struct Patches {
    patches: [Patch; 2],
    corners: Vec<DVec3>,
    common: Vec<DVec2>,
    clipped: Vec<DVec2>,
}

/// Unit vectors: the contact's normal and two across it.
#[derive(Debug, Clone, Copy)]
struct View {
    x: DVec3,
    y: DVec3,
    normal: DVec3,
}

impl View {
    fn flat(&self, point: DVec3) -> DVec2 {
        DVec2::new(point.dot(self.x), point.dot(self.y))
    }
}

impl Patch {
    /// False if it has no height along the normal.
    fn fill(&mut self, corners: &[DVec3], normal: DVec3, view: &View) -> bool {
        self.corners.clear();
        self.corners.extend(corners.iter().map(|&corner| view.flat(corner)));
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
                if steepness.abs() < STEEP {
                    return false;
                }
                view.flat(normal) / -steepness
            }
        };
        true
    }

    fn height_at(&self, point: DVec2) -> f64 {
        self.height + self.slope.dot(point - self.corners[0])
    }
}

impl Patches {
    /// Calls `touch` with every corner of what the two faces have in common, a point of the middle between the
    /// surfaces, and the gap there.
    pub(super) fn clip(&mut self, difference: &Difference, normal: DVec3, mut touch: impl FnMut(DVec3, f64)) {
        let (x, y) = normal.any_orthonormal_pair();
        let view = View { x, y, normal };
        for (index, direction) in [normal, -normal].into_iter().enumerate() {
            let face = difference.face(index, direction, &mut self.corners);
            if !self.patches[index].fill(&self.corners, face, &view) {
                return;
            }
        }
        let [one, two] = &self.patches;
        let (few, many) = if one.corners.len() > two.corners.len() { (two, one) } else { (one, two) };
        self.common.clear();
        if many.corners.len() > 2 {
            // The polygon with more corners is cut by the sides of the other; a line or a point, by those of the
            // polygon.
            let (cut, by) = if few.corners.len() > 2 { (many, few) } else { (few, many) };
            self.common.extend_from_slice(&cut.corners);
            cut_by_polygon(&mut self.common, &by.corners, ON_AT_MOST.min(ON * difference.size), &mut self.clipped);
        } else {
            self.common.extend_from_slice(&few.corners);
            cut_to_line(&mut self.common, &many.corners, SAME_LINE * difference.size);
        }
        let [one_layer, two_layer] = difference.layers;
        for &point in &self.common {
            let (low, high) = (one.height_at(point) + one_layer, two.height_at(point) - two_layer);
            touch(x * point.x + y * point.y + normal * (0.5 * (low + high)), high - low);
        }
    }
}

/// Cuts a polygon, a line or a point by the sides of a convex polygon (Sutherland and Hodgman 1974).
fn cut_by_polygon(subject: &mut Vec<DVec2>, polygon: &[DVec2], on: f64, memory: &mut Vec<DVec2>) {
    let around: f64 = sides(polygon).map(|(from, to)| (from - polygon[0]).perp_dot(to - polygon[0])).sum();
    for (from, to) in sides(polygon) {
        let along = to - from;
        let length = along.norm();
        if !(length > on) {
            continue;
        }
        let inwards = along.perp() * (1f64.copysign(around) / length);
        let depth = |point: DVec2| (point - from).dot(inwards) + on;
        memory.clear();
        for (start, end) in sides(subject) {
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

/// Each corner with the next.
fn sides(polygon: &[DVec2]) -> impl Iterator<Item = (DVec2, DVec2)> {
    polygon.iter().copied().zip(polygon.iter().copied().cycle().skip(1))
}

/// Cuts a line, or a point, to where it lies on another line.
fn cut_to_line(subject: &mut Vec<DVec2>, line: &[DVec2], near: f64) {
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
