//! Contacts: two surfaces may not cross (Signorini), and pressing surfaces have friction (Coulomb).
//!
//! A rigid surface is not crossed before the next midpoint. A surface with restitution is deferred until it arrives
//! ([`crate::engine::stepping::impacts`]), and then obeys Newton's law of impact. A compliant one presses with -k g' -
//! d u, taken at the end of the step, where the gap is g' = g + h u. Slip adds compliance to the tangents.
//!
//! Rows are those of the contact point at the midpoint, but laws hold for its velocity at the end. A body that tips or
//! rolls has another contact point then. The difference is extrapolated from step to step ([`change_to_end`]), so
//! lasting contacts are of second order and neither remove nor supply energy.

use std::ops::Range;

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{
    island_parts::IslandParts,
    island_rows::{Constraints, Source},
    rows::Directions,
};
use crate::engine::{
    algebra::spatial::Spatial,
    collision::{Contact, Surface},
    scheme::Scheme,
    solvers::{
        load_support::STICKING_SPEED,
        problem::{Block, Law, PositionRule},
    },
    state::addresses::LinkAddress,
};

/// Slowest approach that bounces, m/s: the speed after a fall of 0.13 mm. Without it a body at rest would bounce on
/// rounding errors.
pub(crate) const BOUNCE_SPEED: f64 = 0.05;
/// Distance within which a surface counts as arrived, m. All points of a face whose gaps are zero up to rounding then
/// have the same target. With their exact gaps, their targets would contradict each other by rounding over h, and no
/// impulses could satisfy all.
pub(crate) const CONTACT_MARGIN: f64 = 1e-6;
/// Additional gap of a surface that comes to rest, m. It rests at the limit of [`CONTACT_MARGIN`], to the solver's
/// tolerance. Without this allowance its contact could stay open and carry no load.
const HOVER_DISTANCE: f64 = 1e-9;
/// Additional gap at which a surface carries that carried in the last step, or that hovers slower than
/// [`HOVERING_SPEED`], m. Legs that rigid motors hold stay in one plane to some nanometres only. Without this allowance
/// a leg that is as little above the ground would leave its load to its neighbours.
const CARRYING_DISTANCE: f64 = 1e-7;
/// Largest difference between the gaps of points of one face that arrive together, m. Supports of a body rest with gaps
/// between minus and plus [`CONTACT_MARGIN`], so a face as wide as their distance can be tilted by twice as much. One
/// end of the tail of a robot on two wheels would otherwise carry all of its load.
const FACE_TILT: f64 = 2.0 * CONTACT_MARGIN;
/// Speed towards the other surface below which a surface hovers, m/s: it would take a tenth of a second for
/// [`CARRYING_DISTANCE`].
const HOVERING_SPEED: f64 = 1e-6;
/// Speed above which a contact rolls, m/s: of its surfaces by their relative rotation, and of its point along both
/// surfaces. Settling contacts share their load to the end.
const ROLLING_SPEED: f64 = 1e-3;
/// Creep of a rolling surface at full braking, as a fraction of its rolling speed. Steel wheels on rails creep by some
/// 1e-3 (Carter 1926). Without creep, wheels whose axles are parallel up to the accuracy of joints, 1e-8 rad, brake
/// each other with full friction. Bodies without joints roll without creep.
const ROLLING_CREEP: f64 = 2e-6;
/// Largest compliance by creep, as a fraction of that of the bodies themselves. It takes effect for contacts with
/// hardly any load in the last step, and for a sudden load.
const MAX_CREEP_FRACTION: f64 = 1e-3;
/// Smallest cosine of the angle between the normals of contacts that belong to one face. A box of 10 cm that lies on
/// its face within [`CONTACT_MARGIN`] is tilted by 1e-5 rad.
const SAME_FACE_COS: f64 = 1.0 - 1e-9;

