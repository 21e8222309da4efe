//! Soil under a shape: contribution of its wrench to the equations of motion of a substep.
//!
//! The wrench depends on the velocity at the end of the substep. Near a guess it is linear in that velocity, and goes
//! into the mass matrix ([`crate::engine::equations::damping`]): it has no bounds, so the solvers have nothing to
//! decide. If the soil responds differently at the velocity found, that velocity is the next guess.

use std::ops::Range;

use bevy_math::DVec3;

use super::{Constraints, Contact, IslandParts};
use crate::engine::{
    algebra::spatial::Spatial,
    equations::damping::{MotionSubspace, Vector6},
    scheme::Scheme,
    soil::{SoilForces, SoilPatches, SoilResponse},
};

/// Relative difference between the wrench at the velocity found and the assumed one up to which a guess is accepted:
/// over a step it is an error of second order already.
const WRENCH_TOLERANCE: f64 = 1e-4;
/// Relative error of the wrench above which the response is computed anew in the next step: half of the error that has
/// this step solved again.
const STORE_TOLERANCE: f64 = 0.5 * WRENCH_TOLERANCE;

/// Fraction of the energy that soil may give which the search for its brake aims at: any smaller energy is acceptable.
const TARGET_ENERGY_FRACTION: f64 = 0.5;
/// Fraction of the work of the wrench along the motion that the expected brake of the next substep absorbs. With less,
/// every other substep would have to be solved again.
const EXPECTED_BRAKE_FRACTION: f64 = 0.02;
/// Largest growth of a brake in a pass, in multiples of the sum of the brake and the drag that would be needed at the
/// same speed.
const MAX_BRAKE_GROWTH: f64 = 100.0;

/// A contact with soil in this substep. Twists and wrenches are six numbers about its patch's point.
#[derive(Debug, Clone)]
struct SoilContact {
    contact: usize,
    soil_patch: usize,
    /// Degrees of freedom that move its link, as a range of the tree's chains.
    chain: Range<usize>,
    answer: SoilResponse,
    /// True if the guess has changed since the response was computed; and if the response is good enough to be stored.
    is_new: bool,
    is_good: bool,
    /// Measured error of the response in this pass, for each unit of velocity from the guess, N s/m.
    seen: Option<f64>,
    /// Twists: at the start, the guess for the end, and the one found for the end. Then the wrench that follows from
    /// it.
    before: Vector6,
    guess: Vector6,
    after: Vector6,
    wrench: Vector6,
    /// Motions that it may brake ([`Patch::limited_motions`]), and their brakes.
    motions: [MotionSubspace; 2],
    brakes: [Brake; 2],
}

/// Brake: a part of the soil's wrench that is withheld in proportion to the mean velocity, so that soil gives no more
/// energy than it holds.
#[derive(Debug, Clone, Copy, Default)]
struct Brake {
    /// Force for a unit velocity, N s/m, and the same of the pass before, with the inverse of the speed then, s/m.
    drag: f64,
    last: Option<[f64; 2]>,
}

impl Brake {
    /// Increases the brake if the soil did more `work` than it may give, J, at a mean velocity of the length `speed` in
    /// a substep of h seconds.
    ///
    /// The brake k slows a shape to the speed 1/y. With mass and damping, y = y_1 + c (k - k_1), where c follows from
    /// the last two passes. With F the force along the motion without the brake, soil does the work h (F y - k)/y²,
    /// which shall be W.
    fn increase_brake(&mut self, work: f64, gives: f64, speed: f64, h: f64) {
        let (power, slow) = (TARGET_ENERGY_FRACTION * gives / h, 1.0 / speed);
        let force = work / (h * speed) + self.drag * speed;
        let yields = self.last.map_or(0.0, |[drag, before]| ((slow - before) / (self.drag - drag)).max(0.0));
        // The power is quadratic: c² d² - b d - a = 0 for d = k - k_1.
        let a = (force - power * slow) * slow - self.drag;
        let b = force * yields - 1.0 - 2.0 * power * slow * yields;
        let more = 2.0 * a / ((b * b + 4.0 * power * yields * yields * a).sqrt() - b);
        self.last = Some([self.drag, slow]);
        self.drag += more.min(MAX_BRAKE_GROWTH * (self.drag + a));
    }

