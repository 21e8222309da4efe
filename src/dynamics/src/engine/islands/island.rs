//! Islands: trees that touch or that loop joints connect, directly or through other trees, share one constraint problem. Islands
//! do not depend on each other, so any number of threads may solve them with the same bits.

use bevy_math::DVec3;
use rayon::prelude::*;
use simpartner_model::FreeAxis;

use super::{
    energy_bound::{self, negligible_energy},
    outcome::{IslandOptions, IslandOutcome},
    separation::Separation,
    work_budget::WorkBudget,
};
use crate::{
    Integrator,
    engine::{
        collision::Contact,
        constraints::{Constraints, Parts, loop_joint::Closure},
        gauss::loops::Loops,
        scheme::Scheme,
        soil::Footprints,
        solvers::solver::Solver,
        state::{addresses::Side, tree::Tree},
    },
};

/// How often an island is solved at most when motors reach or leave their limits or an impact changes the bias. Motors that
/// still change after that begin the next step where they are now.
const MAX_PASSES: usize = 4;
/// The same where motors have a largest power; in the second half, more and more of them are at it and none leaves it.
const MAX_PASSES_WITH_POWER_LIMITS: usize = 12;
/// The same where something stands on soil, which yields or holds.
const MAX_PASSES_ON_SOIL: usize = 10;
/// What [`Islands::slots`] says of a tree that nothing moves, and [`Islands::number`] of one that flies alone.
const NO_ISLAND: usize = usize::MAX;
const FREE_BODY: usize = usize::MAX - 1;

/// One island of this step, with the memory to solve it.
#[derive(Debug, Default)]
pub(crate) struct Island {
    trees: Vec<usize>,
    contacts: Vec<usize>,
    closures: Vec<usize>,
    pub(crate) constraints: Constraints,
    loops: Loops,
    pub(crate) solver: Solver,
    pub(crate) separation: Separation,
    pub(crate) options: IslandOptions,
    pub(crate) outcome: IslandOutcome,
}

/// All islands of this step.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// Each tree's place in its island.
    slots: Vec<usize>,
    /// Each tree's island.
    number: Vec<usize>,
    /// Whether each tree has contacts or closes loops.
    constrained: Vec<bool>,
    islands: Vec<Island>,
    count: usize,
    /// Memory for references to all trees, and to those of one island; empty between steps.
    free: Vec<Option<&'static mut Tree>>,
    own: Vec<&'static mut Tree>,
}

impl Islands {
    /// Groups the trees that contacts and closures tie together; trees that nothing moves, or that sleep, or fly alone, are in none.
    pub(crate) fn find(&mut self, trees: &[Tree], contacts: &[Contact], closures: &[Closure], scheme: &Scheme) {
        let moves = |side: Side| trees[side.tree].topology.leaf[side.link].is_some();
        self.mark_constrained(trees.len(), contacts, closures);
        self.parent.clear();
        self.parent.extend(0..trees.len());
        let ties = first_of_each_pair(contacts).filter_map(|contact| Some((contact.a?, contact.b)));
        for (a, b) in ties.chain(closures.iter().map(|closure| (closure.a, closure.b))) {
            if moves(a) && moves(b) {
                let (a, b) = (self.find_root(a.tree), self.find_root(b.tree));
                self.parent[a.max(b)] = a.min(b);
            }
        }
        self.count = 0;
        self.slots.clear();
        self.slots.resize(trees.len(), NO_ISLAND);
        self.number.clear();
        self.number.resize(trees.len(), NO_ISLAND);
        for index in 0..trees.len() {
            if !trees[index].is_awake() {
                continue;
            }
            if !self.constrained[index] && trees[index].is_free_flight(scheme.h, scheme.gravity) {
                self.number[index] = FREE_BODY;
                continue;
            }
            let root = self.find_root(index);
            if root == index {
                self.number[index] = self.count;
                self.begin_island();
            }
            self.number[index] = self.number[root];
            let island = &mut self.islands[self.number[root]];
            self.slots[index] = island.trees.len();
            island.trees.push(index);
        }
        let of = |side: Side| if moves(side) { self.number[side.tree] } else { NO_ISLAND };
        let mut first = 0;
        for pair in contacts.chunk_by(|one, other| one.key == other.key) {
            let number = of(pair[0].b).min(pair[0].a.map_or(NO_ISLAND, of));
            if number != NO_ISLAND {
                self.islands[number].contacts.extend(first..first + pair.len());
            }
            first += pair.len();
        }
        for (index, closure) in closures.iter().enumerate() {
            let number = of(closure.b).min(of(closure.a));
            if number != NO_ISLAND {
                self.islands[number].closures.push(index);
            }
        }
    }

