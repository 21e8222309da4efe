//! Springs and dampers that follow from other values: `springdamper` of joints, and tendons of a single joint.

use bevy_math::DVec3;

use super::{
    super::{
        attributes::{attribute, first_numbers, number, numbers},
        model::Motion,
    },
    importer::{Mjcf, SpringDamper},
};
use crate::xml::node::Node;

impl Mjcf<'_, '_> {
    /// Sets stiffness and damping of joints by the inertia that each moves in the initial pose, all others at rest.
    pub(super) fn set_spring_dampers(&mut self) {
        if self.spring_dampers.is_empty() {
            return;
        }
        self.model.place();
        for SpringDamper { joint, time, ratio } in std::mem::take(&mut self.spring_dampers) {
            let inertia = self.moved_inertia(joint);
            let joint = &mut self.model.joints[joint];
            joint.stiffness = inertia / (time * ratio).powi(2);
            joint.damping = 2.0 * inertia / time;
        }
    }

    /// The mass that a sliding joint moves, or the moment of inertia about the axis of a turning one; with its rotor.
    fn moved_inertia(&self, place: usize) -> f64 {
        let joint = &self.model.joints[place];
        let pose = self.model.links[joint.child].pose;
        let (axis, anchor) = (pose.direction(joint.axis), pose.point(joint.anchor));
        let (mut sum, mut reached) = (joint.armature, vec![joint.child]);
        while let Some(link) = reached.pop() {
            reached.extend(self.model.joints.iter().filter(|joint| joint.parent == link).map(|joint| joint.child));
            let Some(mass) = self.model.links[link].mass.map(|mass| mass.moved(&self.model.links[link].pose)) else {
                continue;
            };
            let from_axis: DVec3 = axis.cross(mass.centre - anchor);
            sum += match joint.motion {
                Motion::Sliding => mass.mass,
                _ => axis.dot(mass.tensor * axis) + mass.mass * from_axis.length_squared(),
            };
        }
        sum
    }

    /// Adds the spring, damper, friction, rotor and stops of a fixed tendon of one joint to that joint. False for any
    /// other tendon.
    pub(super) fn read_joint_tendon(&mut self, node: &Node) -> bool {
        let parts: Vec<&Node> = node.children.iter().filter(|part| part.name == "joint").collect();
        let ([part], "fixed") = (&parts[..], node.name.as_str()) else { return false };
        let Some(place) = self.resolve_name(part, "joint", "joint", &self.joints) else { return true };
        let coefficient = number(self.reading, part, "coef").unwrap_or(0.0);
        if ![Motion::Turning, Motion::Sliding].contains(&self.model.joints[place].motion) || coefficient == 0.0 {
            return false;
        }
        let first = |name: &str| first_numbers::<1>(self.reading, node, name).map_or(0.0, |[first]| first.max(0.0));
        let [stiffness, damping, friction, armature] = ["stiffness", "damping", "frictionloss", "armature"].map(first);
        let is_limited = self.compiler.is_limited(self.reading, node, "limited", "range");
        let range = numbers::<2>(self.reading, node, "range").filter(|_| is_limited);
        // Without a length of its own it has that of the initial pose.
        let length = first_numbers::<1>(self.reading, node, "springlength").filter(|[length]| *length >= 0.0);
        let joint = &mut self.model.joints[place];
        let square = coefficient * coefficient;
        let rest = length.map_or(joint.initial, |[length]| length / coefficient);
        if stiffness > 0.0 {
            let both = joint.stiffness + stiffness * square;
            joint.spring_position = (joint.stiffness * joint.spring_position + stiffness * square * rest) / both;
            joint.stiffness = both;
        }
        joint.damping += damping * square;
        joint.friction += friction * coefficient.abs();
        joint.armature += armature * square;
        if let Some([low, high]) = range {
            let [one, other] = [low / coefficient, high / coefficient];
            let own = joint.limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            let both = [own[0].max(one.min(other)), own[1].min(one.max(other))];
            joint.limits = Some(both).filter(|[lower, upper]| lower < upper).or(joint.limits);
        }
        true
    }

    /// Effect of leaving out a tendon.
    pub(super) fn tell_lost_tendon(&self, node: &Node) {
        let pulls = ["stiffness", "damping"].iter().any(|law| attribute(node, law).is_some());
        let meaning = if pulls {
            "nothing pulls along it: springs here are those of single joints"
        } else {
            "nothing pulls along it; couple two joints by an <equality> instead"
        };
        self.notes.add(node.offset, format!("<{}> of <tendon> is left out", node.name), meaning);
    }
}
