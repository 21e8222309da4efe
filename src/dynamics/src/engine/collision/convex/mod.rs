//! Two convex shapes: along which normal they meet, and where.
//!
//! The separation along a unit vector n is how far the supporting planes across it are apart, the first shape's towards
//! n and the second's against it. It is negative where they cross. Shapes touch along the n whose separation is
//! largest: for shapes apart it is their distance, for others how far one has to move to be free. Both are read from
//! the support functions alone, so any n can be checked, whatever it came from:
//!
//! 1. The faces that the shapes turn to each other are tried first. Where the faces have a point in common whose gap is
//!    the separation, no direction can have more, and nothing is left to search; so it is for all that rests on a face.
//! 2. Else the distance is searched ([`gjk`], and [`round`] for rims), and where there is none, the depth ([`epa`]).
//! 3. A face whose separation is the same but for rounding takes the place of what was found, so that normals do not
//!    tremble.
//!
//! The points of contact are those that the faces have in common ([`patch`]), and the closest points if none of these
//! is as near.

mod epa;
mod extremes;
mod gjk;
mod patch;
mod round;
mod solid;
#[cfg(test)]
mod tests;

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

pub(crate) use self::solid::Hull;
pub(super) use self::solid::{Core, Polygon, reach};
use self::{
    epa::Polytope,
    gjk::{Nearest, Outcome},
    patch::Patches,
};

/// Part of the size that rounding leaves of a separation.
const ROUNDING: f64 = 1e-12;
/// Part of the size by which a gap may differ from the separation and still be it.
const SAME_GAP: f64 = 1e-9;
/// The square of the angle by which normals may differ and still be one.
const SAME_NORMAL: f64 = 1e-20;
/// The square of the angle by which normals may differ and still have the same closest points. These move by about that
/// angle times the size.
const SAME_SIDE: f64 = 1e-10;
/// Part of the size up to which shapes that overlap touch along the faces that they turn to each other: whatever else
/// they could be pushed out along is as near.
const SHALLOW: f64 = 1e-5;
/// Part of the size, and metres, up to which what is behind a face of a surface has come through it. Any more, and it
/// may be the far side of a thin sheet.
const DEEPEST_BEHIND: f64 = 1e-3;
const DEEPEST_BEHIND_AT_MOST: f64 = 1e-4;
/// Two faces of surfaces lie on each other where the cosine of the angle between them is above this, 6 degrees.
const OPPOSED: f64 = 0.995;
/// Points of shapes whose normal was replaced count up to so many times the depth that was found, as with parry.
const DEEPEST_REPLACED: f64 = 5.0;
/// Part of the size that a distance may be off, and part of the depth where shapes overlap.
const EXACT: f64 = 1e-12;
const EXACT_IN_DEPTH: f64 = 1e-5;
/// How far shapes are moved apart to find where they touch, in terms of their size, and how often at most.
const MOVED_APART: f64 = 0.01;
const MOST_CLIMBS: usize = 10;

/// Two convex shapes, in the frame of the first. A shape is a core, and a layer of so many metres around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference<'a> {
    cores: [Core<'a>; 2],
    layers: [f64; 2],
    /// `first_from_second`.
    turn: DMat3,
    shift: DVec3,
    /// What lengths are measured by, m.
    size: f64,
}

/// A point of the first core less one of the second, in the frame of the first.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    point: DVec3,
    first: DVec3,
}

impl Vertex {
    const ZERO: Self = Self { point: DVec3::ZERO, first: DVec3::ZERO };
}

