//! Elevation models: heights over a grid, from the files of other programs.
//!
//! A file is input like any other: what it claims to hold is held against [`MAX_SAMPLES`] before any memory is taken, and a message
//! says what is wrong and where. Of its place on the earth only the distances between its samples are kept.
//!
//! | format | module | read by | written |
//! |---|---|---|---|
//! | CSV, each line along z | `text` | us | yes |
//! | ESRI ASCII grid (`.asc`) | `text` | us | yes |
//! | GeoTIFF (`.tif`, `.tiff`): one band of integers or floats | `geotiff` | the crate tiff | yes |
//! | PNG, grey, 8 or 16 bits | `png` | the crate png | yes |
//! | SRTM (`.hgt`) | `hgt` | us | |
//! | USGS DEM (`.dem`), classic records | `usgs` | us | |
//! | VRML97 ElevationGrid (`.wrl`) | `elevation_grid` | us | |
//! | MuJoCo's own, in models of it | `mujoco` | us | |

mod earth;
mod elevation_grid;
mod geotiff;
mod hgt;
mod mujoco;
mod png;
mod survey;
mod text;
mod usgs;

use std::path::Path;

pub use self::{png::write_picture, survey::Survey};
use crate::{
    mesh::Mesh,
    xml::{Diagnostic, read_bytes},
};
use bevy_math::DVec3;
use simpartner_model::{Heightfield, Material, Pose};

/// Samples of one file at most: 256 MB as numbers.
pub const MAX_SAMPLES: usize = 1 << 25;
/// The largest file, bytes: 24 for each grid point of the largest terrain.
pub const MAX_FILE: usize = 4096 * 4096 * 24;

/// The endings of the names of files that can be read.
pub const ENDINGS: [&str; 8] = ["csv", "asc", "tif", "tiff", "png", "hgt", "dem", "wrl"];
/// Those that can be written.
pub const WRITTEN: [&str; 6] = ["csv", "asc", "tif", "png", "obj", "stl"];

/// Heights over a grid. n samples have n - 1 cells between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Dem {
    /// Number of samples along x (east in a map).
    pub points_x: usize,
    /// Number of samples along z (south in a map).
    pub points_z: usize,
    /// Distance of two samples along x and along z, metres, where the file says it.
    pub spacing: Option<[f64; 2]>,
    /// The number of white in a PNG file, whose black is 0: 255 or 65535. `None` in any other file.
    pub white: Option<f64>,
    /// Metres, but for a PNG file, whose numbers mean what one says; index i of x and j of z stands at `i * points_z + j`. NaN where
    /// there is no data.
    pub heights: Vec<f64>,
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemProblem {
    /// Where in a text file, bytes; 0 in any other.
    pub offset: usize,
    /// What, in a sentence.
    pub what: String,
}

impl Dem {
    /// Opens a file; the ending of its name says of which kind it is.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let path = path.to_string_lossy();
        let bytes = read_bytes(&path, MAX_FILE)?;
        Self::read(&path, &bytes).map_err(|problem| problem.in_file(&path, &bytes))
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, DemProblem> {
        match ending(path).as_str() {
            "csv" => text::read_csv(text_of(bytes)?),
            "asc" => text::read_ascii_grid(text_of(bytes)?),
            "tif" | "tiff" => geotiff::read(bytes),
            "png" => png::read(bytes),
            "hgt" => hgt::read(path, bytes),
            "dem" => usgs::read(bytes),
            "wrl" => elevation_grid::read(text_of(bytes)?),
            _ => Err(problem(0, format!("'{path}' is no known kind of data file; it takes .{}", ENDINGS.join(", .")))),
        }
    }

