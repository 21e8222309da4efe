//! Contact of two convex shapes: its normal and its points.
//!
//! The separation along a unit vector n is the distance between the supporting planes across n: the first shape's
//! towards n, and the second's against n. It is negative where the planes have passed each other. Shapes touch along
//! the n whose separation is largest. For shapes apart, that separation is their distance; for overlapping ones it is
//! minus the penetration depth. Separations follow from the support functions alone, so any n can be checked, whatever
//! produced it:
//!
//! 1. The faces that the shapes turn to each other are tried first. If the faces have a point in common whose gap is
//!    the separation, no direction can have a larger one, and the search ends. This covers all shapes that rest on a
//!    face.
//! 2. Otherwise the distance is searched ([`gjk`], [`round`] for rims and [`smooth`] for ellipsoids), or the depth if
//!    the shapes overlap ([`epa`]).
//! 3. A face normal whose separation is equal up to rounding replaces the normal found, so that normals do not jitter.
//!
//! The points of contact are the corners of the common part of the faces ([`patch`]), or the closest points if none of
//! the corners is as near.

mod epa;
#[cfg(test)]
mod exact_tests;
mod extremes;
mod gjk;
mod minkowski_difference;
mod patch;
mod round;
mod simplex;
mod smooth;
mod solid;
mod surface;
#[cfg(test)]
mod tests;

use bevy_math::DVec3;
use simpartner_model::Norm;

pub(crate) use self::solid::Hull;
use self::{
    epa::Polytope,
    gjk::{Nearest, Outcome},
    minkowski_difference::{DISTANCE_TOLERANCE, SHALLOW_DEPTH},
    patch::Patches,
    smooth::Normals,
};
pub(super) use self::{
    minkowski_difference::Difference,
    solid::{Core, Polygon, max_distance},
    surface::distance_beside,
};

/// Rounding error of a separation, as a fraction of the size.
const SEPARATION_ROUNDING: f64 = 1e-12;
/// Largest difference between a gap and the separation that count as equal, as a fraction of the size.
const SAME_GAP: f64 = 1e-9;
/// Square of the angle between two normals below which they count as equal.
const SAME_NORMAL_ANGLE2: f64 = 1e-20;
/// Square of the angle between two normals below which they have the same closest points: these move by about that
/// angle times the size.
const SAME_POINTS_ANGLE2: f64 = 1e-10;
/// Smallest cosine of the angle between two faces of surfaces that lie on each other, 6 degrees.
const OPPOSED_FACES_COS: f64 = 0.995;
/// Largest depth of points under a replaced normal, in multiples of the depth that was found; parry does the same.
const MAX_REPLACED_DEPTH: f64 = 5.0;
/// Distance to which overlapping shapes are moved apart to find where they touch, as a fraction of their size; and the
/// largest number of such steps.
const MOVED_APART_DISTANCE: f64 = 0.01;
const MAX_CLIMB_STEPS: usize = 10;

/// A contact point in the frame of the first shape: a point between the surfaces, and the gap there, m.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) point: DVec3,
    pub(super) gap: f64,
}

/// Buffers of the searches, and the result of the last one.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    /// Unit vector from the first to the second, in the frame of the first.
    pub(super) normal: DVec3,
    pub(super) touches: Vec<Touch>,
    /// Lower bound of the distance if the last search found no contact and has established it, m.
    pub(super) min_distance: f64,
    polytope: Polytope,
    patches: Patches,
    saved: Vec<Touch>,
    saved_normal: DVec3,
}

impl Meeting {
    /// Saves the points found and their normal.
    pub(super) fn save_points(&mut self) {
        self.saved.clone_from(&self.touches);
        self.saved_normal = self.normal;
    }

    /// Restores the points saved.
    pub(super) fn restore_points(&mut self) {
        self.touches.clone_from(&self.saved);
        self.normal = self.saved_normal;
    }

