//! Shapes as faces that can be drawn: flat polygons, and balls, which are drawn as circles.

use std::{f64::consts::TAU, fmt::Write};

use bevy_math::{DVec2, DVec3};
use simpartner_dynamics::hull_surface;
use simpartner_model::{Body, Placed, Pose, Shape, ellipsoid_surface};

use super::projection::{Camera, Frame, Part, write_outline};

/// Number of sides of a polygon that stands for a circle. More would not be visible at the size of the pictures.
const CIRCLE_SIDES: usize = 24;
/// Bands of the picture of an ellipsoid from pole to pole.
const ELLIPSOID_BANDS: u32 = 12;

/// Radius at which a particle is drawn, m.
const PARTICLE_RADIUS: f64 = 0.08;

/// A piece of a surface that is drawn as a whole, at the distance of its centre from the camera.
#[derive(Debug, Clone)]
pub(super) struct Face {
    pub(super) part: Part,
    pub(super) form: Form,
    /// The corners in order, or the centre of a ball, world frame, m.
    corners: Vec<DVec3>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// A convex polygon with this outward unit normal. It is visible only if the normal points towards the camera.
    Flat(DVec3),
    /// A ball of this radius, m.
    Ball(f64),
}

impl Face {
    /// A polygon of a solid; its corners are counter-clockwise as seen from outside.
    pub(super) fn new(part: Part, corners: Vec<DVec3>) -> Self {
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
        Self { part, form: Form::Flat(normal), corners }
    }

    /// Mean of the corners, m.
    pub(super) fn centre(&self) -> DVec3 {
        self.corners.iter().sum::<DVec3>() / self.corners.len() as f64
    }

    /// Outermost points in the camera's plane, m.
    pub(super) fn extreme_points(&self, camera: &Camera) -> Vec<DVec2> {
        match self.form {
            Form::Flat(_) => self.corners.iter().map(|corner| camera.project(*corner)).collect(),
            Form::Ball(radius) => [-radius, radius].map(|r| camera.project(self.corners[0]) + DVec2::splat(r)).into(),
        }
    }

    /// True if the face is turned towards the camera. It may still be hidden by other faces.
    pub(super) fn is_turned_to(&self, camera: &Camera) -> bool {
        match self.form {
            Form::Flat(normal) => normal.dot(camera.back) > 0.0,
            Form::Ball(_) => true,
        }
    }

    /// The outline that casts a shadow; `None` for a face that is turned away from the light.
    pub(super) fn lit_outline(self, to_light: DVec3) -> Option<Vec<DVec3>> {
        match self.form {
            Form::Flat(normal) => (normal.dot(to_light) > 0.0).then_some(self.corners),
            Form::Ball(radius) => {
                let across = to_light.any_orthonormal_vector() * radius;
                let around = to_light.normalize().cross(across);
                let point = |ring: DVec3| self.corners[0] + across * ring.x + around * -ring.z;
                Some(ring(1.0, 0.0).into_iter().map(point).collect())
            }
        }
    }

    /// Cuts the face into tiles without a side longer than `longest`, m. Triangles and quadrilaterals are halved;
    /// polygons with more corners are cut into triangles about their centre.
    pub(super) fn tiles(self, longest: f64) -> Vec<Self> {
        let corners = &self.corners;
        let count = corners.len();
        let length = |index: &usize| corners[*index].distance(corners[(index + 1) % count]);
        let longest_side = (0..count).max_by(|a, b| length(a).total_cmp(&length(b)));
        let Some(side) = longest_side.filter(|_| count >= 3) else { return vec![self] };
        let corner = |offset: usize| corners[(side + offset) % count];
        let centre = self.centre();
        let parts = match count {
            3 | 4 if length(&side) <= longest => return vec![self],
            3 => {
                let middle = corner(0).midpoint(corner(1));
                vec![vec![corner(0), middle, corner(2)], vec![middle, corner(1), corner(2)]]
            }
            4 => {
                let (middle, other) = (corner(0).midpoint(corner(1)), corner(2).midpoint(corner(3)));
                vec![vec![corner(0), middle, other, corner(3)], vec![middle, corner(1), corner(2), other]]
            }
            _ if centre.distance(corner(0)) <= longest => return vec![self],
            _ => (0..count).map(|offset| vec![corner(offset), corner(offset + 1), centre]).collect(),
        };
        parts.into_iter().flat_map(|corners| Self { corners, ..self.clone() }.tiles(longest)).collect()
    }

