//! Collision detection: which shapes meet, and where.
//!
//! **Takes** trees with their links at the midpoint, grounds and shapes of the model. **Gives** contacts with warm
//! starts from the last step, in an order that the model gives, the soil patches of shapes, and a scene for rays.
//! **Does not know** forces, constraints or solvers.
//!
//! Bounding boxes come first ([`broad`]), then the narrow phase ([`narrow`]). Contacts that a neighbour of a shape on
//! its rigid piece does not allow are replaced or removed ([`seam_contacts`]). The search looks as far ahead as bodies
//! can travel in a step, so a fast body is stopped at the surface. From step to step, only contacts, candidate pairs
//! and clearances are kept; the latter two do not change any result.

mod arrival;
mod broad;
mod clearance;
mod contact;
mod convex;
#[cfg(test)]
mod count;
mod face_outlines;
mod faces;
mod geom;
mod ground;
mod hit;
mod manifold;
mod narrow;
mod neighbour;
mod outline;
mod placed_shape;
mod probe;
mod ray_scene;
mod rays;
mod renumber;
mod seam_contacts;
mod seams;
mod shape_model;
mod shared_parts;
mod soil;
mod soil_patches;
mod surroundings;
mod triangles;

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Norm};

use self::{
    broad::BroadPhase,
    clearance::Clearances,
    contact::{ContactSide, Pair, Sizes, Tangents},
    geom::{MovingShape, Placement},
    hit::Hit,
    narrow::{MAX_KEPT_CORNERS, Memory},
    neighbour::Neighbour,
    seams::Seams,
    shape_model::{GROUND_BITS, Model},
    soil_patches::ShapeSoilPatches,
    surroundings::Surroundings,
};
pub(crate) use self::{
    contact::{Contact, SEARCH_MARGIN, SMALL_SHAPE_MARGIN, Surface},
    convex::Hull,
    face_outlines::FaceOutlines,
    faces::Faces,
    geom::Geom,
    ground::Ground,
    outline::Outline,
    renumber::NewShapeIndices,
    shape_model::MAX_GROUNDS,
    shared_parts::SharedParts,
};
use crate::{
    engine::{
        soil::SoilPatches,
        state::{addresses::LinkAddress, tree::Tree},
    },
    rays::CurrentScene,
};

/// All colliding shapes, and the contacts of the present step.
pub(crate) struct Collider {
    model: Model,
    /// Contacts of this step, sorted by key.
    pub(crate) contacts: Vec<Contact>,
    /// Contacts of the last step.
    pub(crate) old: Vec<Contact>,
    /// The whole faces of contacts of this step.
    pub(crate) outlines: FaceOutlines,
    /// Position and box of each shape. `placed` is false until all of them are up to date.
    placements: Vec<Placement>,
    placed: bool,
    /// True if any tree slept in the last search.
    pub(crate) sees_sleepers: bool,
    broad: BroadPhase,
    /// Pairs of shapes whose boxes overlap.
    pairs: Vec<(usize, usize)>,
    /// Scratch buffer for merging new contacts with those of sleeping bodies.
    merged: Vec<Contact>,
    clearances: Clearances,
    seams: Seams,
    hits: Vec<Hit>,
    tangents: Tangents,
    memory: Memory,
    rays: CurrentScene,
    /// Soil patches, and their indices for each shape.
    pub(crate) soil: SoilPatches,
    soil_patches: Vec<ShapeSoilPatches>,
}