impl<'a> Difference<'a> {
    /// Of shapes that may be nearer than `reach`; `None` where the first direction that is asked parts them.
    pub(super) fn new([one, two]: [(Core<'a>, f64); 2], turn: DMat3, shift: DVec3, reach: f64) -> Option<Self> {
        let own = Self { cores: [one.0, two.0], layers: [one.1, two.1], turn, shift, size: 0.0 };
        if own.is_often_apart() && own.is_apart(reach + one.1 + two.1) {
            return None;
        }
        Some(Self { size: one.0.size() + one.1 + two.0.size() + two.1, ..own })
    }

    fn support_of_second(&self, direction: DVec3) -> DVec3 {
        self.turn * self.cores[1].support(self.turn.transpose() * direction) + self.shift
    }

    /// The difference of points that is farthest along a direction.
    fn support(&self, direction: DVec3) -> Vertex {
        let first = self.cores[0].support(direction);
        Vertex { point: first - self.support_of_second(-direction), first }
    }

    /// A difference of inner points: of a triangle or face, which may be much larger than what it meets, one near the
    /// other's middle.
    fn middle(&self) -> DVec3 {
        let [one, two] = self.cores;
        let first = one.inner_point(self.turn * two.middle() + self.shift);
        first - (self.turn * two.inner_point(self.turn.transpose() * (first - self.shift)) + self.shift)
    }

    /// Whether it pays to ask at first for one direction that parts the cores: a shape is near few of the triangles and
    /// faces that its box meets, and the faces of a hull are many.
    fn is_often_apart(&self) -> bool {
        self.cores.iter().any(|core| matches!(core, Core::Triangle(_) | Core::Face(_) | Core::Hull(_)))
    }

    /// Whether the cores are farther apart than `reach` along the direction that the search for their distance begins
    /// with.
    fn is_apart(&self, reach: f64) -> bool {
        let towards = self.middle();
        self.separation(-towards) > reach * towards.norm()
    }

    /// The separation of the cores along a unit vector; along any, times its length.
    fn separation(&self, normal: DVec3) -> f64 {
        let [one, two] = self.cores;
        self.shift.dot(normal) - one.extent(normal) - two.extent(self.turn.transpose() * -normal)
    }

    /// The faces that the shapes turn to each other's middle, as directions from the first to the second.
    fn faces_between(&self) -> [DVec3; 2] {
        let [one, two] = self.cores;
        let first = one.face_below(self.turn * two.middle() + self.shift);
        let second = two.face_below(self.turn.transpose() * (one.middle() - self.shift));
        [first, self.turn * -second]
    }

    /// Whether both are faces of surfaces, which have no thickness: where these cross, what was the shorter way out
    /// would be either side. Their own normals say which it is.
    fn are_surfaces(&self) -> bool {
        self.cores.iter().all(Core::is_one_sided)
    }

    /// Whether both are lines or points. Their difference is flat: across it they have no depth, and [`flat`] tries
    /// that direction.
    fn are_lines(&self) -> bool {
        self.cores.iter().all(|core| matches!(core, Core::Segment(_)))
    }

    /// How deep what is behind a face of one side may be and still be pushed out along its normal, m.
    fn deepest_behind(&self) -> f64 {
        DEEPEST_BEHIND_AT_MOST.min(DEEPEST_BEHIND * self.size)
    }

    /// The faces that are tried first, with the separations along them, the larger first where both are of surfaces;
    /// and how deep the shapes may be in each other for that. An error if they are farther apart than `reach`, with how
    /// far at least, or one is behind a face of the other.
    fn faces_to_try(&self, reach: f64) -> Result<([(f64, DVec3); 2], f64), f64> {
        let mut faces = [(0.0, DVec3::ZERO); 2];
        for ((face, normal), core) in faces.iter_mut().zip(self.faces_between()).zip(&self.cores) {
            let separation = self.separation(normal);
            if separation >= reach {
                return Err(separation);
            }
            if core.is_one_sided() && self.separation(-normal) > self.deepest_behind() {
                return Err(f64::NEG_INFINITY);
            }
            *face = (separation, normal);
        }
        if !self.are_surfaces() {
            return Ok((faces, SHALLOW * self.size));
        }
        if faces[1].0 > faces[0].0 {
            faces.swap(0, 1);
        }
        Ok((faces, self.deepest_behind()))
    }

    /// How far a distance may be off that a separation is told from, m.
    fn exact_at(&self, separation: f64) -> f64 {
        EXACT * self.size + EXACT_IN_DEPTH * separation.abs()
    }

    /// The faces that the shapes turn along a direction and against it.
    fn faces_along(&self, normal: DVec3) -> [DVec3; 2] {
        let second = self.cores[1].face_along(self.turn.transpose() * -normal);
        [self.cores[0].face_along(normal), self.turn * -second]
    }

    /// The normal and the corners of the face that a shape turns in a direction.
    fn face(&self, index: usize, direction: DVec3, corners: &mut Vec<DVec3>) -> DVec3 {
        let core = &self.cores[index];
        if index == 0 {
            let normal = core.face_along(direction);
            core.corners(normal, direction, corners);
            return normal;
        }
        let direction = self.turn.transpose() * direction;
        let normal = core.face_along(direction);
        core.corners(normal, direction, corners);
        corners.iter_mut().for_each(|corner| *corner = self.turn * *corner + self.shift);
        self.turn * normal
    }
}

/// A contact in the frame of the first shape: a point between the surfaces, and the gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) point: DVec3,
    pub(super) gap: f64,
}

/// Memory of the searches, and what the last one found.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    /// From the first to the second, in the frame of the first.
    pub(super) normal: DVec3,
    pub(super) touches: Vec<Touch>,
    /// How far apart shapes of the last search are at least that have no contact, m, where that was seen.
    pub(super) apart: f64,
    polytope: Polytope,
    patches: Patches,
}

