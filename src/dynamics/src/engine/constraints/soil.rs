//! Soil under a shape: what its wrench over the substep adds to the equations of motion.
//!
//! The wrench depends on the velocity at the end of the substep. Near a guess it is linear in that, and goes into the
//! mass matrix ([`crate::engine::equations::damping`]): nothing bounds it, so the solvers have nothing to find. Where
//! the soil turns out to answer otherwise at the velocity that was found, that is the next guess.

use std::ops::Range;

use bevy_math::DVec3;

use super::{Constraints, Contact, IslandParts};
use crate::engine::{
    algebra::spatial::Spatial,
    equations::damping::{MotionSubspace, Vector6},
    scheme::Scheme,
    soil::{SoilForces, SoilPatches, SoilResponse},
};

/// A guess is good enough if the wrench at the velocity that was found is the one that was assumed to this part of it:
/// over a step that is an error of second order already.
const NEAR: f64 = 1e-4;
/// How soil answers is found anew in the next step if the wrench was off by more than this part: half of what would
/// have this step solved again.
const KEPT: f64 = 0.5 * NEAR;

/// Part of what soil may give that a search for its brake aims at: anything less will do.
const PAYS: f64 = 0.5;
/// A brake that is expected in the next substep has soil take this part of what its wrench would do along the way: at
/// less, every other substep would have to be solved again.
const TAKES: f64 = 0.02;
/// A brake grows by no more than this in a pass, as a part of itself and of what it would take at the same speed.
const FASTER: f64 = 100.0;

/// A contact with soil in this substep. Six numbers are about its patch's point.
#[derive(Debug, Clone)]
struct SoilContact {
    contact: usize,
    soil_patch: usize,
    /// What moves its link, as a range of the tree's chains.
    chain: Range<usize>,
    answer: SoilResponse,
    /// Whether the guess is another one than that of the answer; and whether this was as good as to be kept.
    is_new: bool,
    is_good: bool,
    /// By how much the answer was seen to be off in this pass, for each unit of velocity from the guess, N s/m.
    seen: Option<f64>,
    /// The twist at the start, as guessed for the end, and as found; and the wrench that this means.
    before: Vector6,
    guess: Vector6,
    after: Vector6,
    wrench: Vector6,
    /// The motions that it may brake ([`Patch::limited_motions`]), and how.
    motions: [MotionSubspace; 2],
    brakes: [Brake; 2],
}

/// What soil holds back of its wrench, in proportion to the mean velocity, so that it gives no more than it holds.
#[derive(Debug, Clone, Copy, Default)]
struct Brake {
    /// Force for a velocity, N s/m, and the same of the pass before, with one over the speed then, s/m.
    drag: f64,
    last: Option<[f64; 2]>,
}

impl Brake {
    /// Brakes more where soil did more work than it may, J, at a mean velocity of this length in a substep of h
    /// seconds.
    ///
    /// The brake k slows a shape to the speed 1/y, which is that of something with a mass and a damper if y = y_1 + c
    /// (k - k_1), where c follows from the last two passes. With F the force along the way without the brake, soil does
    /// the work h (F y - k)/y², which shall be W.
    fn grow(&mut self, work: f64, gives: f64, speed: f64, h: f64) {
        let (power, slow) = (PAYS * gives / h, 1.0 / speed);
        let force = work / (h * speed) + self.drag * speed;
        let yields = self.last.map_or(0.0, |[drag, before]| ((slow - before) / (self.drag - drag)).max(0.0));
        // power c² d² - b d - a = 0 for d = k - k_1.
        let a = (force - power * slow) * slow - self.drag;
        let b = force * yields - 1.0 - 2.0 * power * slow * yields;
        let more = 2.0 * a / ((b * b + 4.0 * power * yields * yields * a).sqrt() - b);
        self.last = Some([self.drag, slow]);
        self.drag += more.min(FASTER * (self.drag + a));
    }

    /// What brakes as much in the next substep if all goes on as in this one, in which soil did this work with that
    /// force.
    fn expected(&self, work: f64, gives: f64, [force, speed]: [f64; 2], h: f64) -> f64 {
        let more = ((work - PAYS * gives) / (h * speed) + TAKES * force) / speed;
        if speed > 0.0 { (self.drag + more).max(0.0) } else { 0.0 }
    }
}

impl SoilContact {
    /// Force and moment, of a patch of this size.
    fn force(&self, size: f64) -> (DVec3, DVec3) {
        let [x, y, z, u, v, w] = self.wrench;
        (DVec3::new(x, y, z), DVec3::new(u, v, w) * size)
    }

    /// The work of the soil on the shape's motions with this wrench, J: of all of it, and of pressure on the second.
    fn works(&self, wrench: &Vector6, h: f64) -> [f64; 2] {
        let [x, y, z] = self.answer.found.pressed.to_array();
        let [all, along] = self.motions.map(|motion| motion.of(&self.mean()));
        let pressed = dot(&along, &[x, y, z, 0.0, 0.0, 0.0]) - self.brakes[1].drag * dot(&along, &along);
        [h * dot(&all, wrench), h * pressed]
    }

    /// The mean twist.
    fn mean(&self) -> Vector6 {
        mean(&self.before, &self.after)
    }