impl Collider {
    /// A collider of shapes in the order of their trees.
    pub(crate) fn new(
        geoms: Vec<Geom>,
        trees: usize,
        grounds: Arc<[Ground]>,
        mut apart: Vec<(BodyId, BodyId)>,
        self_colliding: Vec<bool>,
        gravity: f64,
    ) -> Self {
        apart.sort_unstable();
        let (soil, soil_patches) = soil_patches::build_soil_patches(&geoms, &grounds, gravity);
        let extents = geoms.iter().map(Geom::extent).collect();
        let starts = (0..=trees).map(|tree| geoms.partition_point(|geom| geom.side.tree < tree)).collect();
        Self {
            seams: Seams::new(&geoms, grounds.len()),
            placements: vec![Placement::NOWHERE; geoms.len()],
            rays: ray_scene::build_ray_scene(&geoms, &grounds),
            model: Model { geoms, extents, starts, grounds, apart, self_colliding },
            contacts: Vec::new(),
            old: Vec::new(),
            outlines: FaceOutlines::default(),
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

    /// Sets the velocity of a body's surface, in the body's axes, m/s. Returns true if that changes anything.
    pub(crate) fn set_surface_velocity(&mut self, body: BodyId, velocity: DVec3) -> bool {
        let mut changes = false;
        for geom in self.model.geoms.iter_mut().filter(|geom| geom.body == body) {
            changes |= geom.material.surface_velocity != velocity;
            geom.material.surface_velocity = velocity;
        }
        changes
    }

    /// Velocity of a body's surface, in the body's axes, m/s; zero for a body without a shape.
    pub(crate) fn surface_velocity(&self, body: BodyId) -> DVec3 {
        let shape = self.model.geoms.iter().find(|geom| geom.body == body);
        shape.map_or(DVec3::ZERO, |geom| geom.material.surface_velocity)
    }

    /// Surface velocity of each shape, in its body's axes, m/s.
    pub(crate) fn surface_velocities(&self) -> Vec<DVec3> {
        self.model.geoms.iter().map(|geom| geom.material.surface_velocity).collect()
    }

    /// Restores the surface velocities of all shapes.
    pub(crate) fn restore_surfaces(&mut self, velocities: &[DVec3]) {
        for (geom, velocity) in self.model.geoms.iter_mut().zip(velocities) {
            geom.material.surface_velocity = *velocity;
        }
    }

    /// Size of the smallest shape of a tree, m.
    pub(crate) fn smallest_size(&self, tree: usize) -> f64 {
        let geoms = &self.model.geoms[self.model.starts[tree]..self.model.starts[tree + 1]];
        geoms.iter().map(Geom::size).fold(f64::INFINITY, f64::min)
    }

    /// Largest distance of a point of each shape from the centre of mass of its link, m.
    pub(crate) fn shape_reaches(&self) -> impl Iterator<Item = (LinkAddress, f64)> {
        self.model.geoms.iter().map(|geom| (geom.side, geom.offset.norm() + geom.size()))
    }

    /// Restores the contacts of a snapshot.
    pub(crate) fn restore_contacts(&mut self, contacts: Vec<Contact>) {
        self.contacts.clear();
        let model = &self.model;
        self.contacts
            .extend(contacts.into_iter().map(|contact| Contact { size: model.size_at(contact.key), ..contact }));
        self.placed = false;
    }

    /// Pairs of trees with shapes whose boxes overlapped in the last search.
    pub(crate) fn near_tree_pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let tree = |shape: usize| self.model.geoms[shape].side.tree;
        self.pairs.iter().map(move |&(a, b)| (tree(a), tree(b)))
    }

    /// Finds all contacts at the present poses, looking `h` seconds ahead. Contacts between sleeping and fixed bodies
    /// are not updated.
    pub(crate) fn find_contacts(&mut self, trees: &[Tree], h: f64) {
        std::mem::swap(&mut self.contacts, &mut self.old);
        self.contacts.clear();
        self.outlines.clear_points();
        self.tangents = Tangents::default();
        // The lists grow together, so that a repeated substep finds enough memory in each. They get exactly the same
        // capacity: lists that double in turn would grow without bound.
        self.contacts.reserve_exact(self.old.capacity());
        if self.merged.capacity() > 0 {
            self.merged.clear();
            self.merged.reserve_exact(self.old.capacity());
        }
        self.seams.complete_lists(&self.model, trees);
        self.sees_sleepers = false;
        for (index, tree) in trees.iter().enumerate() {
            let is_awake = tree.is_awake();
            self.sees_sleepers |= !is_awake && tree.state.asleep;
            if !self.placed || is_awake {
                self.update_shapes(index, trees, h);
            }
        }
        self.placed = true;
        self.broad.find_pairs(&self.model, trees, &mut self.placements, h, &mut self.pairs);
        let pairs = std::mem::take(&mut self.pairs);
        self.clearances.start_step();
        pairs.iter().for_each(|&(a, b)| self.add_pair_contacts(a, b, trees, h));
        self.pairs = pairs;
        let awake = |side: LinkAddress| trees[side.tree].is_awake();
        let asleep = self.old.iter().filter(|contact| !awake(contact.b) && !contact.a.is_some_and(awake));
        merge_contacts(&mut self.contacts, asleep, &mut self.merged);
        self.warm_start(trees, h);
    }

    /// Updates the positions and boxes of a tree's shapes, and finds their contacts with grounds.
    fn update_shapes(&mut self, index: usize, trees: &[Tree], h: f64) {
        let tree = &trees[index];
        let (is_awake, has_soil) = (tree.is_awake(), !self.soil.is_empty());
        for geom in self.model.starts[index]..self.model.starts[index + 1] {
            let extent = &self.model.extents[geom];
            let (placement, on_ground) = (extent.placement(tree, h), is_awake && extent.may_touch_ground);
            let near = on_ground && self.model.grounds.iter().any(|ground| ground.overlaps(&placement.bounds));
            self.broad.check_padded_box(geom, &placement.bounds);
            self.placements[geom] = placement;
            if near {
                self.add_ground_contacts(geom, trees, h);
            }
            if on_ground && has_soil {
                self.add_soil_contacts(geom, trees, h);
            }
        }
    }

    /// Adds the contacts of a shape with the firm grounds near it.
    fn add_ground_contacts(&mut self, index: usize, trees: &[Tree], h: f64) {
        let Model { geoms, grounds, .. } = &self.model;
        let placement = &mut self.placements[index];
        let tree = &trees[geoms[index].side.tree];
        geoms[index].tighten_bounds(placement, tree);
        let bounds = &placement.bounds;
        let near =
            |ground: &Ground| ground.material.soil.is_none() && ground.overlaps(bounds) && ground.may_reach(bounds);
        let mut grounds = grounds.iter().enumerate().filter(|(_, ground)| near(ground)).peekable();
        if grounds.peek().is_none() {
            return;
        }
        let shape = MovingShape { geom: &geoms[index], centre: placement.centre, tree };
        let (motion, spin) = (shape.velocity() * (2.0 * h), 2.0 * h * shape.rim_speed());
        let sizes = Sizes { size: shape.geom.size(), motion: 0.5 * (motion.norm() + spin) };
        // Within the margin, the upper corners of a box of 1 mm would count among those that it stands on.
        let margin = SEARCH_MARGIN.min(SMALL_SHAPE_MARGIN * sizes.size);
        let ahead = margin.max(2.0 * h * shape.max_approach_speed());
        let surroundings = Surroundings { model: &self.model, trees };
        for (number, ground) in grounds {
            self.hits.clear();
            let pair = [geoms.len() + number, index];
            let visit = |side: usize, other: u32, visit: &mut dyn FnMut(&Neighbour)| {
                surroundings.visit_neighbour(other as usize, pair[1 - side], visit)
            };
            let beside = self.seams.list_beside(pair, 0, &visit);
            ground.add_contacts(&shape.placed_shape(), ahead, beside, &mut self.memory, &mut self.hits);
            if let Some(surface) = ground.as_placed_shape().filter(|_| sizes.are_passed_by(motion, spin)) {
                narrow::drop_unreached(
                    &surface,
                    &shape.placed_shape(),
                    motion,
                    sizes.unconditional_margin(),
                    &mut self.hits,
                );
            }
            // The keys of grounds are smaller than those of pairs.
            let key = ((index as u64) << GROUND_BITS) | number as u64;
            if self.hits.len() > MAX_KEPT_CORNERS {
                self.outlines.record_hits(key, &self.hits);
            }
            narrow::reduce_hits(&mut self.hits, sizes.size, &mut self.memory);
            let Some(normal) = self.hits.first().map(|hit| hit.normal) else { continue };
            self.hits.iter_mut().for_each(|hit| hit.move_to_surface(true));
            let pair = Pair::new(&ContactSide::of_ground(&ground.material), &shape.contact_side(normal));
            add_contacts(
                &pair,
                (None, shape.geom.side),
                key,
                sizes,
                &self.hits,
                (&mut self.contacts, &mut self.tangents),
            );
        }
    }

    /// Adds the contacts of two shapes.
    fn add_pair_contacts(&mut self, a: usize, b: usize, trees: &[Tree], h: f64) {
        let shape = |index: usize| {
            let geom = &self.model.geoms[index];
            MovingShape { geom, centre: self.placements[index].centre, tree: &trees[geom.side.tree] }
        };
        let shapes = [shape(a), shape(b)];
        let [first, second] = &shapes;
        let (motion, spin) =
            ((second.velocity() - first.velocity()) * (2.0 * h), 2.0 * h * (first.rim_speed() + second.rim_speed()));
        let ahead =
            SEARCH_MARGIN.max(motion.norm() + 2.0 * h * (first.spin_approach_speed() + second.spin_approach_speed()));
        let around = [first.geom.size(), second.geom.size()];
        // The balls around the shapes of most candidate pairs are apart.
        if (second.centre - first.centre).norm() > around[0] + around[1] + ahead {
            return;
        }
        if self.clearances.prove_apart((a, b), &shapes, ahead) {
            return;
        }
        let sizes = Sizes { size: around[0].min(around[1]), motion: 0.5 * (motion.norm() + spin) };
        let (one, two) = (first.placed_shape(), second.placed_shape());
        self.hits.clear();
        let surroundings = Surroundings { model: &self.model, trees };
        let visit = |side: usize, other: u32, visit: &mut dyn FnMut(&Neighbour)| {
            surroundings.visit_neighbour(other as usize, [b, a][side], visit)
        };
        let beside = self.seams.list_beside([a, b], usize::from(!second.geom.moves), &visit);
        narrow::contacts_of_pair(&one, &two, ahead, beside, &mut self.memory, &mut self.hits);
        if self.hits.is_empty() {
            return self.clearances.record_gap((a, b), &shapes, self.memory.min_distance());
        }
        if sizes.are_passed_by(motion, spin) {
            narrow::drop_unreached(&one, &two, motion, sizes.unconditional_margin(), &mut self.hits);
        }
        let key = ((a as u64 + 1) << 32) | b as u64;
        if self.hits.len() > MAX_KEPT_CORNERS {
            self.outlines.record_hits(key, &self.hits);
        }
        narrow::reduce_hits(&mut self.hits, sizes.size, &mut self.memory);
        let Some(normal) = self.hits.first().map(|hit| hit.normal) else { return };
        let moves = [first, second].map(|shape| shape.tree.topology.freedom > 0);
        if moves[0] != moves[1] {
            self.hits.iter_mut().for_each(|hit| hit.move_to_surface(moves[1]));
        }
        let pair = Pair::new(&first.contact_side(normal), &second.contact_side(normal));
        let sides = (Some(first.geom.side), second.geom.side);
        add_contacts(&pair, sides, key, sizes, &self.hits, (&mut self.contacts, &mut self.tangents));
    }

    /// Gives each contact the impulse of the nearest old contact of the same pair, and each old impulse at most once.
    /// Both lists are sorted by key.
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

/// Final velocity of an old contact, in the axes of the new one, m/s.
///
/// The axes rotate with the normal, and about it with the slower of the two sides. Otherwise points of a rotating face
/// would keep velocities that no rigid motion has, and sticking friction would resist them.
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

/// Adds the contacts of hits. `sides` are a and b; `None` is the ground. `contacts` receives them, and `last` caches
/// tangents.
fn add_contacts(
    pair: &Pair,
    sides: (Option<LinkAddress>, LinkAddress),
    key: u64,
    sizes: Sizes,
    hits: &[Hit],
    (contacts, last): (&mut Vec<Contact>, &mut Tangents),
) {
    // A pair with a direction of friction has tangents of its own.
    let mut own = Tangents::default();
    let last = if pair.has_direction() { &mut own } else { last };
    contacts.extend(hits.iter().map(|hit| {
        let tangents = last.at(pair, hit.normal);
        pair.new_contact(sides.0, sides.1, hit, tangents, key, sizes)
    }));
}

/// Merges the list `others` into `contacts`, both sorted by key. `memory` is a scratch buffer.
fn merge_contacts<'a>(
    contacts: &mut Vec<Contact>,
    others: impl Iterator<Item = &'a Contact>,
    memory: &mut Vec<Contact>,
) {
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
