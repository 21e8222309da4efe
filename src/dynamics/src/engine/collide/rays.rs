//! What rays meet.

use std::sync::Arc;

use super::{Collider, Geom, Ground};
use crate::{
    engine::tree::Tree,
    parry::math::Pose as ParryPose,
    rays::{CurrentScene, RayScene, Solid},
};

/// These shapes and grounds as rays meet them.
pub(super) fn scene(geoms: &[Geom], grounds: &[Ground]) -> CurrentScene {
    let solids = geoms.iter().map(|geom| Solid::new(geom.body, geom.shape.clone(), geom.moves)).collect();
    let planes = grounds.iter().filter_map(Ground::plane).copied().collect();
    CurrentScene::new(solids, planes, grounds.iter().filter_map(Ground::surface).cloned().collect())
}

impl Collider {
    /// Notes that bodies may have moved.
    pub(in crate::engine) fn outdate_rays(&mut self) {
        self.rays.outdate();
    }

    /// What rays meet where everything is now.
    pub(in crate::engine) fn ray_scene(&self, trees: &[Tree]) -> Arc<RayScene> {
        self.rays.scene(self.model.geoms.iter().map(|geom| {
            let link = &trees[geom.side.tree].work.links[geom.side.link];
            ParryPose::from_parts(link.position + link.matrix * geom.offset, link.rotation * geom.turn)
        }))
    }
}
