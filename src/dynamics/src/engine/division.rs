//! How a step is divided: what a guard rejects is made again in halves, and these again, while the rest of the world waits.
//!
//! What is made again together is a group: trees whose boxes meet, or that loop joints connect. Whatever a tree might touch in
//! its halves is in its group, so nothing else has to go back. A group in which a joint turns fast is divided at once.

use super::{Dynamics, closure::Closure, collide::Collider, guard::Guards, island::Islands, tree::Tree};

/// How often a substep that guards reject may be halved, to a sixteenth: after that it is kept as it is, and the guards tell what is
/// wrong with it.
const HALVINGS: u32 = 4;
/// Sweeps that a substep may make however small its share of a step's work: enough for what is easy. Where there would be fewer, a
/// substep is not divided any more.
const LEAST_SWEEPS: f64 = 8.0;

/// Trees that may touch in a step.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// Of each root, whether its group is made again.
    rejected: Vec<bool>,
}

impl Groups {
    /// Groups the trees that move.
    fn find(&mut self, trees: &[Tree], collider: &Collider, closures: &[Closure]) {
        self.parent.clear();
        self.parent.extend(0..trees.len());
        self.rejected.clear();
        self.rejected.resize(trees.len(), false);
        let ties = closures.iter().map(|closure| (closure.a.tree, closure.b.tree));
        for (a, b) in collider.neighbours().chain(ties) {
            if trees[a].is_awake() && trees[b].is_awake() {
                let (a, b) = (self.root(a), self.root(b));
                self.parent[a.max(b)] = a.min(b);
            }
        }
        (0..trees.len()).for_each(|tree| self.parent[tree] = self.root(tree));
    }

    fn root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// Has the group of a tree made again.
    fn reject(&mut self, tree: usize) {
        self.rejected[self.parent[tree]] = true;
    }

    /// Whether a tree is made again.
    pub(super) fn rejects(&self, tree: usize) -> bool {
        self.rejected[self.parent[tree]]
    }

    fn rejects_any(&self) -> bool {
        self.rejected.contains(&true)
    }

    /// Rejects what a guard wants made again.
    fn judge(&mut self, guards: &mut Guards, islands: &Islands, trees: &[Tree], collider: &Collider, h: f64) {
        for island in islands.all() {
            let first = island.trees()[0];
            if !self.rejects(first) && guards.rejects(island, trees, &collider.contacts, h) {
                self.reject(first);
            }
        }
    }
}

impl Dynamics {
    /// Makes a substep of everything that does not wait, `depth` halvings below a whole one. What is rejected is made again in halves.
    pub(super) fn advance(&mut self, h: f64, depth: u32) {
        self.set_substep(h, depth);
        self.predict();
        let mut groups = std::mem::take(&mut self.groups);
        groups.find(&self.trees, &self.collider, &self.closures);
        let turning = (0..self.trees.len()).filter(|&tree| self.trees[tree].is_awake());
        let turning = turning.filter(|&tree| self.guards.depth(tree) > depth);
        turning.for_each(|tree| groups.reject(tree));
        self.solve(&groups);
        if self.can_halve(depth) {
            groups.judge(&mut self.guards, &self.islands, &self.trees, &self.collider, h);
        }
        self.accept(&groups, depth);
        if groups.rejects_any() {
            self.hold_all_but(&groups, depth);
            self.groups = groups;
            self.scale_impulses(0.5);
            self.advance(0.5 * h, depth + 1);
            self.advance(0.5 * h, depth + 1);
            self.scale_impulses(2.0);
            self.release(depth);
            self.set_substep(h, depth);
        } else {
            self.groups = groups;
        }
    }

    /// Whether what is rejected at this depth is made again.
    fn can_halve(&self, depth: u32) -> bool {
        let turns = self.guards.deepest();
        depth < turns + HALVINGS && self.work_of(depth + 1) >= LEAST_SWEEPS
    }

    /// The work that a substep may cost, in sweeps.
    fn work_of(&self, depth: u32) -> f64 {
        self.model.max_sweeps / self.model.substeps as f64 * share_of_work(depth, self.guards.deepest())
    }

    /// Goes back with what is rejected, and lets all else wait.
    fn hold_all_but(&mut self, groups: &Groups, depth: u32) {
        for (index, tree) in self.trees.iter_mut().enumerate().filter(|(_, tree)| tree.is_awake()) {
            if groups.rejects(index) {
                tree.go_back();
            } else {
                tree.work.waits_at = Some(depth);
            }
        }
    }

    /// Goes on with what waited.
    fn release(&mut self, depth: u32) {
        let waiting = self.trees.iter_mut().filter(|tree| tree.work.waits_at == Some(depth));
        waiting.for_each(|tree| tree.work.waits_at = None);
    }

    /// Sets the length of a substep, and its share of the step's time and work.
    fn set_substep(&mut self, h: f64, depth: u32) {
        (self.scheme.h, self.scheme.share) = (h, h / self.model.timestep);
        self.scheme.sweeps = self.work_of(depth).max(LEAST_SWEEPS.min(self.model.max_sweeps));
    }

    /// The impulses that contacts and rows start from, and the last changes of velocity that the next are extrapolated from, go with
    /// the length of a substep.
    fn scale_impulses(&mut self, ratio: f64) {
        let trees = &self.trees;
        let moves = |tree: usize| trees[tree].is_awake();
        let contacts = self.collider.contacts.iter_mut();
        for contact in contacts.filter(|contact| moves(contact.b.tree) || contact.a.is_some_and(|a| moves(a.tree))) {
            contact.scale(ratio);
        }
        for closure in self.closures.iter_mut().filter(|closure| moves(closure.a.tree) || moves(closure.b.tree)) {
            closure.impulses.iter_mut().for_each(|impulse| *impulse *= ratio);
        }
        for tree in self.trees.iter_mut().filter(|tree| tree.is_awake()) {
            let state = &mut tree.state;
            state.row_impulses.iter_mut().flatten().chain(&mut state.last_dv).for_each(|number| *number *= ratio);
        }
    }
}

/// The share of the work that a substep has `depth` halvings below a whole one, where joints turn so fast that substeps are halved
/// `turns` times at once: half the work is for first attempts, half for all the parts that these may be made again in.
fn share_of_work(depth: u32, turns: u32) -> f64 {
    let first = depth.min(turns);
    let share = if depth == first { 1.0 } else { 1.0 / f64::from(2 * ((1 << HALVINGS) - 1)) };
    0.5 * share / f64::from(1u32 << first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group whose every part is rejected as often as may be has used up the work of the step, and no more.
    #[test]
    fn all_parts_share_the_work_of_a_step() {
        for turns in 0..8 {
            let attempts = (0..=HALVINGS).map(|halvings| f64::from(1u32 << (turns + halvings)));
            let shares = (0..=HALVINGS).map(|halvings| share_of_work(turns + halvings, turns));
            let whole: f64 = attempts.zip(shares).map(|(attempts, share)| attempts * share).sum();
            assert!((whole - 1.0).abs() < 1e-12, "{turns}: {whole}");
        }
    }
}
