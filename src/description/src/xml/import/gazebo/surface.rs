//! Friction and stiffness of contacts.

use bevy_math::DVec3;

use super::{
    super::{
        model::{Across, Surface},
        omissions::Omissions,
        robot::ON_AXIS,
    },
    vector,
};
use crate::xml::{node::Node, reading::Reading};

/// Stiffness above which a contact is rigid, N/m: 10 kg on it would swing at 50 Hz, and Gazebo's first-order step damps
/// that within one period.
const RIGID_STIFFNESS: f64 = 1e6;

/// Gazebo's own stiffness, N/m.
const DEFAULT_STIFFNESS: f64 = 1e12;

/// The friction across the first direction of the surface in `node`, if it differs from that along it. It requires that
/// direction, along an axis of the link.
pub(in super::super) fn friction_across(
    (reading, notes): (&Reading, &Omissions),
    node: &Node,
    along: f64,
    across: Option<f64>,
) -> Option<Across> {
    let friction = across.filter(|across| *across != along && *across >= 0.0)?;
    let direction = vector(reading, node, "fdir1").and_then(|direction| direction.try_normalize());
    let is_axis = |direction: &DVec3| direction.abs().max_element() > 1.0 - ON_AXIS;
    let Some(direction) = direction.filter(is_axis) else {
        let meaning = "friction is that of the first direction in all; it needs an <fdir1> along an axis of its link";
        notes.add(node.offset, "the friction across the first direction (mu2) is left out", meaning);
        return None;
    };
    Some(Across { friction, direction })
}

/// Stiffness and damping of each contact point, N/m and N s/m: `<kp>` and `<kd>`. Gazebo's own defaults mean rigid
/// contacts.
pub(in super::super) fn soft_contact(
    (notes, node): (&Omissions, &Node),
    stiffness: Option<f64>,
    damping: Option<f64>,
    surface: &mut Surface,
) {
    if stiffness.is_some_and(|stiffness| (RIGID_STIFFNESS..DEFAULT_STIFFNESS).contains(&stiffness)) {
        let what = format!("<kp> of {RIGID_STIFFNESS:e} N/m or more is left out, and its <kd>");
        notes.add(node.offset, what, "a surface that stiff is rigid here");
    }
    surface.stiffness = stiffness.filter(|stiffness| *stiffness > 0.0 && *stiffness < RIGID_STIFFNESS);
    surface.damping = surface.stiffness.and(damping).filter(|damping| *damping >= 0.0);
}