impl Constraints {
    /// Adds a contact, with its rolling and torsional resistance. One `in_patch` has no friction of its own
    /// ([`super::patch`]).
    pub(super) fn add_contact(
        &mut self,
        parts: &mut IslandParts,
        index: usize,
        scheme: &Scheme,
        again: bool,
        in_patch: bool,
    ) {
        let contacts = parts.contacts;
        let contact = &contacts[index];
        if contact.deferred {
            return;
        }
        let surface = &contact.surface;
        let [first, second] = if in_patch { [0.0; 2] } else { surface.friction };
        let directions = [contact.normal, contact.tangents[0] * first, contact.tangents[1] * second];
        let start = self.problem.columns.len();
        let sides = [contact.a, Some(contact.b)];
        let (mut free, mut before) =
            self.add_columns(parts, sides, contact.point, &Directions::translations(directions));
        // Friction resists the relative motion of surfaces, not of bodies: a belt moves relative to its own body.
        for c in 1..3 {
            let speed = surface.motion.dot(directions[c]);
            (free[c], before[c]) = (free[c] + speed, before[c] + speed);
        }
        let normal = if is_compliant(surface) { 1.0 / (scheme.h * effective_damping(surface, scheme.h)) } else { 0.0 };
        // Creep has no effect within the duration of an impact.
        let [slip, rolling] = match scheme.is_impact_instant {
            true => [0.0; 2],
            false if self.problem.only_free_bodies || in_patch => [surface.slip / scheme.h, 0.0],
            false => [surface.slip / scheme.h, creep_of_rolling(parts, contact, scheme)],
        };
        let own = self.problem.own_matrix(start);
        let creep = |own: f64, friction: f64| {
            let rolls = if rolling > 0.0 { (friction * rolling).min(MAX_CREEP_FRACTION * own) } else { 0.0 };
            friction * friction * slip + rolls
        };
        let compliance = [normal, creep(own[3], first), creep(own[5], second)];
        let mut block = self.problem.block_of(Law::Cone, start, own, compliance, free, before);
        block.gap = contact.gap;
        block.friction = first.max(second);
        block.impulse = contact.warm_start_impulse();
        if in_patch {
            block.impulse = [block.impulse[0], 0.0, 0.0];
        }
        (block.cone.slip, block.undistributed_change) = (contact.slip, contact.undistributed_change);
        set_bias(&mut block, contact, scheme, in_patch);
        if !is_compliant(surface) && !again && is_impact(&block, scheme) {
            for side in sides.into_iter().flatten() {
                if let Some(tree) = parts.tree_mut(side) {
                    tree.work.impact = true;
                }
            }
        }
        let place = self.problem.blocks.len();
        self.push_block(Source::Contact(index), block);
        if surface.rolling > 0.0 || surface.torsion > 0.0 {
            self.add_rolling(parts, index, place);
        }
    }

    /// Lets the points of a face arrive together. The gaps of two rigid faces that lie on each other differ by rounding
    /// and small tilts. If only some of the points had arrived, they would carry the load alone, and the face would
    /// rotate about them.
    pub(super) fn equalize_gaps(&mut self, contacts: &[Contact], scheme: &Scheme) {
        let mut first = 0;
        while first < self.sources.len() {
            let Source::Contact(index) = self.sources[first] else {
                first += 1;
                continue;
            };
            let key = contacts[index].key;
            let same = |source: &Source| match *source {
                Source::Contact(index) => contacts[index].key == key,
                Source::Rolling(_) | Source::Torsion(_) | Source::Patch(_) => true,
                _ => false,
            };
            let end = first + self.sources[first..].iter().take_while(|source| same(source)).count();
            self.equalize_face(first..end, contacts, scheme);
            first = end;
        }
    }

    /// Equalizes the gaps of the contacts of two shapes, which are the blocks of this range.
    fn equalize_face(&mut self, range: Range<usize>, contacts: &[Contact], scheme: &Scheme) {
        for place in range.clone() {
            let Some((contact, room)) = self.approaching_contact(place, contacts) else { continue };
            let gap = self.problem.blocks[place].gap;
            let (mut lead, mut lead_room) = (gap, room);
            for other in range.clone() {
                let Source::Contact(index) = self.sources[other] else { continue };
                let contact_there = &contacts[index];
                if contact_there.normal.dot(contact.normal) > SAME_FACE_COS {
                    let block_there = &self.problem.blocks[other];
                    lead = lead.min(block_there.gap);
                    let carries = may_carry(contact_there, block_there);
                    lead_room = lead_room.min(remaining_distance(block_there.gap, carries));
                }
            }
            if gap - lead < FACE_TILT {
                self.problem.blocks[place].bias[0] -= (room - lead_room) / scheme.lookahead;
            }
        }
    }