    /// What may brake each motion in the next substep: nothing that has more than enough to give.
    fn next_drag(&self, works: [f64; 2], h: f64) -> [f64; 2] {
        let (mean, SoilForces { gives, .. }) = (self.mean(), self.answer.found);
        [0, 1].map(|k| {
            if self.brakes[k].drag == 0.0 && works[k] <= PAYS * gives[k] {
                return 0.0;
            }
            let lengths = [&self.wrench, &mean].map(|six| length(&self.motions[k].of(six)));
            self.brakes[k].expected(works[k], gives[k], lengths, h)
        })
    }
}

impl Constraints {
    /// Puts what soil does to the trees into their equations of motion; `again` with the guesses that were found.
    pub(crate) fn update_soil(&mut self, parts: &mut IslandParts, scheme: &Scheme, again: bool) {
        let soil = &mut self.soil;
        if !again {
            soil.find(parts, scheme.h);
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
                    contact.answer.response.drag(brake.drag, motion, [&contact.before, &contact.guess]);
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

    /// Whether soil presses as was assumed; otherwise what was found is the next guess. Where something else does not
    /// `stand`, the search begins anew from there.
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
            // Nearly all steps end as near to the guess as this.
            let is_near = contact.answer.trust.error(length(&change)) <= NEAR * length(&contact.wrench);
            let (works, mean) = (contact.works(&contact.wrench, scheme.h), contact.mean());
            let pays = |works: [f64; 2], gives: [f64; 2]| works[0] <= gives[0] && works[1] <= gives[1];
            contact.seen = None;
            if is_near && pays(works, contact.answer.found.gives) {
                continue;
            }
            let mut found = patch.compute_forces(&contact.before, &contact.after, scheme.h);
            for (brake, motion) in contact.brakes.iter().zip(&contact.motions) {
                let moves = motion.of(&mean);
                found.wrench = std::array::from_fn(|row| found.wrench[row] - brake.drag * moves[row]);
            }
            if !stands {
                *search = Search::default();
            }
            contact.answer.found = found;
            let works = contact.works(&found.wrench, scheme.h);
            if !pays(works, found.gives) {
                for (k, brake) in contact.brakes.iter_mut().enumerate() {
                    if works[k] > found.gives[k] {
                        brake.grow(works[k], found.gives[k], length(&contact.motions[k].of(&mean)), scheme.h);
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
            contact.is_good = off <= KEPT * KEPT * whole;
            if !(off <= NEAR * NEAR * whole) {
                settles = false;
                contact.guess = search.next(patch.up, contact.guess, contact.after);
                contact.is_new = true;
            }
        }
        settles
    }

    /// What soil did to the links, for [`Constraints::apply_contact_forces`].
    pub(super) fn push_by_soil(&self, parts: &mut IslandParts) {
        for soil in &self.soil.contacts {
            let patch = parts.soil_patches.patch(soil.soil_patch);
            let ((force, moment), point) = (soil.force(patch.size), patch.point);
            parts.push(parts.contacts[soil.contact].b, Spatial::new(moment, force), point);
        }
    }

    /// Whether anything is in soil.
    pub(crate) fn has_soil(&self) -> bool {
        !self.soil.contacts.is_empty()
    }

    /// Adds the work of soil to what came into the trees, J: it takes, and gives back no more than it held when the
    /// substep began. What is more comes from nowhere.
    pub(super) fn add_soil_work(&self, parts: &mut IslandParts, h: f64) {
        for soil in &self.soil.contacts {
            let work = soil.works(&soil.wrench, h)[0].min(soil.answer.found.gives[0]);
            if let Some(tree) = parts.tree_mut(parts.contacts[soil.contact].b) {
                tree.work.substep_work += work;
            }
        }
    }

    /// Gives contacts their impulses, and lets the soil go on.
    pub(super) fn write_back_soil(&self, contacts: &mut [Contact], soil_patches: &mut SoilPatches, scheme: &Scheme) {
        for soil in &self.soil.contacts {
            let (contact, patch) = (&mut contacts[soil.contact], soil_patches.patch(soil.soil_patch));
            let (force, moment) = soil.force(patch.size);
            // A contact's moment is about its own point.
            let spin = moment + (patch.point - contact.point).cross(force);
            (contact.impulse, contact.spin_impulse) = (force * scheme.h, spin * scheme.h);
            let works = soil.works(&soil.wrench, scheme.h);
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

/// The search for the twist at the end: Newton's method, kept between a guess at which soil pushes too much and one at
/// which it pushes too little. Pressed soil lets go within a hair, and Newton's method alone jumps from one side of
/// that to the other.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    /// Guesses at which the shape rises more slowly than it will, and faster.
    slower: Option<Vector6>,
    faster: Option<Vector6>,
}

impl Search {
    /// The guess after one that led to a twist.
    fn next(&mut self, up: DVec3, guess: Vector6, found: Vector6) -> Vector6 {
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

/// The contacts of an island with soil.
#[derive(Debug, Default)]
pub(super) struct SoilContacts {
    contacts: Vec<SoilContact>,
    searches: Vec<Search>,
}

impl SoilContacts {
    /// Finds them, how they move, to the end of the substep as in the last one, for a first guess, and how soil answers
    /// that.
    fn find(&mut self, parts: &IslandParts, h: f64) {
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
                    // It holds nothing back that is not there.
                    let [force, speed] =
                        [&answer.response.wrench, &mean(&before, &guess)].map(|six| length(&motion.of(six)));
                    brakes[k].drag = patch.drag[k].min(force / speed.max(f64::MIN_POSITIVE));
                    answer.response.drag(brakes[k].drag, motion, [&before, &guess]);
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
