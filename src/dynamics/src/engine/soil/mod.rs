//! Soil under shapes: the memory of each shape of the soil it is in, and the ruts that are left.
//!
//! **Takes** the pose of a shape, a ground plane, soil parameters, and twists. **Gives** a contact point, a wrench that
//! is linear in the velocity at the end of the substep, readings of wheels, and ruts. **Does not know** trees, the
//! contact search or solvers.
//!
//! A shape on soil has one contact with it, whose wrench is the sum of the stresses over the common surface
//! ([`patch`]): Wong and Reece's under the rim of a rolling cylinder ([`wheel`]), the plate law under everything else
//! ([`plate`]). The stresses follow from depth and shear displacement at the midpoint, which depend on the velocity at
//! the end. So the wrench is linear in that velocity and enters the mass matrix
//! ([`crate::engine::equations::damping`]). It is linearised again where soil turns out to be loaded instead of
//! unloaded, or the reverse ([`crate::engine::constraints`]). The memory advances when a substep is committed.

mod lanes;
mod law;
mod patch;
mod pieces;
mod plate;
mod rim;
mod ring;
mod ruts;
mod wheel;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::Soil;

pub(crate) use self::patch::{Answer, Found, Patch};
use self::{
    law::Law,
    patch::Kept,
    plate::{PieceState, Plate},
    ruts::Ruts,
    wheel::{Wheel, WheelState},
};
use crate::{
    Rut, RutChanges, RutTile, SoilReading, engine::equations::damping::Vector6, parry::shape::SharedShape,
    rays::RutDepths,
};

/// Fraction of the height of grousers that is added to the radius at which a wheel shears soil. Grousers stand apart
/// from each other; models of rovers' wheels take half (Ding et al. 2011).
const GROUSER_FRACTION: f64 = 0.5;

/// A shape that may press on a ground of soil.
struct SoilShape {
    /// Index of the ground.
    ground: usize,
    patch: Patch,
    /// For a cylinder.
    wheel: Option<Wheel>,
    plate: Plate,
    /// True if any of it is in the soil in this substep, and if it rolls there.
    laid: bool,
    rolls: bool,
    /// True if it rolled in the last committed substep; if it has any memory of the soil; and if nothing was read yet
    /// in this step.
    rolled: bool,
    inside: bool,
    unread: bool,
}

/// All shapes that may press on soil, and the ruts.
#[derive(Default)]
pub(crate) struct SoilPatches {
    soil_patches: Vec<SoilShape>,
    ruts: Vec<Ruts>,
    /// Gravity, m/s².
    gravity: f64,
}

/// What a snapshot holds of the soil.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SavedSoil {
    soil_patches: Vec<SavedPatch>,
    ruts: Vec<Ruts>,
}

/// Of a shape: its wheel, the pieces of its surface, its energy input and the energy that the stresses hold, J, its
/// drag, and the last linearisation.
type SavedPatch = (Option<WheelState>, Vec<PieceState>, [[f64; 2]; 3], Option<Kept>);

/// Properties of a shape that matter for soil.
pub(crate) struct SoilShapeModel<'a> {
    pub(crate) shape: &'a SharedShape,
    /// Largest distance of a point of it from its centre, m.
    pub(crate) size: f64,
    /// Height of its grousers, m.
    pub(crate) grousers: f64,
}

/// Contact point of a shape with soil.
pub(crate) struct SoilTouch {
    pub(crate) point: DVec3,
    pub(crate) normal: DVec3,
    pub(crate) gap: f64,
}

impl SavedSoil {
    /// Takes over the memory of another world's shapes and soils. `numbers` has the index of each old shape here; the
    /// soils are the same.
    pub(crate) fn migrate(&mut self, old: Self, numbers: &[Option<usize>]) {
        for (old, number) in old.soil_patches.into_iter().zip(numbers) {
            number.iter().for_each(|&number| self.soil_patches[number] = old.clone());
        }
        if self.ruts.len() == old.ruts.len() {
            self.ruts = old.ruts;
        }
    }
}

impl SoilPatches {
    /// Whether no shape may be in soil.
    pub(crate) fn is_empty(&self) -> bool {
        self.soil_patches.is_empty()
    }

    pub(crate) fn new(gravity: f64) -> Self {
        Self { soil_patches: Vec::new(), ruts: Vec::new(), gravity }
    }

    /// Adds a ground of soil, which may be a steep plane. Returns its index.
    pub(crate) fn add_ground(&mut self, steep: bool) -> usize {
        self.ruts.push(Ruts::new(steep));
        self.ruts.len() - 1
    }

