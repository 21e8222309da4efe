//! Guards watch over a step: they divide steps in which something turns fast, reject substeps that went wrong, and tell what is out of
//! the ordinary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, FreeAxis, Mechanism, Norm};

use crate::{
    DynamicsSettings, Guard, Notice,
    engine::{
        collision::Contact,
        constraints::loop_joint::Closure,
        equations::{mass_and_bias::IMBALANCE, motors::MotorLimit},
        islands::{energy_bound::negligible_energy, island::Island},
        scheme::Scheme,
        state::{
            addresses::{BodyPlace, Side},
            kinematics::read_body,
            tree::{Link, Tree},
        },
    },
};

/// A substep is divided when a joint turns by more than this times the angle that it may turn by: above 1, so that rates about the
/// limit do not change the number of parts from step to step.
const SPLIT_HYSTERESIS: f64 = 2.0;
/// A contact that sinks in by more than this before it presses asks for smaller steps, metres; between small shapes by less
/// ([`Contact::share_of_depth`]). What comes straight at a surface is stopped at it; what turns towards it fast, or slides over an
/// edge, may come deeper. Objects alone, whose heaps would cost many times as much, ask when they come deeper than the penetration
/// that is thought right.
const MAX_IMPACT_DEPTH: f64 = 1e-3;
/// An alarm that may come and go with rounding is not given again before it has been quiet for so long, s.
const EPISODE_QUIET_S: f64 = 1.0;
/// Shapes that do not part are told after so long, s: those of a pile may be held by each other for some steps.
const UNSEPARATED_DELAY_S: f64 = 0.1;
/// Part of the energy that nobody sees that a loop may gain in a substep: at rest it gains what rounding leaves of velocities.
const NEGLIGIBLE_FRACTION_IN_LOOPS: f64 = 1e-9;
/// How often a substep is halved for a joint that turns fast, at most: with more than a hundred parts a runaway joint would only make
/// the simulation stand still.
const MAX_TURN_HALVINGS: u32 = 7;
/// How many halvings what moves freely is spared ([`crate::engine::gauss`]): where a joint turns by g rad, the midpoint scheme errs by g²/24 of that, the
/// method of fourth order by g⁴/4320, which at twice the g is a thousandth of it. What is spared more drifts, as parts of other lengths follow each other.
const HALVINGS_SPARED_BY_GAUSS: u32 = 1;

/// A substep of more than this share of the timestep is halved where the stages of a long tree are not found: waves that are too fast for the whole are
/// not for a quarter, and what is stiffer still is better left to the midpoint scheme at once.
const MIN_TIME_FRACTION_FOR_STAGES: f64 = 0.25;

/// An alarm that is given once until it no longer holds: which guard, and the two bodies or the joint.
type Alarm = (u8, usize, usize);

/// What the guards remember from step to step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CheckMemory {
    substeps: usize,
    /// Alarms that have been given and still hold, in order.
    raised_alarms: Vec<Alarm>,
    /// Alarms that are given once an episode, and for how many seconds they stay quiet if nothing more happens: which guard,
    /// and the tree.
    episodes: BTreeMap<(u8, usize), f64>,
}

impl CheckMemory {
    /// The same in a world where bodies, trees and closures have these numbers, or are gone.
    pub(crate) fn renumbered(
        self,
        bodies: &[Option<usize>],
        trees: &[Option<usize>],
        closures: &[Option<usize>],
    ) -> Self {
        let body = |number: usize| if number == usize::MAX { Some(number) } else { bodies[number] };
        let raised_alarms = self.raised_alarms.into_iter().filter_map(|(guard, first, second)| {
            Some(match guard {
                0 => (guard, body(first)?, second),
                1 => (guard, body(first)?, body(second)?),
                _ => (guard, closures[first]?, second),
            })
        });
        let mut raised_alarms: Vec<Alarm> = raised_alarms.collect();
        raised_alarms.sort_unstable();
        let episodes = self.episodes.into_iter().filter_map(|((guard, number), quiet)| {
            let number = match guard {
                1 => number,
                5 => closures[number]?,
                _ => trees[number]?,
            };
            Some(((guard, number), quiet))
        });
        Self { substeps: self.substeps, raised_alarms, episodes: episodes.collect() }
    }
}

