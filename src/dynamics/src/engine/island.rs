//! Islands: trees that touch or that loop joints connect, directly or through other trees, share one constraint problem. Islands
//! do not depend on each other, so any number of threads may solve them with the same bits.

use bevy_math::DVec3;
use rayon::prelude::*;

use super::{
    closure::Closure,
    collide::{Contact, Side},
    constraint::{Constraints, Parts},
    newton::Newton,
    problem::Scheme,
    solve::Outcome,
    tree::Tree,
};

/// How often an island is solved at most when motors reach or leave their limits or an impact changes the bias. Motors that
/// still change after that begin the next step where they are now.
const PASSES: usize = 4;
/// What [`Islands::slots`] says of a tree that nothing moves.
const NOWHERE: usize = usize::MAX;

/// One island of this step, with the memory to solve it.
#[derive(Debug, Default)]
pub(super) struct Island {
    trees: Vec<usize>,
    contacts: Vec<usize>,
    closures: Vec<usize>,
    constraints: Constraints,
    newton: Newton,
    pub(super) outcome: Outcome,
    /// True if its state was not finite: it is back where the step began, at rest.
    pub(super) failed: bool,
    /// Energy gained beyond the work of its motors, J; meaningless if `pushed_out`, which changes heights.
    pub(super) gain: f64,
    pub(super) pushed_out: bool,
    /// The deepest that any of its contacts penetrated before it could press, m, and that contact's place in the list.
    pub(super) sunk: (f64, usize),
}

/// All islands of this step.
#[derive(Debug, Default)]
pub(super) struct Islands {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// Each tree's place in its island.
    slots: Vec<usize>,
    /// Each tree's island.
    number: Vec<usize>,
    islands: Vec<Island>,
    count: usize,
}

impl Islands {
    /// Groups the trees that contacts and closures tie together; trees that nothing moves, or that sleep, are in none.
    pub(super) fn find(&mut self, trees: &[Tree], contacts: &[Contact], closures: &[Closure]) {
        let moves = |side: Side| trees[side.tree].topology.leaf[side.link].is_some();
        self.parent.clear();
        self.parent.extend(0..trees.len());
        let ties = contacts.iter().filter_map(|contact| Some((contact.a?, contact.b)));
        for (a, b) in ties.chain(closures.iter().map(|closure| (closure.a, closure.b))) {
            if moves(a) && moves(b) {
                let (a, b) = (self.root(a.tree), self.root(b.tree));
                self.parent[a.max(b)] = a.min(b);
            }
        }
        self.count = 0;
        self.slots.clear();
        self.slots.resize(trees.len(), NOWHERE);
        self.number.clear();
        self.number.resize(trees.len(), NOWHERE);
        for index in 0..trees.len() {
            if !trees[index].is_awake() {
                continue;
            }
            let root = self.root(index);
            if root == index {
                self.number[index] = self.count;
                self.begin();
            }
            self.number[index] = self.number[root];
            let island = &mut self.islands[self.number[root]];
            self.slots[index] = island.trees.len();
            island.trees.push(index);
        }
        let of = |side: Side| if moves(side) { self.number[side.tree] } else { NOWHERE };
        for (index, contact) in contacts.iter().enumerate() {
            let number = of(contact.b).min(contact.a.map_or(NOWHERE, of));
            if number != NOWHERE {
                self.islands[number].contacts.push(index);
            }
        }
        for (index, closure) in closures.iter().enumerate() {
            let number = of(closure.b).min(of(closure.a));
            if number != NOWHERE {
                self.islands[number].closures.push(index);
            }
        }
    }

    fn begin(&mut self) {
        if self.islands.len() == self.count {
            self.islands.push(Island::default());
        }
        let island = &mut self.islands[self.count];
        island.trees.clear();
        island.contacts.clear();
        island.closures.clear();
        self.count += 1;
    }

    fn root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// Solves every island and moves its trees to the end of the step, on the threads of `pool` if there is one.
    pub(super) fn solve(
        &mut self,
        trees: &mut [Tree],
        contacts: &[Contact],
        closures: &[Closure],
        scheme: &Scheme,
        pool: Option<&rayon::ThreadPool>,
    ) {
        let mut free: Vec<Option<&mut Tree>> = trees.iter_mut().map(Some).collect();
        let slots = &self.slots;
        let islands = self.islands[..self.count].iter_mut();
        let work = islands.map(|island| {
            let trees: Vec<&mut Tree> = island.trees.iter().filter_map(|&tree| free[tree].take()).collect();
            (island, trees)
        });
        let solve = |(island, mut trees): (&mut Island, Vec<&mut Tree>)| {
            island.solve(&mut trees, slots, contacts, closures, scheme);
        };
        match pool {
            Some(pool) => {
                let work: Vec<_> = work.collect();
                pool.install(|| work.into_par_iter().with_min_len(4).for_each(solve));
            }
            None => work.for_each(solve),
        }
    }

