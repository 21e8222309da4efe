//! The convex hull of many points by quickhull (Barber, Dobkin and Huhdanpaa 1996, ACM TOMS 22, 469), in O(n log n).
//!
//! Parry's algorithm allocates memory for all points with each added point, so its cost is quadratic. The engine uses
//! it for few points, and if this algorithm finds no closed surface because of rounding.

use bevy_math::DVec3;

use crate::Norm;

/// A point farther than this above a facet is outside of it, in parts of the largest coordinate: a thousand of its
/// rounding errors.
const FACET_TOLERANCE: f64 = 2e-13;

/// A triangle of the surface so far, counter-clockwise seen from outside.
struct Facet {
    corners: [u32; 3],
    /// The facet beyond the edge from each corner to the next.
    beyond: [u32; 3],
    normal: DVec3,
    offset: f64,
    /// The points that it is the facet for, and which of them is the farthest.
    outside: Vec<u32>,
    farthest: (f64, u32),
    is_gone: bool,
}

/// A ridge edge, the horizon of a point: its ends, the facet behind it and the index of the edge in that facet.
#[derive(Clone, Copy)]
struct Ridge {
    ends: [u32; 2],
    facet: u32,
    edge: usize,
}

struct Builder<'p> {
    points: &'p [DVec3],
    facets: Vec<Facet>,
    within: f64,
}

/// Corners of the hull, a subset of the points, and its triangles: three indices of corners each, counter-clockwise
/// seen from outside. `None` if the points span no volume or rounding leaves no closed surface.
pub fn quickhull(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    let largest = points.iter().fold(DVec3::ZERO, |largest, point| largest.max(point.abs()));
    let mut builder = Builder { points, facets: Vec::new(), within: FACET_TOLERANCE * largest.max_element() };
    builder.begin()?;
    let mut next = 0;
    while next < builder.facets.len() {
        if builder.facets[next].is_gone || builder.facets[next].outside.is_empty() {
            next += 1;
        } else {
            builder.add_farthest_of(next as u32)?;
        }
    }
    builder.finish()
}