    /// Reads the contents of a file that a model of MuJoCo names: one of the kinds above by its ending, or else one of MuJoCo's own.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read_of_mujoco(path: &str, bytes: &[u8]) -> Result<Self, DemProblem> {
        if ENDINGS.contains(&ending(path).as_str()) { Self::read(path, bytes) } else { mujoco::read(bytes) }
    }

    /// The contents of a file of the kind that the ending of its name says. Samples without data are a value beside the heights in
    /// text, transparent in a PNG file, and missing in a mesh. A PNG file has the lowest height as 0 and the highest as 65,535;
    /// [`Dem::png_scale`] says what they mean.
    ///
    /// # Errors
    /// A sentence: the kind is not known, or wants to know distances that this one has not.
    pub fn write(&self, path: &str) -> Result<Vec<u8>, String> {
        let spacing = || self.spacing.ok_or("the file does not say how far its samples are apart; say it".to_owned());
        match ending(path).as_str() {
            "csv" => Ok(text::write_csv(self).into_bytes()),
            "asc" => text::write_ascii_grid(self, spacing()?).map(String::into_bytes),
            "tif" | "tiff" => geotiff::write(self),
            "png" => png::write(self, self.png_scale()),
            "obj" => Ok(self.surface(spacing()?)?.to_obj().into_bytes()),
            "stl" => Ok(self.surface(spacing()?)?.to_stl()),
            _ => Err(format!("'{path}' is no kind of file that can be written; it takes .{}", WRITTEN.join(", ."))),
        }
    }

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

    /// The height of sample i along x and j along z; NaN where there is none.
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

    /// The same extent in cells of about this many metres, a whole number of them along each side, at least one: bilinear, as
    /// [`Heightfield::resampled`] says.
    ///
    /// # Errors
    /// A sentence: distances are not known, or there would be too many samples.
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

    /// The same extent with so many samples along x and z, at least 2.
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

    /// Takes samples of this value for ones without data.
    pub fn without(&mut self, value: f64) {
        self.heights.iter_mut().filter(|height| **height == value).for_each(|height| *height = f64::NAN);
    }

    /// Gives samples without data this height, and tells how many there were.
    pub fn fill(&mut self, height: f64) -> usize {
        let missing = self.heights.iter_mut().filter(|height| height.is_nan());
        missing.map(|missing| *missing = height).count()
    }

    /// Of lines from north to south, each from west to east, as maps have them.
    fn from_raster(columns: usize, rows: usize, spacing: Option<[f64; 2]>, raster: &[f64]) -> Self {
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

    /// The surface about the middle of the grid, in triangles as the engine has them.
    fn surface(&self, spacing: [f64; 2]) -> Result<Mesh, String> {
        let along = |index: usize, points: usize, cell: f64| (index as f64 - (points - 1) as f64 / 2.0) * cell;
        let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
        // The number of each sample among the points, once a triangle has it.
        let mut number = vec![u32::MAX; self.heights.len()];
        for (i, j) in (0..self.points_x - 1).flat_map(|i| (0..self.points_z - 1).map(move |j| (i, j))) {
            if survey::corners(self, i, j).is_none() {
                continue;
            }
            let [a, b, c, d] = [(i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)].map(|(i, j)| {
                let known = &mut number[i * self.points_z + j];
                if *known == u32::MAX {
                    *known = vertices.len() as u32;
                    let (x, z) = (along(i, self.points_x, spacing[0]), along(j, self.points_z, spacing[1]));
                    vertices.push(DVec3::new(x, self.height(i, j), z));
                }
                *known
            });
            triangles.extend([[a, b, c], [b, d, c]]);
        }
        if triangles.is_empty() {
            return Err("no cell has heights at all of its corners, so there is no surface".into());
        }
        Ok(Mesh::new(vertices, triangles))
    }
}

impl DemProblem {
    /// As a problem of the file of this path, which holds these bytes.
    pub fn in_file(self, path: &str, bytes: &[u8]) -> Diagnostic {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        Diagnostic::at(path, std::str::from_utf8(bytes).unwrap_or_default(), self.offset, self.what)
    }
}

fn ending(path: &str) -> String {
    path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

fn problem(offset: usize, what: impl Into<String>) -> DemProblem {
    DemProblem { offset, what: what.into() }
}

/// The text of a file, behind the byte order mark that some editors put in front.
fn text_of(bytes: &[u8]) -> Result<&str, DemProblem> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let refuse = |error: std::str::Utf8Error| {
        problem(error.valid_up_to(), format!("the file is not UTF-8 text from byte {} on", error.valid_up_to()))
    };
    std::str::from_utf8(bytes).map_err(refuse)
}

/// Refuses a grid that is too small to have a cell, or larger than [`MAX_SAMPLES`].
fn check_size(columns: usize, rows: usize) -> Result<usize, DemProblem> {
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
