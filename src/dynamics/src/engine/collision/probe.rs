//! How the shapes stand before the first step.

use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::{Collider, Contact, Geom, Outline};
use crate::{Ray, engine::state::tree::Tree};

/// How many pairs of shapes are looked at: in a heap of more, what overlaps is known by then.
const MAX_PAIRS: usize = 20_000;

impl Collider {
    /// Where shapes touch or overlap as they stand.
    pub(crate) fn touching(&mut self, trees: &[Tree]) -> &[Contact] {
        self.contacts.clear();
        for tree in 0..trees.len() {
            self.place(tree, trees, 0.0);
        }
        self.broad.find_some(&self.model, trees, &mut self.placements, MAX_PAIRS, &mut self.pairs);
        let pairs = std::mem::take(&mut self.pairs);
        pairs.iter().take(MAX_PAIRS).for_each(|&(a, b)| self.between(a, b, trees, 0.0));
        self.pairs = pairs;
        &self.contacts
    }

    /// How far a body could go in a direction before it met something outside of its tree, where there is something in
    /// its way; measured from the middle of each of its shapes on.
    pub(crate) fn clearance(&self, trees: &[Tree], body: BodyId, direction: DVec3, range: f64) -> Option<f64> {
        let geoms = &self.model.geoms;
        let tree = geoms.iter().find(|geom| geom.body == body)?.side.tree;
        let own = |other: BodyId| geoms.iter().any(|geom| geom.body == other && geom.side.tree == tree);
        let of_geom = |geom: &Geom| {
            let link = &trees[geom.side.tree].work.links[geom.side.link];
            let rotation = link.rotation * geom.turn;
            let origin = link.position + link.matrix * geom.offset + rotation * geom.middle;
            let ray = Ray { origin, direction, range, ignore: None };
            let distance = self.ray_scene(trees).cast_past(&ray, own)?;
            let extent = match geom.outline {
                Outline::Ball(radius) => radius,
                _ => (rotation.inverse() * direction).abs().dot(geom.half),
            };
            Some(distance - extent)
        };
        geoms.iter().filter(|geom| geom.body == body).filter_map(of_geom).min_by(f64::total_cmp)
    }

    /// How far the terrain is above a point that lies below it.
    pub(crate) fn terrain_above(&self, point: DVec3) -> Option<f64> {
        self.model.grounds.iter().filter_map(|ground| ground.above(point)).min_by(f64::total_cmp)
    }
}
