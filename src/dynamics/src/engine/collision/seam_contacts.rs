//! Contacts at seams: directions that a neighbour of the touched shape does not allow.
//!
//! Two boxes flush side by side form one flat surface. The sides that they turn to each other are inside of it, so no
//! body can touch them, nor their edges. The search of a pair of shapes knows nothing of a third one. Its result is
//! tested here, for both shapes of the pair:
//!
//! - A contact along the normal of a face is kept if the face is exposed there: a point displaced from it along the
//!   normal is in no neighbour.
//! - A contact of an edge or corner is kept if each neighbour at that point allows its direction: it is a sum of the
//!   normals of the neighbour's faces there, with positive weights.
//!
//! Otherwise the exposed face of largest separation replaces the direction. If the other shape is not above such a
//! face, there is no contact. Deep overlaps stay as they are found.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Norm;

use super::{
    convex::{Core, Difference, Meeting, Touch},
    hit::Hit,
    neighbour::{MAX_SEAM_GAP, Neighbour},
};

/// Largest height of a step at a seam that no body notices, m: 0.01 mm, twice for two neighbours that differ either way
/// from a third one, with a margin for the corners of the surroundings that are tested.
const MAX_SEAM_STEP: f64 = 2.5e-5;
/// Displacement of a point along a normal that reaches into the neighbour beyond a seam, m.
const PROBE_DISPLACEMENT: f64 = MAX_SEAM_GAP + 3e-5;
/// Distances from a point, m, and number of directions about it, in which a face is tested as well. Next to a real step
/// or at the foot of a wall, the face is exposed there. The first distance is just above [`MAX_SEAM_STEP`], the last is
/// the smallest real step that is certain to stop a body.
const SURROUNDING_RADII: [f64; 4] = [3e-5, 1e-4, 3e-4, 1e-3];
const PROBE_DIRECTIONS: [(f64, f64); 8] = [
    (1.0, 0.0),
    (DIAGONAL_COS, DIAGONAL_COS),
    (0.0, 1.0),
    (-DIAGONAL_COS, DIAGONAL_COS),
    (-1.0, 0.0),
    (-DIAGONAL_COS, -DIAGONAL_COS),
    (0.0, -1.0),
    (DIAGONAL_COS, -DIAGONAL_COS),
];
const DIAGONAL_COS: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Distance of a surrounding point from its face, relative to its distance from the contact, below which it is on the
/// face. The product with the last distance is below the margin in [`MAX_SEAM_STEP`].
const ON_FACE: f64 = 0.01;
/// Square of the angle between two normals below which they count as equal, as in the convex search.
const SAME_NORMAL_ANGLE2: f64 = 1e-20;
/// Smallest cosine of the angle between an edge's contact and a face at a seam along which it has no contact of its
/// own, 1e-3 rad: a body that tilts a little over the seam.
const FLUSH_COS: f64 = 1.0 - 5e-7;
/// Error allowed for a unit vector as a sum of normals: in each of three directions, far below the angle of
/// [`FLUSH_COS`].
const SUM_TOLERANCE: f64 = 1e-4;
/// Difference of depths below which a point counts as one of the deepest for a body that tilts a little, m.
const SAME_DEPTH: f64 = 1e-6;
/// Smallest cosine of the angle between a direction and the face that replaces it, for which the face is enlarged by
/// [`MAX_SEAM_GAP`], 0.1 rad: a ball over a gap touches both edges at a smaller angle.
const OVER_GAP_COS: f64 = 0.995;
/// Largest depth along the face that replaces a direction, m, and in multiples of the depth found. A deeper overlap
/// was not caused by sliding.
const MAX_REPLACED_DEPTH: f64 = 1e-3;
const MAX_REPLACED_RATIO: f64 = 5.0;
/// Largest number of faces that are tried in place of a direction.
const MAX_TRIALS: usize = 8;
/// Largest number of faces about a point. A corner of a hull has more only if it is nearly round.
const MAX_FACES: usize = 12;

/// The shapes beside each shape of a pair.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    /// Indices for the first shape and for the second.
    pub(super) lists: [&'a [u32]; 2],
    /// Calls a function with the shape of an index in the list of the first or second shape, unless the other shape of
    /// the pair cannot touch it.
    pub(super) visit: &'a VisitNeighbour<'a>,
    /// Index of the fixed shape, or 0 if both move.
    pub(super) leader: usize,
}