    fn mark_constrained(&mut self, trees: usize, contacts: &[Contact], closures: &[Closure]) {
        self.constrained.clear();
        self.constrained.resize(trees, false);
        let ends = first_of_each_pair(contacts).flat_map(Contact::sides);
        for side in ends.chain(closures.iter().flat_map(|closure| [closure.a, closure.b])) {
            self.constrained[side.tree] = true;
        }
    }

    /// Whether a tree flies alone.
    pub(crate) fn is_free_body(&self, tree: usize) -> bool {
        self.number[tree] == FREE_BODY
    }

    fn begin_island(&mut self) {
        if self.islands.len() == self.count {
            self.islands.push(Island::default());
        }
        let island = &mut self.islands[self.count];
        island.trees.clear();
        island.contacts.clear();
        island.closures.clear();
        self.count += 1;
    }

    fn find_root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// Whether nothing keeps a tree from being moved to fourth order, before that is tried.
    pub(crate) fn may_use_gauss(&self, tree: usize, trees: &[Tree], contacts: &[Contact], scheme: &Scheme) -> bool {
        let island = self.islands[..self.count].get(self.number[tree]);
        island.is_some_and(|island| {
            let own = island.contacts.iter().map(|&contact| &contacts[contact]);
            island.trees.len() == 1 && allows_gauss(&trees[tree], own, scheme)
        })
    }

    /// Does the same to every island, on the threads of `pool` if there is one.
    pub(crate) fn for_each(
        &mut self,
        trees: &mut [Tree],
        contacts: &[Contact],
        prints: &Footprints,
        closures: &[Closure],
        pool: Option<&rayon::ThreadPool>,
        work: impl Fn(&mut Island, &mut Parts) + Sync + Send,
    ) {
        let mut free: Vec<Option<&mut Tree>> = reuse_allocation(std::mem::take(&mut self.free));
        free.extend(trees.iter_mut().map(Some));
        let (slots, numbers) = (&self.slots, &self.number);
        let work = |island: &mut Island, trees: &mut [&mut Tree]| {
            let number = numbers[island.trees[0]];
            let kept = (std::mem::take(&mut island.contacts), std::mem::take(&mut island.closures));
            let (own_contacts, own_closures) = (&kept.0, &kept.1);
            let mut parts =
                Parts { trees, slots, numbers, number, contacts, prints, own_contacts, closures, own_closures };
            work(island, &mut parts);
            (island.contacts, island.closures) = kept;
        };
        let islands = self.islands[..self.count].iter_mut();
        match pool {
            Some(pool) => {
                let each = islands.map(|island| {
                    let own: Vec<&mut Tree> = island.trees.iter().filter_map(|&tree| free[tree].take()).collect();
                    (island, own)
                });
                let each: Vec<_> = each.collect();
                pool.install(|| {
                    each.into_par_iter().with_min_len(4).for_each(|(island, mut own)| work(island, &mut own));
                });
            }
            None => {
                let mut own: Vec<&mut Tree> = reuse_allocation(std::mem::take(&mut self.own));
                for island in islands {
                    own.clear();
                    own.extend(island.trees.iter().filter_map(|&tree| free[tree].take()));
                    work(island, &mut own);
                }
                self.own = reuse_allocation(own);
            }
        }
        self.free = reuse_allocation(free);
    }

    /// The same, to change them.
    pub(crate) fn all_mut(&mut self) -> &mut [Island] {
        &mut self.islands[..self.count]
    }

