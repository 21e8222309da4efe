//! Random points, uniform over the surface of a shape.

use std::f64::consts::{PI, TAU};

use bevy_math::DVec3;
use simpartner_dynamics::hull_surface;
use simpartner_model::{Placed, Pose, Shape, random::Stream};

use super::{ellipsoid, error::SampleError};

/// Direction of the rays that test whether a point is inside of a mesh. It is oblique, so that a ray seldom meets an
/// edge of a usual mesh.
const OBLIQUE: DVec3 = DVec3::new(0.5773, 0.6124, 0.5401);
/// Largest number of points that are drawn until one is not inside of another part of a compound.
const MAX_DRAWS: usize = 10_000;

/// The surface of a shape as pieces of known area.
#[derive(Debug, Clone)]
pub struct Surface {
    pieces: Vec<Piece>,
    /// Cumulative areas: for each piece the sum of its area and of those before it, m².
    areas: Vec<f64>,
    /// The parts of a compound, or the shape itself.
    parts: Vec<Placed>,
}

/// A point of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfacePoint {
    /// Position, body frame, m.
    pub position: DVec3,
    /// Unit normal out of the shape, body frame.
    pub normal: DVec3,
    /// Number of the piece of the surface. For a mesh, the number of the triangle among those with an area above zero.
    pub piece: usize,
}

#[derive(Debug, Clone)]
struct Piece {
    /// `body_from_shape`.
    pose: Pose,
    /// Index of the part of the shape that the piece belongs to.
    part: usize,
    form: PieceForm,
}

/// Geometry of a piece in the frame of its shape, whose axis is y. Lengths in m.
#[derive(Debug, Clone, Copy)]
enum PieceForm {
    Triangle([DVec3; 3]),
    /// An ellipsoid, half of its lengths.
    Ellipsoid(DVec3),
    /// A disc orthogonal to y at the height `y`. Its normal is y times `side`, which is 1 or -1.
    Disc {
        y: f64,
        radius: f64,
        side: f64,
    },
    /// The side of a cylinder or a truncated cone about y, with the radius `low` at y = -half and `high` at y = half.
    Side {
        low: f64,
        high: f64,
        half: f64,
    },
    /// A hemisphere about (0, y, 0) on the side of y that is given by its sign, or the whole sphere if `side` is 0.
    Ball {
        y: f64,
        radius: f64,
        side: f64,
    },
}

impl PieceForm {
    /// Area, m².
    fn area(&self) -> f64 {
        match *self {
            Self::Triangle([a, b, c]) => (b - a).cross(c - a).length() / 2.0,
            Self::Ellipsoid(radii) => ellipsoid::surface_area(radii),
            Self::Disc { radius, .. } => PI * radius * radius,
            Self::Side { low, high, half } => PI * (low + high) * libm::hypot(2.0 * half, high - low),
            Self::Ball { radius, side, .. } => 2.0 * TAU * radius * radius / if side == 0.0 { 1.0 } else { 2.0 },
        }
    }

    /// A random point, uniform over the area, and its normal.
    fn draw_point(&self, stream: &mut Stream) -> (DVec3, DVec3) {
        let [u, v] = [stream.uniform(), stream.uniform()];
        let (sine, cosine) = libm::sincos(TAU * v);
        match *self {
            Self::Triangle([a, b, c]) => {
                // The square root makes the density uniform; without it points would be denser at the first corner.
                let root = u.sqrt();
                let point = a * (1.0 - root) + b * (root * (1.0 - v)) + c * (root * v);
                (point, (b - a).cross(c - a).normalize())
            }
            Self::Ellipsoid(radii) => ellipsoid::draw_point(radii, stream, [u, v]),
            Self::Disc { y, radius, side } => {
                let r = radius * u.sqrt();
                (DVec3::new(r * cosine, y, r * sine), DVec3::Y * side)
            }
            Self::Side { low, high, half } => {
                // The density along the axis grows as the radius does.
                let r = (low * low + u * (high * high - low * low)).sqrt();
                let share = if high == low { u } else { (r - low) / (high - low) };
                let normal = DVec3::new(2.0 * half * cosine, low - high, 2.0 * half * sine).normalize();
                (DVec3::new(r * cosine, half * (2.0 * share - 1.0), r * sine), normal)
            }
            Self::Ball { y, radius, side } => {
                // Slices of the same height have the same area (Archimedes).
                let height = if side == 0.0 { 2.0 * u - 1.0 } else { side * u };
                let across = (1.0 - height * height).max(0.0).sqrt();
                let normal = DVec3::new(across * cosine, height, across * sine);
                (DVec3::Y * y + normal * radius, normal)
            }
        }
    }
}

