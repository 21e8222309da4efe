//! Islands: trees coupled by contacts or loop joints, directly or through other trees, share one constraint problem.
//! Islands are independent, so results are bit-identical for any number of threads.

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
        collision::{Collider, Contact},
        constraints::{Constraints, IslandParts, loop_joint::LoopJoint},
        gauss::loops::LoopConstraints,
        scheme::Scheme,
        soil::SoilPatches,
        solvers::solver::Solver,
        state::{addresses::LinkAddress, tree::Tree},
    },
};

/// Largest number of solves of an island when motors reach or leave their limits, or an impact changes the bias. Motors
/// that still change afterwards start the next step in their present mode.
const MAX_PASSES: usize = 4;
/// The same number with motors of bounded power. In the second half of the solves, motors may reach this limit but not
/// leave it.
const MAX_PASSES_WITH_POWER_LIMITS: usize = 12;
/// The same number for islands on soil, which switches between yielding and holding.
const MAX_PASSES_ON_SOIL: usize = 10;
/// Markers in [`Islands::slots`] for trees that do not move, and in [`Islands::number`] for free bodies in flight.
const NO_ISLAND: usize = usize::MAX;
const FREE_BODY: usize = usize::MAX - 1;

/// One island of this substep, with the buffers to solve it.
#[derive(Debug, Default)]
pub(crate) struct Island {
    /// Indices of its trees, contacts and loop joints in the world.
    trees: Vec<usize>,
    contacts: Vec<usize>,
    loop_joints: Vec<usize>,
    pub(crate) constraints: Constraints,
    loops: LoopConstraints,
    pub(crate) solver: Solver,
    pub(crate) separation: Separation,
    pub(crate) options: IslandOptions,
    pub(crate) outcome: IslandOutcome,
}

/// All islands of this substep.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    /// Union-find over the trees.
    parent: Vec<usize>,
    /// Index of each tree within its island.
    slots: Vec<usize>,
    /// Island of each tree.
    number: Vec<usize>,
    /// True for each tree with contacts or loop joints.
    constrained: Vec<bool>,
    islands: Vec<Island>,
    count: usize,
    /// Scratch buffers for references to trees, reused between steps to avoid allocation. Empty between steps.
    free: Vec<Option<&'static mut Tree>>,
    own: Vec<&'static mut Tree>,
}

impl Islands {
    /// Groups the trees that contacts and loop joints couple. Fixed and sleeping trees and those in free flight are in
    /// no island.
    pub(crate) fn group_trees(
        &mut self,
        trees: &[Tree],
        contacts: &[Contact],
        loop_joints: &[LoopJoint],
        scheme: &Scheme,
    ) {
        let moves = |side: LinkAddress| trees[side.tree].topology.leaf[side.link].is_some();
        self.mark_constrained(trees.len(), contacts, loop_joints);
        self.parent.clear();
        self.parent.extend(0..trees.len());
        let ties = first_of_each_pair(contacts).filter_map(|contact| Some((contact.a?, contact.b)));
        for (a, b) in ties.chain(loop_joints.iter().map(|loop_joint| (loop_joint.a, loop_joint.b))) {
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
        let of = |side: LinkAddress| if moves(side) { self.number[side.tree] } else { NO_ISLAND };
        let mut first = 0;
        for pair in contacts.chunk_by(|one, other| one.key == other.key) {
            let number = of(pair[0].b).min(pair[0].a.map_or(NO_ISLAND, of));
            if number != NO_ISLAND {
                self.islands[number].contacts.extend(first..first + pair.len());
            }
            first += pair.len();
        }
        for (index, loop_joint) in loop_joints.iter().enumerate() {
            let number = of(loop_joint.b).min(of(loop_joint.a));
            if number != NO_ISLAND {
                self.islands[number].loop_joints.push(index);
            }
        }
    }

    fn mark_constrained(&mut self, trees: usize, contacts: &[Contact], loop_joints: &[LoopJoint]) {
        self.constrained.clear();
        self.constrained.resize(trees, false);
        let ends = first_of_each_pair(contacts).flat_map(Contact::sides);
        for side in ends.chain(loop_joints.iter().flat_map(|loop_joint| [loop_joint.a, loop_joint.b])) {
            self.constrained[side.tree] = true;
        }
    }

    /// True if a tree is a single body in free flight.
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
        island.loop_joints.clear();
        self.count += 1;
    }

