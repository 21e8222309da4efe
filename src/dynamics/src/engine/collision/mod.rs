//! Collision: which shapes meet, and where.
//!
//! **Takes** trees with their links at the midpoint, grounds and shapes of the model. **Gives** contacts with warm
//! starts from the last step, in an order that the model gives, the soil patches of shapes, and a scene for rays.
//! **Does not know** forces, constraints or solvers.
//!
//! Bounding boxes come first ([`broad`]), then the narrow phase. The search reaches as far ahead as bodies can come in
//! a step, so a fast body is stopped at the surface. Nothing here outlives a step except contacts and candidate pairs,
//! which change no result.

mod arrival;
mod broad;
mod clearance;
mod contact;
mod convex;
#[cfg(test)]
mod count;
mod faces;
mod geom;
mod ground;
mod manifold;
mod narrow;
mod probe;
mod rays;
mod renumber;
mod soil;
mod triangles;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Norm};

use self::{
    broad::BroadPhase,
    clearance::Clearances,
    contact::{Half, Pair, Sizes, Tangents},
    geom::{Extent, Moving, Placement},
    narrow::Memory,
};
pub(crate) use self::{
    contact::{Contact, Surface},
    convex::Hull,
    faces::Faces,
    geom::{Geom, MARGIN, Outline},
    ground::Ground,
    renumber::NewShapeIndices,
};
use crate::{
    engine::{
        soil::SoilPatches,
        state::{addresses::LinkAddress, tree::Tree},
    },
    rays::CurrentScene,
};

/// A point where two surfaces meet or are about to.
#[derive(Debug, Clone, Copy)]
struct Hit {
    point: DVec3,
    /// From the first to the second.
    normal: DVec3,
    /// Distance, negative for penetration.
    gap: f64,
}

/// Bits of a contact's key that say which ground it is with.
const GROUND_BITS: u32 = 8;
/// Largest number of grounds of a world.
pub(crate) const MAX_GROUNDS: usize = 1 << GROUND_BITS;

/// What can collide, as the model has it.
struct Model {
    /// In the order of their trees.
    geoms: Vec<Geom>,
    extents: Vec<Extent>,
    /// First of each tree's shapes.
    starts: Vec<usize>,
    grounds: Vec<Ground>,
    /// Pairs of bodies that never meet, sorted.
    apart: Vec<(BodyId, BodyId)>,
    /// Trees whose own shapes meet each other.
    self_colliding: Vec<bool>,
}

impl Model {
    fn may_meet(&self, one: &Geom, two: &Geom) -> bool {
        let (a, b) = (one.body, two.body);
        a != b && one.filter.meets(two.filter) && self.apart.binary_search(&(a.min(b), a.max(b))).is_err()
    }

    /// The size of the smaller shape of the contacts with this key.
    fn size_at(&self, key: u64) -> f64 {
        let size =
            |index: u64| usize::try_from(index).ok().and_then(|index| self.geoms.get(index)).map_or(0.0, Geom::size);
        match (key >> 32).checked_sub(1) {
            Some(first) => size(first).min(size(key & 0xffff_ffff)),
            None => size(key >> GROUND_BITS),
        }
    }
}

/// All colliding shapes, and the contacts of the present step.
pub(crate) struct Collider {
    model: Model,
    /// In the order of their keys.
    pub(crate) contacts: Vec<Contact>,
    /// Those of the last step.
    pub(crate) old: Vec<Contact>,
    /// Pose and box of each shape; `placed` is false until all are up to date.
    placements: Vec<Placement>,
    placed: bool,
    /// Whether anything slept in the last search.
    pub(crate) sees_sleepers: bool,
    broad: BroadPhase,
    /// Pairs of shapes whose boxes meet.
    pairs: Vec<(usize, usize)>,
    /// Scratch buffer for merging new contacts with those of sleeping bodies.
    merged: Vec<Contact>,
    clearances: Clearances,
    hits: Vec<Hit>,
    tangents: Tangents,
    memory: Memory,
    rays: CurrentScene,
    /// The soil patches, and which of them each shape has.
    pub(crate) soil: SoilPatches,
    soil_patches: Vec<soil::Prints>,
}