    /// Finds the points where two shapes are nearer than `ahead`, m. `allow` returns the normal to use in place of one,
    /// or `None` if there is no contact along it.
    pub(super) fn find_points(&mut self, difference: &Difference, ahead: f64, allow: impl Fn(DVec3) -> Option<DVec3>) {
        self.touches.clear();
        let layers = difference.layers[0] + difference.layers[1];
        let (faces, deepest) = match difference.faces_to_try(ahead + layers) {
            Ok(faces) => faces,
            Err(separation) => {
                self.min_distance = separation - layers;
                return;
            }
        };
        let opposed = faces[0].1.dot(faces[1].1) > OPPOSED_FACES_COS && difference.are_surfaces();
        for (index, (separation, normal)) in faces.into_iter().enumerate() {
            let counts = separation > -deepest && difference.is_exact_face(index, normal);
            let allowed = if counts { allow(normal) } else { None };
            if let Some(allowed) = allowed.filter(|allowed| is_same(*allowed, normal)) {
                self.add_touches(difference, allowed, separation - layers, ahead);
                if self.has_gap(separation - layers, difference) || opposed && !self.touches.is_empty() {
                    return;
                }
                self.touches.clear();
            }
        }
        let nearest = match self.nearest(difference, ahead + layers) {
            Ok(nearest) => nearest,
            Err(separation) => {
                self.min_distance = separation - layers;
                return;
            }
        };
        let nearest = polish_nearest(difference, nearest);
        let (steady, separation) = snap_to_face(difference, nearest.normal);
        let (gap, Some(normal)) = (separation - layers, allow(steady)) else { return };
        let least = if is_same(normal, steady) { gap } else { f64::NEG_INFINITY };
        self.add_touches(difference, normal, least, ahead);
        if !is_same(normal, steady) {
            let deepest = MAX_REPLACED_DEPTH * gap.min(0.0);
            self.touches.retain(|touch| touch.gap >= deepest);
        } else if gap < ahead && !self.has_gap(gap, difference) {
            let [one, two] = points_along(difference, normal, &nearest);
            let shift = 0.5 * (difference.layers[0] - difference.layers[1]);
            self.touches.push(Touch { point: 0.5 * (one + two) + normal * shift, gap });
        }
    }

    /// Finds the points of contact along another normal. `border` is the distance, m, by which the faces are enlarged
    /// if they do not overlap. Returns true if they were.
    pub(super) fn find_points_along(
        &mut self,
        difference: &Difference,
        normal: DVec3,
        ahead: f64,
        border: f64,
    ) -> bool {
        let least = difference.separation(normal);
        self.touches.clear();
        self.add_touches(difference, normal, least, ahead);
        let is_enlarged = self.touches.is_empty() && border > 0.0;
        if is_enlarged {
            self.patches.border = border;
            self.add_touches(difference, normal, least, ahead);
            self.patches.border = 0.0;
        }
        is_enlarged
    }

    /// True if a point with this gap, m, was found.
    fn has_gap(&self, gap: f64, difference: &Difference) -> bool {
        self.touches.iter().any(|touch| touch.gap <= gap + SAME_GAP * difference.size)
    }

    /// Finds the points of contact along a normal. Gaps below the separation `least`, m, come from rounding on steep
    /// faces, and are raised to it.
    fn add_touches(&mut self, difference: &Difference, normal: DVec3, least: f64, ahead: f64) {
        self.normal = normal;
        let touches = &mut self.touches;
        self.patches.clip_faces(difference, normal, |point, gap| {
            if gap < ahead {
                touches.push(Touch { point, gap: gap.max(least) });
            }
        });
    }

    /// Normal of largest separation of the cores, and their closest points. An error is a lower bound of their
    /// distance, m, if they are farther apart than `reach`.
    fn nearest(&mut self, difference: &Difference, reach: f64) -> Result<Nearest, f64> {
        match gjk::closest(difference, reach, DISTANCE_TOLERANCE * difference.size) {
            Outcome::Apart(separation) => Err(separation),
            Outcome::Near(nearest) => Ok(nearest),
            Outcome::Touching { .. } if difference.are_lines() => {
                Ok(improve_normal(difference, best_axis_normal(difference)))
            }
            Outcome::Touching { normal, simplex } => {
                // A slight overlap has one separating direction, and the distance search ends near it.
                if difference.separation_along(normal) > -MOVED_APART_DISTANCE * difference.size {
                    let nearest = improve_normal(difference, normal);
                    if difference.separation_along(nearest.normal) > -SHALLOW_DEPTH * difference.size {
                        return Ok(nearest);
                    }
                }
                let normal = self.polytope.penetration_normal(difference, &simplex);
                Ok(improve_normal(difference, normal.unwrap_or_else(|| best_axis_normal(difference))))
            }
        }
    }
}

