//! The links of a kinematic tree and their joints.

use bevy_math::{DQuat, DVec3};
use simpartner_model::BodyId;

/// Motion of a link relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LinkJoint {
    /// A floating root.
    Free,
    /// Fixed; as a root, a fixed body.
    Weld,
    /// Rotation about an axis in the parent's frame.
    Revolute(DVec3),
    /// Translation along an axis in the parent's frame.
    Prismatic(DVec3),
    /// Any rotation. `number` is its index among the tree's ball joints. Its axes are fixed in the link itself if the
    /// tree was built `backwards`, from the model's child; otherwise in the parent link.
    Spherical { number: usize, backwards: bool },
}

impl LinkJoint {
    /// Number of degrees of freedom.
    pub(crate) fn freedom(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Weld => 0,
            Self::Revolute(_) | Self::Prismatic(_) => 1,
            Self::Spherical { .. } => 3,
        }
    }
}

/// A rigid link.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) parent: Option<usize>,
    pub(crate) joint: LinkJoint,
    /// Its first degree of freedom.
    pub(crate) dof: usize,
    /// Origin of the joint in the parent's frame and in its own frame, m.
    pub(crate) anchor_in_parent: DVec3,
    pub(crate) anchor: DVec3,
    /// `parent_from_link` at coordinate zero, and the same after a rotation by pi about its own axis. For a hinge,
    /// `parent_from_link` is the first times the cosine of half its angle plus the second times the sine. For a ball
    /// joint: `joint_from_link` and `parent_from_joint`.
    pub(crate) turn: DQuat,
    pub(crate) half_turn: DQuat,
    /// Mass, kg.
    pub(crate) mass: f64,
    /// Principal moments of inertia, kg m².
    pub(crate) principal: DVec3,
    /// Its body; `None` for a link between two hinges or sliders of one joint.
    pub(crate) body: Option<BodyId>,
    /// The link that carries the joint's origin (the model's child), and that point in its frame, m. The moment of the
    /// reaction is about it. `None` if this link carries the origin itself, at `anchor`.
    pub(crate) origin: Option<(usize, DVec3)>,
}
