//! Terrain: heights over a grid (thesis equations 7 to 9).

use std::sync::Arc;

use bevy_math::DVec3;

use super::{Material, Pose};

/// A grid of heights. Between the grid points the surface has two triangles in each cell; n points have n - 1 cells
/// between them. The space below is solid.
#[derive(Debug, Clone, PartialEq)]
pub struct Heightfield {
    /// Number of grid points along x, at least 2.
    pub points_x: usize,
    /// Number of grid points along z, at least 2.
    pub points_z: usize,
    /// Extent along its x, metres: from -width/2 to width/2.
    pub width: f64,
    /// Extent along its z, metres.
    pub depth: f64,
    /// Heights in metres, with scale and offset applied; the index of point i along x and j along z is `i * points_z +
    /// j`. NaN without data: the cells around such a point have no surface. Shared, because there may be millions.
    pub heights: Arc<[f64]>,
    /// `world_from_field`: its middle at height 0, and its heading, a turn about y.
    pub pose: Pose,
    /// Surface material.
    pub material: Material,
}

impl Heightfield {
    /// The height of grid point i along x and j along z above the field's origin, metres; NaN without data.
    pub fn height(&self, i: usize, j: usize) -> f64 {
        self.heights[i * self.points_z + j]
    }

    /// x and z of grid point i, j in the field's own frame (equation 9), metres.
    pub fn position(&self, i: usize, j: usize) -> (f64, f64) {
        let along = |index: usize, points: usize, extent: f64| (index as f64 / (points - 1) as f64 - 0.5) * extent;
        (along(i, self.points_x, self.width), along(j, self.points_z, self.depth))
    }

    /// Grid point i, j in the world, metres; its y is NaN without a height.
    pub fn point(&self, i: usize, j: usize) -> DVec3 {
        let (x, z) = self.position(i, j);
        let level = self.pose.point(DVec3::new(x, 0.0, z));
        DVec3::new(level.x, level.y + self.height(i, j), level.z)
    }

    /// The height of the surface at x and z of the world, metres; `None` beyond its edges and in holes. The two
    /// triangles of a cell share the diagonal between the corners with one higher index each.
    pub fn height_at(&self, x: f64, z: f64) -> Option<f64> {
        let local = self.pose.inverse().point(DVec3::new(x, 0.0, z));
        let cell = |at: f64, extent: f64, points: usize| {
            let place = (at / extent + 0.5) * (points - 1) as f64;
            let index = (place.max(0.0) as usize).min(points - 2);
            let share = place - index as f64;
            (-1e-9..=1.0 + 1e-9).contains(&share).then_some((index, share))
        };
        let ((i, u), (j, v)) = (cell(local.x, self.width, self.points_x)?, cell(local.z, self.depth, self.points_z)?);
        if !self.has_surface(i, j) {
            return None;
        }
        let [low, along_x, along_z, high] =
            [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| self.height(i, j));
        let height = match u + v <= 1.0 {
            true => low + u * (along_x - low) + v * (along_z - low),
            false => high + (1.0 - u) * (along_z - high) + (1.0 - v) * (along_x - high),
        };
        Some(self.pose.translation.y + height)
    }

    /// True if the cell between grid points i and i + 1, j and j + 1 has a surface: all of its corners have heights.
    pub fn has_surface(&self, i: usize, j: usize) -> bool {
        [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].into_iter().all(|(i, j)| !self.height(i, j).is_nan())
    }

