//! Points drawn evenly from the surface of a shape.

use std::f64::consts::{PI, TAU};

use bevy_math::DVec3;
use simpartner_dynamics::hull_surface;
use simpartner_model::{Placed, Pose, Shape, random::Stream};

use super::error::SampleError;

/// A ray that leaves no face of a usual mesh along an edge.
const ASKEW: DVec3 = DVec3::new(0.5773, 0.6124, 0.5401);
/// Points of a compound that may be drawn within other parts before one is on the outside.
const HIDDEN: usize = 10_000;

/// The surface of a shape as pieces of known area.
#[derive(Debug, Clone)]
pub struct Surface {
    pieces: Vec<Piece>,
    /// The area of the pieces up to and with each, m².
    areas: Vec<f64>,
    parts: Vec<Placed>,
}

/// A point of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfacePoint {
    /// Where, body frame, m.
    pub position: DVec3,
    /// The unit normal out of the shape.
    pub normal: DVec3,
    /// The piece of the surface: of a mesh, the number of its triangle among those that have an area.
    pub piece: usize,
}

#[derive(Debug, Clone)]
struct Piece {
    /// `body_from_shape`.
    pose: Pose,
    /// The part of the shape that it belongs to.
    part: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Triangle([DVec3; 3]),
    /// A disc across y, whose normal points along `side` y.
    Disc {
        y: f64,
        radius: f64,
        side: f64,
    },
    /// Around y, from the radius at -half to that at half.
    Side {
        low: f64,
        high: f64,
        half: f64,
    },
    /// The part of a ball about (0, y, 0) on the side of y that is given, or all of it for 0.
    Ball {
        y: f64,
        radius: f64,
        side: f64,
    },
}

impl Form {
    fn area(&self) -> f64 {
        match *self {
            Self::Triangle([a, b, c]) => (b - a).cross(c - a).length() / 2.0,
            Self::Disc { radius, .. } => PI * radius * radius,
            Self::Side { low, high, half } => PI * (low + high) * libm::hypot(2.0 * half, high - low),
            Self::Ball { radius, side, .. } => 2.0 * TAU * radius * radius / if side == 0.0 { 1.0 } else { 2.0 },
        }
    }

    /// A point and its normal, evenly over the area.
    fn draw(&self, stream: &mut Stream) -> (DVec3, DVec3) {
        let [u, v] = [stream.uniform(), stream.uniform()];
        let (sine, cosine) = libm::sincos(TAU * v);
        match *self {
            Self::Triangle([a, b, c]) => {
                // With the square root the density is the same everywhere; two plain numbers would crowd into a corner.
                let root = u.sqrt();
                let point = a * (1.0 - root) + b * (root * (1.0 - v)) + c * (root * v);
                (point, (b - a).cross(c - a).normalize())
            }
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
    /// The surface of a shape in its body.
    ///
    /// # Errors
    /// Where a shape has no surface.
    pub fn new(placed: &Placed) -> Result<Self, SampleError> {
        let parts: Vec<Placed> = parts(placed).collect();
        let mut pieces = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let forms = forms(&part.shape).ok_or(SampleError::NoSurface)?;
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

    /// The area of all pieces, m²; of a compound, with what is hidden in other parts.
    pub fn area(&self) -> f64 {
        self.areas.last().copied().unwrap_or_default()
    }

    /// How many pieces there are: triangles, or sides and ends of what is round.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The area of a piece, m².
    pub fn piece_area(&self, piece: usize) -> f64 {
        self.pieces[piece].form.area()
    }

    /// A point, evenly over the area. Of a compound, one that is within no other part.
    ///
    /// # Errors
    /// Where all of the surface seems to be hidden.
    pub fn draw(&self, stream: &mut Stream) -> Result<SurfacePoint, SampleError> {
        for _ in 0..HIDDEN {
            let at = stream.uniform() * self.area();
            let piece = self.areas.partition_point(|sum| *sum <= at).min(self.pieces.len() - 1);
            let Piece { pose, part, form } = &self.pieces[piece];
            let (position, normal) = form.draw(stream);
            let point = SurfacePoint { position: pose.point(position), normal: pose.direction(normal), piece };
            if !self.holds(point.position, Some(*part)) {
                return Ok(point);
            }
        }
        Err(SampleError::NoSurface)
    }

    /// Whether a point is inside of a part of a compound, another one than `but`.
    pub(super) fn holds(&self, point: DVec3, but: Option<usize>) -> bool {
        let others = self.parts.iter().enumerate().filter(|(number, _)| self.parts.len() > 1 && Some(*number) != but);
        others.map(|(_, part)| part).any(|part| holds(&part.shape, part.pose.inverse().point(point)))
    }
}

/// The surface of a shape that is no compound.
fn forms(shape: &Shape) -> Option<Vec<Form>> {
    let of_triangles = |vertices: &[DVec3], triangles: &[[u32; 3]]| {
        let corners = triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize]));
        corners.map(Form::Triangle).collect()
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
                    forms.extend([Form::Triangle([a, b, c]), Form::Triangle([a, c, d])]);
                }
            }
            forms
        }
        Shape::Sphere { radius } => vec![Form::Ball { y: 0.0, radius: *radius, side: 0.0 }],
        Shape::Cylinder { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            let disc = |side: f64| Form::Disc { y: side * half, radius, side };
            vec![Form::Side { low: radius, high: radius, half }, disc(1.0), disc(-1.0)]
        }
        Shape::Capsule { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            let end = |side: f64| Form::Ball { y: side * half, radius, side };
            vec![Form::Side { low: radius, high: radius, half }, end(1.0), end(-1.0)]
        }
        Shape::Cone { radius, length } => {
            let (radius, half) = (*radius, length / 2.0);
            vec![Form::Side { low: radius, high: 0.0, half }, Form::Disc { y: -half, radius, side: -1.0 }]
        }
        Shape::ConvexHull { points } => {
            let (vertices, triangles) = hull_surface(points)?;
            of_triangles(&vertices, &triangles)
        }
        Shape::TriangleMesh { vertices, triangles } => of_triangles(vertices, triangles),
        Shape::Compound { .. } => return None,
    })
}

