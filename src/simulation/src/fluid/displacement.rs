//! The volume of a body's collision shape below a level plane, and its middle: what buoyancy needs.
//!
//! Shapes with flat faces are exact, at any depth and attitude: the submerged part of each triangle of the surface
//! spans a tetrahedron with a point of the plane, so the cut surface, which lies in the plane, adds nothing. Spheres
//! and ellipsoids are exact by the volume of a spherical cap. Cylinders, cones and capsules are prisms of
//! [`PRISM_SIDES`] sides with the volume of the round shape.

use std::f64::consts::{PI, TAU};

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Placed, Pose, Shape, quickhull};

/// Number of sides of a prism in place of a round shape: 1e-4 of its volume when it is cut along its axis.
const PRISM_SIDES: usize = 96;
/// Number of rings of a half ball at the end of a capsule.
const CAP_RINGS: usize = 24;

/// A volume and the product of it with its middle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Volume {
    /// m³
    pub(super) volume: f64,
    /// Volume times the vector to its middle, m⁴.
    moment: DVec3,
}

impl Volume {
    /// Its middle; zero without a volume.
    pub(super) fn middle_point(&self) -> DVec3 {
        if self.volume > 0.0 { self.moment / self.volume } else { DVec3::ZERO }
    }

    fn around_point(volume: f64, middle: DVec3) -> Self {
        Self { volume, moment: middle * volume }
    }

    fn add_part(&mut self, other: Self) {
        self.volume += other.volume;
        self.moment += other.moment;
    }

    /// The part of all that is not `other`.
    pub(super) fn remaining_after(&self, other: Self) -> Self {
        Self { volume: self.volume - other.volume, moment: self.moment - other.moment }
    }
}

/// A convex part or a closed mesh, in the frame of its body.
enum Part {
    Surface {
        vertices: Vec<DVec3>,
        triangles: Vec<[u32; 3]>,
    },
    /// An ellipsoid: the image of the unit ball under `axes`, moved to `centre`.
    Ellipsoid {
        centre: DVec3,
        axes: DMat3,
    },
}

/// The collision shape of a body as a volume that displaces fluid. Overlapping parts of a compound count twice.
pub(super) struct Displacement {
    parts: Vec<Part>,
    /// All of it, in the body's frame.
    pub(super) whole: Volume,
    /// Largest distance of its points from the origin of the body, m.
    reach: f64,
}

impl Displacement {
    pub(super) fn of_shape(placed: &Placed) -> Self {
        let mut parts = Vec::new();
        collect_parts(placed, &Pose::IDENTITY, &mut parts);
        let mut displacement = Self { parts, whole: Volume::default(), reach: f64::INFINITY };
        // Below a plane that is far above all of it.
        let far = displacement.largest_distance();
        displacement.whole = displacement.volume_below(DVec3::Y, 2.0 * far + 1.0);
        displacement.reach = far;
        displacement
    }

    fn largest_distance(&self) -> f64 {
        let of = |part: &Part| match part {
            Part::Surface { vertices, .. } => vertices.iter().map(|point| point.length()).fold(0.0, f64::max),
            Part::Ellipsoid { centre, axes } => {
                centre.length() + axes.x_axis.length().max(axes.y_axis.length()).max(axes.z_axis.length())
            }
        };
        self.parts.iter().map(of).fold(0.0, f64::max)
    }

    /// The part below the plane `up` . x = `level`, in the body's frame; `up` is a unit vector.
    pub(super) fn volume_below(&self, up: DVec3, level: f64) -> Volume {
        if level >= self.reach {
            return self.whole;
        }
        let mut sum = Volume::default();
        if level > -self.reach {
            for part in &self.parts {
                sum.add_part(match part {
                    Part::Surface { vertices, triangles } => surface_below(vertices, triangles, up, level),
                    Part::Ellipsoid { centre, axes } => ellipsoid_below(*centre, axes, up, level),
                });
            }
        }
        sum
    }
}