    /// Brake that is expected for the next substep if the motion continues as in this one, in which soil did this work
    /// with this force.
    fn expected_brake(&self, work: f64, gives: f64, [force, speed]: [f64; 2], h: f64) -> f64 {
        let more = ((work - TARGET_ENERGY_FRACTION * gives) / (h * speed) + EXPECTED_BRAKE_FRACTION * force) / speed;
        if speed > 0.0 { (self.drag + more).max(0.0) } else { 0.0 }
    }
}

impl SoilContact {
    /// Force, N, and moment, N m, for a patch of this size, m.
    fn force_and_moment(&self, size: f64) -> (DVec3, DVec3) {
        let [x, y, z, u, v, w] = self.wrench;
        (DVec3::new(x, y, z), DVec3::new(u, v, w) * size)
    }

    /// Work of the soil on the shape's two motions with this wrench, J: of the whole wrench, and of pressure.
    fn work_on_motions(&self, wrench: &Vector6, h: f64) -> [f64; 2] {
        let [x, y, z] = self.answer.found.pressed.to_array();
        let [all, along] = self.motions.map(|motion| motion.project(&self.mean_twist()));
        let pressed = dot(&along, &[x, y, z, 0.0, 0.0, 0.0]) - self.brakes[1].drag * dot(&along, &along);
        [h * dot(&all, wrench), h * pressed]
    }

    /// Mean twist of the substep.
    fn mean_twist(&self) -> Vector6 {
        mean(&self.before, &self.after)
    }

    /// Brakes of both motions for the next substep, N s/m: zero for a motion to which soil can give more than enough
    /// energy.
    fn next_drag(&self, works: [f64; 2], h: f64) -> [f64; 2] {
        let (mean, SoilForces { gives, .. }) = (self.mean_twist(), self.answer.found);
        [0, 1].map(|k| {
            if self.brakes[k].drag == 0.0 && works[k] <= TARGET_ENERGY_FRACTION * gives[k] {
                return 0.0;
            }
            let lengths = [&self.wrench, &mean].map(|six| length(&self.motions[k].project(six)));
            self.brakes[k].expected_brake(works[k], gives[k], lengths, h)
        })
    }
}

impl Constraints {
    /// Adds the responses of soil to the equations of motion of the trees; `again` with the new guesses.
    pub(crate) fn update_soil(&mut self, parts: &mut IslandParts, scheme: &Scheme, again: bool) {
        let soil = &mut self.soil;
        if !again {
            soil.find_contacts(parts, scheme.h);
        }
        if soil.contacts.is_empty() {
            return;
        }
        if again {
            parts.trees.iter_mut().for_each(|tree| tree.clear_damping());
        }
        for contact in &mut soil.contacts {
            let patch = parts.soil_patches.patch(contact.soil_patch);
            let place = (patch.point, patch.size);
            if std::mem::take(&mut contact.is_new) {
                contact.answer = patch.compute_response(&contact.before, &contact.guess, scheme.h, true);
                for (brake, motion) in contact.brakes.iter().zip(&contact.motions) {
                    contact.answer.response.add_drag(brake.drag, motion, [&contact.before, &contact.guess]);
                }
            }
            let change = std::array::from_fn(|k| contact.before[k] - contact.guess[k]);
            if let Some(tree) = parts.tree_mut(parts.contacts[contact.contact].b) {
                tree.add_damping(contact.chain.clone(), place, &contact.answer.response, &change, scheme.h);
            }
        }
        if again {
            parts
                .trees
                .iter_mut()
                .filter(|tree| tree.work.has_damping)
                .for_each(|tree| tree.set_free_velocity(scheme.h));
        }
    }