    fn find_root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// True if a tree qualifies for Gauss's method before the step is tried.
    pub(crate) fn may_use_gauss(&self, tree: usize, trees: &[Tree], contacts: &[Contact], scheme: &Scheme) -> bool {
        let island = self.islands[..self.count].get(self.number[tree]);
        island.is_some_and(|island| {
            let own = island.contacts.iter().map(|&contact| &contacts[contact]);
            island.trees.len() == 1 && allows_gauss(&trees[tree], own, scheme)
        })
    }

    /// Runs `work` on every island, on the threads of `pool` if there is one.
    pub(crate) fn for_each(
        &mut self,
        trees: &mut [Tree],
        collider: &Collider,
        loop_joints: &[LoopJoint],
        pool: Option<&rayon::ThreadPool>,
        work: impl Fn(&mut Island, &mut IslandParts) + Sync + Send,
    ) {
        let mut free: Vec<Option<&mut Tree>> = reuse_allocation(std::mem::take(&mut self.free));
        free.extend(trees.iter_mut().map(Some));
        let (slots, numbers) = (&self.slots, &self.number);
        let Collider { contacts, outlines, soil: soil_patches, .. } = collider;
        let work = |island: &mut Island, trees: &mut [&mut Tree]| {
            let number = numbers[island.trees[0]];
            let kept = (std::mem::take(&mut island.contacts), std::mem::take(&mut island.loop_joints));
            let (own_contacts, own_loop_joints) = (&kept.0, &kept.1);
            let mut parts = IslandParts {
                trees,
                slots,
                numbers,
                number,
                contacts,
                outlines,
                soil_patches,
                own_contacts,
                loop_joints,
                own_loop_joints,
            };
            work(island, &mut parts);
            (island.contacts, island.loop_joints) = kept;
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

    /// The islands of this substep.
    pub(crate) fn islands_mut(&mut self) -> &mut [Island] {
        &mut self.islands[..self.count]
    }

    /// The islands of this step.
    pub(crate) fn islands(&self) -> &[Island] {
        &self.islands[..self.count]
    }
}

/// True if a tree with these contacts qualifies for Gauss's method, as far as the contacts and its joints tell.
fn allows_gauss<'a>(tree: &Tree, mut contacts: impl Iterator<Item = &'a Contact>, scheme: &Scheme) -> bool {
    scheme.integrator == Integrator::Gauss && contacts.all(|contact| contact.deferred) && tree.is_smooth()
}

/// The first contact of each pair of shapes.
fn first_of_each_pair(contacts: &[Contact]) -> impl Iterator<Item = &Contact> {
    contacts.chunk_by(|one, other| one.key == other.key).map(|pair| &pair[0])
}

/// An empty list that reuses the allocation of another, whose references may have another lifetime. The standard
/// library collects in place if the elements have the same size.
fn reuse_allocation<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

impl Island {
    /// Assembles the equations of motion at the midpoint, and the rows of all constraints with their initial impulses.
    ///
    /// Reads the prediction: poses and velocities of links, contacts, loop joints. Writes mass matrices, biases,
    /// factors and free velocities of the trees, and the constraint problem.
    pub(crate) fn assemble(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        let mut base = 0;
        for tree in parts.trees.iter_mut() {
            tree.work.base = base;
            base += tree.topology.freedom;
            tree.assemble(scheme.gravity);
        }
        self.constraints.update_soil(parts, scheme, false);
        self.constraints.keeps_points = false;
        parts.trees.iter_mut().for_each(|tree| tree.set_free_velocity(scheme.h));
        self.constraints.assemble(parts, scheme, false);
    }

    /// Solves for the impulses; repeatedly if a motor reaches or leaves its limit, or an impact changes the bias.
    pub(crate) fn solve(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        self.outcome = IslandOutcome::UNSOLVED;
        let mut budget = WorkBudget::start_attempt(parts, scheme, &self.constraints.problem);
        if !self.step_by_gauss(parts, scheme) {
            self.solve_in_passes(parts, scheme, &mut budget);
        }
        budget.store_cost(parts);
    }