impl Surface {
    /// The surface of a shape that is placed in its body's frame.
    ///
    /// # Errors
    /// The shape has no surface area.
    pub fn new(placed: &Placed) -> Result<Self, SampleError> {
        let parts: Vec<Placed> = parts(placed).collect();
        let mut pieces = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let forms = piece_forms(&part.shape).ok_or(SampleError::NoSurface)?;
            pieces.extend(forms.into_iter().map(|form| Piece { pose: part.pose, part: number, form }));
        }
        pieces.retain(|piece| piece.form.area() > 0.0);
        let mut sum = 0.0;
        let areas = pieces.iter().map(|piece| {
            sum += piece.form.area();
            sum
        });
        let areas: Vec<f64> = areas.collect();
        if sum > 0.0 && sum.is_finite() { Ok(Self { pieces, areas, parts }) } else { Err(SampleError::NoSurface) }
    }

    /// Area of all pieces, m². For a compound it includes surfaces hidden inside of other parts.
    pub fn area(&self) -> f64 {
        self.areas.last().copied().unwrap_or_default()
    }

    /// Number of pieces: triangles, or the sides and ends of round shapes.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Area of a piece, m².
    pub fn piece_area(&self, piece: usize) -> f64 {
        self.pieces[piece].form.area()
    }

    /// Draws a random point, uniform over the area. Points of a compound that are inside of another part are drawn
    /// again.
    ///
    /// # Errors
    /// All of 10,000 points are inside of other parts.
    pub fn draw(&self, stream: &mut Stream) -> Result<SurfacePoint, SampleError> {
        for _ in 0..MAX_DRAWS {
            let at = stream.uniform() * self.area();
            let piece = self.areas.partition_point(|sum| *sum <= at).min(self.pieces.len() - 1);
            let Piece { pose, part, form } = &self.pieces[piece];
            let (position, normal) = form.draw_point(stream);
            let point = SurfacePoint { position: pose.point(position), normal: pose.direction(normal), piece };
            if !self.contains_point(point.position, Some(*part)) {
                return Ok(point);
            }
        }
        Err(SampleError::NoSurface)
    }

    /// True if a point, body frame, is inside of a part of a compound other than `except`. Always false for other
    /// shapes.
    pub(super) fn contains_point(&self, point: DVec3, except: Option<usize>) -> bool {
        let is_other = |number: usize| self.parts.len() > 1 && Some(number) != except;
        let others = self.parts.iter().enumerate().filter(|(number, _)| is_other(*number));
        others.map(|(_, part)| part).any(|part| is_inside(&part.shape, part.pose.inverse().point(point)))
    }
}

/// The pieces of a shape's surface; `None` for a compound, and for a hull without a surface.
fn piece_forms(shape: &Shape) -> Option<Vec<PieceForm>> {
    let of_triangles = |vertices: &[DVec3], triangles: &[[u32; 3]]| {
        let corners = triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize]));
        corners.map(PieceForm::Triangle).collect()
    };
    Some(match shape {
        Shape::Box { size } => {
            let half = *size / 2.0;
            let mut forms = Vec::new();
            for axis in 0..3 {
                let [out, first, second] = [0, 1, 2].map(|turn| {
                    let k = (axis + turn) % 3;
                    DVec3::AXES[k] * half[k]
                });
                for side in [1.0, -1.0] {
                    let corner = |a: f64, b: f64| out * side + first * a * side + second * b;
                    let [a, b, c, d] = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
                    forms.extend([PieceForm::Triangle([a, b, c]), PieceForm::Triangle([a, c, d])]);
                }
            }
            forms
        }
        Shape::Sphere { radius } => vec![PieceForm::Ball { y: 0.0, radius: *radius, side: 0.0 }],
        Shape::Ellipsoid { radii } => vec![PieceForm::Ellipsoid(*radii)],
        Shape::Cylinder { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            let disc = |side: f64| PieceForm::Disc { y: side * half, radius, side };
            vec![PieceForm::Side { low: radius, high: radius, half }, disc(1.0), disc(-1.0)]
        }
        Shape::Capsule { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            let end = |side: f64| PieceForm::Ball { y: side * half, radius, side };
            vec![PieceForm::Side { low: radius, high: radius, half }, end(1.0), end(-1.0)]
        }
        Shape::Cone { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            vec![PieceForm::Side { low: radius, high: 0.0, half }, PieceForm::Disc { y: -half, radius, side: -1.0 }]
        }
        Shape::ConvexHull { points } => {
            let (vertices, triangles) = hull_surface(points)?;
            of_triangles(&vertices, &triangles)
        }
        Shape::TriangleMesh { vertices, triangles } => of_triangles(vertices, triangles),
        Shape::Compound { .. } => return None,
    })
}

