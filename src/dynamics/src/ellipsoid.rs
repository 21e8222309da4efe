//! The geometry of an ellipsoid, and an ellipsoid as a shape of parry.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

use crate::parry::{
    bounding_volume::{Aabb, BoundingSphere},
    mass_properties::MassProperties,
    math::Vector,
    query::{
        PointProjection, PointQuery, Ray, RayCast, RayIntersection, gjk::VoronoiSimplex,
        point::local_point_projection_on_support_map,
    },
    shape::{FeatureId, Shape, ShapeType, SupportMap, TypedShape},
};

/// Largest number of Newton steps for the closest point. They converge from one side; some six are enough.
const MAX_STEPS: usize = 32;
/// Relative change of the parameter at which they have converged: the next change is below rounding.
const CONVERGED_CHANGE: f64 = 1e-9;

/// An ellipsoid along the axes of its frame; half of its lengths, m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ellipsoid {
    pub(crate) radii: DVec3,
}

impl Ellipsoid {
    /// Support point: the farthest along a direction of any length.
    pub(crate) fn support(&self, direction: DVec3) -> DVec3 {
        self.radii * (self.radii * direction).try_normalized().unwrap_or(DVec3::X)
    }

    /// Support function: largest coordinate along a direction, m, times the length of the direction.
    pub(crate) fn extent(&self, direction: DVec3) -> f64 {
        (self.radii * direction).norm()
    }

    /// Second derivative of the support function at a unit vector, m. Across the vector, its eigenvalues are the radii
    /// of curvature at the support point.
    pub(crate) fn curvature_radii(&self, direction: DVec3) -> DMat3 {
        let (point, extent) = (self.support(direction), self.extent(direction));
        let squares = self.radii * self.radii;
        let outer = DMat3::from_cols(point * point.x, point * point.y, point * point.z);
        (DMat3::from_diagonal(squares) - outer) * (1.0 / extent)
    }

    /// Unit normal at the surface point nearest to a point outside; at a point inside, that of the ellipsoid of the
    /// same proportions through the point.
    ///
    /// The surface point is q = D² (D² + t)⁻¹ p, D the diagonal matrix of the radii. The t at which q lies on the
    /// surface is the root of 1/|D⁻¹ q| - 1, which is nearly linear in t (compare Moré and Sorensen 1983).
    pub(crate) fn nearest_normal(&self, point: DVec3) -> DVec3 {
        let squares = self.radii * self.radii;
        // Each component alone gives a lower bound of t; Newton's method approaches the root from below.
        let mut t = (self.radii * point.abs() - squares).max_element().max(0.0);
        for _ in 0..MAX_STEPS {
            let scale = squares + DVec3::splat(t);
            let on_ball = self.radii * point / scale;
            let square = on_ball.length_squared();
            let change = (square.sqrt() - 1.0) * square / (on_ball * on_ball / scale).element_sum();
            if change.is_nan() || change <= 0.0 {
                break;
            }
            t += change;
            if change <= CONVERGED_CHANGE * t {
                break;
            }
        }
        let least = DVec3::AXES[self.radii.min_position()];
        (point / (squares + DVec3::splat(t))).try_normalized().unwrap_or(least)
    }

    /// Distances along a ray to where its line enters and leaves the ellipsoid, in lengths of the ray's direction.
    fn line_crossings(&self, origin: DVec3, direction: DVec3) -> Option<[f64; 2]> {
        // In coordinates in which the ellipsoid is the unit ball.
        let (from, along) = (origin / self.radii, direction / self.radii);
        let square = along.length_squared();
        let middle = -from.dot(along) / square;
        let inside = 1.0 - (from + along * middle).length_squared();
        (inside >= 0.0).then(|| {
            let half = (inside / square).sqrt();
            [middle - half, middle + half]
        })
    }
}

impl SupportMap for Ellipsoid {
    fn local_support_point(&self, direction: Vector) -> Vector {
        self.support(direction)
    }
}

