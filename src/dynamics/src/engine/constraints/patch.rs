//! Patches: contact points of two shapes that form a line or a face. While such a patch spins, its friction is that of
//! its pressure as a whole ([`crate::engine::solvers::patch_friction`]), and its points have normal rows only.
//! Friction of separate points would keep one of them at rest: the yaw of a robot on cylinders then has a few discrete
//! rates.
//!
//! A patch that does not spin has friction at its points, which is the same law while all points slide alike. At rest
//! it may exert more moment at its points than its pressure can. It then has the law of its pressure in the next
//! substep, and starts to turn.

use std::ops::Range;

use bevy_math::{DVec2, DVec3};

use super::{
    contact::{CONTACT_MARGIN, change_to_end_at},
    island_parts::IslandParts,
    island_rows::{Constraints, Source},
    patch_state::{Loads, Patch, members_of},
    pressure::{MAX_CORNERS, form_of},
    rows::Directions,
};
use crate::engine::{
    algebra::spatial::Spatial,
    collision::Contact,
    scheme::Scheme,
    solvers::{
        patch_friction::PatchFriction,
        problem::{Block, Law},
    },
    state::addresses::LinkAddress,
};

/// Spin times half of the length of a patch, m/s, below which friction is that of its points: far above the solver's
/// tolerance and far below what drives a robot off its course.
const MIN_SPIN: f64 = 1e-6;
/// Sliding speed below which friction of a patch is viscous, as a fraction of its spin times its length. A patch that
/// comes to rest has this speed at most, which is a thousandth of that of the step before.
const FLOOR_FRACTION: f64 = 1e-3;
/// Smallest cosine of the angle between the normals of a patch, and most contacts of an island of several free bodies
/// whose patches are solved as such. In a larger heap, friction stays at the points, where one local solve finds it
/// together with the normal impulse.
const SAME_NORMAL_COS: f64 = 1.0 - 1e-9;
const MAX_HEAP_CONTACTS: usize = 8;

impl Constraints {
    /// True if a patch spins.
    pub(crate) fn has_patches(&self) -> bool {
        !self.patches.is_empty()
    }

    /// Adds contacts, with the rows of patches that spin.
    pub(super) fn add_contacts(&mut self, parts: &mut IslandParts, scheme: &Scheme, again: bool) {
        self.patches.clear();
        let own = parts.own_contacts;
        let mut start = 0;
        while start < own.len() {
            let end = start + patch_size(parts, start);
            if parts.contacts[own[start]].soil_patch.is_some() {
                start = end;
                continue;
            }
            let patch = if end - start > 1 { self.spinning_patch(parts, start..end, scheme) } else { None };
            let first = self.problem.blocks.len();
            let members = patch.map_or(0, |patch| patch.members);
            for (place, &contact) in own[start..end].iter().enumerate() {
                self.add_contact(parts, contact, scheme, again, members >> place.min(63) & 1 == 1);
            }
            if let Some(patch) = patch {
                self.add_patch(parts, patch, first, scheme);
            }
            start = end;
        }
    }

    /// The patch of these contacts, if it spins or must start to, and has Coulomb friction of one coefficient.
    fn spinning_patch(&mut self, parts: &IslandParts, own: Range<usize>, scheme: &Scheme) -> Option<Patch> {
        let members = touching_contacts(parts, own.clone());
        let contacts = || members_of(&parts.own_contacts[own.clone()], members).map(|index| &parts.contacts[index]);
        let (first, count) = (contacts().next()?, members.count_ones() as usize);
        let [friction, across] = first.surface.friction;
        let is_heap =
            self.problem.only_free_bodies && parts.trees.len() > 1 && parts.own_contacts.len() > MAX_HEAP_CONTACTS;
        let plain = friction > 0.0 && friction == across && first.surface.slip == 0.0;
        if self.keeps_points || !plain || is_heap || scheme.is_impact_instant || !(2..=MAX_CORNERS).contains(&count) {
            return None;
        }
        let spin = |side: LinkAddress| {
            parts.tree(side).map_or(0.0, |tree| tree.work.links[side.link].velocity.angular().dot(first.normal))
        };
        let spin = spin(first.b) - first.a.map_or(0.0, spin);
        let loads = Loads::sum_contacts(contacts, first.normal);
        let spins = |length: f64| spin.abs() * length > MIN_SPIN;
        if contacts().any(|contact| contact.deferred) || !(spins(loads.length) || loads.may_exceed(friction)) {
            return None;
        }
        let [x, y] = first.tangents;
        let flat = |place: DVec3| DVec2::new((place - loads.point).dot(x), (place - loads.point).dot(y));
        let mut corners = [DVec2::ZERO; MAX_CORNERS];
        corners.iter_mut().zip(contacts()).for_each(|(corner, contact)| *corner = flat(contact.point));
        self.outline.clear();
        if count > 2 {
            // Corners of the face that are no contacts touch if they are as near as the contacts that do.
            let reach = contacts().map(|contact| contact.gap).fold(f64::NEG_INFINITY, f64::max) + CONTACT_MARGIN;
            let touches = |normal: DVec3, gap: f64| gap <= reach && normal.dot(first.normal) > SAME_NORMAL_COS;
            let whole = parts.outlines.points_of(first.key).filter(|&(_, normal, gap)| touches(normal, gap));
            self.outline.extend(whole.map(|(point, ..)| flat(point)));
        }
        let (form, along) = form_of(&mut corners[..count], &mut self.outline, first.round);
        let along = x * along.x + y * along.y;
        let axes = [along, first.normal.cross(along), first.normal];
        let law = loads.friction_law(&form, [along, axes[1]]);
        let patch = Patch { first: own.start, end: own.end, members, axes, friction, loads, law };
        (spins(loads.length) || patch.exceeds_limit()).then_some(patch)
    }

