//! Step validation: divides steps in which a joint turns fast, and rejects substeps that fail a check.

use simpartner_model::{BodyId, Mechanism};

use super::check_memory::{Alarm, CheckMemory};
use crate::{
    DynamicsSettings, StepCheck, StepEvent,
    engine::{
        collision::Contact,
        islands::{energy_bound::negligible_energy, island::Island},
        scheme::Scheme,
        state::tree::Tree,
    },
};

/// A substep is divided when a joint turns by more than this multiple of the permitted angle. It is above 1, so that
/// rates near the limit do not change the number of parts from step to step.
const SPLIT_HYSTERESIS: f64 = 2.0;
/// Largest penetration at which a contact may first press, m; less between small shapes ([`Contact::depth_fraction`]).
/// Deeper contacts require smaller substeps.
///
/// A body that moves straight towards a surface is stopped at it; one that turns towards it fast, or slides over an
/// edge, may penetrate deeper. Islands of single bodies use the permitted penetration instead, because their heaps
/// would cost many times as much.
const MAX_IMPACT_DEPTH: f64 = 1e-3;
/// Fraction of the negligible energy that a loop may gain in a substep. At rest it gains energy by the rounding of
/// velocities.
const NEGLIGIBLE_FRACTION_IN_LOOPS: f64 = 1e-9;
/// Largest number of halvings for a fast joint. With more than a hundred parts, a runaway joint would only stop the
/// simulation.
const MAX_TURN_HALVINGS: u32 = 7;
/// Number of halvings that Gauss's method saves ([`crate::engine::gauss`]). At a joint rotation of g rad the error of
/// the midpoint scheme is the fraction g²/24, that of Gauss's method g⁴/4320, which is a thousandth of the former at
/// twice the g. Saving more would let energy drift, because parts of different lengths follow each other.
const HALVINGS_SPARED_BY_GAUSS: u32 = 1;

/// Fraction of the timestep above which a substep is halved if the stages of a long tree are not found. Waves too fast
/// for the whole step are often not too fast for a quarter; stiffer trees are left to the midpoint scheme at once.
const MIN_TIME_FRACTION_FOR_STAGES: f64 = 0.25;

/// The step checks and the events of the present step.
pub(crate) struct StepChecks {
    pub(super) names: Vec<String>,
    /// Trees that have joints.
    pub(super) jointed_trees: Vec<usize>,
    pub(super) settings: DynamicsSettings,
    pub(super) memory: CheckMemory,
    /// Alarms of this step, in the order in which they were found.
    pub(super) active_alarms: Vec<Alarm>,
    /// Energy of the world before the step, J.
    pub(super) energy: f64,
    /// Fastest joint rate of each tree, rad/s, and the body that the joint moves; and the number of halvings that it
    /// requires.
    pub(super) turning: Vec<(f64, Option<BodyId>)>,
    pub(super) halvings: Vec<u32>,
    pub(super) events: Vec<StepEvent>,
}

