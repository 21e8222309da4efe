//! The work of a step: what draws from its budget, and how it is counted.
//!
//! The unit is a sweep over the constraints of an island. What is no sweep counts by its multiplications: Newton's iterations,
//! eliminations of the homotopy, and what an attempt at a substep costs beside its solves: collision, equations of motion, rows of constraints.
//! Nothing is measured by a clock, so that a step is the same on any machine.
//!
//! ```text
//! attempt = min(MOST_SETUP, ROWS + (A_LINK links + A_CONTACT contacts) / multiplications of a sweep) + sweeps
//!           + passes after the first * (ROWS + sweeps)
//! ```
//!
//! An attempt may spend half of the work that falls to its length, see [`super::division`]. When no work is left for two more attempts, an
//! island is not halved any more, and nothing in it bounces at a time of its own; when none is left for a pass, the last one counts. So
//! after its end the budget is exceeded by one attempt for each level of division that is still open, about ten of them, at most.

use super::{constraint::Parts, problem::Problem, problem::Scheme, tree::Tree};

/// What the rows of all constraints cost to set up, in sweeps over them: their Jacobians and columns. Measured: 7 to 20.
const ROWS: f64 = 10.0;
/// What a link costs in an attempt (kinematics thrice, inertias, forces, reactions), and the search for a contact, in multiplications.
const A_LINK: f64 = 1500.0;
const A_CONTACT: f64 = 1500.0;
/// An attempt counts as no more than this beside its solves, in sweeps, so that a robot of many links with few constraints may be divided as often as one
/// with many.
const MOST_SETUP: f64 = 20.0;
/// Sweeps that an attempt may make however short it is, as long as there is work: enough for what is easy.
const LEAST_SWEEPS: f64 = 8.0;
/// What an attempt costs at least where it may need all its setup.
const LEAST_OF_AN_ATTEMPT: f64 = MOST_SETUP + LEAST_SWEEPS;
/// Attempts at an impact: flights to it, the blow, what follows.
const ATTEMPTS_OF_AN_IMPACT: f64 = 6.0;
/// Work that the passes of an attempt may cost however short it is, likewise: four easy ones.
const LEAST_OF_PASSES: f64 = 100.0;

/// The work of an attempt at a substep of an island, in sweeps.
#[derive(Debug)]
pub(super) struct Budget {
    /// What was left of the step's before it, and what it has spent.
    left: f64,
    spent: f64,
    /// What all solves may cost together, and what all passes may.
    sweeps: f64,
    passes: f64,
    /// What the solves have cost.
    swept: f64,
}

impl Budget {
    /// Begins an attempt at an island whose rows are set up.
    pub(super) fn begin(parts: &Parts, scheme: &Scheme, problem: &Problem) -> Self {
        let spent = parts.trees.iter().map(|tree| tree.work.spent).fold(0.0, f64::max);
        let left = (scheme.budget - spent).max(0.0);
        let links: usize = parts.trees.iter().map(|tree| tree.topology.links.len()).sum();
        let beside = A_LINK * links as f64 + A_CONTACT * parts.own_contacts.len() as f64;
        Self {
            left,
            // Without any rows there is no sweep to compare with: the most.
            spent: MOST_SETUP.min(ROWS + beside / problem.sweep_cost()),
            sweeps: (scheme.work * left).max(LEAST_SWEEPS.min(left)),
            passes: (2.0 * scheme.work * left).max(LEAST_OF_PASSES.min(left)),
            swept: 0.0,
        }
    }

    /// What the next solve may cost, in sweeps.
    pub(super) fn sweeps(&self) -> f64 {
        self.sweeps - self.swept
    }

    /// Enters what a solve has cost. Returns what all of them have.
    pub(super) fn sweep(&mut self, sweeps: f64) -> f64 {
        self.swept += sweeps;
        self.spent += sweeps;
        self.swept
    }

    /// Whether another pass may be made.
    pub(super) fn affords_a_pass(&self) -> bool {
        self.spent + ROWS < self.passes
    }

    /// Enters that another pass begins.
    pub(super) fn begin_pass(&mut self) {
        self.spent += ROWS;
    }

    /// Enters what the attempt has cost into its trees' accounts.
    pub(super) fn end(&self, parts: &mut Parts, scheme: &Scheme) {
        let spent = scheme.budget - self.left + self.spent;
        parts.trees.iter_mut().for_each(|tree| tree.work.spent = spent.max(tree.work.spent + self.spent));
    }
}

impl Scheme {
    /// Whether there is work enough for a substep with this tree to be made again in two parts.
    pub(super) fn affords_halves(&self, tree: &Tree) -> bool {
        (self.budget - tree.work.spent) * self.fair >= 2.0 * LEAST_OF_AN_ATTEMPT
    }

    /// Whether there is work enough for this tree to bounce at a time of its own, however near.
    pub(super) fn affords_an_impact(&self, tree: &Tree) -> bool {
        self.budget - tree.work.spent >= ATTEMPTS_OF_AN_IMPACT * LEAST_OF_AN_ATTEMPT
    }
}
