//! Heights over a grid, and problems of the files that they are read from.

use simpartner_model::{Heightfield, Material, Pose};

use crate::{limits::MAX_SAMPLES, text::diagnostic::Diagnostic};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Heights over a grid. n samples have n - 1 cells between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Dem {
    /// Number of samples along x (east in a map).
    pub points_x: usize,
    /// Number of samples along z (south in a map).
    pub points_z: usize,
    /// Spacing of the samples along x and along z, metres; `None` if the file has none.
    pub spacing: Option<[f64; 2]>,
    /// The number of white in a PNG file, whose black is 0: 255 or 65535. `None` in any other file.
    pub white: Option<f64>,
    /// Heights in metres, or for a PNG file in grey levels; the index of sample i along x and j along z is `i *
    /// points_z + j`. NaN without data.
    pub heights: Vec<f64>,
}

/// A problem of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemProblem {
    /// Position in a text file, bytes; 0 in any other file.
    pub offset: usize,
    /// The problem, as a sentence.
    pub what: String,
}

impl Dem {
    /// Metres for each count of a PNG file, and the height of 0.
    pub fn png_scale(&self) -> [f64; 2] {
        let (low, high) = self.range().unwrap_or((0.0, 0.0));
        let scale = (high - low) / f64::from(u16::MAX);
        [if scale > 0.0 { scale } else { 1.0 }, low]
    }

    /// The lowest and the highest of the heights, if there is any.
    pub fn range(&self) -> Option<(f64, f64)> {
        let fold = |(low, high): (f64, f64), &height: &f64| (low.min(height), high.max(height));
        let (low, high) = self.heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold);
        (low <= high).then_some((low, high))
    }

    /// The height of sample i along x and j along z; NaN without data.
    pub fn height(&self, i: usize, j: usize) -> f64 {
        self.heights[i * self.points_z + j]
    }

    /// Only the samples from the first to the last of these, along x and along z; both count.
    #[must_use]
    pub fn cropped(self, [first_x, last_x]: [usize; 2], [first_z, last_z]: [usize; 2]) -> Self {
        if (first_x, last_x, first_z, last_z) == (0, self.points_x - 1, 0, self.points_z - 1) {
            return self;
        }
        let line = |i: usize| &self.heights[i * self.points_z + first_z..=i * self.points_z + last_z];
        let heights = (first_x..=last_x).flat_map(line).copied().collect();
        Self { points_x: last_x - first_x + 1, points_z: last_z - first_z + 1, heights, ..self }
    }

    /// Resamples to cells of about this size in metres, a whole number of them along each side, at least one; bilinear,
    /// as [`Heightfield::resampled`].
    ///
    /// # Errors
    /// A sentence: the spacing is unknown, or there would be too many samples.
    pub fn resampled(&self, cell: f64) -> Result<Self, String> {
        let spacing = self.spacing.ok_or("the file does not say how far its samples are apart; say it")?;
        let extents = [spacing[0] * (self.points_x - 1) as f64, spacing[1] * (self.points_z - 1) as f64];
        let points = extents.map(|extent| (extent / cell).round().max(1.0) + 1.0);
        if points[0] * points[1] > MAX_SAMPLES as f64 {
            return Err(format!(
                "cells of {cell} m make {} x {} samples, at most {MAX_SAMPLES} are made",
                points[0], points[1]
            ));
        }
        Ok(self.resampled_to(points.map(|points| points as usize)))
    }

    /// The same extent with this number of samples along x and z, at least 2.
    #[must_use]
    pub fn resampled_to(&self, [points_x, points_z]: [usize; 2]) -> Self {
        if (points_x, points_z) == (self.points_x, self.points_z) {
            return self.clone();
        }
        let [dx, dz] = self.spacing.unwrap_or([1.0; 2]);
        let (width, depth) = (dx * (self.points_x - 1) as f64, dz * (self.points_z - 1) as f64);
        let field = Heightfield {
            points_x: self.points_x,
            points_z: self.points_z,
            width,
            depth,
            heights: self.heights.as_slice().into(),
            pose: Pose::IDENTITY,
            material: Material::default(),
        };
        let heights = field.resampled(points_x, points_z).heights.to_vec();
        let spacing = self.spacing.map(|_| [width / (points_x - 1) as f64, depth / (points_z - 1) as f64]);
        Self { points_x, points_z, spacing, white: None, heights }
    }

    /// Marks samples of this value as missing.
    pub fn without(&mut self, value: f64) {
        self.heights.iter_mut().filter(|height| **height == value).for_each(|height| *height = f64::NAN);
    }

    /// Sets missing samples to this height, and returns their number.
    pub fn fill(&mut self, height: f64) -> usize {
        let missing = self.heights.iter_mut().filter(|height| height.is_nan());
        missing.map(|missing| *missing = height).count()
    }

    /// A grid from lines in map order: from north to south, each from west to east.
    pub(super) fn from_raster(columns: usize, rows: usize, spacing: Option<[f64; 2]>, raster: &[f64]) -> Self {
        let heights = (0..columns).flat_map(|i| (0..rows).map(move |j| raster[j * columns + i])).collect();
        Self { points_x: columns, points_z: rows, spacing, white: None, heights }
    }

    /// The heights in lines from north to south, each from west to east.
    pub fn raster(&self) -> impl Iterator<Item = f64> {
        (0..self.points_z).flat_map(move |j| (0..self.points_x).map(move |i| self.height(i, j)))
    }

    /// The same in lines from south to north.
    pub fn raster_from_south(&self) -> impl Iterator<Item = f64> {
        (0..self.points_z).rev().flat_map(move |j| (0..self.points_x).map(move |i| self.height(i, j)))
    }
}

impl DemProblem {
    /// Converts it to a problem of the file of this path, with these bytes.
    pub fn in_file(self, path: &str, bytes: &[u8]) -> Diagnostic {
        let bytes = without_byte_order_mark(bytes);
        Diagnostic::at(path, std::str::from_utf8(bytes).unwrap_or_default(), self.offset, self.what)
    }
}

pub(super) fn problem(offset: usize, what: impl Into<String>) -> DemProblem {
    DemProblem { offset, what: what.into() }
}

/// The bytes behind the byte order mark that some editors put in front of a text.
pub(super) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Refuses a grid that is too small to have a cell, or larger than [`MAX_SAMPLES`].
pub(super) fn check_size(columns: usize, rows: usize) -> Result<usize, DemProblem> {
    match columns.checked_mul(rows) {
        Some(samples) if columns >= 2 && rows >= 2 && samples <= MAX_SAMPLES => Ok(samples),
        _ => Err(problem(
            0,
            format!(
                "a grid has at least 2 x 2 and at most {MAX_SAMPLES} samples, this one {columns} x {rows}; cut it first"
            ),
        )),
    }
}
