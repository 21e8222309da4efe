//! What constrains an island in a step, as blocks of rows for the solvers: one file for each kind.
//!
//! | file | what it constrains |
//! |---|---|
//! | `contact` | two surfaces may not cross, with Coulomb friction; rigid and compliant |
//! | `soil` | a shape sinks into soil and shears it; no rows, but a part of the mass matrix |
//! | `rolling` | a contact resists rolling, and turning about its normal |
//! | `coordinate` | stops and dry friction of the axes of trees, stops of their ball joints |
//! | `coupling` | gears and mimic joints: two coordinates of a tree in a fixed ratio |
//! | `closure` | joints that close loops: what they hold, and the axes that they leave free |
//! | `rows` | the builder: Jacobians of links and coordinates, whitened |
//!
//! The laws of one axis stand in [`crate::engine::joints::axis_laws`], once for trees and loop joints. A new law is a file here that adds blocks in
//! [`Constraints::assemble`], a [`Source`] that says what they stand for, and what its impulse does in
//! [`Constraints::apply_contact_forces`] and [`Constraints::write_back`]. The solvers see a [`crate::engine::solvers::problem::Law`] and no more.

pub(crate) mod contact;
mod coordinate;
mod coupling;
pub(crate) mod loop_joint;
mod loop_rows;
mod rolling;
pub(crate) mod rows;
mod soil;

use bevy_math::DVec3;

use self::{
    contact::CONTACT_MARGIN,
    loop_joint::{HELD_ROWS, LoopJoint, RowKind},
    loop_rows::LoopRows,
    soil::SoilContacts,
};
use crate::engine::{
    algebra::spatial::Spatial,
    collision::Contact,
    joints::axis_laws::AxisLaw,
    scheme::Scheme,
    soil::SoilPatches,
    solvers::problem::{Block, Problem},
    state::{
        addresses::LinkAddress,
        tree::{LANES, Tree},
    },
};

/// What a block stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A contact, by its place in the list of contacts.
    Contact(usize),
    /// The resistance of a contact to rolling, likewise.
    Rolling(usize),
    /// The resistance of a contact to turning about its normal, likewise.
    Torsion(usize),
    /// A law of a coordinate: tree of the island, degree of freedom, and the law's number.
    Coordinate { tree: usize, dof: usize, law: usize },
    /// A stop of a ball joint: tree of the island, degree of freedom and law of the axis that it counts as, and its place in
    /// [`Constraints::ball_stops`].
    BallStop { tree: usize, dof: usize, law: AxisLaw, row: usize },
    /// A coupling of two coordinates: tree of the island, and its number there.
    Coupling { tree: usize, number: usize },
    /// A row of a joint that closes a loop, by its place in [`LoopRows`].
    LoopJoint(usize),
}

/// All constraints of an island. Kept from step to step for its memory only.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    pub(crate) problem: Problem,
    /// What each block of the problem stands for.
    sources: Vec<Source>,
    /// The solution before the last assembly: of each block its source, its impulse, and where the search for its slip ended.
    previous: Vec<(Source, [f64; 3], f64)>,
    loop_rows: LoopRows,
    soil: SoilContacts,
    /// First degree of freedom of a ball joint, and the direction that a stop presses in, each along the axes of its tree.
    ball_stops: Vec<(usize, DVec3)>,
    /// Of each closure, the velocities in the directions that it holds that close it at the middle of the next step.
    closing: Vec<[f64; HELD_ROWS]>,
    /// And the mean rates at which its motors give their largest power, otherwise 0.
    power_means: Vec<[f64; 3]>,
    scratch: Vec<[f64; 4]>,
    /// Memory for [`Tree::whiten_all`].
    forces: Vec<[Spatial; LANES]>,
}

/// What an island is made of.
pub(crate) struct IslandParts<'a, 'b> {
    pub(crate) trees: &'a mut [&'b mut Tree],
    /// For each tree of the world, its place in its island, and the number of that.
    pub(crate) slots: &'a [usize],
    pub(crate) numbers: &'a [usize],
    /// The number of this island.
    pub(crate) number: usize,
    pub(crate) contacts: &'a [Contact],
    /// What of each shape is in soil.
    pub(crate) soil_patches: &'a SoilPatches,
    /// Those of this island.
    pub(crate) own_contacts: &'a [usize],
    pub(crate) loop_joints: &'a [LoopJoint],
    pub(crate) own_loop_joints: &'a [usize],
}

