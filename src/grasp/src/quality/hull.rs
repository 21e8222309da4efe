//! The convex hull of points in six dimensions, which grows point by point (beneath-beyond).
//!
//! Facets are simplices. A point counts as inside of a facet unless it lies outside by more than a tolerance. Coplanar
//! points are therefore triangulated in the order in which they are added.
//!
//! The hull is a closed surface of facets around its first simplex. The least offset of its facets from an interior
//! point is therefore the radius of a ball that the hull contains, even where rounding has made the hull slightly
//! non-convex.

use nalgebra::Matrix6;

use crate::statics::Vector6;

/// Dimension of the space of wrenches.
const DIMENSION: usize = 6;
/// Distance outside of a facet beyond which a point sees it, as a fraction of the largest norm of the points.
const RELATIVE_VISIBILITY: f64 = 1e-12;
/// Smallest length of a weighted sum of two facet normals, as a fraction of the weights, at which it still defines a
/// normal. Below it the normals nearly cancel and rounding dominates.
const MIN_NORMAL_SUM: f64 = 1e-2;
/// Largest distance of a facet's vertices from its hyperplane, as a fraction of [`Hull::visibility_tolerance`].
const COPLANARITY: f64 = 0.1;

/// A facet: a simplex of six of the points.
#[derive(Debug, Clone)]
pub(crate) struct Facet {
    pub(crate) vertices: [usize; DIMENSION],
    /// For each vertex, the number of the facet on the opposite side.
    neighbours: [usize; DIMENSION],
    /// Outward unit normal.
    pub(crate) normal: Vector6,
    /// Dot product of the normal and any vertex: the facet's distance from the origin.
    pub(crate) offset: f64,
    /// Results of the volume search: the volume of the simplex between facet and centre, an upper bound on the volume
    /// of the wrench space in the cone over the facet, and whether that bound has already been tightened as far as
    /// possible.
    pub(crate) volumes: Option<([f64; 2], bool)>,
    alive: bool,
}

/// A convex hull with an interior.
#[derive(Debug, Clone)]
pub(crate) struct Hull {
    pub(crate) points: Vec<Vector6>,
    facets: Vec<Facet>,
    /// An interior point: the mean of the first simplex.
    pub(crate) centre: Vector6,
    /// Distance outside of a facet beyond which a point sees it.
    visibility_tolerance: f64,
    /// Number of facets that are alive.
    alive: usize,
    /// Sums of [`Facet::volumes`] of the facets that were removed since the last call of [`Hull::sum_volumes`].
    pub(crate) removed_volumes: [f64; 2],
    /// Number of times the facets have been renumbered.
    pub(crate) renumberings: usize,
    /// For each facet: whether the point that last tested it sees it, and that point's number.
    seen: Vec<(bool, usize)>,
    ridges: Vec<Ridge>,
}

/// A side that two new facets share: a key of its vertices without the apex, the facet's number, and the index of the
/// facet's vertex opposite the side.
type Ridge = (u128, usize, usize);

/// Error: the points lie in one hyperplane, whose unit normal this is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlatPoints(pub(crate) Vector6);

impl Hull {
    /// A simplex of seven of these points, the first of them included.
    ///
    /// # Errors
    /// All points lie in one hyperplane; the error holds its normal.
    pub(crate) fn simplex(candidates: &[Vector6]) -> Result<Self, FlatPoints> {
        let size = candidates.iter().map(Vector6::norm).fold(0.0, f64::max);
        let mut points = vec![candidates[0]];
        let mut axes: Vec<Vector6> = Vec::new();
        while axes.len() < DIMENSION {
            let out = |point: &Vector6| orthogonal_part(point - points[0], &axes);
            let farthest = candidates.iter().map(|point| (out(point), point));
            let best = farthest.max_by(|a, b| a.0.norm_squared().total_cmp(&b.0.norm_squared()));
            match best {
                Some((rest, point)) if rest.norm() > 1e-9 * size => {
                    axes.push(orthogonal_part(rest, &axes).normalize());
                    points.push(*point);
                }
                _ => return Err(FlatPoints(orthogonal_unit(&axes))),
            }
        }
        let centre = points.iter().sum::<Vector6>() / points.len() as f64;
        let mut hull = Self {
            points,
            facets: Vec::new(),
            centre,
            visibility_tolerance: RELATIVE_VISIBILITY * size,
            alive: 0,
            removed_volumes: [0.0; 2],
            renumberings: 0,
            seen: Vec::new(),
            ridges: Vec::new(),
        };
        for left_out in 0..=DIMENSION {
            let others: Vec<usize> = (0..=DIMENSION).filter(|k| *k != left_out).collect();
            let vertices = std::array::from_fn(|k| others[k]);
            // In a simplex the facet opposite vertex k is facet k, so the neighbours are the vertices' numbers.
            hull.push_facet(vertices, vertices, None);
        }
        Ok(hull)
    }