impl Collider {
    /// From shapes in the order of their trees.
    pub(crate) fn new(
        geoms: Vec<Geom>,
        trees: usize,
        grounds: Vec<Ground>,
        mut apart: Vec<(BodyId, BodyId)>,
        self_colliding: Vec<bool>,
        gravity: f64,
    ) -> Self {
        apart.sort_unstable();
        let (soil, soil_patches) = soil::footprints(&geoms, &grounds, gravity);
        let extents = geoms.iter().map(Geom::extent).collect();
        let starts = (0..=trees).map(|tree| geoms.partition_point(|geom| geom.side.tree < tree)).collect();
        Self {
            placements: vec![Placement::NOWHERE; geoms.len()],
            rays: rays::scene(&geoms, &grounds),
            model: Model { geoms, extents, starts, grounds, apart, self_colliding },
            contacts: Vec::new(),
            old: Vec::new(),
            placed: false,
            sees_sleepers: false,
            broad: BroadPhase::new(trees, soil_patches.len()),
            pairs: Vec::new(),
            merged: Vec::new(),
            clearances: Clearances::default(),
            hits: Vec::new(),
            tangents: Tangents::default(),
            memory: Memory::default(),
            soil,
            soil_patches,
        }
    }

    /// Moves the surface of a body at this velocity, in its axes. True if that changes anything.
    pub(crate) fn set_surface_velocity(&mut self, body: BodyId, velocity: DVec3) -> bool {
        let mut changes = false;
        for geom in self.model.geoms.iter_mut().filter(|geom| geom.body == body) {
            changes |= geom.material.surface_velocity != velocity;
            geom.material.surface_velocity = velocity;
        }
        changes
    }

    /// The velocity of the surface of each shape, in its body's axes.
    pub(crate) fn surface_velocities(&self) -> Vec<DVec3> {
        self.model.geoms.iter().map(|geom| geom.material.surface_velocity).collect()
    }

    /// Restores these velocities.
    pub(crate) fn restore_surfaces(&mut self, velocities: &[DVec3]) {
        for (geom, velocity) in self.model.geoms.iter_mut().zip(velocities) {
            geom.material.surface_velocity = *velocity;
        }
    }

    /// The size of the smallest shape of a tree, m.
    pub(crate) fn smallest_size(&self, tree: usize) -> f64 {
        let geoms = &self.model.geoms[self.model.starts[tree]..self.model.starts[tree + 1]];
        geoms.iter().map(Geom::size).fold(f64::INFINITY, f64::min)
    }