impl IslandParts<'_, '_> {
    /// The tree of a side in this island; `None` if nothing moves that side. It may then stand on a tree of another island.
    #[inline]
    pub(crate) fn tree(&self, side: LinkAddress) -> Option<&Tree> {
        let slot = (self.numbers[side.tree] == self.number).then(|| self.slots[side.tree])?;
        self.trees.get(slot).map(|tree| &**tree)
    }

    /// The same, to change it.
    #[inline]
    fn tree_mut(&mut self, side: LinkAddress) -> Option<&mut Tree> {
        let slot = (self.numbers[side.tree] == self.number).then(|| self.slots[side.tree])?;
        self.trees.get_mut(slot).map(|tree| &mut **tree)
    }

    /// Adds a force on a link, about a point, to those that the reactions of its tree's joints must balance.
    #[inline]
    fn push(&mut self, side: LinkAddress, force: Spatial, point: DVec3) {
        let Some(tree) = self.tree_mut(side) else { return };
        let lever = point - tree.work.origin;
        tree.work.links[side.link].external +=
            Spatial::new(force.angular() + lever.cross(force.linear()), force.linear());
    }
}

impl Constraints {
    /// Assembles all blocks at the midpoint. `again` keeps the impulses found so far.
    pub(crate) fn assemble(&mut self, parts: &mut IslandParts, scheme: &Scheme, again: bool) {
        self.previous.clear();
        if again {
            let old = self.sources.iter().zip(&self.problem.blocks);
            self.previous.extend(old.map(|(&source, block)| (source, block.impulse, block.cone.slip)));
        }
        self.sources.clear();
        self.loop_rows.clear();
        self.ball_stops.clear();
        self.problem.clear(parts.trees.iter().map(|tree| tree.topology.freedom));
        self.problem.only_free_bodies = parts.trees.iter().all(|tree| tree.is_single_body());
        for &contact in parts.own_contacts {
            if parts.contacts[contact].soil_patch.is_none() {
                self.add_contact(parts, contact, scheme, again);
            }
        }
        self.equalize_gaps(parts.contacts, scheme);
        if !again {
            self.closing.clear();
            self.closing.resize(parts.own_loop_joints.len(), [0.0; HELD_ROWS]);
            self.power_means.clear();
            self.power_means.extend(parts.own_loop_joints.iter().map(|&own| parts.loop_joints[own].power_means));
        }
        for place in 0..parts.own_loop_joints.len() {
            self.add_loop_joint(parts, place, scheme);
        }
        for slot in 0..parts.trees.len() {
            if parts.trees[slot].topology.has_rows {
                self.add_coordinates(&*parts.trees[slot], slot, scheme);
                self.add_ball_stops(&*parts.trees[slot], slot, scheme);
                self.add_couplings(&*parts.trees[slot], slot, scheme);
            }
        }
        if self.previous.len() == self.sources.len() {
            let blocks = self.problem.blocks.iter_mut().zip(&self.sources).zip(&self.previous);
            for ((block, _), old) in blocks.filter(|((_, source), old)| **source == old.0) {
                (block.impulse, block.cone.slip) = (old.1, old.2);
            }
        }
        self.problem.sum_impulses();
    }

    fn push_block(&mut self, source: Source, block: Block) {
        self.sources.push(source);
        self.problem.blocks.push(block);
    }

    /// What each block of a closure does; `None` for the blocks of all else.
    pub(crate) fn row_kinds(&self) -> impl Iterator<Item = Option<RowKind>> {
        self.sources.iter().map(|source| match source {
            Source::LoopJoint(row) => Some(self.loop_rows[*row].kind),
            _ => None,
        })
    }

    /// The contact of a block, by its place in the list.
    pub(crate) fn contact_of(&self, block: usize) -> Option<usize> {
        match self.sources[block] {
            Source::Contact(index) => Some(index),
            _ => None,
        }
    }

    /// Leaves all to the trees, which have found what is constrained by themselves.
    pub(crate) fn clear(&mut self) {
        self.sources.clear();
        self.problem.blocks.clear();
    }

    /// Every block with what it stands for.
    fn blocks(&self) -> impl Iterator<Item = (Source, &Block)> {
        self.sources.iter().copied().zip(&self.problem.blocks)
    }

