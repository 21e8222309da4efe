//! Penetration depth of two convex shapes: the distance of zero from the surface of the difference of their points. A
//! polytope inside of the difference approaches the surface face by face (van den Bergen 2001).
//!
//! Each face normal is evaluated on the shapes themselves, and the best of all is the answer. So whatever rounding does
//! to the polytope, the answer is a unit vector, and the depth along it is known.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{
    minkowski_difference::{Difference, Vertex},
    simplex::Simplex,
};

/// Number of steps with the strict tolerance. Polyhedra need some ten; on round surfaces the error falls with the
/// number of steps. This number suffices as a start for the local improvement ([`super::improve_normal`]).
const STRICT_STEPS: usize = 48;
/// Largest number of steps, while the nearest face is still far behind: deeply overlapping round shapes have nearly the
/// same depth in many directions.
const MAX_STEPS: usize = 400;
/// Error allowed for the depth, as a fraction of the size: the search continues from there ([`super::improve_normal`]).
const STRICT_TOLERANCE: f64 = 1e-6;
/// Error allowed after those steps, as a fraction of the size: the local improvement then ends at one of several
/// directions of similar depth.
const LATE_TOLERANCE: f64 = 1e-3;
/// Height of a point above a face, from which the face counts as visible from the point, as a fraction of the size.
const VISIBLE_HEIGHT: f64 = 1e-12;
/// The same height, if a new face would have no area otherwise: less than [`STRICT_TOLERANCE`].
const SAFE_VISIBLE_HEIGHT: f64 = 1e-7;
/// Length below which a simplex has no area or no volume, as a fraction of the size.
const FLAT_LENGTH: f64 = 1e-10;
/// Lower limit of twice the area of a face, as a fraction of the square of the size: the normal of a smaller face would
/// be rounding.
const MIN_DOUBLE_AREA: f64 = 1e-9;

/// Buffers of the searches.
#[derive(Debug, Default)]
pub(super) struct Polytope {
    vertices: Vec<Vertex>,
    faces: Vec<Face>,
    horizon: Vec<[usize; 2]>,
}

/// A triangle of the polytope's surface.
#[derive(Debug, Clone, Copy)]
struct Face {
    corners: [usize; 3],
    /// Unit vector pointing outwards.
    normal: DVec3,
    /// Distance of its plane from zero along the normal.
    plane: f64,
    /// The same distance, or infinite once the polytope cannot grow beyond this face.
    distance: f64,
}

impl Polytope {
    /// Unit vector of the smallest translation that separates the shapes, from a simplex that contains zero. `None` if
    /// the difference has no volume.
    pub(super) fn penetration_normal(&mut self, difference: &Difference, simplex: &Simplex) -> Option<DVec3> {
        self.build_tetrahedron(difference, simplex)?;
        let mut best: Option<(f64, DVec3)> = None;
        for step in 0..MAX_STEPS {
            let Some(nearest) = self.nearest_face() else { break };
            let face = self.faces[nearest];
            let vertex = difference.support_point(face.normal);
            let depth = vertex.point.dot(face.normal);
            if best.is_none_or(|(least, _)| depth < least) {
                best = Some((depth, face.normal));
            }
            let least = best.map_or(depth, |(least, _)| least);
            let enough = if step < STRICT_STEPS { STRICT_TOLERANCE } else { LATE_TOLERANCE };
            if !(least - face.distance > enough * difference.size) {
                break;
            }
            if !self.add_vertex(vertex, difference.size) {
                // A point in line with an edge forms no face: this side is as exact as rounding allows.
                self.faces[nearest].distance = f64::INFINITY;
            }
        }
        best.map(|(_, normal)| normal)
    }