    /// Writes the face: an outline for the `d` of a path, or a circle.
    pub(super) fn write_svg(&self, camera: &Camera, frame: &Frame, out: &mut String) -> std::fmt::Result {
        let place = |corner: &DVec3| frame.to_picture(camera.project(*corner));
        match self.form {
            Form::Flat(_) => write_outline(self.corners.iter().map(place), out),
            Form::Ball(radius) => {
                let (at, part) = (place(&self.corners[0]), self.part);
                let radius = radius * frame.scale;
                writeln!(
                    out,
                    r#"<circle cx="{:.1}" cy="{:.1}" r="{radius:.1}" fill="url(#{part:?})" stroke="none"/>"#,
                    at.x, at.y
                )
            }
        }
    }
}

/// All faces of a body at its pose of step 0.
pub(super) fn faces_of_body(body: &Body) -> Vec<Face> {
    let part = match (body.shape.as_ref().map(|placed| &placed.shape), body.robot) {
        (Some(_), None) if body.fixed => Part::Fixed,
        (_, None) => Part::Object,
        (Some(Shape::Cylinder { .. } | Shape::Sphere { .. }), Some(_)) => Part::Wheel,
        (_, Some(_)) => Part::Robot,
    };
    let faces: Vec<Face> = body.seen().flat_map(|(placed, _)| faces_of_shape(part, &body.pose, placed)).collect();
    if faces.is_empty() { vec![ball_face(Part::Object, body.pose.translation, PARTICLE_RADIUS)] } else { faces }
}

fn ball_face(part: Part, centre: DVec3, radius: f64) -> Face {
    Face { part, form: Form::Ball(radius), corners: vec![centre] }
}

fn faces_of_shape(part: Part, world_from_outer: &Pose, placed: &Placed) -> Vec<Face> {
    let world_from_shape = world_from_outer.then(&placed.pose);
    let at = |point: DVec3| world_from_shape.point(point);
    let face = |corners: &[DVec3]| Face::new(part, corners.iter().map(|corner| at(*corner)).collect());
    match &placed.shape {
        Shape::Box { size } => box_sides(*size / 2.0).iter().map(|corners| face(corners)).collect(),
        Shape::Sphere { radius } => vec![ball_face(part, at(DVec3::ZERO), *radius)],
        Shape::Ellipsoid { radii } => {
            let (vertices, triangles) = ellipsoid_surface(*radii, ELLIPSOID_BANDS);
            triangle_corners(&vertices, &triangles).map(|corners| face(&corners)).collect()
        }
        Shape::Cylinder { radius, length } => {
            let (low, high) = (ring(*radius, -length / 2.0), ring(*radius, length / 2.0));
            let mut faces: Vec<Face> = ring_sides(&low, &high).iter().map(|corners| face(corners)).collect();
            faces.extend([face(&high), face(&low.into_iter().rev().collect::<Vec<_>>())]);
            faces
        }
        Shape::Capsule { radius, length } => {
            let (low, high) = (ring(*radius, -length / 2.0), ring(*radius, length / 2.0));
            let mut faces: Vec<Face> = ring_sides(&low, &high).iter().map(|corners| face(corners)).collect();
            faces.extend([-0.5, 0.5].map(|end| ball_face(part, at(DVec3::Y * *length * end), *radius)));
            faces
        }
        Shape::Cone { radius, length } => {
            let (base, tip) = (ring(*radius, -length / 2.0), DVec3::Y * *length / 2.0);
            let side = |index: usize| [base[index], base[(index + 1) % CIRCLE_SIDES], tip];
            let mut faces: Vec<Face> = (0..CIRCLE_SIDES).map(|index| face(&side(index))).collect();
            faces.push(face(&base.into_iter().rev().collect::<Vec<_>>()));
            faces
        }
        Shape::ConvexHull { points } => {
            let (vertices, triangles) = hull_surface(points).unwrap_or_default();
            triangle_corners(&vertices, &triangles).map(|corners| face(&corners)).collect()
        }
        Shape::TriangleMesh { vertices, triangles } => {
            triangle_corners(vertices, triangles).map(|corners| face(&corners)).collect()
        }
        Shape::Compound { parts } => {
            parts.iter().flat_map(|inner| faces_of_shape(part, &world_from_shape, inner)).collect()
        }
    }
}

