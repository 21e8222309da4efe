//! Elevation models: heights over a grid, from the files of other programs.
//!
//! A file is input like any other: what it claims to hold is held against [`MAX_SAMPLES`] before any memory is taken,
//! and a message says what is wrong and where. Of its place on the earth only the distances between its samples are
//! kept.
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
mod grid;
mod hgt;
mod mujoco;
mod png;
mod survey;
mod text;
mod usgs;

use std::path::Path;

use bevy_math::DVec3;

use self::grid::{problem, without_byte_order_mark};
pub use self::{
    grid::{Dem, DemProblem},
    png::write_picture,
    survey::Survey,
};
pub use crate::limits::MAX_SAMPLES;
use crate::{
    limits::MAX_HEIGHTS_FILE,
    mesh::Mesh,
    text::{diagnostic::Diagnostic, file::read_bytes},
};

/// The endings of the names of files that can be read.
pub const ENDINGS: [&str; 8] = ["csv", "asc", "tif", "tiff", "png", "hgt", "dem", "wrl"];
/// Endings of the names of files that can be written.
pub const WRITTEN: [&str; 6] = ["csv", "asc", "tif", "png", "obj", "stl"];

impl Dem {
    /// Opens a file; the extension of its name determines its format.
    ///
    /// # Errors
    /// The fault and its position.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let path = path.to_string_lossy();
        let bytes = read_bytes(&path, MAX_HEIGHTS_FILE)?;
        Self::read(&path, &bytes).map_err(|problem| problem.in_file(&path, &bytes))
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// The fault and its position.
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

    /// Reads the contents of a file that a MuJoCo model names: one of the formats above by its extension, otherwise
    /// MuJoCo's own.
    ///
    /// # Errors
    /// The fault and its position.
    pub fn read_of_mujoco(path: &str, bytes: &[u8]) -> Result<Self, DemProblem> {
        if ENDINGS.contains(&ending(path).as_str()) { Self::read(path, bytes) } else { mujoco::read(bytes) }
    }

    /// Writes the contents of a file in the format of its extension. Missing samples are a value outside the range of
    /// heights in text, transparent in a PNG file, and holes in a mesh. A PNG file has the lowest height as 0 and the
    /// highest as 65,535; [`Dem::png_scale`] has the conversion.
    ///
    /// # Errors
    /// A sentence: the format is unknown, or needs a spacing that is unknown.
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

fn ending(path: &str) -> String {
    path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// The text of a file, behind the byte order mark that some editors put in front.
fn text_of(bytes: &[u8]) -> Result<&str, DemProblem> {
    let bytes = without_byte_order_mark(bytes);
    let refuse = |error: std::str::Utf8Error| {
        problem(error.valid_up_to(), format!("the file is not UTF-8 text from byte {} on", error.valid_up_to()))
    };
    std::str::from_utf8(bytes).map_err(refuse)
}