    /// A contact that has not arrived and does not bounce, with its remaining distance, m; `None` for others.
    fn approaching_contact<'a>(&self, place: usize, contacts: &'a [Contact]) -> Option<(&'a Contact, f64)> {
        let Source::Contact(index) = self.sources[place] else { return None };
        let block = &self.problem.blocks[place];
        let room = remaining_distance(block.gap, may_carry(&contacts[index], block));
        let waits = room > 0.0 && block.plastic_bias_change == 0.0 && !is_compliant(&contacts[index].surface);
        waits.then(|| (&contacts[index], room))
    }

    /// Adds the work that compliant surfaces return to the work input of the trees, J. Work that they absorb is
    /// negative, and the part of their dampers is lost. Moving surfaces add the work of their drive.
    pub(crate) fn add_surface_work(&self, parts: &mut IslandParts, h: f64) {
        self.add_soil_work(parts, h);
        for (source, block) in self.blocks() {
            if let Source::Patch(patch) = source {
                let (given, keeper) = self.patch_drive_work(parts, patch, block.impulse);
                if let Some(tree) = parts.tree_mut(keeper) {
                    tree.work.substep_work += given;
                }
            }
            let Source::Contact(index) = source else { continue };
            let contact = &parts.contacts[index];
            let (l, moves) = (block.impulse, contact.surface.motion != DVec3::ZERO);
            if is_compliant(&contact.surface) || moves {
                let after = self.problem.velocity(block)[0] - block.bias[0] + block.free[0];
                let pressed = 0.5 * l[0] * (block.before[0] + after);
                let pressed = if is_compliant(&contact.surface) { pressed } else { 0.0 };
                let given = pressed - (contact.impulse_of(l) - contact.normal * l[0]).dot(contact.surface.motion);
                let keeper = if parts.tree(contact.b).is_some() { Some(contact.b) } else { contact.a };
                if let Some(tree) = keeper.and_then(|side| parts.tree_mut(side)) {
                    tree.work.substep_work += given;
                }
            }
        }
    }

    /// Penetration at which a rigid contact first pressed, m, and its index: the deepest relative to the size of its
    /// shapes. Contacts press from the midpoint on; until then the surfaces approach as before.
    pub(crate) fn deepest_penetration(&self, contacts: &[Contact], h: f64) -> Option<(f64, usize)> {
        let (mut deepest, mut most) = (None, 0.0);
        for (source, block) in self.blocks() {
            let Source::Contact(index) = source else { continue };
            let depth = (-block.gap).min(-0.5 * h * block.before[0]);
            if !(depth > 0.0) {
                continue;
            }
            let relative = depth / contacts[index].depth_fraction();
            if relative > most && !is_compliant(&contacts[index].surface) {
                (deepest, most) = (Some((depth, index)), relative);
            }
        }
        deepest
    }
}

/// True if the surface has a finite stiffness.
fn is_compliant(surface: &Surface) -> bool {
    surface.stiffness.is_finite()
}

/// Force of a compliant surface per unit of velocity at the end of the step, N s/m.
fn effective_damping(surface: &Surface, h: f64) -> f64 {
    h * surface.stiffness + surface.damping
}

/// True if the surfaces would cross before the midpoint of the next step.
fn is_closing(block: &Block, scheme: &Scheme) -> bool {
    remaining_distance(block.gap, false) + scheme.lookahead * block.free[0] < 0.0
}

/// True if surfaces carried a load in the last step, or hover.
fn may_carry(contact: &Contact, block: &Block) -> bool {
    contact.carries_load() || block.before[0].abs() < HOVERING_SPEED
}

/// Distance until the surfaces arrive, m; 0 if they have. `carries` is true for surfaces that may carry a load at
/// [`CARRYING_DISTANCE`].
fn remaining_distance(gap: f64, carries: bool) -> f64 {
    let beyond = gap - CONTACT_MARGIN;
    if beyond > if carries { CARRYING_DISTANCE } else { HOVER_DISTANCE } { beyond } else { 0.0 }
}

/// True for an impact: the approach is faster than gravity can cause in two steps.
fn is_impact(block: &Block, scheme: &Scheme) -> bool {
    let speed = BOUNCE_SPEED + 2.0 * scheme.gravity.norm() * scheme.h;
    is_closing(block, scheme) && block.before[0] < -speed
}

