//! Closest points on rims of round shapes. There, each step of the distance search reduces the error by a constant
//! factor only; Newton's method for the angles of the points on the rims takes few steps in all.
//!
//! A simplex shows which corners, edges, faces and rims are closest. Its points are x_k + r u, where x_k contains no
//! part of a rim: corners of flat shapes and centres of rims. T is the span of the differences of the x_k, and P is the
//! projection orthogonal to it. Then the distance is the minimum of |P (x_0 + r u)| over the angles of u.

use bevy_math::{DMat2, DVec2, DVec3};
use simpartner_model::Norm;

use super::{
    minkowski_difference::{Difference, Vertex},
    simplex::Simplex,
    solid::Core,
};

/// Largest number of Newton steps, and the angle below which they have converged, rad: its square is below rounding.
const MAX_STEPS: usize = 5;
const CONVERGED_ANGLE: f64 = 1e-8;
/// Length below which a length is rounding, as a fraction of a radius or of the size.
const ZERO_LENGTH: f64 = 1e-9;

/// The rim of a core, in the frame of the first shape. `sign` is the sign of its points in the difference.
#[derive(Debug, Clone, Copy)]
struct Rim {
    middle: DVec3,
    axis: DVec3,
    radius: f64,
    sign: f64,
}

impl Rim {
    fn from_core(core: &Core, middle: DVec3, axis: DVec3, sign: f64) -> Option<Self> {
        match *core {
            Core::Cylinder { radius, .. } | Core::Cone { radius, .. } => Some(Self { middle, axis, radius, sign }),
            _ => None,
        }
    }

    /// Vector from the axis to a point, orthogonal to the axis.
    fn radial(&self, point: DVec3) -> DVec3 {
        let from = point - self.middle;
        from - self.axis * from.dot(self.axis)
    }
}

impl Difference<'_> {
    fn rims(&self) -> [Option<Rim>; 2] {
        let [one, two] = &self.cores;
        [Rim::from_core(one, DVec3::ZERO, DVec3::Y, 1.0), Rim::from_core(two, self.shift, self.turn.y_axis, -1.0)]
    }

    pub(super) fn is_round(&self) -> bool {
        self.cores.iter().any(|core| matches!(core, Core::Cylinder { .. } | Core::Cone { .. }))
    }
}

/// The simplex with its points on rims turned to where they are closest; `None` if that is undetermined.
pub(super) fn with_turned_rims(difference: &Difference, simplex: &Simplex) -> Option<Simplex> {
    let rims = difference.rims();
    let mut radii = [DVec3::ZERO; 2];
    for ((radius, rim), point) in radii.iter_mut().zip(&rims).zip(simplex.closest_points()) {
        if let Some(rim) = rim {
            *radius = rim.radial(point).try_normalized()? * rim.radius;
        }
    }
    let (mut bases, mut count, least) = ([Vertex::AT_ZERO; 3], 0, ZERO_LENGTH * difference.size);
    for vertex in simplex.vertices() {
        let base = without_rims(&rims, vertex)?;
        if bases[..count].iter().all(|other| (other.point - base.point).norm() > least) {
            bases[count] = base;
            count += 1;
        }
    }
    let across = Across::new(&bases[..count], least);
    for _ in 0..MAX_STEPS {
        if newton_step(&rims, &mut radii, bases[0].point, &across)? < CONVERGED_ANGLE {
            break;
        }
    }
    let moved = bases[..count].iter().map(|base| {
        let point = rims.iter().zip(radii).fold(base.point, |point, (rim, radius)| match rim {
            Some(rim) => point + radius * rim.sign,
            None => point,
        });
        Vertex { point, first: base.first + radii[0] }
    });
    Some(Simplex::from_vertices(moved))
}

/// A point of the difference without its part on rims; `None` if it contains the apex of a cone.
fn without_rims(rims: &[Option<Rim>; 2], vertex: &Vertex) -> Option<Vertex> {
    let mut base = *vertex;
    for (rim, point) in rims.iter().zip([vertex.first, vertex.first - vertex.point]) {
        let Some(rim) = rim else { continue };
        let radial = rim.radial(point);
        if radial.norm() < (1.0 - ZERO_LENGTH) * rim.radius {
            return None;
        }
        base.point -= radial * rim.sign;
        if rim.sign > 0.0 {
            base.first -= radial;
        }
    }
    Some(base)
}

/// Takes a Newton step. Returns the angle by which the rims turned, rad; `None` where the second derivative is not
/// positive.
fn newton_step(rims: &[Option<Rim>; 2], radii: &mut [DVec3; 2], base: DVec3, across: &Across) -> Option<f64> {
    match rims {
        [Some(rim), None] => step_one_rim(rim, &mut radii[0], base, across),
        [None, Some(rim)] => step_one_rim(rim, &mut radii[1], base, across),
        _ => step_two_rims(rims, radii, base, across),
    }
}