impl Meeting {
    /// Finds where two shapes are nearer than `ahead`. `allow` says which normal takes the place of one, and that there
    /// is no contact along it.
    pub(super) fn find(&mut self, difference: &Difference, ahead: f64, allow: impl Fn(DVec3) -> Option<DVec3>) {
        self.touches.clear();
        let layers = difference.layers[0] + difference.layers[1];
        let (faces, deepest) = match difference.faces_to_try(ahead + layers) {
            Ok(faces) => faces,
            Err(separation) => {
                self.apart = separation - layers;
                return;
            }
        };
        let opposed = faces[0].1.dot(faces[1].1) > OPPOSED && difference.are_surfaces();
        for (separation, normal) in faces {
            let allowed = if separation > -deepest { allow(normal) } else { None };
            if let Some(allowed) = allowed.filter(|allowed| is_same(*allowed, normal)) {
                self.meet(difference, allowed, separation - layers, ahead);
                if self.has(separation - layers, difference) || opposed && !self.touches.is_empty() {
                    return;
                }
                self.touches.clear();
            }
        }
        let nearest = match self.nearest(difference, ahead + layers) {
            Ok(nearest) => nearest,
            Err(separation) => {
                self.apart = separation - layers;
                return;
            }
        };
        let (steady, separation) = steady(difference, nearest.normal);
        let (gap, Some(normal)) = (separation - layers, allow(steady)) else { return };
        let least = if is_same(normal, steady) { gap } else { f64::NEG_INFINITY };
        self.meet(difference, normal, least, ahead);
        if !is_same(normal, steady) {
            let deepest = DEEPEST_REPLACED * gap.min(0.0);
            self.touches.retain(|touch| touch.gap >= deepest);
        } else if gap < ahead && !self.has(gap, difference) {
            let [one, two] = points_along(difference, normal, &nearest);
            let shift = 0.5 * (difference.layers[0] - difference.layers[1]);
            self.touches.push(Touch { point: 0.5 * (one + two) + normal * shift, gap });
        }
    }

    /// Whether a point was found whose gap is the one that is asked for.
    fn has(&self, gap: f64, difference: &Difference) -> bool {
        self.touches.iter().any(|touch| touch.gap <= gap + SAME_GAP * difference.size)
    }

    /// Finds the points of contact along a normal. No gap can be less than the separation, but by rounding on a steep
    /// face.
    fn meet(&mut self, difference: &Difference, normal: DVec3, least: f64, ahead: f64) {
        self.normal = normal;
        let touches = &mut self.touches;
        self.patches.clip(difference, normal, |point, gap| {
            if gap < ahead {
                touches.push(Touch { point, gap: gap.max(least) });
            }
        });
    }

