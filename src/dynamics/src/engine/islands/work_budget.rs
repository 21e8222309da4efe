//! Work budget: the costs of a step, how they are counted, and their limits.
//!
//! The unit is a sweep over the constraints of an island. Everything else counts by its multiplications: Newton
//! iterations, eliminations of the homotopy, and the setup of an attempt (collision, equations of motion, rows). No
//! clock is read, so a step is the same on any machine.
//!
//! ```text
//! attempt = min(MAX_SETUP_SWEEPS, ROW_SETUP_SWEEPS + (MULTIPLICATIONS_PER_LINK links
//!               + MULTIPLICATIONS_PER_CONTACT contacts) / multiplications of a sweep) + sweeps
//!           + passes after the first * (ROW_SETUP_SWEEPS + sweeps)
//! ```
//!
//! The fair share of an attempt is the fraction of the remaining work that corresponds to its length. Its solves may
//! use half of that. The other half is for attempts that may have to replace it. However short an attempt, its solves
//! may use a twelfth of the unreserved work: where many things bounce, most attempts are short.
//!
//! When a step is divided, half of the fair share of the later parts is reserved during the earlier ones. These cannot
//! use it, however often they are repeated; what they leave unused is available to the later parts.
//!
//! An island is no longer halved, and its impacts are no longer separate events, when the unreserved work does not
//! cover two more attempts. When it does not cover a pass, the last pass is accepted. The budget is exceeded by at most
//! one attempt for each open level of division, about ten.

use crate::engine::{constraints::IslandParts, scheme::Scheme, solvers::problem::Problem, state::tree::Tree};

/// Cost of setting up the rows of all constraints, in sweeps over them: Jacobians and columns. Measured: 7 to 20.
const ROW_SETUP_SWEEPS: f64 = 10.0;
/// Cost of a link in an attempt (kinematics thrice, inertias, forces, reactions), and of the search for a contact, in
/// multiplications.
const MULTIPLICATIONS_PER_LINK: f64 = 1500.0;
const MULTIPLICATIONS_PER_CONTACT: f64 = 1500.0;
/// Largest setup cost of an attempt, in sweeps. It allows a robot of many links with few constraints to be divided as
/// often as one with many constraints.
const MAX_SETUP_SWEEPS: f64 = 20.0;
/// Number of sweeps that every attempt may make while there is work: enough for an easy problem.
const MIN_SWEEPS: f64 = 8.0;
/// Least cost of an attempt with a full setup, in sweeps.
const MIN_ATTEMPT_WORK: f64 = MAX_SETUP_SWEEPS + MIN_SWEEPS;
/// Number of attempts that an impact takes: motion up to it, the impact itself, and what follows.
const ATTEMPTS_PER_IMPACT: f64 = 6.0;
/// Work that the passes of every attempt may use while there is work, in sweeps: four easy passes.
const MIN_PASS_WORK: f64 = 100.0;
/// Fractions of the fair share of a part: what the solves of an attempt may use, and what is reserved for a later part.
const ATTEMPT_FRACTION: f64 = 0.5;
const RESERVED_FRACTION: f64 = 0.5;
/// Fraction of all remaining work that an impact may use, and any attempt however short: a step may have many.
const MIN_FRACTION: f64 = 1.0 / 12.0;

/// Work of an attempt at a substep of an island, in sweeps.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    /// Work used earlier in the step, and by this attempt.
    before: f64,
    spent: f64,
    /// Limits of all solves together, and of all passes.
    sweeps: f64,
    passes: f64,
    /// Work used by the solves.
    swept: f64,
}