    /// Adds a shape that may press on a ground. Returns its index. `cylinder` is its radius and half its length, m.
    pub(crate) fn add(
        &mut self,
        ground: usize,
        soil: Soil,
        form: &SoilShapeModel,
        cylinder: Option<[f64; 2]>,
    ) -> usize {
        let wheel = cylinder.map(|[radius, half]| Wheel::new(radius, half));
        let patch = Patch::new(Law::new(soil, GROUSER_FRACTION * form.grousers, self.gravity));
        let plate = Plate::new(form.shape, form.size);
        self.soil_patches.push(SoilShape {
            ground,
            patch,
            wheel,
            plate,
            laid: false,
            rolls: false,
            rolled: false,
            inside: false,
            unread: true,
        });
        self.soil_patches.len() - 1
    }

    /// Finds the part of a shape in the soil below a plane, at its pose at the midpoint. `advance_m` is its advance in
    /// the substep, m. `None` if nothing is in the soil.
    pub(crate) fn update_geometry(
        &mut self,
        soil_patch: usize,
        place: (DVec3, DQuat),
        plane: (DVec3, f64),
        advance_m: f64,
    ) -> Option<SoilTouch> {
        let SoilShape { ground, patch, wheel, plate, laid, rolls, .. } = &mut self.soil_patches[soil_patch];
        let ruts = &self.ruts[*ground];
        patch.clear(plane);
        *rolls = wheel.is_some() && Wheel::rolls(place.1, plane.0);
        let deepest = match wheel.as_mut().filter(|_| *rolls) {
            Some(wheel) => wheel.update_geometry(patch, place, plane, advance_m, ruts, self.gravity),
            None => plate.update_geometry(patch, place, plane, ruts, self.gravity),
        };
        *laid = deepest.is_some();
        let deepest = deepest?;
        Some(SoilTouch { point: patch.middle, normal: plane.0, gap: -deepest })
    }

    /// Marks a shape as above the ground in this substep.
    pub(crate) fn leave_ground(&mut self, soil_patch: usize) {
        let SoilShape { wheel, laid, .. } = &mut self.soil_patches[soil_patch];
        *laid = false;
        wheel.iter_mut().for_each(Wheel::leave_ground);
    }

    /// Commits a substep: a shape that was out of the soil loses its memory.
    pub(crate) fn commit_substep(&mut self, soil_patch: usize) {
        let SoilShape { wheel, laid, rolls, .. } = &mut self.soil_patches[soil_patch];
        if !*laid {
            let edges = wheel.as_ref().filter(|_| *rolls).map(Wheel::edges).unwrap_or_default();
            self.reset(soil_patch);
            self.soil_patches[soil_patch].wheel.iter_mut().for_each(|wheel| wheel.set_edges(edges));
        }
    }

    /// Clears the memory of a shape.
    pub(crate) fn reset(&mut self, soil_patch: usize) {
        let SoilShape { patch, wheel, plate, inside, unread, .. } = &mut self.soil_patches[soil_patch];
        wheel.iter_mut().for_each(|wheel| wheel.set_edges(Default::default()));
        if std::mem::take(inside) {
            wheel.iter_mut().for_each(Wheel::reset);
            if let Some(wheel) = wheel.as_mut().filter(|_| *unread) {
                wheel.state.reading = None;
            }
            (patch.held, patch.stored, patch.drag, patch.kept) = ([0.0; 2], [0.0; 2], [0.0; 2], None);
            plate.reset();
        }
    }

    /// Starts a step: readings are means over it.
    pub(crate) fn begin_step(&mut self) {
        self.soil_patches.iter_mut().for_each(|soil_patch| soil_patch.unread = true);
    }

    /// Reading of a shape that rolls in soil.
    pub(crate) fn reading(&self, soil_patch: usize) -> Option<SoilReading> {
        self.soil_patches[soil_patch].wheel.as_ref()?.reading()
    }

    /// The part of a shape in the soil.
    pub(crate) fn patch(&self, soil_patch: usize) -> &Patch {
        &self.soil_patches[soil_patch].patch
    }