    /// Largest distance of a point of each shape from the centre of mass of its link, m.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = (LinkAddress, f64)> {
        self.model.geoms.iter().map(|geom| (geom.side, geom.offset.norm() + geom.size()))
    }

    /// Restores the contacts of a snapshot.
    pub(crate) fn restore(&mut self, contacts: Vec<Contact>) {
        self.contacts.clear();
        let model = &self.model;
        self.contacts
            .extend(contacts.into_iter().map(|contact| Contact { size: model.size_at(contact.key), ..contact }));
        self.placed = false;
    }

    /// Pairs of trees whose boxes met in the last search.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = (usize, usize)> {
        let tree = |shape: usize| self.model.geoms[shape].side.tree;
        self.pairs.iter().map(move |&(a, b)| (tree(a), tree(b)))
    }

    /// Finds all contacts at the present poses, looking `h` seconds ahead. Contacts between sleeping and fixed bodies
    /// stay as they are.
    pub(crate) fn collide(&mut self, trees: &[Tree], h: f64) {
        std::mem::swap(&mut self.contacts, &mut self.old);
        self.contacts.clear();
        self.tangents = Tangents::default();
        // The lists grow together, so that a motion made again finds enough memory in each: to the same size exactly,
        // since lists that double in turn have no bound.
        self.contacts.reserve_exact(self.old.capacity());
        if self.merged.capacity() > 0 {
            self.merged.clear();
            self.merged.reserve_exact(self.old.capacity());
        }
        self.sees_sleepers = false;
        for (index, tree) in trees.iter().enumerate() {
            let is_awake = tree.is_awake();
            self.sees_sleepers |= !is_awake && tree.state.asleep;
            if !self.placed || is_awake {
                self.place(index, trees, h);
            }
        }
        self.placed = true;
        self.broad.find_pairs(&self.model, trees, &mut self.placements, h, &mut self.pairs);
        let pairs = std::mem::take(&mut self.pairs);
        self.clearances.begin();
        pairs.iter().for_each(|&(a, b)| self.between(a, b, trees, h));
        self.pairs = pairs;
        let awake = |side: LinkAddress| trees[side.tree].is_awake();
        let asleep = self.old.iter().filter(|contact| !awake(contact.b) && !contact.a.is_some_and(awake));
        merge(&mut self.contacts, asleep, &mut self.merged);
        self.warm_start(trees, h);
    }

    /// Moves the shapes of a tree to their links, and finds their contacts with grounds.
    fn place(&mut self, index: usize, trees: &[Tree], h: f64) {
        let tree = &trees[index];
        let (is_awake, has_soil) = (tree.is_awake(), !self.soil.is_empty());
        for geom in self.model.starts[index]..self.model.starts[index + 1] {
            let extent = &self.model.extents[geom];
            let (placement, on_ground) = (extent.place(tree, h), is_awake && extent.may_touch_ground);
            let near = on_ground && self.model.grounds.iter().any(|ground| ground.meets(&placement.bounds));
            self.broad.note(geom, &placement.bounds);
            self.placements[geom] = placement;
            if near {
                self.on_ground(geom, trees, h);
            }
            if on_ground && has_soil {
                self.on_soils(geom, trees, h);
            }
        }
    }

    /// Contacts of a shape with the firm grounds near it.
    fn on_ground(&mut self, index: usize, trees: &[Tree], h: f64) {
        let Model { geoms, grounds, .. } = &self.model;
        let placement = &mut self.placements[index];
        let tree = &trees[geoms[index].side.tree];
        geoms[index].tighten(placement, tree);
        let bounds = &placement.bounds;
        let near = |ground: &Ground| ground.material.soil.is_none() && ground.meets(bounds) && ground.reaches(bounds);
        let mut grounds = grounds.iter().enumerate().filter(|(_, ground)| near(ground)).peekable();
        if grounds.peek().is_none() {
            return;
        }
        let shape = Moving { geom: &geoms[index], centre: placement.centre, tree };
        let (motion, spin) = (shape.velocity() * (2.0 * h), 2.0 * h * shape.spin());
        let sizes = Sizes { size: shape.geom.size(), motion: 0.5 * (motion.norm() + spin) };
        let ahead = MARGIN.max(2.0 * h * shape.speed());
        for (number, ground) in grounds {
            self.hits.clear();
            ground.touch(&shape.placed(), ahead, &mut self.memory, &mut self.hits);
            if let Some(surface) = ground.placed().filter(|_| sizes.are_passed_by(motion, spin)) {
                narrow::keep_real(&surface, &shape.placed(), motion, sizes.margin(), &mut self.hits);
            }
            narrow::reduce(&mut self.hits, sizes.size, &mut self.memory);
            if self.hits.is_empty() {
                continue;
            }
            let pair = Pair::new(&Half::ground(&ground.material), &shape.half());
            // The grounds come before all pairs.
            let key = ((index as u64) << GROUND_BITS) | number as u64;
            add(&pair, (None, shape.geom.side), key, sizes, &self.hits, (&mut self.contacts, &mut self.tangents));
        }
    }

    fn between(&mut self, a: usize, b: usize, trees: &[Tree], h: f64) {
        let shape = |index: usize| {
            let geom = &self.model.geoms[index];
            Moving { geom, centre: self.placements[index].centre, tree: &trees[geom.side.tree] }
        };
        let shapes = [shape(a), shape(b)];
        let [first, second] = &shapes;
        let (motion, spin) =
            ((second.velocity() - first.velocity()) * (2.0 * h), 2.0 * h * (first.spin() + second.spin()));
        let ahead = MARGIN.max(motion.norm() + 2.0 * h * (first.swing() + second.swing()));
        let around = [first.geom.size(), second.geom.size()];
        // Most pairs whose boxes meet are farther apart than the balls around them.
        if (second.centre - first.centre).norm() > around[0] + around[1] + ahead {
            return;
        }
        if self.clearances.parts((a, b), &shapes, ahead) {
            return;
        }
        let sizes = Sizes { size: around[0].min(around[1]), motion: 0.5 * (motion.norm() + spin) };
        let (one, two) = (first.placed(), second.placed());
        self.hits.clear();
        narrow::of_pair(&one, &two, ahead, &mut self.memory, &mut self.hits);
        if self.hits.is_empty() {
            return self.clearances.note((a, b), &shapes, self.memory.apart());
        }
        if sizes.are_passed_by(motion, spin) {
            narrow::keep_real(&one, &two, motion, sizes.margin(), &mut self.hits);
        }
        narrow::reduce(&mut self.hits, sizes.size, &mut self.memory);
        if self.hits.is_empty() {
            return;
        }
        let (pair, key) = (Pair::new(&first.half(), &second.half()), ((a as u64 + 1) << 32) | b as u64);
        let sides = (Some(first.geom.side), second.geom.side);
        add(&pair, sides, key, sizes, &self.hits, (&mut self.contacts, &mut self.tangents));
    }

    /// Gives each contact the impulse of the nearest old contact of the same pair, each old one at most once. Both
    /// lists are in the order of their keys.
    fn warm_start(&mut self, trees: &[Tree], h: f64) {
        let (mut start, mut old_start) = (0, 0);
        while start < self.contacts.len() {
            let key = self.contacts[start].key;
            let end = start + self.contacts[start..].iter().take_while(|contact| contact.key == key).count();
            while old_start < self.old.len() && self.old[old_start].key < key {
                old_start += 1;
            }
            let old_end = old_start + self.old[old_start..].iter().take_while(|old| old.key == key).count();
            let mut used = 0u64;
            for contact in &mut self.contacts[start..end] {
                let (mut best, mut nearest) = (contact.same_within * contact.same_within, None);
                for (index, old) in self.old[old_start..old_end].iter().enumerate().take(64) {
                    let square = (old.point - contact.point).length_squared();
                    if square < best && used >> index & 1 == 0 {
                        (best, nearest) = (square, Some(index));
                    }
                }
                if let Some(index) = nearest {
                    used |= 1 << index;
                    let old = &self.old[old_start + index];
                    contact.impulse = old.impulse;
                    contact.spin_impulse = old.spin_impulse;
                    (contact.slip, contact.undistributed_change) = (old.slip, old.undistributed_change);
                    contact.contact_duration = old.contact_duration;
                    contact.rate = carried_velocity(old, contact, trees, h);
                    contact.moved = contact.point - old.point;
                }
            }
            old_start = old_end;
            start = end;
        }
    }
}