/// The nearest points of a pair with an ellipsoid, improved to rounding; those of other pairs as they are.
fn polish_nearest(difference: &Difference, nearest: Nearest) -> Nearest {
    if !difference.is_smooth() {
        return nearest;
    }
    match smooth::polish_contact(difference, &nearest.normals, nearest.normal) {
        Some((normal, points)) => Nearest { normal, points, ..nearest },
        None => nearest,
    }
}

/// Improves the normal of touching or overlapping cores: repeatedly moves them apart along it, and takes the normal to
/// their closest points, while the separation grows. Returns the best normal, and the points where the cores touch.
///
/// With s(m) the separation along m, n the present normal, and d the distance moved along n, the new normal has the
/// largest s(m) + d n·m of all m. So its separation is never smaller than that of n.
fn improve_normal(difference: &Difference, mut normal: DVec3) -> Nearest {
    let mut best = Nearest { normal, points: [DVec3::ZERO; 2], normals: Normals::Sphere };
    let mut separation = difference.separation_along(normal);
    for _ in 0..MAX_CLIMB_STEPS {
        let Some(found) = moved_apart(difference, normal, separation) else { break };
        best = Nearest { normal, ..found };
        let next = difference.separation_along(found.normal);
        if !(next > separation + 10.0 * difference.distance_tolerance(separation)) {
            break;
        }
        (separation, normal) = (next, found.normal);
    }
    best
}

/// Moves cores apart along a normal, and finds the normal to their closest points. The points are those after moving
/// the cores back.
fn moved_apart(difference: &Difference, normal: DVec3, separation: f64) -> Option<Nearest> {
    let way = normal * (MOVED_APART_DISTANCE * difference.size - separation);
    let apart = Difference { shift: difference.shift + way, ..*difference };
    let Outcome::Near(found) = gjk::closest(&apart, f64::INFINITY, difference.distance_tolerance(separation)) else {
        return None;
    };
    Some(Nearest { points: [found.points[0], found.points[1] - way], ..found })
}

/// Points where the cores touch along the normal that [`snap_to_face`] chose in place of `nearest.normal`. Shapes may
/// be equally deep along a face on another side, where the points found do not lie. The points are then searched again.
fn points_along(difference: &Difference, normal: DVec3, nearest: &Nearest) -> [DVec3; 2] {
    if normal.distance_squared(nearest.normal) < SAME_POINTS_ANGLE2 {
        return nearest.points;
    }
    moved_apart(difference, normal, difference.separation_along(normal)).map_or(nearest.points, |found| found.points)
}

/// The normal, or that of a face or across two round sides if its separation is as large up to rounding; and the
/// separation along it, m.
fn snap_to_face(difference: &Difference, normal: DVec3) -> (DVec3, f64) {
    let separation = difference.separation_along(normal);
    let least = separation - SEPARATION_ROUNDING * difference.size;
    for (face, core) in difference.faces_along(normal).into_iter().zip(&difference.cores) {
        // An ellipsoid has no face.
        if let Core::Ellipsoid(_) = core {
            continue;
        }
        let own = difference.separation_along(face);
        if own >= least {
            return (face, own);
        }
    }
    (normal, separation)
}

/// Best normal for shapes whose difference has no volume, such as crossing lines and coplanar triangles. The candidates
/// are the axes of both shapes, and the cross products of two of them.
fn best_axis_normal(difference: &Difference) -> DVec3 {
    let mut best = (f64::NEG_INFINITY, DVec3::X);
    let mut attempt = |direction: DVec3| {
        for normal in direction.try_normalized().into_iter().flat_map(|normal| [normal, -normal]) {
            let separation = difference.separation_along(normal);
            if separation > best.0 {
                best = (separation, normal);
            }
        }
    };
    let other = [difference.turn.x_axis, difference.turn.y_axis, difference.turn.z_axis];
    for one in DVec3::AXES {
        difference.faces_along(one).into_iter().for_each(&mut attempt);
        for two in other {
            attempt(one.cross(two));
        }
    }
    DVec3::AXES.into_iter().chain(other).for_each(attempt);
    best.1
}

fn is_same(one: DVec3, other: DVec3) -> bool {
    one.distance_squared(other) < SAME_NORMAL_ANGLE2
}
