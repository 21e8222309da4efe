//! Rays: the scene at the present poses.

use std::sync::Arc;

use super::Collider;
use crate::{engine::state::tree::Tree, parry::math::Pose as ParryPose, rays::RayScene};

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
