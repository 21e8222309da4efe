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
//! The solves of an attempt may spend half of what of all work left falls to its length; the other half is for attempts that may have to be made in
//! its place. However short it is, they may spend a twelfth of what is not reserved: where much bounces, most attempts are short.
//!
//! Where a step or a part of it is divided, half of what falls to the later parts is reserved while the earlier are made, which cannot
//! spend it however often they are made again; what they do not spend is there for those that follow. When no work but what is reserved
//! is left for two more attempts, an island is not halved any more, and nothing in it bounces at a time of its own; when none is left for a
//! pass, the last one counts. So after its end the budget is exceeded by one attempt for each level of division that is still open,
//! about ten of them, at most.

use crate::engine::{constraints::Parts, scheme::Scheme, solvers::problem::Problem, state::tree::Tree};

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
/// Part of what falls to its length that the solves of an attempt may cost, and that is reserved for a later part.
const OF_AN_ATTEMPT: f64 = 0.5;
const OF_A_LATER_PART: f64 = 0.5;
/// Part of all work left that a blow may cost, and an attempt however short it is: there may be many in a step.
const OF_THE_SHORTEST: f64 = 1.0 / 12.0;

/// The work of an attempt at a substep of an island, in sweeps.
#[derive(Debug)]
pub(crate) struct Budget {
    /// What was spent in the step before it, and what it has spent.
    before: f64,
    spent: f64,
    /// What all solves may cost together, and what all passes may.
    sweeps: f64,
    passes: f64,
    /// What the solves have cost.
    swept: f64,
}

impl Budget {
    /// Begins an attempt at an island whose rows are set up.
    pub(crate) fn begin(parts: &Parts, scheme: &Scheme, problem: &Problem) -> Self {
        let before = parts.trees.iter().map(|tree| tree.work.spent).fold(0.0, f64::max);
        let left = (scheme.budget - before).max(0.0);
        let own = parts.trees.iter().map(|tree| tree.own_work(scheme.budget)).fold(left, f64::min);
        // A blow takes no time, so that nothing falls to its length, and little to that of a flight between two.
        let falls_to_it = if scheme.instant { OF_THE_SHORTEST * left } else { OF_AN_ATTEMPT * scheme.fair * left };
        let share = falls_to_it.max(OF_THE_SHORTEST * own);
        let links: usize = parts.trees.iter().map(|tree| tree.topology.links.len()).sum();
        let beside = A_LINK * links as f64 + A_CONTACT * parts.own_contacts.len() as f64;
        Self {
            before,
            // Without any rows there is no sweep to compare with: the most.
            spent: MOST_SETUP.min(ROWS + beside / problem.sweep_cost()),
            sweeps: share.min(own).max(LEAST_SWEEPS.min(left)),
            passes: (2.0 * share).max(LEAST_OF_PASSES).min(own),
            swept: 0.0,
        }
    }

    /// What the next solve may cost, in sweeps.
    pub(crate) fn sweeps(&self) -> f64 {
        self.sweeps - self.swept
    }

    /// Enters what a solve has cost. Returns what all of them have.
    pub(crate) fn sweep(&mut self, sweeps: f64) -> f64 {
        self.swept += sweeps;
        self.spent += sweeps;
        self.swept
    }

    /// Whether another pass may be made.
    pub(crate) fn affords_a_pass(&self) -> bool {
        self.spent + ROWS < self.passes
    }

    /// Enters that another pass begins.
    pub(crate) fn begin_pass(&mut self) {
        self.spent += ROWS;
    }

    /// Enters what the attempt has cost into its trees' accounts.
    pub(crate) fn end(&self, parts: &mut Parts) {
        parts.trees.iter_mut().for_each(|tree| tree.work.spent = self.before + self.spent);
    }
}

/// What taking out penetration may cost an island after its solves, of `most`, in sweeps.
pub(crate) fn work_of_parting(parts: &Parts, scheme: &Scheme, most: f64) -> f64 {
    let own = parts.trees.iter().map(|tree| tree.own_work(scheme.budget)).fold(scheme.budget, f64::min);
    most.min(OF_THE_SHORTEST * own)
}

