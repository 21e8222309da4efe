//! Contact normals of ellipsoids. On an ellipsoid, each step of the distance search reduces the error by a constant
//! factor only; Newton's method for the normal takes few steps in all.
//!
//! With s1 and s2 the support points, x(n) = s2(-n) - s1(n) and the separation is n x(n). Support points are the
//! gradients of support functions. So the part of x across n is the gradient of the separation on the unit sphere, and
//! its second derivative there is -(H1 + H2 + n x), with H the radii of curvature ([`Core::curvature_radii`]). At the
//! contact normal, x is parallel to n.
//!
//! An edge or a straight side of the other shape makes its support point jump. The normal is then searched on the
//! [circle](Normals::Circle) of normals along which it does not.

use bevy_math::{DMat2, DMat3, DVec2, DVec3};
use simpartner_model::Norm;

use super::{
    minkowski_difference::{Difference, Vertex},
    simplex::Simplex,
    solid::{Core, cone_side_normal, rim_point},
};

/// Largest number of Newton steps, and the angle below which they have converged, rad: its square is below rounding.
const MAX_STEPS: usize = 12;
const CONVERGED_ANGLE: f64 = 1e-8;
/// Largest angle of a step, rad, and the largest number of times that a step is halved because the separation falls.
const MAX_STEP_ANGLE: f64 = 0.5;
const MAX_HALVINGS: usize = 6;
/// Fall of the separation that counts as rounding, as a fraction of the size.
const ROUNDING_RATIO: f64 = 1e-15;
/// Square of the angle to the axis of a round shape below which a normal is that of its end.
const ON_AXIS_ANGLE2: f64 = 1e-20;
/// Distance below which two points count as one, as a fraction of the size.
const SAME_POINT: f64 = 1e-9;

/// The normals among which the contact normal is searched, as directions from the first shape to the second.
#[derive(Debug, Clone, Copy)]
pub(super) enum Normals {
    /// All: the other shape touches with a corner or a curved surface.
    Sphere,
    /// Normals with n · axis = sine: the other shape touches with an edge or a straight side.
    Circle { axis: DVec3, sine: f64 },
    /// One, up to its sign: the other shape touches with a face.
    Axis(DVec3),
}

/// A normal with the difference x of the support points along it, m.
#[derive(Debug, Clone, Copy)]
struct Trial {
    normal: DVec3,
    x: DVec3,
    separation: f64,
}

impl Trial {
    fn new(difference: &Difference, normal: DVec3) -> Self {
        let x = -difference.support_point(normal).point;
        Self { normal, x, separation: x.dot(normal) }
    }
}

/// Points of a simplex on the shape that is no ellipsoid, each once, in its own frame: none if both are ellipsoids.
/// Points on a rim are replaced by its centre.
struct OtherPoints<'a> {
    core: Core<'a>,
    /// True if this shape is the first.
    is_first: bool,
    points: [DVec3; 3],
    count: usize,
}

impl<'a> OtherPoints<'a> {
    fn new(difference: &Difference<'a>, simplex: &Simplex) -> Self {
        let [one, two] = difference.cores;
        let is_first = matches!(two, Core::Ellipsoid(_));
        let mut own = Self { core: if is_first { one } else { two }, is_first, points: [DVec3::ZERO; 3], count: 0 };
        if let Core::Ellipsoid(_) = own.core {
            return own;
        }
        let near = SAME_POINT * difference.size;
        for vertex in simplex.vertices() {
            let point = match is_first {
                true => vertex.first,
                false => difference.turn.transpose() * (vertex.first - vertex.point - difference.shift),
            };
            let point = match own.core {
                Core::Cylinder { .. } | Core::Cone { .. } => DVec3::Y * point.y,
                _ => point,
            };
            if own.count < 3 && own.known_points().iter().all(|known| (*known - point).norm() > near) {
                own.points[own.count] = point;
                own.count += 1;
            }
        }
        own
    }

