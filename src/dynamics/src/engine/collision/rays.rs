//! Shapes and grounds for rays.

use std::sync::Arc;

use super::{Collider, Geom, Ground};
use crate::{
    engine::state::tree::Tree,
    parry::math::Pose as ParryPose,
    rays::{CurrentScene, OnSoil, RayScene, Solid},
};

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

impl Collider {
    /// Marks the scene for rays as outdated, because bodies may have moved.
    pub(crate) fn outdate_rays(&mut self) {
        self.rays.outdate();
    }

    /// The scene for rays at the present poses.
    pub(crate) fn ray_scene(&self, trees: &[Tree]) -> Arc<RayScene> {
        let poses = self.model.geoms.iter().map(|geom| {
            let link = &trees[geom.side.tree].work.links[geom.side.link];
            ParryPose::from_parts(link.position + link.matrix * geom.offset, link.rotation * geom.turn)
        });
        self.rays.scene(poses, self.soil.depths())
    }
}
