//! Soil under shapes: stresses, the state of the soil under each shape, and ruts.
//!
//! **Takes** the pose of a shape, a ground plane, soil parameters, and twists. **Gives** a contact point, a wrench that
//! is linear in the velocity at the end of the substep, readings of wheels, and ruts. **Does not know** trees, the
//! contact search or solvers.
//!
//! A shape on soil has one contact with it, whose wrench is the sum of the stresses over the common surface
//! ([`patch`]). Under the rim of a rolling cylinder these are Wong and Reece's ([`wheel`]); under everything else they
//! follow the plate law ([`plate`]).
//!
//! The stresses follow from depth and shear displacement at the midpoint, which depend on the velocity at the end. So
//! the wrench is linear in that velocity and enters the mass matrix ([`crate::engine::equations::damping`]). It is
//! linearised again if soil turns out to be loaded instead of unloaded, or the reverse
//! ([`crate::engine::constraints`]). The state of the soil advances when a substep is committed.

mod lanes;
mod law;
mod patch;
mod pieces;
mod plate;
mod rim;
mod ring;
mod ruts;
mod stress_sums;
mod wheel;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{RutDepths, Soil};

pub(crate) use self::patch::{Patch, SoilForces, SoilResponse};
use self::{
    law::Law,
    patch::StoredResponse,
    plate::{PieceState, Plate},
    ruts::Ruts,
    wheel::{Wheel, WheelState},
};
use crate::{Rut, RutChanges, RutTile, SoilReading, engine::equations::damping::Vector6, parry::shape::SharedShape};

/// Fraction of the height of grousers that is added to the radius at which a wheel shears soil. Grousers have gaps
/// between them; models of rovers' wheels take half (Ding et al. 2011).
const GROUSER_FRACTION: f64 = 0.5;

/// A shape that may touch a ground of soil.
struct SoilShape {
    /// Index of the ground.
    ground: usize,
    patch: Patch,
    /// The wheel law, for a cylinder only.
    wheel: Option<Wheel>,
    plate: Plate,
    /// True if a part of the shape is in the soil in this substep; true if the shape rolls there.
    in_soil: bool,
    rolls: bool,
    /// True if it rolled in the last committed substep.
    rolled: bool,
    /// True if it has any state in the soil.
    has_state: bool,
    /// True until the first reading of this step.
    unread: bool,
}

/// All shapes that may touch soil, and the ruts.
#[derive(Default)]
pub(crate) struct SoilPatches {
    soil_patches: Vec<SoilShape>,
    ruts: Vec<Ruts>,
    /// Gravity, m/s².
    gravity: f64,
}

/// The soil part of a snapshot.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SavedSoil {
    soil_patches: Vec<SavedPatch>,
    ruts: Vec<Ruts>,
}

/// State of a shape: its wheel, the pieces of its surface, `[held, stored, drag]` of [`Patch`] (energy put in and
/// energy that the stresses hold, J; drag, N s/m), and the last linearisation.
type SavedPatch = (Option<WheelState>, Vec<PieceState>, [[f64; 2]; 3], Option<StoredResponse>);

/// Properties of a shape that matter for soil.
pub(crate) struct SoilShapeModel<'a> {
    pub(crate) shape: &'a SharedShape,
    /// Largest distance of a point of the shape from its centre, m.
    pub(crate) size: f64,
    /// Height of its grousers, m.
    pub(crate) grousers: f64,
}

/// Contact point of a shape with soil: world frame, m, with the normal of the ground, and the gap, m, negative in the
/// soil.
pub(crate) struct SoilTouch {
    pub(crate) point: DVec3,
    pub(crate) normal: DVec3,
    pub(crate) gap: f64,
}

impl SavedSoil {
    /// Takes the soil state of another world's shapes. `numbers` has the index of each old shape here, `None` for a
    /// removed one; the soils are the same.
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
    /// True if no shape can be in soil.
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

