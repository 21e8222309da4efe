//! Constraints of an island in a substep, as blocks of rows for the solvers.
//!
//! **Takes** trees, contacts, loop joints and soil patches at the midpoint. **Gives** the constraint problem with warm
//! starts, and afterwards the forces on links, the warm starts of the next step and the reported loads. **Does not
//! know** how the problem is solved, nor whether the substep is repeated.
//!
//! | file | what it constrains |
//! |---|---|
//! | `contact` | two surfaces may not cross, with Coulomb friction; rigid and compliant |
//! | `soil` | a shape sinks into soil and shears it; no rows, but a part of the mass matrix |
//! | `patch`, `pressure` | friction of a line or a face that spins, and its pressure |
//! | `rolling` | a contact resists rolling, and turning about its normal |
//! | `coordinate` | stops and dry friction of the axes of trees, stops of their ball joints |
//! | `rigid_motors` | motors of given velocity share loads with contacts; rows for the distribution of loads alone |
//! | `coupling` | gears and mimic joints: two coordinates of a tree in a fixed ratio |
//! | `loop_joint` | a joint that closes a loop: its frames, coordinates, directions and loads |
//! | `loop_assembly` | its rows: what it holds, and the axes that it leaves free |
//! | `rows` | the builder: Jacobians of links and coordinates, whitened |
//!
//! `island_parts` has the trees, contacts and joints of an island, `island_rows` its blocks. `loop_row`,
//! `soil_contact` and `patch_state` have the state of a loop joint's row, of a contact with soil, and of a patch within
//! a substep.
//!
//! The laws of one axis are in [`crate::engine::joints::axis_laws`], once for trees and loop joints. A new law is a
//! file here that adds blocks in [`Constraints::assemble`], a [`Source`] that says what they stand for, and the effect
//! of its impulse in [`Constraints::apply_contact_forces`] and [`Constraints::write_back`]. The solvers see only a
//! [`crate::engine::solvers::problem::Law`].

pub(crate) mod contact;
mod coordinate;
mod coupling;
mod island_parts;
mod island_rows;
mod loop_assembly;
pub(crate) mod loop_joint;
mod loop_row;
mod patch;
mod patch_state;
mod pressure;
pub(crate) mod rigid_motors;
mod rolling;
pub(crate) mod rows;
mod soil;
mod soil_contact;

use bevy_math::DVec3;

use self::{
    contact::CONTACT_MARGIN,
    island_rows::Source,
    loop_joint::{HELD_ROWS, LoopJoint, RowKind},
};
pub(crate) use self::{island_parts::IslandParts, island_rows::Constraints};
use crate::engine::{
    algebra::spatial::Spatial, collision::Contact, scheme::Scheme, soil::SoilPatches, solvers::problem::Block,
};

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
        self.add_contacts(parts, scheme, again);
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

    /// For each block, its kind if it is a row of a loop joint.
    pub(crate) fn row_kinds(&self) -> impl Iterator<Item = Option<RowKind>> {
        self.sources.iter().map(|source| match source {
            Source::LoopJoint(row) => Some(self.loop_rows[*row].kind),
            _ => None,
        })
    }

    /// The contact of a block, by its index.
    pub(crate) fn contact_of(&self, block: usize) -> Option<usize> {
        match self.sources[block] {
            Source::Contact(index) => Some(index),
            _ => None,
        }
    }

    /// Removes all blocks, because Gauss's method has solved the constraints itself.
    pub(crate) fn clear(&mut self) {
        self.sources.clear();
        self.problem.blocks.clear();
    }

    /// Every block with its origin.
    fn blocks(&self) -> impl Iterator<Item = (Source, &Block)> {
        self.sources.iter().copied().zip(&self.problem.blocks)
    }

    /// Stores the forces on links for the joint reactions, and the impulses of stops and dry friction for the warm
    /// start of the next step.
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
                    parts.add_external_force(contact.b, force, contact.point);
                    if let Some(a) = contact.a {
                        parts.add_external_force(a, -force, contact.point);
                    }
                }
                Source::Patch(patch) => self.add_patch_force(parts, patch, l, rate),
                Source::LoopJoint(row) => {
                    let row = &self.loop_rows[row];
                    let loop_joint = &loop_joints[row.loop_joint];
                    let (force, anchor) =
                        (row.direction.effort_wrench(l[0] * rate), loop_joint.place.child.translation);
                    parts.add_external_force(loop_joint.b, force, anchor);
                    parts.add_external_force(loop_joint.a, -force, anchor);
                }
                Source::Coordinate { tree, dof, law } => parts.trees[tree].state.row_impulses[dof][law] = l[0],
                Source::BallStop { tree, row, .. } => {
                    let (dof, direction) = self.ball_stops[row];
                    for axis in 0..3 {
                        parts.trees[tree].state.row_impulses[dof + axis][0] += l[0] * direction[axis];
                    }
                }
                Source::Coupling { tree, number } => parts.trees[tree].store_coupling_impulse(number, l[0]),
            }
        }
        self.apply_soil_forces(parts);
    }

    /// Stores impulses in contacts and loop joints: the warm start of the next step, and the reported loads.
    pub(crate) fn write_back(
        &self,
        contacts: &mut [Contact],
        own_contacts: &[usize],
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
                    // All points of a face that stays in contact count. Otherwise points without load would require
                    // another motion than their neighbours.
                    let stays = l[0] > 0.0 || u[0] * scheme.lookahead < CONTACT_MARGIN;
                    contact.contact_duration = if stays && !scheme.is_impact_instant { scheme.h } else { 0.0 };
                }
                Source::Rolling(index) | Source::Torsion(index) => {
                    let contact = &mut contacts[index];
                    contact.spin_impulse += rolling::angular_impulse(source, contact, l);
                }
                Source::Patch(patch) => self.write_back_patch(contacts, own_contacts, patch, block),
                Source::LoopJoint(row) => {
                    let row = &self.loop_rows[row];
                    let loop_joint = &mut loop_joints[row.loop_joint];
                    loop_joint.impulses[row.kind.row_number()] = l[0];
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