fn collect_parts(placed: &Placed, outer: &Pose, into: &mut Vec<Part>) {
    let pose = outer.then(&placed.pose);
    let surface = |(vertices, triangles): (Vec<DVec3>, Vec<[u32; 3]>)| Part::Surface {
        vertices: vertices.into_iter().map(|point| pose.point(point)).collect(),
        triangles,
    };
    let ball = |radii: DVec3| Part::Ellipsoid {
        centre: pose.translation,
        axes: DMat3::from_quat(pose.rotation) * DMat3::from_diagonal(radii),
    };
    match &placed.shape {
        Shape::Sphere { radius } => into.push(ball(DVec3::splat(*radius))),
        Shape::Ellipsoid { radii } => into.push(ball(*radii)),
        Shape::Box { size } => {
            let corner = |index: u32| {
                let side = |bit: u32| if index >> bit & 1 == 1 { 0.5 } else { -0.5 };
                DVec3::new(side(0), side(1), side(2)) * *size
            };
            into.extend(quickhull(&(0..8).map(corner).collect::<Vec<_>>()).map(surface));
        }
        Shape::Cylinder { radius, length } => {
            into.push(surface(revolve_profile(&[
                (0.0, -0.5 * length),
                (*radius, -0.5 * length),
                (*radius, 0.5 * length),
                (0.0, 0.5 * length),
            ])));
        }
        Shape::Cone { radius, length } => {
            into.push(surface(revolve_profile(&[(0.0, -0.5 * length), (*radius, -0.5 * length), (0.0, 0.5 * length)])));
        }
        Shape::Capsule { radius, length } => {
            // The rings of a half ball enclose its volume.
            let rise = 0.5 * length;
            let enlarged = capsule_scale() * radius;
            let ring = |index: usize| libm::sincos(0.5 * PI * index as f64 / CAP_RINGS as f64);
            let lower = (0..=CAP_RINGS).map(ring).map(|(sin, cos)| (radius * sin, -rise - enlarged * cos));
            let upper = (0..=CAP_RINGS).rev().map(ring).map(|(sin, cos)| (radius * sin, rise + enlarged * cos));
            into.push(surface(revolve_profile(&lower.chain(upper).collect::<Vec<_>>())));
        }
        Shape::ConvexHull { points } => into.extend(quickhull(points).map(surface)),
        Shape::TriangleMesh { vertices, triangles } => into.push(surface((vertices.clone(), triangles.clone()))),
        Shape::Compound { parts } => parts.iter().for_each(|part| collect_parts(part, &pose, into)),
    }
}

/// Factor on the height of a half ball of rings, whose volume is then that of the half ball.
fn capsule_scale() -> f64 {
    let ring = |index: usize| libm::sincos(0.5 * PI * index as f64 / CAP_RINGS as f64);
    let frustum = |index: usize| {
        let ((near, high), (wide, low)) = (ring(index), ring(index + 1));
        (high - low) * (near * near + near * wide + wide * wide) / 3.0
    };
    (2.0 / 3.0) / (0..CAP_RINGS).map(frustum).sum::<f64>()
}

/// A solid of revolution about y as a prism: the profile is a list of radii and heights from the lower end up. Each
/// ring has the area of its circle.
fn revolve_profile(profile: &[(f64, f64)]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let step = TAU / PRISM_SIDES as f64;
    let widened = (step / libm::sin(step)).sqrt();
    let mut vertices = Vec::new();
    for (radius, height) in profile {
        for side in 0..PRISM_SIDES {
            let (sin, cos) = libm::sincos(step * side as f64);
            vertices.push(DVec3::new(widened * radius * cos, *height, widened * radius * sin));
        }
    }
    let mut triangles = Vec::new();
    let sides = PRISM_SIDES as u32;
    for ring in 0..profile.len() as u32 - 1 {
        for side in 0..sides {
            let next = (side + 1) % sides;
            let (low, high) = (ring * sides, (ring + 1) * sides);
            triangles.push([low + side, high + side, low + next]);
            triangles.push([low + next, high + side, high + next]);
        }
    }
    (vertices, triangles)
}