/// All guards.
pub(crate) struct StepChecks {
    names: Vec<String>,
    /// Trees that have joints.
    jointed_trees: Vec<usize>,
    settings: DynamicsSettings,
    memory: CheckMemory,
    /// Alarms that hold in this step, in the order in which they were seen.
    active_alarms: Vec<Alarm>,
    /// Energy of the world before the step.
    energy: f64,
    /// Of each tree, how fast it turns, rad/s, and the body that does, and how often its substeps are halved at once for that.
    turning: Vec<(f64, Option<BodyId>)>,
    halvings: Vec<u32>,
    notices: Vec<Notice>,
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
            notices: Vec::new(),
        }
    }

    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub(crate) fn memory(&self) -> &CheckMemory {
        &self.memory
    }

    pub(crate) fn restore(&mut self, memory: CheckMemory) {
        self.memory = memory;
        self.notices.clear();
    }

    /// How often the substeps of a tree are halved at once, which moves freely or does not.
    pub(crate) fn required_halvings(&self, tree: usize, is_free: bool) -> u32 {
        self.halvings[tree].saturating_sub(if is_free { HALVINGS_SPARED_BY_GAUSS } else { 0 })
    }

    /// The largest of these numbers.
    pub(crate) fn max_required_halvings(&self) -> u32 {
        self.halvings.iter().fold(0, |most, &depth| most.max(depth))
    }

    /// Finds out how often the `least` substeps of the coming step are halved for each tree: where a joint turns far in a substep,
    /// its axis in the middle stands for others. What touches nothing, of which nothing is lost that the scheme gains, is halved for the turning of
    /// its root, too.
    pub(crate) fn begin_step(&mut self, trees: &[Tree], contacts: &[Contact], timestep: f64, least: usize) {
        self.notices.clear();
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
                "steps are whole again".to_owned()
            } else {
                let name = self.name(where_from);
                format!("'{name}' turns at {fastest:.1} rad/s: steps are made in up to {count} parts")
            };
            let bodies = where_from.into_iter().collect();
            self.notices.push(Notice { guard: Guard::Substeps, bodies, text, value: count as f64 });
        }
        self.memory.substeps = if count == least { 0 } else { count };
    }

    /// Whether a substep of an island must be repeated with half its length: its contacts have no solution, or sank in before they
    /// could press, or something became faster than anything may be, or did not move as freely as it was to, or a linkage gained energy, or a hit set its joints turning too fast for its length.
    pub(crate) fn rejects_island(
        &mut self,
        island: &Island,
        trees: &[Tree],
        contacts: &[Contact],
        scheme: &Scheme,
    ) -> bool {
        let loses_stages = island.stages_lost && scheme.time_fraction > MIN_TIME_FRACTION_FOR_STAGES;
        if island.failed || !island.outcome.converged || island.too_fast > 0.0 || island.turns_far || loses_stages {
            return true;
        }
        if let Some((depth, contact)) = island.sunk.map(|(depth, index)| (depth, &contacts[index]))
            && depth > self.allowed_depth(island, trees) * contact.share_of_depth()
        {
            self.report_sinking(trees, contact, depth);
            return true;
        }
        self.rejects_linkage(island, trees, scheme)
    }

    fn allowed_depth(&self, island: &Island, trees: &[Tree]) -> f64 {
        if has_single_bodies_only(island, trees) {
            self.settings.max_penetration_m.max(MAX_IMPACT_DEPTH)
        } else {
            MAX_IMPACT_DEPTH
        }
    }

    fn rejects_linkage(&self, island: &Island, trees: &[Tree], scheme: &Scheme) -> bool {
        if has_single_bodies_only(island, trees) && !island.touches_soil() {
            return false;
        }
        let own = || island.trees().iter().map(|&tree| &trees[tree]);
        let fastest = own().map(|tree| tree.work.fastest_joint.0).fold(0.0, f64::max);
        // What lies on its points and rocks gains and loses by turns; what a loop gains it keeps.
        let substep = if let [true, false] = island.couplings() { 1.0 } else { NEGLIGIBLE_FRACTION_IN_LOOPS };
        let unseen = substep * scheme.time_fraction * negligible_energy(own());
        let gains = island.gain > island.allowed_gain(own(), island.couplings(), scheme) + unseen;
        gains || island.has_impact(trees) && fastest * scheme.h > SPLIT_HYSTERESIS * self.settings.turn_per_substep_rad
    }

    /// Tells, once for each pair and step, that a step is made in parts because something sank in.
    fn report_sinking(&mut self, trees: &[Tree], contact: &Contact, depth: f64) {
        let bodies = pair(trees, contact);
        let same = |notice: &Notice| notice.bodies.iter().eq(bodies.iter().flatten());
        if self.notices.iter().any(|notice| notice.guard == Guard::Substeps && same(notice)) {
            return;
        }
        let [one, other] = bodies.map(|body| self.name(body));
        let text =
            format!("'{one}' sank {depth:.4} m into '{other}' before it could be held: the step is made in parts");
        let bodies = bodies.into_iter().flatten().collect();
        self.notices.push(Notice { guard: Guard::Substeps, bodies, text, value: depth });
    }

    /// Tells once in a step what happened in several of its parts: the part with the largest figure.
    fn report_worst(&mut self, notice: Notice) {
        let same = |other: &&mut Notice| (other.guard, &other.bodies) == (notice.guard, &notice.bodies);
        match self.notices.iter_mut().find(same) {
            Some(other) if notice.value > other.value => *other = notice,
            Some(_) => {}
            None => self.notices.push(notice),
        }
    }

    fn name(&self, body: Option<BodyId>) -> &str {
        body.map_or("the ground", |body| self.names[body.index()].as_str())
    }

    /// Tells which islands have no solution, or no sound state, and of which trees that the substep `counts` for the books do not balance.
    pub(crate) fn after_substep<'a>(
        &mut self,
        islands: impl Iterator<Item = &'a Island> + Clone,
        trees: &[Tree],
        contacts: &[Contact],
        counts: impl Fn(usize) -> bool,
    ) {
        for island in islands.clone().filter(|island| island.failed || !island.outcome.converged || island.is_cut) {
            let bodies = bodies_of(island, trees);
            let (guard, value) = if island.failed {
                (Guard::Divergence, f64::NAN)
            } else {
                (Guard::Unconverged, island.outcome.residual)
            };
            let text = match guard {
                Guard::Divergence => {
                    let first = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                    format!("body '{first}' and what it touches came to no finite state")
                }
                _ => {
                    let (count, spent) = (bodies.len(), island.used_work(trees));
                    let cut = if island.is_cut { ", all that the step may cost: it is divided no further" } else { "" };
                    format!(
                        "contacts of {count} bodies are solved to {value:.1e} m/s, with the work of {spent:.0} sweeps{cut}"
                    )
                }
            };
            self.report_worst(Notice { guard, bodies, text, value });
        }
        for island in islands.clone() {
            self.report_slowed(island, trees);
            self.report_unseparated(island, trees, contacts);
        }
        for place in 0..self.jointed_trees.len() {
            let index = self.jointed_trees[place];
            let tree = &trees[index];
            let off = tree.is_awake() && counts(index) && tree.work.imbalance > IMBALANCE;
            if !(off && self.begins_episode((0, index))) {
                continue;
            }
            let bodies: Vec<BodyId> = tree.topology.links.iter().filter_map(|link| link.body).collect();
            let value = tree.work.imbalance;
            let text = format!("reactions and efforts of {} bodies differ by a share of {value:.1e}", bodies.len());
            self.notices.push(Notice { guard: Guard::Imbalance, bodies, text, value });
        }
    }

    /// Tells that shapes in an island do not part, after they have not for a while.
    fn report_unseparated(&mut self, island: &Island, trees: &[Tree], contacts: &[Contact]) {
        let Some((depth, contact)) = island.unseparated.map(|(depth, index)| (depth, &contacts[index])) else { return };
        let tree = contact.b.tree;
        let quiet = self.memory.episodes.entry((6, tree)).or_insert(2.0 * UNSEPARATED_DELAY_S);
        if *quiet > UNSEPARATED_DELAY_S {
            return;
        }
        *quiet = UNSEPARATED_DELAY_S;
        if self.begins_episode((7, tree)) {
            let bodies = pair(trees, contact);
            let [one, other] = bodies.map(|body| self.name(body));
            let text =
                format!("'{one}' is {depth:.2e} m deep in '{other}', and what holds them lets them part no farther");
            let bodies = bodies.into_iter().flatten().collect();
            self.notices.push(Notice { guard: Guard::Penetration, bodies, text, value: depth });
        }
    }

    /// Tells that an island was slowed down.
    fn report_slowed(&mut self, island: &Island, trees: &[Tree]) {
        for (guard, key, value) in [(Guard::Energy, 2, island.taken_out), (Guard::Speed, 3, island.too_fast)] {
            if value > 0.0 && self.begins_episode((key, island.trees()[0])) {
                let bodies = bodies_of(island, trees);
                let first = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                let why = match guard {
                    Guard::Energy => format!("{value:.3e} J came from nowhere"),
                    _ => format!("{value:.3e} times as fast as anything may be"),
                };
                let text = format!("body '{first}' and what it touches are slowed down: {why}");
                self.notices.push(Notice { guard, bodies, text, value });
            }
        }
    }

    /// Checks whether bodies have run away, speeds, penetrations, loops and energy.
    pub(crate) fn after_step(
        &mut self,
        trees: &[Tree],
        contacts: &[Contact],
        closures: &[Closure],
        bodies: &[BodyPlace],
    ) {
        self.active_alarms.clear();
        self.check_bounds(trees, bodies);
        self.check_speeds(trees, bodies);
        self.check_penetration(trees, contacts);
        self.check_joints(trees, closures);
        self.check_motors(trees, closures);
        self.active_alarms.sort_unstable();
        self.active_alarms.dedup();
        self.memory.raised_alarms.clone_from(&self.active_alarms);
        self.check_energy(trees);
        // What ends a run comes first.
        self.notices.sort_by_key(|notice| notice.guard != Guard::Divergence);
    }

    /// Tells of bodies that have run away.
    fn check_bounds(&mut self, trees: &[Tree], bodies: &[BodyPlace]) {
        if trees.iter().all(Tree::is_within_bounds) {
            return;
        }
        for (index, place) in bodies.iter().enumerate() {
            if let Some((what, value)) = read_body(&trees[place.tree], place).complaint() {
                let text = format!("body '{}' {what}", self.names[index]);
                self.notices.push(Notice { guard: Guard::Divergence, bodies: vec![BodyId::new(index)], text, value });
            }
        }
    }

    fn check_speeds(&mut self, trees: &[Tree], bodies: &[BodyPlace]) {
        let limit = self.settings.max_speed_m_per_s;
        if !trees.iter().any(|tree| tree.work.largest_squares[0] > limit * limit) {
            return;
        }
        for (index, place) in bodies.iter().enumerate() {
            let speed = read_body(&trees[place.tree], place).linear_velocity.norm();
            if speed > limit && self.is_new_alarm((0, index, 0)) {
                let bodies = vec![BodyId::new(index)];
                let text = format!("'{}' moves at {speed:.1} m/s", self.names[index]);
                self.notices.push(Notice { guard: Guard::Speed, bodies, text, value: speed });
            }
        }
    }

    fn check_penetration(&mut self, trees: &[Tree], contacts: &[Contact]) {
        let deepest = -self.settings.max_penetration_m;
        for contact in
            contacts.iter().filter(|contact| contact.gap < deepest && contact.surface.stiffness.is_infinite())
        {
            let bodies = pair(trees, contact);
            let [first, second] = bodies.map(|body| body.map_or(usize::MAX, BodyId::index));
            if self.is_new_alarm((1, first, second)) {
                let [one, other] = bodies.map(|body| self.name(body));
                let text = format!("'{one}' is {:.4} m deep in '{other}'", -contact.gap);
                let bodies = bodies.into_iter().flatten().collect();
                self.notices.push(Notice { guard: Guard::Penetration, bodies, text, value: -contact.gap });
            }
        }
    }

    fn check_motors(&mut self, trees: &[Tree], closures: &[Closure]) {
        for place in 0..self.jointed_trees.len() {
            let index = self.jointed_trees[place];
            let tree = &trees[index];
            let Some((dof, limit)) = tree.motor_at_limit().filter(|_| tree.is_awake()) else { continue };
            if self.begins_episode((4, index)) {
                let is_moved = |link: &&Link| (link.dof..link.dof + link.joint.freedom()).contains(&dof);
                // A link between two coordinates of a joint is no body; that one stands behind it.
                let moved = tree.topology.links.iter().skip_while(|link| !is_moved(link)).find_map(|link| link.body);
                self.report_motor_limit(moved, limit, &tree.topology.laws[dof]);
            }
        }
        for (index, closure) in closures.iter().enumerate() {
            // What sleeps has the limit that it fell asleep with, of which a snapshot says nothing.
            let sleeps = trees[closure.a.tree].state.asleep || trees[closure.b.tree].state.asleep;
            let Some((axis, limit)) = closure.motor_limit.filter(|_| !sleeps) else { continue };
            if let Some(law) = &closure.axes[axis]
                && self.begins_episode((5, index))
            {
                self.report_motor_limit(trees[closure.b.tree].topology.links[closure.b.link].body, limit, law);
            }
        }
    }

    fn report_motor_limit(&mut self, moved: Option<BodyId>, limit: MotorLimit, law: &FreeAxis) {
        let (what, value) = match limit {
            MotorLimit::Effort => ("effort", law.max_effort),
            MotorLimit::Rate => ("rate", law.max_rate),
            MotorLimit::Power => ("power", law.max_power),
        };
        let text = format!("a motor on '{}' is at its largest {what}, {value:.4e}", self.name(moved));
        self.notices.push(Notice { guard: Guard::Motor, bodies: moved.into_iter().collect(), text, value });
    }

    fn check_joints(&mut self, trees: &[Tree], closures: &[Closure]) {
        for (index, closure) in closures.iter().enumerate() {
            let error = closure.error();
            if error > self.settings.max_joint_error_m && self.is_new_alarm((2, index, 0)) {
                let body = |side: Side| trees[side.tree].topology.links[side.link].body;
                let bodies: Vec<BodyId> = [body(closure.b), body(closure.a)].into_iter().flatten().collect();
                let name = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                let text = format!("the joint that ties '{name}' into a loop is open by {error:.2e} m");
                self.notices.push(Notice { guard: Guard::JointError, bodies, text, value: error });
            }
        }
    }

    /// The energy of the links and of their trees' springs may grow by what motors gave, and springs and rotors of joints that
    /// close loops; by nothing else.
    fn check_energy(&mut self, trees: &[Tree]) {
        let add = |[energy, given]: [f64; 2], tree: &Tree| [energy + tree.work.energy, given + tree.work.step_work];
        let [energy, given] = trees.iter().fold([0.0; 2], add);
        let gain = energy - self.energy - given;
        if gain > self.settings.max_energy_gain_j && self.begins_episode((1, 0)) {
            let text = format!("the world gained {gain:.3} J in a step that no motor gave");
            self.notices.push(Notice { guard: Guard::Energy, bodies: Vec::new(), text, value: gain });
        }
    }

    /// Whether an alarm is the first of its episode, which lasts until it has been quiet for a while.
    fn begins_episode(&mut self, key: (u8, usize)) -> bool {
        self.memory.episodes.insert(key, EPISODE_QUIET_S).is_none()
    }

    /// Notes that an alarm holds in this step, and says whether it is to be given: it did not hold in the step before.
    fn is_new_alarm(&mut self, alarm: Alarm) -> bool {
        self.active_alarms.push(alarm);
        let raised_alarms = &mut self.memory.raised_alarms;
        let Err(place) = raised_alarms.binary_search(&alarm) else { return false };
        raised_alarms.insert(place, alarm);
        true
    }
}

/// The bodies of a contact, the moving one first; `None` is the ground.
fn pair(trees: &[Tree], contact: &Contact) -> [Option<BodyId>; 2] {
    let body = |side: Side| trees[side.tree].topology.links[side.link].body;
    [body(contact.b), contact.a.and_then(body)]
}

/// The bodies of an island.
fn bodies_of(island: &Island, trees: &[Tree]) -> Vec<BodyId> {
    let links = island.trees().iter().flat_map(|&tree| &trees[tree].topology.links);
    links.filter_map(|link| link.body).collect()
}

/// Whether there are only single bodies in an island.
fn has_single_bodies_only(island: &Island, trees: &[Tree]) -> bool {
    island.trees().iter().all(|&tree| trees[tree].topology.links.len() == 1)
}
