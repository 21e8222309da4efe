//! How a step is divided: what a guard rejects is made again in halves, and these again, while the rest of the world waits. Where
//! something bounces, the step is divided at the impact ([`crate::engine::stepping::impacts`]).
//!
//! What is made again together is a group: trees whose boxes meet, or that loop joints connect. Whatever a tree might touch in
//! its parts is in its group, so nothing else has to go back. A group in which a joint turns fast is divided at once.

use super::{step_validation::Guards, world::Dynamics};
use crate::engine::{
    collision::Collider,
    constraints::loop_joint::Closure,
    islands::island::Islands,
    scheme::Scheme,
    state::{tree::Tree, workspace::Remains},
};

/// How often a substep that guards reject may be halved, to a sixteenth: after that it is kept as it is, and the guards tell what is
/// wrong with it.
const HALVINGS: u32 = 4;

/// A part of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Its length, and what of the step is left to be made, with it, s.
    pub(crate) h: f64,
    pub(crate) left: f64,
    /// How many times it was halved, and how many impacts divided the step before.
    pub(crate) halvings: u32,
    pub(crate) impacts: u32,
    /// True if it ends where something is about to bounce, and nothing bounces before.
    pub(crate) lands: bool,
}

impl Part {
    /// A substep of `h` seconds, with which so many seconds of the step are left.
    pub(crate) fn whole(h: f64, left: f64) -> Self {
        Self { h, left, halvings: 0, impacts: 0, lands: false }
    }

    fn halves(self) -> [Self; 2] {
        let first = Self { h: 0.5 * self.h, halvings: self.halvings + 1, ..self };
        [first, Self { left: self.left - first.h, ..first }]
    }

    /// What part of the work left falls to its length.
    fn fair_share(self) -> f64 {
        (self.h / self.left).min(1.0)
    }

    /// How often the step was divided that it is a part of.
    pub(crate) fn depth(self) -> u32 {
        self.halvings + self.impacts
    }
}

/// Trees that may touch in a step.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// Of each root, what remains to be made of its group.
    remains: Vec<Remains>,
    /// Of each root, the number of trees in its group, and whether joints close loops there.
    size: Vec<usize>,
    has_loops: Vec<bool>,
    /// Of each root, the most work that was spent on a tree of its group.
    spent: Vec<f64>,
}

impl Groups {
    /// Groups the trees that move.
    pub(crate) fn find(&mut self, trees: &[Tree], collider: &Collider, closures: &[Closure]) {
        self.parent.clear();
        self.parent.extend(0..trees.len());
        self.remains.clear();
        self.remains.resize(trees.len(), Remains::Nothing);
        let ties = closures.iter().map(|closure| (closure.a.tree, closure.b.tree));
        for (a, b) in collider.neighbours().chain(ties) {
            if trees[a].is_awake() && trees[b].is_awake() {
                let (a, b) = (self.root(a), self.root(b));
                self.parent[a.max(b)] = a.min(b);
            }
        }
        (0..trees.len()).for_each(|tree| self.parent[tree] = self.root(tree));
        self.size.clear();
        self.size.resize(trees.len(), 0);
        self.parent.iter().for_each(|&root| self.size[root] += 1);
        self.has_loops.clear();
        self.has_loops.resize(trees.len(), false);
        for closure in closures {
            for tree in [closure.a.tree, closure.b.tree] {
                self.has_loops[self.parent[tree]] = true;
            }
        }
    }

    /// What is made again together has its work together: an attempt at one island is one at all of them.
    fn share_work(&mut self, trees: &mut [Tree]) {
        self.spent.clear();
        self.spent.resize(trees.len(), 0.0);
        for (index, tree) in trees.iter().enumerate() {
            let spent = &mut self.spent[self.parent[index]];
            *spent = spent.max(tree.work.spent);
        }
        for index in 0..trees.len() {
            if self.rejects(index) && trees[index].is_awake() {
                trees[index].work.spent = self.spent[self.parent[index]];
            }
        }
    }

    fn root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// The group of a tree: its first tree.
    pub(crate) fn of(&self, tree: usize) -> usize {
        self.parent[tree]
    }

    /// How many trees a group has.
    pub(crate) fn size(&self, group: usize) -> usize {
        self.size[group]
    }

    /// Whether joints close loops in a group.
    pub(crate) fn has_loops(&self, group: usize) -> bool {
        self.has_loops[group]
    }

    /// Has a group made again.
    pub(crate) fn reject(&mut self, group: usize, remains: Remains) {
        self.remains[group] = remains;
    }

    /// Whether a tree is made again.
    pub(crate) fn rejects(&self, tree: usize) -> bool {
        self.remains[self.parent[tree]] != Remains::Nothing
    }

    fn rejects_any(&self) -> bool {
        self.remains.iter().any(|&remains| remains != Remains::Nothing)
    }

    /// Rejects what a guard wants made again.
    fn judge(&mut self, guards: &mut Guards, islands: &Islands, trees: &[Tree], collider: &Collider, scheme: &Scheme) {
        for island in islands.all() {
            let first = island.trees()[0];
            if !island.is_last && !self.rejects(first) && guards.rejects(island, trees, &collider.contacts, scheme) {
                self.reject(self.of(first), Remains::Halves);
            }
        }
    }
}

