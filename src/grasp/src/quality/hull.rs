//! The convex hull of points in six dimensions, which grows point by point (beneath-beyond).
//!
//! Facets are simplices. A point that is not farther out than a tolerance from a facet counts as inside of it; what is coplanar is
//! therefore triangulated as it comes. The hull is a closed surface of facets around its first simplex, so the least offset of its facets
//! from a point within is a ball that it holds, whatever rounding did to its convexity.

use nalgebra::Matrix6;

use crate::statics::Vector6;

const DIMENSION: usize = 6;
/// How far out of a facet, in parts of the size of the points, a point sees it.
const VISIBLE: f64 = 1e-12;
/// Of normals that nearly cancel each other this part is left at least where their sum is a normal.
const STEADY: f64 = 1e-2;
/// Part of what a point must be out by, by which the vertices of a facet may be out of its hyperplane.
const LEVEL: f64 = 0.1;

/// A facet: six of the points.
#[derive(Debug, Clone)]
pub(crate) struct Facet {
    pub(crate) vertices: [usize; DIMENSION],
    /// The facet across from each vertex.
    neighbours: [usize; DIMENSION],
    /// Outward, of unit length.
    pub(crate) normal: Vector6,
    /// The product of normal and vertices.
    pub(crate) offset: f64,
    /// What a search for the volume knows of it: the volume below it, at most so much that the space has there, and whether that is all that can be told.
    pub(crate) volumes: Option<([f64; 2], bool)>,
    alive: bool,
}

/// A hull that is never flat.
#[derive(Debug, Clone)]
pub(crate) struct Hull {
    pub(crate) points: Vec<Vector6>,
    facets: Vec<Facet>,
    /// A point within.
    pub(crate) centre: Vector6,
    /// What a point has to be out of a facet by.
    visible: f64,
    alive: usize,
    /// The sums of the volumes of facets that are gone.
    pub(crate) lost: [f64; 2],
    /// How many times facets were numbered anew.
    pub(crate) numbering: usize,
    /// For each facet whether the last point sees it, and which point that was, by its number.
    seen: Vec<(bool, usize)>,
    ridges: Vec<Ridge>,
}

/// A side of a new facet that it shares with another: a number that stands for the vertices but the apex, the facet, and the place of the vertex
/// across.
type Ridge = (u128, usize, usize);

/// Points that lie in a hyperplane, whose normal this is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flat(pub(crate) Vector6);

impl Hull {
    /// A simplex of seven of these points, the first among them.
    ///
    /// # Errors
    /// The normal of a hyperplane that all of them are in.
    pub(crate) fn simplex(candidates: &[Vector6]) -> Result<Self, Flat> {
        let size = candidates.iter().map(Vector6::norm).fold(0.0, f64::max);
        let mut points = vec![candidates[0]];
        let mut axes: Vec<Vector6> = Vec::new();
        while axes.len() < DIMENSION {
            let out = |point: &Vector6| across(point - points[0], &axes);
            let farthest = candidates.iter().map(|point| (out(point), point));
            let best = farthest.max_by(|a, b| a.0.norm_squared().total_cmp(&b.0.norm_squared()));
            match best {
                Some((rest, point)) if rest.norm() > 1e-9 * size => {
                    axes.push(across(rest, &axes).normalize());
                    points.push(*point);
                }
                _ => return Err(Flat(square_to(&axes))),
            }
        }
        let centre = points.iter().sum::<Vector6>() / points.len() as f64;
        let mut hull = Self {
            points,
            facets: Vec::new(),
            centre,
            visible: VISIBLE * size,
            alive: 0,
            lost: [0.0; 2],
            numbering: 0,
            seen: Vec::new(),
            ridges: Vec::new(),
        };
        for left_out in 0..=DIMENSION {
            let others: Vec<usize> = (0..=DIMENSION).filter(|k| *k != left_out).collect();
            let vertices = std::array::from_fn(|k| others[k]);
            // The facet across from a vertex is the one that leaves it out.
            hull.push(vertices, vertices, None);
        }
        Ok(hull)
    }

