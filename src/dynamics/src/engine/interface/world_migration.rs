//! World migration: an edited world continues from the state of the one before it. Trees in both keep their state to
//! the last bit.
//!
//! Trees, shapes, loop joints, bodies and joints have other indices in the new world but the same order, so contacts
//! stay sorted by their keys. Bodies that touched a removed one wake up.

use simpartner_model::BodyId;

use super::snapshot::Saved;
use crate::{
    PreviousIds,
    engine::{collision::NewShapeIndices, state::addresses::JointAddress, stepping::world::Dynamics},
};

/// New index of everything in the old world; `None` for removed things.
struct NewIndices {
    trees: Vec<Option<usize>>,
    bodies: Vec<Option<usize>>,
    joints: Vec<Option<usize>>,
    loop_joints: Vec<Option<usize>>,
    shapes: NewShapeIndices,
}

impl NewIndices {
    fn new(old: &Dynamics, new: &Dynamics, previous: &PreviousIds) -> Self {
        let trees = kept_trees(old, new, previous);
        let mut bodies = vec![None; old.model.bodies.len()];
        for (number, before) in previous.bodies.iter().enumerate() {
            let before = before.filter(|before| trees[old.model.bodies[before.index()].tree].is_some());
            before.into_iter().for_each(|before| bodies[before.index()] = Some(number));
        }
        let (mut joints, mut loop_joints) = (vec![None; old.model.joints.len()], vec![None; old.loop_joints.len()]);
        for (number, before) in previous.joints.iter().enumerate() {
            let Some(before) = before.map(simpartner_model::JointId::index) else { continue };
            match (old.model.joints[before], new.model.joints[number]) {
                (JointAddress::LoopJoint(old), JointAddress::LoopJoint(new)) => loop_joints[old] = Some(new),
                (JointAddress::Tree { tree, .. }, JointAddress::Tree { .. }) if trees[tree].is_some() => {}
                _ => continue,
            }
            joints[before] = Some(number);
        }
        let shapes = old.collider.new_indices(&new.collider, &trees);
        Self { trees, bodies, joints, loop_joints, shapes }
    }
}

/// For each old tree, the index of the new one with the same bodies at the same links; `None` if there is none.
fn kept_trees(old: &Dynamics, new: &Dynamics, previous: &PreviousIds) -> Vec<Option<usize>> {
    let mut found = vec![None; old.trees.len()];
    for (number, tree) in new.trees.iter().enumerate() {
        let links = &tree.topology.links;
        let before = links.first().and_then(|root| previous.bodies[root.body?.index()]);
        let Some(before) = before.map(|body| old.model.bodies[body.index()].tree) else { continue };
        let was = |body: Option<BodyId>| body.and_then(|body| previous.bodies[body.index()]);
        let old_links = &old.trees[before].topology.links;
        let same = links.len() == old_links.len()
            && links.iter().zip(old_links).all(|(link, old)| was(link.body) == old.body)
            && tree.state.fits(&old.trees[before].state);
        found[before] = same.then_some(number);
    }
    found
}

impl Dynamics {
    /// Takes the state of the world before an edit, for all trees that this world has unchanged.
    pub(crate) fn take_state_of(&mut self, old: &Self, previous: &PreviousIds) {
        let numbers = NewIndices::new(old, self, previous);
        let mut state = self.state_to_save();
        state.migrate(old.state_to_save(), &numbers);
        self.restore_state(state);
    }
}

/// Moves each old entry to its new index.
fn move_entries<T>(new: &mut [T], old: Vec<T>, numbers: &[Option<usize>]) {
    for (old, number) in old.into_iter().zip(numbers) {
        if let Some(number) = number {
            new[*number] = old;
        }
    }
}

impl Saved {
    /// Takes the state of an old world.
    fn migrate(&mut self, old: Self, numbers: &NewIndices) {
        let NewIndices { trees, bodies, joints, loop_joints, shapes } = numbers;
        self.h = old.h;
        move_entries(&mut self.trees, old.trees, trees);
        move_entries(&mut self.surfaces, old.surfaces, &shapes.shapes);
        move_entries(&mut self.loop_joints, old.loop_joints, loop_joints);
        move_entries(&mut self.wrenches, old.wrenches, bodies);
        move_entries(&mut self.loads, old.loads, joints);
        self.soil.migrate(old.soil, &shapes.soil_patches);
        self.check_memory = old.check_memory.with_new_indices(bodies, trees, loop_joints);
        let mut is_kept = vec![false; self.trees.len()];
        trees.iter().flatten().for_each(|&tree| is_kept[tree] = true);
        // The new trees keep the contacts with which they start; the old contacts follow.
        self.contacts.retain(|contact| !contact.sides().all(|side| is_kept[side.tree]));
        for contact in &old.contacts {
            match contact.with_new_indices(trees, shapes) {
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
