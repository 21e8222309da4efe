//! Poses of bodies for joints with initial coordinates other than zero.

use bevy_math::{DQuat, DVec3};

use crate::{Body, Graph, Joint, JointId, JointKind, Norm, Pose, SpanningForest};

/// Largest gap of a closed loop at the initial positions, m and rad: the rounding of a position with four digits.
const LOOP_TOLERANCE: f64 = 1e-3;

/// A joint that closes a loop, and is not closed at the initial positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoop {
    /// The joint.
    pub joint: JointId,
    /// Distance of its two frames, m.
    pub distance: f64,
    /// And by which angle they are turned, rad.
    pub angle: f64,
}

impl Joint {
    /// Pose of the child's frame in the parent's at the initial positions of its coordinates: each is carried by those
    /// before it.
    pub fn initial_motion(&self) -> Pose {
        let mut motion = Pose::IDENTITY;
        if !self.kind.has_axes() {
            return motion;
        }
        for (index, coordinate) in self.free_coordinates() {
            let (axis, q) =
                (DVec3::AXES[coordinate.axis], self.axes[index].free().map_or(0.0, |axis| axis.initial_position));
            motion = motion.then(&match coordinate.linear {
                true => Pose { translation: axis * q, rotation: DQuat::IDENTITY },
                false => Pose { translation: DVec3::ZERO, rotation: DQuat::from_axis_angle(axis, q) },
            });
        }
        motion
    }

    /// The directions at step 0, world frame, that its free coordinates move along or about; each is turned by those
    /// before it.
    pub fn initial_directions(&self) -> [DVec3; 3] {
        let (mut directions, mut frame) = ([DVec3::ZERO; 3], self.frame);
        for (index, coordinate) in self.free_coordinates() {
            let axis = DVec3::AXES[coordinate.axis];
            directions[index] = frame * axis;
            if let Some(free) = self.axes[index].free().filter(|_| !coordinate.linear) {
                frame *= DQuat::from_axis_angle(axis, free.initial_position);
            }
        }
        directions
    }

    /// The joint's frame at step 0, `world_from_joint`, as its parent carries it and as its child does.
    pub fn frames(&self) -> [Pose; 2] {
        let motion = self.initial_motion();
        let parent = Pose { translation: self.anchor - self.frame * motion.translation, rotation: self.frame };
        [parent, parent.then(&motion)]
    }
}

/// Moves bodies and joints from zero coordinates to the initial positions. The root of each tree does not move.
///
/// # Errors
/// The first joint that closes a loop and does not fit.
pub fn take_initial_positions(bodies: &mut [Body], joints: &mut [Joint]) -> Result<(), OpenLoop> {
    let motions: Vec<Pose> = joints.iter().map(Joint::initial_motion).collect();
    if motions.iter().all(|motion| *motion == Pose::IDENTITY) {
        return Ok(());
    }
    let forest = Graph::new(bodies, joints).spanning_forest();
    let moved = moved_bodies(&forest, bodies.len(), joints, &motions);
    match forest.loops().find_map(|closing| open_loop(joints, closing, &motions, &moved)) {
        Some(open) => Err(open),
        None => {
            move_all(bodies, joints, &moved);
            Ok(())
        }
    }
}

/// Displacement of each body from its pose at zero coordinates, world frame; `motion` of a joint moves its child's
/// frame in its parent's.
pub(crate) fn moved_bodies(forest: &SpanningForest, bodies: usize, joints: &[Joint], motions: &[Pose]) -> Vec<Pose> {
    let mut moved = vec![Pose::IDENTITY; bodies];
    let through = |joint: &Joint, motion: &Pose| {
        let frame = Pose { translation: joint.anchor, rotation: joint.frame };
        frame.then(motion).then(&frame.inverse())
    };
    for edge in forest.trees.iter().flat_map(|tree| &tree.edges) {
        let (joint, motion) = (&joints[edge.joint.index()], motions[edge.joint.index()]);
        let motion = if joint.child == edge.outer { motion } else { motion.inverse() };
        moved[edge.outer.index()] = moved[edge.inner.index()].then(&through(joint, &motion));
    }
    moved
}

/// Frames of a loop joint on the parent and on the child, world frame.
pub(crate) fn ends_of_loop(joint: &Joint, motion: &Pose, moved: &[Pose]) -> [Pose; 2] {
    let frame = Pose { translation: joint.anchor, rotation: joint.frame };
    [moved[joint.parent.index()].then(&frame).then(motion), moved[joint.child.index()].then(&frame)]
}

/// Gap of the loop at a joint, if it is open.
pub(crate) fn open_loop(joints: &[Joint], closing: JointId, motions: &[Pose], moved: &[Pose]) -> Option<OpenLoop> {
    let joint = &joints[closing.index()];
    let [wanted, found] = ends_of_loop(joint, &motions[closing.index()], moved);
    let distance = found.translation.distance(wanted.translation);
    let angle = found.rotation.angle_between(wanted.rotation);
    // A ball joint takes any angle.
    let is_open = distance > LOOP_TOLERANCE || angle > LOOP_TOLERANCE && joint.kind != JointKind::Ball;
    is_open.then_some(OpenLoop { joint: closing, distance, angle })
}

/// Moves bodies, and joints with their parents and children.
pub(crate) fn move_all(bodies: &mut [Body], joints: &mut [Joint], moved: &[Pose]) {
    for joint in joints {
        joint.anchor = moved[joint.child.index()].point(joint.anchor);
        joint.frame = (moved[joint.parent.index()].rotation * joint.frame).normalized();
    }
    for (body, moved) in bodies.iter_mut().zip(moved) {
        body.pose = moved.then(&body.pose);
    }
}