pub(super) type VisitNeighbour<'a> = dyn Fn(usize, u32, &mut dyn FnMut(&Neighbour)) + 'a;

/// One shape of a pair.
struct Owner<'a> {
    side: usize,
    core: Core<'a>,
    layer: f64,
    centre: DVec3,
    rotation: DQuat,
    beside: Beside<'a>,
}

/// Separation along a face, m, and the index of the face.
type Rank = (f64, usize);

/// A pair of convex parts: their poses in the world, and the second in the frame of the first.
pub(super) struct PartPair<'a> {
    pub(super) cores: [(Core<'a>, f64); 2],
    pub(super) centres: [DVec3; 2],
    pub(super) rotations: [DQuat; 2],
    pub(super) turn: DMat3,
    pub(super) ahead: f64,
    pub(super) beside: Beside<'a>,
}

impl Beside<'_> {
    /// True if any neighbour of one of the shapes satisfies a test.
    fn any_neighbour(&self, side: usize, mut test: impl FnMut(&Neighbour) -> bool) -> bool {
        self.lists[side].iter().any(|&index| {
            let mut found = false;
            (self.visit)(side, index, &mut |neighbour| found = test(neighbour));
            found
        })
    }

    /// True if a neighbour is ahead of a point along a normal.
    fn is_covered(&self, side: usize, point: DVec3, normal: DVec3) -> bool {
        let ahead = point + normal * PROBE_DISPLACEMENT;
        self.any_neighbour(side, |neighbour| neighbour.height_of(ahead) <= MAX_SEAM_STEP)
    }

    /// True if all neighbours at a point of an edge allow a contact direction. A direction nearly along a face's normal
    /// is no direction of an edge. `is_flush` tests that for the faces of the shape itself.
    fn allows_edge(&self, side: usize, point: DVec3, direction: DVec3, is_flush: impl Fn() -> bool) -> bool {
        let mut is_near = false;
        let is_refused = self.any_neighbour(side, |neighbour| {
            if neighbour.height_of(point) > MAX_SEAM_GAP {
                return false;
            }
            is_near = true;
            let mut normals = Normals::default();
            neighbour.visit_faces_at(point, &mut |normal| normals.add_normal(normal));
            !normals.spans_direction(direction) || normals.any_along(direction)
        });
        !(is_refused || is_near && is_flush())
    }
}

/// Normals of the faces about a point.
#[derive(Default)]
struct Normals {
    normals: [DVec3; MAX_FACES],
    count: usize,
}

impl Normals {
    fn add_normal(&mut self, normal: DVec3) {
        if self.count < MAX_FACES {
            self.normals[self.count] = normal;
            self.count += 1;
        }
    }

    fn all_normals(&self) -> &[DVec3] {
        &self.normals[..self.count]
    }

    /// True if one of them is nearly a direction.
    fn any_along(&self, direction: DVec3) -> bool {
        self.all_normals().iter().any(|normal| normal.dot(direction) > FLUSH_COS)
    }

