//! Which shapes meet, and where: two levels of bounding boxes, then the narrow phase, then each contact takes up the impulse
//! it had in the last step.
//!
//! Distances are looked for as far ahead as the bodies could come in a step, so a fast body is stopped at the surface
//! before it is through. Nothing here outlives a step except the contacts.

mod contact;
mod geom;
mod narrow;
mod probe;
mod rays;
mod triangles;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Material};

pub(super) use self::{
    contact::{Contact, Side},
    geom::{Geom, Ground, Outline},
};
use self::{
    contact::{Half, Pair},
    geom::{Bounds, MARGIN},
    narrow::Manifolds,
};
use super::tree::Tree;

/// How far a contact may have moved since the last step and still be the same, metres.
const SAME_CONTACT: f64 = 0.05;

/// A pair that moves farther than this in two steps is looked at along its way too, metres.
const FAST: f64 = 0.02;

/// A point where two surfaces meet or are about to.
#[derive(Debug, Clone, Copy)]
struct Hit {
    point: DVec3,
    /// From the first to the second.
    normal: DVec3,
    /// Distance, negative for penetration.
    gap: f64,
}

/// All colliding shapes, and the contacts of the present step.
pub(super) struct Collider {
    geoms: Vec<Geom>,
    /// First of each tree's shapes; they stand in the order of the trees.
    starts: Vec<usize>,
    ground: Ground,
    /// Pairs of bodies that never meet, sorted.
    apart: Vec<(BodyId, BodyId)>,
    /// Trees whose own shapes meet each other.
    self_colliding: Vec<bool>,
    /// In the order of their keys.
    pub(super) contacts: Vec<Contact>,
    /// Those of the last step.
    old: Vec<Contact>,
    /// False until all shapes are where their links are.
    placed: bool,
    boxes: Vec<Bounds>,
    order: Vec<usize>,
    hits: Vec<Hit>,
    manifolds: Manifolds,
}

impl Collider {
    /// Of these shapes, which stand in the order of their trees.
    pub(super) fn new(
        geoms: Vec<Geom>,
        trees: usize,
        ground: Ground,
        mut apart: Vec<(BodyId, BodyId)>,
        self_colliding: Vec<bool>,
    ) -> Self {
        apart.sort_unstable();
        let starts = (0..=trees).map(|tree| geoms.partition_point(|geom| geom.side.tree < tree)).collect();
        Self {
            geoms,
            starts,
            ground,
            apart,
            self_colliding,
            contacts: Vec::new(),
            old: Vec::new(),
            placed: false,
            boxes: vec![Bounds::NOTHING; trees],
            order: (0..trees).collect(),
            hits: Vec::new(),
            manifolds: Manifolds::default(),
        }
    }

    /// Takes up the contacts of a snapshot.
    pub(super) fn restore(&mut self, contacts: Vec<Contact>) {
        self.contacts = contacts;
        self.placed = false;
    }

    /// Goes back to the contacts before the last search.
    pub(super) fn go_back(&mut self) {
        std::mem::swap(&mut self.contacts, &mut self.old);
    }

    /// Finds all contacts at the present poses; `h` is how many seconds to look ahead. Between what sleeps and what nothing
    /// moves they stay as they are.
    pub(super) fn collide(&mut self, trees: &[Tree], h: f64) {
        std::mem::swap(&mut self.contacts, &mut self.old);
        self.contacts.clear();
        for (index, tree) in trees.iter().enumerate() {
            if !self.placed || tree.is_awake() {
                self.place(index, trees, h);
            }
        }
        self.placed = true;
        for (a, b) in self.pairs(trees, usize::MAX) {
            self.between(a, b, trees, h);
        }
        let awake = |side: Side| trees[side.tree].is_awake();
        let kept = self.contacts.len();
        let asleep = self.old.iter().filter(|contact| !awake(contact.b) && !contact.a.is_some_and(awake));
        self.contacts.extend(asleep.copied());
        if self.contacts.len() > kept {
            self.contacts.sort_by_key(|contact| contact.key);
        }
        self.take_up();
    }

    /// Moves the shapes of a tree to where its links are, and looks at what they have of the ground.
    fn place(&mut self, index: usize, trees: &[Tree], h: f64) {
        let tree = &trees[index];
        let mut bounds = Bounds::NOTHING;
        for geom in self.starts[index]..self.starts[index + 1] {
            self.geoms[geom].place(tree, h);
            if self.geoms[geom].moves && tree.is_awake() {
                self.on_ground(geom, trees, h);
            }
            bounds = bounds.with(&self.geoms[geom].bounds);
        }
        self.boxes[index] = bounds;
    }