/// The final velocity of an old contact in the axes of the new one. The axes have rotated with the normal, and about it
/// with the slower of the two sides. Without that, points of a rotating face would keep velocities that no rigid motion
/// has, and sticking friction would resist them.
fn carried_velocity(old: &Contact, contact: &Contact, trees: &[Tree], h: f64) -> DVec3 {
    if old.rate == DVec3::ZERO {
        return DVec3::ZERO;
    }
    let spin = |side: LinkAddress| trees[side.tree].work.links[side.link].velocity.angular().dot(contact.normal);
    let (one, other) = (contact.a.map_or(0.0, spin), spin(contact.b));
    let slower = if one.abs() < other.abs() { one } else { other };
    let same = old.normal == contact.normal;
    let turned = if same { old.rate } else { DQuat::from_rotation_arc(old.normal, contact.normal) * old.rate };
    turned + contact.normal.cross(turned) * (slower * h)
}

/// Makes contacts of hits on side `b`; the other side is `a`, or the ground.
fn add(
    pair: &Pair,
    sides: (Option<LinkAddress>, LinkAddress),
    key: u64,
    sizes: Sizes,
    hits: &[Hit],
    (contacts, last): (&mut Vec<Contact>, &mut Tangents),
) {
    // Those of a pair with a direction of friction are its own.
    let mut own = Tangents::default();
    let last = if pair.has_direction() { &mut own } else { last };
    contacts.extend(hits.iter().map(|hit| {
        let tangents = last.at(pair, hit.normal);
        pair.contact(sides.0, sides.1, hit, tangents, key, sizes)
    }));
}

/// Merges two lists of contacts in the order of their keys, in the buffer `memory`.
fn merge<'a>(contacts: &mut Vec<Contact>, others: impl Iterator<Item = &'a Contact>, memory: &mut Vec<Contact>) {
    let mut others = others.peekable();
    if others.peek().is_none() {
        return;
    }
    memory.clear();
    for contact in contacts.iter() {
        while let Some(other) = others.next_if(|other| other.key < contact.key) {
            memory.push(*other);
        }
        memory.push(*contact);
    }
    memory.extend(others.copied());
    std::mem::swap(contacts, memory);
}