    /// Facets, each with its number.
    pub(crate) fn facets(&self) -> impl Iterator<Item = (usize, &Facet)> {
        self.facets.iter().enumerate().filter(|(_, facet)| facet.alive)
    }

    /// A facet by its number, if it is one still.
    pub(crate) fn facet(&self, number: usize) -> Option<&Facet> {
        self.facets.get(number).filter(|facet| facet.alive)
    }

    /// Notes what a search for the volume knows of a facet.
    pub(crate) fn set_volumes(&mut self, number: usize, volumes: ([f64; 2], bool)) {
        self.facets[number].volumes = Some(volumes);
    }

    /// The sums of the volumes of all facets. What is gone counts from now on.
    pub(crate) fn sum_volumes(&mut self) -> [f64; 2] {
        self.lost = [0.0; 2];
        let volumes = self.facets().map(|(_, facet)| facet.volumes.unwrap_or_default().0);
        volumes.fold([0.0; 2], |sum, [within, at_most]| [sum[0] + within, sum[1] + at_most])
    }

    /// The number that the next facet will have.
    pub(crate) fn next_number(&self) -> usize {
        self.facets.len()
    }

    /// How many facets it has.
    pub(crate) fn len(&self) -> usize {
        self.alive
    }

    /// The normal of a facet over the ridge between two others, to a point that is out of the first and not of the second: of all hyperplanes
    /// through the ridge, whose normals are what these two span, the one that the point is in. `None` where rounding is left of it.
    fn plane_between(&self, inner: usize, outer: usize, point: &Vector6) -> Option<Vector6> {
        let [inner, outer] = [inner, outer].map(|facet| &self.facets[facet]);
        let out = |facet: &Facet| facet.normal.dot(point) - facet.offset;
        let (above, below) = (out(inner), -out(outer));
        let normal = inner.normal * below + outer.normal * above;
        let length = normal.norm();
        (length > STEADY * (above.abs() + below.abs())).then(|| normal / length)
    }

    /// Adds a facet, of this normal if that is known and the vertices are in one hyperplane across it.
    fn push(&mut self, vertices: [usize; DIMENSION], neighbours: [usize; DIMENSION], known: Option<Vector6>) -> usize {
        let corners = vertices.map(|vertex| self.points[vertex]);
        let is_level = |normal: &Vector6| {
            let height = normal.dot(&corners[0]);
            corners[1..].iter().all(|corner| (normal.dot(corner) - height).abs() < LEVEL * self.visible)
        };
        let mut normal = known.filter(is_level).unwrap_or_else(|| normal_of(&corners));
        // The vertices differ in it by rounding.
        let mut offset = corners.iter().map(|corner| normal.dot(corner)).sum::<f64>() / DIMENSION as f64;
        if normal.dot(&self.centre) > offset {
            (normal, offset) = (-normal, -offset);
        }
        self.alive += 1;
        self.facets.push(Facet { vertices, neighbours, normal, offset, volumes: None, alive: true });
        self.seen.push((false, 0));
        self.facets.len() - 1
    }

    /// Adds a point wherever it is.
    pub(crate) fn add(&mut self, point: Vector6) {
        let out = |facet: &Facet| facet.normal.dot(&point) - facet.offset;
        let farthest = self.facets().max_by(|a, b| out(a.1).total_cmp(&out(b.1))).map(|(number, _)| number);
        if let Some(facet) = farthest {
            self.add_beyond(point, facet);
        }
    }