    /// Adds the rows of a patch whose contacts are the blocks from `first` on.
    fn add_patch(&mut self, parts: &IslandParts, patch: Patch, first: usize, scheme: &Scheme) {
        let contacts = || patch.member_contacts(parts.own_contacts).map(|index| &parts.contacts[index]);
        let Some(contact) = contacts().next() else { return };
        let (start, end) = (self.problem.columns.len(), self.problem.blocks.len());
        let [along, across, normal] = patch.axes;
        let vectors = [along * patch.friction, across * patch.friction, normal * (patch.friction * patch.loads.length)];
        let sides = [contact.a, Some(contact.b)];
        let (mut free, mut before) =
            self.add_columns(parts, sides, patch.loads.point, &Directions::sliding_and_spinning(vectors));
        for c in 0..2 {
            let speed = contact.surface.motion.dot(vectors[c]);
            (free[c], before[c]) = (free[c] + speed, before[c] + speed);
        }
        let law = Law::Patch { patch: self.problem.patches.len(), first, end };
        let mut block = self.problem.block(law, start, [0.0; 3], free, before);
        let rates = contacts().map(|contact| contact.rate).sum::<DVec3>();
        let rate = rates / f64::from(patch.members.count_ones());
        block.impulse = patch.last_impulse();
        let floor = FLOOR_FRACTION * before[2].abs().max(MIN_SPIN * patch.friction);
        self.problem.patches.push(PatchFriction { floor, ..patch.law });
        let velocity = (along * before[0] + across * before[1]) / patch.friction;
        let change = change_to_end_at(velocity, rate - normal * rate.dot(normal), contact, scheme);
        for c in 0..2 {
            block.bias[c] += vectors[c].dot(change);
        }
        self.push_block(Source::Patch(self.patches.len()), block);
        self.patches.push(patch);
    }

    /// Adds the friction of a patch to the external forces of its links.
    pub(super) fn add_patch_force(&self, parts: &mut IslandParts, patch: usize, l: [f64; 3], rate: f64) {
        let (patch, contacts) = (&self.patches[patch], parts.contacts);
        let contact = &contacts[parts.own_contacts[patch.first]];
        let wrench = patch.patch_wrench(l);
        let force = Spatial::new(wrench.angular() * rate, wrench.linear() * rate);
        parts.add_external_force(contact.b, force, patch.loads.point);
        if let Some(a) = contact.a {
            parts.add_external_force(a, -force, patch.loads.point);
        }
    }

    /// Work of the drive of a moving surface by the friction of a patch, J.
    pub(super) fn patch_drive_work(&self, parts: &IslandParts, patch: usize, l: [f64; 3]) -> (f64, LinkAddress) {
        let patch = &self.patches[patch];
        let contact = &parts.contacts[parts.own_contacts[patch.first]];
        let keeper = if parts.tree(contact.b).is_some() { contact.b } else { contact.a.unwrap_or(contact.b) };
        (-patch.patch_wrench(l).linear().dot(contact.surface.motion), keeper)
    }

    /// Gives the contacts of a patch their shares of its friction, in proportion to their loads, and the velocities of
    /// its points. The contacts have their normal impulses and velocities.
    pub(super) fn write_back_patch(&self, contacts: &mut [Contact], own: &[usize], patch: usize, block: &Block) {
        let patch = &self.patches[patch];
        let own = || patch.member_contacts(own);
        let normal = patch.axes[2];
        let total: f64 = own().map(|index| contacts[index].impulse.dot(normal).max(0.0)).sum();
        let wrench = patch.patch_wrench(block.impulse);
        let u = self.problem.velocity(block);
        let after = [0, 1, 2].map(|row| u[row] - block.bias[row] + block.free[row]);
        let load = |contact: &Contact| contact.impulse.dot(normal).max(0.0) / total.max(f64::MIN_POSITIVE);
        let mut moment = wrench.angular().dot(normal);
        for index in own() {
            let lever = contacts[index].point - patch.loads.point;
            moment -= lever.cross(wrench.linear() * load(&contacts[index])).dot(normal);
        }
        for index in own() {
            let contact = &mut contacts[index];
            let share = load(contact);
            contact.impulse += wrench.linear() * share;
            contact.spin_impulse += normal * (moment * share);
            contact.rate += patch.velocity_at(contact.point, after);
        }
    }
}

/// The contacts of a range of those of the island that touched in the last substep, one bit for each.
fn touching_contacts(parts: &IslandParts, own: Range<usize>) -> u64 {
    let each = parts.own_contacts[own].iter().take(64).enumerate();
    each.fold(0, |members, (place, &index)| members | u64::from(parts.contacts[index].contact_duration > 0.0) << place)
}

/// Number of contacts from this one on that belong to one line or face.
fn patch_size(parts: &IslandParts, start: usize) -> usize {
    let contact = |place: usize| &parts.contacts[parts.own_contacts[place]];
    let first = contact(start);
    if first.soil_patch.is_some() {
        return 1;
    }
    let same = |&place: &usize| {
        let other = contact(place);
        other.key == first.key && other.soil_patch.is_none() && other.normal.dot(first.normal) > SAME_NORMAL_COS
    };
    1 + (start + 1..parts.own_contacts.len()).take_while(same).count()
}
