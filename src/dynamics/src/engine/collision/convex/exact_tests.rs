//! Ellipsoids against all convex shapes whose contact is known: the shapes are placed so that they touch at a chosen
//! point along a chosen normal, with a corner, an edge, a side, a rim or a face.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Norm;
use simpartner_model::random::Stream;

use super::{Core, Difference, Meeting, Touch, solid::cone_side_normal};
use crate::ellipsoid::Ellipsoid;

/// Random numbers and vectors.
struct Random(Stream);

impl Random {
    fn next_number(&mut self, low: f64, high: f64) -> f64 {
        self.0.between(low, high)
    }

    fn random_vector(&mut self, low: f64, high: f64) -> DVec3 {
        DVec3::new(self.next_number(low, high), self.next_number(low, high), self.next_number(low, high))
    }

    fn random_direction(&mut self) -> DVec3 {
        let direction = self.random_vector(-1.0, 1.0).try_normalized();
        direction.unwrap_or(DVec3::X)
    }

    fn random_rotation(&mut self) -> DQuat {
        DQuat::from_axis_angle(self.random_direction(), self.next_number(0.0, 3.1))
    }
}

/// A shape with an outward normal and a point of it that is farthest along the normal.
struct Contact {
    name: &'static str,
    core: Core<'static>,
    layer: f64,
    normal: DVec3,
    point: DVec3,
}

/// All ways in which a shape of about 0.1 m touches.
fn random_contacts(random: &mut Random) -> Vec<Contact> {
    let (radius, half) = (random.next_number(0.03, 0.2), random.next_number(0.03, 0.2));
    let size = random.random_vector(0.03, 0.2);
    let any = random.random_direction();
    let (place, place_2) = (random.next_number(-0.9, 0.9), random.next_number(-0.9, 0.9));
    let mut found = Vec::new();
    let mut add = |name, core: Core<'static>, normal: DVec3, move_along: DVec3| {
        let layer = if let Core::Segment(_) = core { radius } else { 0.0 };
        found.push(Contact { name, core, layer, normal, point: core.support(normal) + move_along });
    };
    let across = any.with_y(0.0).normalized();
    add("ellipsoid", Core::Ellipsoid(Ellipsoid { radii: size }), any, DVec3::ZERO);
    add("corner", Core::Box(size), any, DVec3::ZERO);
    // The support point is at the upper end of the edge or side.
    let down = DVec3::NEG_Y * (1.0 - place);
    add("edge", Core::Box(size), across, down * size.y);
    let within_face = DVec3::new(0.0, place - 1.0, place_2 - 1.0) * size;
    add("face", Core::Box(size), DVec3::X, within_face);
    add("ball", Core::Segment(0.0), any, DVec3::ZERO);
    add("end of a capsule", Core::Segment(half), any, DVec3::ZERO);
    add("side of a capsule", Core::Segment(half), across, down * half);
    let cylinder = Core::Cylinder { radius, half };
    add("rim of a cylinder", cylinder, any, DVec3::ZERO);
    add("side of a cylinder", cylinder, across, down * half);
    let on_end = (across * (radius * place)) - cylinder.support(DVec3::Y) + DVec3::Y * half;
    add("end of a cylinder", cylinder, DVec3::Y, on_end);
    let cone = Core::Cone { radius, half };
    add("cone", cone, any, DVec3::ZERO);
    let side = cone_side_normal(across, radius, half);
    let line = across * radius - DVec3::Y * (2.0 * half);
    let on_side = DVec3::Y * half + line * (0.5 + 0.5 * place) - cone.support(side);
    add("side of a cone", cone, side, on_side);
    found
}

/// Finds the contact of an ellipsoid with a shape that is placed at a distance `gap` from it. Returns a description of
/// its error; `None` if it is exact.
fn error_at(random: &mut Random, contact: &Contact, is_first: bool, gap: f64, meeting: &mut Meeting) -> Option<String> {
    let ellipsoid = Ellipsoid { radii: random.random_vector(0.05, 0.3) };
    let turn = DMat3::from_quat(random.random_rotation());
    let own = (Core::Ellipsoid(ellipsoid), 0.0);
    let (other, layer) = ((contact.core, contact.layer), contact.layer);
    // The normal and the points of both, in the frame of the first.
    let (pair, normal, first, second) = if is_first {
        let normal = turn * -contact.normal;
        ([own, other], normal, ellipsoid.support(normal), turn * contact.point)
    } else {
        let normal = contact.normal;
        ([other, own], normal, contact.point, turn * ellipsoid.support(turn.transpose() * -normal))
    };
    let shift = first + normal * (gap + layer) - second;
    let ahead = 0.05;
    let difference = Difference::new(pair, turn, shift, ahead).expect("they are near");
    meeting.find_points(&difference, ahead, Some);
    let middle = first + normal * (0.5 * gap + if is_first { 0.0 } else { layer });
    let [Touch { point, gap: found }] = meeting.touches[..] else {
        return Some(format!("{} points", meeting.touches.len()));
    };
    let errors = [(meeting.normal - normal).norm(), (found - gap).abs(), (point - middle).norm()];
    errors.iter().any(|error| !(*error < 2e-12)).then(|| format!("errors {errors:?}, {:?}", pair.map(|one| one.0)))
}

#[test]
fn contacts_of_ellipsoids_are_exact() {
    let (mut random, mut meeting, mut faults) = (Random(Stream::from_number(11)), Meeting::default(), Vec::new());
    for case in 0..300 {
        for contact in random_contacts(&mut random) {
            for gap in [0.02, 1e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-7, -1e-5] {
                for is_first in [true, false] {
                    let error = error_at(&mut random, &contact, is_first, gap, &mut meeting);
                    faults.extend(error.map(|error| format!("{case} {} at {gap}, {is_first}: {error}", contact.name)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}: {:#?}", faults.len(), &faults[..faults.len().min(30)]);
}