impl WorkBudget {
    /// Starts an attempt at an island whose rows are set up.
    pub(crate) fn start_attempt(parts: &IslandParts, scheme: &Scheme, problem: &Problem) -> Self {
        let before = parts.trees.iter().map(|tree| tree.work.used_work).fold(0.0, f64::max);
        let left = (scheme.budget - before).max(0.0);
        let own = parts.trees.iter().map(|tree| tree.remaining_work(scheme.budget)).fold(left, f64::min);
        // An impact takes no time, so it has no fair share.
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
            // Without rows there is no sweep to compare with, so the largest setup cost is used.
            spent: MAX_SETUP_SWEEPS.min(ROW_SETUP_SWEEPS + beside / problem.sweep_cost()),
            sweeps: share.min(own).max(MIN_SWEEPS.min(left)),
            passes: (2.0 * share).max(MIN_PASS_WORK).min(own),
            swept: 0.0,
        }
    }

    /// Work left for the next solve, in sweeps.
    pub(crate) fn remaining_sweeps(&self) -> f64 {
        self.sweeps - self.swept
    }

    /// Adds the cost of a solve. Returns the cost of all solves of the attempt.
    pub(crate) fn add_sweeps(&mut self, sweeps: f64) -> f64 {
        self.swept += sweeps;
        self.spent += sweeps;
        self.swept
    }

    /// True if the budget allows another pass.
    pub(crate) fn can_retry(&self) -> bool {
        self.spent + ROW_SETUP_SWEEPS < self.passes
    }

    /// Adds the setup cost of another pass.
    pub(crate) fn add_pass(&mut self) {
        self.spent += ROW_SETUP_SWEEPS;
    }

    /// Stores the cost of the attempt in its trees.
    pub(crate) fn store_cost(&self, parts: &mut IslandParts) {
        parts.trees.iter_mut().for_each(|tree| tree.work.used_work = self.before + self.spent);
    }
}

/// Largest work for the separation of overlaps after the solves, in sweeps, at most `most`.
pub(crate) fn separation_work(parts: &IslandParts, scheme: &Scheme, most: f64) -> f64 {
    let own = parts.trees.iter().map(|tree| tree.remaining_work(scheme.budget)).fold(scheme.budget, f64::min);
    most.min(MIN_FRACTION * own)
}

impl Scheme {
    /// True if the budget allows to repeat a substep of this tree in two halves.
    pub(crate) fn can_split(&self, tree: &Tree) -> bool {
        let falls_to_it = (self.budget - tree.work.used_work) * self.budget_fraction;
        falls_to_it.min(tree.remaining_work(self.budget)) >= 2.0 * MIN_ATTEMPT_WORK
    }

    /// True if the budget allows an impact of this tree as a separate event.
    pub(crate) fn can_split_at_impact(&self, tree: &Tree) -> bool {
        tree.remaining_work(self.budget) >= ATTEMPTS_PER_IMPACT * MIN_ATTEMPT_WORK
    }
}

impl Tree {
    /// Remaining work that is not reserved, in sweeps.
    fn remaining_work(&self, budget: f64) -> f64 {
        (budget - self.work.used_work - self.work.reserved_work).max(0.0)
    }

    /// Reserves work for later parts, whose fair share is the fraction `share` of the remaining work.
    pub(crate) fn reserve_work(&mut self, budget: f64, share: f64) {
        let reserved_work = self.work.reserved_work + RESERVED_FRACTION * share * self.remaining_work(budget);
        self.work.reserved_stack.push(std::mem::replace(&mut self.work.reserved_work, reserved_work));
    }

    /// Releases the last reservation. Trees that woke up in between have none.
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
    /// Levels of division that a fast joint may need, together with the halvings that step checks may need in each
    /// part.
    const HALVINGS: u32 = 11;

    /// Simulates attempts that are all rejected and cost as much as they may, some of them `least` however short: at a
    /// part of a step with the fair share `fair`, and then at its halves. Returns the smallest available fraction of
    /// the fair share of a second half when it started.
    fn attempt(tree: &mut Tree, fair: f64, halvings: u32, least: f64) -> f64 {
        let (left, own) = ((BUDGET - tree.work.used_work).max(0.0), tree.remaining_work(BUDGET));
        // The limit of all passes is twice that of the solves.
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

    /// Even if every attempt is rejected and costs as much as it may, each part starts with half of its fair share,
    /// except for an attempt that is open when nothing is left. All together use nearly all of the work, and no more.
    /// Before work was reserved, some parts had a ninth.
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

    /// Work that the first half does not use is available to the second.
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
