//! Shapes on ground that is soil: one contact each, whose wrench [`super::super::soil`] knows.

use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::{
    Collider, Contact, Hit,
    contact::{Half, Pair, Sizes},
    geom::{Geom, Ground, Moving, Outline},
};
use crate::{
    SoilReading,
    engine::{soil::Footprints, tree::Tree},
    parry::shape::HeightField,
};

/// Part of its size from the middle of a shape to where the heights of terrain are looked at that say how the ground lies below it: the
/// reach of a wheel that has sunk in by a fifth of its radius.
const AROUND: f64 = 0.5;

/// The place of a shape's part in the soil of the plane and of the terrain, among all.
pub(super) type Prints = [Option<usize>; 2];

/// The parts of all shapes in soil.
pub(super) fn footprints(geoms: &[Geom], ground: &Ground, gravity: f64) -> (Footprints, Vec<Prints>) {
    let mut footprints = Footprints::new(gravity);
    let plane = ground.plane.as_ref().and_then(|plane| plane.material.soil);
    let terrain = ground.heightfield.as_ref().and_then(|(_, material)| material.soil);
    let soils = [plane, terrain].map(|soil| soil.map(|soil| (footprints.add_ground(), soil)));
    let prints = geoms.iter().map(|geom| {
        soils.map(|soil| {
            let (ground, soil) = soil.filter(|_| geom.may_touch_ground())?;
            let cylinder = match geom.outline {
                Outline::Cylinder { radius, half } => Some([radius, half]),
                _ => None,
            };
            Some(footprints.add(ground, soil, geom, cylinder))
        })
    });
    let prints = prints.collect();
    (footprints, prints)
}

impl Collider {
    /// The contacts of a shape with all soils.
    pub(super) fn on_soils(&mut self, index: usize, trees: &[Tree]) {
        if self.prints[index][0].is_some() {
            let plane = self.model.ground.plane.as_ref();
            let below = plane.filter(|plane| self.placements[index].bounds.reaches(plane));
            let below = below.map(|plane| (plane.normal, plane.distance));
            self.on_soil(index, 0, below, trees);
        }
        if self.prints[index][1].is_some() {
            let near = self.placements[index].bounds.low.y < self.model.ground.top;
            let below = if near { self.plane_below(index) } else { None };
            self.on_soil(index, 1, below, trees);
        }
    }

    /// What soil does to a body that rolls in it: of the first of its shapes that does.
    pub(in crate::engine) fn soil_under(&self, body: BodyId) -> Option<SoilReading> {
        let own = self.model.geoms.iter().zip(&self.prints).filter(|(geom, _)| geom.body == body);
        own.flat_map(|(_, prints)| prints).flatten().find_map(|&print| self.soil.reading(print))
    }

    /// A tree is somewhere else: it is in no soil that it remembers.
    pub(in crate::engine) fn forget_soil(&mut self, tree: usize) {
        let own = self.model.starts[tree]..self.model.starts[tree + 1];
        for print in self.prints[own].iter().flatten().flatten() {
            self.soil.lift(*print);
        }
    }

    /// The contact of a shape with soil below a plane.
    fn on_soil(&mut self, index: usize, which: usize, plane: Option<(DVec3, f64)>, trees: &[Tree]) {
        let Some(print) = self.prints[index][which] else { return };
        let geom = &self.model.geoms[index];
        let shape = Moving { geom, centre: self.placements[index].centre, tree: &trees[geom.side.tree] };
        let placed = shape.placed();
        let touch = plane.and_then(|plane| self.soil.lay(print, (placed.centre, placed.rotation), plane));
        let Some(touch) = touch else { return self.soil.lift(print) };
        let ground = &self.model.ground;
        let material = match which {
            0 => ground.plane.as_ref().map(|plane| &plane.material),
            _ => ground.heightfield.as_ref().map(|(_, material)| material),
        };
        let Some(material) = material else { return };
        let pair = Pair::new(&Half::ground(material), &shape.half());
        let sizes = Sizes { size: geom.size(), motion: 0.0 };
        let hit = Hit { point: touch.point, normal: touch.normal, gap: touch.gap };
        let key = ((index as u64) << 1) | which as u64;
        let contact = pair.contact(None, geom.side, &hit, key, sizes);
        self.contacts.push(Contact { print: Some(print), ..contact.on_soil() });
    }

    /// The plane that terrain is below a shape.
    fn plane_below(&self, index: usize) -> Option<(DVec3, f64)> {
        let (shape, _) = self.model.ground.heightfield.as_ref()?;
        let (field, centre) = (shape.as_heightfield()?, self.placements[index].centre);
        let reach = AROUND * self.model.geoms[index].size();
        let at = |x: f64, z: f64| height(field, centre.x + x, centre.z + z);
        let middle = at(0.0, 0.0)?;
        // Where the terrain ends it goes on level.
        let slope = |ahead: Option<f64>, behind: Option<f64>| match (ahead, behind) {
            (Some(ahead), Some(behind)) => 0.5 * (ahead - behind) / reach,
            _ => 0.0,
        };
        let (along_x, along_z) = (slope(at(reach, 0.0), at(-reach, 0.0)), slope(at(0.0, reach), at(0.0, -reach)));
        let normal = DVec3::new(-along_x, 1.0, -along_z).normalize();
        Some((normal, normal.dot(DVec3::new(centre.x, middle, centre.z))))
    }
}

/// The height of terrain at a place, m; `None` where there is none.
fn height(field: &HeightField, x: f64, z: f64) -> Option<f64> {
    let place = DVec3::new(x, 0.0, z);
    let (row, column) = field.cell_at_point(place)?;
    let (first, second) = field.triangles_at(row, column);
    let on = |triangle: crate::parry::shape::Triangle| {
        let [a, b, c] = [triangle.a, triangle.b, triangle.c];
        let (u, v, w) = (b - a, c - a, place - a);
        let area = u.x * v.z - u.z * v.x;
        let (s, t) = ((w.x * v.z - w.z * v.x) / area, (u.x * w.z - u.z * w.x) / area);
        // A place on an edge is in both; rounding leaves it in neither.
        let inside = s >= -1e-9 && t >= -1e-9 && s + t <= 1.0 + 1e-9;
        inside.then_some(a.y + s * u.y + t * v.y)
    };
    first.and_then(on).or_else(|| second.and_then(on))
}
