//! Heights as text: CSV and ESRI ASCII grids.

use std::fmt::Write;

use super::grid::{Dem, DemProblem, check_size, problem};
use crate::{
    limits::MAX_SAMPLES,
    text::numbers::{read_numbers, shorten},
};

/// Reads one line for each x, with the heights along z.
pub(super) fn read_csv(text: &str) -> Result<Dem, DemProblem> {
    let (mut lines, mut columns, mut heights) = (0, 0, Vec::new());
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let before = heights.len();
        add_numbers(offset, line, &mut heights)?;
        let count = heights.len() - before;
        if count > 0 {
            if lines > 0 && count != columns {
                return Err(problem(offset, format!("this row holds {count} heights, the first one {columns}")));
            }
            (lines, columns) = (lines + 1, count);
        }
        offset += line.len();
    }
    check_size(lines, columns)?;
    Ok(Dem { points_x: lines, points_z: columns, spacing: None, white: None, heights })
}

/// Header of an ASCII grid.
#[derive(Default)]
struct Header {
    columns: usize,
    rows: usize,
    cell: [Option<f64>; 2],
    nothing: Option<f64>,
}

/// An ESRI ASCII grid: a header of names and numbers, then lines from north (-z) to south, each from west to east (+x).
pub(super) fn read_ascii_grid(text: &str) -> Result<Dem, DemProblem> {
    let mut header = Header::default();
    let (mut offset, mut raster) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        // Of three words on, it is no header.
        let words: Vec<&str> = line.split_ascii_whitespace().take(3).collect();
        match words[..] {
            // The header ends at the first height.
            [name, value] if raster.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let mut numbers = Vec::new();
                add_numbers(offset + line.rfind(value).unwrap_or(0), value, &mut numbers)?;
                header.add(offset, name, numbers[0])?;
            }
            _ => add_numbers(offset, line, &mut raster)?,
        }
        offset += line.len();
    }
    let Header { columns, rows, cell, nothing } = header;
    if cell.contains(&None) || raster.len() != columns.saturating_mul(rows) {
        let message = format!(
            "an ASCII grid holds ncols times nrows heights and a cellsize above 0; this one has {columns} x {rows} and {} heights",
            raster.len()
        );
        return Err(problem(0, message));
    }
    check_size(columns, rows)?;
    raster.iter_mut().filter(|height| Some(**height) == nothing).for_each(|height| *height = f64::NAN);
    Ok(Dem::from_raster(columns, rows, cell[0].zip(cell[1]).map(<[f64; 2]>::from), &raster))
}

impl Header {
    fn add(&mut self, offset: usize, name: &str, number: f64) -> Result<(), DemProblem> {
        let cell = Some(number).filter(|cell| *cell > 0.0);
        match name.to_ascii_lowercase().as_str() {
            "ncols" => self.columns = number as usize,
            "nrows" => self.rows = number as usize,
            "cellsize" => self.cell = [cell; 2],
            // GDAL writes these for non-square cells.
            "dx" => self.cell[0] = cell,
            "dy" => self.cell[1] = cell,
            "nodata_value" => self.nothing = Some(number),
            "xllcorner" | "yllcorner" | "xllcenter" | "yllcenter" => {}
            _ => return Err(problem(offset, format!("'{}' is not part of an ASCII grid's header", shorten(name)))),
        }
        Ok(())
    }
}

/// Adds the numbers of a line, at most [`MAX_SAMPLES`] in all.
fn add_numbers(offset: usize, text: &str, numbers: &mut Vec<f64>) -> Result<(), DemProblem> {
    let read = read_numbers(text, MAX_SAMPLES - numbers.len());
    numbers.extend(read.map_err(|(at, what)| problem(offset + at, what))?);
    Ok(())
}

/// A whole number below all heights, for samples without data.
fn nothing(dem: &Dem) -> f64 {
    dem.range().map_or(-9999.0, |(low, _)| if low > -9999.0 { -9999.0 } else { (low - 1.0).floor() })
}

pub(super) fn write_csv(dem: &Dem) -> String {
    let nothing = nothing(dem);
    write_lines(dem.heights.chunks(dem.points_z).map(<[f64]>::iter).map(Iterator::copied), ",", nothing)
}

pub(super) fn write_ascii_grid(dem: &Dem, [dx, dz]: [f64; 2]) -> Result<String, String> {
    let nothing = nothing(dem);
    if (dx - dz).abs() > 1e-9 * dx {
        return Err(format!("an ASCII grid has square cells, these are {dx} m by {dz} m; resample it with --cell"));
    }
    let rows = (0..dem.points_z).map(|j| (0..dem.points_x).map(move |i| dem.height(i, j)));
    let header = format!(
        "ncols {}\nnrows {}\nxllcorner 0\nyllcorner 0\ncellsize {dx}\nNODATA_value {nothing}\n",
        dem.points_x, dem.points_z
    );
    Ok(header + &write_lines(rows, " ", nothing))
}

/// Writes numbers with the fewest digits that read back exactly.
fn write_lines<L: Iterator<Item = f64>>(lines: impl Iterator<Item = L>, separator: &str, nothing: f64) -> String {
    let mut text = String::new();
    for line in lines {
        for (place, height) in line.enumerate() {
            let separator = if place > 0 { separator } else { "" };
            // Writing into a string never fails.
            let _ = write!(text, "{separator}{}", if height.is_nan() { nothing } else { height });
        }
        text.push('\n');
    }
    text
}
