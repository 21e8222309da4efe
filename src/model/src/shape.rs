//! The shapes of bodies.

use bevy_math::DVec3;

use super::{Color, Look, Norm, Pose};

/// A shape in its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Pose of the shape's frame, `body_from_shape`.
    pub pose: Pose,
    /// The shape.
    pub shape: Shape,
}

impl Placed {
    /// Support distance from its body's origin along a direction, in lengths of the direction.
    pub fn reach(&self, direction: DVec3) -> f64 {
        let inside = self.pose.rotation.inverse() * direction;
        self.pose.translation.dot(direction) + self.shape.reach(inside)
    }
}

/// Visual of a body, in place of its shape. It has no mass and does not collide.
#[derive(Debug, Clone, PartialEq)]
pub struct Visual {
    /// The shape and its pose, `body_from_shape`. A triangle mesh need not be closed here.
    pub placed: Placed,
    /// Its colour; `None` leaves the choice to the renderer. With a texture, the mean colour of that.
    pub color: Option<Color>,
    /// Emitted light, texture and normals.
    pub look: Look,
}

/// A shape about the origin of its own frame; lengths in metres. The axis of round shapes is y.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A cuboid of the given edge lengths.
    Box {
        /// Edge lengths along x, y and z.
        size: DVec3,
    },
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// An ellipsoid along the axes of its frame.
    Ellipsoid {
        /// Half of its lengths along x, y and z.
        radii: DVec3,
    },
    /// A cylinder along y.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Length along y.
        length: f64,
    },
    /// A cylinder along y with half balls on both ends.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length of the cylindrical part.
        length: f64,
    },
    /// A cone along y, its tip at +length/2.
    Cone {
        /// Radius of the base.
        radius: f64,
        /// Length along y.
        length: f64,
    },
    /// The convex hull of at least four points, not in one plane.
    ConvexHull {
        /// The points.
        points: Vec<DVec3>,
    },
    /// A closed surface of triangles.
    TriangleMesh {
        /// The corners.
        vertices: Vec<DVec3>,
        /// Three indices into `vertices` each, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// Several shapes as one.
    Compound {
        /// The parts, none of them a compound.
        parts: Vec<Placed>,
    },
}

impl Shape {
    /// The name of its element in XML.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Box { .. } => "box",
            Self::Sphere { .. } => "sphere",
            Self::Ellipsoid { .. } => "ellipsoid",
            Self::Cylinder { .. } => "cylinder",
            Self::Capsule { .. } => "capsule",
            Self::Cone { .. } => "cone",
            Self::ConvexHull { .. } => "convexHull",
            Self::TriangleMesh { .. } => "triangleMesh",
            Self::Compound { .. } => "compound",
        }
    }

    /// Support distance from its own origin along a direction, in lengths of the direction.
    pub fn reach(&self, direction: DVec3) -> f64 {
        let across = DVec3::new(direction.x, 0.0, direction.z).norm();
        let farthest =
            |points: &[DVec3]| points.iter().map(|point| point.dot(direction)).fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Box { size } => 0.5 * size.dot(direction.abs()),
            Self::Sphere { radius } => radius * direction.norm(),
            Self::Ellipsoid { radii } => (*radii * direction).norm(),
            Self::Cylinder { radius, length } => radius * across + 0.5 * length * direction.y.abs(),
            Self::Capsule { radius, length } => radius * direction.norm() + 0.5 * length * direction.y.abs(),
            Self::Cone { radius, length } => {
                (0.5 * length * direction.y).max(radius * across - 0.5 * length * direction.y)
            }
            Self::ConvexHull { points } => farthest(points),
            Self::TriangleMesh { vertices, .. } => farthest(vertices),
            Self::Compound { parts } => {
                parts.iter().map(|part| part.reach(direction)).fold(f64::NEG_INFINITY, f64::max)
            }
        }
    }

    /// Number of points and triangles of the description, at least one for each part of a compound.
    pub fn points(&self) -> usize {
        match self {
            Self::ConvexHull { points } => points.len(),
            Self::TriangleMesh { vertices, triangles } => vertices.len() + triangles.len(),
            Self::Compound { parts } => parts.iter().map(|part| part.shape.points().max(1)).sum(),
            _ => 0,
        }
    }

    /// The radius it rolls on: of balls, cylinders, capsules and ellipsoids with two equal radii, in metres.
    pub fn rolling_radius(&self) -> Option<f64> {
        match self {
            Self::Sphere { radius } | Self::Cylinder { radius, .. } | Self::Capsule { radius, .. } => Some(*radius),
            Self::Ellipsoid { radii } => spheroid_axis(*radii).map(|axis| radii[(axis + 1) % 3]),
            _ => None,
        }
    }

    /// True if rolling friction acts on it: it has a rolling radius, or is an ellipsoid, whose radius is the height of
    /// its centre above the contact.
    pub fn can_roll(&self) -> bool {
        matches!(self, Self::Ellipsoid { .. }) || self.rolling_radius().is_some()
    }

    /// True if a rotation about a unit vector, in its own frame, hardly moves its surface: the vector is within an
    /// angle of this sine from its axis, or it is a ball.
    pub fn is_round_about(&self, direction: DVec3, sine: f64) -> bool {
        let is_near = |axis: DVec3| axis.cross(direction).length() < sine;
        match self {
            Self::Sphere { .. } => true,
            Self::Cylinder { .. } | Self::Capsule { .. } | Self::Cone { .. } => is_near(DVec3::Y),
            Self::Ellipsoid { radii } => match spheroid_axis(*radii) {
                Some(axis) => are_equal(radii[axis], radii[(axis + 1) % 3]) || is_near(DVec3::AXES[axis]),
                None => false,
            },
            _ => false,
        }
    }
}

