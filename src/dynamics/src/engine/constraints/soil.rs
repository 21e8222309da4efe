//! Soil under a shape: contribution of its wrench to the equations of motion of a substep.
//!
//! The wrench depends on the velocity at the end of the substep. Near a guess it is linear in that velocity, and goes
//! into the mass matrix ([`crate::engine::equations::damping`]): it has no bounds, so the solvers have nothing to
//! decide. If the soil responds differently at the velocity found, that velocity is the next guess.

use super::{
    island_parts::IslandParts,
    island_rows::Constraints,
    soil_contact::{Search, SoilContacts, length},
};
use crate::engine::{algebra::spatial::Spatial, collision::Contact, scheme::Scheme, soil::SoilPatches};

/// Relative difference between the wrench at the velocity found and the assumed one up to which a guess is accepted:
/// over a step it is an error of second order already.
const WRENCH_TOLERANCE: f64 = 1e-4;
/// Relative error of the wrench above which the response is computed anew in the next step: half of the error that has
/// this step solved again.
const STORE_TOLERANCE: f64 = 0.5 * WRENCH_TOLERANCE;

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