    fn known_points(&self) -> &[DVec3] {
        &self.points[..self.count]
    }

    /// The normals along which the shapes touch with these points.
    fn surface_normals(&self, difference: &Difference) -> Option<Normals> {
        let in_first = |direction: DVec3| if self.is_first { direction } else { difference.turn * direction };
        Some(match (self.known_points(), self.core) {
            ([_, _], Core::Cone { radius, half }) => {
                let sine = cone_side_normal(DVec3::X, radius, half).y;
                Normals::Circle { axis: in_first(DVec3::Y), sine: if self.is_first { sine } else { -sine } }
            }
            ([a, b], _) => Normals::Circle { axis: in_first((*b - *a).try_normalized()?), sine: 0.0 },
            ([a, b, c], _) => Normals::Axis(in_first((*b - *a).cross(*c - *a).try_normalized()?)),
            _ => Normals::Sphere,
        })
    }

    /// The simplex of these points and the ellipsoid's support point along a normal.
    fn simplex_along(&self, difference: &Difference, normal: DVec3) -> Simplex {
        let support = difference.support_point(normal);
        if self.count < 2 {
            return Simplex::from_vertices(std::iter::once(support));
        }
        let towards = if self.is_first { normal } else { difference.turn.transpose() * -normal };
        let vertices = self.known_points().iter().map(|&point| {
            let point = match self.core {
                Core::Cylinder { radius, .. } => point + rim_point(towards, radius),
                // The rim is below the middle, the apex above.
                Core::Cone { radius, .. } if point.y < 0.0 => point + rim_point(towards, radius),
                _ => point,
            };
            if self.is_first {
                return Vertex { point: support.point + point - support.first, first: point };
            }
            let second = difference.turn * point + difference.shift;
            Vertex { point: support.first - second, first: support.first }
        });
        Simplex::from_vertices(vertices)
    }
}

impl Difference<'_> {
    /// True if one of the shapes is an ellipsoid.
    pub(super) fn is_smooth(&self) -> bool {
        self.cores.iter().any(|core| matches!(core, Core::Ellipsoid(_)))
    }

    /// True if the normal of the face that a shape turns to the other's centre is exact for a pair with an ellipsoid:
    /// of flat faces, and of an ellipsoid that meets a ball. Other curved sides touch beside it.
    pub(super) fn is_exact_face(&self, index: usize, normal: DVec3) -> bool {
        let is_along_axis = || {
            let axis = if index == 0 { DVec3::Y } else { self.turn.y_axis };
            axis.cross(normal).length_squared() < ON_AXIS_ANGLE2
        };
        !self.is_smooth()
            || match self.cores[index] {
                Core::Ellipsoid(_) => matches!(self.cores[1 - index], Core::Segment(0.0)),
                Core::Segment(_) => false,
                Core::Cylinder { .. } | Core::Cone { .. } => is_along_axis(),
                Core::Box(_) | Core::Hull(_) | Core::Triangle(_) | Core::Face(_) => true,
            }
    }

    /// Sum of the radii of curvature of both shapes where they touch along a normal, m.
    fn curvature_radii(&self, normal: DVec3) -> DMat3 {
        let [one, two] = self.cores;
        let back = self.turn.transpose();
        one.curvature_radii(normal) + self.turn * two.curvature_radii(back * -normal) * back
    }
}

impl Normals {
    /// The one of these normals that is nearest to a given one.
    fn nearest_to(&self, normal: DVec3) -> Option<DVec3> {
        match *self {
            Self::Sphere => Some(normal),
            Self::Circle { axis, sine } => {
                let across = (normal - axis * normal.dot(axis)).try_normalized()?;
                Some(across * (1.0 - sine * sine).sqrt() + axis * sine)
            }
            Self::Axis(axis) => Some(axis * 1f64.copysign(axis.dot(normal))),
        }
    }

