//! Soil under shapes: what each of them remembers of the soil it is in, and the ruts that are left.
//!
//! A shape on soil has one contact with it, whose wrench is the sum of the stresses over the surface between them ([`patch`]):
//! Wong and Reece's under the rim of a cylinder that rolls ([`wheel`]), the plate law under everything else ([`plate`]). The
//! stresses follow from how deep the surface is and how far it has slid, both taken in the middle of the substep, which depends on the
//! velocity at its end: the wrench is linear in that, a part of the mass matrix ([`crate::engine::equations::damping`]), and made again where the soil turns out
//! to be pressed where it was let up ([`crate::engine::constraints`]). What the shape and the soil remember moves on when a substep counts.

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

/// Part of their height by which grousers make the radius larger at which a wheel shears soil: they stand apart from each other, and half is
/// what models of rovers' wheels take (Ding et al. 2011).
const GROUSERS: f64 = 0.5;

/// A shape that may press on a ground of soil.
struct SoilShape {
    /// Which ground.
    ground: usize,
    patch: Patch,
    /// Of a cylinder.
    wheel: Option<Wheel>,
    plate: Plate,
    /// True if any of it is in the soil in this substep, and if it rolls there.
    laid: bool,
    rolls: bool,
    /// True if it rolled in the last substep that counted; if it has come to know anything of the soil; and if nothing was read yet in this step.
    rolled: bool,
    inside: bool,
    unread: bool,
}

/// Everything that presses on soil.
#[derive(Default)]
pub(crate) struct SoilPatches {
    soil_patches: Vec<SoilShape>,
    ruts: Vec<Ruts>,
    /// How things fall, m/s².
    gravity: f64,
}

/// What of it a snapshot holds.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SavedSoil {
    soil_patches: Vec<SavedPrint>,
    ruts: Vec<Ruts>,
}

/// Of a shape: its wheel, the pieces of its surface, what energy it has put in and what the stresses held, J, what brakes it, and how soil answered.
type SavedPrint = (Option<WheelState>, Vec<PieceState>, [[f64; 2]; 3], Option<Kept>);

/// What soil has to know of a shape.
pub(crate) struct SoilShapeModel<'a> {
    pub(crate) shape: &'a SharedShape,
    /// The largest distance of a point of it from its centre, m.
    pub(crate) size: f64,
    /// The height of its grousers, m.
    pub(crate) grousers: f64,
}

/// Where a shape touches soil, for its contact.
pub(crate) struct Touch {
    pub(crate) point: DVec3,
    pub(crate) normal: DVec3,
    pub(crate) gap: f64,
}

