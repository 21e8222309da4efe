//! Events of a step: unusual conditions, for the log and for observers.

use simpartner_model::{BodyId, FreeAxis, Norm};

use super::{
    check_memory::{Alarm, Episode, alarm, episode},
    step_validation::StepChecks,
};
use crate::{
    StepCheck, StepEvent,
    engine::{
        collision::Contact,
        constraints::loop_joint::LoopJoint,
        equations::{mass_and_bias::MAX_IMBALANCE, motors::MotorLimit},
        islands::island::Island,
        state::{
            addresses::{BodyAddress, LinkAddress},
            kinematics::read_body,
            link::Link,
            tree::Tree,
        },
    },
};

/// Time without an alarm after which it is reported again, s: rounding can turn some alarms on and off.
const EPISODE_QUIET_S: f64 = 1.0;
/// Time after which shapes that do not separate are reported, s. Shapes in a pile can hold each other for some steps.
const UNSEPARATED_DELAY_S: f64 = 0.1;

impl StepChecks {
    /// Reports, once for each pair and step, that a step is divided because a new contact penetrated too deep.
    pub(super) fn report_sinking(&mut self, trees: &[Tree], contact: &Contact, depth: f64) {
        let bodies = bodies_of_contact(trees, contact);
        let same = |event: &StepEvent| event.bodies.iter().eq(bodies.iter().flatten());
        if self.events.iter().any(|event| event.check == StepCheck::Substeps && same(event)) {
            return;
        }
        let [one, other] = bodies.map(|body| self.name(body));
        let text =
            format!("'{one}' sank {depth:.4} m into '{other}' before the contact could hold it: the step is divided");
        let bodies = bodies.into_iter().flatten().collect();
        self.events.push(StepEvent { check: StepCheck::Substeps, bodies, text, value: depth });
    }

    /// Reports an event that occurs in several substeps once, with its largest figure.
    pub(super) fn report_worst(&mut self, event: StepEvent) {
        let same = |other: &&mut StepEvent| (other.check, &other.bodies) == (event.check, &event.bodies);
        match self.events.iter_mut().find(same) {
            Some(other) if event.value > other.value => *other = event,
            Some(_) => {}
            None => self.events.push(event),
        }
    }

    /// Name of a body; `None` is the ground.
    pub(super) fn name(&self, body: Option<BodyId>) -> &str {
        body.map_or("the ground", |body| self.names[body.index()].as_str())
    }

