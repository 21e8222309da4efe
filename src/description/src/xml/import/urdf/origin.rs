//! The `<origin>` of links, joints and shapes.

use bevy_math::DVec3;
use simpartner_model::Pose;

use super::super::attributes::{exact_quarter_turns, numbers};
use crate::{
    text::tree::child,
    xml::{node::Node, reading::Reading},
};

/// The `<origin>` in a node; the identity without one.
pub(super) fn read_origin(reading: &Reading, node: &Node) -> Pose {
    let Some(origin) = child(node, "origin") else { return Pose::IDENTITY };
    let vector = |name| numbers::<3>(reading, origin, name).map_or(DVec3::ZERO, DVec3::from_array);
    Pose::from_xyz_rpy(vector("xyz"), exact_quarter_turns(reading, origin.offset, vector("rpy")))
}