impl SavedSoil {
    /// Takes over what another world's shapes and soils remember. The numbers are those of its shapes' parts here; its soils are the same.
    pub(crate) fn carry_over(&mut self, old: Self, numbers: &[Option<usize>]) {
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

    /// Adds a ground of soil, which may be a steep plane; its number.
    pub(crate) fn add_ground(&mut self, steep: bool) -> usize {
        self.ruts.push(Ruts::new(steep));
        self.ruts.len() - 1
    }

    /// Adds a shape that may press on a ground; its number. `cylinder` is its radius and half its length.
    pub(crate) fn add(
        &mut self,
        ground: usize,
        soil: Soil,
        form: &SoilShapeModel,
        cylinder: Option<[f64; 2]>,
    ) -> usize {
        let wheel = cylinder.map(|[radius, half]| Wheel::new(radius, half));
        let patch = Patch::new(Law::new(soil, GROUSERS * form.grousers, self.gravity));
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

    /// Lays out what of a shape is in the soil below a plane, in its place at the middle of a substep in which it
    /// comes on by so much, m; `None` if nothing is.
    pub(crate) fn lay(
        &mut self,
        soil_patch: usize,
        place: (DVec3, DQuat),
        plane: (DVec3, f64),
        comes_on: f64,
    ) -> Option<Touch> {
        let SoilShape { ground, patch, wheel, plate, laid, rolls, .. } = &mut self.soil_patches[soil_patch];
        let ruts = &self.ruts[*ground];
        patch.clear(plane);
        *rolls = wheel.is_some() && Wheel::rolls(place.1, plane.0);
        let deepest = match wheel.as_mut().filter(|_| *rolls) {
            Some(wheel) => wheel.lay(patch, place, plane, comes_on, ruts, self.gravity),
            None => plate.lay(patch, place, plane, ruts, self.gravity),
        };
        *laid = deepest.is_some();
        let deepest = deepest?;
        Some(Touch { point: patch.middle, normal: plane.0, gap: -deepest })
    }

    /// All of a shape is above the ground in this substep.
    pub(crate) fn lift(&mut self, soil_patch: usize) {
        let SoilShape { wheel, laid, .. } = &mut self.soil_patches[soil_patch];
        *laid = false;
        wheel.iter_mut().for_each(Wheel::lift);
    }

    /// A substep counts: a shape that was out of the soil in it forgets it.
    pub(crate) fn settle(&mut self, soil_patch: usize) {
        let SoilShape { wheel, laid, rolls, .. } = &mut self.soil_patches[soil_patch];
        if !*laid {
            let edges = wheel.as_ref().filter(|_| *rolls).map(Wheel::edges).unwrap_or_default();
            self.forget(soil_patch);
            self.soil_patches[soil_patch].wheel.iter_mut().for_each(|wheel| wheel.set_edges(edges));
        }
    }

    /// A shape knows nothing of the soil any more.
    pub(crate) fn forget(&mut self, soil_patch: usize) {
        let SoilShape { patch, wheel, plate, inside, unread, .. } = &mut self.soil_patches[soil_patch];
        wheel.iter_mut().for_each(|wheel| wheel.set_edges(Default::default()));
        if std::mem::take(inside) {
            wheel.iter_mut().for_each(Wheel::forget);
            if let Some(wheel) = wheel.as_mut().filter(|_| *unread) {
                wheel.state.reading = None;
            }
            (patch.held, patch.stored, patch.drag, patch.kept) = ([0.0; 2], [0.0; 2], [0.0; 2], None);
            plate.forget();
        }
    }

    /// Begins a step: what is read of it is a mean over all of it.
    pub(crate) fn begin_step(&mut self) {
        self.soil_patches.iter_mut().for_each(|soil_patch| soil_patch.unread = true);
    }

    /// What soil does to a shape that rolls in it.
    pub(crate) fn reading(&self, soil_patch: usize) -> Option<SoilReading> {
        self.soil_patches[soil_patch].wheel.as_ref()?.reading()
    }

    /// What of a shape is in the soil.
    pub(crate) fn patch(&self, soil_patch: usize) -> &Patch {
        &self.soil_patches[soil_patch].patch
    }

    /// A substep of so many seconds, that share of its step, counts in which a shape had one twist at its start and another at its end.
    /// Force and moment on it about its patch's point were these; the work that they did on its motions, J, and what may brake these in the next substep, N s/m.
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
                Some(wheel) => wheel.forget(),
                None => plate.forget(),
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

    /// Keeps how soil answered a shape for its next step, if that was `good` enough: what was found anew, or what was kept before. It was `seen` to be
    /// off by so much for each unit of velocity from the guess, N s/m, if that was looked at.
    pub(crate) fn keep(&mut self, soil_patch: usize, answer: &Answer, good: bool, seen: Option<f64>) {
        let kept = &mut self.soil_patches[soil_patch].patch.kept;
        match (good, answer.kept) {
            (false, _) => *kept = None,
            (true, Some(anew)) => *kept = Some(anew),
            (true, None) => {}
        }
        kept.iter_mut().for_each(|kept| kept.age(seen));
    }

    /// How a ground of soil was left.
    pub(crate) fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.ruts[ground].cells().collect()
    }

    /// How deep each ground of soil was pressed, by its number.
    pub(crate) fn depths(&self) -> impl Iterator<Item = RutDepths> {
        self.ruts.iter().map(|ruts| ruts.depths().clone())
    }

    /// Adds the tiles of ruts that have changed; the ground of number k is the world's `grounds[k]`.
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

    /// How many shapes may press on a soil, counted for each soil.
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
        let fits = |(soil_patch, (wheel, states, held, _)): (&SoilShape, &SavedPrint)| {
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