    /// The facets that are alive, each with its number.
    pub(crate) fn facets(&self) -> impl Iterator<Item = (usize, &Facet)> {
        self.facets.iter().enumerate().filter(|(_, facet)| facet.alive)
    }

    /// The facet with this number, if it is still part of the hull.
    pub(crate) fn facet(&self, number: usize) -> Option<&Facet> {
        self.facets.get(number).filter(|facet| facet.alive)
    }

    /// Stores results of the volume search in a facet ([`Facet::volumes`]).
    pub(crate) fn set_volumes(&mut self, number: usize, volumes: ([f64; 2], bool)) {
        self.facets[number].volumes = Some(volumes);
    }

    /// Sums of [`Facet::volumes`] over all facets. Resets [`Hull::removed_volumes`].
    pub(crate) fn sum_volumes(&mut self) -> [f64; 2] {
        self.removed_volumes = [0.0; 2];
        let volumes = self.facets().map(|(_, facet)| facet.volumes.unwrap_or_default().0);
        volumes.fold([0.0; 2], |sum, [within, at_most]| [sum[0] + within, sum[1] + at_most])
    }

    /// The number that the next facet will have.
    pub(crate) fn next_number(&self) -> usize {
        self.facets.len()
    }

    /// Number of facets that are alive.
    pub(crate) fn len(&self) -> usize {
        self.alive
    }

    /// Unit normal of the new facet through a point and the ridge between two facets; the point is outside of the first
    /// and not of the second. The normals of all hyperplanes through the ridge are combinations of the two facets'
    /// normals; this one contains the point. `None` where the two terms cancel to rounding.
    fn plane_between(&self, inner: usize, outer: usize, point: &Vector6) -> Option<Vector6> {
        let [inner, outer] = [inner, outer].map(|facet| &self.facets[facet]);
        let out = |facet: &Facet| facet.normal.dot(point) - facet.offset;
        let (above, below) = (out(inner), -out(outer));
        let normal = inner.normal * below + outer.normal * above;
        let length = normal.norm();
        (length > MIN_NORMAL_SUM * (above.abs() + below.abs())).then(|| normal / length)
    }

    /// Adds a facet and returns its number. A known normal is used if the vertices lie in one hyperplane orthogonal to
    /// it; otherwise the normal is computed from the vertices.
    fn push_facet(
        &mut self,
        vertices: [usize; DIMENSION],
        neighbours: [usize; DIMENSION],
        known: Option<Vector6>,
    ) -> usize {
        let corners = vertices.map(|vertex| self.points[vertex]);
        let is_level = |normal: &Vector6| {
            let height = normal.dot(&corners[0]);
            let tolerance = COPLANARITY * self.visibility_tolerance;
            corners[1..].iter().all(|corner| (normal.dot(corner) - height).abs() < tolerance)
        };
        let mut normal = known.filter(is_level).unwrap_or_else(|| normal_of(&corners));
        // The mean, since rounding makes the vertices' offsets differ.
        let mut offset = corners.iter().map(|corner| normal.dot(corner)).sum::<f64>() / DIMENSION as f64;
        if normal.dot(&self.centre) > offset {
            (normal, offset) = (-normal, -offset);
        }
        self.alive += 1;
        self.facets.push(Facet { vertices, neighbours, normal, offset, volumes: None, alive: true });
        self.seen.push((false, 0));
        self.facets.len() - 1
    }

    /// Extends the hull to a point. Nothing changes if the point is inside.
    pub(crate) fn add_point(&mut self, point: Vector6) {
        let out = |facet: &Facet| facet.normal.dot(&point) - facet.offset;
        let farthest = self.facets().max_by(|a, b| out(a.1).total_cmp(&out(b.1))).map(|(number, _)| number);
        if let Some(facet) = farthest {
            self.add_beyond(point, facet);
        }
    }