    /// Reports islands without a solution or with a state that is not finite, and trees whose forces are out of
    /// balance. `counts` tells which trees take part in the substep.
    pub(crate) fn after_substep<'a>(
        &mut self,
        islands: impl Iterator<Item = &'a Island> + Clone,
        trees: &[Tree],
        contacts: &[Contact],
        counts: impl Fn(usize) -> bool,
    ) {
        for island in islands.clone() {
            let outcome = &island.outcome;
            if !outcome.non_finite && outcome.solve.converged && !outcome.budget_exhausted {
                continue;
            }
            let bodies = bodies_of_island(island, trees);
            let (check, value) = if outcome.non_finite {
                (StepCheck::Divergence, f64::NAN)
            } else {
                (StepCheck::Unconverged, outcome.solve.residual)
            };
            let text = match check {
                StepCheck::Divergence => {
                    let first = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                    format!("body '{first}' and the bodies coupled to it reached no finite state")
                }
                _ => {
                    let (count, spent) = (bodies.len(), island.used_work(trees));
                    let cut = if outcome.budget_exhausted {
                        ", the whole budget of the step: it is divided no further"
                    } else {
                        ""
                    };
                    format!(
                        "contacts of {count} bodies have a residual of {value:.1e} m/s after {spent:.0} sweeps of work{cut}"
                    )
                }
            };
            self.report_worst(StepEvent { check, bodies, text, value });
        }
        for island in islands.clone() {
            self.report_slowed(island, trees);
            self.report_unseparated(island, trees, contacts);
        }
        for place in 0..self.jointed_trees.len() {
            let index = self.jointed_trees[place];
            let tree = &trees[index];
            let off = tree.is_awake() && counts(index) && tree.work.imbalance > MAX_IMBALANCE;
            if !(off && self.begins_episode((episode::IMBALANCE, index))) {
                continue;
            }
            let bodies: Vec<BodyId> = tree.topology.links.iter().filter_map(|link| link.body).collect();
            let value = tree.work.imbalance;
            let text = format!("reactions and efforts of {} bodies are out of balance by {value:.1e}", bodies.len());
            self.events.push(StepEvent { check: StepCheck::Imbalance, bodies, text, value });
        }
    }

    /// Reports shapes of an island that have not separated for [`UNSEPARATED_DELAY_S`].
    fn report_unseparated(&mut self, island: &Island, trees: &[Tree], contacts: &[Contact]) {
        let Some((depth, contact)) = island.outcome.unseparated.map(|(depth, index)| (depth, &contacts[index])) else {
            return;
        };
        let tree = contact.b.tree;
        let quiet = self.memory.episodes.entry((episode::UNSEPARATED_DELAY, tree)).or_insert(2.0 * UNSEPARATED_DELAY_S);
        if *quiet > UNSEPARATED_DELAY_S {
            return;
        }
        *quiet = UNSEPARATED_DELAY_S;
        if self.begins_episode((episode::UNSEPARATED, tree)) {
            let bodies = bodies_of_contact(trees, contact);
            let [one, other] = bodies.map(|body| self.name(body));
            let text =
                format!("'{one}' is {depth:.2e} m deep in '{other}', and their constraints let them part no farther");
            let bodies = bodies.into_iter().flatten().collect();
            self.events.push(StepEvent { check: StepCheck::Penetration, bodies, text, value: depth });
        }
    }

    /// Reports that an island was slowed down to limit its energy or speed.
    fn report_slowed(&mut self, island: &Island, trees: &[Tree]) {
        for (check, key, value) in [
            (StepCheck::Energy, episode::ISLAND_ENERGY, island.outcome.energy_removed),
            (StepCheck::Speed, episode::ISLAND_SPEED, island.outcome.overspeed),
        ] {
            if value > 0.0 && self.begins_episode((key, island.trees()[0])) {
                let bodies = bodies_of_island(island, trees);
                let first = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                let why = match check {
                    StepCheck::Energy => format!("{value:.3e} J of energy came from nowhere"),
                    _ => format!("the fastest has {value:.3e} times the permitted speed"),
                };
                let text = format!("body '{first}' and the bodies coupled to it are slowed down: {why}");
                self.events.push(StepEvent { check, bodies, text, value });
            }
        }
    }

    /// Checks for runaway bodies, speeds, penetrations, loop joints, motors and energy.
    pub(crate) fn after_step(
        &mut self,
        trees: &[Tree],
        contacts: &[Contact],
        loop_joints: &[LoopJoint],
        bodies: &[BodyAddress],
    ) {
        self.active_alarms.clear();
        self.check_bounds(trees, bodies);
        self.check_speeds(trees, bodies);
        self.check_penetration(trees, contacts);
        self.check_joints(trees, loop_joints);
        self.check_motors(trees, loop_joints);
        self.active_alarms.sort_unstable();
        self.active_alarms.dedup();
        self.memory.raised_alarms.clone_from(&self.active_alarms);
        self.check_energy(trees);
        // Events that end a run come first.
        self.events.sort_by_key(|event| event.check != StepCheck::Divergence);
    }

    /// Reports runaway bodies.
    fn check_bounds(&mut self, trees: &[Tree], bodies: &[BodyAddress]) {
        if trees.iter().all(Tree::is_within_bounds) {
            return;
        }
        for (index, place) in bodies.iter().enumerate() {
            if let Some((what, value)) = read_body(&trees[place.tree], place).find_defect() {
                let text = format!("body '{}' {what}", self.names[index]);
                self.events.push(StepEvent {
                    check: StepCheck::Divergence,
                    bodies: vec![BodyId::new(index)],
                    text,
                    value,
                });
            }
        }
    }

    /// Reports bodies that are faster than the limit.
    fn check_speeds(&mut self, trees: &[Tree], bodies: &[BodyAddress]) {
        let limit = self.settings.max_speed_m_per_s;
        if !trees.iter().any(|tree| tree.work.largest_squares[0] > limit * limit) {
            return;
        }
        for (index, place) in bodies.iter().enumerate() {
            let speed = read_body(&trees[place.tree], place).linear_velocity.norm();
            if speed > limit && self.is_new_alarm((alarm::SPEED, index, 0)) {
                let bodies = vec![BodyId::new(index)];
                let text = format!("'{}' moves at {speed:.1} m/s", self.names[index]);
                self.events.push(StepEvent { check: StepCheck::Speed, bodies, text, value: speed });
            }
        }
    }

    /// Reports rigid contacts that are deeper than the limit.
    fn check_penetration(&mut self, trees: &[Tree], contacts: &[Contact]) {
        let deepest = -self.settings.max_penetration_m;
        for contact in
            contacts.iter().filter(|contact| contact.gap < deepest && contact.surface.stiffness.is_infinite())
        {
            let bodies = bodies_of_contact(trees, contact);
            let [first, second] = bodies.map(|body| body.map_or(usize::MAX, BodyId::index));
            if self.is_new_alarm((alarm::PENETRATION, first, second)) {
                let [one, other] = bodies.map(|body| self.name(body));
                let text = format!("'{one}' is {:.4} m deep in '{other}'", -contact.gap);
                let bodies = bodies.into_iter().flatten().collect();
                self.events.push(StepEvent { check: StepCheck::Penetration, bodies, text, value: -contact.gap });
            }
        }
    }

    /// Reports motors that are at a limit.
    fn check_motors(&mut self, trees: &[Tree], loop_joints: &[LoopJoint]) {
        for place in 0..self.jointed_trees.len() {
            let index = self.jointed_trees[place];
            let tree = &trees[index];
            let Some((dof, limit)) = tree.motor_at_limit().filter(|_| tree.is_awake()) else { continue };
            if self.begins_episode((episode::MOTOR, index)) {
                let is_moved = |link: &&Link| (link.dof..link.dof + link.joint.freedom()).contains(&dof);
                // A link between two coordinates of a joint has no body; the body is on a later link.
                let moved = tree.topology.links.iter().skip_while(|link| !is_moved(link)).find_map(|link| link.body);
                self.report_motor_limit(moved, limit, &tree.topology.laws[dof]);
            }
        }
        for (index, loop_joint) in loop_joints.iter().enumerate() {
            // A sleeping joint has the limit with which it fell asleep; a snapshot does not hold it.
            let sleeps = trees[loop_joint.a.tree].state.asleep || trees[loop_joint.b.tree].state.asleep;
            let Some((axis, limit)) = loop_joint.motor_limit.filter(|_| !sleeps) else { continue };
            if let Some(law) = &loop_joint.axes[axis]
                && self.begins_episode((episode::LOOP_MOTOR, index))
            {
                self.report_motor_limit(trees[loop_joint.b.tree].topology.links[loop_joint.b.link].body, limit, law);
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
        self.events.push(StepEvent { check: StepCheck::Motor, bodies: moved.into_iter().collect(), text, value });
    }

    /// Reports loop joints whose error exceeds the limit.
    fn check_joints(&mut self, trees: &[Tree], loop_joints: &[LoopJoint]) {
        for (index, loop_joint) in loop_joints.iter().enumerate() {
            let error = loop_joint.opening();
            if error > self.settings.max_joint_error_m && self.is_new_alarm((alarm::LOOP_JOINT, index, 0)) {
                let body = |side: LinkAddress| trees[side.tree].topology.links[side.link].body;
                let bodies: Vec<BodyId> = [body(loop_joint.b), body(loop_joint.a)].into_iter().flatten().collect();
                let name = bodies.first().map_or("", |body| self.names[body.index()].as_str());
                let text = format!("the loop joint of '{name}' is open by {error:.2e} m");
                self.events.push(StepEvent { check: StepCheck::JointError, bodies, text, value: error });
            }
        }
    }

    /// Reports an energy gain of the world. The energy of links and springs may grow only by the work of motors and by
    /// springs and rotors of loop joints.
    fn check_energy(&mut self, trees: &[Tree]) {
        let add = |[energy, given]: [f64; 2], tree: &Tree| [energy + tree.work.energy, given + tree.work.step_work];
        let [energy, given] = trees.iter().fold([0.0; 2], add);
        let gain = energy - self.energy - given;
        if gain > self.settings.max_energy_gain_j && self.begins_episode((episode::WORLD_ENERGY, 0)) {
            let text = format!("the world gained {gain:.3} J in a step that no motor supplied");
            self.events.push(StepEvent { check: StepCheck::Energy, bodies: Vec::new(), text, value: gain });
        }
    }

    /// Starts or extends an episode. Returns true if it is new: an episode lasts until it has been quiet for a while.
    fn begins_episode(&mut self, key: Episode) -> bool {
        self.memory.episodes.insert(key, EPISODE_QUIET_S).is_none()
    }

    /// Records an alarm of this step. Returns true if it has to be reported, because it did not hold in the step
    /// before.
    fn is_new_alarm(&mut self, alarm: Alarm) -> bool {
        self.active_alarms.push(alarm);
        let raised_alarms = &mut self.memory.raised_alarms;
        let Err(place) = raised_alarms.binary_search(&alarm) else { return false };
        raised_alarms.insert(place, alarm);
        true
    }
}
/// Bodies of a contact, the moving one first; `None` is the ground.
pub(super) fn bodies_of_contact(trees: &[Tree], contact: &Contact) -> [Option<BodyId>; 2] {
    let body = |side: LinkAddress| trees[side.tree].topology.links[side.link].body;
    [body(contact.b), contact.a.and_then(body)]
}

/// Bodies of an island.
fn bodies_of_island(island: &Island, trees: &[Tree]) -> Vec<BodyId> {
    let links = island.trees().iter().flat_map(|&tree| &trees[tree].topology.links);
    links.filter_map(|link| link.body).collect()
}
