//! Simplices of the difference of two shapes, and the point of one that is closest to zero.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::minkowski_difference::Vertex;

/// Up to four points of the difference, and the weights that combine them to the point of their hull closest to zero.
#[derive(Debug, Clone)]
pub(super) struct Simplex {
    pub(super) vertices: [Vertex; 4],
    pub(super) weights: [f64; 4],
    pub(super) count: usize,
}

impl Simplex {
    /// A simplex of at most four points.
    pub(super) fn from_vertices(points: impl Iterator<Item = Vertex>) -> Self {
        let mut simplex = Self { vertices: [Vertex::AT_ZERO; 4], weights: [0.0; 4], count: 0 };
        points.for_each(|point| simplex.push_vertex(point));
        simplex
    }

    pub(super) fn vertices(&self) -> &[Vertex] {
        &self.vertices[..self.count]
    }

    pub(super) fn push_vertex(&mut self, vertex: Vertex) {
        self.vertices[self.count] = vertex;
        self.count += 1;
    }

    pub(super) fn contains(&self, vertex: &Vertex) -> bool {
        self.vertices().iter().any(|own| own.point == vertex.point)
    }

    /// The point of each shape that the weights give, m.
    pub(super) fn closest_points(&self) -> [DVec3; 2] {
        let mut points = [DVec3::ZERO; 2];
        for (vertex, weight) in self.vertices().iter().zip(self.weights) {
            points[0] += vertex.first * weight;
            points[1] += (vertex.first - vertex.point) * weight;
        }
        points
    }

    /// The point of the hull closest to zero. Keeps only the vertices that define it. `None` if zero is inside, which
    /// is excluded for shapes known to be `apart`.
    pub(super) fn reduce_to_closest(&mut self, apart: bool) -> Option<DVec3> {
        let [a, b, c, d] = self.vertices;
        let part = match self.count {
            1 => Part::new([0, 0, 0], [1.0, 0.0, 0.0], 1, a.point),
            2 => closest_on_line([a.point, b.point], [0, 1]),
            3 => closest_on_triangle([a.point, b.point, c.point], [0, 1, 2]),
            _ => closest_on_tetrahedron([a.point, b.point, c.point, d.point], apart)?,
        };
        for place in 0..part.count {
            self.vertices[place] = [a, b, c, d][part.places[place]];
            self.weights[place] = part.weights[place];
        }
        self.count = part.count;
        Some(part.closest)
    }
}

/// A part of a simplex: the vertices that define the closest point, their weights, and that point.
#[derive(Debug, Clone, Copy)]
struct Part {
    places: [usize; 3],
    weights: [f64; 3],
    count: usize,
    closest: DVec3,
}

impl Part {
    fn new(places: [usize; 3], weights: [f64; 3], count: usize, closest: DVec3) -> Self {
        Self { places, weights, count, closest }
    }

    fn nearer_of(self, other: Self) -> Self {
        if other.closest.length_squared() < self.closest.length_squared() { other } else { self }
    }
}

fn closest_on_line([a, b]: [DVec3; 2], [i, j]: [usize; 2]) -> Part {
    let along = b - a;
    let t = -a.dot(along) / along.length_squared();
    if !(t > 0.0) {
        Part::new([i, i, i], [1.0, 0.0, 0.0], 1, a)
    } else if t >= 1.0 {
        Part::new([j, j, j], [1.0, 0.0, 0.0], 1, b)
    } else {
        Part::new([i, j, j], [1.0 - t, t, 0.0], 2, a + along * t)
    }
}

fn closest_on_triangle([a, b, c]: [DVec3; 3], [i, j, k]: [usize; 3]) -> Part {
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    // Barycentric weights of zero's projection, times the area. The products with the normal are exact in its
    // direction.
    let weights = [b.cross(c).dot(normal), c.cross(a).dot(normal), a.cross(b).dot(normal)];
    if area > 0.0 && weights.iter().all(|&weight| weight > 0.0) {
        let sum = weights[0] + weights[1] + weights[2];
        return Part::new([i, j, k], weights.map(|weight| weight / sum), 3, normal * (normal.dot(a) / area));
    }
    let (first, second, third) =
        (closest_on_line([a, b], [i, j]), closest_on_line([b, c], [j, k]), closest_on_line([c, a], [k, i]));
    first.nearer_of(second).nearer_of(third)
}

/// The part closest to zero; `None` if zero is inside and the shapes are not known to be `apart`. A tetrahedron that
/// rounding has flattened counts as its four faces.
fn closest_on_tetrahedron(points: [DVec3; 4], apart: bool) -> Option<Part> {
    let (mut best, mut nearest): (Option<Part>, Option<Part>) = (None, None);
    for [i, j, k, other] in [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 3, 2, 0]] {
        let [a, b, c] = [points[i], points[j], points[k]];
        let normal = (b - a).cross(c - a);
        let (height, zero) = (normal.dot(points[other] - a), -normal.dot(a));
        let flat = height.abs() <= 1e-14 * normal.norm() * (points[other] - a).norm();
        let outside = flat || (height > 0.0) != (zero > 0.0);
        if outside || apart {
            let part = closest_on_triangle([a, b, c], [i, j, k]);
            let list = if outside { &mut best } else { &mut nearest };
            *list = Some(list.map_or(part, |best| best.nearer_of(part)));
        }
    }
    best.or(nearest)
}
