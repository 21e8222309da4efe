//! Ruts in grounds: tiles of fine cells, each a small terrain in place of that part of the ground.
//!
//! A tile's surface lies below that of its ground by the depths of its cells, and meets it at the border of all tiles.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bevy_math::{DVec2, DVec3};
use simpartner_model::{Heightfield, Material, Pose, RUT_CELL, RUT_TILE, RutDepths};

use crate::{
    shape::{Finish, Form, Owner, SceneShape},
    terrain::Terrain,
};

/// Side of a tile, m.
const TILE_SIZE: f64 = RUT_TILE as f64 * RUT_CELL;

/// Width of the border of a tile, m: above the rounding of a place at a distance of 100 km.
const TILE_BORDER: f64 = 1e-9;

/// Largest depth that is shown, m.
const MAX_DEPTH: f64 = 10.0;

/// The original surface of a ground: its height over x and z of the world.
#[derive(Debug, Clone)]
pub(crate) enum Base {
    Plane { normal: DVec3, distance: f64 },
    Terrain { terrain: Arc<Terrain>, own_from_world: Pose },
}

/// The ruts of a ground.
#[derive(Debug, Clone)]
pub(crate) struct GroundRuts {
    base: Base,
    owner: Owner,
    finish: Finish,
    depths: RutDepths,
    /// The surface of each tile; `None` where the ground has only holes.
    tiles: BTreeMap<[i32; 2], Option<SceneShape>>,
}

impl Base {
    /// `None` for a ground without ruts in pictures: steeper than 60 degrees, or terrain that is not upright.
    pub(crate) fn of_terrain(terrain: &Arc<Terrain>, pose: &Pose) -> Option<Self> {
        // An upright pose up to the rounding of a rotation.
        let is_upright = (pose.direction(DVec3::Y) - DVec3::Y).abs().max_element() < 1e-9;
        is_upright.then(|| Self::Terrain { terrain: Arc::clone(terrain), own_from_world: pose.inverse() })
    }

    /// The same of a plane. Cells of steeper ones are not numbered along x and z.
    pub(crate) fn of_plane(normal: DVec3, distance: f64) -> Option<Self> {
        (normal.y > 0.5).then_some(Self::Plane { normal, distance })
    }

    /// Height at a place of the world, m; NaN in a hole and beside the ground.
    fn height_at(&self, at: DVec2) -> f64 {
        match self {
            Self::Plane { normal, distance } => (distance - normal.x * at.x - normal.z * at.y) / normal.y,
            Self::Terrain { terrain, own_from_world } => {
                let own = own_from_world.point(DVec3::new(at.x, 0.0, at.y));
                terrain.height_at(own.x, own.z) - own_from_world.translation.y
            }
        }
    }

    /// Vertical distance for each metre along the normal.
    fn drop_at(&self, at: DVec2) -> f64 {
        match self {
            Self::Plane { normal, .. } => 1.0 / normal.y,
            Self::Terrain { .. } => {
                let step = 0.5 * RUT_CELL;
                let rise =
                    |axis: DVec2| (self.height_at(at + step * axis) - self.height_at(at - step * axis)) / (2.0 * step);
                let drop = (1.0 + rise(DVec2::X) * rise(DVec2::X) + rise(DVec2::Y) * rise(DVec2::Y)).sqrt();
                // At an edge of the ground there is no slope.
                if drop.is_finite() { drop } else { 1.0 }
            }
        }
    }
}

impl GroundRuts {
    pub(crate) fn on_ground(base: Base, owner: Owner, finish: Finish) -> Self {
        Self { base, owner, finish, depths: RutDepths::default(), tiles: BTreeMap::new() }
    }

    /// True if these are the depths that it has.
    pub(crate) fn has_depths(&self, depths: &RutDepths) -> bool {
        self.changed_tiles(depths).next().is_none()
    }

