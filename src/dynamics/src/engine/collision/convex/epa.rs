//! How deep two convex shapes overlap: how far zero is from the surface of the difference of their points, which a
//! polytope inside of it approaches face by face (van den Bergen 2001).
//!
//! Each face's direction is tried on the shapes themselves, and the best of all that were tried is the answer. So
//! whatever rounding does to the polytope, it is a unit vector, and how deep the shapes are along it is known.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{Difference, Vertex, gjk::Simplex};

/// Polyhedra are through after some ten; a round surface comes nearer as their number grows. So many are enough to
/// begin a climb at.
const STEPS: usize = 48;
/// Steps where the best face is still far behind: round shapes that are deep in each other are about as deep on many
/// sides.
const MOST_STEPS: usize = 400;
/// Part of the size that the depth may be off: the search goes on from there ([`super::climb`]).
const EXACT: f64 = 1e-6;
/// Likewise, where there is more than one side that the climb may end on.
const UNSURE: f64 = 1e-3;
/// Part of the size that a point is above a face at least that sees it.
const ABOVE: f64 = 1e-12;
/// Likewise, where a new face would have no area otherwise: less than [`EXACT`].
const WELL_ABOVE: f64 = 1e-7;
/// Part of the size below which a simplex has no area or no volume.
const FLAT: f64 = 1e-10;
/// Part of the size's square that twice the area of a face is at least; the normal of a smaller one would be rounding.
const SLIVER: f64 = 1e-9;

/// Memory of the searches.
#[derive(Debug, Default)]
pub(super) struct Polytope {
    vertices: Vec<Vertex>,
    faces: Vec<Face>,
    horizon: Vec<[usize; 2]>,
}

/// A triangle of the surface.
#[derive(Debug, Clone, Copy)]
struct Face {
    corners: [usize; 3],
    /// Outwards.
    normal: DVec3,
    /// Distance of its plane from zero along the normal.
    plane: f64,
    /// The same, or infinite once nothing more is to be found beyond it.
    distance: f64,
}

impl Polytope {
    /// The direction in which the shapes have to move apart by the least, from a simplex that holds zero. `None` if the
    /// difference has no volume.
    pub(super) fn deepest(&mut self, difference: &Difference, simplex: &Simplex) -> Option<DVec3> {
        self.start(difference, simplex)?;
        let mut best: Option<(f64, DVec3)> = None;
        for step in 0..MOST_STEPS {
            let Some(nearest) = self.nearest_face() else { break };
            let face = self.faces[nearest];
            let vertex = difference.support(face.normal);
            let depth = vertex.point.dot(face.normal);
            if best.is_none_or(|(least, _)| depth < least) {
                best = Some((depth, face.normal));
            }
            let least = best.map_or(depth, |(least, _)| least);
            let enough = if step < STEPS { EXACT } else { UNSURE };
            if !(least - face.distance > enough * difference.size) {
                break;
            }
            if !self.expand(vertex, difference.size) {
                // A point that joins with an edge to a line makes no face: this side has come out as well as numbers
                // allow.
                self.faces[nearest].distance = f64::INFINITY;
            }
        }
        best.map(|(_, normal)| normal)
    }

    /// Makes a tetrahedron of the simplex and of points far from it.
    fn start(&mut self, difference: &Difference, simplex: &Simplex) -> Option<()> {
        let Self { vertices, faces, .. } = self;
        vertices.clear();
        faces.clear();
        vertices.extend(simplex.vertices());
        let far = FLAT * difference.size;
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

    /// Adds a vertex. Faces that it is hardly above may have an edge with it in one line, where a new face has no area.
    /// They stay then: the surface is hollow there by less than the depth may be off. False, and nothing is changed, if
    /// that does not help either.
    fn expand(&mut self, vertex: Vertex, size: f64) -> bool {
        self.join(vertex, ABOVE * size, size) || self.join(vertex, WELL_ABOVE * size, size)
    }

    /// Replaces the faces that a new vertex is above by more than `least` by those that join it with their outline.
    /// False, and nothing is changed, if one of these had no area or the outline were not one ring, which rounding
    /// makes of faces in one plane: a surface with a hole would no longer tell inside from outside.
    fn join(&mut self, vertex: Vertex, least: f64, size: f64) -> bool {
        let Self { vertices, faces, horizon } = self;
        horizon.clear();
        let sees = |face: &Face| vertex.point.dot(face.normal) - face.plane > least;
        for [i, j, k] in faces.iter().filter(|face| sees(face)).map(|face| face.corners) {
            for [from, to] in [[i, j], [j, k], [k, i]] {
                // An edge between two faces that go is inside the outline.
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

/// Whether edges follow each other around once.
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
        let normal = across.try_normalized().filter(|_| across.norm() > SLIVER * size * size)?;
        let plane = normal.dot(a);
        Some(Self { corners, normal, plane, distance: plane })
    }
}

/// Adds the support in one of some directions, or against it, that measures the most; `None` if none measures enough.
fn add_farthest(
    difference: &Difference,
    directions: &[DVec3],
    measure: impl Fn(DVec3) -> f64,
    enough: f64,
    vertices: &mut Vec<Vertex>,
) -> Option<()> {
    let both = directions.iter().flat_map(|&direction| [direction, -direction]);
    let found = both.map(|direction| difference.support(direction)).map(|vertex| (measure(vertex.point), vertex));
    let (most, vertex) = found.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (most > enough).then(|| vertices.push(vertex))
}
