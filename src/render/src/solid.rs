//! Solids in closed form, in f64 and in their own frame: the point where a ray enters.
//!
//! A ray that begins inside of a solid leaves it unseen. So a camera inside of a body looks through it, as cameras do
//! that draw only the faces turned towards them.

use bevy_math::{DVec2, DVec3};
use simpartner_model::Norm;

/// A ray with a unit direction, and the distances along it, m, between which it meets something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it begins, m.
    pub origin: DVec3,
    /// Unit vector.
    pub direction: DVec3,
    /// Least and largest distance of a hit, m.
    pub range: [f64; 2],
}

/// Point of a surface that a ray meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surface {
    /// Distance along the ray, m.
    pub(crate) distance: f64,
    /// Unit normal on the side that the ray comes from.
    pub(crate) normal: DVec3,
    /// Index of the triangle of a mesh; 0 for other shapes.
    pub(crate) triangle: u32,
}

impl Surface {
    /// Point of a shape without triangles.
    pub(crate) fn without_triangle(distance: f64, normal: DVec3) -> Self {
        Self { distance, normal, triangle: 0 }
    }
}

/// A solid about its origin; round ones stand along y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Solid {
    Box { half_size: DVec3 },
    Sphere { radius: f64 },
    Ellipsoid { radii: DVec3 },
    Cylinder { radius: f64, half_length: f64 },
    Capsule { radius: f64, half_length: f64 },
    Cone { radius: f64, half_length: f64 },
}

impl Solid {
    /// Half of the size of its box along each axis, m.
    pub(crate) fn half_size(&self) -> DVec3 {
        match *self {
            Self::Box { half_size } => half_size,
            Self::Sphere { radius } => DVec3::splat(radius),
            Self::Ellipsoid { radii } => radii,
            Self::Cylinder { radius, half_length } | Self::Cone { radius, half_length } => {
                DVec3::new(radius, half_length, radius)
            }
            Self::Capsule { radius, half_length } => DVec3::new(radius, half_length + radius, radius),
        }
    }

    /// Where a ray enters.
    pub(crate) fn first_hit(&self, ray: &Ray) -> Option<Surface> {
        let found = match *self {
            Self::Box { half_size } => enter_box(half_size, ray)?,
            Self::Sphere { radius } => enter_ball(DVec3::ZERO, radius, ray)?,
            Self::Ellipsoid { radii } => enter_ellipsoid(radii, ray)?,
            Self::Cylinder { radius, half_length } => enter_cylinder(radius, half_length, ray)?,
            Self::Capsule { radius, half_length } => enter_capsule(radius, half_length, ray)?,
            Self::Cone { radius, half_length } => enter_cone(radius, half_length, ray)?,
        };
        (ray.range[0] <= found.distance && found.distance <= ray.range[1]).then_some(found)
    }
}

/// The interval of a ray in a box about the origin.
#[inline]
pub(crate) fn box_interval(half_size: DVec3, origin: DVec3, direction: DVec3) -> Option<[f64; 2]> {
    // Across a component of zero, the distances are infinite: of opposite signs inside of the box.
    let inverse = direction.recip();
    let (one, two) = ((-half_size - origin) * inverse, (half_size - origin) * inverse);
    let interval = [one.min(two).max_element(), one.max(two).min_element()];
    (interval[0] <= interval[1]).then_some(interval)
}

fn enter_box(half_size: DVec3, ray: &Ray) -> Option<Surface> {
    let [distance, _] = box_interval(half_size, ray.origin, ray.direction)?;
    if !(ray.range[0] <= distance && distance <= ray.range[1]) {
        return None;
    }
    // The side whose plane the point is on.
    let at = (ray.origin + distance * ray.direction).abs() - half_size;
    let axis = match () {
        () if at.x >= at.y && at.x >= at.z => DVec3::X,
        () if at.y >= at.z => DVec3::Y,
        () => DVec3::Z,
    };
    Some(Surface::without_triangle(distance, axis * -axis.dot(ray.direction).signum()))
}

