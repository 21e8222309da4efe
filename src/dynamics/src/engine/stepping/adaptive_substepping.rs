//! Adaptive substepping: a substep that fails a check is repeated in halves, and these again in halves, while the rest
//! of the world is suspended. A step with a bounce is divided at the impact ([`crate::engine::stepping::impacts`]).
//!
//! A group is the unit of repetition: trees whose bounding boxes overlap, or that loop joints connect. Everything that
//! a tree might touch in its substeps is in its group, so nothing else has to be restored. A group in which a joint
//! turns fast is divided at once.

use super::{step_validation::StepChecks, world::Dynamics};
use crate::engine::{
    collision::Collider,
    constraints::loop_joint::LoopJoint,
    islands::island::Islands,
    scheme::Scheme,
    state::{tree::Tree, workspace::Pending},
};

/// Largest number of halvings by checks: to a sixteenth. A substep that still fails is accepted, and events report why.
const MAX_HALVINGS: u32 = 4;

/// A part of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Substep {
    /// Length of this part, and remaining step including it, s.
    pub(crate) h: f64,
    pub(crate) left: f64,
    /// Number of halvings, and of impacts that divided the step before.
    pub(crate) halvings: u32,
    pub(crate) impact_count: u32,
    /// True if it ends at an impact, and no impact occurs before.
    pub(crate) ends_at_impact: bool,
}

impl Substep {
    /// A substep of `h` seconds, with `left` seconds of the step remaining.
    pub(crate) fn undivided(h: f64, left: f64) -> Self {
        Self { h, left, halvings: 0, impact_count: 0, ends_at_impact: false }
    }

    fn split_in_halves(self) -> [Self; 2] {
        let first = Self { h: 0.5 * self.h, halvings: self.halvings + 1, ..self };
        [first, Self { left: self.left - first.h, ..first }]
    }

    /// Fair share of the remaining work: its length over the rest of the step.
    fn budget_fraction(self) -> f64 {
        (self.h / self.left).min(1.0)
    }

    /// Number of divisions before this part.
    pub(crate) fn refinement_level(self) -> u32 {
        self.halvings + self.impact_count
    }
}

/// Groups of trees that may touch in a step.
#[derive(Debug, Default)]
pub(crate) struct RetryGroups {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// For each root, the repetition that its group needs.
    pending: Vec<Pending>,
    /// For each root, the number of trees in its group, and whether it has loop joints.
    size: Vec<usize>,
    has_loops: Vec<bool>,
    /// For each root, the largest work used for a tree of its group, in sweeps.
    used_work: Vec<f64>,
}

impl RetryGroups {
    /// Groups the trees that move.
    pub(crate) fn group_trees(&mut self, trees: &[Tree], collider: &Collider, loop_joints: &[LoopJoint]) {
        self.parent.clear();
        self.parent.extend(0..trees.len());
        self.pending.clear();
        self.pending.resize(trees.len(), Pending::Nothing);
        let ties = loop_joints.iter().map(|loop_joint| (loop_joint.a.tree, loop_joint.b.tree));
        for (a, b) in collider.near_tree_pairs().chain(ties) {
            if trees[a].is_awake() && trees[b].is_awake() {
                let (a, b) = (self.find_root(a), self.find_root(b));
                self.parent[a.max(b)] = a.min(b);
            }
        }
        (0..trees.len()).for_each(|tree| self.parent[tree] = self.find_root(tree));
        self.size.clear();
        self.size.resize(trees.len(), 0);
        self.parent.iter().for_each(|&root| self.size[root] += 1);
        self.has_loops.clear();
        self.has_loops.resize(trees.len(), false);
        for loop_joint in loop_joints {
            for tree in [loop_joint.a.tree, loop_joint.b.tree] {
                self.has_loops[self.parent[tree]] = true;
            }
        }
    }

    /// Sets the used work of the trees of each rejected group to the largest among them: an attempt at one island is an
    /// attempt at all of them.
    fn share_used_work(&mut self, trees: &mut [Tree]) {
        self.used_work.clear();
        self.used_work.resize(trees.len(), 0.0);
        for (index, tree) in trees.iter().enumerate() {
            let spent = &mut self.used_work[self.parent[index]];
            *spent = spent.max(tree.work.used_work);
        }
        for index in 0..trees.len() {
            if self.is_rejected(index) && trees[index].is_awake() {
                trees[index].work.used_work = self.used_work[self.parent[index]];
            }
        }
    }

    fn find_root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// The group of a tree: its first tree.
    pub(crate) fn group_of(&self, tree: usize) -> usize {
        self.parent[tree]
    }

    /// Number of trees of a group.
    pub(crate) fn group_size(&self, group: usize) -> usize {
        self.size[group]
    }

    /// True if a group has loop joints.
    pub(crate) fn has_loops(&self, group: usize) -> bool {
        self.has_loops[group]
    }

    /// Marks a group for repetition.
    pub(crate) fn reject_group(&mut self, group: usize, pending: Pending) {
        self.pending[group] = pending;
    }

    /// True if the group of a tree is rejected.
    pub(crate) fn is_rejected(&self, tree: usize) -> bool {
        self.pending[self.parent[tree]] != Pending::Nothing
    }

    fn rejects_any(&self) -> bool {
        self.pending.iter().any(|&pending| pending != Pending::Nothing)
    }

    /// Rejects the islands that fail a step check.
    fn apply_step_checks(
        &mut self,
        checks: &mut StepChecks,
        islands: &Islands,
        trees: &[Tree],
        collider: &Collider,
        scheme: &Scheme,
    ) {
        for island in islands.islands() {
            let first = island.trees()[0];
            if !island.options.accept_unconverged
                && !self.is_rejected(first)
                && checks.rejects_island(island, trees, &collider.contacts, scheme)
            {
                self.reject_group(self.group_of(first), Pending::TwoHalves);
            }
        }
    }
}

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
