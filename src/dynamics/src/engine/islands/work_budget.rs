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
const ROW_SETUP_SWEEPS: f64 = 10.0;
/// What a link costs in an attempt (kinematics thrice, inertias, forces, reactions), and the search for a contact, in multiplications.
const MULTIPLICATIONS_PER_LINK: f64 = 1500.0;
const MULTIPLICATIONS_PER_CONTACT: f64 = 1500.0;
/// An attempt counts as no more than this beside its solves, in sweeps, so that a robot of many links with few constraints may be divided as often as one
/// with many.
const MAX_SETUP_SWEEPS: f64 = 20.0;
/// Sweeps that an attempt may make however short it is, as long as there is work: enough for what is easy.
const MIN_SWEEPS: f64 = 8.0;
/// What an attempt costs at least where it may need all its setup.
const MIN_ATTEMPT_WORK: f64 = MAX_SETUP_SWEEPS + MIN_SWEEPS;
/// Attempts at an impact: flights to it, the blow, what follows.
const ATTEMPTS_PER_IMPACT: f64 = 6.0;
/// Work that the passes of an attempt may cost however short it is, likewise: four easy ones.
const MIN_PASS_WORK: f64 = 100.0;
/// Part of what falls to its length that the solves of an attempt may cost, and that is reserved for a later part.
const ATTEMPT_FRACTION: f64 = 0.5;
const RESERVED_FRACTION: f64 = 0.5;
/// Part of all work left that a blow may cost, and an attempt however short it is: there may be many in a step.
const MIN_FRACTION: f64 = 1.0 / 12.0;

/// The work of an attempt at a substep of an island, in sweeps.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    /// What was spent in the step before it, and what it has spent.
    before: f64,
    spent: f64,
    /// What all solves may cost together, and what all passes may.
    sweeps: f64,
    passes: f64,
    /// What the solves have cost.
    swept: f64,
}

impl WorkBudget {
    /// Begins an attempt at an island whose rows are set up.
    pub(crate) fn begin(parts: &Parts, scheme: &Scheme, problem: &Problem) -> Self {
        let before = parts.trees.iter().map(|tree| tree.work.used_work).fold(0.0, f64::max);
        let left = (scheme.budget - before).max(0.0);
        let own = parts.trees.iter().map(|tree| tree.remaining_work(scheme.budget)).fold(left, f64::min);
        // A blow takes no time, so that nothing falls to its length, and little to that of a flight between two.
        let falls_to_it = if scheme.is_impact_instant {
            MIN_FRACTION * left
        } else {
            ATTEMPT_FRACTION * scheme.budget_fraction * left
        };
        let share = falls_to_it.max(MIN_FRACTION * own);
        let links: usize = parts.trees.iter().map(|tree| tree.topology.links.len()).sum();
        let beside =
            MULTIPLICATIONS_PER_LINK * links as f64 + MULTIPLICATIONS_PER_CONTACT * parts.own_contacts.len() as f64;
        Self {
            before,
            // Without any rows there is no sweep to compare with: the most.
            spent: MAX_SETUP_SWEEPS.min(ROW_SETUP_SWEEPS + beside / problem.sweep_cost()),
            sweeps: share.min(own).max(MIN_SWEEPS.min(left)),
            passes: (2.0 * share).max(MIN_PASS_WORK).min(own),
            swept: 0.0,
        }
    }

    /// What the next solve may cost, in sweeps.
    pub(crate) fn remaining_sweeps(&self) -> f64 {
        self.sweeps - self.swept
    }

    /// Enters what a solve has cost. Returns what all of them have.
    pub(crate) fn add_sweeps(&mut self, sweeps: f64) -> f64 {
        self.swept += sweeps;
        self.spent += sweeps;
        self.swept
    }

    /// Whether another pass may be made.
    pub(crate) fn can_retry(&self) -> bool {
        self.spent + ROW_SETUP_SWEEPS < self.passes
    }

    /// Enters that another pass begins.
    pub(crate) fn add_pass(&mut self) {
        self.spent += ROW_SETUP_SWEEPS;
    }

    /// Enters what the attempt has cost into its trees' accounts.
    pub(crate) fn end(&self, parts: &mut Parts) {
        parts.trees.iter_mut().for_each(|tree| tree.work.used_work = self.before + self.spent);
    }
}

