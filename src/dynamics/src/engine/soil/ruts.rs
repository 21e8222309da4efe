//! Rut depths: how deep shapes have left the surface of soil, in a sparse grid of tiles.

use std::collections::BTreeSet;

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::{RUT_CELL as CELL, RUT_TILE as TILE, RutDepths, rut_cell};

use crate::{Rut, RutTile, state::ground_axes};

/// Rut depths of one ground, in the axes along it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Ruts {
    depths: RutDepths,
    /// True if the cells lie along the ground: it is a plane so steep that cells in x and z would be stretched to more
    /// than twice their length.
    steep: bool,
    /// Tiles that have become deeper since they were last taken; `None` while nobody takes them. Not part of the state.
    #[serde(skip)]
    changed: Option<BTreeSet<[i32; 2]>>,
}

impl Ruts {
    /// Ruts of a ground, which may be a steep plane.
    pub(super) fn new(steep: bool) -> Self {
        Self { steep, ..Self::default() }
    }

    /// Position of a point on the plane n x = `distance`: x and z in the world of the point where its normal crosses
    /// the surface. So a point of terrain is in one cell whichever normal a shape finds below it.
    pub(super) fn surface_position(&self, plane: (DVec3, f64), point: DVec3) -> [f64; 2] {
        cell_position(self.steep, plane, point)
    }

    /// Depth of the surface at a position, m.
    pub(super) fn depth_at(&self, place: [f64; 2]) -> f64 {
        self.depths.at(place)
    }

    /// Deepens the surface at a position to at least this depth, m.
    pub(super) fn deepen(&mut self, place: [f64; 2], depth: f64) {
        self.deepen_cells(std::iter::once(place), depth);
    }

    /// Deepens the surface below a row of points on a plane: the first point, and the vector to the next. Most of them
    /// are on one tile.
    pub(super) fn deepen_row(&mut self, plane: (DVec3, f64), depth: f64, [first, way]: [DVec3; 2], count: usize) {
        let [u, v] = self.surface_position(plane, first);
        let [u_next, v_next] = self.surface_position(plane, first + way);
        let (du, dv) = (u_next - u, v_next - v);
        self.deepen_cells((0..count).map(|k| [u + k as f64 * du, v + k as f64 * dv]), depth);
    }

    fn deepen_cells(&mut self, places: impl Iterator<Item = [f64; 2]>, depth: f64) {
        if !(depth > 0.0) {
            return;
        }
        let mut cells = places.filter_map(rut_cell).peekable();
        while let Some(&(tile, _)) = cells.peek() {
            let depths = self.depths.tile_mut(tile);
            let mut grows = false;
            while let Some((_, cell)) = cells.next_if(|&(other, _)| other == tile) {
                grows |= depths[cell] < depth;
                depths[cell] = depths[cell].max(depth);
            }
            if let Some(changed) = self.changed.as_mut().filter(|_| grows) {
                changed.insert(tile);
            }
        }
    }

    /// Depths of all tiles.
    pub(super) fn depths(&self) -> &RutDepths {
        &self.depths
    }

    /// True if changes are being tracked.
    pub(super) fn tracks_changes(&self) -> bool {
        self.changed.is_some()
    }

    /// Starts to track changes. All present tiles count as changed.
    pub(super) fn track_changes(&mut self) {
        self.changed = Some(self.depths.tiles().map(|(tile, _)| tile).collect());
    }

    /// Adds changed tiles up to the capacity of `into`. Returns true if more are left.
    pub(super) fn take_changed(&mut self, ground: usize, into: &mut Vec<RutTile>) -> bool {
        let Some(changed) = &mut self.changed else { return false };
        while into.len() < into.capacity() {
            let Some(tile) = changed.pop_first() else { return false };
            if let Some(depths) = self.depths.tile(tile) {
                into.push(RutTile { ground, tile, depths: std::array::from_fn(|cell| depths[cell] as f32) });
            }
        }
        !changed.is_empty()
    }

    /// Cells that were pressed, by tile and row by row within it.
    pub(super) fn pressed_cells(&self) -> impl Iterator<Item = Rut> {
        self.depths.tiles().flat_map(|(tile, depths)| {
            let pressed = depths.iter().enumerate().filter(|(_, depth)| **depth > 0.0);
            pressed.map(move |(cell, &depth)| {
                let middle = |tile: i32, cell: usize| (f64::from(tile) * TILE as f64 + cell as f64 + 0.5) * CELL;
                Rut { centre: [middle(tile[0], cell % TILE), middle(tile[1], cell / TILE)], depth }
            })
        })
    }

    /// False if the tiles have another size.
    pub(super) fn fits(&self) -> bool {
        self.depths.fits()
    }
}