    /// A substep of so many seconds, that share of its step, counts in which a shape had one twist at its start and
    /// another at its end. Force and moment on it about its patch's point were these; the work that they did on its
    /// motions, J, and what may brake these in the next substep, N s/m.
    pub(crate) fn advance(
        &mut self,
        soil_patch: usize,
        [before, after]: [&Vector6; 2],
        [force, moment]: [DVec3; 2],
        (found, work): (&Found, [[f64; 2]; 2]),
        [h, share]: [f64; 2],
    ) {
        let SoilShape { ground, patch, wheel, plate, rolls, rolled, inside, unread, .. } =
            &mut self.soil_patches[soil_patch];
        *inside = true;
        // The one law begins anew where the other held before.
        if std::mem::replace(rolled, *rolls) != *rolls {
            match wheel.as_mut().filter(|_| !*rolls) {
                Some(wheel) => wheel.reset(),
                None => plate.reset(),
            }
        }
        patch.put_in(found, work);
        let mean: Vector6 = std::array::from_fn(|k| 0.5 * (before[k] + after[k]));
        let ruts = &mut self.ruts[*ground];
        match wheel.as_mut().filter(|_| *rolls) {
            Some(wheel) => {
                let change: Vector6 = std::array::from_fn(|k| after[k] - mean[k]);
                wheel.advance(patch, [&mean, &change], found, h, ruts);
                wheel.read(patch, &patch.twist(&mean), [force, moment, found.pressed], share, std::mem::take(unread));
            }
            None => plate.advance(patch, [&patch.twist(&mean), &patch.twist(after)], h, ruts),
        }
    }

    /// Keeps how soil answered a shape for its next step, if that was `good` enough: what was found anew, or what was
    /// kept before. It was `seen` to be off by so much for each unit of velocity from the guess, N s/m, if that was
    /// looked at.
    pub(crate) fn keep(&mut self, soil_patch: usize, answer: &Answer, good: bool, seen: Option<f64>) {
        let kept = &mut self.soil_patches[soil_patch].patch.kept;
        match (good, answer.kept) {
            (false, _) => *kept = None,
            (true, Some(anew)) => *kept = Some(anew),
            (true, None) => {}
        }
        kept.iter_mut().for_each(|kept| kept.age(seen));
    }

    /// Depths of the ruts of a ground.
    pub(crate) fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.ruts[ground].cells().collect()
    }

    /// Rut depths of each ground of soil, by its index.
    pub(crate) fn depths(&self) -> impl Iterator<Item = RutDepths> {
        self.ruts.iter().map(|ruts| ruts.depths().clone())
    }

    /// Adds the tiles of ruts that have changed. Ground k of soil is the world's `grounds[k]`.
    pub(crate) fn take_changed_ruts(
        &mut self,
        grounds: impl Iterator<Item = usize>,
        into: &mut Vec<RutTile>,
    ) -> RutChanges {
        let anew = !self.ruts.iter().all(Ruts::is_followed);
        if anew {
            self.ruts.iter_mut().for_each(Ruts::follow);
        }
        let more = self
            .ruts
            .iter_mut()
            .zip(grounds)
            .fold(false, |more, (ruts, ground)| ruts.take_changed(ground, into) || more);
        RutChanges { anew, more }
    }

    /// Number of pairs of a shape and a soil that may touch.
    pub(crate) fn len(&self) -> usize {
        self.soil_patches.len()
    }

    pub(crate) fn save(&self) -> SavedSoil {
        let state = |soil_patch: &SoilShape| {
            let wheel = soil_patch.wheel.as_ref().map(|wheel| wheel.state.clone());
            let Patch { held, stored, drag, kept, .. } = soil_patch.patch;
            (wheel, soil_patch.plate.states.clone(), [held, stored, drag], kept)
        };
        SavedSoil { soil_patches: self.soil_patches.iter().map(state).collect(), ruts: self.ruts.clone() }
    }

    /// Whether it was saved from the same shapes and grounds.
    pub(crate) fn fits(&self, saved: &SavedSoil) -> bool {
        let fits = |(soil_patch, (wheel, states, held, _)): (&SoilShape, &SavedPatch)| {
            soil_patch.wheel.is_some() == wheel.is_some()
                && wheel.iter().all(WheelState::fits)
                && soil_patch.plate.states.len() == states.len()
                && held.iter().flatten().all(|energy| energy.is_finite())
        };
        saved.soil_patches.len() == self.soil_patches.len()
            && saved.ruts.len() == self.ruts.len()
            && saved.ruts.iter().all(Ruts::fits)
            && self.soil_patches.iter().zip(&saved.soil_patches).all(fits)
    }

    pub(crate) fn restore(&mut self, saved: SavedSoil) {
        for (soil_patch, (wheel, states, held, kept)) in self.soil_patches.iter_mut().zip(saved.soil_patches) {
            if let (Some(wheel), Some(state)) = (&mut soil_patch.wheel, wheel) {
                wheel.state = state;
            }
            soil_patch.plate.states = states;
            let ([held, stored, drag], patch) = (held, &mut soil_patch.patch);
            (patch.held, patch.stored, patch.drag, patch.kept) = (held, stored, drag, kept);
            soil_patch.inside = true;
        }
        self.ruts = saved.ruts;
    }
}
