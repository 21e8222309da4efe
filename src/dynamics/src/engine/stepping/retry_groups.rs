//! Groups of trees that repeat a substep together: trees whose bounding boxes overlap, or that loop joints connect.
//! Everything that a tree might touch in its substeps is in its group.

use super::step_validation::StepChecks;
use crate::engine::{
    collision::Collider,
    constraints::loop_joint::LoopJoint,
    islands::island::Islands,
    scheme::Scheme,
    state::{tree::Tree, workspace::Pending},
};

/// Groups of trees that may touch in a step.
#[derive(Debug, Default)]
pub(crate) struct RetryGroups {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// For each root, the repetition that its group needs.
    pub(super) pending: Vec<Pending>,
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
    pub(super) fn share_used_work(&mut self, trees: &mut [Tree]) {
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

    pub(super) fn rejects_any(&self) -> bool {
        self.pending.iter().any(|&pending| pending != Pending::Nothing)
    }

    /// Rejects the islands that fail a step check.
    pub(super) fn apply_step_checks(
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
