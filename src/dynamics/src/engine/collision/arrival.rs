//! When shapes meet that fly towards each other.

use super::{
    Collider, GROUND_BITS, MAX_GROUNDS,
    geom::{MARGIN, Moving},
    narrow,
};
use crate::engine::state::tree::Tree;

impl Collider {
    /// In how many seconds two shapes, by the key of their contacts, first meet where they are and at the velocities
    /// that they have: of all points of contact that approach faster than `slowest`. Less than zero where they are in
    /// each other, infinite where nothing within `h` seconds approaches.
    pub(crate) fn arrival(&mut self, key: u64, trees: &[Tree], h: f64, slowest: f64) -> f64 {
        let shape = |index: u64| {
            let geom = &self.model.geoms[index as usize];
            let tree = &trees[geom.side.tree];
            let link = &tree.work.links[geom.side.link];
            Moving { geom, centre: link.position + link.matrix * geom.offset, tree }
        };
        let (first, second) = match (key >> 32).checked_sub(1) {
            Some(first) => (Some(shape(first)), shape(key & 0xffff_ffff)),
            None => (None, shape(key >> GROUND_BITS)),
        };
        let ahead = MARGIN + h * (second.speed() + first.map_or(0.0, |first| first.speed()));
        let (memory, hits) = (&mut self.memory, &mut self.hits);
        hits.clear();
        match first {
            Some(first) => narrow::of_pair(&first.placed(), &second.placed(), ahead, memory, hits),
            None => {
                let ground = &self.model.grounds[key as usize % MAX_GROUNDS];
                ground.touch(&second.placed(), ahead, memory, hits);
            }
        }
        let arrivals = hits.iter().filter_map(|hit| {
            let velocity = |shape: &Moving| shape.tree.velocity_at(shape.geom.side.link, hit.point);
            let relative = velocity(&second) - first.as_ref().map_or(bevy_math::DVec3::ZERO, velocity);
            let approach = -hit.normal.dot(relative);
            (approach > slowest).then(|| hit.gap / approach)
        });
        arrivals.fold(f64::INFINITY, f64::min)
    }
}
