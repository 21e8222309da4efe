//! Contacts and clearances of the shapes before the first step.

use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::{Collider, Contact, Geom, Outline};
use crate::{Ray, engine::state::tree::Tree};

/// Largest number of pairs of shapes that are tested: in a heap of more, the overlaps found by then suffice.
const MAX_PAIRS: usize = 20_000;

impl Collider {
    /// Contacts of shapes that touch or overlap at their initial poses.
    pub(crate) fn initial_contacts(&mut self, trees: &[Tree]) -> &[Contact] {
        self.contacts.clear();
        for tree in 0..trees.len() {
            self.update_shapes(tree, trees, 0.0);
        }
        self.broad.find_some(&self.model, trees, &mut self.placements, MAX_PAIRS, &mut self.pairs);
        let pairs = std::mem::take(&mut self.pairs);
        pairs.iter().take(MAX_PAIRS).for_each(|&(a, b)| self.add_pair_contacts(a, b, trees, 0.0));
        self.pairs = pairs;
        &self.contacts
    }

    /// Distance that a body can move in a direction before it meets anything outside of its tree, m; `None` if nothing
    /// is in its way within `range`. Rays start at the centre of each of its shapes.
    pub(crate) fn free_distance(&self, trees: &[Tree], body: BodyId, direction: DVec3, range: f64) -> Option<f64> {
        let geoms = &self.model.geoms;
        let tree = geoms.iter().find(|geom| geom.body == body)?.side.tree;
        let own = |other: BodyId| geoms.iter().any(|geom| geom.body == other && geom.side.tree == tree);
        let of_geom = |geom: &Geom| {
            let link = &trees[geom.side.tree].work.links[geom.side.link];
            let rotation = link.rotation * geom.turn;
            let origin = link.position + link.matrix * geom.offset + rotation * geom.middle;
            let ray = Ray { origin, direction, range, ignore: None };
            let distance = self.ray_scene(trees).cast_ignoring(&ray, own)?;
            let along = rotation.inverse() * direction;
            let extent = match geom.outline {
                Outline::Ball(radius) => radius,
                Outline::Ellipsoid(own) => own.extent(along),
                _ => along.abs().dot(geom.half),
            };
            Some(distance - extent)
        };
        geoms.iter().filter(|geom| geom.body == body).filter_map(of_geom).min_by(f64::total_cmp)
    }

    /// Height of the terrain above a point that lies below it, m.
    pub(crate) fn terrain_above(&self, point: DVec3) -> Option<f64> {
        self.model.grounds.iter().filter_map(|ground| ground.terrain_above(point)).min_by(f64::total_cmp)
    }
}
