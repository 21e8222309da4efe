//! Several joints between the same two links: one that lets them move as all of them do together.

use bevy_math::DVec3;

use super::{
    super::reading::Reading,
    model::{Joint, Model, Motion},
};
use crate::text::numbers::shorten;

/// Distance of two points or axes that are the same one, m, and sine of the angle between such axes.
const SAME_PLACE: f64 = 1e-6;

impl Model {
    /// Unites joints of the same two links, and drops loops that hold nothing: between fixed links, and of a link with
    /// itself. The poses of the links are known.
    pub(super) fn unite_pairs(&mut self, reading: &Reading) {
        let is_still = |joint: &Joint| {
            joint.parent == joint.child || [joint.parent, joint.child].iter().all(|link| self.links[*link].is_fixed)
        };
        let still: Vec<bool> = self.loops.iter().map(is_still).collect();
        let mut still = still.into_iter();
        self.loops.retain(|_| !still.next().unwrap_or_default());
        let loops = std::mem::take(&mut self.loops);
        for joint in loops {
            let ends = |known: &Joint| [known.parent.min(known.child), known.parent.max(known.child)];
            let is_same = |known: &&Joint| known.motion != Motion::Free && ends(known) == ends(&joint);
            match self.joints.iter().chain(&self.loops).position(|known| is_same(&known)) {
                Some(place) => self.unite_with(reading, place, &joint),
                None => self.loops.push(joint),
            }
        }
        let moves = |joint: &Joint| [Motion::Turning, Motion::Sliding].contains(&joint.motion);
        let joints = &self.joints;
        self.couplings
            .retain(|coupling| [coupling.leader, coupling.follower].iter().all(|place| moves(&joints[*place])));
    }

    /// Lets a joint, of the tree or after those of a loop, move as it and a second one between its links do together.
    fn unite_with(&mut self, reading: &Reading, place: usize, second: &Joint) {
        let [first_pose, second_pose] = [self.joint_at(place).child, second.child].map(|child| self.links[child].pose);
        let first = self.joint_at(place);
        let united = Union {
            motions: [first.motion, second.motion],
            anchors: [first_pose.point(first.anchor), second_pose.point(second.anchor)],
            axes: [first_pose.direction(first.axis), second_pose.direction(second.axis)],
        };
        let (motion, anchor, axis) = united.common_motion();
        let (what, how) = (shorten(&second.name), shorten(&first.name));
        let what = format!("joint '{what}' connects the same links as '{how}'");
        let first = self.joint_at_mut(place);
        let same_sense = united.axes[0].dot(united.axes[1]) > 0.0;
        if motion == first.motion && motion == second.motion {
            // The same motion: its losses are those of both, its stops those that come first.
            first.damping += second.damping;
            first.friction += second.friction;
            let bounds = |[lower, upper]: [f64; 2]| if same_sense { [lower, upper] } else { [-upper, -lower] };
            first.limits = match (first.limits, second.limits.map(bounds)) {
                (Some(own), Some(other)) => Some([own[0].max(other[0]), own[1].min(other[1])]),
                (own, other) => own.or(other),
            };
            first.limits = first.limits.filter(|[lower, upper]| lower <= upper);
        }
        if motion != first.motion {
            (first.limits, first.swing, first.drive) = (None, None, None);
            (first.motion, first.anchor) = (motion, first_pose.inverse().point(anchor));
            first.axis = first_pose.inverse().direction(axis);
        }
        let effect = match motion {
            Motion::Fixed => "together they hold them to each other",
            Motion::Turning => "together they are a hinge",
            _ => "together they are one joint",
        };
        reading.warn(second.offset, what, effect.into());
    }

    fn joint_at(&self, place: usize) -> &Joint {
        match place.checked_sub(self.joints.len()) {
            Some(place) => &self.loops[place],
            None => &self.joints[place],
        }
    }

    fn joint_at_mut(&mut self, place: usize) -> &mut Joint {
        match place.checked_sub(self.joints.len()) {
            Some(place) => &mut self.loops[place],
            None => &mut self.joints[place],
        }
    }
}

/// Two joints between the same links, in the file's frame.
struct Union {
    motions: [Motion; 2],
    anchors: [DVec3; 2],
    axes: [DVec3; 2],
}

impl Union {
    /// The motion that both allow, with its anchor and axis.
    fn common_motion(&self) -> (Motion, DVec3, DVec3) {
        let [one, other] = self.motions;
        let [anchor, second] = self.anchors;
        let apart = second - anchor;
        let is_parallel = self.axes[0].cross(self.axes[1]).length() < SAME_PLACE;
        let is_on = |axis: DVec3| apart.cross(axis).length() < SAME_PLACE;
        match (one, other) {
            (Motion::Ball, Motion::Ball) => match apart.try_normalize().filter(|_| apart.length() > SAME_PLACE) {
                Some(axis) => (Motion::Turning, anchor, axis),
                None => (Motion::Ball, anchor, self.axes[0]),
            },
            (Motion::Turning, Motion::Turning) if is_parallel && is_on(self.axes[0]) => (one, anchor, self.axes[0]),
            (Motion::Turning, Motion::Ball) if is_on(self.axes[0]) => (one, anchor, self.axes[0]),
            (Motion::Ball, Motion::Turning) if is_on(self.axes[1]) => (other, second, self.axes[1]),
            (Motion::Sliding | Motion::Planar, _) if one == other && is_parallel => (one, anchor, self.axes[0]),
            _ => (Motion::Fixed, anchor, self.axes[0]),
        }
    }
}
