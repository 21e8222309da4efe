//! How deep two convex shapes overlap: how far zero is from the surface of the difference of their points, which a polytope inside
//! of it approaches face by face (van den Bergen 2001).
//!
//! Each face's direction is tried on the shapes themselves, and the best of all that were tried is the answer. So whatever rounding
//! does to the polytope, it is a unit vector, and how deep the shapes are along it is known.

use bevy_math::DVec3;

use super::{Difference, Vertex, gjk::Simplex};

/// Polyhedra are through after some ten; a round surface comes nearer as their number grows.
const MOST_STEPS: usize = 48;
/// Part of the size that the depth may be off: the search goes on from there ([`super::climb`]).
const EXACT: f64 = 1e-6;
/// Part of the size that a point is above a face at least that sees it.
const ABOVE: f64 = 1e-12;
/// Part of the size below which a simplex has no area or no volume.
const FLAT: f64 = 1e-10;

/// Memory of the searches.
#[derive(Debug, Default)]
pub(super) struct Polytope {
    vertices: Vec<Vertex>,
    faces: Vec<Face>,
    horizon: Vec<[usize; 2]>,
}

/// A triangle of the surface; the distance of its plane from zero along the normal, which points outwards.
#[derive(Debug, Clone, Copy)]
struct Face {
    corners: [usize; 3],
    normal: DVec3,
    distance: f64,
}

impl Polytope {
    /// The direction in which the shapes have to move apart by the least, from a simplex that holds zero. `None` if the
    /// difference has no volume.
    pub(super) fn deepest(&mut self, difference: &Difference, simplex: &Simplex) -> Option<DVec3> {
        self.start(difference, simplex)?;
        let mut best: Option<(f64, DVec3)> = None;
        for _ in 0..MOST_STEPS {
            let Some(face) = self.nearest_face() else { break };
            let vertex = difference.support(face.normal);
            let depth = vertex.point.dot(face.normal);
            if best.is_none_or(|(least, _)| depth < least) {
                best = Some((depth, face.normal));
            }
            let least = best.map_or(depth, |(least, _)| least);
            if least - face.distance <= EXACT * difference.size {
                break;
            }
            self.expand(vertex, ABOVE * difference.size);
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
            add_farthest(difference, &DVec3::AXES, |point| point.distance(at), far, vertices)?;
        }
        if let [a, b] = vertices[..] {
            let along = (b.point - a.point).try_normalize()?;
            let (x, y) = along.any_orthonormal_pair();
            let from_line = |point: DVec3| (point - a.point).cross(along).length();
            add_farthest(difference, &[x, y, x + y, x - y], from_line, far, vertices)?;
        }
        if let [a, b, c] = vertices[..] {
            let normal = (b.point - a.point).cross(c.point - a.point).try_normalize()?;
            add_farthest(difference, &[normal], |point| (point - a.point).dot(normal).abs(), far, vertices)?;
        }
        let inside = vertices.iter().map(|vertex| vertex.point).sum::<DVec3>() / 4.0;
        for [i, j, k] in [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]] {
            let face = Face::new([i, j, k], vertices)?;
            let is_outwards = face.normal.dot(inside) < face.distance;
            faces.push(if is_outwards { face } else { Face::new([i, k, j], vertices)? });
        }
        Some(())
    }

    fn nearest_face(&self) -> Option<Face> {
        self.faces.iter().copied().reduce(|best, face| if face.distance < best.distance { face } else { best })
    }

    /// Replaces the faces that a new vertex is above by those that join it with their outline, but for such as have no area.
    fn expand(&mut self, vertex: Vertex, slack: f64) {
        let Self { vertices, faces, horizon } = self;
        horizon.clear();
        faces.retain(|face| {
            let hidden = vertex.point.dot(face.normal) - face.distance <= slack;
            if !hidden {
                let [i, j, k] = face.corners;
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
            hidden
        });
        vertices.push(vertex);
        let new = vertices.len() - 1;
        faces.extend(horizon.iter().filter_map(|&[from, to]| Face::new([from, to, new], vertices)));
    }
}

impl Face {
    /// `None` if it has no area.
    fn new(corners: [usize; 3], vertices: &[Vertex]) -> Option<Self> {
        let [a, b, c] = corners.map(|corner| vertices[corner].point);
        let normal = (b - a).cross(c - a).try_normalize()?;
        Some(Self { corners, normal, distance: normal.dot(a) })
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
