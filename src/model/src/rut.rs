//! Depths of pressed soil, for the soil model, rays and images.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

/// Side of a soil cell, m: a tenth of the size of a rover's wheel.
pub const RUT_CELL: f64 = 0.01;

/// Number of cells along the side of a rut tile.
pub const RUT_TILE: usize = 32;

/// The depth of each pressed cell of one ground, along the ground's normal: a sparse grid of tiles. Copies share tiles
/// until one of them changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RutDepths {
    /// The depths of each touched tile, row by row, m. Key: index of the tile along both axes.
    tiles: Arc<BTreeMap<[i32; 2], Arc<Vec<f64>>>>,
}

/// The tile of a position, m, and the index of the cell in the tile. `None` if cell numbers would overflow.
#[inline]
pub fn rut_cell([u, v]: [f64; 2]) -> Option<([i32; 2], usize)> {
    let (u, v) = (u * (1.0 / RUT_CELL), v * (1.0 / RUT_CELL));
    if !(u.abs() < f64::from(i32::MAX) && v.abs() < f64::from(i32::MAX)) {
        return None;
    }
    // Rounded down.
    let number = |x: f64| x as i32 - i32::from(f64::from(x as i32) > x);
    Some(tile_and_index([number(u), number(v)]))
}

#[inline]
fn tile_and_index([u, v]: [i32; 2]) -> ([i32; 2], usize) {
    let side = RUT_TILE as i32;
    let place = v.rem_euclid(side) * side + u.rem_euclid(side);
    ([u.div_euclid(side), v.div_euclid(side)], place as usize)
}

impl RutDepths {
    /// True if no cell is pressed.
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// The depth at a position, m.
    #[inline]
    pub fn at(&self, place: [f64; 2]) -> f64 {
        rut_cell(place).map_or(0.0, |cell| self.cell_depth(cell))
    }

    /// The depth of the cell with these numbers along both axes, m.
    #[inline]
    pub fn at_cell(&self, numbers: [i64; 2]) -> f64 {
        match numbers.map(i32::try_from) {
            [Ok(u), Ok(v)] => self.cell_depth(tile_and_index([u, v])),
            _ => 0.0,
        }
    }

    #[inline]
    fn cell_depth(&self, (tile, cell): ([i32; 2], usize)) -> f64 {
        self.tiles.get(&tile).map_or(0.0, |depths| depths[cell])
    }

    /// Mutable depths of a tile, which is created if absent.
    pub fn tile_mut(&mut self, tile: [i32; 2]) -> &mut [f64] {
        let tiles = Arc::make_mut(&mut self.tiles);
        let depths: &mut Vec<f64> =
            Arc::make_mut(tiles.entry(tile).or_insert_with(|| Arc::new(vec![0.0; RUT_TILE * RUT_TILE])));
        depths
    }

    /// The depths of a tile, row by row, m.
    pub fn tile(&self, tile: [i32; 2]) -> Option<&[f64]> {
        self.tiles.get(&tile).map(|depths| depths.as_slice())
    }

    /// True if both have the same tile, without looking at its depths: it has not changed since one was a copy of the
    /// other.
    pub fn shares_tile(&self, other: &Self, tile: [i32; 2]) -> bool {
        match (self.tiles.get(&tile), other.tiles.get(&tile)) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        }
    }

    /// All tiles, in the order of their indices.
    pub fn tiles(&self) -> impl ExactSizeIterator<Item = ([i32; 2], &[f64])> {
        self.tiles.iter().map(|(&tile, depths)| (tile, depths.as_slice()))
    }

    /// True if all tiles have the right size; false for foreign data.
    pub fn fits(&self) -> bool {
        self.tiles.values().all(|depths| depths.len() == RUT_TILE * RUT_TILE)
    }
}
