//! SRTM tiles: a degree each way, two bytes a sample, named by the corner in their south-west such as `N60E024.hgt`.

use super::{
    earth::metres_per_degree,
    grid::{Dem, DemProblem, problem},
};

/// Samples along longitude and latitude of the tiles there are: 3 and 1 arc seconds, and 2 by 1 in the far north.
const TILE_SIZES: [[usize; 2]; 3] = [[1201, 1201], [3601, 3601], [1801, 3601]];
/// The value of a sample without data.
const VOID_SAMPLE: i16 = i16::MIN;

/// Reads a tile. Its spacing is that in the middle of the tile, which follows from the position in the file's name; it
/// is unknown if the name has none.
pub(super) fn read(path: &str, bytes: &[u8]) -> Result<Dem, DemProblem> {
    let Some([columns, rows]) = TILE_SIZES.into_iter().find(|[columns, rows]| 2 * columns * rows == bytes.len()) else {
        let sizes = TILE_SIZES.map(|[columns, rows]| format!("{columns} x {rows}")).join(", ");
        return Err(problem(
            0,
            format!("an .hgt file holds {sizes} samples of 2 bytes; this one has {} bytes", bytes.len()),
        ));
    };
    let spacing = south(path).map(|south| {
        let [across, along] = metres_per_degree(south + 0.5);
        [across / (columns - 1) as f64, along / (rows - 1) as f64]
    });
    let sample = |pair: &[u8]| match i16::from_be_bytes([pair[0], pair[1]]) {
        VOID_SAMPLE => f64::NAN,
        height => f64::from(height),
    };
    let raster: Vec<f64> = bytes.chunks_exact(2).map(sample).collect();
    Ok(Dem::from_raster(columns, rows, spacing, &raster))
}

/// The latitude in a tile's name, degrees.
fn south(path: &str) -> Option<f64> {
    let name = path.rsplit(['/', '\\']).next()?;
    let degrees: f64 = name.get(1..3)?.parse().ok()?;
    match name.chars().next()? {
        'N' | 'n' => Some(degrees),
        'S' | 's' => Some(-degrees),
        _ => None,
    }
}