    /// Sets the depths, and shapes the tiles that differ and their neighbours anew.
    pub(crate) fn set_depths(&mut self, depths: &RutDepths) {
        let near = |[x, z]: [i32; 2]| {
            (0..9).map(move |step: i32| [x.saturating_add(step % 3 - 1), z.saturating_add(step / 3 - 1)])
        };
        let stale: BTreeSet<[i32; 2]> = self.changed_tiles(depths).flat_map(near).collect();
        self.depths.clone_from(depths);
        for place in stale {
            match self.depths.tile(place).is_some() {
                true => drop(self.tiles.insert(place, self.shape_of(place))),
                false => drop(self.tiles.remove(&place)),
            }
        }
    }

    /// The tiles that differ from those of other depths.
    fn changed_tiles<'d>(&'d self, depths: &'d RutDepths) -> impl Iterator<Item = [i32; 2]> + 'd {
        let removed = self.depths.tiles().filter(|(place, _)| depths.tile(*place).is_none());
        let other = depths.tiles().filter(|(place, _)| !self.depths.shares_tile(depths, *place));
        removed.chain(other).map(|(place, _)| place)
    }

    pub(crate) fn ground_owner(&self) -> Owner {
        self.owner
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// The surfaces of all tiles.
    pub(crate) fn tile_shapes(&self) -> impl Iterator<Item = &SceneShape> {
        self.tiles.values().flatten()
    }

    /// True if a tile takes the place of the ground at a point of the world.
    pub(crate) fn covers_point(&self, point: DVec3) -> bool {
        let tile = |x: f64, z: f64| [x, z].map(|at| (at / TILE_SIZE).floor() as i32);
        let sides = [-TILE_BORDER, TILE_BORDER];
        let about = sides.into_iter().flat_map(|x| sides.map(|z| tile(point.x + x, point.z + z)));
        // On the border of all tiles the ground is as high, and no ray falls between both.
        self.tiles.contains_key(&tile(point.x, point.z)) && about.into_iter().all(|near| self.tiles.contains_key(&near))
    }

    /// Depth of a cell by its number from the tile's first one; `None` in a tile that is not there.
    fn cell_depth(&self, tile: [i32; 2], cell: [i32; 2]) -> Option<f64> {
        let size = RUT_TILE as i32;
        let place = [0, 1].map(|axis| tile[axis].saturating_add(cell[axis].div_euclid(size)));
        let [x, z] = cell.map(|cell| cell.rem_euclid(size) as usize);
        let depth = self.depths.tile(place)?[z * RUT_TILE + x];
        Some(if depth > 0.0 { depth.min(MAX_DEPTH) } else { 0.0 })
    }

    /// Depth of the corner before a cell: the mean of the cells about it, or 0 at the border of all tiles.
    fn corner_depth(&self, tile: [i32; 2], [x, z]: [i32; 2]) -> f64 {
        let about = [[x - 1, z - 1], [x, z - 1], [x - 1, z], [x, z]].map(|cell| self.cell_depth(tile, cell));
        match about {
            [Some(a), Some(b), Some(c), Some(d)] => 0.25 * (a + b + c + d),
            _ => 0.0,
        }
    }

    fn shape_of(&self, tile: [i32; 2]) -> Option<SceneShape> {
        let points = RUT_TILE + 1;
        let low = DVec2::new(f64::from(tile[0]), f64::from(tile[1])) * TILE_SIZE;
        let height = |index: usize| {
            let corner = [index / points, index % points];
            let at = low + DVec2::new(corner[0] as f64, corner[1] as f64) * RUT_CELL;
            let depth = self.corner_depth(tile, corner.map(|corner| corner as i32));
            let base = self.base.height_at(at);
            if depth > 0.0 { base - depth * self.base.drop_at(at) } else { base }
        };
        let middle = low + DVec2::splat(0.5 * TILE_SIZE);
        let pose = Pose { translation: DVec3::new(middle.x, 0.0, middle.y), ..Pose::IDENTITY };
        let terrain = Terrain::new(&Heightfield {
            points_x: points,
            points_z: points,
            width: TILE_SIZE,
            depth: TILE_SIZE,
            heights: (0..points * points).map(height).collect(),
            pose,
            material: Material::default(),
        });
        let bounds = terrain.own_bounds()?;
        let (owner, finish) = (self.owner, self.finish);
        Some(SceneShape { owner, pose, form: Form::Terrain(Arc::new(terrain)), finish, look: None, bounds })
    }
}