fn cell_position(steep: bool, (normal, distance): (DVec3, f64), point: DVec3) -> [f64; 2] {
    if steep {
        return ground_axes(normal).map(|axis| axis.dot(point));
    }
    let at = point + normal * (distance - normal.dot(point));
    [at.x, at.z]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_cell_keeps_the_deepest_that_it_was_pressed() {
        let mut ruts = Ruts::default();
        for (place, depth) in [([-0.001, 5.0], 0.01), ([-0.009, 5.001], 0.02), ([-0.005, 5.002], 0.015)] {
            ruts.deepen(place, depth);
        }
        assert_eq!(ruts.depth_at([-0.0001, 5.0001]), 0.02);
        assert_eq!(ruts.depth_at([0.0001, 5.0001]), 0.0);
        assert_eq!(ruts.depth_at([-0.0101, 5.0001]), 0.0);
        ruts.deepen([1e300, 0.0], 1.0);
        ruts.deepen([f64::NAN, 0.0], 1.0);
        assert_eq!(ruts.depths.tiles().len(), 1);
    }

    #[test]
    fn a_place_is_that_of_the_surface_but_on_steep_ground() {
        assert_eq!(ground_axes(DVec3::Y), [DVec3::X, DVec3::Z]);
        let place = |plane: (DVec3, f64), point| Ruts::new(plane.0.y <= 0.5).surface_position(plane, point);
        assert_eq!(place((DVec3::Y, 1.0), DVec3::new(3.0, 0.5, 4.0)), [3.0, 4.0]);
        for normal in [DVec3::Y, DVec3::new(0.6, 0.8, 0.0), DVec3::new(0.8, 0.0, -0.6), DVec3::NEG_Z] {
            let point = DVec3::new(3.0, 0.0, 4.0);
            let surface = point - normal * normal.dot(point);
            let told = crate::rut_axes(normal).map(|axis| axis.dot(surface));
            let place = place((normal, 0.0), surface);
            assert!((0..2).all(|axis| (told[axis] - place[axis]).abs() < 1e-12), "{normal} {told:?} {place:?}");
        }
        let (normal, surface) = (DVec3::new(0.6, 0.8, 0.0), DVec3::new(2.0, -1.0, 5.0));
        let [x, z] = place((normal, normal.dot(surface)), surface - 0.3 * normal);
        assert!((x - 2.0).abs() < 1e-12 && z == 5.0, "{x} {z}");
        assert_eq!(place((DVec3::X, 0.0), surface), [1.0, 5.0]);
        // Terrain uses x and z however steep it is.
        let (normal, surface) = (DVec3::new(0.96, 0.28, 0.0), DVec3::new(2.0, -1.0, 5.0));
        let [x, z] = Ruts::new(false).surface_position((normal, normal.dot(surface)), surface - 0.3 * normal);
        assert!((x - 2.0).abs() < 1e-12 && z == 5.0, "{x} {z}");
    }

    #[test]
    fn a_cell_is_told_by_its_middle() {
        let mut ruts = Ruts::default();
        for k in -70..70 {
            let middle = |k: i32| (f64::from(k) + 0.5) * CELL;
            let (place, depth) = ([middle(k), middle(-3 * k)], 0.1 + 1e-3 * f64::from(k));
            ruts.deepen([place[0] + 0.004, place[1] - 0.004], depth);
            let told = ruts.pressed_cells().find(|rut| (rut.depth - depth).abs() < 1e-12).unwrap();
            assert!((0..2).all(|axis| (told.centre[axis] - place[axis]).abs() < 1e-12), "{told:?} {place:?}");
            assert_eq!(ruts.depth_at(told.centre), depth);
        }
        assert_eq!(ruts.pressed_cells().count(), 140);
    }

    #[test]
    fn what_has_changed_is_taken_once_and_never_lost() {
        let (mut ruts, mut pages) = (Ruts::default(), BTreeMap::new());
        let mut stream = simpartner_model::random::Stream::from_number(5);
        let mut number = |most: f64| most * stream.uniform();
        let mut pressed = |ruts: &mut Ruts| {
            for _ in 0..50 {
                ruts.deepen([number(4.0) - 2.0, number(4.0) - 2.0], number(0.05));
            }
        };
        pressed(&mut ruts);
        assert!(!ruts.tracks_changes() && !ruts.take_changed(0, &mut Vec::with_capacity(9)));
        ruts.track_changes();
        for round in 0..400 {
            if round < 200 {
                pressed(&mut ruts);
            }
            let mut taken = Vec::with_capacity(3);
            let more = ruts.take_changed(7, &mut taken);
            assert_eq!(more, taken.len() == 3 && !ruts.changed.as_ref().unwrap().is_empty());
            pages.extend(taken.into_iter().map(|RutTile { ground, tile, depths }| ((ground, tile), depths)));
        }
        assert!(pages.len() > 100 && pages.len() == ruts.depths.tiles().len(), "{}", pages.len());
        for (tile, depths) in ruts.depths.tiles() {
            let told = pages[&(7, tile)];
            assert!(depths.iter().zip(told).all(|(depth, told)| *depth as f32 == told), "{tile:?}");
        }
        // A cell that is pressed no deeper than before has not changed.
        let (tile, depths) = ruts.depths.tiles().next().unwrap();
        let deepest = depths.iter().position(|depth| *depth > 0.0).unwrap();
        let middle = |tile: i32, cell: usize| (f64::from(tile) * TILE as f64 + cell as f64 + 0.5) * CELL;
        let (place, depth) = ([middle(tile[0], deepest % TILE), middle(tile[1], deepest / TILE)], depths[deepest]);
        ruts.deepen(place, depth);
        assert_eq!(ruts.changed, Some(BTreeSet::new()));
        ruts.deepen(place, depth + 1e-9);
        assert_eq!(ruts.changed.as_ref().unwrap().len(), 1);
    }
}