    /// The islands of this step.
    pub(crate) fn all(&self) -> &[Island] {
        &self.islands[..self.count]
    }
}

/// Whether a tree with these contacts may be moved to fourth order, as far as they and its laws tell.
fn allows_gauss<'a>(tree: &Tree, mut contacts: impl Iterator<Item = &'a Contact>, scheme: &Scheme) -> bool {
    scheme.integrator == Integrator::Gauss && contacts.all(|contact| contact.deferred) && tree.is_smooth()
}

/// A contact of each pair of shapes.
fn first_of_each_pair(contacts: &[Contact]) -> impl Iterator<Item = &Contact> {
    contacts.chunk_by(|one, other| one.key == other.key).map(|pair| &pair[0])
}

/// An empty list in the memory of another, whose references may live longer or less long: where the elements are of one size
/// the standard library collects in place.
fn reuse_allocation<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

impl Island {
    /// Assembles the equations of motion at the midpoint, and the rows of all constraints with the impulses they start from.
    ///
    /// Reads what the prediction wrote: where the trees' links are and how they move, contacts, closures. Writes the mass
    /// matrices, biases, factors and free velocities of the trees, and the problem.
    pub(crate) fn assemble(&mut self, parts: &mut Parts, scheme: &Scheme) {
        let mut base = 0;
        for tree in parts.trees.iter_mut() {
            tree.work.base = base;
            base += tree.topology.freedom;
            tree.assemble(scheme.gravity);
        }
        self.constraints.press_soil(parts, scheme, false);
        parts.trees.iter_mut().for_each(|tree| tree.set_free_velocity(scheme.h));
        self.constraints.assemble(parts, scheme, false);
    }

    /// Solves for the impulses; again where a motor reaches or leaves its limit, and where an impact changes the bias.
    ///
    /// Reads the problem. Writes its impulses and the outcome; of each tree the changes of velocity, the efforts of its motors
    /// and which of them are at their limits.
    pub(crate) fn solve(&mut self, parts: &mut Parts, scheme: &Scheme) {
        self.outcome = IslandOutcome::UNSOLVED;
        let mut budget = WorkBudget::begin(parts, scheme, &self.constraints.problem);
        if !self.step_by_gauss(parts, scheme) {
            self.solve_in_passes(parts, scheme, &mut budget);
        }
        budget.end(parts);
    }

    fn solve_in_passes(&mut self, parts: &mut Parts, scheme: &Scheme, budget: &mut WorkBudget) {
        let bounded = |axis: &FreeAxis| axis.max_power.is_finite();
        let has_powers = parts.trees.iter().any(|tree| tree.topology.has_powers)
            || parts.own_closures.iter().any(|&own| parts.closures[own].axes.iter().flatten().any(bounded));
        let on_soil = parts.own_contacts.iter().any(|&own| parts.contacts[own].print.is_some());
        let passes = match (has_powers, on_soil) {
            (true, _) => MAX_PASSES_WITH_POWER_LIMITS,
            (false, true) => MAX_PASSES_ON_SOIL,
            (false, false) => MAX_PASSES,
        };
        for pass in 1..=passes {
            if pass > 1 {
                budget.add_pass();
                self.constraints.press_soil(parts, scheme, true);
                self.constraints.assemble(parts, scheme, true);
                self.constraints.problem.previous_residual = self.outcome.solve.residual;
            }
            let problem = &mut self.constraints.problem;
            if !problem.blocks.is_empty() {
                self.outcome.solve = problem.solve(&mut self.solver, budget.remaining_sweeps());
                self.outcome.solve.sweeps = budget.add_sweeps(self.outcome.solve.sweeps);
            }
            let last = if budget.can_retry() { passes } else { pass };
            let settled = self.apply_impulses(parts, scheme, [pass, last]);
            let keeps = self.constraints.keeps_powers(parts, scheme.h, 2 * pass > passes);
            let presses = self.constraints.soil_settles(parts, scheme, settled && keeps);
            if settled && keeps && presses && self.constraints.closes(parts, scheme) {
                break;
            }
            if last < passes {
                self.outcome.budget_exhausted = true;
                break;
            }
        }
    }

