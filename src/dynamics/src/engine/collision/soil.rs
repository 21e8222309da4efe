//! Shapes on ground that is soil: one contact each, whose wrench [`super::super::soil`] knows.

use simpartner_model::{BodyId, Norm, Soil};

use super::{
    Collider, Contact, GROUND_BITS, Ground, Hit,
    contact::{Half, Pair, Sizes},
    geom::{Geom, Moving, Outline},
};
use crate::{
    Rut, RutChanges, RutTile, SoilReading,
    engine::{
        soil::{SoilPatches, SoilShapeModel},
        state::tree::Tree,
    },
};

/// Part of its size from the middle of a shape to where the heights of terrain are looked at that say how the ground
/// lies below it: the reach of a wheel that has sunk in by a fifth of its radius.
const AROUND: f64 = 0.5;

/// The place of a shape's part in the soil of each ground, among all; `None` for firm ones.
pub(super) type Prints = Vec<Option<usize>>;

/// The parts of all shapes in soil.
pub(super) fn footprints(geoms: &[Geom], grounds: &[Ground], gravity: f64) -> (SoilPatches, Vec<Prints>) {
    let mut footprints = SoilPatches::new(gravity);
    let soil =
        |ground: &Ground| ground.material.soil.map(|soil| (footprints.add_ground(ground.is_steep_plane()), soil));
    let soils: Vec<_> = grounds.iter().map(soil).collect();
    if soils.iter().all(Option::is_none) {
        return (footprints, vec![Vec::new(); geoms.len()]);
    }
    let soil_patches = geoms.iter().map(|geom| {
        let soil_patch = |soil: &Option<(usize, Soil)>| {
            let (ground, soil) = soil.filter(|_| geom.may_touch_ground())?;
            let cylinder = match geom.outline {
                Outline::Cylinder { radius, half } => Some([radius, half]),
                _ => None,
            };
            let form = SoilShapeModel { shape: &geom.shape, size: geom.size(), grousers: geom.material.grousers };
            Some(footprints.add(ground, soil, &form, cylinder))
        };
        soils.iter().map(soil_patch).collect()
    });
    let soil_patches = soil_patches.collect();
    (footprints, soil_patches)
}

impl Collider {
    /// The contacts of a shape with all soils, in a substep of so many seconds.
    pub(super) fn on_soils(&mut self, index: usize, trees: &[Tree], h: f64) {
        for number in 0..self.soil_patches[index].len() {
            if let Some(soil_patch) = self.soil_patches[index][number] {
                self.on_soil([index, number, soil_patch], trees, h);
            }
        }
    }

    /// What soil does to a body that rolls in it: of the first of its shapes that does.
    pub(crate) fn soil_under(&self, body: BodyId) -> Option<SoilReading> {
        let own = self.model.geoms.iter().zip(&self.soil_patches).filter(|(geom, _)| geom.body == body);
        own.flat_map(|(_, soil_patches)| soil_patches).flatten().find_map(|&soil_patch| self.soil.reading(soil_patch))
    }

    /// How a ground of the world was left.
    pub(crate) fn ruts(&self, ground: usize) -> Vec<Rut> {
        let is_soil = |ground: &&Ground| ground.material.soil.is_some();
        match self.model.grounds.get(ground).filter(is_soil) {
            Some(_) => self.soil.ruts(self.model.grounds[..ground].iter().filter(is_soil).count()),
            None => Vec::new(),
        }
    }

    /// Adds the tiles of ruts that have changed since they were taken.
    pub(crate) fn take_changed_ruts(&mut self, into: &mut Vec<RutTile>) -> RutChanges {
        let grounds = self.model.grounds.iter().enumerate();
        let soils = grounds.filter_map(|(number, ground)| ground.material.soil.map(|_| number));
        self.soil.take_changed_ruts(soils, into)
    }

    /// A tree is somewhere else: it is in no soil that it remembers.
    pub(crate) fn forget_soil(&mut self, tree: usize) {
        let own = self.model.starts[tree]..self.model.starts[tree + 1];
        for soil_patch in self.soil_patches[own].iter().flatten().flatten() {
            self.soil.reset(*soil_patch);
        }
    }

    /// A substep of a tree counts: what of it was out of the soil forgets it.
    pub(crate) fn settle_soil(&mut self, tree: usize) {
        if self.soil.is_empty() {
            return;
        }
        let own = self.model.starts[tree]..self.model.starts[tree + 1];
        for soil_patch in self.soil_patches[own].iter().flatten().flatten() {
            self.soil.commit_substep(*soil_patch);
        }
    }

    /// The contact of a shape with a ground of soil.
    fn on_soil(&mut self, [index, number, soil_patch]: [usize; 3], trees: &[Tree], h: f64) {
        let (geom, ground) = (&self.model.geoms[index], &self.model.grounds[number]);
        let placement = &self.placements[index];
        let near = ground.meets(&placement.bounds);
        let plane = if near { ground.plane_below(placement.centre, AROUND * geom.size()) } else { None };
        let shape = Moving { geom, centre: placement.centre, tree: &trees[geom.side.tree] };
        let placed = shape.placed();
        let deep = plane.filter(|&plane| geom.reaches_below(plane, placement.centre, shape.tree));
        let Some(plane) = deep else { return self.soil.leave_ground(soil_patch) };
        let comes_on = h * shape.velocity().norm();
        let Some(touch) = self.soil.update_geometry(soil_patch, (placed.centre, placed.rotation), plane, comes_on)
        else {
            return;
        };
        let pair = Pair::new(&Half::ground(&ground.material), &shape.half());
        let sizes = Sizes { size: geom.size(), motion: 0.0 };
        let hit = Hit { point: touch.point, normal: touch.normal, gap: touch.gap };
        let key = ((index as u64) << GROUND_BITS) | number as u64;
        let contact = pair.contact(None, geom.side, &hit, pair.tangents(hit.normal), key, sizes);
        self.contacts.push(Contact { soil_patch: Some(soil_patch), ..contact.on_soil() });
    }
}
