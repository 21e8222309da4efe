//! The joints of a tree as chains of single coordinates, as other formats have them: counted outwards from the root.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Body, FreeAxis, Joint, Mechanism, Pose, TreeEdge};

use super::super::import::about;

/// A joint on its way outwards.
pub(super) struct Chain<'m> {
    pub(super) joint: &'m Joint,
    pub(super) inner: usize,
    pub(super) outer: &'m Body,
    pub(super) outer_index: usize,
    /// Its coordinates; the first one moves the inner body.
    pub(super) steps: Vec<Step>,
    /// Pose of the outer body, and of the joint's anchor on it, at zero coordinates with the inner body at its pose of
    /// step 0.
    pub(super) outer_at_zero: Pose,
    pub(super) anchor_at_zero: DVec3,
}

/// A coordinate.
pub(super) struct Step {
    /// Its number in its joint, 0 to 2.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) linear: bool,
    /// The axis that the outer body moves along or about, world frame, at step 0 and while all coordinates are 0.
    pub(super) axis: DVec3,
    pub(super) axis_at_zero: DVec3,
    pub(super) law: FreeAxis,
}

impl<'m> Chain<'m> {
    pub(super) fn new(mechanism: &'m Mechanism, edge: TreeEdge) -> Self {
        let joint = mechanism.joint(edge.joint);
        let forwards = joint.child == edge.outer;
        let directions = joint.initial_directions();
        let mut coordinates: Vec<_> = joint.free_coordinates().filter(|_| joint.kind.has_axes()).collect();
        if !forwards {
            coordinates.reverse();
        }
        let outer = mechanism.body(edge.outer);
        let single = coordinates.len() == 1;
        let (mut undone, mut steps) = (Pose::IDENTITY, Vec::new());
        for (index, coordinate) in coordinates {
            let Some(law) = joint.axes[index].free().copied() else { continue };
            let axis = if forwards { directions[index] } else { -directions[index] };
            let name = if single { joint.name.clone() } else { format!("{}_{}", joint.name, index + 1) };
            let axis_at_zero = undone.direction(axis);
            undone = undone.then(&inverse_motion(joint.anchor, axis, coordinate.linear, law.initial_position));
            steps.push(Step { index, name, linear: coordinate.linear, axis, axis_at_zero, law });
        }
        Self {
            joint,
            inner: edge.inner.index(),
            outer,
            outer_index: edge.outer.index(),
            steps,
            outer_at_zero: undone.then(&outer.pose),
            // The anchor is fixed to the child.
            anchor_at_zero: if forwards { undone.point(joint.anchor) } else { joint.anchor },
        }
    }
}

/// Takes back a motion by a coordinate about or along a line.
fn inverse_motion(anchor: DVec3, axis: DVec3, linear: bool, coordinate: f64) -> Pose {
    if linear {
        return Pose { translation: axis * -coordinate, rotation: DQuat::IDENTITY };
    }
    let rotation = about(axis, -coordinate);
    Pose { translation: anchor - rotation * anchor, rotation }
}
