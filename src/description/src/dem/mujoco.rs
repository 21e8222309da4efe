//! MuJoCo's own files of heights, little-endian: rows and columns as 32-bit integers, then lines of 32-bit floats from
//! south to north.

use super::grid::{Dem, DemProblem, check_size, problem};

/// The heights, without a unit and without distances.
pub(super) fn read(bytes: &[u8]) -> Result<Dem, DemProblem> {
    let (head, rest) =
        bytes.split_first_chunk::<8>().ok_or_else(|| problem(0, "the file is too short for one of MuJoCo's"))?;
    let [rows, columns] = [0, 4].map(|at| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let [rows, columns] = [rows, columns].map(|side| usize::try_from(side).unwrap_or(0));
    check_size(columns, rows)?;
    if rest.len() != 4 * rows * columns {
        return Err(problem(
            0,
            format!("the file holds {} bytes for {rows} x {columns} heights of four each", rest.len()),
        ));
    }
    let numbers = rest.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let heights: Vec<f64> = numbers.map(f64::from).collect();
    if let Some(place) = heights.iter().position(|height| !height.is_finite()) {
        return Err(problem(0, format!("the height {} of the file is no finite number", place + 1)));
    }
    let from_north: Vec<f64> = heights.chunks(columns).rev().flatten().copied().collect();
    Ok(Dem::from_raster(columns, rows, None, &from_north))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_numbers() {
        let mut bytes: Vec<u8> = [2i32, 3].into_iter().flat_map(i32::to_le_bytes).collect();
        bytes.extend([0.5f32, -1.0, 2.0, 0.1, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes));
        let dem = read(&bytes).unwrap();
        assert_eq!((dem.points_x, dem.points_z, dem.spacing), (3, 2, None));
        let from_north = [f64::from(0.1f32), 3.0, 4.0, 0.5, -1.0, 2.0];
        assert_eq!(dem.raster().collect::<Vec<_>>(), from_north);
        assert!(read(&bytes[..bytes.len() - 1]).unwrap_err().what.contains("2 x 3 heights of four"));
        assert!(read(b"").is_err());
        bytes[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(read(&bytes).unwrap_err().what.contains("height 1 of the file"));
        bytes[..4].copy_from_slice(&i32::MAX.to_le_bytes());
        assert!(read(&bytes).unwrap_err().what.contains("samples"));
    }
}