/// What taking out penetration may cost an island after its solves, of `most`, in sweeps.
pub(crate) fn separation_work(parts: &Parts, scheme: &Scheme, most: f64) -> f64 {
    let own = parts.trees.iter().map(|tree| tree.remaining_work(scheme.budget)).fold(scheme.budget, f64::min);
    most.min(MIN_FRACTION * own)
}

impl Scheme {
    /// Whether there is work enough for a substep with this tree to be made again in two parts.
    pub(crate) fn can_split(&self, tree: &Tree) -> bool {
        let falls_to_it = (self.budget - tree.work.used_work) * self.budget_fraction;
        falls_to_it.min(tree.remaining_work(self.budget)) >= 2.0 * MIN_ATTEMPT_WORK
    }

    /// Whether there is work enough for this tree to bounce at a time of its own, however near.
    pub(crate) fn can_split_at_impact(&self, tree: &Tree) -> bool {
        tree.remaining_work(self.budget) >= ATTEMPTS_PER_IMPACT * MIN_ATTEMPT_WORK
    }
}

impl Tree {
    /// The work that is left and not reserved for parts that follow the one that is being made.
    fn remaining_work(&self, budget: f64) -> f64 {
        (budget - self.work.used_work - self.work.reserved_work).max(0.0)
    }

    /// Reserves work for later parts, to which this share of it falls.
    pub(crate) fn reserve_work(&mut self, budget: f64, share: f64) {
        let reserved_work = self.work.reserved_work + RESERVED_FRACTION * share * self.remaining_work(budget);
        self.work.reserved_stack.push(std::mem::replace(&mut self.work.reserved_work, reserved_work));
    }

    /// Gives back what was reserved last. What woke up in between has reserved nothing.
    pub(crate) fn release_work(&mut self) {
        if let Some(before) = self.work.reserved_stack.pop() {
            self.work.reserved_work = before;
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
        let (left, own) = ((BUDGET - tree.work.used_work).max(0.0), tree.remaining_work(BUDGET));
        // Its passes may cost twice what its solves may.
        let share = (ATTEMPT_FRACTION * fair * left).max(least).max(2.0 * MIN_FRACTION * own);
        tree.work.used_work += share.min(own).max(MIN_ATTEMPT_WORK.min(left));
        let own = tree.remaining_work(BUDGET);
        if halvings == HALVINGS || own.min(fair * (BUDGET - tree.work.used_work)) < 2.0 * MIN_ATTEMPT_WORK {
            return 1.0;
        }
        tree.reserve_work(BUDGET, 0.5);
        let first = attempt(tree, 0.5 * fair, halvings + 1, least);
        tree.release_work();
        let there = tree.remaining_work(BUDGET) / (0.5 * own);
        let second = attempt(tree, 0.5 * fair / (1.0 - 0.5 * fair), halvings + 1, least);
        there.min(first).min(second)
    }

    /// Where every attempt is rejected and costs all it may, each part still starts with half of what fell to its length, but for an attempt that
    /// is open when nothing is left for it, and all together cost nearly all of the work and no more. Before anything was reserved, some had a ninth.
    #[test]
    fn no_part_starts_with_less_than_its_share() {
        for least in [0.0, MIN_PASS_WORK] {
            let mut tree = Tree::default();
            let share = attempt(&mut tree, 1.0, 0, least);
            assert!(share > 0.9 * RESERVED_FRACTION, "{share}");
            assert!(tree.work.used_work <= BUDGET && tree.work.used_work > 0.9 * BUDGET, "{}", tree.work.used_work);
            assert!(tree.work.reserved_work == 0.0 && tree.work.reserved_stack.is_empty());
        }
    }

    /// What the first half does not spend is there for the second.
    #[test]
    fn unspent_work_carries_over() {
        let mut tree = Tree::default();
        tree.reserve_work(BUDGET, 0.5);
        assert_eq!(tree.remaining_work(BUDGET), 4500.0);
        tree.work.used_work = 100.0;
        tree.release_work();
        assert_eq!(tree.remaining_work(BUDGET), 5900.0);
    }
}
