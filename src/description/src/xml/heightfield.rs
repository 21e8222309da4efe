//! Terrain from a matrix of heights, in the world file or in a data file beside it.

use simpartner_model::Heightfield;

use super::{
    body::read_material,
    limits::{MAX_GRID_SIDE, MAX_HEIGHTS_FILE},
    reading::{Reading, read_numbers, shorten},
    tree::Node,
};
use crate::SourceFile;

/// The most grid points a terrain may have.
const MAX_POINTS: usize = MAX_GRID_SIDE * MAX_GRID_SIDE;
/// The lowest and the highest terrain, metres; lengths of shapes end there too.
const MAX_HEIGHT: f64 = 1e6;

/// A matrix of heights: `values[i * columns + j]`, i along x and j along z.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    /// Distance of two grid points where the data say it, metres.
    cell: Option<f64>,
}

/// Reads a `<heightfield>`; a data file it names is added to `sources`.
pub(super) fn read(reading: &Reading, node: &Node, sources: &mut Vec<SourceFile>) -> Option<Heightfield> {
    let matrix = match reading.text(node, "file") {
        Some(file) => from_file(reading, node, file, sources)?,
        None => match (reading.whole(node, "rows"), reading.whole(node, "columns")) {
            (Some(rows), Some(columns)) => of_size(reading, node, rows as usize, columns as usize)?,
            _ => from_lines(reading, node.text_offset, node.text.trim())?,
        },
    };
    for (name, found) in [("rows", matrix.rows), ("columns", matrix.columns)] {
        if let Some(said) = reading.whole(node, name).filter(|&said| said != found as i64) {
            reading.problem(reading.place(node, name), format!("{name} is {said}, but the data hold {found}"));
            return None;
        }
    }
    let extent = |name: &str, points: usize| {
        let given = reading.real(node, name);
        let extent = given.or_else(|| matrix.cell.map(|cell| cell * (points - 1) as f64));
        if extent.is_none() && !node.attributes.iter().any(|attribute| attribute.name == name) {
            reading.problem(node.offset, format!("<heightfield> lacks the attribute '{name}'"));
        }
        extent
    };
    let (width, depth) = (extent("width", matrix.rows), extent("depth", matrix.columns));
    let (scale, offset) = (reading.real(node, "scale")?, reading.real(node, "offset")?);
    let heights: Vec<f64> = matrix.values.iter().map(|height| height * scale + offset).collect();
    // What is not a number is not within bounds either.
    if let Some(wrong) = heights.iter().position(|height| !(-MAX_HEIGHT..=MAX_HEIGHT).contains(height)) {
        let (row, column) = (wrong / matrix.columns + 1, wrong % matrix.columns + 1);
        let message = format!(
            "the height at row {row}, column {column} is {:e} x {scale:e} + {offset:e} m; heights are from {:e} to {MAX_HEIGHT:e} m",
            matrix.values[wrong], -MAX_HEIGHT
        );
        reading.problem(node.offset, message);
        return None;
    }
    Some(Heightfield {
        points_x: matrix.rows,
        points_z: matrix.columns,
        width: width?,
        depth: depth?,
        heights,
        material: read_material(reading, node)?,
    })
}

fn from_file(reading: &Reading, node: &Node, file: &str, sources: &mut Vec<SourceFile>) -> Option<Matrix> {
    let place = reading.place(node, "file");
    if !node.text.trim().is_empty() {
        reading.problem(node.text_offset, "the heights stand both here and in a file; leave one out");
        return None;
    }
    let path = reading.files.beside(reading.path, file, "worlds");
    let text = match reading.files.read(&path, MAX_HEIGHTS_FILE) {
        Ok(text) => text,
        Err(problem) => {
            reading.problem(place, format!("the data file cannot be used: {}", problem.message));
            return None;
        }
    };
    let data = reading.in_file(&path, &text);
    let matrix = match path.rsplit('.').next() {
        Some("csv") => from_lines(&data, 0, &text),
        Some("asc") => from_ascii_grid(&data, &text),
        _ => {
            reading.problem_with_help(
                place,
                format!("'{file}' is no known kind of data file"),
                "it takes .csv and .asc",
            );
            None
        }
    };
    sources.push(SourceFile { path, text });
    matrix
}

