//! Contacts of shapes with soil: one contact for each shape and ground. [`super::super::soil`] computes its wrench.

use simpartner_model::{BodyId, Norm, RutDepths};

use super::{
    Collider, Contact, Ground,
    contact::{ContactSide, Pair, Sizes},
    geom::MovingShape,
    hit::Hit,
    shape_model::GROUND_BITS,
};
use crate::{Rut, RutChanges, RutTile, SoilReading, engine::state::tree::Tree};

/// Distance from the centre of a shape at which terrain heights are sampled to find the local plane of the ground, as a
/// fraction of the shape's size: half the length of the contact of a wheel that has sunk in by a fifth of its radius.
const SLOPE_SAMPLE_DISTANCE: f64 = 0.5;

impl Collider {
    /// Adds the contacts of a shape with all soils, in a substep of `h` seconds.
    pub(super) fn add_soil_contacts(&mut self, index: usize, trees: &[Tree], h: f64) {
        for number in 0..self.soil_patches[index].len() {
            if let Some(soil_patch) = self.soil_patches[index][number] {
                self.add_soil_contact([index, number, soil_patch], trees, h);
            }
        }
    }

    /// Soil reading of the first shape of a body that rolls in soil.
    pub(crate) fn soil_under(&self, body: BodyId) -> Option<SoilReading> {
        let own = self.model.geoms.iter().zip(&self.soil_patches).filter(|(geom, _)| geom.body == body);
        own.flat_map(|(_, soil_patches)| soil_patches).flatten().find_map(|&soil_patch| self.soil.reading(soil_patch))
    }

    /// Ruts in a ground of the world, by its index.
    pub(crate) fn ruts(&self, ground: usize) -> Vec<Rut> {
        let is_soil = |ground: &&Ground| ground.material.soil.is_some();
        match self.model.grounds.get(ground).filter(is_soil) {
            Some(_) => self.soil.ruts(self.model.grounds[..ground].iter().filter(is_soil).count()),
            None => Vec::new(),
        }
    }

    /// Depths of the grounds that have ruts, with their indices.
    pub(crate) fn rut_depths(&self) -> impl Iterator<Item = (usize, RutDepths)> {
        soil_grounds(&self.model.grounds).zip(self.soil.depths()).filter(|(_, depths)| !depths.is_empty())
    }

    /// Adds the tiles of ruts that have changed since the last call.
    pub(crate) fn take_changed_ruts(&mut self, into: &mut Vec<RutTile>) -> RutChanges {
        self.soil.take_changed_ruts(soil_grounds(&self.model.grounds), into)
    }

    /// Resets the soil patches of a tree that was moved to another pose.
    pub(crate) fn reset_soil_patches(&mut self, tree: usize) {
        let own = self.model.starts[tree]..self.model.starts[tree + 1];
        for soil_patch in self.soil_patches[own].iter().flatten().flatten() {
            self.soil.reset(*soil_patch);
        }
    }

    /// Commits the soil patches of a tree after an accepted substep: a shape that left the soil is reset.
    pub(crate) fn commit_soil_patches(&mut self, tree: usize) {
        if self.soil.is_empty() {
            return;
        }
        let own = self.model.starts[tree]..self.model.starts[tree + 1];
        for soil_patch in self.soil_patches[own].iter().flatten().flatten() {
            self.soil.commit_substep(*soil_patch);
        }
    }

    /// Adds the contact of a shape with a ground of soil. `[index, number, soil_patch]` are the indices of the shape,
    /// of the ground and of the soil patch.
    fn add_soil_contact(&mut self, [index, number, soil_patch]: [usize; 3], trees: &[Tree], h: f64) {
        let (geom, ground) = (&self.model.geoms[index], &self.model.grounds[number]);
        let placement = &self.placements[index];
        let near = ground.overlaps(&placement.bounds);
        let plane = if near { ground.plane_below(placement.centre, SLOPE_SAMPLE_DISTANCE * geom.size()) } else { None };
        let shape = MovingShape { geom, centre: placement.centre, tree: &trees[geom.side.tree] };
        let placed = shape.placed_shape();
        let deep = plane.filter(|&plane| geom.reaches_below(plane, placement.centre, shape.tree));
        let Some(plane) = deep else { return self.soil.leave_ground(soil_patch) };
        let displacement = h * shape.velocity().norm();
        let Some(touch) = self.soil.update_geometry(soil_patch, (placed.centre, placed.rotation), plane, displacement)
        else {
            return;
        };
        let hit = Hit { point: touch.point, normal: touch.normal, gap: touch.gap };
        let pair = Pair::new(&ContactSide::of_ground(&ground.material), &shape.contact_side(hit.normal));
        let sizes = Sizes { size: geom.size(), motion: 0.0 };
        let key = ((index as u64) << GROUND_BITS) | number as u64;
        let contact = pair.new_contact(None, geom.side, &hit, pair.tangents(hit.normal), key, sizes);
        self.contacts.push(Contact { soil_patch: Some(soil_patch), ..contact.for_soil() });
    }
}

/// Indices of the grounds of soil.
fn soil_grounds(grounds: &[Ground]) -> impl Iterator<Item = usize> {
    let soils = |(number, ground): (usize, &Ground)| ground.material.soil.map(|_| number);
    grounds.iter().enumerate().filter_map(soils)
}
