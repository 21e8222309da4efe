//! The scene for rays of a world.

use std::sync::Arc;

use super::{geom::Geom, ground::Ground};
use crate::rays::{CurrentScene, OnSoil, Solid};

/// A scene for rays from these shapes and grounds.
pub(super) fn build_ray_scene(geoms: &[Geom], grounds: &[Ground]) -> CurrentScene {
    let solids = geoms.iter().map(|geom| Solid::new(geom.body, geom.shape.clone(), geom.moves)).collect();
    let mut soils = 0;
    let (mut planes, mut surfaces) = (Vec::new(), Vec::new());
    for ground in grounds {
        let soil = ground.material.soil.map(|_| soils);
        soils += usize::from(soil.is_some());
        planes.extend(ground.as_plane().map(|&plane| OnSoil { ground: plane, soil }));
        surfaces.extend(ground.as_surface().map(|surface| OnSoil { ground: Arc::clone(surface), soil }));
    }
    CurrentScene::new(solids, planes, surfaces)
}