    fn solve_in_passes(&mut self, parts: &mut IslandParts, scheme: &Scheme, budget: &mut WorkBudget) {
        let bounded = |axis: &FreeAxis| axis.max_power.is_finite();
        let has_powers = parts.trees.iter().any(|tree| tree.topology.has_powers)
            || parts.own_loop_joints.iter().any(|&own| parts.loop_joints[own].axes.iter().flatten().any(bounded));
        let on_soil = parts.own_contacts.iter().any(|&own| parts.contacts[own].soil_patch.is_some());
        let passes = match (has_powers, on_soil) {
            (true, _) => MAX_PASSES_WITH_POWER_LIMITS,
            (false, true) => MAX_PASSES_ON_SOIL,
            (false, false) => MAX_PASSES,
        };
        for pass in 1..=passes {
            if pass > 1 {
                budget.add_pass();
                self.constraints.update_soil(parts, scheme, true);
                self.constraints.update_free_velocities(parts, scheme);
                self.constraints.assemble(parts, scheme, true);
                self.constraints.problem.previous_residual = self.outcome.solve.residual;
            }
            self.solve_constraints(parts, scheme, budget);
            let last = if budget.can_retry() { passes } else { pass };
            let settled = self.apply_impulses(parts, scheme, [pass, last]);
            let keeps = self.constraints.power_limits_consistent(parts, scheme.h, 2 * pass > passes);
            let presses = self.constraints.soil_converged(parts, scheme, settled && keeps);
            if settled && keeps && presses && self.constraints.loops_closed(parts, scheme) {
                break;
            }
            if last < passes {
                self.outcome.budget_exhausted = true;
                break;
            }
        }
    }

    /// True if the work budget allows to repeat the substep in two halves.
    pub(crate) fn can_split(&self, parts: &IslandParts, scheme: &Scheme) -> bool {
        parts.trees.iter().all(|tree| scheme.can_split(tree))
    }

    /// Makes the substep by Gauss's method if only loop joints constrain the island and nothing in it is stiff. Returns
    /// false if the midpoint scheme has to make it.
    fn step_by_gauss(&mut self, parts: &mut IslandParts, scheme: &Scheme) -> bool {
        self.loops.used = false;
        let own = parts.own_contacts.iter().map(|&contact| &parts.contacts[contact]);
        if !matches!(&*parts.trees, [tree] if allows_gauss(tree, own, scheme)) {
            return false;
        }
        let smooth = self.loops.take_joints(parts, self.constraints.row_kinds());
        let [tree] = &mut *parts.trees else { return false };
        tree.work.is_complete = smooth && tree.step_gauss(&mut self.loops, scheme.h, scheme.gravity);
        if tree.work.is_complete {
            self.constraints.clear();
        }
        self.outcome.stages_not_found = smooth && !tree.work.is_complete && tree.topology.is_long();
        tree.work.is_complete
    }

