//! What an island is brought back to in the last attempt at a substep: speeds that anything may have, and the energy that it had and was given. And
//! the bounds of what commands may say.

use super::island::Island;
use crate::engine::{constraints::Parts, scheme::Scheme};

/// What was too fast is left with this part of what is allowed, so that rounding does not make it too fast again.
const SPEED_MARGIN: f64 = 0.99;

impl Island {
    /// What would become faster than anything may be is made again in parts. In the last attempt it stays where it was, and all of the island is
    /// that much slower: than it became, and than the same rates of joints make it where it stays.
    pub(crate) fn limit_speeds(&mut self, parts: &mut Parts, scheme: &Scheme) {
        let fastest = |parts: &Parts| parts.trees.iter().map(|tree| tree.overspeed()).fold(0.0, f64::max);
        self.outcome.overspeed = fastest(parts);
        if !(self.outcome.overspeed > 1.0) {
            self.outcome.overspeed = 0.0;
        } else if self.options.accept_unconverged {
            for tree in parts.trees.iter_mut() {
                tree.restore_position_without_work();
                tree.update_kinematics(scheme.gravity);
            }
            let share = SPEED_MARGIN / self.outcome.overspeed.max(fastest(parts));
            for tree in parts.trees.iter_mut() {
                tree.scale_velocity(share);
                tree.update_kinematics(scheme.gravity);
            }
        }
    }

    /// Slows all down until the energy is what it was before and what came in. Where there is more of it in heights and springs alone,
    /// it stays where it was.
    pub(crate) fn remove_energy(&mut self, parts: &mut Parts, scheme: &Scheme) {
        self.outcome.energy_removed = self.outcome.energy_error;
        let kinetic: f64 = parts.trees.iter().map(|tree| tree.work.kinetic).sum();
        let share = 1.0 - self.outcome.energy_error / kinetic;
        if !(share > 0.0) {
            self.restore_at_rest(parts, scheme);
            return;
        }
        for tree in parts.trees.iter_mut() {
            tree.scale_velocity(share.sqrt());
            tree.update_kinematics(scheme.gravity);
        }
        self.update_energy_error(parts);
    }

    /// Lets all of it rest where it was at the start of the substep.
    pub(crate) fn restore_at_rest(&mut self, parts: &mut Parts, scheme: &Scheme) {
        for tree in parts.trees.iter_mut() {
            tree.restore_at_rest();
            tree.update_kinematics(scheme.gravity);
        }
        self.update_energy_error(parts);
    }
}
