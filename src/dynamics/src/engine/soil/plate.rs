//! Pressure of any shape on soil: each piece of its surface sinks by the plate law independently.

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::Norm;

use super::{lanes::LANES, patch::Patch, pieces::Piece as SoilPiece, ruts::Ruts};
use crate::{
    ellipsoid::Ellipsoid,
    engine::algebra::spatial::Spatial,
    parry::{
        math::Vector,
        shape::{Ball, SharedShape},
    },
    soil::Pressure,
    state::ground_axes,
};

/// Approximate number of pieces of a shape: a foot of a box has a sixth of them in the soil.
const TARGET_PIECES: f64 = 150.0;
/// Number of segments around a round shape.
const ROUND_SEGMENTS: u32 = 16;
/// Sine of the angle between a piece's normal and the ground below which the piece is a wall and carries nothing.
const WALL_SINE: f64 = 0.05;

/// A piece of a surface, in the shape's frame: its centre, m.
#[derive(Debug, Clone, Copy)]
struct Piece {
    point: DVec3,
    /// Unit vector outwards, and two unit vectors across.
    normal: DVec3,
    tangents: [DVec3; 2],
    /// m².
    area: f64,
}

/// State of a piece in the soil.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PieceState {
    /// True if it was in the soil in the last substep.
    inside: bool,
    /// Distance that the piece has withdrawn along its normal from the soil that it pressed, and the part of it that it
    /// regains until the middle of the next substep: as the rise of a face that looks down, m.
    back: f64,
    ahead: f64,
    /// Depth at which others left the surface, m.
    left: f64,
    /// Mobilised fractions of the shear strength, and the strength under which they were mobilised, Pa.
    mobilised: [f64; 3],
    paid: f64,
}

/// A shape divided into pieces.
#[derive(Debug, Clone)]
pub(super) struct Plate {
    pieces: Vec<Piece>,
    pub(super) states: Vec<PieceState>,
    /// Pieces in the soil in this substep: index, depth, and depth at which others left the surface there, m.
    inside: Vec<(usize, [f64; 2])>,
    /// Smaller dimension of the contact, m.
    pub(super) width: f64,
}

impl Plate {
    /// The plate of a shape of this size, m.
    pub(super) fn new(shape: &SharedShape, size: f64) -> Self {
        let (points, triangles) = surface_triangles(shape);
        let corners = |triangle: &[u32; 3]| triangle.map(|k| points[k as usize]);
        let area = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a).norm();
        let whole: f64 = triangles.iter().map(|triangle| area(corners(triangle))).sum();
        let mut pieces = Vec::new();
        for triangle in &triangles {
            let corners = corners(triangle);
            let own = area(corners);
            if own > 0.0 {
                let parts = (own * TARGET_PIECES / whole).sqrt().ceil().max(1.0);
                add_triangle_pieces(corners, parts as usize, own, &mut pieces);
            }
        }
        let states = vec![PieceState::default(); pieces.len()];
        Self { inside: Vec::with_capacity(pieces.len()), pieces, states, width: size }
    }

    /// Fills the patch with the pieces in the soil below the plane n x = `distance`. Returns the depth of the deepest
    /// one, m; `None` if there are none.
    pub(super) fn update_geometry(
        &mut self,
        patch: &mut Patch,
        (centre, rotation): (DVec3, DQuat),
        (normal, distance): (DVec3, f64),
        ruts: &Ruts,
        gravity: f64,
    ) -> Option<f64> {
        self.inside.clear();
        for (index, (piece, state)) in self.pieces.iter().zip(&self.states).enumerate() {
            let point = centre + rotation * piece.point;
            let depth = distance - normal.dot(point);
            let outward = rotation * piece.normal;
            if !(depth > 0.0 && outward.dot(normal) < -WALL_SINE) {
                continue;
            }
            let left =
                if state.inside { state.left } else { ruts.depth_at(ruts.surface_position((normal, distance), point)) };
            if depth > left {
                self.inside.push((index, [depth, left]));
                let back = state.back - state.ahead;
                let laid = SoilPiece {
                    point,
                    normal: -outward,
                    tangents: piece.tangents.map(|tangent| rotation * tangent),
                    area: piece.area,
                    depths: [depth, if back > 0.0 { depth + back } else { 0.0 }, left],
                    mobilised: state.mobilised,
                    paid: state.paid,
                };
                patch.pieces.push(&laid, normal);
            }
        }
        self.update_width(rotation, ground_axes(normal));
        patch.law.pressure = Pressure::new(&patch.law.soil, self.width, 0.0, gravity);
        patch.finish_pieces()
    }

    /// Updates the smaller dimension of the contact: that of a rectangle with the same second moments.
    fn update_width(&mut self, rotation: DQuat, axes: [DVec3; 2]) {
        let inside = || self.inside.iter().map(|&(index, _)| &self.pieces[index]);
        let area: f64 = inside().map(|piece| piece.area).sum();
        if !(area > 0.0) {
            return;
        }
        let places = || inside().map(|piece| (axes.map(|axis| axis.dot(rotation * piece.point)), piece.area));
        let middle = places().fold([0.0; 2], |[u, v], ([x, y], a)| [u + x * a / area, v + y * a / area]);
        let [uu, uv, vv] = places().fold([0.0; 3], |[uu, uv, vv], ([x, y], a)| {
            let (x, y, a) = (x - middle[0], y - middle[1], a / area);
            [uu + a * x * x, uv + a * x * y, vv + a * y * y]
        });
        let least = 0.5 * (uu + vv - ((uu - vv) * (uu - vv) + 4.0 * uv * uv).sqrt());
        let width = (12.0 * least.max(0.0)).sqrt();
        // It is at least that of a single piece.
        let piece = inside().fold(0.0f64, |most, piece| most.max(piece.area)).sqrt();
        self.width = width.max(piece);
    }

    /// Advances the states to the end of a substep with the twists `[mean, end]` about the patch's point, and deepens
    /// the ruts.
    pub(super) fn advance(&mut self, patch: &Patch, [mean, end]: [&Spatial; 2], h: f64, ruts: &mut Ruts) {
        let surface = patch.ground_plane();
        let mut next = 0;
        for (pair, inside) in self.inside.chunks(LANES).enumerate() {
            let (points, (mobilised, paid), [pressed, ahead]) =
                patch.pieces.advance_pair(&patch.law, pair, [mean, end], h);
            for (lane, &(index, [depth, left])) in inside.iter().enumerate() {
                // The pieces in between are out of the soil and lose their state.
                self.states[next..index].fill(PieceState::default());
                next = index + 1;
                let state = &mut self.states[index];
                (state.inside, state.left) = (true, left);
                state.mobilised = mobilised.map(|part| part.as_array()[lane]);
                state.paid = paid.as_array()[lane];
                state.back = (state.back - h * pressed.as_array()[lane]).max(0.0);
                state.ahead = 0.5 * h * ahead.as_array()[lane];
                let left = patch.law.pressure.left_by(depth, left);
                ruts.deepen(ruts.surface_position(surface, points.get(lane)), left);
            }
        }
        self.states[next..].fill(PieceState::default());
    }

    /// Clears the states of all pieces.
    pub(super) fn reset(&mut self) {
        self.states.fill(PieceState::default());
        self.inside.clear();
    }
}