    fn on_ground(&mut self, index: usize, trees: &[Tree], h: f64) {
        if !self.ground.meets(&self.geoms[index].bounds) {
            return;
        }
        let tree = &trees[self.geoms[index].side.tree];
        self.geoms[index].tighten(tree);
        let geom = &self.geoms[index];
        let bounds = geom.bounds;
        // The ground comes before all pairs.
        let key = |ground: u64| ((index as u64) << 1) | ground;
        if let Some(plane) = self.ground.plane
            && bounds.reaches(&plane)
        {
            let ahead = MARGIN + 2.0 * h * geom.speed(tree);
            self.hits.clear();
            narrow::on_plane(plane.normal, plane.distance, &geom.placed(tree), ahead, &mut self.hits);
            self.add(None, index, &plane.material, trees, key(0));
        }
        if let Some((field, material)) = &self.ground.heightfield {
            let geom = &self.geoms[index];
            if bounds.low.y < self.ground.top {
                let ahead = MARGIN + 2.0 * h * geom.speed(tree);
                let material = *material;
                self.hits.clear();
                narrow::on_heightfield(field, &geom.placed(tree), ahead, &mut self.manifolds, &mut self.hits);
                let motion = geom.velocity(tree) * (2.0 * h);
                if motion.length() > FAST && 2.0 * h * geom.spin(tree) < FAST {
                    narrow::keep_real(&narrow::ground(field), &geom.placed(tree), motion, MARGIN, &mut self.hits);
                }
                self.add(None, index, &material, trees, key(1));
            }
        }
    }

    fn between(&mut self, a: usize, b: usize, trees: &[Tree], h: f64) {
        let (first, second) = (&self.geoms[a], &self.geoms[b]);
        let of = |geom: &Geom| (geom.velocity(&trees[geom.side.tree]), geom.spin(&trees[geom.side.tree]));
        let ((v_a, spin_a), (v_b, spin_b)) = (of(first), of(second));
        let (motion, spin) = ((v_b - v_a) * (2.0 * h), 2.0 * h * (spin_a + spin_b));
        let ahead = MARGIN + motion.length() + spin;
        self.hits.clear();
        narrow::of_pair(
            &first.placed(&trees[first.side.tree]),
            &second.placed(&trees[second.side.tree]),
            ahead,
            &mut self.manifolds,
            &mut self.hits,
        );
        if motion.length() > FAST && spin < FAST {
            narrow::keep_real(
                &first.placed(&trees[first.side.tree]),
                &second.placed(&trees[second.side.tree]),
                motion,
                MARGIN,
                &mut self.hits,
            );
        }
        let material = first.material;
        self.add(Some(a), b, &material, trees, ((a as u64 + 1) << 32) | b as u64);
    }

    /// Makes contacts of the hits on shape `b`; the other side is shape `a`, or a ground of the given material.
    fn add(&mut self, a: Option<usize>, b: usize, material: &Material, trees: &[Tree], key: u64) {
        narrow::reduce(&mut self.hits);
        let half = |geom: &'_ Geom| {
            let work = &trees[geom.side.tree].work;
            (work.links[geom.side.link].rotation * geom.frame, geom.rolling_radius())
        };
        let (geom, other) = (&self.geoms[b], a.map(|a| &self.geoms[a]));
        let (rotation, radius) = other.map_or((DQuat::IDENTITY, None), half);
        let first = Half { material, rotation, radius };
        let (rotation, radius) = half(geom);
        let pair = Pair::new(&first, &Half { material: &geom.material, rotation, radius });
        let (a, b) = (other.map(|geom| geom.side), geom.side);
        self.contacts.extend(self.hits.iter().map(|hit| pair.contact(a, b, hit, key)));
    }

    /// Pairs of shapes whose boxes meet and of which one is awake, in order and at most so many: trees by their boxes first,
    /// swept along x, then shape by shape.
    fn pairs(&mut self, trees: &[Tree], most: usize) -> Vec<(usize, usize)> {
        let boxes = &self.boxes;
        self.order.sort_by(|&a, &b| boxes[a].low.x.total_cmp(&boxes[b].low.x).then(a.cmp(&b)));
        let mut found = Vec::new();
        let order = std::mem::take(&mut self.order);
        for (place, &first) in order.iter().enumerate() {
            if found.len() >= most {
                break;
            }
            let awake = trees[first].is_awake();
            if self.self_colliding[first] && awake {
                self.pairs_of(first, first, trees, &mut found);
            }
            for &second in &order[place + 1..] {
                if self.boxes[second].low.x > self.boxes[first].high.x {
                    break;
                }
                if (awake || trees[second].is_awake()) && self.boxes[first].meets(&self.boxes[second]) {
                    self.pairs_of(first.min(second), first.max(second), trees, &mut found);
                }
            }
        }
        self.order = order;
        found.sort_unstable();
        found
    }

    fn pairs_of(&mut self, first: usize, second: usize, trees: &[Tree], found: &mut Vec<(usize, usize)>) {
        for a in self.starts[first]..self.starts[first + 1] {
            let from = if first == second { a + 1 } else { self.starts[second] };
            for b in from..self.starts[second + 1] {
                let (one, two) = (&self.geoms[a], &self.geoms[b]);
                if (one.moves || two.moves) && one.bounds.meets(&two.bounds) && self.may_meet(one.body, two.body) {
                    self.geoms[a].tighten(&trees[first]);
                    self.geoms[b].tighten(&trees[second]);
                    if self.geoms[a].bounds.meets(&self.geoms[b].bounds) {
                        found.push((a, b));
                    }
                }
            }
        }
    }

    fn may_meet(&self, a: BodyId, b: BodyId) -> bool {
        a != b && self.apart.binary_search(&(a.min(b), a.max(b))).is_err()
    }

    /// Each contact takes the impulse of the nearest old contact of the same pair, every old one at most once. Both lists
    /// stand in the order of their keys.
    fn take_up(&mut self) {
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
                let (mut best, mut nearest) = (SAME_CONTACT * SAME_CONTACT, None);
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
                    contact.slip = old.slip;
                }
            }
            old_start = old_end;
            start = end;
        }
    }
}
