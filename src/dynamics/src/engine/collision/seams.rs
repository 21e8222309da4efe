//! Shapes side by side on one rigid piece: on fixed bodies and grounds, or on one link.
//!
//! A body that slides over the seam between two of them must not touch the sides that they turn to each other
//! ([`super::seam_contacts`]). The lists here are computed once, since nothing in them moves.

use bevy_math::{DMat3, DQuat, DVec3};

use super::{
    geom::{Bounds, Geom},
    neighbour::MAX_SEAM_GAP,
    seam_contacts::{Beside, VisitNeighbour},
    shape_model::Model,
};
use crate::engine::state::tree::Tree;

/// For each shape, and then for each ground, the indices of the shapes and grounds beside it, sorted. Grounds have the
/// indices after those of the shapes.
#[derive(Debug, Default)]
pub(super) struct Seams {
    beside: Vec<Vec<u32>>,
    /// True once the lists of fixed bodies are complete.
    is_complete: bool,
}

impl Seams {
    /// The seams between shapes of one moving link.
    pub(super) fn new(geoms: &[Geom], grounds: usize) -> Self {
        let mut own = Self { beside: vec![Vec::new(); geoms.len() + grounds], is_complete: false };
        let mut parts: Vec<usize> = (0..geoms.len()).filter(|index| geoms[*index].moves).collect();
        let link = |index: usize| (geoms[index].side.tree, geoms[index].side.link);
        parts.sort_by_key(|index| link(*index));
        for parts in parts.chunk_by(|one, other| link(*one) == link(*other)) {
            let boxes = parts
                .iter()
                .map(|&index| (index, bounds_of_shape(&geoms[index], geoms[index].offset, DQuat::IDENTITY)));
            own.add_neighbours(boxes.collect());
        }
        own
    }

    /// Adds the seams between fixed bodies and grounds at their poses, in the first search.
    pub(super) fn complete_lists(&mut self, model: &Model, trees: &[Tree]) {
        if self.is_complete {
            return;
        }
        self.is_complete = true;
        let fixed = model.geoms.iter().enumerate().filter(|(_, geom)| !geom.moves).map(|(index, geom)| {
            let link = &trees[geom.side.tree].work.links[geom.side.link];
            (index, bounds_of_shape(geom, link.position + link.matrix * geom.offset, link.rotation))
        });
        let fixed: Vec<(usize, Bounds)> = fixed.collect();
        for (number, ground) in model.grounds.iter().enumerate().filter(|(_, ground)| ground.material.soil.is_none()) {
            let index = model.geoms.len() + number;
            for (shape, _) in fixed.iter().filter(|(_, bounds)| ground.overlaps(bounds)) {
                self.add_pair(*shape, index);
            }
            for (other, _) in model.grounds[..number].iter().enumerate().filter(|(_, other)| ground.may_adjoin(other)) {
                self.add_pair(model.geoms.len() + other, index);
            }
        }
        self.add_neighbours(fixed);
        self.beside.iter_mut().for_each(|list| list.sort_unstable());
    }

    /// The shapes and grounds beside those of a pair; `None` if there are none. `leader` is the index of the fixed
    /// shape, or 0 if both move.
    #[inline]
    pub(super) fn list_beside<'a>(
        &'a self,
        pair: [usize; 2],
        leader: usize,
        visit: &'a VisitNeighbour<'a>,
    ) -> Option<Beside<'a>> {
        let lists = pair.map(|index| self.beside[index].as_slice());
        (!lists[0].is_empty() || !lists[1].is_empty()).then_some(Beside { lists, visit, leader })
    }

    /// Adds all pairs whose boxes overlap: a sweep along x.
    fn add_neighbours(&mut self, mut boxes: Vec<(usize, Bounds)>) {
        boxes.sort_by(|(one, a), (other, b)| a.low.x.total_cmp(&b.low.x).then(one.cmp(other)));
        for (place, (one, around)) in boxes.iter().enumerate() {
            let following = boxes[place + 1..].iter().take_while(|(_, other)| other.low.x <= around.high.x);
            for (other, _) in following.filter(|(_, other)| around.overlaps(other)) {
                self.add_pair(*one, *other);
            }
        }
    }

    fn add_pair(&mut self, one: usize, other: usize) {
        for (own, beside) in [(one, other), (other, one)] {
            self.beside[own].push(u32::try_from(beside).expect("fewer shapes than memory could hold"));
        }
    }
}

/// Box of a shape at a pose of its centre and of its link, enlarged by half the width of a seam.
fn bounds_of_shape(geom: &Geom, centre: DVec3, link: DQuat) -> Bounds {
    let axes = DMat3::from_quat(link * geom.turn);
    let half = axes.x_axis.abs() * geom.half.x + axes.y_axis.abs() * geom.half.y + axes.z_axis.abs() * geom.half.z;
    let (middle, half) = (centre + axes * geom.middle, half + DVec3::splat(0.5 * MAX_SEAM_GAP));
    Bounds { low: middle - half, high: middle + half }
}