    /// Kicks and drifts to the end of the substep. An unconverged attempt may be accepted only without gain of energy.
    /// Reads the impulses. Writes the state of each tree, the poses of its links, reactions, loads and energies, and
    /// the outcome.
    pub(crate) fn finish(&mut self, parts: &mut IslandParts, scheme: &Scheme) {
        self.compute_reactions(parts, scheme);
        self.outcome.max_penetration = self.constraints.deepest_penetration(parts.contacts, scheme.h);
        for tree in parts.trees.iter_mut() {
            tree.record_midpoint();
            if !tree.work.is_complete {
                tree.finish(scheme.h);
                if !scheme.is_impact_instant {
                    tree.store_holding_efforts();
                }
            }
            tree.update_kinematics(scheme.gravity);
        }
        self.separate_overlaps(parts, scheme);
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

    /// Energy error that the last attempt at a substep may have, J.
    fn accepted_gain(&self, parts: &IslandParts, scheme: &Scheme) -> f64 {
        let ties = [!parts.own_contacts.is_empty(), !parts.own_loop_joints.is_empty()];
        let unseen = if self.outcome.solve.converged { negligible_energy(trees(parts)) } else { 0.0 };
        scheme.time_fraction * self.allowed_gain(trees(parts), ties, scheme) + unseen
    }

    /// Sums up the energy errors of its trees, J.
    pub(crate) fn update_energy_error(&mut self, parts: &IslandParts) {
        self.outcome.energy_error = parts.trees.iter().map(|tree| tree.energy_error()).sum();
    }

    /// Allowed energy error of a substep ([`energy_bound::allowed_gain`]), J. `ties` are true if it has contacts, and
    /// if it has loop joints. Single bodies have no bound if their contacts are solved and no soil is involved, because
    /// they gain nothing then.
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

    /// Applies the impulses to every tree. Returns false if the island has to be solved again, which is then prepared.
    /// `[pass, passes]` are the number of this solve and the largest number of solves.
    fn apply_impulses(&self, parts: &mut IslandParts, scheme: &Scheme, [pass, passes]: [usize; 2]) -> bool {
        let (mut settled, touches) = (true, !parts.own_contacts.is_empty());
        self.constraints.add_holding_efforts(parts, scheme.h);
        for tree in parts.trees.iter_mut() {
            let range = tree.work.base..tree.work.base + tree.topology.freedom;
            let problem = &self.constraints.problem;
            let whitened = if problem.blocks.is_empty() { &[] } else { &problem.w[range] };
            let alone = whitened.is_empty() && !tree.work.has_damping;
            // Each iteration of the bias starts with a round that may lead away from it. Further passes are for motors
            // only.
            if alone && pass <= MAX_PASSES {
                tree.iterate_bias(scheme.h, scheme.gravity);
            }
            let unchanged = tree.apply_impulses(whitened, scheme.h, 2 * pass > passes);
            let sound = tree.end_is_finite();
            // After the last pass the bias is not updated, because motion and reactions were computed with it.
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

    /// Computes the joint reactions of its trees.
    fn compute_reactions(&self, parts: &mut IslandParts, scheme: &Scheme) {
        self.constraints.apply_contact_forces(parts, scheme.h);
        for tree in parts.trees.iter_mut().filter(|tree| !tree.work.is_complete) {
            if tree.topology.links.len() > 1 {
                tree.set_loads(scheme.h);
                tree.set_reactions(scheme.h);
            } else {
                tree.work.substep_work = 0.0;
            }
            tree.work.substep_work += tree.external_work(scheme.h);
        }
        self.constraints.add_loop_work(parts, scheme.h);
        self.constraints.add_surface_work(parts, scheme.h);
        self.constraints.add_coupling_work(parts);
    }

    /// Stores the impulses in contacts and loop joints: the warm start of the next step, and the reported loads.
    pub(crate) fn write_back(
        &self,
        contacts: &mut [Contact],
        soil_patches: &mut SoilPatches,
        loop_joints: &mut [LoopJoint],
        scheme: &Scheme,
    ) {
        for &contact in &self.contacts {
            (contacts[contact].impulse, contacts[contact].spin_impulse) = (DVec3::ZERO, DVec3::ZERO);
            contacts[contact].contact_duration = 0.0;
        }
        for &loop_joint in &self.loop_joints {
            loop_joints[loop_joint].impulses.fill(0.0);
            (loop_joints[loop_joint].power_means, loop_joints[loop_joint].motor_limit) = ([0.0; 3], None);
        }
        if self.loops.used && !self.outcome.non_finite {
            self.loops.write_back(&self.loop_joints, loop_joints, scheme);
        }
        if !self.outcome.non_finite {
            self.constraints.write_back(contacts, &self.contacts, soil_patches, loop_joints, scheme);
        }
    }

    /// Work used for it in this step, in sweeps.
    pub(crate) fn used_work(&self, trees: &[Tree]) -> f64 {
        self.trees.iter().map(|&tree| trees[tree].work.used_work).fold(0.0, f64::max)
    }

    /// True if one of its trees had an impact.
    pub(crate) fn has_impact(&self, trees: &[Tree]) -> bool {
        self.trees.iter().any(|&tree| trees[tree].work.impact)
    }

    /// True if it has contacts, and if it has loop joints.
    pub(crate) fn couplings(&self) -> [bool; 2] {
        [!self.contacts.is_empty(), !self.loop_joints.is_empty()]
    }

    /// Its trees.
    pub(crate) fn trees(&self) -> &[usize] {
        &self.trees
    }
}

fn trees<'a>(parts: &'a IslandParts) -> impl Iterator<Item = &'a Tree> + Clone {
    parts.trees.iter().map(|tree| &**tree)
}
