//! Impacts: bodies bounce at the surface, at the time when they reach it.
//!
//! Contacts of rigid surfaces with restitution that approach faster than [`BOUNCE_SPEED`] are deferred: a substep
//! ignores them. If they would cross within the substep, their group repeats it in three parts: the motion to the first
//! impact, the impact, and the rest of the substep, in which there may be more impacts.
//!
//! ```text
//! gap(q(t)) = 0        q(t): along the attempt at the whole substep, then along motions of length t themselves
//! M (v' - v) = Jᵀ p    u_n' = -e u_n where a surface bounces, u_n' >= 0 where another touches;
//!                      Coulomb's law for the tangents
//! ```
//!
//! The impact is a substep of the scheme itself, so short ([`BLOW_DURATION`]) that forces have no effect. All contact
//! laws hold in it, its impulses count in the means of the step, and its energy is balanced like any other. Slower
//! contacts, and impacts beyond the permitted number in a step, are left to the scheme, which solves for contacts over
//! the substep as a whole.
//!
//! **Several at the same instant.** By the law `sequential` the pair that approaches fastest bounces alone, then the
//! next, until none approaches. A shock passes through touching bodies as if they were slightly apart, as in Newton's
//! cradle. Pairs that approach equally fast bounce together, so symmetry is kept and the order of bodies does not
//! matter. All contact points of a pair bounce together. Each such blow conserves momentum and gains no energy, so
//! their sequence does too. By the law `newton` all pairs are solved at once. Contacts without restitution hold in
//! every blow.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{retry_groups::RetryGroups, substep::Substep, world::Dynamics};
use crate::{
    ImpactLaw,
    engine::{
        collision::Contact,
        constraints::contact::{BOUNCE_SPEED, CONTACT_MARGIN},
        state::{addresses::LinkAddress, tree::Tree, workspace::Pending},
    },
};

/// Duration of a blow, s: gravity adds 1e-11 m/s in it, and a body at 100 m/s moves by 1e-10 m.
const BLOW_DURATION: f64 = 1e-12;
/// Error allowed for the time of an impact, s: a body at 1 m/s is then nearer to the surface than the rounding of
/// coordinates of some hundred metres.
const TIME_TOLERANCE: f64 = 1e-13;
/// Distance of an impact from the end of a substep, as a fraction of it, within which it is left to the next substep.
const END_FRACTION: f64 = 1e-9;
/// Largest number of iterations that locate an impact in time. Usually three suffice; bisection alone takes 50.
const MAX_LOCATE_ITERATIONS: usize = 60;
/// Largest number of iterations for the duration of a motion without a closed form. Each iteration squares the error.
const MAX_FLIGHT_ITERATIONS: usize = 4;
/// Limits of the number of impacts and blows of a group in a step: an upper limit, a limit that falls with the number
/// of its trees (this number over the number of trees), and a lower limit. After that, the rest of the step is made as
/// a whole.
const MAX_IMPACTS: usize = 64;
const IMPACTS_TIMES_TREES: usize = 600;
const MIN_IMPACTS: usize = 8;
/// Relative difference to the fastest approach speed within which pairs bounce together: the error of blows solved
/// before.
const SIMULTANEOUS_FRACTION: f64 = 1e-6;

/// Largest number of impacts and blows of a group of `trees` trees in a step.
fn max_impacts(trees: usize) -> usize {
    (IMPACTS_TIMES_TREES / trees.max(1)).clamp(MIN_IMPACTS, MAX_IMPACTS)
}

impl RetryGroups {
    /// Group of a contact; `None` if neither side is awake.
    fn group_of_contact(&self, contact: &Contact, trees: &[Tree]) -> Option<usize> {
        contact.sides().map(|side| side.tree).find(|&tree| trees[tree].is_awake()).map(|tree| self.group_of(tree))
    }
}

/// True if a side of a contact moves in this substep.
fn involves_awake(contact: &Contact, trees: &[Tree]) -> bool {
    contact.sides().any(|side| trees[side.tree].is_awake())
}

/// Approach speed of the surfaces of a contact, m/s; for single bodies at the start of the substep.
fn approach_speed(contact: &Contact, trees: &[Tree]) -> f64 {
    let velocity = |side: LinkAddress| {
        let tree = &trees[side.tree];
        if tree.is_single_body() {
            Tree::root_motion(&tree.state.v).at(contact.point - tree.work.origin)
        } else {
            tree.velocity_at(side.link, contact.point)
        }
    };
    let relative = velocity(contact.b) - contact.a.map_or(DVec3::ZERO, velocity);
    -contact.normal.dot(relative)
}

