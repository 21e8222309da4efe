//! Time until two approaching shapes touch.

use super::{
    Collider, SEARCH_MARGIN,
    geom::MovingShape,
    narrow,
    neighbour::Neighbour,
    shape_model::{GROUND_BITS, MAX_GROUNDS},
    surroundings::Surroundings,
};
use crate::engine::state::tree::Tree;

impl Collider {
    /// Time until two shapes first touch at their present poses and velocities, s. `key` is the key of their contacts.
    ///
    /// Only points of contact that approach faster than `slowest`, m/s, count. The time is negative where the shapes
    /// overlap, and infinite where nothing approaches within `h` seconds.
    pub(crate) fn time_to_contact(&mut self, key: u64, trees: &[Tree], h: f64, slowest: f64) -> f64 {
        let shape = |index: u64| {
            let geom = &self.model.geoms[index as usize];
            let tree = &trees[geom.side.tree];
            let link = &tree.work.links[geom.side.link];
            MovingShape { geom, centre: link.position + link.matrix * geom.offset, tree }
        };
        let (first, second) = match (key >> 32).checked_sub(1) {
            Some(first) => (Some(shape(first)), shape(key & 0xffff_ffff)),
            None => (None, shape(key >> GROUND_BITS)),
        };
        let ahead =
            SEARCH_MARGIN + h * (second.max_approach_speed() + first.map_or(0.0, |first| first.max_approach_speed()));
        let number = key as usize % MAX_GROUNDS;
        let sides = match (key >> 32).checked_sub(1) {
            Some(first) => [first as usize, (key & 0xffff_ffff) as usize],
            None => [self.model.geoms.len() + number, (key >> GROUND_BITS) as usize],
        };
        let surroundings = Surroundings { model: &self.model, trees };
        let visit = |side: usize, other: u32, visit: &mut dyn FnMut(&Neighbour)| {
            surroundings.visit_neighbour(other as usize, sides[1 - side], visit)
        };
        let beside = self.seams.list_beside(sides, usize::from(!second.geom.moves), &visit);
        let (memory, hits) = (&mut self.memory, &mut self.hits);
        hits.clear();
        match first {
            Some(first) => {
                let (one, two) = (first.placed_shape(), second.placed_shape());
                narrow::contacts_of_pair(&one, &two, ahead, beside, memory, hits);
            }
            None => self.model.grounds[number].add_contacts(&second.placed_shape(), ahead, beside, memory, hits),
        }
        let arrivals = hits.iter().filter_map(|hit| {
            let velocity = |shape: &MovingShape| shape.tree.velocity_at(shape.geom.side.link, hit.point);
            let relative = velocity(&second) - first.as_ref().map_or(bevy_math::DVec3::ZERO, velocity);
            let approach = -hit.normal.dot(relative);
            (approach > slowest).then(|| hit.gap / approach)
        });
        arrivals.fold(f64::INFINITY, f64::min)
    }
}