/// Whether a part of a shape, placed in the frame of another one, is wholly within a mesh of that, provided that their surfaces do not meet: then all of
/// the part is where one of its points is.
pub(crate) fn is_within_mesh(inner: &Placed, outer: &Placed) -> bool {
    let meshes: Vec<Placed> = parts(outer).filter(|part| matches!(part.shape, Shape::TriangleMesh { .. })).collect();
    parts(inner).any(|part| {
        let point = match &part.shape {
            Shape::TriangleMesh { vertices, .. } => vertices.first().copied().unwrap_or_default(),
            Shape::ConvexHull { points } => points.iter().sum::<DVec3>() / points.len() as f64,
            // The middle of all others is in them.
            _ => DVec3::ZERO,
        };
        let point = part.pose.point(point);
        meshes.iter().any(|mesh| holds(&mesh.shape, mesh.pose.inverse().point(point)))
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

/// Whether a point is inside of a shape that is no compound, in the shape's frame.
fn holds(shape: &Shape, point: DVec3) -> bool {
    let across = libm::hypot(point.x, point.z);
    match shape {
        Shape::Box { size } => point.abs().cmplt(*size / 2.0).all(),
        Shape::Sphere { radius } => point.length() < *radius,
        Shape::Cylinder { radius, length } => across < *radius && point.y.abs() < length / 2.0,
        Shape::Capsule { radius, length } => libm::hypot(across, (point.y.abs() - length / 2.0).max(0.0)) < *radius,
        Shape::Cone { radius, length } => point.y.abs() < length / 2.0 && across < radius * (0.5 - point.y / length),
        Shape::ConvexHull { .. } | Shape::TriangleMesh { .. } => {
            let crossings = forms(shape).unwrap_or_default().into_iter().filter(|form| crosses(form, point)).count();
            crossings % 2 == 1
        }
        Shape::Compound { .. } => false,
    }
}

/// Whether the ray from a point along [`ASKEW`] crosses a triangle (Möller and Trumbore, 1997).
fn crosses(form: &Form, from: DVec3) -> bool {
    let Form::Triangle([a, b, c]) = *form else { return false };
    let (first, second) = (b - a, c - a);
    let across = ASKEW.cross(second);
    let determinant = first.dot(across);
    if determinant == 0.0 {
        return false;
    }
    let offset = from - a;
    let u = offset.dot(across) / determinant;
    let turned = offset.cross(first);
    let v = ASKEW.dot(turned) / determinant;
    u >= 0.0 && v >= 0.0 && u + v < 1.0 && second.dot(turned) / determinant > 0.0
}