/// A Newton step for one rim.
fn step_one_rim(rim: &Rim, radius: &mut DVec3, base: DVec3, across: &Across) -> Option<f64> {
    let point = across.project(base + *radius * rim.sign);
    let along = rim.axis.cross(*radius);
    let slope = across.project(along * rim.sign);
    let bend = slope.length_squared() - point.dot(*radius) * rim.sign;
    if !(bend > 0.0) {
        return None;
    }
    let angle = -point.dot(slope) / bend;
    let turned = *radius + along * angle;
    *radius = turned * (rim.radius / turned.norm());
    Some(angle.abs())
}

/// A Newton step for two rims.
fn step_two_rims(rims: &[Option<Rim>; 2], radii: &mut [DVec3; 2], base: DVec3, across: &Across) -> Option<f64> {
    let sign = |k: usize| rims[k].map_or(0.0, |rim: Rim| rim.sign);
    let point = across.project(base + radii[0] * sign(0) + radii[1] * sign(1));
    // Derivatives of the points with respect to the angles.
    let slopes: [DVec3; 2] =
        std::array::from_fn(|k| rims[k].map_or(DVec3::ZERO, |rim| rim.axis.cross(radii[k]) * rim.sign));
    let [first, second] = slopes.map(|slope| across.project(slope));
    let bend = |k: usize, slope: DVec3| match rims[k] {
        Some(rim) => slope.length_squared() - point.dot(radii[k]) * rim.sign,
        None => 1.0,
    };
    let mixed = first.dot(second);
    let bends = DMat2::from_cols(DVec2::new(bend(0, first), mixed), DVec2::new(mixed, bend(1, second)));
    if !(bends.x_axis.x > 0.0 && bends.determinant() > 0.0) {
        return None;
    }
    let angles = -(bends.inverse() * DVec2::new(point.dot(first), point.dot(second)));
    for (k, rim) in rims.iter().enumerate() {
        let Some(rim) = rim else { continue };
        let turned = radii[k] + rim.axis.cross(radii[k]) * angles[k];
        radii[k] = turned * (rim.radius / turned.norm());
    }
    Some(angles.abs().max_element())
}

/// Projection orthogonal to the differences of some points. It holds up to two orthonormal vectors of their span.
struct Across([DVec3; 2]);

impl Across {
    /// The projection for these points; differences up to `least`, m, are left out.
    fn new(points: &[Vertex], least: f64) -> Self {
        let mut own = Self([DVec3::ZERO; 2]);
        for (vertex, place) in points[1..].iter().zip(0..2) {
            let rest = own.project(vertex.point - points[0].point);
            let length = rest.norm();
            if length > least {
                own.0[place] = rest / length;
            }
        }
        own
    }

    /// The projected vector.
    fn project(&self, vector: DVec3) -> DVec3 {
        let rest = vector - self.0[0] * vector.dot(self.0[0]);
        rest - self.0[1] * rest.dot(self.0[1])
    }
}

#[cfg(test)]
mod tests {
    use bevy_math::{DMat3, DQuat};

    use super::*;

    /// A wheel leans and steers over an edge of a triangle. The simplex starts 0.3 rad beside the closest angle of the
    /// rim. The rim turns to that angle, which a scan of all angles gives to 1e-5 rad.
    #[test]
    fn a_rim_turns_to_the_point_that_is_nearest_to_an_edge() {
        let (radius, half) = (0.235, 0.04);
        let corners = [DVec3::new(-0.3, 0.0, 0.05), DVec3::new(0.4, 0.03, -0.02), DVec3::new(0.1, -0.2, 0.5)];
        let mut nearest = 0;
        for case in 0..40 {
            let lean = DQuat::from_rotation_z(0.05 * f64::from(case)) * DQuat::from_rotation_x(1.2);
            let turn = DMat3::from_quat(lean);
            let shift = DVec3::new(0.02, 0.3, 0.01 * f64::from(case));
            let cores = [(Core::Triangle(corners), 0.0), (Core::Cylinder { radius, half }, 0.0)];
            let difference = Difference::new(cores, turn, shift, f64::INFINITY).expect("nothing is too far");
            let on_rim = |angle: f64| {
                let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
                shift + turn * DVec3::new(radius * cosine, -half, radius * sine)
            };
            let along = (corners[1] - corners[0]).normalize();
            let distance = |angle: f64| (on_rim(angle) - corners[0]).reject_from_normalized(along).length();
            let angles = (0..600_000).map(|step| 1e-5 * f64::from(step) * std::f64::consts::TAU / 6.0);
            let best = angles.min_by(|&a, &b| distance(a).total_cmp(&distance(b))).expect("there are many");
            let beside = on_rim(best + 0.3);
            let point = |corner: DVec3| Vertex { point: corner - beside, first: corner };
            let mut simplex = Simplex::from_vertices(corners[..2].iter().map(|&corner| point(corner)));
            simplex.reduce_to_closest(true);
            // Past an end of the edge, the closest point is a corner.
            if simplex.vertices().len() < 2 {
                continue;
            }
            let mut turned = with_turned_rims(&difference, &simplex).expect("the edge is across the rim");
            let length = turned.reduce_to_closest(true).expect("they are apart").length();
            assert!((length - distance(best)).abs() < 1e-10, "case {case}: {length} m, {} m at best", distance(best));
            nearest += 1;
        }
        assert!(nearest > 30, "{nearest} cases only");
    }
}