    /// Adds a shape that may touch a ground. Returns its index. `cylinder` is its radius and half its length, m.
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
            in_soil: false,
            rolls: false,
            rolled: false,
            has_state: false,
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
        let SoilShape { ground, patch, wheel, plate, in_soil, rolls, .. } = &mut self.soil_patches[soil_patch];
        let ruts = &self.ruts[*ground];
        patch.clear(plane);
        *rolls = wheel.is_some() && Wheel::can_roll(place.1, plane.0);
        let deepest = match wheel.as_mut().filter(|_| *rolls) {
            Some(wheel) => wheel.update_geometry(patch, place, plane, advance_m, ruts, self.gravity),
            None => plate.update_geometry(patch, place, plane, ruts, self.gravity),
        };
        *in_soil = deepest.is_some();
        let deepest = deepest?;
        Some(SoilTouch { point: patch.middle, normal: plane.0, gap: -deepest })
    }

    /// Marks a shape as above the ground in this substep.
    pub(crate) fn leave_ground(&mut self, soil_patch: usize) {
        let SoilShape { wheel, in_soil, .. } = &mut self.soil_patches[soil_patch];
        *in_soil = false;
        wheel.iter_mut().for_each(Wheel::leave_ground);
    }

    /// Commits a substep: a shape that was out of the soil loses its memory.
    pub(crate) fn commit_substep(&mut self, soil_patch: usize) {
        let SoilShape { wheel, in_soil, rolls, .. } = &mut self.soil_patches[soil_patch];
        if !*in_soil {
            let edges = wheel.as_ref().filter(|_| *rolls).map(Wheel::next_edges).unwrap_or_default();
            self.reset(soil_patch);
            self.soil_patches[soil_patch].wheel.iter_mut().for_each(|wheel| wheel.set_edges(edges));
        }
    }

    /// Clears the memory of a shape.
    pub(crate) fn reset(&mut self, soil_patch: usize) {
        let SoilShape { patch, wheel, plate, has_state, unread, .. } = &mut self.soil_patches[soil_patch];
        wheel.iter_mut().for_each(|wheel| wheel.set_edges(Default::default()));
        if std::mem::take(has_state) {
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

    /// Advances the state of a shape by a committed substep.
    ///
    /// `[before, after]` are its twists at the start and the end. `[force, moment]` on it are about its patch's point,
    /// N and N m. `work` has the work of the soil on the limited motions, J, and the drag on them in the next substep,
    /// N s/m ([`Patch::limited_motions`]). `[h, share]` are the length of the substep, s, and its fraction of the step.
    pub(crate) fn advance(
        &mut self,
        soil_patch: usize,
        [before, after]: [&Vector6; 2],
        [force, moment]: [DVec3; 2],
        (found, work): (&SoilForces, [[f64; 2]; 2]),
        [h, share]: [f64; 2],
    ) {
        let SoilShape { ground, patch, wheel, plate, rolls, rolled, has_state, unread, .. } =
            &mut self.soil_patches[soil_patch];
        *has_state = true;
        // The state of a law is reset if the other law applied in the last substep.
        if std::mem::replace(rolled, *rolls) != *rolls {
            match wheel.as_mut().filter(|_| !*rolls) {
                Some(wheel) => wheel.reset(),
                None => plate.reset(),
            }
        }
        patch.record_work(found, work);
        let mean: Vector6 = std::array::from_fn(|k| 0.5 * (before[k] + after[k]));
        let ruts = &mut self.ruts[*ground];
        match wheel.as_mut().filter(|_| *rolls) {
            Some(wheel) => {
                let change: Vector6 = std::array::from_fn(|k| after[k] - mean[k]);
                wheel.advance(patch, [&mean, &change], found, h, ruts);
                wheel.update_reading(
                    patch,
                    &patch.twist(&mean),
                    [force, moment, found.pressed],
                    share,
                    std::mem::take(unread),
                );
            }
            None => plate.advance(patch, [&patch.twist(&mean), &patch.twist(after)], h, ruts),
        }
    }

    /// Stores the response of soil to a shape for the next step if it was `good` enough: the new one if there is one,
    /// else the stored one. `seen` is its measured error for each unit of velocity from the guess, N s/m, if it was
    /// measured.
    pub(crate) fn store_response(&mut self, soil_patch: usize, answer: &SoilResponse, good: bool, seen: Option<f64>) {
        let kept = &mut self.soil_patches[soil_patch].patch.kept;
        match (good, answer.kept) {
            (false, _) => *kept = None,
            (true, Some(anew)) => *kept = Some(anew),
            (true, None) => {}
        }
        kept.iter_mut().for_each(|kept| kept.update_error(seen));
    }

    /// Depths of the ruts of a ground.
    pub(crate) fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.ruts[ground].pressed_cells().collect()
    }

    /// Rut depths of each ground of soil, by its index.
    pub(crate) fn depths(&self) -> impl Iterator<Item = RutDepths> {
        self.ruts.iter().map(|ruts| ruts.depths().clone())
    }

    /// Adds the tiles of ruts that have changed since the last call. Ground k of soil is the world's `grounds[k]`.
    pub(crate) fn take_changed_ruts(
        &mut self,
        grounds: impl Iterator<Item = usize>,
        into: &mut Vec<RutTile>,
    ) -> RutChanges {
        let is_new_record = !self.ruts.iter().all(Ruts::tracks_changes);
        if is_new_record {
            self.ruts.iter_mut().for_each(Ruts::track_changes);
        }
        let more = self
            .ruts
            .iter_mut()
            .zip(grounds)
            .fold(false, |more, (ruts, ground)| ruts.take_changed(ground, into) || more);
        RutChanges { is_new_record, more }
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

    /// True if `saved` belongs to the same shapes and grounds.
    pub(crate) fn is_compatible(&self, saved: &SavedSoil) -> bool {
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
            soil_patch.has_state = true;
        }
        self.ruts = saved.ruts;
    }
}
