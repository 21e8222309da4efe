//! Adaptive substepping: a substep that fails a check is repeated in halves, and these again in halves, while the rest
//! of the world is suspended. A step with a bounce is divided at the impact ([`crate::engine::stepping::impacts`]).
//!
//! A group is the unit of repetition: trees whose bounding boxes overlap, or that loop joints connect. Everything that
//! a tree might touch in its substeps is in its group, so nothing else has to be restored. A group in which a joint
//! turns fast is divided at once.

use super::{retry_groups::RetryGroups, substep::Substep, world::Dynamics};
use crate::engine::state::{tree::Tree, workspace::Pending};

/// Largest number of halvings by checks: to a sixteenth. A substep that still fails is accepted, and events report why.
const MAX_HALVINGS: u32 = 4;

impl Dynamics {
    /// Makes a substep with all trees that are not suspended. Rejected groups are repeated in parts.
    pub(crate) fn advance_substep(&mut self, substep: Substep) {
        self.set_substep(substep);
        self.predict();
        let mut groups = std::mem::take(&mut self.groups);
        groups.group_trees(&self.trees, &self.collider, &self.loop_joints);
        self.defer_to_impact(&groups, substep);
        let is_free =
            |tree: usize| self.islands.may_use_gauss(tree, &self.trees, &self.collider.contacts, &self.scheme);
        let turning =
            (0..self.trees.len()).filter(|&tree| self.checks.required_halvings(tree, false) > substep.halvings);
        let turning = turning.filter(|&tree| self.checks.required_halvings(tree, is_free(tree)) > substep.halvings);
        let turning = turning.filter(|&tree| self.trees[tree].is_awake());
        let turning = turning.filter(|&tree| self.scheme.can_split(&self.trees[tree]));
        turning.for_each(|tree| groups.reject_group(groups.group_of(tree), Pending::TwoHalves));
        let last = substep.halvings >= self.checks.max_required_halvings() + MAX_HALVINGS;
        self.solve_islands(&groups, last);
        let far =
            |&tree: &usize| self.checks.required_halvings(tree, self.trees[tree].work.is_complete) > substep.halvings;
        for island in self.islands.islands_mut() {
            island.outcome.rotation_too_large = island.trees().iter().any(far);
            island.outcome.budget_exhausted |= island.outcome.rotation_too_large;
        }
        if !last {
            groups.apply_step_checks(&mut self.checks, &self.islands, &self.trees, &self.collider, &self.scheme);
        }
        self.find_impacts(&mut groups, substep);
        self.commit_substep(&groups, substep.refinement_level());
        let divided = groups.rejects_any();
        if divided {
            groups.share_used_work(&mut self.trees);
            self.restore_rejected(&groups, substep.refinement_level());
        }
        self.groups = groups;
        if divided {
            self.repeat_rejected(substep);
            self.set_substep(substep);
            // The islands of the last part may be only some of them.
            self.islands.group_trees(&self.trees, &self.collider.contacts, &self.loop_joints, &self.scheme);
        }
    }

    /// Makes the first part of the rest of a step. Work is reserved for the following parts, if there are any.
    pub(crate) fn advance_with_reserve(&mut self, substep: Substep) {
        if substep.h >= substep.left {
            return self.advance_substep(substep);
        }
        self.reserve_work(1.0 - substep.budget_fraction());
        self.advance_substep(substep);
        self.release_work();
    }

    /// Repeats the rejected groups: all groups to be halved together, and each group with an impact alone, because
    /// impacts have their own times.
    fn repeat_rejected(&mut self, substep: Substep) {
        let depth = substep.refinement_level();
        if self.resume_trees(depth, |pending| pending == Pending::TwoHalves) {
            self.scale_impulses(0.5);
            let [first, second] = substep.split_in_halves();
            self.reserve_work(0.5);
            self.advance_substep(first);
            self.release_work();
            self.advance_substep(second);
            self.scale_impulses(2.0);
            self.suspend_moving(depth);
        }
        for group in 0..self.trees.len() {
            if let Pending::Impact { after, group: own } = self.trees[group].work.pending
                && own == group
                && self.resume_trees(depth, |pending| pending == Pending::Impact { after, group })
            {
                self.step_through_impact(substep, after);
                self.suspend_moving(depth);
            }
        }
        self.resume_trees(depth, |pending| pending == Pending::Nothing);
    }

    /// Restores the start of the substep for the rejected groups, and suspends all trees.
    fn restore_rejected(&mut self, groups: &RetryGroups, depth: u32) {
        for (index, tree) in self.trees.iter_mut().enumerate().filter(|(_, tree)| tree.is_awake()) {
            tree.work.suspended_level = Some(depth);
            tree.work.pending = groups.pending[groups.group_of(index)];
            if groups.is_rejected(index) {
                tree.restore_start();
            }
        }
    }

    /// Suspends all awake trees.
    fn suspend_moving(&mut self, depth: u32) {
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(|tree| tree.work.suspended_level = Some(depth));
    }

    /// Resumes the suspended trees selected by `which`. Returns false if there are none.
    fn resume_trees(&mut self, depth: u32, which: impl Fn(Pending) -> bool) -> bool {
        let waiting = self.trees.iter_mut().filter(|tree| tree.work.suspended_level == Some(depth));
        let mut any = false;
        for tree in waiting.filter(|tree| which(tree.work.pending)) {
            (tree.work.suspended_level, tree.work.pending, any) = (None, Pending::Nothing, true);
        }
        any
    }

    /// Sets the length of a substep, and its fraction of the step's time and work.
    pub(crate) fn set_substep(&mut self, substep: Substep) {
        (self.scheme.h, self.scheme.time_fraction) = (substep.h, substep.h / self.model.timestep);
        let whole = self.model.timestep / self.model.substeps as f64;
        self.scheme.budget_fraction = substep.budget_fraction();
        self.scheme.lookahead = if substep.impact_count > 0 { 0.5 * (substep.h + whole) } else { substep.h };
    }

    /// Scales the initial impulses of contacts and rows, and the last velocity changes, with the length of a substep.
    pub(crate) fn scale_impulses(&mut self, ratio: f64) {
        let trees = &self.trees;
        let moves = |tree: usize| trees[tree].is_awake();
        let contacts = self.collider.contacts.iter_mut();
        for contact in contacts.filter(|contact| moves(contact.b.tree) || contact.a.is_some_and(|a| moves(a.tree))) {
            contact.scale_impulses(ratio);
        }
        for loop_joint in
            self.loop_joints.iter_mut().filter(|loop_joint| moves(loop_joint.a.tree) || moves(loop_joint.b.tree))
        {
            loop_joint.impulses.iter_mut().for_each(|impulse| *impulse *= ratio);
        }
        for tree in self.trees.iter_mut().filter(|tree| tree.is_awake()) {
            let state = &mut tree.state;
            state.row_impulses.iter_mut().flatten().chain(&mut state.last_dv).for_each(|number| *number *= ratio);
        }
    }

    /// Reserves work of all awake trees for later parts, whose fair share is the fraction `share`.
    pub(super) fn reserve_work(&mut self, share: f64) {
        let budget = self.scheme.budget;
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(|tree| tree.reserve_work(budget, share));
    }

    /// Releases the last reservation of all awake trees.
    pub(super) fn release_work(&mut self) {
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(Tree::release_work);
    }
}
