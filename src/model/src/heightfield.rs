//! Terrain: heights over a grid, centred on the origin (thesis equations 7 to 9).

use super::Material;

/// A grid of heights. Between the grid points the surface is made of triangles.
#[derive(Debug, Clone, PartialEq)]
pub struct Heightfield {
    /// Number of grid points along x, at least 2.
    pub points_x: usize,
    /// Number of grid points along z, at least 2.
    pub points_z: usize,
    /// Extent along x, metres: from -width/2 to width/2.
    pub width: f64,
    /// Extent along z, metres.
    pub depth: f64,
    /// Heights in metres, scale and offset applied; index i of x and j of z stands at `i * points_z + j`.
    pub heights: Vec<f64>,
    /// What the ground is made of.
    pub material: Material,
}

impl Heightfield {
    /// The height of grid point i along x and j along z, metres.
    pub fn height(&self, i: usize, j: usize) -> f64 {
        self.heights[i * self.points_z + j]
    }

    /// World x and z of grid point i, j (equation 9), metres.
    pub fn position(&self, i: usize, j: usize) -> (f64, f64) {
        let along = |index: usize, points: usize, extent: f64| (index as f64 / (points - 1) as f64 - 0.5) * extent;
        (along(i, self.points_x, self.width), along(j, self.points_z, self.depth))
    }

    /// Lowest and highest point, metres.
    pub fn bounds(&self) -> (f64, f64) {
        self.heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &y| (low.min(y), high.max(y)))
    }
}