/// The part of a closed surface below a plane. Triangles are counter-clockwise seen from outside.
fn surface_below(vertices: &[DVec3], triangles: &[[u32; 3]], up: DVec3, level: f64) -> Volume {
    // A point of the plane, to which the cut surface contributes no volume.
    let apex = up * level;
    let mut sum = Volume::default();
    let mut add = |a: DVec3, b: DVec3, c: DVec3| {
        let volume = (a - apex).dot((b - apex).cross(c - apex)) / 6.0;
        sum.add_part(Volume::around_point(volume, (a + b + c + apex) / 4.0));
    };
    for triangle in triangles {
        let corners = triangle.map(|index| vertices[index as usize]);
        let depths = corners.map(|corner| level - up.dot(corner));
        let wet = depths.iter().filter(|depth| **depth > 0.0).count();
        if wet == 3 {
            add(corners[0], corners[1], corners[2]);
        } else if wet > 0 {
            // The corner that is alone on its side, with the other two behind it in order.
            let alone = (0..3).find(|&index| (depths[index] > 0.0) == (wet == 1)).unwrap_or(0);
            let [first, second, third] = [alone, (alone + 1) % 3, (alone + 2) % 3];
            let cut = |from: usize, to: usize| {
                corners[from] + (corners[to] - corners[from]) * (depths[from] / (depths[from] - depths[to]))
            };
            let (near, far) = (cut(first, second), cut(first, third));
            if wet == 1 {
                add(corners[first], near, far);
            } else {
                add(near, corners[second], corners[third]);
                add(near, corners[third], far);
            }
        }
    }
    sum
}