    /// True if a unit vector is a sum of up to three of them with positive weights.
    fn spans_direction(&self, vector: DVec3) -> bool {
        let all = self.all_normals();
        let is_sum = |weights: &[f64], sum: DVec3| {
            weights.iter().all(|weight| *weight >= -SUM_TOLERANCE) && (sum - vector).norm() < SUM_TOLERANCE
        };
        for (i, &a) in all.iter().enumerate() {
            if is_sum(&[], a) {
                return true;
            }
            for (j, &b) in all.iter().enumerate().skip(i + 1) {
                let (along, cosine) = (DVec3::new(vector.dot(a), vector.dot(b), 0.0), a.dot(b));
                let scale = 1.0 / (1.0 - cosine * cosine);
                let (first, second) = ((along.x - cosine * along.y) * scale, (along.y - cosine * along.x) * scale);
                if is_sum(&[first, second], a * first + b * second) {
                    return true;
                }
                for &c in &all[j + 1..] {
                    let weights = DMat3::from_cols(a, b, c).inverse() * vector;
                    if is_sum(&weights.to_array(), DMat3::from_cols(a, b, c) * weights) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

impl Owner<'_> {
    fn to_world(&self, local: DVec3) -> DVec3 {
        self.centre + self.rotation * local
    }

    /// True if a face is exposed at a point or next to it. Both are in the frame of the shape.
    fn is_exposed(&self, point: DVec3, normal: DVec3) -> bool {
        let outward = self.rotation * normal;
        let is_open = |point: DVec3| !self.beside.is_covered(self.side, self.to_world(point), outward);
        if is_open(point) {
            return true;
        }
        let (x, y) = normal.any_orthonormal_pair();
        SURROUNDING_RADII.iter().any(|&distance| {
            let around =
                PROBE_DIRECTIONS.iter().map(|&(along_x, along_y)| point + (x * along_x + y * along_y) * distance);
            around.filter(|point| self.core.height_of(self.layer, *point) <= ON_FACE * distance).any(is_open)
        })
    }

    /// True if a face of the shape at a point satisfies a test.
    fn has_face(&self, point: DVec3, test: impl Fn(DVec3) -> bool) -> bool {
        let mut found = false;
        self.core.visit_faces(self.layer, point, MAX_SEAM_GAP, &mut |normal| found |= test(normal));
        found
    }

    /// True if the shape has a face of this outward normal at a point.
    fn has_face_along(&self, point: DVec3, direction: DVec3) -> bool {
        self.has_face(point, |normal| normal.distance_squared(direction) < SAME_NORMAL_ANGLE2)
    }

    /// True if the neighbours allow contacts at these points of the surface, in the frame of the shape, along a
    /// direction. If it `yields`, the direction may be nearly that of a face.
    fn allows_direction(
        &self,
        touches: &[Touch],
        direction: DVec3,
        yields: bool,
        surface_point: impl Fn(&Touch) -> DVec3,
    ) -> bool {
        let least = touches.iter().map(|touch| touch.gap).fold(f64::INFINITY, f64::min);
        let mut is_allowed = false;
        for touch in touches {
            let point = surface_point(touch);
            let is_flush = || self.has_face(point, |normal| normal.dot(direction) > FLUSH_COS);
            if self.has_face_along(point, direction) || yields && is_flush() {
                if self.is_exposed(point, direction) {
                    return true;
                }
            } else if touch.gap <= least + SAME_DEPTH {
                let outward = self.rotation * direction;
                let allowed = self.beside.allows_edge(self.side, self.to_world(point), outward, is_flush);
                if !allowed && is_flush() {
                    return false;
                }
                is_allowed |= allowed && touch.gap <= least;
            }
        }
        is_allowed
    }
}

impl PartPair<'_> {
    fn owner_of_side(&self, side: usize) -> Owner<'_> {
        let (core, layer) = self.cores[side];
        Owner { side, core, layer, centre: self.centres[side], rotation: self.rotations[side], beside: self.beside }
    }

    /// A direction in the frame of the first shape, from the first to the second, as an outward direction of one shape
    /// in its own frame.
    fn outward_normal(&self, side: usize, normal: DVec3) -> DVec3 {
        if side == 0 { normal } else { self.turn.transpose() * -normal }
    }

    /// The reverse of [`Self::outward`].
    fn inward_normal(&self, side: usize, outward: DVec3) -> DVec3 {
        if side == 0 { outward } else { self.turn * -outward }
    }

    /// Point of the surface of one shape at a contact along `normal`, in its own frame.
    fn surface_point(&self, side: usize, touch: &Touch, normal: DVec3) -> DVec3 {
        let half = 0.5 * touch.gap * if side == 0 { -1.0 } else { 1.0 };
        let point = touch.point + normal * half;
        if side == 0 {
            return point;
        }
        let world = self.centres[0] + self.rotations[0] * point;
        self.rotations[1].inverse() * (world - self.centres[1])
    }

    /// Replaces or removes the contacts whose direction a neighbour of one of the shapes does not allow.
    pub(super) fn keep_allowed(&self, meeting: &mut Meeting, difference: &Difference) {
        // The face of one shape that replaces a direction may be covered for the other one.
        for _ in 0..2 {
            let mut changed = false;
            for side in (0..2).filter(|side| !self.beside.lists[*side].is_empty()) {
                if !meeting.touches.is_empty() && !self.allows_meeting(side, meeting) {
                    self.replace_direction(side, meeting, difference);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn allows_meeting(&self, side: usize, meeting: &Meeting) -> bool {
        let normal = meeting.normal;
        let owner = self.owner_of_side(side);
        let Beside { lists, leader, .. } = self.beside;
        // Where two surfaces with seams lie on each other, the faces of the leader decide.
        let yields = side != leader && !lists[leader].is_empty() && {
            let (other, direction) = (self.owner_of_side(leader), self.outward_normal(leader, normal));
            meeting
                .touches
                .iter()
                .any(|touch| other.has_face_along(self.surface_point(leader, touch, normal), direction))
        };
        owner.allows_direction(&meeting.touches, self.outward_normal(side, normal), yields, |touch| {
            self.surface_point(side, touch, normal)
        })
    }

    /// Takes the contacts along the exposed face of largest separation. Those found stay if they are too deep along it.
    fn replace_direction(&self, side: usize, meeting: &mut Meeting, difference: &Difference) {
        let Some(deepest) = meeting.touches.iter().copied().reduce(|a, b| if b.gap < a.gap { b } else { a }) else {
            return;
        };
        let depth = MAX_REPLACED_DEPTH.max(-MAX_REPLACED_RATIO * deepest.gap);
        let found = meeting.normal;
        let point = self.surface_point(side, &deepest, found);
        let owner = self.owner_of_side(side);
        meeting.save_points();
        let mut last = (f64::INFINITY, 0);
        for _ in 0..MAX_TRIALS {
            let (mut best, mut index): (Option<(Rank, DVec3)>, usize) = (None, 0);
            owner.core.visit_faces(owner.layer, point, f64::INFINITY, &mut |face| {
                let own = (difference.separation(self.inward_normal(side, face)), index);
                let is_next = own.0 < last.0 || own.0 == last.0 && own.1 > last.1;
                if is_next && best.is_none_or(|(best, _)| own.0 > best.0) {
                    best = Some((own, face));
                }
                index += 1;
            });
            let Some((own, face)) = best.filter(|(own, _)| own.0 >= -depth) else { break };
            last = own;
            let normal = self.inward_normal(side, face);
            let border = if normal.dot(found) > OVER_GAP_COS { MAX_SEAM_GAP } else { 0.0 };
            let is_enlarged = meeting.find_points_along(difference, normal, self.ahead, border);
            // On an enlarged face, the points found count, which are on the surface.
            let exposed = |touch: &Touch| owner.is_exposed(self.surface_point(side, touch, normal), face);
            let is_exposed = match is_enlarged {
                true => owner.is_exposed(point, face),
                false => meeting.touches.iter().any(exposed),
            };
            if !meeting.touches.is_empty() && is_exposed {
                return;
            }
        }
        if deepest.gap < -MAX_REPLACED_DEPTH {
            meeting.restore_points();
        } else {
            meeting.touches.clear();
        }
    }
}

/// Replaces or removes the contacts of a ball with edges of a mesh or of terrain whose direction a neighbour of the
/// surface does not allow. `side` is the surface's place in the pair, `hits` are the contacts with normals towards the
/// ball.
pub(super) fn keep_allowed_of_ball(
    (side, surface): (usize, &Neighbour),
    (centre, radius): (DVec3, f64),
    beside: &Beside,
    start: usize,
    hits: &mut Vec<Hit>,
) {
    let mut index = start;
    while index < hits.len() {
        let hit = hits[index];
        let mut normals = Normals::default();
        surface.visit_faces_at(hit.point, &mut |normal| normals.add_normal(normal));
        let is_face =
            normals.all_normals().iter().any(|normal| normal.distance_squared(hit.normal) < SAME_NORMAL_ANGLE2);
        if is_face || beside.allows_edge(side, hit.point, hit.normal, || normals.any_along(hit.normal)) {
            index += 1;
            continue;
        }
        let mut best: Option<Hit> = None;
        for &normal in normals.all_normals().iter().filter(|normal| !beside.is_covered(side, hit.point, **normal)) {
            let height = (centre - hit.point).dot(normal);
            let along = Hit { point: centre - normal * height, normal, gap: height - radius };
            if (along.point - hit.point).norm() < MAX_SEAM_GAP && best.is_none_or(|best| along.gap > best.gap) {
                best = Some(along);
            }
        }
        match best {
            Some(along) => {
                hits[index] = along;
                index += 1;
            }
            None => {
                hits.remove(index);
            }
        }
    }
}