/// Ends of the interval of a ray in a circle about the origin of a plane; `along` and `origin` are the ray's direction
/// and origin in that plane. The discriminant is taken from the point nearest to the middle, so that nothing cancels
/// for small and distant circles.
fn circle_interval(radius: f64, origin: DVec2, along: DVec2) -> Option<[f64; 2]> {
    let squared = along.length_squared();
    if squared == 0.0 {
        return (origin.length_squared() <= radius * radius).then_some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    let nearest = -origin.dot(along) / squared;
    let left = radius * radius - (origin + nearest * along).length_squared();
    if left < 0.0 {
        return None;
    }
    let half = (left / squared).sqrt();
    Some([nearest - half, nearest + half])
}

fn enter_ball(centre: DVec3, radius: f64, ray: &Ray) -> Option<Surface> {
    let to = centre - ray.origin;
    let nearest = to.dot(ray.direction);
    let left = radius * radius - (to - nearest * ray.direction).length_squared();
    if left < 0.0 {
        return None;
    }
    let distance = nearest - left.sqrt();
    let normal = (distance * ray.direction - to).try_normalized()?;
    Some(Surface::without_triangle(distance, normal))
}

/// In coordinates that are divided by the radii, the ellipsoid is the unit ball.
fn enter_ellipsoid(radii: DVec3, ray: &Ray) -> Option<Surface> {
    let (from, along) = (ray.origin / radii, ray.direction / radii);
    let squared = along.length_squared();
    let nearest = -from.dot(along) / squared;
    let left = 1.0 - (from + nearest * along).length_squared();
    if left < 0.0 {
        return None;
    }
    let distance = nearest - (left / squared).sqrt();
    let normal = ((from + distance * along) / radii).try_normalized()?;
    Some(Surface::without_triangle(distance, normal))
}

fn level_part(vector: DVec3) -> DVec2 {
    DVec2::new(vector.x, vector.z)
}

/// The radial unit vector of a point beside the y axis.
fn outward_direction(point: DVec3) -> Option<DVec3> {
    DVec3::new(point.x, 0.0, point.z).try_normalized()
}

fn enter_cylinder(radius: f64, half_length: f64, ray: &Ray) -> Option<Surface> {
    let side = circle_interval(radius, level_part(ray.origin), level_part(ray.direction))?;
    let (y, rise) = (ray.origin.y, ray.direction.y);
    let ends = match rise == 0.0 {
        true if y.abs() > half_length => return None,
        true => [f64::NEG_INFINITY, f64::INFINITY],
        false => [(-half_length.copysign(rise) - y) / rise, (half_length.copysign(rise) - y) / rise],
    };
    let entry = side[0].max(ends[0]);
    if entry > side[1].min(ends[1]) {
        return None;
    }
    let normal = match side[0] > ends[0] {
        true => outward_direction(ray.origin + entry * ray.direction)?,
        false => DVec3::Y * -rise.signum(),
    };
    Some(Surface::without_triangle(entry, normal))
}

fn enter_capsule(radius: f64, half_length: f64, ray: &Ray) -> Option<Surface> {
    let [entry, _] = circle_interval(radius, level_part(ray.origin), level_part(ray.direction))?;
    // Along the axis, it enters at the end that it comes from.
    let height = match entry.is_finite() {
        true => ray.origin.y + entry * ray.direction.y,
        false => f64::INFINITY.copysign(-ray.direction.y),
    };
    if height.abs() > half_length {
        return enter_ball(DVec3::Y * half_length.copysign(height), radius, ray);
    }
    let normal = outward_direction(ray.origin + entry * ray.direction)?;
    Some(Surface::without_triangle(entry, normal))
}

/// The cone's side is the points whose distance from the axis is that from the tip's height times the slope.
fn enter_cone(radius: f64, half_length: f64, ray: &Ray) -> Option<Surface> {
    let slope = radius / (2.0 * half_length);
    let (below, fall) = (half_length - ray.origin.y, -ray.direction.y);
    let mut found: Option<Surface> = None;
    if ray.direction.y > 0.0 {
        let distance = (-half_length - ray.origin.y) / ray.direction.y;
        let at = level_part(ray.origin + distance * ray.direction);
        if at.length_squared() <= radius * radius {
            found = Some(Surface::without_triangle(distance, DVec3::NEG_Y));
        }
    }
    let (origin, along) = (level_part(ray.origin), level_part(ray.direction));
    let a = along.length_squared() - (slope * fall) * (slope * fall);
    let b = origin.dot(along) - slope * slope * below * fall;
    let c = origin.length_squared() - (slope * below) * (slope * below);
    let discriminant = b * b - a * c;
    if discriminant < 0.0 {
        return found;
    }
    // Neither root is a difference of nearly equal numbers.
    let sum = -(b + discriminant.sqrt().copysign(b));
    for distance in [sum / a, c / sum] {
        let at = ray.origin + distance * ray.direction;
        if !distance.is_finite() || at.y.abs() > half_length {
            continue;
        }
        let Some(outward) = outward_direction(at) else { continue };
        let normal = (outward + DVec3::Y * slope).normalized();
        let is_nearer = found.is_none_or(|found| distance < found.distance);
        if is_nearer && normal.dot(ray.direction) < 0.0 {
            found = Some(Surface::without_triangle(distance, normal));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    const SOLIDS: [Solid; 6] = [
        Solid::Box { half_size: DVec3::new(0.4, 0.7, 0.2) },
        Solid::Sphere { radius: 0.6 },
        Solid::Cylinder { radius: 0.5, half_length: 0.8 },
        Solid::Capsule { radius: 0.3, half_length: 0.5 },
        Solid::Cone { radius: 0.5, half_length: 0.7 },
        Solid::Ellipsoid { radii: DVec3::new(0.4, 0.7, 0.2) },
    ];

    /// Signed distance from a surface, about zero on it and below zero inside.
    fn outside(solid: &Solid, at: DVec3) -> f64 {
        let beside = DVec2::new(at.x, at.z).length();
        match *solid {
            Solid::Box { half_size } => (at.abs() - half_size).max_element(),
            Solid::Sphere { radius } => at.length() - radius,
            // The distance near the surface: the unit ball's function over its slope.
            Solid::Ellipsoid { radii } => {
                let ball = at / radii;
                (ball.length() - 1.0) * ball.length() / (ball / radii).length()
            }
            Solid::Cylinder { radius, half_length } => (beside - radius).max(at.y.abs() - half_length),
            Solid::Capsule { radius, half_length } => {
                (at - DVec3::Y * at.y.clamp(-half_length, half_length)).length() - radius
            }
            Solid::Cone { radius, half_length } => {
                let slope = radius / (2.0 * half_length);
                (beside - slope * (half_length - at.y)).max(-half_length - at.y)
            }
        }
    }

    fn random_vector(stream: &mut Stream, size: f64) -> DVec3 {
        DVec3::from([0; 3].map(|_| stream.between(-size, size)))
    }

    /// A ray enters where it is on the surface, outside before and inside behind; and it misses only where no point of
    /// it, in small steps, is inside.
    #[test]
    fn a_ray_enters_where_the_solid_begins() {
        let mut stream = Stream::from_number(3);
        for solid in &SOLIDS {
            let mut hits = 0;
            for _ in 0..4000 {
                let origin = random_vector(&mut stream, 3.0);
                let direction = (random_vector(&mut stream, 0.8) - origin).normalize();
                let ray = Ray { origin, direction, range: [0.0, f64::INFINITY] };
                let at = |distance: f64| outside(solid, origin + distance * direction);
                match solid.first_hit(&ray) {
                    Some(Surface { distance, normal, .. }) => {
                        hits += 1;
                        assert!(at(distance).abs() < 1e-12, "{solid:?}: {}", at(distance));
                        assert!((normal.length() - 1.0).abs() < 1e-12 && normal.dot(direction) < 1e-9);
                        let step = (0..1000).map(|step| distance * f64::from(step) / 1000.0 * 0.9999);
                        assert!(step.map(at).all(|outside| outside > 0.0), "{solid:?}: an earlier entry");
                        // The normal is the slope of the distance from the surface.
                        let out = origin + distance * direction + 1e-6 * normal;
                        assert!((outside(solid, out) - 1e-6).abs() < 1e-7, "{solid:?}: {normal}");
                    }
                    None if at(0.0) <= 0.0 => {}
                    None => {
                        let inside = (0..6000).map(|step| at(f64::from(step) * 1e-3)).fold(f64::INFINITY, f64::min);
                        assert!(inside > -1e-6, "{solid:?}: missed by {inside}");
                    }
                }
            }
            assert!(hits > 1000, "{solid:?}");
        }
    }

    /// Rays along the axes, on which divisions by zero lie.
    #[test]
    fn rays_along_an_axis_meet_tip_and_ends() {
        for (solid, above, below) in [
            (SOLIDS[0], 0.7, 0.7),
            (SOLIDS[1], 0.6, 0.6),
            (SOLIDS[2], 0.8, 0.8),
            (SOLIDS[3], 0.8, 0.8),
            (SOLIDS[4], 0.7, 0.7),
            (SOLIDS[5], 0.7, 0.7),
        ] {
            for (sign, reach) in [(1.0, above), (-1.0, below)] {
                for beside in [0.0, 1e-3] {
                    let origin = DVec3::new(beside, sign * 5.0, 0.0);
                    let ray = Ray { origin, direction: DVec3::Y * -sign, range: [0.0, 10.0] };
                    // The tip of a cone is not met head-on, since it has no normal.
                    match solid.first_hit(&ray) {
                        Some(met) => assert!((met.distance - (5.0 - reach)).abs() < 3e-3, "{solid:?} {met:?}"),
                        None => assert!(matches!(solid, Solid::Cone { .. }) && beside == 0.0 && sign > 0.0),
                    }
                }
            }
            let beside = Ray { origin: DVec3::new(2.0, 5.0, 0.0), direction: DVec3::NEG_Y, range: [0.0, 10.0] };
            assert_eq!(solid.first_hit(&beside), None);
        }
    }

    #[test]
    fn a_ray_from_inside_leaves_a_solid_unseen() {
        for solid in SOLIDS {
            for direction in [DVec3::X, DVec3::Y, DVec3::new(0.6, 0.0, 0.8), DVec3::NEG_Y] {
                let ray = Ray { origin: DVec3::new(0.01, 0.02, -0.03), direction, range: [0.0, 10.0] };
                assert_eq!(solid.first_hit(&ray), None, "{solid:?} {direction}");
            }
        }
    }
}