    /// True if the soil responds as assumed. Otherwise the twists found are the next guesses. If something else has
    /// changed (not `stands`), the search starts anew from there.
    pub(crate) fn soil_converged(&mut self, parts: &IslandParts, scheme: &Scheme, stands: bool) -> bool {
        let SoilContacts { contacts, searches } = &mut self.soil;
        let mut settles = true;
        for (contact, search) in contacts.iter_mut().zip(searches) {
            let Some(tree) = parts.tree(parts.contacts[contact.contact].b) else { continue };
            let (patch, work, v) = (parts.soil_patches.patch(contact.soil_patch), &tree.work, &tree.state.v);
            contact.after = tree.twist_at(contact.chain.clone(), (patch.point, patch.size), |dof| {
                v[dof] + work.dv_free[dof] + work.dv_impulse[dof]
            });
            let change = std::array::from_fn(|k| contact.after[k] - contact.guess[k]);
            contact.wrench = contact.answer.response.wrench_at(&change);
            // Nearly all steps end this close to the guess.
            let is_near = contact.answer.trust.error(length(&change)) <= WRENCH_TOLERANCE * length(&contact.wrench);
            let (works, mean) = (contact.work_on_motions(&contact.wrench, scheme.h), contact.mean_twist());
            let pays = |works: [f64; 2], gives: [f64; 2]| works[0] <= gives[0] && works[1] <= gives[1];
            contact.seen = None;
            if is_near && pays(works, contact.answer.found.gives) {
                continue;
            }
            let mut found = patch.compute_forces(&contact.before, &contact.after, scheme.h);
            for (brake, motion) in contact.brakes.iter().zip(&contact.motions) {
                let moves = motion.project(&mean);
                found.wrench = std::array::from_fn(|row| found.wrench[row] - brake.drag * moves[row]);
            }
            if !stands {
                *search = Search::default();
            }
            contact.answer.found = found;
            let works = contact.work_on_motions(&found.wrench, scheme.h);
            if !pays(works, found.gives) {
                for (k, brake) in contact.brakes.iter_mut().enumerate() {
                    if works[k] > found.gives[k] {
                        brake.increase_brake(
                            works[k],
                            found.gives[k],
                            length(&contact.motions[k].project(&mean)),
                            scheme.h,
                        );
                    }
                }
                (contact.guess, contact.is_new, settles) = (contact.after, true, false);
                *search = Search::default();
                continue;
            }
            let (mut off, mut whole) = (0.0, 0.0);
            for (found, assumed) in found.wrench.into_iter().zip(contact.wrench) {
                off += (found - assumed) * (found - assumed);
                whole += found * found + assumed * assumed;
            }
            let change = length(&change);
            contact.seen = (change > 0.0).then(|| off.sqrt() / change);
            contact.is_good = off <= STORE_TOLERANCE * STORE_TOLERANCE * whole;
            if !(off <= WRENCH_TOLERANCE * WRENCH_TOLERANCE * whole) {
                settles = false;
                contact.guess = search.next_guess(patch.up, contact.guess, contact.after);
                contact.is_new = true;
            }
        }
        settles
    }

    /// Applies the wrenches of soil to the links, for [`Constraints::apply_contact_forces`].
    pub(super) fn apply_soil_forces(&self, parts: &mut IslandParts) {
        for soil in &self.soil.contacts {
            let patch = parts.soil_patches.patch(soil.soil_patch);
            let ((force, moment), point) = (soil.force_and_moment(patch.size), patch.point);
            parts.add_external_force(parts.contacts[soil.contact].b, Spatial::new(moment, force), point);
        }
    }

    /// True if anything is in soil.
    pub(crate) fn has_soil(&self) -> bool {
        !self.soil.contacts.is_empty()
    }

    /// Adds the work of soil to the work input of the trees, J. Soil takes energy, and gives back at most what it held
    /// at the start of the substep; any more is an error.
    pub(super) fn add_soil_work(&self, parts: &mut IslandParts, h: f64) {
        for soil in &self.soil.contacts {
            let work = soil.work_on_motions(&soil.wrench, h)[0].min(soil.answer.found.gives[0]);
            if let Some(tree) = parts.tree_mut(parts.contacts[soil.contact].b) {
                tree.work.substep_work += work;
            }
        }
    }

