//! Figures of terrain: extent, heights and slopes.

use libm::{atan, hypot};
use serde::Serialize;

use super::grid::Dem;

/// Statistics of a grid of heights. Slopes are those of the surface's triangles, in degrees; they are `None` if the
/// spacing is unknown or no cell has a surface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Survey {
    /// Number of samples along x and along z.
    pub samples: [usize; 2],
    /// Distance of two samples along x and along z, metres.
    pub spacing_m: Option<[f64; 2]>,
    /// Extent along x and along z, from the first sample to the last, metres.
    pub extent_m: Option<[f64; 2]>,
    /// Lowest and highest height, metres.
    pub range_m: Option<[f64; 2]>,
    /// Mean height of the samples, metres.
    pub mean_m: Option<f64>,
    /// Number of samples without data.
    pub no_data: usize,
    /// Number of cells without a surface, because a corner is without data.
    pub holes: usize,
    /// Mean over the surface as seen from above, degrees.
    pub slope_mean_deg: Option<f64>,
    /// 95 in 100 triangles are at most as steep, degrees.
    pub slope_p95_deg: Option<f64>,
    /// The steepest triangle, degrees.
    pub slope_max_deg: Option<f64>,
}

impl Survey {
    /// Computes the statistics of all samples and triangles.
    pub fn of(dem: &Dem) -> Self {
        let cells = [dem.points_x - 1, dem.points_z - 1];
        let extent = |[dx, dz]: [f64; 2]| [dx * cells[0] as f64, dz * cells[1] as f64];
        let known = || dem.heights.iter().filter(|height| !height.is_nan());
        let count = known().count();
        let mut slopes = match dem.spacing {
            Some(spacing) => slopes(dem, spacing),
            None => Vec::new(),
        };
        let mean = slopes.iter().map(|&slope| f64::from(slope)).sum::<f64>() / slopes.len() as f64;
        let at_95 = (slopes.len() * 95).div_ceil(100).saturating_sub(1);
        let ranked = (!slopes.is_empty()).then(|| f64::from(*slopes.select_nth_unstable_by(at_95, f32::total_cmp).1));
        let surfaces = (0..cells[0]).map(|i| (0..cells[1]).filter(|&j| corners(dem, i, j).is_some()).count());
        Self {
            samples: [dem.points_x, dem.points_z],
            spacing_m: dem.spacing,
            extent_m: dem.spacing.map(extent),
            range_m: dem.range().map(<[f64; 2]>::from),
            mean_m: (count > 0).then(|| known().sum::<f64>() / count as f64),
            no_data: dem.heights.len() - count,
            holes: cells[0] * cells[1] - surfaces.sum::<usize>(),
            slope_mean_deg: ranked.map(|_| mean),
            slope_p95_deg: ranked,
            slope_max_deg: slopes.iter().copied().max_by(f32::total_cmp).map(f64::from),
        }
    }
}

/// The heights of a cell's corners, if it has a surface: those of the first x, then those of the next.
pub(super) fn corners(dem: &Dem, i: usize, j: usize) -> Option<[f64; 4]> {
    let heights = [dem.height(i, j), dem.height(i, j + 1), dem.height(i + 1, j), dem.height(i + 1, j + 1)];
    (!heights.iter().any(|height| height.is_nan())).then_some(heights)
}

/// The slope of each triangle, degrees.
fn slopes(dem: &Dem, [dx, dz]: [f64; 2]) -> Vec<f32> {
    let mut slopes = Vec::new();
    let slope = |along_x: f64, along_z: f64| atan(hypot(along_x / dx, along_z / dz)).to_degrees() as f32;
    for i in 0..dem.points_x - 1 {
        for [a, b, c, d] in (0..dem.points_z - 1).filter_map(|j| corners(dem, i, j)) {
            // Cut from b to c, as the engine has it.
            slopes.extend([slope(c - a, b - a), slope(d - b, d - c)]);
        }
    }
    slopes
}
