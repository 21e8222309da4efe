//! How deep the surface of soil was left where something has been: a sparse grid of tiles.

use std::collections::BTreeMap;

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};

/// Side of a cell, m: a tenth of a rover's wheel.
pub(super) const CELL: f64 = 0.01;
/// Cells along the side of a tile.
const TILE: usize = 32;

/// The depths of one ground, in the axes along it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Ruts {
    /// Of each tile that was touched, row by row, m.
    tiles: BTreeMap<[i32; 2], Vec<f64>>,
}

/// The tile of a place, and the cell in it; none beyond what a cell's number holds.
fn cell([u, v]: [f64; 2]) -> Option<([i32; 2], usize)> {
    let (u, v) = (u * (1.0 / CELL), v * (1.0 / CELL));
    if !(u.abs() < f64::from(i32::MAX) && v.abs() < f64::from(i32::MAX)) {
        return None;
    }
    // The largest whole number that is not above it.
    let number = |x: f64| x as i32 - i32::from(f64::from(x as i32) > x);
    let side = TILE as i32;
    let (u, v) = (number(u), number(v));
    let place = v.rem_euclid(side) * side + u.rem_euclid(side);
    Some(([u.div_euclid(side), v.div_euclid(side)], place as usize))
}

impl Ruts {
    /// How deep the surface was left at a place, m.
    pub(super) fn left(&self, place: [f64; 2]) -> f64 {
        cell(place).and_then(|(tile, cell)| Some(self.tiles.get(&tile)?[cell])).unwrap_or(0.0)
    }

    /// Leaves the surface at least so deep at a place.
    pub(super) fn press(&mut self, place: [f64; 2], depth: f64) {
        self.press_all(std::iter::once(place), depth);
    }

    /// The same at places next to each other, most of which are on one tile.
    pub(super) fn press_all(&mut self, places: impl Iterator<Item = [f64; 2]>, depth: f64) {
        if !(depth > 0.0) {
            return;
        }
        let mut cells = places.filter_map(cell).peekable();
        while let Some(&(tile, _)) = cells.peek() {
            let depths = self.tiles.entry(tile).or_insert_with(|| vec![0.0; TILE * TILE]);
            while let Some((_, cell)) = cells.next_if(|&(other, _)| other == tile) {
                depths[cell] = depths[cell].max(depth);
            }
        }
    }

    /// False for tiles of another size.
    pub(super) fn fits(&self) -> bool {
        self.tiles.values().all(|depths| depths.len() == TILE * TILE)
    }
}

/// The axes along a ground with this normal: x and z of the world where it is level.
pub(super) fn axes(normal: DVec3) -> [DVec3; 2] {
    let across = normal.cross(DVec3::Z);
    let first = if across.length_squared() > 1e-6 { across.normalize() } else { DVec3::X };
    [first, first.cross(normal)]
}

/// Where a point is along them.
pub(super) fn place([first, second]: [DVec3; 2], point: DVec3) -> [f64; 2] {
    [first.dot(point), second.dot(point)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_keeps_the_deepest_that_it_was_pressed() {
        let mut ruts = Ruts::default();
        for (place, depth) in [([-0.001, 5.0], 0.01), ([-0.009, 5.001], 0.02), ([-0.005, 5.002], 0.015)] {
            ruts.press(place, depth);
        }
        assert_eq!(ruts.left([-0.0001, 5.0001]), 0.02);
        assert_eq!(ruts.left([0.0001, 5.0001]), 0.0);
        assert_eq!(ruts.left([-0.0101, 5.0001]), 0.0);
        ruts.press([1e300, 0.0], 1.0);
        ruts.press([f64::NAN, 0.0], 1.0);
        assert_eq!(ruts.tiles.len(), 1);
    }

    #[test]
    fn the_axes_of_level_ground_are_those_of_the_world() {
        assert_eq!(axes(DVec3::Y), [DVec3::X, DVec3::Z]);
    }
}
