//! The account of energy that a tree keeps from step to step: what it has gained in all that nothing gave.
//!
//! The energy of a smooth motion swings to and fro: what some steps gain others lose. To take out each gain would brake the motion. Where the
//! scheme errs to one side, as with light links that turn by thousands of radians a second, small gains in all the parts of all
//! steps would let the energy grow. So gains pass as long as a tree has not gained more in all than a motion swings by. A loss goes off the
//! account, not below zero.

use crate::engine::{scheme::Scheme, state::tree::Tree};

/// Part of the largest kinetic energy of late that a tree may have gained: a crank and slider whose joints turn by 0.1 rad in a step swings by
/// 0.6e-3 of it.
const MAX_ACCUMULATED_GAIN: f64 = 8e-4;
/// How long that energy counts, s: longer than a mechanism that swings stands still.
const ENERGY_MEMORY: f64 = 10.0;
/// Nobody sees a speed below this, m/s: what a coupling or a stop that is corrected gives is no reason to slow an island down.
const NEGLIGIBLE_SPEED: f64 = 1e-3;

/// Part of its kinetic energy that an island of robots may gain in a substep, and part of all its energy, for rounding.
const ALLOWED_GAIN_FRACTION: f64 = 1e-4;
const ROUNDING_FRACTION: f64 = 1e-9;
/// Where a joint turns by a larger angle than this in a substep, rad, nothing is gained: the errors of the scheme are all there is. What moves
/// freely may turn twice as far ([`crate::engine::stepping::step_validation`]).
const MAX_TURN: f64 = 0.1;
const MAX_FREE_TURN: f64 = 0.2;

/// What an island may gain in a substep of `h` seconds, where something touches or closes a loop, by the error of the scheme and by rounding, J.
/// Where nothing touches, the part of the kinetic energy may be the cube of 1.5 times the angle that a joint
/// turns by, of thrice the angle in a loop: so much the energy of a smooth motion swings to and fro, and halving the steps in which it
/// swings up alone would let it drift. What moves freely swings by the fourth power, of which a step makes a part of the fifth ([`crate::engine::gauss`]). What all substeps gain together is
/// bounded by [`bound_accumulated_gain`].
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

/// Enters what an island gained in a substep that counts into the accounts of its trees, and takes out what is too much in all. Trees that touch give
/// each other energy, so each has gained the part of it that it has of the kinetic energy.
pub(crate) fn bound_accumulated_gain(island: &[usize], gain: f64, trees: &mut [Tree], scheme: &Scheme) {
    let own = || island.iter().map(|&tree| &trees[tree]);
    let kinetic: f64 = own().map(|tree| tree.work.kinetic).sum();
    if !(kinetic > 0.0) {
        return;
    }
    let whole: f64 = own().map(|tree| tree.work.energy.abs()).sum();
    // What is mostly gain itself was not there to be rounded.
    let whole = if gain > 0.5 * kinetic { (whole - gain).max(0.0) } else { whole };
    let rounding = scheme.time_fraction * ROUNDING_FRACTION * whole;
    let gain = if gain > 0.0 { (gain - rounding).max(0.0) } else { gain };
    // What they gained just now is no measure of what they may gain.
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

/// The energy of a motion that nobody sees, J.
pub(crate) fn negligible_energy<'a>(trees: impl Iterator<Item = &'a Tree>) -> f64 {
    let mass: f64 = trees.map(|tree| tree.topology.mass).sum();
    0.5 * mass * NEGLIGIBLE_SPEED * NEGLIGIBLE_SPEED
}