/// Creep of a rolling contact per braking impulse, m/(s N s), times its coefficient of friction.
fn creep_of_rolling(parts: &IslandParts, contact: &Contact, scheme: &Scheme) -> f64 {
    let load = contact.warm_start_impulse()[0];
    let jointed =
        |side: LinkAddress| parts.tree(side).is_some_and(|tree| tree.topology.freedom > 0 && !tree.is_single_body());
    let alone = !contact.a.is_some_and(jointed) && !jointed(contact.b);
    if alone || contact.contact_duration == 0.0 || load == 0.0 {
        return 0.0;
    }
    let motion = |side: Option<LinkAddress>| {
        let of = |side: LinkAddress| Some(parts.tree(side)?.motion_at(side.link, contact.point));
        side.and_then(of).unwrap_or(Spatial::ZERO)
    };
    let (a, b) = (motion(contact.a), motion(Some(contact.b)));
    // A contact that both bodies carry along moves with both, and would seem to roll by its displacement in half a
    // step.
    let turns = contact.normal.cross(b.angular() - a.angular()) * contact.size;
    if turns.length_squared() < ROLLING_SPEED * ROLLING_SPEED {
        return 0.0;
    }
    let along = contact.moved / (0.5 * (scheme.h + contact.contact_duration));
    let speed = (along - a.linear()).length_squared().min((along - b.linear()).length_squared()).sqrt();
    if speed > ROLLING_SPEED { ROLLING_CREEP * speed / load } else { 0.0 }
}

/// Velocity change at the contact from the midpoint to the end due to the motion of the contact itself, m/s. Between
/// the last midpoint and this one it was `before` - `rate`; it is extrapolated. A change above the bounce speed belongs
/// to another contact. A change below the solver's tolerance is no motion: extrapolating it would make it grow from
/// step to step.
fn change_to_end(block: &Block, contact: &Contact, scheme: &Scheme, in_patch: bool) -> DVec3 {
    let rate = if in_patch { contact.normal * contact.normal.dot(contact.rate) } else { contact.rate };
    change_to_end_at(contact.velocity_of(block.before), rate, contact, scheme)
}

/// The same for a point with this velocity at the start, and this one at the end of the last substep.
pub(super) fn change_to_end_at(before: DVec3, rate: DVec3, contact: &Contact, scheme: &Scheme) -> DVec3 {
    if contact.contact_duration == 0.0 || scheme.is_impact_instant {
        return DVec3::ZERO;
    }
    let share = scheme.h / (scheme.h + contact.contact_duration);
    let change = (before - rate) * share;
    if (STICKING_SPEED..BOUNCE_SPEED).contains(&change.norm()) { change } else { DVec3::ZERO }
}

/// Adds this change to the target velocity of the laws.
fn add_velocity_change(block: &mut Block, contact: &Contact, change: DVec3) {
    let [first, second] = contact.surface.friction;
    let rows = [contact.normal, contact.tangents[0] * first, contact.tangents[1] * second];
    for (bias, row) in block.bias.iter_mut().zip(rows) {
        *bias += row.dot(change);
    }
}

/// Sets bias, gap and position rule of a contact.
fn set_bias(block: &mut Block, contact: &Contact, scheme: &Scheme, in_patch: bool) {
    if is_compliant(&contact.surface) {
        set_compliant_bias(block, contact, scheme);
        return;
    }
    // At the midpoint, a link is on its arc, but a free body on the tangent. Surfaces that rotate together and touch at
    // both ends of the step are then apart or overlap by an eighth of h² times their difference in acceleration.
    let change = change_to_end(block, contact, scheme, in_patch);
    block.gap -= 0.25 * scheme.h * contact.normal.dot(change);
    block.position = PositionRule::PushedOut;
    set_rigid_bias(block, contact, scheme, change);
}

/// Sets the bias of a compliant contact.
fn set_compliant_bias(block: &mut Block, contact: &Contact, scheme: &Scheme) {
    let room = remaining_distance(contact.gap, false);
    block.bias[0] += if contact.gap < 0.0 {
        contact.surface.stiffness * contact.gap / effective_damping(&contact.surface, scheme.h)
    } else {
        room / scheme.h
    };
}

/// Sets the bias of a rigid contact: Newton's law of impact for the velocity at the start of the step, or no crossing
/// before the next midpoint.
///
/// The start of the step is the instant of the impact, unless a step has too many impacts. An approach that forces slow
/// down below the bounce speed within the step does not bounce.
fn set_rigid_bias(block: &mut Block, contact: &Contact, scheme: &Scheme, change: DVec3) {
    let (restitution, approach) = (contact.surface.restitution, block.before[0]);
    let room = remaining_distance(block.gap, may_carry(contact, block)) / scheme.lookahead;
    let is_fast = approach.max(block.free[0]) < -BOUNCE_SPEED;
    if restitution > 0.0 && is_fast && is_closing(block, scheme) {
        block.bias[0] += restitution * approach;
        block.plastic_bias_change = room - restitution * approach;
        return;
    }
    block.bias[0] += room;
    add_velocity_change(block, contact, change);
}