    /// The normal along which the cores are nearest, and their closest points; if they are farther apart than `reach`,
    /// how far at least.
    fn nearest(&mut self, difference: &Difference, reach: f64) -> Result<Nearest, f64> {
        match gjk::closest(difference, reach, EXACT * difference.size) {
            Outcome::Apart(separation) => Err(separation),
            Outcome::Near(nearest) => Ok(nearest),
            Outcome::Touching { .. } if difference.are_lines() => Ok(climb(difference, flat(difference))),
            Outcome::Touching { normal, simplex } => {
                // Hardly overlapping, they have one way out, and the search for the distance has come near it.
                if difference.separation(normal) > -MOVED_APART * difference.size {
                    let nearest = climb(difference, normal);
                    if difference.separation(nearest.normal) > -SHALLOW * difference.size {
                        return Ok(nearest);
                    }
                }
                let normal = self.polytope.deepest(difference, &simplex);
                Ok(climb(difference, normal.unwrap_or_else(|| flat(difference))))
            }
        }
    }
}

/// Goes from a normal along which cores touch or overlap to the next of largest separation, with the points where they
/// touch when they are moved apart by so much. At some distance more the normal to the closest points is never a worse
/// one: of all m it has the largest s(m) + d n·m, where d is the way that was moved along n.
fn climb(difference: &Difference, mut normal: DVec3) -> Nearest {
    let mut best = Nearest { normal, points: [DVec3::ZERO; 2] };
    let mut separation = difference.separation(normal);
    for _ in 0..MOST_CLIMBS {
        let Some(found) = moved_apart(difference, normal, separation) else { break };
        best = Nearest { normal, ..found };
        let next = difference.separation(found.normal);
        if !(next > separation + 10.0 * difference.exact_at(separation)) {
            break;
        }
        (separation, normal) = (next, found.normal);
    }
    best
}

/// Moves cores apart along a normal, and finds the normal to their closest points, and where these are when the cores
/// are moved back.
fn moved_apart(difference: &Difference, normal: DVec3, separation: f64) -> Option<Nearest> {
    let way = normal * (MOVED_APART * difference.size - separation);
    let apart = Difference { shift: difference.shift + way, ..*difference };
    let Outcome::Near(found) = gjk::closest(&apart, f64::INFINITY, difference.exact_at(separation)) else {
        return None;
    };
    Some(Nearest { points: [found.points[0], found.points[1] - way], ..found })
}

/// The points where cores touch along the normal that [`steady`] made of the one that was found. Shapes may be as deep
/// in each other along a face of another side. What was found is not on that, and the points are looked for again.
fn points_along(difference: &Difference, normal: DVec3, nearest: &Nearest) -> [DVec3; 2] {
    if normal.distance_squared(nearest.normal) < SAME_SIDE {
        return nearest.points;
    }
    moved_apart(difference, normal, difference.separation(normal)).map_or(nearest.points, |found| found.points)
}

/// The normal, or one of a face or across two round sides if that is as good but for rounding; and the separation along
/// it.
fn steady(difference: &Difference, normal: DVec3) -> (DVec3, f64) {
    let separation = difference.separation(normal);
    let least = separation - ROUNDING * difference.size;
    for face in difference.faces_along(normal) {
        let own = difference.separation(face);
        if own >= least {
            return (face, own);
        }
    }
    (normal, separation)
}

/// Where the shapes have no room for a depth, such as lines that cross and triangles in one plane: the best of the axes
/// of both, and of what is at right angles to two of them.
fn flat(difference: &Difference) -> DVec3 {
    let mut best = (f64::NEG_INFINITY, DVec3::X);
    let mut attempt = |direction: DVec3| {
        for normal in direction.try_normalized().into_iter().flat_map(|normal| [normal, -normal]) {
            let separation = difference.separation(normal);
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
    one.distance_squared(other) < SAME_NORMAL
}