    /// Extends the hull to a point outside of this facet. Returns false and changes nothing if the point is not
    /// outside.
    pub(crate) fn add_beyond(&mut self, point: Vector6, facet: usize) -> bool {
        let sees = |facet: &Facet| facet.normal.dot(&point) - facet.offset > self.visibility_tolerance;
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
                self.ridges.push((ridge_key(&vertices, place, across), new, across));
            }
            self.push_facet(vertices, neighbours, self.plane_between(inner, outer, &point));
        }
        self.join_ridges();
        for at in &seen {
            self.facets[*at].alive = false;
            let ([within, at_most], _) = self.facets[*at].volumes.unwrap_or_default();
            self.removed_volumes = [self.removed_volumes[0] + within, self.removed_volumes[1] + at_most];
        }
        self.alive -= seen.len();
        self.drop_dead_facets();
        true
    }

    /// Enters the two new facets at each ridge as neighbours of each other.
    fn join_ridges(&mut self) {
        self.ridges.sort_unstable();
        let same = self.ridges.chunk_by(|one, other| one.0 == other.0);
        for pair in same.flat_map(|ridges| ridges.chunks_exact(2)) {
            let ((_, one, across_one), (_, other, across_other)) = (pair[0], pair[1]);
            self.facets[one].neighbours[across_one] = other;
            self.facets[other].neighbours[across_other] = one;
        }
    }

    /// Removes dead facets and renumbers the others, once there are at least 4096 facets and three in four are dead.
    fn drop_dead_facets(&mut self) {
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
        self.renumberings += 1;
        for facet in &mut self.facets {
            facet.neighbours = facet.neighbours.map(|neighbour| place[neighbour]);
        }
    }

    /// Volume of the simplex between a facet and the centre.
    pub(crate) fn facet_volume(&self, facet: &Facet) -> f64 {
        // A simplex is 1/6! of the parallelepiped of its edges.
        self.centred_corners(facet).determinant().abs() / 720.0
    }

    /// The vertices of a facet relative to the centre, as columns.
    pub(crate) fn centred_corners(&self, facet: &Facet) -> Matrix6<f64> {
        Matrix6::from_columns(&facet.vertices.map(|vertex| self.points[vertex] - self.centre))
    }
}

/// A key for four of a facet's vertices, all but `one` and `other`, independent of their order. It packs the sorted
/// vertex numbers in 32 bits each; a hull has far fewer than 2^32 points.
fn ridge_key(vertices: &[usize; DIMENSION], one: usize, other: usize) -> u128 {
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

/// The component of a vector orthogonal to an orthonormal set of axes.
fn orthogonal_part(mut vector: Vector6, axes: &[Vector6]) -> Vector6 {
    axes.iter().for_each(|axis| vector -= axis * axis.dot(&vector));
    vector
}

/// A unit vector orthogonal to an orthonormal set of fewer than six axes.
fn orthogonal_unit(axes: &[Vector6]) -> Vector6 {
    let units = (0..DIMENSION).map(|k| orthogonal_part(Vector6::ith(k, 1.0), axes));
    let longest = units.max_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared()));
    orthogonal_part(longest.unwrap_or_default().normalize(), axes).normalize()
}

/// A unit normal of the hyperplane through six points, of either sign: the null vector of the five edges, by Gaussian
/// elimination with complete pivoting.
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

    /// The cross-polytope has 2^6 facets at the distance 1/sqrt(6), and the volume 2^6 / 6!.
    #[test]
    fn the_cross_polytope_has_64_facets() {
        let points: Vec<_> = (0..12).map(|k| Vector6::ith(k / 2, if k % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let mut hull = Hull::simplex(&points).unwrap();
        points.iter().for_each(|point| hull.add_point(*point));
        assert_eq!(hull.len(), 64);
        assert!(hull.facets().all(|(_, facet)| (facet.offset - 1.0 / 6f64.sqrt()).abs() < 1e-14));
        let volume: f64 = hull.facets().map(|(_, facet)| hull.facet_volume(facet)).sum();
        assert!((volume - 64.0 / 720.0).abs() < 1e-14);
    }

    /// The cube has many points in the hyperplane of each of its facets, and the volume 2^6.
    #[test]
    fn the_cube_has_the_volume_of_a_cube() {
        let corner = |k: u32| Vector6::from_fn(|axis, _| if k >> axis & 1 == 0 { -1.0 } else { 1.0 });
        let points: Vec<_> = (0..64).map(corner).collect();
        let mut hull = Hull::simplex(&points).unwrap();
        points.iter().for_each(|point| hull.add_point(*point));
        assert!(hull.facets().all(|(_, facet)| (facet.offset - 1.0).abs() < 1e-12));
        let volume: f64 = hull.facets().map(|(_, facet)| hull.facet_volume(facet)).sum();
        assert!((volume - 64.0).abs() < 1e-10, "{volume}");
    }

    #[test]
    fn points_of_a_hyperplane_give_its_normal() {
        let points: Vec<_> = (0..6).map(|k| Vector6::ith(k, f64::from(u8::from(k < 5)))).collect();
        let Err(FlatPoints(normal)) = Hull::simplex(&points) else { panic!("they are flat") };
        assert!((normal.abs() - Vector6::ith(5, 1.0)).norm() < 1e-12);
    }
}