impl Builder<'_> {
    fn facet(&self, corners: [u32; 3]) -> Option<Facet> {
        let [a, b, c] = corners.map(|corner| self.points[corner as usize]);
        let normal = (b - a).cross(c - a).try_normalized()?;
        let (outside, farthest) = (Vec::new(), (0.0, 0));
        Some(Facet { corners, beyond: [0; 3], normal, offset: normal.dot(a), outside, farthest, is_gone: false })
    }

    /// Distance of a point above a facet.
    fn height(&self, facet: u32, point: u32) -> f64 {
        let Facet { normal, offset, .. } = &self.facets[facet as usize];
        normal.dot(self.points[point as usize]) - offset
    }

    /// A tetrahedron of points far from each other, and the facet that each other point is outside of.
    fn begin(&mut self) -> Option<()> {
        let all = 0..self.points.len() as u32;
        let at = |index: u32| self.points[index as usize];
        let farthest = |measure: &dyn Fn(DVec3) -> f64| {
            all.clone().max_by(|one, other| measure(at(*one)).total_cmp(&measure(at(*other))).then(other.cmp(one)))
        };
        let first = farthest(&|point| -point.x)?;
        let second = farthest(&|point| (point - at(first)).length_squared())?;
        let along = at(second) - at(first);
        let third = farthest(&|point| (point - at(first)).cross(along).length_squared())?;
        let normal = (at(third) - at(first)).cross(along).try_normalized()?;
        let fourth = farthest(&|point| (point - at(first)).dot(normal).abs())?;
        let height = (at(fourth) - at(first)).dot(normal);
        if height.abs() <= self.within {
            return None;
        }
        // Counter-clockwise seen from the side that the fourth point is not on.
        let [a, b] = if height > 0.0 { [second, third] } else { [third, second] };
        let base = [first, a, b];
        let sides = [[base[1], base[0], fourth], [base[2], base[1], fourth], [base[0], base[2], fourth]];
        for corners in [base, sides[0], sides[1], sides[2]] {
            let facet = self.facet(corners)?;
            self.facets.push(facet);
        }
        self.facets[0].beyond = [1, 2, 3];
        for side in 0..3_u32 {
            self.facets[1 + side as usize].beyond = [0, 1 + (side + 2) % 3, 1 + (side + 1) % 3];
        }
        self.assign(all.collect(), 0);
        Some(())
    }

    /// Assigns each point to the facet, from the first one on, above which it is highest; not if it is above none.
    fn assign(&mut self, points: Vec<u32>, first: usize) {
        for point in points {
            let highest = (first..self.facets.len())
                .map(|facet| (self.height(facet as u32, point), facet))
                .fold((self.within, usize::MAX), |best, found| if found.0 > best.0 { found } else { best });
            if let (height, Some(facet)) = (highest.0, self.facets.get_mut(highest.1)) {
                facet.outside.push(point);
                if height > facet.farthest.0 {
                    facet.farthest = (height, point);
                }
            }
        }
    }

    /// Puts a cone from the farthest point above a facet in the place of all that this point sees.
    fn add_farthest_of(&mut self, facet: u32) -> Option<()> {
        let point = self.facets[facet as usize].farthest.1;
        let (seen, ridges) = self.seen_from(point, facet);
        let first = self.facets.len();
        let count = ridges.len() as u32;
        for (number, ridge) in (0..count).zip(&ridges) {
            // The ridges form one loop.
            if ridge.ends[1] != ridges[(number as usize + 1) % ridges.len()].ends[0] {
                return None;
            }
            let mut facet = self.facet([ridge.ends[0], ridge.ends[1], point])?;
            let number_of = |other: u32| first as u32 + other % count;
            facet.beyond = [ridge.facet, number_of(number + 1), number_of(number + count - 1)];
            self.facets.push(facet);
            self.facets[ridge.facet as usize].beyond[ridge.edge] = number_of(number);
        }
        for gone in seen {
            let points = std::mem::take(&mut self.facets[gone as usize].outside);
            self.assign(points, first);
        }
        (count >= 3).then_some(())
    }

    /// The facets visible from a point, beginning with `facet`, and the ridge around them, counter-clockwise seen from
    /// outside.
    fn seen_from(&mut self, point: u32, facet: u32) -> (Vec<u32>, Vec<Ridge>) {
        let (mut seen, mut ridges) = (vec![facet], Vec::new());
        self.facets[facet as usize].is_gone = true;
        // Edges to cross, the next one last.
        let mut open: Vec<(u32, usize)> = [2, 1, 0].map(|edge| (facet, edge)).into();
        while let Some((from, edge)) = open.pop() {
            let Facet { beyond, corners, .. } = &self.facets[from as usize];
            let (next, ends) = (beyond[edge], [corners[edge], corners[(edge + 1) % 3]]);
            if self.facets[next as usize].is_gone {
                continue;
            }
            let back = self.facets[next as usize].beyond.iter().position(|beyond| *beyond == from).unwrap_or(0);
            if self.height(next, point) < -self.within {
                ridges.push(Ridge { ends, facet: next, edge: back });
                continue;
            }
            self.facets[next as usize].is_gone = true;
            seen.push(next);
            open.extend([(next, (back + 2) % 3), (next, (back + 1) % 3)]);
        }
        (seen, ridges)
    }

    /// The surface, if it is closed, with the points that it has.
    fn finish(self) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
        let mut number = vec![u32::MAX; self.points.len()];
        let mut corners = Vec::new();
        let left = self.facets.iter().filter(|facet| !facet.is_gone);
        let triangles: Vec<[u32; 3]> = left
            .map(|facet| {
                facet.corners.map(|corner| {
                    let known = &mut number[corner as usize];
                    if *known == u32::MAX {
                        *known = corners.len() as u32;
                        corners.push(self.points[corner as usize]);
                    }
                    *known
                })
            })
            .collect();
        // Euler's formula for triangles on a ball.
        (triangles.len() + 4 == 2 * corners.len()).then_some((corners, triangles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points by seed: in a cube, in a ball, on a sphere, on a grid, on a cylinder, and some of them twice.
    fn points(kind: usize, count: usize, seed: u64) -> Vec<DVec3> {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
        };
        let mut point = || {
            let at = DVec3::new(draw(), draw(), draw());
            match kind {
                0 => at,
                1 => at.normalize_or(DVec3::X) * libm::cbrt(draw().abs()),
                2 => at.normalize_or(DVec3::X) * 1e3,
                3 => (at * 5.0).round(),
                4 => {
                    let (sine, cosine) = libm::sincos(7.0 * at.x);
                    DVec3::new(cosine, at.y.signum(), sine)
                }
                _ => (at * 2.0).round() * 0.1 + DVec3::splat(1e4),
            }
        };
        (0..count).map(|_| point()).collect()
    }

    /// No point is above a triangle, up to rounding of coordinates of that size, and all corners are points. The
    /// surface is closed, otherwise there is none.
    #[test]
    fn no_point_is_outside_of_the_hull() {
        let long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
        for seed in 0..if long { 400 } else { 20 } {
            for kind in 0..6 {
                let points = points(kind, 20 + 37 * seed as usize % 900, seed);
                let Some((corners, triangles)) = quickhull(&points) else {
                    panic!("kind {kind}, seed {seed}: no hull")
                };
                assert!(corners.iter().all(|corner| points.contains(corner)), "kind {kind}, seed {seed}");
                let size = points.iter().map(|point| point.norm()).fold(0.0, f64::max);
                for [a, b, c] in triangles.iter().map(|triangle| triangle.map(|corner| corners[corner as usize])) {
                    let normal = (b - a).cross(c - a).normalize_or(DVec3::X);
                    let above = points.iter().map(|point| (*point - a).dot(normal)).fold(0.0, f64::max);
                    assert!(above <= 1e-11 * size, "kind {kind}, seed {seed}: a point is {above} above a triangle");
                }
            }
        }
    }

    #[test]
    fn points_without_volume_have_no_hull() {
        let flat: Vec<DVec3> = points(0, 100, 1).into_iter().map(|point| DVec3::new(point.x, point.y, 2.0)).collect();
        assert!(quickhull(&flat).is_none() && quickhull(&[DVec3::ONE; 5]).is_none());
    }
}
