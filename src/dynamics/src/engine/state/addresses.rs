//! Addresses: which link of which tree a contact, a loop joint, a body or a joint of the model belongs to.

use serde::{Deserialize, Serialize};
use simpartner_model::Pose;

/// A link of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkAddress {
    pub(crate) tree: usize,
    pub(crate) link: usize,
}

/// Address of a body of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyAddress {
    pub(crate) tree: usize,
    pub(crate) link: usize,
    /// `link_from_body`.
    pub(crate) frame: Pose,
    /// True if the frames of body and link are the same.
    pub(crate) is_link: bool,
}

impl BodyAddress {
    pub(crate) fn new(tree: usize, link: usize, frame: Pose) -> Self {
        Self { tree, link, frame, is_link: frame == Pose::IDENTITY }
    }

    pub(crate) fn side(&self) -> LinkAddress {
        LinkAddress { tree: self.tree, link: self.link }
    }
}

/// Address of a joint of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JointAddress {
    /// Links of a tree. `link` is the last of them, whose joint carries the reaction. `dofs` are the degrees of freedom
    /// of the joint's coordinates. `sign` is -1 if the tree was built from child to parent.
    Tree { tree: usize, link: usize, dofs: [Option<usize>; 3], sign: f64 },
    /// A loop joint.
    LoopJoint(usize),
}