/// True if the contact is left to an impact. Then its surfaces approach fast enough to bounce, now or after single
/// bodies have fallen through the gap; or they separate so fast that nothing brings them back within the substep; or
/// they turn back before they meet.
fn leaves_to_impact(contact: &Contact, trees: &[Tree], h: f64, gravity: DVec3) -> bool {
    let speed = approach_speed(contact, trees);
    let falls = |side: LinkAddress| trees[side.tree].is_single_body();
    if contact.sides().any(|side| !falls(side) && trees[side.tree].topology.freedom > 0) {
        return speed > BOUNCE_SPEED || speed < -(BOUNCE_SPEED + 2.0 * gravity.norm() * h);
    }
    let falls = [contact.a.is_some_and(falls), falls(contact.b)].map(|falls| f64::from(u8::from(falls)));
    let gain = contact.normal.dot(gravity) * (falls[0] - falls[1]);
    let fall_distance = (contact.gap + 0.5 * h * speed).max(0.0);
    // Squared arrival speed, m²/s², at which the scheme handles the contact. A negative square means that the surfaces
    // turn back before they meet.
    let resting_range = 0.0..=BOUNCE_SPEED * BOUNCE_SPEED;
    (speed > 0.0 || gain > 0.0) && !resting_range.contains(&(speed * speed + 2.0 * gain * fall_distance))
}

