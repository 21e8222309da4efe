//! How deep soil was pressed, as rays and the soil itself look it up.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{RUT_CELL as CELL, RUT_TILE as TILE};

/// The depth of each cell of one ground that was pressed, along the ground's normal: a sparse grid of tiles. A copy
/// shares its tiles until one of the two is pressed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RutDepths {
    /// Of each tile that was touched, row by row, m.
    tiles: Arc<BTreeMap<[i32; 2], Arc<Vec<f64>>>>,
}

/// The tile of a place, and the cell in it; none beyond what a cell's number holds.
pub(crate) fn cell([u, v]: [f64; 2]) -> Option<([i32; 2], usize)> {
    let (u, v) = (u * (1.0 / CELL), v * (1.0 / CELL));
    if !(u.abs() < f64::from(i32::MAX) && v.abs() < f64::from(i32::MAX)) {
        return None;
    }
    // The largest whole number that is not above it.
    let number = |x: f64| x as i32 - i32::from(f64::from(x as i32) > x);
    Some(place_in_tile([number(u), number(v)]))
}

fn place_in_tile([u, v]: [i32; 2]) -> ([i32; 2], usize) {
    let side = TILE as i32;
    let place = v.rem_euclid(side) * side + u.rem_euclid(side);
    ([u.div_euclid(side), v.div_euclid(side)], place as usize)
}

impl RutDepths {
    /// Whether nothing was pressed.
    pub(crate) fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// The depth at a place, m.
    pub(crate) fn at(&self, place: [f64; 2]) -> f64 {
        cell(place).map_or(0.0, |cell| self.of_cell(cell))
    }

    /// The depth of the cell of these numbers, m.
    pub(crate) fn at_cell(&self, numbers: [i64; 2]) -> f64 {
        match numbers.map(i32::try_from) {
            [Ok(u), Ok(v)] => self.of_cell(place_in_tile([u, v])),
            _ => 0.0,
        }
    }

    fn of_cell(&self, (tile, cell): ([i32; 2], usize)) -> f64 {
        self.tiles.get(&tile).map_or(0.0, |depths| depths[cell])
    }

    /// The depths of a tile, to be changed; of a new one, if nothing on it was pressed.
    pub(crate) fn tile_mut(&mut self, tile: [i32; 2]) -> &mut [f64] {
        let tiles = Arc::make_mut(&mut self.tiles);
        let depths: &mut Vec<f64> =
            Arc::make_mut(tiles.entry(tile).or_insert_with(|| Arc::new(vec![0.0; TILE * TILE])));
        depths
    }

    /// The depths of a tile, row by row.
    pub(crate) fn tile(&self, tile: [i32; 2]) -> Option<&[f64]> {
        self.tiles.get(&tile).map(|depths| depths.as_slice())
    }

    /// All tiles, in the order of their numbers.
    pub(crate) fn tiles(&self) -> impl ExactSizeIterator<Item = ([i32; 2], &[f64])> {
        self.tiles.iter().map(|(&tile, depths)| (tile, depths.as_slice()))
    }

    /// False for tiles of another size.
    pub(crate) fn fits(&self) -> bool {
        self.tiles.values().all(|depths| depths.len() == TILE * TILE)
    }
}
