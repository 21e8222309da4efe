//! Distance of two convex shapes: the distance of the difference of their points from zero (Gilbert, Johnson and
//! Keerthi 1988).
//!
//! On round shapes, each step would reduce the error by a constant factor only. [`round`] turns the points on their
//! rims to where they are closest, and few steps remain. [`smooth`] does the same for ellipsoids.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{
    minkowski_difference::{Difference, Vertex},
    round,
    simplex::Simplex,
    smooth::{self, Normals},
};

/// Largest number of steps. Most searches end after a few; the side of a cone, and shapes that hardly overlap, may need
/// dozens.
const MAX_STEPS: usize = 64;
/// Distance below which the direction between shapes is undefined, as a fraction of their size: rounding changes it by
/// 1e-16 divided by this.
const TOUCHING_DISTANCE: f64 = 1e-9;
/// First step that turns rims or moves the points of ellipsoids: by then the simplex shows which parts are closest.
const FIRST_CURVED_STEP: usize = 2;

/// Result of a search for the closest points.
pub(super) enum Outcome {
    /// Farther apart than `reach`; with a lower bound of the distance, m.
    Apart(f64),
    /// Apart, and nearer than `reach`.
    Near(Nearest),
    /// Overlapping, or so near that the depth has to be searched. The simplex contains zero, and the normal has the
    /// largest separation found.
    Touching { normal: DVec3, simplex: Simplex },
}

/// Unit vector from the first shape to the second of largest separation, and the closest points of the two. For a pair
/// with an ellipsoid, also the normals along which they touch with the same parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nearest {
    pub(super) normal: DVec3,
    pub(super) points: [DVec3; 2],
    pub(super) normals: Normals,
}

/// Finds the closest points of two shapes that are nearer than `reach`, m. It ends when the upper and the lower bound
/// of their distance differ by at most `exact`, m.
pub(super) fn closest(difference: &Difference, reach: f64, exact: f64) -> Outcome {
    let mut simplex = Simplex { vertices: [Vertex::AT_ZERO; 4], weights: [0.0; 4], count: 0 };
    let mut v = difference.inner_point();
    let mut best = (f64::NEG_INFINITY, DVec3::X);
    let (is_smooth, is_round, mut is_stalled) = (difference.is_smooth(), difference.is_round(), false);
    for step in 0..MAX_STEPS {
        let length = v.norm();
        if !(length > TOUCHING_DISTANCE * difference.size) {
            if step > 0 {
                break;
            }
            v = DVec3::X;
            continue;
        }
        let vertex = difference.support_point(-v);
        let separation = v.dot(vertex.point) / length;
        if separation > reach {
            return Outcome::Apart(separation);
        }
        if separation > best.0 {
            best = (separation, -v / length);
        }
        if simplex.count > 0 && length - separation <= exact || simplex.contains(&vertex) {
            break;
        }
        simplex.push_vertex(vertex);
        match simplex.reduce_to_closest(best.0 > 0.0) {
            None => return Outcome::Touching { normal: best.1, simplex },
            // A step across the direction may be so short that its square is below rounding. It turns the direction,
            // but leaves the length unchanged. The turn times the size of the shapes still changes the separation. If
            // the length stays the same twice, only rounding is left.
            Some(next) if simplex.count > 1 && step > 0 && next.norm() >= length && separation > 0.0 => {
                if is_stalled {
                    break;
                }
                (v, is_stalled) = (next, true);
            }
            Some(next) => v = next,
        }
        if step >= FIRST_CURVED_STEP && (is_smooth || is_round) {
            v = simplex.move_on_curves(difference, v, is_smooth);
        }
    }
    // The supporting planes across the direction prove this distance.
    let (separation, normal) = best;
    if separation > TOUCHING_DISTANCE * difference.size {
        let normals = if is_smooth { smooth::normals_of(difference, &simplex) } else { Normals::Sphere };
        Outcome::Near(Nearest { normal, points: simplex.closest_points(), normals })
    } else {
        Outcome::Touching { normal, simplex }
    }
}

impl Simplex {
    /// Moves the points on ellipsoids or rims to where they are closest, if that moves the point nearest to zero, `v`,
    /// nearer. Returns that point.
    fn move_on_curves(&mut self, difference: &Difference, v: DVec3, is_smooth: bool) -> DVec3 {
        let moved = if is_smooth {
            smooth::with_closest_point(difference, self, v)
        } else {
            round::with_turned_rims(difference, self)
        };
        let Some(mut moved) = moved else { return v };
        match moved.reduce_to_closest(true) {
            Some(next) if next.norm() < v.norm() => {
                *self = moved;
                next
            }
            _ => v,
        }
    }
}
