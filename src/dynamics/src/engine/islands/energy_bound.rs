//! Energy bound: limits of the energy that an island may gain from nothing, in a substep and in total.
//!
//! The energy of smooth motion oscillates: gains in some steps are losses in others. Removing each gain would brake the
//! motion. But where the error of the scheme has one sign, as with light links that turn by thousands of radians a
//! second, small gains in all substeps add up. So gains are allowed until the accumulated gain of a tree exceeds the
//! oscillation of a smooth motion. A loss reduces the accumulated gain, not below zero.

use crate::engine::{scheme::Scheme, state::tree::Tree};

/// Largest accumulated gain of a tree, as a fraction of its largest recent kinetic energy. A crank and slider whose
/// joints turn by 0.1 rad in a step oscillates by 0.6e-3 of it.
const MAX_ACCUMULATED_GAIN: f64 = 8e-4;
/// Time constant of that largest kinetic energy, s: longer than the standstill of an oscillating mechanism.
const ENERGY_MEMORY: f64 = 10.0;
/// Speed below which motion is invisible, m/s. Corrections of couplings and stops cause such speeds, and must not slow
/// an island down.
const NEGLIGIBLE_SPEED: f64 = 1e-3;

/// Allowed gain of an island of robots in a substep: as a fraction of its kinetic energy, and for rounding as a
/// fraction of all its energy.
const ALLOWED_GAIN_FRACTION: f64 = 1e-4;
const ROUNDING_FRACTION: f64 = 1e-9;
/// Joint rotation in a substep above which no gain is allowed, rad, because any gain is then an error of the scheme.
/// Gauss's method may turn twice as far ([`crate::engine::stepping::step_validation`]).
const MAX_TURN: f64 = 0.1;
const MAX_FREE_TURN: f64 = 0.2;

/// Allowed gain of an island in a substep of `h` seconds by errors of the scheme and by rounding, J. `[touches,
/// closes]` are true if the island has contacts, and if it has loop joints.
///
/// With contacts, it is a fixed fraction of the kinetic energy. Without, the fraction may be the cube of 1.5 times the
/// joint rotation, in a loop of 3 times: smooth motion oscillates that much, and halving only the steps that gain would
/// make it drift. Gauss's method oscillates by the fourth power, of which a step makes a fraction of the fifth
/// ([`crate::engine::gauss`]). [`bound_accumulated_gain`] bounds the sum over all substeps.
pub(crate) fn allowed_gain<'a>(
    trees: impl Iterator<Item = &'a Tree> + Clone,
    [touches, closes]: [bool; 2],
    converged: bool,
    h: f64,
) -> f64 {
    let kinetic: f64 = trees.clone().map(|tree| tree.work.kinetic).sum();
    let whole: f64 = trees.clone().map(|tree| tree.work.energy.abs()).sum();
    let is_complete = trees.clone().all(|tree| tree.work.is_complete);
    let fastest = trees.map(|tree| tree.work.fastest_joint.0).fold(0.0, f64::max);
    let part = match fastest * h {
        _ if !converged => 0.0,
        turn if turn > if is_complete { MAX_FREE_TURN } else { MAX_TURN } => 0.0,
        _ if touches => ALLOWED_GAIN_FRACTION,
        turn if is_complete => ALLOWED_GAIN_FRACTION.max(turn.powi(5)),
        turn if closes => ALLOWED_GAIN_FRACTION.max((3.0 * turn).powi(3)),
        turn => ALLOWED_GAIN_FRACTION.max((1.5 * turn).powi(3)),
    };
    part * kinetic + ROUNDING_FRACTION * whole
}

/// Adds the gain of an accepted substep to the accumulated gains of an island's trees. Removes the excess by slowing
/// all its trees down. Trees in contact exchange energy, so each takes the part of the gain that corresponds to its
/// kinetic energy.
pub(crate) fn bound_accumulated_gain(island: &[usize], gain: f64, trees: &mut [Tree], scheme: &Scheme) {
    let own = || island.iter().map(|&tree| &trees[tree]);
    let kinetic: f64 = own().map(|tree| tree.work.kinetic).sum();
    if !(kinetic > 0.0) {
        return;
    }
    let whole: f64 = own().map(|tree| tree.work.energy.abs()).sum();
    // A large gain is new energy, which has no rounding error from before.
    let whole = if gain > 0.5 * kinetic { (whole - gain).max(0.0) } else { whole };
    let rounding = scheme.time_fraction * ROUNDING_FRACTION * whole;
    let gain = if gain > 0.0 { (gain - rounding).max(0.0) } else { gain };
    // The present gain does not count for the allowed gain.
    let without_gain = 1.0 - gain.max(0.0) / kinetic;
    let (mut before, mut most) = (0.0, negligible_energy(own()));
    for &tree in island {
        let Tree { state, work, .. } = &mut trees[tree];
        state.recent_max_kinetic *= 1.0 - scheme.h / ENERGY_MEMORY;
        let kinetic = (work.kinetic * without_gain).max(state.recent_max_kinetic);
        (before, most) = (before + state.accumulated_gain, most + MAX_ACCUMULATED_GAIN * kinetic);
    }
    let excess = (before + gain - most).min(gain).max(0.0);
    for &tree in island {
        let tree = &mut trees[tree];
        let part = tree.work.kinetic / kinetic;
        tree.state.accumulated_gain = (tree.state.accumulated_gain + (gain - excess) * part).max(0.0);
        if excess > 0.0 {
            let left = (1.0 - excess / kinetic).max(0.0).sqrt();
            tree.state.v.iter_mut().for_each(|v| *v *= left);
            tree.update_kinematics(scheme.gravity);
        }
        tree.state.recent_max_kinetic = tree.work.kinetic.max(tree.state.recent_max_kinetic);
    }
}

/// Kinetic energy of an invisible motion, J.
pub(crate) fn negligible_energy<'a>(trees: impl Iterator<Item = &'a Tree>) -> f64 {
    let mass: f64 = trees.map(|tree| tree.topology.mass).sum();
    0.5 * mass * NEGLIGIBLE_SPEED * NEGLIGIBLE_SPEED
}
