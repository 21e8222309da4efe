//! Fallback limits of the last attempt at a substep. Speeds are clamped to the permitted maximum, and the energy to the
//! initial energy plus the work input.

use super::island::Island;
use crate::engine::{constraints::IslandParts, scheme::Scheme};

/// Fraction of the permitted speed that is left after clamping, so that rounding does not exceed it again.
const SPEED_MARGIN: f64 = 0.99;

impl Island {
    /// Computes the overspeed of the island. An attempt with overspeed is repeated in parts. If it is accepted
    /// unconverged, the island stays at its initial position. All its velocities are then scaled so that nothing
    /// exceeds the permitted speed, neither at the end of the substep nor with the same joint rates at the initial
    /// position.
    pub(crate) fn limit_speeds(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        let fastest = |parts: &IslandParts| parts.trees.iter().map(|tree| tree.overspeed_ratio()).fold(0.0, f64::max);
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

    /// Slows the island down until it has its initial energy plus the work input. If potential energy alone exceeds
    /// that, it stays at its initial position, at rest.
    pub(crate) fn remove_energy(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
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

    /// Restores the positions at the start of the substep, at rest.
    pub(crate) fn restore_at_rest(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        for tree in parts.trees.iter_mut() {
            tree.restore_at_rest();
            tree.update_kinematics(scheme.gravity);
        }
        self.update_energy_error(parts);
    }
}