/// So many rows and columns, broken into lines as one likes.
fn of_size(reading: &Reading, node: &Node, rows: usize, columns: usize) -> Option<Matrix> {
    let values = reading.numbers(node)?;
    if values.len() != rows * columns {
        let message =
            format!("{rows} rows and {columns} columns make {} heights, got {}", rows * columns, values.len());
        reading.problem(node.offset, message);
        return None;
    }
    grid(reading, node.offset, Matrix { rows, columns, values, cell: None })
}

/// One row a line.
fn from_lines(reading: &Reading, start: usize, text: &str) -> Option<Matrix> {
    let (mut rows, mut columns, mut values) = (0, 0, Vec::new());
    let mut offset = start;
    for line in text.split_inclusive('\n') {
        let row = numbers(reading, offset, line, MAX_POINTS - values.len())?;
        if !row.is_empty() {
            if rows > 0 && row.len() != columns {
                reading.problem(offset, format!("this row holds {} heights, the first one {columns}", row.len()));
                return None;
            }
            (rows, columns) = (rows + 1, row.len());
            values.extend(row);
        }
        offset += line.len();
    }
    grid(reading, start, Matrix { rows, columns, values, cell: None })
}

/// An ESRI ASCII grid: a header of names and numbers, then rows from north (-z) to south along columns from west to east (+x).
fn from_ascii_grid(reading: &Reading, text: &str) -> Option<Matrix> {
    let (mut size, mut cell, mut nothing) = ([0usize; 2], None, None);
    let (mut offset, mut values) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let before = values.len();
        // Of three words on, it is no header.
        let words: Vec<&str> = line.split_ascii_whitespace().take(3).collect();
        match words[..] {
            // The header ends where the heights begin.
            [name, value] if values.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let place = offset + line.rfind(value).unwrap_or(0);
                let number = *numbers(reading, place, value, 1)?.first()?;
                match name.to_ascii_lowercase().as_str() {
                    "ncols" => size[0] = number as usize,
                    "nrows" => size[1] = number as usize,
                    "cellsize" => cell = Some(number).filter(|cell| *cell > 0.0),
                    "nodata_value" => nothing = Some(number),
                    "xllcorner" | "yllcorner" | "xllcenter" | "yllcenter" => {}
                    _ => {
                        reading.problem(offset, format!("'{}' is not part of an ASCII grid's header", shorten(name)));
                        return None;
                    }
                }
            }
            _ => values.extend(numbers(reading, offset, line, MAX_POINTS - values.len())?),
        }
        if let Some(gap) = values[before..].iter().position(|value| Some(*value) == nothing) {
            let gap = before + gap;
            let (row, column) = (gap / size[0].max(1) + 1, gap % size[0].max(1) + 1);
            reading.problem(offset, format!("row {row}, column {column} has no height (NODATA); fill the gap first"));
            return None;
        }
        offset += line.len();
    }
    let [columns, rows] = size;
    if cell.is_none() || values.len() != columns.saturating_mul(rows) {
        let message = format!(
            "an ASCII grid holds ncols times nrows heights and a cellsize above 0; this one has {columns} x {rows} and {} heights",
            values.len()
        );
        reading.problem(0, message);
        return None;
    }
    let turned = (0..columns).flat_map(|x| values.iter().skip(x).step_by(columns.max(1)).copied()).collect();
    grid(reading, 0, Matrix { rows: columns, columns: rows, values: turned, cell })
}

fn numbers(reading: &Reading, offset: usize, text: &str, most: usize) -> Option<Vec<f64>> {
    read_numbers(text, most).map_err(|(at, problem)| reading.problem(offset + at, problem)).ok()
}

fn grid(reading: &Reading, offset: usize, matrix: Matrix) -> Option<Matrix> {
    let points = matrix.rows.saturating_mul(matrix.columns);
    if matrix.rows < 2 || matrix.columns < 2 || points > MAX_POINTS {
        let message =
            format!("a terrain has from 2 x 2 to 4096 x 4096 heights, this one {} x {}", matrix.rows, matrix.columns);
        reading.problem(offset, message);
        return None;
    }
    Some(matrix)
}