impl Scheme {
    /// Whether there is work enough for a substep with this tree to be made again in two parts.
    pub(crate) fn affords_halves(&self, tree: &Tree) -> bool {
        let falls_to_it = (self.budget - tree.work.spent) * self.fair;
        falls_to_it.min(tree.own_work(self.budget)) >= 2.0 * LEAST_OF_AN_ATTEMPT
    }

    /// Whether there is work enough for this tree to bounce at a time of its own, however near.
    pub(crate) fn affords_an_impact(&self, tree: &Tree) -> bool {
        tree.own_work(self.budget) >= ATTEMPTS_OF_AN_IMPACT * LEAST_OF_AN_ATTEMPT
    }
}

impl Tree {
    /// The work that is left and not reserved for parts that follow the one that is being made.
    fn own_work(&self, budget: f64) -> f64 {
        (budget - self.work.spent - self.work.reserved).max(0.0)
    }

    /// Reserves work for later parts, to which this share of it falls.
    pub(crate) fn reserve_work(&mut self, budget: f64, share: f64) {
        let reserved = self.work.reserved + OF_A_LATER_PART * share * self.own_work(budget);
        self.work.reserves.push(std::mem::replace(&mut self.work.reserved, reserved));
    }

    /// Gives back what was reserved last. What woke up in between has reserved nothing.
    pub(crate) fn release_work(&mut self) {
        if let Some(before) = self.work.reserves.pop() {
            self.work.reserved = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: f64 = 6000.0;
    /// Parts as short as a joint that turns fast may want, with the halvings that guards may want of each.
    const HALVINGS: u32 = 11;

    /// Attempts that are all rejected and cost all they may, some of them `least` however short they are: that at a part of a step, to which `fair`
    /// falls of all that is left, and those at its halves. Returns the least part of what fell to the second halves that was there when they began.
    fn attempt(tree: &mut Tree, fair: f64, halvings: u32, least: f64) -> f64 {
        let (left, own) = ((BUDGET - tree.work.spent).max(0.0), tree.own_work(BUDGET));
        // Its passes may cost twice what its solves may.
        let share = (OF_AN_ATTEMPT * fair * left).max(least).max(2.0 * OF_THE_SHORTEST * own);
        tree.work.spent += share.min(own).max(LEAST_OF_AN_ATTEMPT.min(left));
        let own = tree.own_work(BUDGET);
        if halvings == HALVINGS || own.min(fair * (BUDGET - tree.work.spent)) < 2.0 * LEAST_OF_AN_ATTEMPT {
            return 1.0;
        }
        tree.reserve_work(BUDGET, 0.5);
        let first = attempt(tree, 0.5 * fair, halvings + 1, least);
        tree.release_work();
        let there = tree.own_work(BUDGET) / (0.5 * own);
        let second = attempt(tree, 0.5 * fair / (1.0 - 0.5 * fair), halvings + 1, least);
        there.min(first).min(second)
    }

    /// Where every attempt is rejected and costs all it may, each part still starts with half of what fell to its length, but for an attempt that
    /// is open when nothing is left for it, and all together cost nearly all of the work and no more. Before anything was reserved, some had a ninth.
    #[test]
    fn no_part_starts_with_less_than_its_share() {
        for least in [0.0, LEAST_OF_PASSES] {
            let mut tree = Tree::default();
            let share = attempt(&mut tree, 1.0, 0, least);
            assert!(share > 0.9 * OF_A_LATER_PART, "{share}");
            assert!(tree.work.spent <= BUDGET && tree.work.spent > 0.9 * BUDGET, "{}", tree.work.spent);
            assert!(tree.work.reserved == 0.0 && tree.work.reserves.is_empty());
        }
    }

    /// What the first half does not spend is there for the second.
    #[test]
    fn unspent_work_carries_over() {
        let mut tree = Tree::default();
        tree.reserve_work(BUDGET, 0.5);
        assert_eq!(tree.own_work(BUDGET), 4500.0);
        tree.work.spent = 100.0;
        tree.release_work();
        assert_eq!(tree.own_work(BUDGET), 5900.0);
    }
}
