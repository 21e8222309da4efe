//! The world, and one step of it as a sequence of phases: [`Dynamics::advance_step`] is the algorithm.

use std::sync::Arc;

use rayon::prelude::*;

use super::{impact_search::Impacts, retry_groups::RetryGroups, step_validation::StepChecks, substep::Substep};
use crate::{
    ContactPoint, Wrench,
    engine::{
        collision::{Collider, SharedParts},
        constraints::loop_joint::LoopJoint,
        islands::{
            energy_bound,
            island::{Island, Islands},
        },
        scheme::Scheme,
        state::{
            addresses::{BodyAddress, JointAddress},
            tree::Tree,
        },
    },
};

/// A world in this engine.
pub(crate) struct Dynamics {
    pub(crate) model: Model,
    pub(crate) scheme: Scheme,
    pub(crate) trees: Vec<Tree>,
    pub(crate) collider: Collider,
    pub(crate) loop_joints: Vec<LoopJoint>,
    pub(crate) islands: Islands,
    pub(crate) groups: RetryGroups,
    pub(crate) impacts: Impacts,
    pub(crate) checks: StepChecks,
    /// Contact wrench on each body in the last step.
    pub(crate) wrenches: Vec<Wrench>,
    pub(crate) contacts: Vec<ContactPoint>,
    /// Trees with external wrenches in the coming step.
    pub(crate) pushed: Vec<usize>,
    pub(crate) pool: Option<rayon::ThreadPool>,
}

/// Constants of a world, in addition to the topology of trees and the shapes of the collider.
pub(crate) struct Model {
    /// Shapes and grounds, for further engines of the model.
    pub(crate) shared: Arc<SharedParts>,
    /// Timestep, s, and smallest number of substeps.
    pub(crate) timestep: f64,
    pub(crate) substeps: usize,
    /// For each tree that may sleep, the speed below which it is at rest, m/s.
    pub(crate) sleepers: Vec<Option<f64>>,
    /// Addresses of the bodies and joints of the mechanism.
    pub(crate) bodies: Vec<BodyAddress>,
    pub(crate) joints: Vec<JointAddress>,
    /// Trees of several links that cannot move.
    pub(crate) static_structures: Vec<usize>,
}

impl Dynamics {
    /// Advances the world by one timestep.
    pub(crate) fn advance_step(&mut self) {
        self.collider.outdate_rays();
        self.clear_outputs();
        self.for_each_tree(Tree::begin_step);
        self.collider.soil.begin_step();
        self.checks.begin_step(&self.trees, &self.collider.contacts, self.model.timestep, self.model.substeps);
        let Model { timestep, substeps, .. } = self.model;
        for made in 0..substeps {
            let left = timestep * (substeps - made) as f64 / substeps as f64;
            self.advance_with_reserve(Substep::undivided(timestep / substeps as f64, left));
        }
        self.pushed.drain(..).for_each(|tree| self.trees[tree].clear_external_wrenches());
        self.fall_asleep();
        self.update_loop_joints();
        self.compute_static_reactions();
        self.checks.after_step(&self.trees, &self.collider.contacts, &self.loop_joints, &self.model.bodies);
    }

    /// Second to fourth phase for every island that is not rejected: equations of motion and rows, impulses, and the
    /// state at the end. The `last` attempt is accepted unconverged; so is one whose budget does not allow halves.
    pub(crate) fn solve_islands(&mut self, groups: &RetryGroups, last: bool) {
        let (scheme, loop_joints) = (&self.scheme, &self.loop_joints);
        self.islands.for_each(&mut self.trees, &self.collider, loop_joints, self.pool.as_ref(), |island, parts| {
            if !groups.is_rejected(island.trees()[0]) {
                island.assemble(parts, scheme);
                island.solve(parts, scheme);
                island.options.accept_unconverged = last || !island.can_split(parts, scheme);
                island.finish(parts, scheme);
            }
        });
        let Self { islands, trees, scheme, .. } = self;
        let flies = |index: usize| islands.is_free_body(index) && !groups.is_rejected(index);
        let fly = |tree: &mut Tree| tree.step_free_flight(scheme.h, scheme.gravity);
        match &self.pool {
            Some(pool) => pool.install(|| {
                let trees = trees.par_iter_mut().with_min_len(64).enumerate();
                trees.filter(|(index, _)| flies(*index)).for_each(|(_, tree)| fly(tree));
            }),
            None => trees.iter_mut().enumerate().filter(|(index, _)| flies(*index)).for_each(|(_, tree)| fly(tree)),
        }
    }

    /// First phase: drifts to the midpoint, finds contacts there, wakes bodies in contact with awake ones, and groups
    /// trees to islands.
    pub(crate) fn predict(&mut self) {
        let Scheme { h, lookahead, .. } = self.scheme;
        self.for_each_tree(|tree| tree.predict(h));
        self.collider.find_contacts(&self.trees, lookahead);
        self.wake_touched();
        for loop_joint in &mut self.loop_joints {
            loop_joint.update_frames(&self.trees);
        }
        self.islands.group_trees(&self.trees, &self.collider.contacts, &self.loop_joints, &self.scheme);
    }

    /// Commits the substep for all trees that are not rejected: warm starts, energy, loads, contacts and events.
    /// `depth` is the level of refinement of the substep.
    ///
    /// [`energy_bound::bound_accumulated_gain`] may reduce the velocities of these trees.
    pub(crate) fn commit_substep(&mut self, groups: &RetryGroups, depth: u32) {
        let share = self.scheme.time_fraction;
        let accepted = |island: &&Island| !groups.is_rejected(island.trees()[0]);
        for island in self.islands.islands().iter().filter(accepted) {
            let Collider { contacts, soil, .. } = &mut self.collider;
            island.write_back(contacts, soil, &mut self.loop_joints, &self.scheme);
            energy_bound::bound_accumulated_gain(
                island.trees(),
                island.outcome.energy_error,
                &mut self.trees,
                &self.scheme,
            );
        }
        for (index, tree) in self.trees.iter_mut().enumerate().filter(|(index, _)| !groups.is_rejected(*index)) {
            if self.islands.is_free_body(index) {
                energy_bound::bound_accumulated_gain(
                    &[0],
                    tree.energy_error(),
                    std::slice::from_mut(tree),
                    &self.scheme,
                );
            } else if !tree.is_awake() {
                continue;
            }
            tree.add_loads(share);
            self.collider.commit_soil_patches(index);
        }
        self.add_contacts(groups, depth);
        let counts = |tree: usize| !groups.is_rejected(tree);
        let contacts = &self.collider.contacts;
        self.checks.after_substep(self.islands.islands().iter().filter(accepted), &self.trees, contacts, counts);
    }

    /// Runs `work` on every tree that is awake, on all threads.
    pub(crate) fn for_each_tree(&mut self, work: impl Fn(&mut Tree) + Sync + Send) {
        let awake = |tree: &Tree| tree.is_awake();
        match &self.pool {
            Some(pool) => pool.install(|| {
                let trees = self.trees.par_iter_mut().with_min_len(4);
                trees.filter(|tree| awake(tree)).for_each(work);
            }),
            None => self.trees.iter_mut().filter(|tree| awake(tree)).for_each(work),
        }
    }
}