    /// The cells that have a surface, by their corner of lowest indices.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = (0..self.points_x - 1).flat_map(|i| (0..self.points_z - 1).map(move |j| (i, j)));
        all.filter(|&(i, j)| self.has_surface(i, j))
    }

    /// Lowest and highest point in the world, metres.
    pub fn bounds(&self) -> (f64, f64) {
        // The minimum of a number and NaN is the number.
        let (low, high) =
            self.heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &y| (low.min(y), high.max(y)));
        (low + self.pose.translation.y, high + self.pose.translation.y)
    }

    /// Resamples to a number of grid points over the same extent, at least 2 each way. Interpolation is bilinear
    /// between the four old points around each new one, and without a height if one of them with a non-zero weight has
    /// none. A point that coincides with an old one keeps its height, bit for bit.
    #[must_use]
    pub fn resampled(&self, points_x: usize, points_z: usize) -> Self {
        // Index of the old point at or before a new one, and the fraction of the distance to the next.
        let place = |index: usize, fresh: usize, old: usize| {
            let at = (index * (old - 1)) as f64 / (fresh - 1) as f64;
            let first = (at as usize).min(old - 2);
            (first, at - first as f64)
        };
        let along_z: Vec<(usize, f64)> = (0..points_z).map(|j| place(j, points_z, self.points_z)).collect();
        let heights = (0..points_x).flat_map(|i| {
            let (first, share) = place(i, points_x, self.points_x);
            let along = move |j: usize| height_between(self.height(first, j), self.height(first + 1, j), share);
            along_z.iter().map(move |&(j, share)| height_between(along(j), along(j + 1), share))
        });
        Self { points_x, points_z, heights: heights.collect(), ..self.clone() }
    }

    /// The field itself if it has at most this number of grid points each way, otherwise resampled to it: for display.
    #[must_use]
    pub fn at_most(&self, points: usize) -> Self {
        match (self.points_x.min(points), self.points_z.min(points)) {
            (x, z) if (x, z) == (self.points_x, self.points_z) => self.clone(),
            (x, z) => self.resampled(x, z),
        }
    }
}

/// Interpolates between two heights; an end with weight 0 need not have a height.
fn height_between(first: f64, next: f64, share: f64) -> f64 {
    if share == 0.0 {
        first
    } else if share == 1.0 {
        next
    } else {
        first + (next - first) * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(points_x: usize, points_z: usize, height: impl Fn(f64, f64) -> f64) -> Heightfield {
        let mut field = Heightfield {
            points_x,
            points_z,
            width: (points_x - 1) as f64,
            depth: 2.0 * (points_z - 1) as f64,
            heights: Arc::new([]),
            pose: Pose::IDENTITY,
            material: Material::default(),
        };
        let at = |index: usize| field.position(index / points_z, index % points_z);
        field.heights = (0..points_x * points_z).map(at).map(|(x, z)| height(x, z)).collect();
        field
    }

    #[test]
    fn n_points_have_n_minus_1_cells_between_them() {
        let field = field(4, 3, |x, z| x + z);
        assert_eq!(field.cells().count(), 3 * 2);
        assert_eq!((field.position(0, 0), field.position(3, 2)), ((-1.5, -2.0), (1.5, 2.0)));
        assert_eq!(field.position(1, 1), (-0.5, 0.0));
    }

    #[test]
    fn a_point_without_data_takes_the_surface_of_the_cells_around_it() {
        let mut field = field(4, 3, |x, _| x);
        let mut heights = field.heights.to_vec();
        heights[3 + 1] = f64::NAN;
        field.heights = heights.into();
        let cells: Vec<_> = field.cells().collect();
        assert_eq!(cells, [(2, 0), (2, 1)]);
        assert_eq!(field.bounds(), (-1.5, 1.5));
    }

    #[test]
    fn resampling_is_exact_for_what_is_bilinear_and_at_points_that_stay() {
        let source = field(5, 7, |x, z| 0.25 + x - 0.5 * z + 0.125 * x * z);
        let fine = source.resampled(17, 13);
        for (i, j) in (0..17).flat_map(|i| (0..13).map(move |j| (i, j))) {
            let (x, z) = fine.position(i, j);
            let expected = 0.25 + x - 0.5 * z + 0.125 * x * z;
            assert!((fine.height(i, j) - expected).abs() < 1e-13, "{i} {j}");
            if i % 4 == 0 && j % 2 == 0 {
                assert_eq!(fine.height(i, j), source.height(i / 4, j / 2));
            }
        }
        assert_eq!(source.resampled(5, 7), source);
        assert_eq!(fine.at_most(13).points_x, 13);
    }

    #[test]
    fn a_hole_stays_a_hole_when_resampled() {
        let source = field(5, 5, |x, z| if x == 0.0 && z == 0.0 { f64::NAN } else { 1.0 });
        let fine = source.resampled(9, 9);
        let holes = (0..81).filter(|index| fine.heights[*index].is_nan()).count();
        // All but the edges of the four cells around the point.
        assert_eq!(holes, 9);
        assert_eq!(fine.height(2, 4), 1.0);
    }
}