    /// Adds a point that is out of this facet; false, and nothing happens, where it is not.
    pub(crate) fn add_beyond(&mut self, point: Vector6, facet: usize) -> bool {
        let sees = |facet: &Facet| facet.normal.dot(&point) - facet.offset > self.visible;
        if !sees(&self.facets[facet]) {
            return false;
        }
        let apex = self.points.len();
        let (mut seen, mut horizon, mut next) = (vec![facet], Vec::new(), 0);
        self.seen[facet] = (true, apex);
        while let Some(&at) = seen.get(next) {
            next += 1;
            for (place, &neighbour) in self.facets[at].neighbours.iter().enumerate() {
                if self.seen[neighbour].1 != apex {
                    self.seen[neighbour] = (sees(&self.facets[neighbour]), apex);
                    seen.extend(self.seen[neighbour].0.then_some(neighbour));
                }
                if !self.seen[neighbour].0 {
                    horizon.push((at, place, neighbour));
                }
            }
        }
        self.points.push(point);
        self.ridges.clear();
        for (inner, place, outer) in horizon {
            let mut vertices = self.facets[inner].vertices;
            vertices[place] = apex;
            let mut neighbours = [outer; DIMENSION];
            let new = self.facets.len();
            if let Some(back) = self.facets[outer].neighbours.iter().position(|neighbour| *neighbour == inner) {
                self.facets[outer].neighbours[back] = new;
            }
            neighbours[place] = outer;
            for across in (0..DIMENSION).filter(|across| *across != place) {
                self.ridges.push((key_of(&vertices, place, across), new, across));
            }
            self.push(vertices, neighbours, self.plane_between(inner, outer, &point));
        }
        self.join_ridges();
        for at in &seen {
            self.facets[*at].alive = false;
            let ([within, at_most], _) = self.facets[*at].volumes.unwrap_or_default();
            self.lost = [self.lost[0] + within, self.lost[1] + at_most];
        }
        self.alive -= seen.len();
        self.compact();
        true
    }

    /// Makes neighbours of the two new facets at each ridge.
    fn join_ridges(&mut self) {
        self.ridges.sort_unstable();
        let same = self.ridges.chunk_by(|one, other| one.0 == other.0);
        for pair in same.flat_map(|ridges| ridges.chunks_exact(2)) {
            let ((_, one, across_one), (_, other, across_other)) = (pair[0], pair[1]);
            self.facets[one].neighbours[across_one] = other;
            self.facets[other].neighbours[across_other] = one;
        }
    }

    /// Throws dead facets away once they are the most.
    fn compact(&mut self) {
        if self.facets.len() < 4096 || self.facets.len() < 4 * self.alive {
            return;
        }
        let mut place = vec![usize::MAX; self.facets.len()];
        let mut count = 0;
        for (number, facet) in self.facets.iter().enumerate() {
            if facet.alive {
                place[number] = count;
                count += 1;
            }
        }
        self.facets.retain(|facet| facet.alive);
        self.seen.clear();
        self.seen.resize(self.facets.len(), (false, 0));
        self.numbering += 1;
        for facet in &mut self.facets {
            facet.neighbours = facet.neighbours.map(|neighbour| place[neighbour]);
        }
    }

    /// The volume between a facet and the centre.
    pub(crate) fn volume(&self, facet: &Facet) -> f64 {
        // 6! simplices make a parallelepiped.
        self.corners(facet).determinant().abs() / 720.0
    }

    /// The corners of a facet seen from the centre, as columns.
    pub(crate) fn corners(&self, facet: &Facet) -> Matrix6<f64> {
        Matrix6::from_columns(&facet.vertices.map(|vertex| self.points[vertex] - self.centre))
    }
}

/// A number for the vertices of a facet but two, whatever their order. There are far fewer than 2^32 of them.
fn key_of(vertices: &[usize; DIMENSION], one: usize, other: usize) -> u128 {
    let (mut key, mut count) = ([0; DIMENSION - 2], 0);
    for (_, &vertex) in vertices.iter().enumerate().filter(|(k, _)| *k != one && *k != other) {
        let mut place = count;
        while place > 0 && key[place - 1] > vertex {
            key[place] = key[place - 1];
            place -= 1;
        }
        key[place] = vertex;
        count += 1;
    }
    key.iter().fold(0, |number, &vertex| number << 32 | vertex as u128)
}