/// Corners and triangles of a shape's surface.
fn surface_triangles(shape: &SharedShape) -> (Vec<Vector>, Vec<[u32; 3]>) {
    if let Some(ball) = shape.as_ball() {
        ball.to_trimesh(ROUND_SEGMENTS, ROUND_SEGMENTS)
    } else if let Some(ellipsoid) = shape.as_shape::<Ellipsoid>() {
        let (mut points, triangles) = Ball::new(1.0).to_trimesh(ROUND_SEGMENTS, ROUND_SEGMENTS);
        points.iter_mut().for_each(|point| *point *= ellipsoid.radii);
        (points, triangles)
    } else if let Some(cuboid) = shape.as_cuboid() {
        cuboid.to_trimesh()
    } else if let Some(cylinder) = shape.as_cylinder() {
        cylinder.to_trimesh(ROUND_SEGMENTS)
    } else if let Some(capsule) = shape.as_capsule() {
        capsule.to_trimesh(ROUND_SEGMENTS, ROUND_SEGMENTS)
    } else if let Some(cone) = shape.as_cone() {
        cone.to_trimesh(ROUND_SEGMENTS)
    } else if let Some(hull) = shape.as_convex_polyhedron() {
        hull.to_trimesh()
    } else if let Some(mesh) = shape.as_trimesh() {
        (mesh.vertices().to_vec(), mesh.indices().to_vec())
    } else {
        (Vec::new(), Vec::new())
    }
}

/// Divides a triangle into `parts` squared pieces of equal area.
fn add_triangle_pieces([a, b, c]: [DVec3; 3], parts: usize, area: f64, pieces: &mut Vec<Piece>) {
    let (along, up) = ((b - a) / parts as f64, (c - a) / parts as f64);
    let normal = along.cross(up).normalized();
    let first = along.normalized();
    let tangents = [first, normal.cross(first)];
    let area = area / (parts * parts) as f64;
    let mut add = |point| pieces.push(Piece { point, normal, tangents, area });
    for i in 0..parts {
        for j in 0..parts - i {
            let corner = a + along * i as f64 + up * j as f64;
            add(corner + (along + up) / 3.0);
            if i + j + 1 < parts {
                add(corner + (along + up) * (2.0 / 3.0));
            }
        }
    }
}