    /// Stores the impulses of soil in its contacts, and advances the state of the soil.
    pub(super) fn write_back_soil(&self, contacts: &mut [Contact], soil_patches: &mut SoilPatches, scheme: &Scheme) {
        for soil in &self.soil.contacts {
            let (contact, patch) = (&mut contacts[soil.contact], soil_patches.patch(soil.soil_patch));
            let (force, moment) = soil.force_and_moment(patch.size);
            // A contact's moment is about its own point.
            let spin = moment + (patch.point - contact.point).cross(force);
            (contact.impulse, contact.spin_impulse) = (force * scheme.h, spin * scheme.h);
            let works = soil.work_on_motions(&soil.wrench, scheme.h);
            soil_patches.advance(
                soil.soil_patch,
                [&soil.before, &soil.after],
                [force, moment],
                (&soil.answer.found, [works, soil.next_drag(works, scheme.h)]),
                [scheme.h, scheme.time_fraction],
            );
            soil_patches.store_response(soil.soil_patch, &soil.answer, soil.is_good, soil.seen);
        }
    }
}

/// Search for the twist at the end: Newton's method, bracketed between a guess at which soil pushes too much and one at
/// which it pushes too little. Pressed soil lets go within a tiny distance, where Newton's method alone would jump from
/// side to side.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    /// Guesses at which the shape rises more slowly than the solution, and faster.
    slower: Option<Vector6>,
    faster: Option<Vector6>,
}

impl Search {
    /// The next guess, after one that led to the twist `found`.
    fn next_guess(&mut self, up: DVec3, guess: Vector6, found: Vector6) -> Vector6 {
        let rise = |six: &Vector6| up.dot(DVec3::new(six[0], six[1], six[2]));
        if rise(&found) > rise(&guess) {
            self.slower = Some(guess)
        } else {
            self.faster = Some(guess)
        }
        match (&self.slower, &self.faster) {
            (Some(slower), Some(faster)) if !(rise(slower) < rise(&found) && rise(&found) < rise(faster)) => {
                std::array::from_fn(|k| 0.5 * (slower[k] + faster[k]))
            }
            _ => found,
        }
    }
}

fn mean(one: &Vector6, other: &Vector6) -> Vector6 {
    std::array::from_fn(|k| 0.5 * (one[k] + other[k]))
}

fn dot(one: &Vector6, other: &Vector6) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn length(six: &Vector6) -> f64 {
    dot(six, six).sqrt()
}

/// Contacts of an island with soil.
#[derive(Debug, Default)]
pub(super) struct SoilContacts {
    contacts: Vec<SoilContact>,
    searches: Vec<Search>,
}

impl SoilContacts {
    /// Finds the contacts, their initial guesses (the change of twist of the last substep), and the responses of the
    /// soil to these.
    fn find_contacts(&mut self, parts: &IslandParts, h: f64) {
        let Self { contacts, searches } = self;
        contacts.clear();
        for &index in parts.own_contacts {
            let contact = &parts.contacts[index];
            let Some((soil_patch, tree)) = contact.soil_patch.zip(parts.tree(contact.b)) else { continue };
            let Some(chain) = tree.chain_of(contact.b.link) else { continue };
            let (patch, v, last) = (parts.soil_patches.patch(soil_patch), &tree.state.v, &tree.state.last_dv);
            let place = (patch.point, patch.size);
            let before = tree.twist_at(chain.clone(), place, |dof| v[dof]);
            let guess = tree.twist_at(chain.clone(), place, |dof| v[dof] + last[dof]);
            let mut answer = patch.compute_response(&before, &guess, h, false);
            let (mut brakes, motions) = ([Brake::default(); 2], patch.limited_motions());
            for (k, motion) in motions.iter().enumerate() {
                if patch.drag[k] > 0.0 {
                    // A brake cannot withhold more than the force there is.
                    let [force, speed] =
                        [&answer.response.wrench, &mean(&before, &guess)].map(|six| length(&motion.project(six)));
                    brakes[k].drag = patch.drag[k].min(force / speed.max(f64::MIN_POSITIVE));
                    answer.response.add_drag(brakes[k].drag, motion, [&before, &guess]);
                }
            }
            contacts.push(SoilContact {
                contact: index,
                soil_patch,
                chain,
                answer,
                is_new: false,
                is_good: true,
                seen: None,
                before,
                guess,
                after: guess,
                wrench: [0.0; 6],
                motions,
                brakes,
            });
        }
        searches.clear();
        searches.resize(contacts.len(), Search::default());
    }
}