impl RayCast for Ellipsoid {
    fn cast_local_ray_and_get_normal(&self, ray: &Ray, range: f64, solid: bool) -> Option<RayIntersection> {
        let [enters, leaves] = self.line_crossings(ray.origin, ray.dir)?;
        let is_inside = enters < 0.0;
        let distance = match (is_inside, solid) {
            (false, _) => enters,
            (true, true) => 0.0,
            (true, false) => leaves,
        };
        if !(leaves >= 0.0 && distance <= range) {
            return None;
        }
        let outwards = (ray.origin + ray.dir * distance) / (self.radii * self.radii);
        let outwards = outwards.normalized_or_zero();
        let normal = match (is_inside, solid) {
            (false, _) => outwards,
            (true, true) => DVec3::ZERO,
            (true, false) => -outwards,
        };
        Some(RayIntersection::new(distance, normal, FeatureId::Face(0)))
    }
}

impl PointQuery for Ellipsoid {
    fn project_local_point(&self, point: Vector, solid: bool) -> PointProjection {
        if (point / self.radii).length_squared() <= 1.0 {
            let mut simplex = VoronoiSimplex::new();
            return local_point_projection_on_support_map(self, &mut simplex, point, solid);
        }
        PointProjection::new(false, self.support(self.nearest_normal(point)))
    }

    fn project_local_point_and_get_feature(&self, point: Vector) -> (PointProjection, FeatureId) {
        (self.project_local_point(point, false), FeatureId::Face(0))
    }
}

impl Shape for Ellipsoid {
    fn compute_local_aabb(&self) -> Aabb {
        Aabb::new(-self.radii, self.radii)
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere::new(DVec3::ZERO, self.radii.max_element())
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(*self)
    }

    fn scale_dyn(&self, scale: Vector, _num_subdivisions: u32) -> Option<Box<dyn Shape>> {
        Some(Box::new(Self { radii: self.radii * scale.abs() }))
    }

    fn mass_properties(&self, density: f64) -> MassProperties {
        let mass = density * 4.0 / 3.0 * std::f64::consts::PI * self.radii.element_product();
        let squares = self.radii * self.radii;
        let moments = (DVec3::splat(squares.element_sum()) - squares) * (0.2 * mass);
        MassProperties::new(DVec3::ZERO, mass, moments)
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }

    fn ccd_thickness(&self) -> f64 {
        self.radii.min_element()
    }

    fn ccd_angular_thickness(&self) -> f64 {
        std::f64::consts::FRAC_PI_2
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn as_support_map(&self) -> Option<&dyn SupportMap> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    /// The vector from the surface point to the point is along the normal there, for radii up to 1 : 1000.
    #[test]
    fn the_nearest_point_has_the_normal_that_points_away_from_it() {
        let mut stream = Stream::from_number(3);
        let mut next = || stream.between(-1.0, 1.0);
        for case in 0..10_000 {
            let exponents = DVec3::new(next(), next(), next()) * 1.5;
            let own = Ellipsoid { radii: exponents.to_array().map(|exponent| libm::pow(10.0, exponent)).into() };
            let outwards = DVec3::new(next(), next(), next()).normalize_or_zero();
            let height = own.radii.max_element() * libm::pow(10.0, 4.0 * next());
            let surface = own.support(outwards);
            let found = own.nearest_normal(surface + outwards * height);
            let off = (own.support(found) - surface).length();
            let exact = 1e-13 * (own.radii.max_element() + height);
            assert!(off < exact + 1e-9 * height, "case {case}: {off} m at {height} m, {own:?}");
            let error = (found - outwards).length();
            assert!(error < 1e-9, "case {case}: {error} at {height} m, {own:?}");
        }
    }

    /// The second derivative is the difference quotient of support points.
    #[test]
    fn the_radii_of_curvature_are_the_change_of_the_support_point() {
        let own = Ellipsoid { radii: DVec3::new(0.3, 0.2, 0.1) };
        let (normal, step) = (DVec3::new(0.3, -0.5, 0.7).normalize(), 1e-5);
        for along in DVec3::AXES {
            let change = own.support(normal + along * step) - own.support(normal - along * step);
            let error = change * (0.5 / step) - own.curvature_radii(normal) * along;
            assert!(error.length() < 1e-9, "{error}");
        }
        // At the end of the x axis: y²/x and z²/x.
        let end = own.curvature_radii(DVec3::X);
        let wanted = DMat3::from_diagonal(DVec3::new(0.0, 0.04 / 0.3, 0.01 / 0.3));
        assert!((end - wanted).abs_diff_eq(DMat3::ZERO, 1e-15), "{end}");
    }
}
