//! Shapes and grounds at their present poses, as neighbours of others.

use super::{geom::MovingShape, neighbour::Neighbour, shape_model::Model};
use crate::engine::state::tree::Tree;

/// The collision model at present poses.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) model: &'a Model,
    pub(super) trees: &'a [Tree],
}

impl<'a> Surroundings<'a> {
    /// Calls `visit` with a shape, or a ground by its index after those of the shapes, unless it cannot touch the shape
    /// or ground `facing`.
    pub(super) fn visit_neighbour(&self, index: usize, facing: usize, visit: &mut dyn FnMut(&Neighbour)) {
        if let Some(neighbour) = self.neighbour_at(index, facing) {
            visit(&neighbour);
        }
    }

    fn neighbour_at(&self, index: usize, facing: usize) -> Option<Neighbour<'a>> {
        let Model { geoms, grounds, .. } = self.model;
        match (geoms.get(index), geoms.get(facing)) {
            (Some(geom), facing) => {
                let meets = facing.map_or_else(|| geom.may_touch_ground(), |facing| self.model.may_meet(geom, facing));
                let tree = &self.trees[geom.side.tree];
                let link = &tree.work.links[geom.side.link];
                let centre = link.position + link.matrix * geom.offset;
                meets.then(|| Neighbour::Shape(MovingShape { geom, centre, tree }.placed_shape()))
            }
            (None, Some(facing)) => {
                let ground = &grounds[index - geoms.len()];
                let meets = ground.material.soil.is_none() && facing.may_touch_ground();
                let solid = match ground.as_plane() {
                    Some(plane) => Some(Neighbour::Plane(plane.normal, plane.distance)),
                    None => ground.as_placed_shape().map(Neighbour::Shape),
                };
                solid.filter(|_| meets)
            }
            (None, None) => None,
        }
    }
}
