//! The parts of an island: what its constraints act on.

use bevy_math::DVec3;

use super::loop_joint::LoopJoint;
use crate::engine::{
    algebra::spatial::Spatial,
    collision::{Contact, FaceOutlines},
    soil::SoilPatches,
    state::{addresses::LinkAddress, tree::Tree},
};

/// The parts of an island: its trees, contacts and loop joints.
pub(crate) struct IslandParts<'a, 'b> {
    pub(crate) trees: &'a mut [&'b mut Tree],
    /// For each tree of the world, its index in its island, and the number of that island.
    pub(crate) slots: &'a [usize],
    pub(crate) numbers: &'a [usize],
    /// The number of this island.
    pub(crate) number: usize,
    pub(crate) contacts: &'a [Contact],
    /// The whole faces of contacts.
    pub(crate) outlines: &'a FaceOutlines,
    /// The soil patches of all shapes.
    pub(crate) soil_patches: &'a SoilPatches,
    /// Indices of this island's contacts. `own_loop_joints` has those of its loop joints.
    pub(crate) own_contacts: &'a [usize],
    pub(crate) loop_joints: &'a [LoopJoint],
    pub(crate) own_loop_joints: &'a [usize],
}

impl IslandParts<'_, '_> {
    /// The tree of a side; `None` if the side does not move in this island. A fixed side may belong to a tree of
    /// another island.
    #[inline]
    pub(crate) fn tree(&self, side: LinkAddress) -> Option<&Tree> {
        let slot = (self.numbers[side.tree] == self.number).then(|| self.slots[side.tree])?;
        self.trees.get(slot).map(|tree| &**tree)
    }

    /// The tree of a side, mutable; `None` if the side does not move in this island.
    #[inline]
    pub(super) fn tree_mut(&mut self, side: LinkAddress) -> Option<&mut Tree> {
        let slot = (self.numbers[side.tree] == self.number).then(|| self.slots[side.tree])?;
        self.trees.get_mut(slot).map(|tree| &mut **tree)
    }

    /// Adds a wrench on a link, whose moment is about `point`, to the external forces for the joint reactions.
    #[inline]
    pub(super) fn add_external_force(&mut self, side: LinkAddress, force: Spatial, point: DVec3) {
        let Some(tree) = self.tree_mut(side) else { return };
        let lever = point - tree.work.origin;
        tree.work.links[side.link].external +=
            Spatial::new(force.angular() + lever.cross(force.linear()), force.linear());
    }
}