    /// Completes the simplex to a tetrahedron with support points far from it.
    fn build_tetrahedron(&mut self, difference: &Difference, simplex: &Simplex) -> Option<()> {
        let Self { vertices, faces, .. } = self;
        vertices.clear();
        faces.clear();
        vertices.extend(simplex.vertices());
        let far = FLAT_LENGTH * difference.size;
        if vertices.len() == 1 {
            let at = vertices[0].point;
            add_farthest(difference, &DVec3::AXES, |point| (point - at).norm(), far, vertices)?;
        }
        if let [a, b] = vertices[..] {
            let along = (b.point - a.point).try_normalized()?;
            let (x, y) = along.any_orthonormal_pair();
            let from_line = |point: DVec3| (point - a.point).cross(along).norm();
            add_farthest(difference, &[x, y, x + y, x - y], from_line, far, vertices)?;
        }
        if let [a, b, c] = vertices[..] {
            let normal = (b.point - a.point).cross(c.point - a.point).try_normalized()?;
            add_farthest(difference, &[normal], |point| (point - a.point).dot(normal).abs(), far, vertices)?;
        }
        let inside = vertices.iter().map(|vertex| vertex.point).sum::<DVec3>() / 4.0;
        for [i, j, k] in [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]] {
            let face = Face::new([i, j, k], vertices, difference.size)?;
            let is_outwards = face.normal.dot(inside) < face.distance;
            faces.push(if is_outwards { face } else { Face::new([i, k, j], vertices, difference.size)? });
        }
        Some(())
    }

    fn nearest_face(&self) -> Option<usize> {
        (0..self.faces.len()).min_by(|one, two| self.faces[*one].distance.total_cmp(&self.faces[*two].distance))
    }

    /// Adds a vertex. A face that it is hardly above may have an edge in line with it, where a new face has no area.
    /// Such faces stay: the surface is then hollow by less than the error allowed for the depth. Returns false, and
    /// changes nothing, if that fails, too.
    fn add_vertex(&mut self, vertex: Vertex, size: f64) -> bool {
        self.replace_visible_faces(vertex, VISIBLE_HEIGHT * size, size)
            || self.replace_visible_faces(vertex, SAFE_VISIBLE_HEIGHT * size, size)
    }

    /// Replaces the faces that a new vertex is above by more than `least`, m, by faces that connect it to their
    /// outline.
    ///
    /// Returns false, and changes nothing, if a new face has no area or if the outline is not a single ring. Rounding
    /// causes the latter among coplanar faces. A surface with a hole would no longer separate inside from outside.
    fn replace_visible_faces(&mut self, vertex: Vertex, least: f64, size: f64) -> bool {
        let Self { vertices, faces, horizon } = self;
        horizon.clear();
        let sees = |face: &Face| vertex.point.dot(face.normal) - face.plane > least;
        for [i, j, k] in faces.iter().filter(|face| sees(face)).map(|face| face.corners) {
            for [from, to] in [[i, j], [j, k], [k, i]] {
                // An edge between two removed faces is inside the outline.
                match horizon.iter().position(|edge| *edge == [to, from]) {
                    Some(place) => {
                        horizon.swap_remove(place);
                    }
                    None => horizon.push([from, to]),
                }
            }
        }
        if !is_ring(horizon) {
            return false;
        }
        vertices.push(vertex);
        let new = vertices.len() - 1;
        let known = faces.len();
        for &[from, to] in horizon.iter() {
            let Some(face) = Face::new([from, to, new], vertices, size) else {
                faces.truncate(known);
                vertices.pop();
                return false;
            };
            faces.push(face);
        }
        faces.retain(|face| !sees(face));
        true
    }
}

/// True if the edges form a single closed ring.
fn is_ring(edges: &[[usize; 2]]) -> bool {
    let Some(&[start, mut at]) = edges.first() else { return false };
    let mut length = 1;
    while at != start && length < edges.len() {
        let mut from_here = edges.iter().filter(|edge| edge[0] == at);
        let (Some(edge), None) = (from_here.next(), from_here.next()) else { return false };
        at = edge[1];
        length += 1;
    }
    at == start && length == edges.len()
}

impl Face {
    /// `None` if it has no area.
    fn new(corners: [usize; 3], vertices: &[Vertex], size: f64) -> Option<Self> {
        let [a, b, c] = corners.map(|corner| vertices[corner].point);
        let across = (b - a).cross(c - a);
        let normal = across.try_normalized().filter(|_| across.norm() > MIN_DOUBLE_AREA * size * size)?;
        let plane = normal.dot(a);
        Some(Self { corners, normal, plane, distance: plane })
    }
}

/// Adds the support point along one of some directions, or against it, whose `measure` is largest; `None` if that is
/// not above `enough`.
fn add_farthest(
    difference: &Difference,
    directions: &[DVec3],
    measure: impl Fn(DVec3) -> f64,
    enough: f64,
    vertices: &mut Vec<Vertex>,
) -> Option<()> {
    let both = directions.iter().flat_map(|&direction| [direction, -direction]);
    let found = both.map(|direction| difference.support_point(direction)).map(|vertex| (measure(vertex.point), vertex));
    let (most, vertex) = found.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (most > enough).then(|| vertices.push(vertex))
}