    /// The Newton step from a normal, as a vector across it, rad; `None` where the second derivative is not negative.
    fn newton_step(&self, difference: &Difference, trial: &Trial) -> Option<DVec3> {
        let Trial { normal, x, separation } = *trial;
        match *self {
            Self::Sphere => {
                let curvature = difference.curvature_radii(normal);
                let (one, two) = normal.any_orthonormal_pair();
                let (along_one, along_two) = (curvature * one, curvature * two);
                let mixed = one.dot(along_two);
                let bends = DMat2::from_cols(
                    DVec2::new(one.dot(along_one) + separation, mixed),
                    DVec2::new(mixed, two.dot(along_two) + separation),
                );
                if !(bends.x_axis.x > 0.0 && bends.determinant() > 0.0) {
                    return None;
                }
                let angles = bends.inverse() * DVec2::new(x.dot(one), x.dot(two));
                Some(one * angles.x + two * angles.y)
            }
            Self::Circle { axis, sine } => {
                let cosine = (1.0 - sine * sine).sqrt();
                let across = (normal - axis * sine) / cosine;
                let along = axis.cross(across);
                let curvature = along.dot(difference.curvature_radii(normal) * along);
                let bend = cosine * across.dot(x) + cosine * cosine * curvature;
                (bend > 0.0).then(|| along * (cosine * cosine * along.dot(x) / bend))
            }
            Self::Axis(_) => Some(DVec3::ZERO),
        }
    }

    /// The normal of largest separation near a given one; `None` if it is undetermined.
    fn best_normal(&self, difference: &Difference, near: DVec3) -> Option<DVec3> {
        let mut trial = Trial::new(difference, self.nearest_to(near)?);
        let rounding = ROUNDING_RATIO * difference.size;
        for _ in 0..MAX_STEPS {
            let Some(step) = self.newton_step(difference, &trial) else { break };
            let angle = step.norm();
            let mut step = if angle > MAX_STEP_ANGLE { step * (MAX_STEP_ANGLE / angle) } else { step };
            let next = (0..=MAX_HALVINGS).find_map(|_| {
                let next = Trial::new(difference, self.nearest_to((trial.normal + step).try_normalized()?)?);
                step *= 0.5;
                (next.separation >= trial.separation - rounding).then_some(next)
            });
            let Some(next) = next else { break };
            trial = next;
            if angle < CONVERGED_ANGLE {
                break;
            }
        }
        trial.normal.is_finite().then_some(trial.normal)
    }
}

/// The simplex of the same parts of the shapes, with the ellipsoid's points moved to where they are closest. `v` is the
/// point of the simplex closest to zero. `None` if that is undetermined.
pub(super) fn with_closest_point(difference: &Difference, simplex: &Simplex, v: DVec3) -> Option<Simplex> {
    let other = OtherPoints::new(difference, simplex);
    let normal = other.surface_normals(difference)?.best_normal(difference, (-v).try_normalized()?)?;
    Some(other.simplex_along(difference, normal))
}

/// The normals along which the shapes touch with the points of a simplex.
pub(super) fn normals_of(difference: &Difference, simplex: &Simplex) -> Normals {
    OtherPoints::new(difference, simplex).surface_normals(difference).unwrap_or(Normals::Sphere)
}

/// The normal of a pair with an ellipsoid, improved to rounding, and the points where they touch along it, m. `None` if
/// the separation falls.
pub(super) fn polish_contact(difference: &Difference, normals: &Normals, near: DVec3) -> Option<(DVec3, [DVec3; 2])> {
    let normal = normals.best_normal(difference, near)?;
    let separation = difference.separation_along(normal);
    if separation < difference.separation_along(near) - ROUNDING_RATIO * difference.size {
        return None;
    }
    let support = difference.support_point(normal);
    let (first, second) = (support.first, support.first - support.point);
    // The other shape may have several points farthest along the normal; the ellipsoid has one.
    let points = match difference.cores[0] {
        Core::Ellipsoid(_) => [first, first + normal * separation],
        _ => [second - normal * separation, second],
    };
    Some((normal, points))
}