impl Dynamics {
    /// Defers the contacts that are going to bounce, and records the pairs that may meet within this substep. To be
    /// called after the prediction.
    pub(crate) fn defer_to_impact(&mut self, groups: &RetryGroups, substep: Substep) {
        self.impacts.candidates.clear();
        if !self.collider.contacts.iter().chain(&self.collider.old).any(Contact::can_bounce) {
            return;
        }
        let (trees, h, gravity) = (&self.trees, substep.h, self.scheme.gravity.norm());
        let impact_group = |contact: &Contact| {
            let group = groups.group_of_contact(contact, trees).filter(|_| contact.can_bounce())?;
            let is_exhausted = trees[group].work.impact_count >= max_impacts(groups.group_size(group))
                || !self.scheme.can_split_at_impact(&trees[group]);
            (!is_exhausted && !groups.has_loops(group)).then_some(group)
        };
        let (candidates, supported) = (&mut self.impacts.candidates, &mut self.impacts.supported);
        supported.clear();
        supported.resize(trees.len(), false);
        for contact in &mut self.collider.contacts {
            contact.deferred =
                impact_group(contact).is_some() && leaves_to_impact(contact, trees, h, self.scheme.gravity);
            if !contact.deferred && contact.gap < CONTACT_MARGIN {
                contact.sides().for_each(|side| supported[side.tree] = true);
            }
        }
        for contact in self.collider.contacts.iter_mut().filter(|contact| contact.deferred) {
            let speed = approach_speed(contact, trees);
            // A supported body may not gain speed.
            contact.deferred = speed.abs() > BOUNCE_SPEED || !contact.sides().any(|side| supported[side.tree]);
            let approach_distance = 0.5 * h * (speed.max(1.5 * speed) + gravity * h);
            if contact.deferred && contact.gap < approach_distance {
                candidates.extend(impact_group(contact).map(|group| (group, contact.key)));
            }
        }
        // A pair that meets before the midpoint may be out of the search's sight there.
        for contact in &self.collider.old {
            let Some(group) = impact_group(contact) else { continue };
            let speed = approach_speed(contact, trees);
            if speed > BOUNCE_SPEED && contact.gap < speed * self.model.timestep {
                candidates.push((group, contact.key));
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
    }

    /// Rejects the groups with an impact within the last attempt at the substep.
    pub(crate) fn find_impacts(&mut self, groups: &mut RetryGroups, substep: Substep) {
        if substep.ends_at_impact {
            return;
        }
        let candidates = std::mem::take(&mut self.impacts.candidates);
        for own in candidates.chunk_by(|one, other| one.0 == other.0) {
            let group = own[0].0;
            if !groups.is_rejected(group) {
                let after = self.locate_impact(groups, own, substep.h);
                groups.reject_group(group, Pending::Impact { after, group });
            }
        }
        self.impacts.candidates = candidates;
    }

    /// Time of the first impact of these pairs, seconds from the start of the substep, at most its length: Newton's
    /// method along the path of the attempt, within bounds.
    fn locate_impact(&mut self, groups: &RetryGroups, candidates: &[(usize, u64)], h: f64) -> f64 {
        let group = candidates[0].0;
        let own = |tree: usize, trees: &[Tree]| trees[tree].is_awake() && groups.group_of(tree) == group;
        for tree in 0..self.trees.len() {
            if own(tree, &self.trees) {
                self.trees[tree].record_path();
            }
        }
        let (mut t, mut low, mut high) = (0.0, 0.0, f64::INFINITY);
        for _ in 0..MAX_LOCATE_ITERATIONS {
            for tree in 0..self.trees.len() {
                if own(tree, &self.trees) {
                    self.trees[tree].move_along_path(t, h);
                    self.trees[tree].update_kinematics(self.scheme.gravity);
                }
            }
            let ahead = self.first_contact_time(candidates, h);
            let next = t + ahead;
            if ahead.abs() <= TIME_TOLERANCE || next <= 0.0 {
                return next.clamp(0.0, h);
            }
            if ahead > 0.0 {
                low = t
            } else {
                high = t
            }
            if low >= h {
                return h;
            }
            t = if high.is_finite() && !(next > low && next < high) { 0.5 * (low + high) } else { next.min(h) };
        }
        t
    }

    /// Time until the first of these pairs touches, s.
    fn first_contact_time(&mut self, candidates: &[(usize, u64)], h: f64) -> f64 {
        let (collider, trees) = (&mut self.collider, &self.trees);
        let arrivals = candidates.iter().map(|&(_, key)| collider.time_to_contact(key, trees, h, 0.5 * BOUNCE_SPEED));
        arrivals.fold(f64::INFINITY, f64::min)
    }

    /// Makes a substep with the one group that is not suspended, in which something bounces after `after` seconds.
    pub(crate) fn step_through_impact(&mut self, substep: Substep, after: f64) {
        let next = Substep { impact_count: substep.impact_count + 1, ..substep };
        if after >= substep.h * (1.0 - END_FRACTION) {
            return self.advance_substep(Substep { ends_at_impact: true, ..next });
        }
        let (mut flight, mut last) = (0.0, substep.h);
        self.reserve_work(1.0 - after / substep.h);
        if after > BLOW_DURATION {
            self.scale_impulses(after / last);
            // The middle of the blow is the time of the impact.
            (flight, last) = (self.refine_flight(next, after, substep.h) - 0.5 * BLOW_DURATION, after);
        }
        if flight > BLOW_DURATION {
            self.scale_impulses(flight / last);
            self.advance_substep(Substep { h: flight, ends_at_impact: true, ..next });
            last = flight;
        } else {
            flight = 0.0;
        }
        self.release_work();
        self.scale_impulses(BLOW_DURATION / last);
        // Impacts have no duration.
        self.reserve_work(1.0);
        let rest = substep.h - flight - self.solve_blows(next);
        self.release_work();
        last = BLOW_DURATION;
        if rest > 0.0 {
            self.scale_impulses(rest / last);
            self.advance_substep(Substep { h: rest, left: substep.left - substep.h + rest, ..next });
            last = rest;
        }
        self.scale_impulses(substep.h / last);
    }

    /// Duration of the motion to an impact that was found along the path of a longer substep, s. Free fall takes the
    /// same path. Where joints and contacts hold, motions are repeated until one ends at the impact.
    fn refine_flight(&mut self, next: Substep, mut flight: f64, most: f64) -> f64 {
        let held =
            |tree: &Tree| tree.is_awake() && (tree.topology.links.len() > 1 || !tree.work.external_wrenches.is_empty());
        let holds = |contact: &Contact| !contact.deferred && involves_awake(contact, &self.trees);
        if flight >= most || !self.trees.iter().any(held) && !self.collider.contacts.iter().any(holds) {
            return flight;
        }
        for _ in 0..MAX_FLIGHT_ITERATIONS {
            self.set_substep(Substep { h: flight, ..next });
            self.predict();
            let mut groups = std::mem::take(&mut self.groups);
            groups.group_trees(&self.trees, &self.collider, &self.loop_joints);
            self.defer_to_impact(&groups, Substep { h: flight, ..next });
            self.solve_islands(&groups, false);
            self.groups = groups;
            let candidates = std::mem::take(&mut self.impacts.candidates);
            let ahead = self.first_contact_time(&candidates, flight);
            self.impacts.candidates = candidates;
            self.trees.iter_mut().filter(|tree| tree.is_awake()).for_each(Tree::restore_start);
            if !ahead.is_finite() || ahead.abs() <= TIME_TOLERANCE {
                break;
            }
            flight = (flight + ahead).clamp(0.5 * flight, most);
        }
        flight
    }

    /// Solves for the blows at this instant. Returns their duration, s.
    fn solve_blows(&mut self, next: Substep) -> f64 {
        let (correction, mut seconds) = (self.scheme.correction, 0.0);
        let most = max_impacts(self.trees.iter().filter(|tree| tree.is_awake()).count());
        for _ in 0..MAX_IMPACTS {
            (self.scheme.is_impact_instant, self.scheme.correction) = (true, 0.0);
            self.set_substep(Substep { h: BLOW_DURATION, ..next });
            self.predict();
            let mut groups = std::mem::take(&mut self.groups);
            groups.group_trees(&self.trees, &self.collider, &self.loop_joints);
            let strikes = self.select_blow(most);
            if strikes {
                self.solve_islands(&groups, true);
                self.commit_substep(&groups, next.refinement_level());
                seconds += BLOW_DURATION;
            }
            self.groups = groups;
            for tree in self.trees.iter_mut().filter(|tree| tree.is_awake()) {
                tree.end_blow(strikes, self.scheme.gravity);
            }
            let affords = |tree: &Tree| !tree.is_awake() || self.scheme.can_split_at_impact(tree);
            if !strikes || !self.trees.iter().all(affords) {
                break;
            }
        }
        (self.scheme.is_impact_instant, self.scheme.correction) = (false, correction);
        // The impulses of a blow are no warm start, and bodies may go anywhere after it.
        let trees = &self.trees;
        let struck = self.collider.contacts.iter_mut().filter(|contact| involves_awake(contact, trees));
        struck.for_each(|contact| contact.scale_impulses(0.0));
        self.collider.find_contacts(&self.trees, self.model.timestep);
        seconds
    }

    /// Defers the contacts that take no part in the next blow of the group that is not suspended. Returns false if
    /// nothing strikes. After the largest number of impacts, or without work for more, all pairs strike at once.
    fn select_blow(&mut self, most: usize) -> bool {
        let (trees, law) = (&self.trees, self.impacts.law);
        let has_arrived = |contact: &Contact| contact.gap < CONTACT_MARGIN && contact.surface.stiffness.is_infinite();
        let speed = |contact: &Contact| {
            let may_strike = contact.can_bounce() && has_arrived(contact) && involves_awake(contact, trees);
            if may_strike { approach_speed(contact, trees) } else { 0.0 }
        };
        let fastest = self.collider.contacts.iter().map(speed).fold(0.0, f64::max);
        let has_had_its_share = |tree: &Tree| tree.work.impact_count >= most || !self.scheme.can_split_at_impact(tree);
        let is_spent = trees.iter().any(|tree| tree.is_awake() && has_had_its_share(tree));
        let slowest = if is_spent || law == ImpactLaw::Newton { 0.0 } else { (1.0 - SIMULTANEOUS_FRACTION) * fastest };
        let contacts = &mut self.collider.contacts;
        for pair in
            contacts.chunk_by_mut(|one, other| one.key == other.key).filter(|pair| involves_awake(&pair[0], trees))
        {
            let strikes = pair.iter().map(speed).fold(0.0, f64::max) >= slowest;
            for contact in pair {
                contact.deferred = !has_arrived(contact) || contact.can_bounce() && !strikes;
            }
        }
        fastest > BOUNCE_SPEED
    }
}

impl Tree {
    /// Records the velocity changes of the last attempt.
    fn record_path(&mut self) {
        let mut along = std::mem::take(&mut self.work.attempt_dv);
        along.clear();
        let work = &self.work;
        if self.is_single_body() && work.is_complete {
            along.extend(&self.state.last_dv);
        } else if self.is_single_body() {
            along.extend(work.dv_free.iter().zip(&work.dv_impulse).map(|(free, impulse)| free + impulse));
        } else {
            along.extend(self.state.v.iter().zip(&work.substep_start.v).map(|(after, before)| after - before));
        }
        self.work.attempt_dv = along;
    }

    /// Moves to the position `t` seconds after the start of a substep of `h` seconds, as the scheme would move in a
    /// substep of that length with the same forces.
    fn move_along_path(&mut self, t: f64, h: f64) {
        self.restore_position();
        self.state.v.clone_from(&self.work.substep_start.v);
        self.drift(0.5 * t);
        for (v, dv) in self.state.v.iter_mut().zip(&self.work.attempt_dv) {
            *v += dv * (t / h);
        }
        self.drift(0.5 * t);
    }

    /// Ends a blow, or restores the start if nothing struck. Unless the tree was hit, the warm starts of its rows, and
    /// the velocity change from which the next bias is extrapolated, stay as before.
    fn end_blow(&mut self, strikes: bool, gravity: DVec3) {
        self.work.impact_count += 1;
        if !strikes {
            self.restore_start();
            self.update_kinematics(gravity);
            return;
        }
        let (state, work) = (&mut self.state, &self.work);
        if !work.impact {
            state.last_dv.clone_from(&work.substep_start.last_dv);
        }
        if self.topology.has_rows {
            state.row_impulses.clone_from(&work.substep_start.row_impulses);
        }
    }
}