    /// Whether there is work enough to make the substep again in two parts.
    pub(crate) fn can_split(&self, parts: &Parts, scheme: &Scheme) -> bool {
        parts.trees.iter().all(|tree| scheme.can_split(tree))
    }

    /// Whether nothing constrains it but joints that close loops, and nothing in it is stiff, so that the step was made to fourth order.
    fn step_by_gauss(&mut self, parts: &mut Parts, scheme: &Scheme) -> bool {
        self.loops.made = false;
        let own = parts.own_contacts.iter().map(|&contact| &parts.contacts[contact]);
        if !matches!(&*parts.trees, [tree] if allows_gauss(tree, own, scheme)) {
            return false;
        }
        let smooth = self.loops.begin(parts, self.constraints.purposes());
        let [tree] = &mut *parts.trees else { return false };
        tree.work.is_complete = smooth && tree.step_gauss(&mut self.loops, scheme.h, scheme.gravity);
        if tree.work.is_complete {
            self.constraints.clear();
        }
        self.outcome.stages_not_found = smooth && !tree.work.is_complete && tree.topology.is_long();
        tree.work.is_complete
    }

    /// Kicks and drifts to the end of the substep. In the last attempt no energy may be there that nothing gave.
    ///
    /// Reads the impulses. Writes the state of each tree, where its links then are, its reactions, loads and energies, and what
    /// the guards look at.
    pub(crate) fn finish(&mut self, parts: &mut Parts, scheme: &Scheme) {
        self.compute_reactions(parts, scheme);
        self.outcome.max_penetration = self.constraints.deepest_sinking(parts.contacts, scheme.h);
        for tree in parts.trees.iter_mut() {
            tree.record_midpoint();
            if !tree.work.is_complete {
                tree.finish(scheme.h);
            }
            tree.update_kinematics(scheme.gravity);
        }
        self.separate(parts, scheme);
        self.limit_speeds(parts, scheme);
        self.update_energy_error(parts);
        if self.options.accept_unconverged && self.outcome.energy_error > self.accepted_gain(parts, scheme) {
            self.remove_energy(parts, scheme);
        }
        self.outcome.non_finite = !parts.trees.iter().all(|tree| tree.is_finite_state());
        if self.outcome.non_finite {
            self.restore_at_rest(parts, scheme);
        }
    }

    /// What it may gain in the last attempt at a substep, J.
    fn accepted_gain(&self, parts: &Parts, scheme: &Scheme) -> f64 {
        let ties = [!parts.own_contacts.is_empty(), !parts.own_closures.is_empty()];
        let unseen = if self.outcome.solve.converged { negligible_energy(trees(parts)) } else { 0.0 };
        scheme.time_fraction * self.allowed_gain(trees(parts), ties, scheme) + unseen
    }

    pub(crate) fn update_energy_error(&mut self, parts: &Parts) {
        self.outcome.energy_error = parts.trees.iter().map(|tree| tree.energy_error()).sum();
    }

