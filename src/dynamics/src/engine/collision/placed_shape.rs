//! A colliding shape at its present pose.

use bevy_math::{DQuat, DVec3};

use super::outline::Outline;
use crate::{
    parry::{math::Pose, shape::SharedShape},
    shape,
};

/// A shape at its present pose: `centre`, m, and `rotation`, both in the world.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) outline: &'a Outline,
    pub(super) shape: &'a SharedShape,
    pub(super) centre: DVec3,
    pub(super) rotation: DQuat,
}

impl Placed<'_> {
    /// `world_from_shape`.
    pub(super) fn pose(&self) -> Pose {
        shape::pose(&simpartner_model::Pose { translation: self.centre, rotation: self.rotation })
    }
}