    /// The islands of this step.
    pub(super) fn all(&self) -> &[Island] {
        &self.islands[..self.count]
    }
}

impl Island {
    fn solve(
        &mut self,
        trees: &mut [&mut Tree],
        slots: &[usize],
        contacts: &[Contact],
        closures: &[Closure],
        scheme: &Scheme,
    ) {
        let mut base = 0;
        for tree in trees.iter_mut() {
            tree.work.base = base;
            base += tree.topology.freedom;
            tree.assemble(scheme.h, scheme.gravity);
        }
        let mut parts =
            Parts { trees, slots, contacts, own_contacts: &self.contacts, closures, own_closures: &self.closures };
        self.outcome = Outcome { converged: true, ..Outcome::default() };
        for pass in 1..=PASSES {
            self.constraints.assemble(&mut parts, scheme, pass > 1);
            let problem = &mut self.constraints.problem;
            if !problem.blocks.is_empty() {
                self.outcome = problem.solve(&mut self.newton, scheme);
            }
            if self.apply_impulses(parts.trees, scheme, pass) {
                break;
            }
        }
        self.compute_reactions(&mut parts, scheme);
        let corrections = self.constraints.problem.corrections(scheme);
        for tree in parts.trees.iter_mut() {
            if let Some(whitened) = &corrections {
                tree.set_pseudo_velocity(whitened);
            }
            tree.finish(scheme.h);
        }
        self.sunk = self.constraints.deepest_sinking(contacts, scheme.h);
        self.failed = !parts.trees.iter().all(|tree| tree.is_finite());
        self.gain = 0.0;
        for tree in parts.trees.iter_mut() {
            if self.failed {
                tree.contain();
            }
            tree.settle(scheme.gravity);
            self.gain += tree.work.energy - tree.work.kept_energy - tree.work.substep_work;
        }
        self.pushed_out = corrections.is_some();
    }

    /// Applies the impulses to every tree. False if one of them has to be solved again, and prepares that.
    fn apply_impulses(&self, trees: &mut [&mut Tree], scheme: &Scheme, pass: usize) -> bool {
        let mut settled = true;
        for tree in trees {
            let range = tree.work.base..tree.work.base + tree.topology.freedom;
            let problem = &self.constraints.problem;
            let whitened = if problem.blocks.is_empty() { &[] } else { &problem.w[range] };
            let unchanged = tree.take_impulses(whitened, scheme.h);
            let impact = tree.work.impact && pass == 1;
            if impact {
                tree.average_bias(scheme.gravity);
            }
            if (impact || !unchanged) && pass < PASSES {
                tree.set_free_velocity(scheme.h);
                settled = false;
            }
        }
        settled
    }

    /// Computes what the joints of its trees transmit.
    fn compute_reactions(&self, parts: &mut Parts, scheme: &Scheme) {
        self.constraints.push_links(parts, scheme.h);
        for tree in parts.trees.iter_mut().filter(|tree| tree.topology.links.len() > 1) {
            tree.set_reactions(scheme.h);
            tree.set_loads(scheme.h);
        }
        self.constraints.count_closure_work(parts, scheme.h);
    }

    /// Writes the impulses into contacts and closures: the warm start of the next step, and the loads that are read.
    pub(super) fn write_back(&self, contacts: &mut [Contact], closures: &mut [Closure], scheme: &Scheme) {
        for &contact in &self.contacts {
            (contacts[contact].impulse, contacts[contact].spin_impulse) = (DVec3::ZERO, DVec3::ZERO);
        }
        for &closure in &self.closures {
            closures[closure].impulses.fill(0.0);
        }
        if !self.failed {
            self.constraints.write_back(contacts, closures, scheme);
        }
    }

    /// True if it is too large to be solved again in smaller steps.
    pub(super) fn is_large(&self) -> bool {
        self.constraints.problem.is_large()
    }

    /// True if one of its trees was hit.
    pub(super) fn was_hit(&self, trees: &[Tree]) -> bool {
        self.trees.iter().any(|&tree| trees[tree].work.impact)
    }

    /// Its trees.
    pub(super) fn trees(&self) -> &[usize] {
        &self.trees
    }
}