/// The part of an ellipsoid below a plane: that of the unit ball below the plane's image, mapped back.
fn ellipsoid_below(centre: DVec3, axes: &DMat3, up: DVec3, level: f64) -> Volume {
    let normal = axes.transpose() * up;
    let length = normal.length();
    let depth = ((level - up.dot(centre)) / length).clamp(-1.0, 1.0);
    // A cap of the unit ball below the height `depth`.
    let volume = PI * (2.0 / 3.0 + depth - depth * depth * depth / 3.0);
    // The integral of z (1 - z²) from -1 to depth.
    let squared = depth * depth;
    let moment = PI * (0.5 * squared - 0.25 * squared * squared - 0.25);
    let scale = axes.determinant().abs();
    let shift = *axes * (normal / length) * moment;
    Volume { volume: volume * scale, moment: (centre * volume + shift) * scale }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_model::random::Stream;

    fn at(pose: Pose, shape: Shape) -> Displacement {
        Displacement::of_shape(&Placed { pose, shape })
    }

    fn alone(shape: Shape) -> Displacement {
        at(Pose::IDENTITY, shape)
    }

    #[test]
    fn a_box_is_cut_exactly_at_any_attitude() {
        let own = alone(Shape::Box { size: DVec3::new(2.0, 1.0, 3.0) });
        assert!((own.whole.volume - 6.0).abs() < 1e-14);
        let part = own.volume_below(DVec3::Y, 0.2);
        assert!((part.volume - 6.0 * 0.7).abs() < 1e-14);
        assert!((part.middle_point() - DVec3::new(0.0, -0.15, 0.0)).length() < 1e-14);
        // Through the middle, half of it, whatever the direction; both halves are the whole.
        let mut chance = Stream::from_number(1);
        for _ in 0..100 {
            let up = DVec3::new(chance.uniform() - 0.5, chance.uniform() - 0.5, chance.uniform() - 0.5).normalize();
            assert!((own.volume_below(up, 0.0).volume - 3.0).abs() < 1e-13);
            let level = chance.uniform() - 0.5;
            let (below, above) = (own.volume_below(up, level), own.volume_below(-up, -level));
            assert!((below.volume + above.volume - 6.0).abs() < 1e-13);
            assert!((below.moment + above.moment).length() < 1e-13);
        }
    }

    #[test]
    fn a_sphere_and_an_ellipsoid_are_caps() {
        let ball = alone(Shape::Sphere { radius: 2.0 });
        assert!((ball.whole.volume - 32.0 / 3.0 * PI).abs() < 1e-12);
        // A cap of height 1: pi h² (3 r - h) / 3, its middle 3 (2 r - h)² / (4 (3 r - h)) from the centre.
        let cap = ball.volume_below(DVec3::X, -1.0);
        assert!((cap.volume - PI * 5.0 / 3.0).abs() < 1e-12);
        assert!((cap.middle_point() + DVec3::X * (27.0 / 20.0)).length() < 1e-12);
        let egg = alone(Shape::Ellipsoid { radii: DVec3::new(2.0, 1.0, 1.0) });
        let half = egg.volume_below(DVec3::X, 0.0);
        assert!((half.volume - PI * 4.0 / 3.0).abs() < 1e-12);
        assert!((half.middle_point() + DVec3::X * (3.0 / 8.0 * 2.0)).length() < 1e-12);
    }

    /// Round shapes have their volumes, and an upright cylinder its part at every depth.
    #[test]
    fn round_shapes_have_their_volumes() {
        let cylinder = alone(Shape::Cylinder { radius: 0.5, length: 2.0 });
        for level in [-0.7, 0.0, 0.9] {
            let part = cylinder.volume_below(DVec3::Y, level);
            assert!((part.volume - 0.25 * PI * (1.0 + level)).abs() < 1e-12);
        }
        // Lying, it is half under when its axis is at the surface.
        assert!((cylinder.volume_below(DVec3::X, 0.0).volume / cylinder.whole.volume - 0.5).abs() < 1e-12);
        let cone = alone(Shape::Cone { radius: 0.5, length: 2.0 });
        assert!((cone.whole.volume - 0.25 * PI * 2.0 / 3.0).abs() < 1e-12);
        assert!((cone.whole.middle_point().y + 0.5).abs() < 1e-12);
        let capsule = alone(Shape::Capsule { radius: 0.5, length: 2.0 });
        let expected = 0.25 * PI * 2.0 + PI / 6.0;
        assert!((capsule.whole.volume / expected - 1.0).abs() < 1e-12);
        // Cut along its axis, where a circle has become a polygon.
        let part = capsule.volume_below(DVec3::X, 0.25).volume / capsule.whole.volume;
        let fine = |level: f64| level * (0.25 - level * level).sqrt() + 0.25 * (2.0 * level).asin();
        let cap = |level: f64| PI * (2.0 / 3.0 * 0.125 + 0.25 * level - level.powi(3) / 3.0);
        let exact = (2.0 * (0.125 * PI + fine(0.25)) + cap(0.25)) / expected;
        assert!((part / exact - 1.0).abs() < 5e-4, "{part} {exact}");
    }

    #[test]
    fn a_placed_compound_is_the_sum_of_its_parts() {
        let ball = |x: f64| Placed {
            pose: Pose::from_xyz_rpy(DVec3::new(x, 1.0, 0.0), DVec3::ZERO),
            shape: Shape::Sphere { radius: 0.5 },
        };
        let pose = Pose::from_xyz_rpy(DVec3::new(0.0, 2.0, 0.0), DVec3::new(0.0, 0.0, PI / 2.0));
        let both = at(pose, Shape::Compound { parts: vec![ball(-1.0), ball(1.0)] });
        // A quarter turn about z takes x to y and y to -x.
        let lower = both.volume_below(DVec3::Y, 2.0);
        assert!((lower.volume - PI / 6.0).abs() < 1e-12);
        assert!((lower.middle_point() - DVec3::new(-1.0, 1.0, 0.0)).length() < 1e-12);
    }
}