/// True if a part of the inner shape lies wholly inside of a mesh of the outer shape, both placed in the same frame.
/// The surfaces must not intersect; one point of the part then tells where all of it is.
pub(crate) fn is_within_mesh(inner: &Placed, outer: &Placed) -> bool {
    let meshes: Vec<Placed> = parts(outer).filter(|part| matches!(part.shape, Shape::TriangleMesh { .. })).collect();
    parts(inner).any(|part| {
        let point = match &part.shape {
            Shape::TriangleMesh { vertices, .. } => vertices.first().copied().unwrap_or_default(),
            Shape::ConvexHull { points } => points.iter().sum::<DVec3>() / points.len() as f64,
            // All other shapes contain their origin.
            _ => DVec3::ZERO,
        };
        let point = part.pose.point(point);
        meshes.iter().any(|mesh| is_inside(&mesh.shape, mesh.pose.inverse().point(point)))
    })
}

/// The parts of a compound, or the shape itself.
fn parts(placed: &Placed) -> impl Iterator<Item = Placed> {
    match &placed.shape {
        Shape::Compound { parts } => parts.clone(),
        _ => vec![Placed { pose: Pose::IDENTITY, shape: placed.shape.clone() }],
    }
    .into_iter()
    .map(|part| Placed { pose: placed.pose.then(&part.pose), shape: part.shape })
}

/// True if a point, in the shape's frame, is inside of a shape that is no compound.
fn is_inside(shape: &Shape, point: DVec3) -> bool {
    let across = libm::hypot(point.x, point.z);
    match shape {
        Shape::Box { size } => point.abs().cmplt(*size / 2.0).all(),
        Shape::Sphere { radius } => point.length() < *radius,
        Shape::Ellipsoid { radii } => (point / *radii).length() < 1.0,
        Shape::Cylinder { radius, length } => across < *radius && point.y.abs() < length / 2.0,
        Shape::Capsule { radius, length } => libm::hypot(across, (point.y.abs() - length / 2.0).max(0.0)) < *radius,
        Shape::Cone { radius, length } => point.y.abs() < length / 2.0 && across < radius * (0.5 - point.y / length),
        Shape::ConvexHull { .. } | Shape::TriangleMesh { .. } => {
            let forms = piece_forms(shape).unwrap_or_default();
            // A ray from an inside point leaves the shape once more than it enters it.
            forms.into_iter().filter(|form| ray_crosses(form, point)).count() % 2 == 1
        }
        Shape::Compound { .. } => false,
    }
}

/// True if the ray from a point along [`OBLIQUE`] crosses a triangle (Möller and Trumbore, 1997).
fn ray_crosses(form: &PieceForm, from: DVec3) -> bool {
    let PieceForm::Triangle([a, b, c]) = *form else { return false };
    let (first, second) = (b - a, c - a);
    let across = OBLIQUE.cross(second);
    let determinant = first.dot(across);
    if determinant == 0.0 {
        return false;
    }
    let offset = from - a;
    let u = offset.dot(across) / determinant;
    let turned = offset.cross(first);
    let v = OBLIQUE.dot(turned) / determinant;
    u >= 0.0 && v >= 0.0 && u + v < 1.0 && second.dot(turned) / determinant > 0.0
}