    /// What it may gain in a substep ([`energy_bound::allowed_gain`]), J; single bodies gain nothing where their contacts are solved and they are in
    /// no soil.
    pub(crate) fn allowed_gain<'a>(
        &self,
        trees: impl Iterator<Item = &'a Tree> + Clone,
        ties: [bool; 2],
        scheme: &Scheme,
    ) -> f64 {
        let converged = self.outcome.solve.converged;
        if converged && !self.touches_soil() && trees.clone().all(|tree| tree.topology.links.len() == 1) {
            return f64::INFINITY;
        }
        energy_bound::allowed_gain(trees, ties, converged, scheme.h)
    }

    /// Whether anything of it is in soil, which may ask for smaller steps of single bodies as well.
    pub(crate) fn touches_soil(&self) -> bool {
        self.constraints.has_soil()
    }

    /// Applies the impulses to every tree. False if one of them has to be solved again, and prepares that.
    fn apply_impulses(&self, parts: &mut Parts, scheme: &Scheme, [pass, passes]: [usize; 2]) -> bool {
        let (mut settled, touches) = (true, !parts.own_contacts.is_empty());
        for tree in parts.trees.iter_mut() {
            let range = tree.work.base..tree.work.base + tree.topology.freedom;
            let problem = &self.constraints.problem;
            let whitened = if problem.blocks.is_empty() { &[] } else { &problem.w[range] };
            let alone = whitened.is_empty() && !tree.work.has_damping;
            // Each search for the bias begins with a round that may lead away from it; more passes are for motors only.
            if alone && pass <= MAX_PASSES {
                tree.iterate_bias(scheme.h, scheme.gravity);
            }
            let unchanged = tree.apply_impulses(whitened, scheme.h, 2 * pass > passes);
            let sound = tree.end_is_finite();
            // After the last pass the bias stays what the motion was found with, and reactions are worked out from.
            let again = sound && pass < passes;
            let impact = again && tree.work.impact && pass == 1;
            if impact {
                tree.average_bias(scheme.gravity);
            }
            let stands = alone || tree.work.impact || touches && tree.is_slowly_turning(scheme.h);
            let unsettled = again && pass < MAX_PASSES && !stands && tree.update_mean_bias(scheme.h, scheme.gravity);
            if impact || unsettled || !unchanged && pass < passes {
                tree.set_free_velocity(scheme.h);
                settled = false;
            }
        }
        settled
    }

    /// Computes what the joints of its trees transmit.
    fn compute_reactions(&self, parts: &mut Parts, scheme: &Scheme) {
        self.constraints.push_links(parts, scheme.h);
        for tree in parts.trees.iter_mut().filter(|tree| !tree.work.is_complete) {
            if tree.topology.links.len() > 1 {
                tree.set_loads(scheme.h);
                tree.set_reactions(scheme.h);
            } else {
                tree.work.substep_work = 0.0;
            }
            tree.work.substep_work += tree.external_work(scheme.h);
        }
        self.constraints.count_closure_work(parts, scheme.h);
        self.constraints.count_surface_work(parts, scheme.h);
        self.constraints.count_coupling_work(parts);
    }

    /// Writes the impulses into contacts and closures: the warm start of the next step, and the loads that are read.
    pub(crate) fn write_back(
        &self,
        contacts: &mut [Contact],
        prints: &mut Footprints,
        closures: &mut [Closure],
        scheme: &Scheme,
    ) {
        for &contact in &self.contacts {
            (contacts[contact].impulse, contacts[contact].spin_impulse) = (DVec3::ZERO, DVec3::ZERO);
            contacts[contact].pressed_for = 0.0;
        }
        for &closure in &self.closures {
            closures[closure].impulses.fill(0.0);
            (closures[closure].power_means, closures[closure].motor_limit) = ([0.0; 3], None);
        }
        if self.loops.made && !self.outcome.non_finite {
            self.loops.write_back(&self.closures, closures, scheme);
        }
        if !self.outcome.non_finite {
            self.constraints.write_back(contacts, prints, closures, scheme);
        }
    }

    /// What it has cost in this step so far, in sweeps.
    pub(crate) fn used_work(&self, trees: &[Tree]) -> f64 {
        self.trees.iter().map(|&tree| trees[tree].work.used_work).fold(0.0, f64::max)
    }

    /// True if one of its trees was hit.
    pub(crate) fn has_impact(&self, trees: &[Tree]) -> bool {
        self.trees.iter().any(|&tree| trees[tree].work.impact)
    }

    /// Whether anything touches in it, and whether joints close loops.
    pub(crate) fn couplings(&self) -> [bool; 2] {
        [!self.contacts.is_empty(), !self.closures.is_empty()]
    }

    /// Its trees.
    pub(crate) fn trees(&self) -> &[usize] {
        &self.trees
    }
}

fn trees<'a>(parts: &'a Parts) -> impl Iterator<Item = &'a Tree> + Clone {
    parts.trees.iter().map(|tree| &**tree)
}