/// The corners of triangles.
fn triangle_corners(vertices: &[DVec3], triangles: &[[u32; 3]]) -> impl Iterator<Item = [DVec3; 3]> {
    triangles.iter().map(|triangle| triangle.map(|index| vertices[index as usize]))
}

/// Corners of a polygon for a circle about y, counter-clockwise as seen from above.
fn ring(radius: f64, y: f64) -> Vec<DVec3> {
    let corner = |index: usize| {
        let (sine, cosine) = libm::sincos(index as f64 * TAU / CIRCLE_SIDES as f64);
        DVec3::new(radius * cosine, y, -radius * sine)
    };
    (0..CIRCLE_SIDES).map(corner).collect()
}

/// The quadrilaterals between two rings.
fn ring_sides(low: &[DVec3], high: &[DVec3]) -> Vec<[DVec3; 4]> {
    let next = |index: usize| (index + 1) % CIRCLE_SIDES;
    (0..CIRCLE_SIDES).map(|index| [low[index], low[next(index)], high[next(index)], high[index]]).collect()
}

/// The sides of a box, from half its size.
fn box_sides(half: DVec3) -> [[DVec3; 4]; 6] {
    let side = |normal: DVec3, across: DVec3| {
        let up = normal.cross(across);
        [-across - up, across - up, across + up, -across + up].map(|corner| (normal + corner) * half)
    };
    [
        side(DVec3::X, DVec3::Y),
        side(DVec3::NEG_X, DVec3::Y),
        side(DVec3::Y, DVec3::Z),
        side(DVec3::NEG_Y, DVec3::Z),
        side(DVec3::Z, DVec3::X),
        side(DVec3::NEG_Z, DVec3::X),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector areas of the faces of a closed surface add up to zero, and each normal points away from the middle.
    #[test]
    fn all_shapes_are_closed_and_turned_outwards() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let shapes = [
            Shape::Box { size: DVec3::new(1.0, 2.0, 3.0) },
            Shape::Ellipsoid { radii: DVec3::new(0.5, 1.0, 1.5) },
            Shape::Cylinder { radius: 0.5, length: 2.0 },
            Shape::Cone { radius: 0.5, length: 2.0 },
            Shape::ConvexHull { points: corners.into() },
            Shape::TriangleMesh {
                vertices: corners.into(),
                triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            },
        ];
        for shape in shapes {
            let name = shape.name();
            let faces = faces_of_shape(Part::Object, &Pose::IDENTITY, &Placed { pose: Pose::IDENTITY, shape });
            let middle = faces.iter().map(Face::centre).sum::<DVec3>() / faces.len() as f64;
            let mut sum = DVec3::ZERO;
            for face in &faces {
                let Form::Flat(normal) = face.form else { panic!("{name}: {face:?}") };
                assert!(normal.dot(face.centre() - middle) > 0.0, "{name}: {face:?} is turned inwards");
                let fan = face.corners.windows(2).skip(1);
                sum += fan.map(|pair| (pair[0] - face.corners[0]).cross(pair[1] - face.corners[0])).sum::<DVec3>();
            }
            assert!(sum.length() < 1e-12, "{name}: its areas add up to {sum}");
        }
    }
}