/// The part of a vector that is square to unit vectors, which are square to each other.
fn across(mut vector: Vector6, axes: &[Vector6]) -> Vector6 {
    axes.iter().for_each(|axis| vector -= axis * axis.dot(&vector));
    vector
}

/// A unit vector square to fewer than six such vectors.
fn square_to(axes: &[Vector6]) -> Vector6 {
    let units = (0..DIMENSION).map(|k| across(Vector6::ith(k, 1.0), axes));
    let longest = units.max_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared()));
    across(longest.unwrap_or_default().normalize(), axes).normalize()
}

/// The unit normal of six points, of either sense: what Gauss's elimination with complete pivoting leaves of the edges.
fn normal_of(corners: &[Vector6; DIMENSION]) -> Vector6 {
    let mut rows: [Vector6; DIMENSION - 1] = std::array::from_fn(|k| corners[k + 1] - corners[0]);
    let mut order: [usize; DIMENSION] = std::array::from_fn(|k| k);
    for step in 0..rows.len() {
        let (mut best, mut most) = ((step, step), -1.0);
        for (row, entries) in rows.iter().enumerate().skip(step) {
            for (place, &column) in order.iter().enumerate().skip(step) {
                if entries[column].abs() > most {
                    (best, most) = ((row, place), entries[column].abs());
                }
            }
        }
        rows.swap(step, best.0);
        order.swap(step, best.1);
        let pivot = rows[step];
        for row in rows.iter_mut().skip(step + 1) {
            let factor = row[order[step]] / pivot[order[step]];
            for &column in &order[step..] {
                row[column] -= factor * pivot[column];
            }
        }
    }
    let mut normal = Vector6::zeros();
    normal[order[DIMENSION - 1]] = 1.0;
    for step in (0..rows.len()).rev() {
        let known: f64 = order[step + 1..].iter().map(|&column| rows[step][column] * normal[column]).sum();
        normal[order[step]] = -known / rows[step][order[step]];
    }
    normal.normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cross-polytope: 2^6 facets at 1/sqrt(6), volume 2^6 / 6!.
    #[test]
    fn the_cross_polytope_has_64_facets() {
        let points: Vec<_> = (0..12).map(|k| Vector6::ith(k / 2, if k % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let mut hull = Hull::simplex(&points).unwrap();
        points.iter().for_each(|point| hull.add(*point));
        assert_eq!(hull.len(), 64);
        assert!(hull.facets().all(|(_, facet)| (facet.offset - 1.0 / 6f64.sqrt()).abs() < 1e-14));
        let volume: f64 = hull.facets().map(|(_, facet)| hull.volume(facet)).sum();
        assert!((volume - 64.0 / 720.0).abs() < 1e-14);
    }

    /// The cube: its facets are hyperplanes of many points each, its volume 2^6.
    #[test]
    fn the_cube_has_the_volume_of_a_cube() {
        let corner = |k: u32| Vector6::from_fn(|axis, _| if k >> axis & 1 == 0 { -1.0 } else { 1.0 });
        let points: Vec<_> = (0..64).map(corner).collect();
        let mut hull = Hull::simplex(&points).unwrap();
        points.iter().for_each(|point| hull.add(*point));
        assert!(hull.facets().all(|(_, facet)| (facet.offset - 1.0).abs() < 1e-12));
        let volume: f64 = hull.facets().map(|(_, facet)| hull.volume(facet)).sum();
        assert!((volume - 64.0).abs() < 1e-10, "{volume}");
    }

    #[test]
    fn points_of_a_hyperplane_give_its_normal() {
        let points: Vec<_> = (0..6).map(|k| Vector6::ith(k, f64::from(u8::from(k < 5)))).collect();
        let Err(Flat(normal)) = Hull::simplex(&points) else { panic!("they are flat") };
        assert!((normal.abs() - Vector6::ith(5, 1.0)).norm() < 1e-12);
    }
}
