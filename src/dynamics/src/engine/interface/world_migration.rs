//! A world goes on in another one, in which some of its trees are gone and others are new: what both have keeps its state to the last bit.
//!
//! Trees, shapes, closures, bodies and joints have other numbers there. They stand in the same order, so contacts stay sorted by their keys. What
//! leaned on something that is gone wakes up.

use simpartner_model::BodyId;

use super::snapshot::Saved;
use crate::{
    Kept,
    engine::{collision::NewNumbers, state::addresses::JointPlace, stepping::world::Dynamics},
};

/// For everything that the world had, its number in the next one; `None` for what is gone.
struct Numbers {
    trees: Vec<Option<usize>>,
    bodies: Vec<Option<usize>>,
    joints: Vec<Option<usize>>,
    closures: Vec<Option<usize>>,
    shapes: NewNumbers,
}

impl Numbers {
    fn new(old: &Dynamics, new: &Dynamics, kept: &Kept) -> Self {
        let trees = trees(old, new, kept);
        let mut bodies = vec![None; old.model.bodies.len()];
        for (number, before) in kept.bodies.iter().enumerate() {
            let before = before.filter(|before| trees[old.model.bodies[before.index()].tree].is_some());
            before.into_iter().for_each(|before| bodies[before.index()] = Some(number));
        }
        let (mut joints, mut closures) = (vec![None; old.model.joints.len()], vec![None; old.closures.len()]);
        for (number, before) in kept.joints.iter().enumerate() {
            let Some(before) = before.map(simpartner_model::JointId::index) else { continue };
            match (old.model.joints[before], new.model.joints[number]) {
                (JointPlace::Closure(old), JointPlace::Closure(new)) => closures[old] = Some(new),
                (JointPlace::Tree { tree, .. }, JointPlace::Tree { .. }) if trees[tree].is_some() => {}
                _ => continue,
            }
            joints[before] = Some(number);
        }
        let shapes = old.collider.numbers_in(&new.collider, &trees);
        Self { trees, bodies, joints, closures, shapes }
    }
}

/// For each old tree the new one that has the same bodies at the same links, if there is one.
fn trees(old: &Dynamics, new: &Dynamics, kept: &Kept) -> Vec<Option<usize>> {
    let mut found = vec![None; old.trees.len()];
    for (number, tree) in new.trees.iter().enumerate() {
        let links = &tree.topology.links;
        let before = links.first().and_then(|root| kept.bodies[root.body?.index()]);
        let Some(before) = before.map(|body| old.model.bodies[body.index()].tree) else { continue };
        let was = |body: Option<BodyId>| body.and_then(|body| kept.bodies[body.index()]);
        let old_links = &old.trees[before].topology.links;
        let same = links.len() == old_links.len()
            && links.iter().zip(old_links).all(|(link, old)| was(link.body) == old.body)
            && tree.state.fits(&old.trees[before].state);
        found[before] = same.then_some(number);
    }
    found
}

impl Dynamics {
    /// Goes on from the state of another world, as far as this one has it.
    pub(crate) fn go_on_from(&mut self, old: &Self, kept: &Kept) {
        let numbers = Numbers::new(old, self, kept);
        let mut state = self.saved();
        state.carry_over(old.saved(), &numbers);
        self.take_up(state);
    }
}

/// Puts each of the old in its place among the new.
fn put<T>(new: &mut [T], old: Vec<T>, numbers: &[Option<usize>]) {
    for (old, number) in old.into_iter().zip(numbers) {
        if let Some(number) = number {
            new[*number] = old;
        }
    }
}

impl Saved {
    fn carry_over(&mut self, old: Self, numbers: &Numbers) {
        let Numbers { trees, bodies, joints, closures, shapes } = numbers;
        self.h = old.h;
        put(&mut self.trees, old.trees, trees);
        put(&mut self.surfaces, old.surfaces, &shapes.shapes);
        put(&mut self.closures, old.closures, closures);
        put(&mut self.wrenches, old.wrenches, bodies);
        put(&mut self.loads, old.loads, joints);
        self.soil.carry_over(old.soil, &shapes.prints);
        self.check_memory = old.check_memory.renumbered(bodies, trees, closures);
        let mut is_kept = vec![false; self.trees.len()];
        trees.iter().flatten().for_each(|&tree| is_kept[tree] = true);
        // Those that the newcomers begin with, and those that there were.
        self.contacts.retain(|contact| !contact.sides().all(|side| is_kept[side.tree]));
        for contact in &old.contacts {
            match contact.renumbered(trees, shapes) {
                Some(contact) => self.contacts.push(contact),
                None => contact.sides().filter_map(|side| trees[side.tree]).for_each(|tree| self.trees[tree].wake()),
            }
        }
        self.contacts.sort_by_key(|contact| contact.key);
        let renumbered = |(pair, vectors, gap): ([Option<usize>; 2], _, _)| match pair {
            [None, Some(second)] => Some(([None, Some(bodies[second]?)], vectors, gap)),
            [Some(first), None] => Some(([Some(bodies[first]?), None], vectors, gap)),
            [Some(first), Some(second)] => Some(([Some(bodies[first]?), Some(bodies[second]?)], vectors, gap)),
            [None, None] => None,
        };
        self.points = old.points.into_iter().filter_map(renumbered).collect();
    }
}