impl Dynamics {
    /// Makes a part of a step with everything that does not wait. What is rejected is made again in parts of that.
    pub(crate) fn advance(&mut self, part: Part) {
        self.set_substep(part);
        self.predict();
        let mut groups = std::mem::take(&mut self.groups);
        groups.find(&self.trees, &self.collider, &self.closures);
        self.let_pass(&groups, part);
        let is_free =
            |tree: usize| self.islands.may_move_freely(tree, &self.trees, &self.collider.contacts, &self.scheme);
        let turning = (0..self.trees.len()).filter(|&tree| self.guards.depth(tree, false) > part.halvings);
        let turning = turning.filter(|&tree| self.guards.depth(tree, is_free(tree)) > part.halvings);
        let turning = turning.filter(|&tree| self.trees[tree].is_awake());
        let turning = turning.filter(|&tree| self.scheme.affords_halves(&self.trees[tree]));
        turning.for_each(|tree| groups.reject(groups.of(tree), Remains::Halves));
        let last = part.halvings >= self.guards.deepest() + HALVINGS;
        self.solve(&groups, last);
        let far = |&tree: &usize| self.guards.depth(tree, self.trees[tree].work.is_free) > part.halvings;
        for island in self.islands.all_mut() {
            island.turns_far = island.trees().iter().any(far);
            island.is_cut |= island.turns_far;
        }
        if !last {
            groups.judge(&mut self.guards, &self.islands, &self.trees, &self.collider, &self.scheme);
        }
        self.find_impacts(&mut groups, part);
        self.accept(&groups, part.depth());
        let divided = groups.rejects_any();
        if divided {
            groups.share_work(&mut self.trees);
            self.go_back(&groups, part.depth());
        }
        self.groups = groups;
        if divided {
            self.make_again(part);
            self.set_substep(part);
            // Those of its last part may be some of them only.
            self.islands.find(&self.trees, &self.collider.contacts, &self.closures, &self.scheme);
        }
    }

    /// Makes the first part of what is left of a step. Work is reserved for what follows, if anything does.
    pub(crate) fn advance_first(&mut self, part: Part) {
        if part.h >= part.left {
            return self.advance(part);
        }
        self.reserve_work(1.0 - part.fair_share());
        self.advance(part);
        self.release_work();
    }

    /// Makes again what was rejected: all that is halved together, and each group that something bounces in alone, since impacts have
    /// their own times.
    fn make_again(&mut self, part: Part) {
        let depth = part.depth();
        if self.release(depth, |remains| remains == Remains::Halves) {
            self.scale_impulses(0.5);
            let [first, second] = part.halves();
            self.reserve_work(0.5);
            self.advance(first);
            self.release_work();
            self.advance(second);
            self.scale_impulses(2.0);
            self.hold(depth);
        }
        for group in 0..self.trees.len() {
            if let Remains::Impact { after, group: own } = self.trees[group].work.remains
                && own == group
                && self.release(depth, |remains| remains == Remains::Impact { after, group })
            {
                self.pass_impact(part, after);
                self.hold(depth);
            }
        }
        self.release(depth, |remains| remains == Remains::Nothing);
    }

    /// Goes back with what is rejected, and lets everything wait.
    fn go_back(&mut self, groups: &Groups, depth: u32) {
        for (index, tree) in self.trees.iter_mut().enumerate().filter(|(_, tree)| tree.is_awake()) {
            tree.work.waits_at = Some(depth);
            tree.work.remains = groups.remains[groups.of(index)];
            if groups.rejects(index) {
                tree.go_back();
            }
        }
    }

    /// Lets all that moves wait.
    fn hold(&mut self, depth: u32) {
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(|tree| tree.work.waits_at = Some(depth));
    }

    /// Goes on with some of what waits, if there is any.
    fn release(&mut self, depth: u32, which: impl Fn(Remains) -> bool) -> bool {
        let waiting = self.trees.iter_mut().filter(|tree| tree.work.waits_at == Some(depth));
        let mut any = false;
        for tree in waiting.filter(|tree| which(tree.work.remains)) {
            (tree.work.waits_at, tree.work.remains, any) = (None, Remains::Nothing, true);
        }
        any
    }

    /// Sets the length of a substep, and its share of the step's time and work.
    pub(crate) fn set_substep(&mut self, part: Part) {
        (self.scheme.h, self.scheme.share) = (part.h, part.h / self.model.timestep);
        let whole = self.model.timestep / self.model.substeps as f64;
        self.scheme.fair = part.fair_share();
        self.scheme.to_next = if part.impacts > 0 { 0.5 * (part.h + whole) } else { part.h };
    }

    /// The impulses that contacts and rows start from, and the last changes of velocity that the next are extrapolated from, go with
    /// the length of a substep.
    pub(crate) fn scale_impulses(&mut self, ratio: f64) {
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

    /// Reserves work of all that moves for what follows the part that is to be made, to which this share of it falls.
    pub(super) fn reserve_work(&mut self, share: f64) {
        let budget = self.scheme.budget;
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(|tree| tree.reserve_work(budget, share));
    }

    /// Gives back what was reserved last.
    pub(super) fn release_work(&mut self) {
        self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(Tree::release_work);
    }
}