impl StepChecks {
    pub(crate) fn new(mechanism: &Mechanism, settings: &DynamicsSettings, trees: &[Tree]) -> Self {
        Self {
            jointed_trees: (0..trees.len()).filter(|&tree| trees[tree].topology.links.len() > 1).collect(),
            names: mechanism.bodies.iter().map(|body| mechanism.qualified_name(body)).collect(),
            settings: settings.clone(),
            memory: CheckMemory::default(),
            active_alarms: Vec::new(),
            energy: 0.0,
            turning: Vec::new(),
            halvings: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn events(&self) -> &[StepEvent] {
        &self.events
    }

    pub(crate) fn memory(&self) -> &CheckMemory {
        &self.memory
    }

    pub(crate) fn restore_memory(&mut self, memory: CheckMemory) {
        self.memory = memory;
        self.events.clear();
    }

    /// Number of halvings that the fastest joint of a tree requires; `is_free` if Gauss's method moves it.
    pub(crate) fn required_halvings(&self, tree: usize, is_free: bool) -> u32 {
        self.halvings[tree].saturating_sub(if is_free { HALVINGS_SPARED_BY_GAUSS } else { 0 })
    }

    /// Largest number of halvings that any tree requires.
    pub(crate) fn max_required_halvings(&self) -> u32 {
        self.halvings.iter().fold(0, |most, &depth| most.max(depth))
    }

    /// Determines for each tree the number of halvings of the `least` substeps of the coming step: a joint that turns
    /// far in a substep is badly represented by its axis at the midpoint. Trees without contacts are also halved for
    /// the rotation of their root, because no friction hides the energy that the scheme gains.
    pub(crate) fn begin_step(&mut self, trees: &[Tree], contacts: &[Contact], timestep: f64, least: usize) {
        self.events.clear();
        self.memory.episodes.retain(|_, quiet| {
            *quiet -= timestep;
            *quiet > 0.0
        });
        self.energy = trees.iter().map(|tree| tree.work.energy).sum();
        self.turning.clear();
        self.turning.resize(trees.len(), (0.0, None));
        for &tree in self.jointed_trees.iter().filter(|&&tree| trees[tree].is_awake()) {
            self.turning[tree] = trees[tree].fastest_joint_rate();
        }
        for side in contacts.iter().flat_map(Contact::sides) {
            let tree = &trees[side.tree];
            if tree.topology.links.len() > 1 && tree.is_awake() {
                self.turning[side.tree] = tree.work.fastest_joint;
            }
        }
        let none = (0.0, None);
        let faster =
            |one: (f64, Option<BodyId>), &other: &(f64, Option<BodyId>)| if other.0 > one.0 { other } else { one };
        let (fastest, where_from) = self.turning.iter().fold(none, faster);
        let (h, allowed) = (timestep / least as f64, self.settings.turn_per_substep_rad);
        let depth = |rate: f64| {
            let turns = rate * h / allowed;
            let divided = turns > SPLIT_HYSTERESIS;
            (0..MAX_TURN_HALVINGS).take_while(|&depth| divided && turns > f64::from(1u32 << depth)).count() as u32
        };
        self.halvings.clear();
        self.halvings.extend(self.turning.iter().map(|&(rate, _)| depth(rate)));
        let count = least << self.max_required_halvings();
        if count != self.memory.substeps && (count != least || self.memory.substeps != 0) {
            let text = if count == least {
                "steps are no longer divided".to_owned()
            } else {
                let name = self.name(where_from);
                format!("'{name}' turns at {fastest:.1} rad/s: steps are divided into up to {count} parts")
            };
            let bodies = where_from.into_iter().collect();
            self.events.push(StepEvent { check: StepCheck::Substeps, bodies, text, value: count as f64 });
        }
        self.memory.substeps = if count == least { 0 } else { count };
    }

    /// True if a substep of an island must be repeated at half its length. Reasons: its contacts have no solution, or
    /// new contacts penetrate too deep; a speed exceeds the permitted maximum; the stages of a long tree were not
    /// found; a linkage gained energy; or an impact made its joints turn too fast.
    pub(crate) fn rejects_island(
        &mut self,
        island: &Island,
        trees: &[Tree],
        contacts: &[Contact],
        scheme: &Scheme,
    ) -> bool {
        let outcome = &island.outcome;
        let loses_stages = outcome.stages_not_found && scheme.time_fraction > MIN_TIME_FRACTION_FOR_STAGES;
        let is_unsolved = outcome.non_finite || !outcome.solve.converged;
        if is_unsolved || outcome.overspeed > 0.0 || outcome.rotation_too_large || loses_stages {
            return true;
        }
        if let Some((depth, contact)) = outcome.max_penetration.map(|(depth, index)| (depth, &contacts[index]))
            && depth > self.allowed_depth(island, trees) * contact.depth_fraction()
        {
            self.report_sinking(trees, contact, depth);
            return true;
        }
        self.rejects_linkage(island, trees, scheme)
    }

    /// Largest penetration at which a contact of the island may first press, m.
    fn allowed_depth(&self, island: &Island, trees: &[Tree]) -> f64 {
        if has_single_bodies_only(island, trees) {
            self.settings.max_penetration_m.max(MAX_IMPACT_DEPTH)
        } else {
            MAX_IMPACT_DEPTH
        }
    }

    /// True if an island with joints gained too much energy, or an impact made its joints turn too fast.
    fn rejects_linkage(&self, island: &Island, trees: &[Tree], scheme: &Scheme) -> bool {
        if has_single_bodies_only(island, trees) && !island.touches_soil() {
            return false;
        }
        let own = || island.trees().iter().map(|&tree| &trees[tree]);
        let fastest = own().map(|tree| tree.work.fastest_joint.0).fold(0.0, f64::max);
        // A body that rocks on its contact points gains and loses energy alternately; a loop keeps its gain.
        let substep = if let [true, false] = island.couplings() { 1.0 } else { NEGLIGIBLE_FRACTION_IN_LOOPS };
        let unseen = substep * scheme.time_fraction * negligible_energy(own());
        let gains = island.outcome.energy_error > island.allowed_gain(own(), island.couplings(), scheme) + unseen;
        gains || island.has_impact(trees) && fastest * scheme.h > SPLIT_HYSTERESIS * self.settings.turn_per_substep_rad
    }
}

/// True if an island has only single bodies.
fn has_single_bodies_only(island: &Island, trees: &[Tree]) -> bool {
    island.trees().iter().all(|&tree| trees[tree].topology.links.len() == 1)
}