    /// Gives the trees what the reactions of their joints and the next step need: the forces on their links, the impulses of
    /// their stops and dry friction.
    pub(crate) fn apply_contact_forces(&self, parts: &mut IslandParts, h: f64) {
        // Single bodies have no joints, and no stops.
        if self.problem.only_free_bodies {
            return;
        }
        let (rate, contacts, loop_joints) = (1.0 / h, parts.contacts, parts.loop_joints);
        for tree in parts.trees.iter_mut() {
            if tree.topology.has_rows {
                tree.state.row_impulses.fill([0.0; 4]);
            }
            tree.work.links.iter_mut().for_each(|link| link.external = Spatial::ZERO);
        }
        for (source, block) in self.blocks() {
            let l = block.impulse;
            match source {
                Source::Contact(index) | Source::Rolling(index) | Source::Torsion(index) => {
                    let contact = &contacts[index];
                    let force = match source {
                        Source::Contact(_) => Spatial::new(DVec3::ZERO, contact.impulse_of(l) * rate),
                        _ => Spatial::new(rolling::angular_impulse(source, contact, l) * rate, DVec3::ZERO),
                    };
                    parts.push(contact.b, force, contact.point);
                    if let Some(a) = contact.a {
                        parts.push(a, -force, contact.point);
                    }
                }
                Source::LoopJoint(row) => {
                    let row = &self.loop_rows[row];
                    let loop_joint = &loop_joints[row.loop_joint];
                    let (force, anchor) = (row.direction.force(l[0] * rate), loop_joint.place.child.translation);
                    parts.push(loop_joint.b, force, anchor);
                    parts.push(loop_joint.a, -force, anchor);
                }
                Source::Coordinate { tree, dof, law } => parts.trees[tree].state.row_impulses[dof][law] = l[0],
                Source::BallStop { tree, row, .. } => {
                    let (dof, direction) = self.ball_stops[row];
                    for axis in 0..3 {
                        parts.trees[tree].state.row_impulses[dof + axis][0] += l[0] * direction[axis];
                    }
                }
                Source::Coupling { tree, number } => parts.trees[tree].take_coupling(number, l[0]),
            }
        }
        self.push_by_soil(parts);
    }

    /// Gives contacts and closures their impulses: where the next step starts, and what they report.
    pub(crate) fn write_back(
        &self,
        contacts: &mut [Contact],
        soil_patches: &mut SoilPatches,
        loop_joints: &mut [LoopJoint],
        scheme: &Scheme,
    ) {
        self.write_back_soil(contacts, soil_patches, scheme);
        for (source, block) in self.blocks() {
            let l = block.impulse;
            match source {
                Source::Contact(index) => {
                    let contact = &mut contacts[index];
                    contact.impulse = contact.impulse_of(l);
                    (contact.slip, contact.undistributed_change) = (block.cone.slip, block.undistributed_change);
                    let u = self.problem.velocity(block);
                    let after = [0, 1, 2].map(|row| u[row] - block.bias[row] + block.free[row]);
                    contact.rate = contact.velocity_of(after);
                    // All points of a face that stays, or those that bear nothing would ask for another motion than their neighbours.
                    let stays = l[0] > 0.0 || u[0] * scheme.lookahead < CONTACT_MARGIN;
                    contact.contact_duration = if stays && !scheme.is_impact_instant { scheme.h } else { 0.0 };
                }
                Source::Rolling(index) | Source::Torsion(index) => {
                    let contact = &mut contacts[index];
                    contact.spin_impulse += rolling::angular_impulse(source, contact, l);
                }
                Source::LoopJoint(row) => {
                    let row = &self.loop_rows[row];
                    let loop_joint = &mut loop_joints[row.loop_joint];
                    loop_joint.impulses[row.kind.number()] = l[0];
                    loop_joint.add_load(row.kind, &row.direction, l[0] / scheme.h * scheme.time_fraction);
                    loop_joint.power_means = self.power_means[row.place];
                    if let Some(limit) = self.motor_limit(row, block, loop_joint, scheme.h) {
                        loop_joint.motor_limit = Some(limit);
                    }
                }
                Source::Coordinate { .. } | Source::BallStop { .. } | Source::Coupling { .. } => {}
            }
        }
    }
}