/// Relative difference of two radii that count as equal: the rounding of decimal numbers in a file.
const EQUAL_RADII: f64 = 1e-6;

fn are_equal(one: f64, other: f64) -> bool {
    (one - other).abs() <= EQUAL_RADII * one.max(other)
}

/// Number of the axis about which an ellipsoid of these radii is round; `None` if all three differ.
fn spheroid_axis(radii: DVec3) -> Option<usize> {
    (0..3).find(|axis| are_equal(radii[(axis + 1) % 3], radii[(axis + 2) % 3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The extent of a shape is that of its farthest corner: round shapes are compared with hulls of points on their
    /// rims.
    #[test]
    fn every_shape_reaches_as_far_as_its_points() {
        let rim = |radius: f64, y: f64| {
            let angle = |k: u32| f64::from(k) * std::f64::consts::TAU / 3600.0;
            (0..3600).map(move |k| DVec3::new(radius * libm::cos(angle(k)), y, radius * libm::sin(angle(k))))
        };
        let hull = |points: Vec<DVec3>| Shape::ConvexHull { points };
        let size = DVec3::new(1.0, 2.0, 3.0);
        let corners =
            (0..8).map(|k| DVec3::from([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -0.5 } else { 0.5 })) * size);
        let pairs = [
            (Shape::Box { size }, hull(corners.collect())),
            (Shape::Cylinder { radius: 0.5, length: 2.0 }, hull(rim(0.5, -1.0).chain(rim(0.5, 1.0)).collect())),
            (Shape::Cone { radius: 0.5, length: 2.0 }, hull(rim(0.5, -1.0).chain([DVec3::Y]).collect())),
        ];
        let turn = Pose::from_xyz_rpy(DVec3::new(0.3, -0.2, 0.1), DVec3::new(0.4, 1.1, -2.0));
        for direction in [DVec3::NEG_Y, DVec3::X, DVec3::new(0.3, 2.0, -0.7), DVec3::new(-1.0, -0.1, 0.4)] {
            for (shape, points) in pairs.clone() {
                let placed = [shape, points].map(|shape| Placed { pose: turn, shape });
                let [round, hull] = placed.clone().map(|placed| placed.reach(direction));
                assert!((round - hull).abs() < 1e-6 * direction.length(), "{direction}: {round} {hull}");
                let both = Placed { pose: Pose::IDENTITY, shape: Shape::Compound { parts: placed.into() } };
                assert_eq!(both.reach(direction), round.max(hull));
            }
            let ball = Shape::Sphere { radius: 0.5 }.reach(direction);
            assert_eq!(ball, 0.5 * direction.length());
            let capsule = Shape::Capsule { radius: 0.5, length: 2.0 }.reach(direction);
            assert_eq!(capsule, ball + direction.y.abs());
        }
    }

    /// An ellipsoid is a ball stretched along its axes, and reaches as far as the farthest of its points.
    #[test]
    fn an_ellipsoid_reaches_as_far_as_its_points() {
        let radii = DVec3::new(0.5, 0.2, 0.3);
        let angle = |k: u32, count: u32| f64::from(k) * std::f64::consts::TAU / f64::from(count);
        let points = (0..1000).flat_map(|i| (0..=500).map(move |j| (angle(i, 1000), angle(j, 1000))));
        let on_ball = points.map(|(around, down)| {
            DVec3::new(libm::sin(down) * libm::cos(around), libm::cos(down), libm::sin(down) * libm::sin(around))
        });
        let hull = Shape::ConvexHull { points: on_ball.map(|point| point * radii).collect() };
        for direction in [DVec3::NEG_Y, DVec3::X, DVec3::new(0.3, 2.0, -0.7), DVec3::new(-1.0, -0.1, 0.4)] {
            let less = Shape::Ellipsoid { radii }.reach(direction) - hull.reach(direction);
            assert!((-1e-12..2e-5).contains(&less), "{direction}: {less}");
        }
    }

    #[test]
    fn a_spheroid_is_round_about_its_own_axis_only() {
        let shape = |x: f64, y: f64, z: f64| Shape::Ellipsoid { radii: DVec3::new(x, y, z) };
        let (wheel, cigar, stone, ball) =
            (shape(0.2, 0.2, 0.05), shape(0.4, 0.1, 0.1), shape(0.3, 0.2, 0.1), shape(0.2, 0.2, 0.2));
        let radii = [&wheel, &cigar, &stone, &ball].map(Shape::rolling_radius);
        assert_eq!(radii, [Some(0.2), Some(0.1), None, Some(0.2)]);
        let axes = |shape: &Shape| DVec3::AXES.map(|axis| shape.is_round_about(axis, 0.05));
        assert_eq!(axes(&wheel), [false, false, true]);
        assert_eq!(axes(&cigar), [true, false, false]);
        assert_eq!((axes(&stone), axes(&ball)), ([false; 3], [true; 3]));
    }
}
