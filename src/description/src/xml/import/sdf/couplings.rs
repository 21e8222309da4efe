//! Joints that follow others: `<mimic>` of an axis, and joints of the type gearbox.

use super::{
    super::{
        attributes::attribute,
        model::{Mimic, UNCOUPLED},
    },
    importer::{Scope, Sdf},
};
use crate::{text::tree::child, xml::node::Node};

/// Axes of a joint, and the suffixes of the names of the two joints that replace it.
const AXIS_SUFFIXES: [(&str, &str); 2] = [("axis", "_1"), ("axis2", "_2")];

impl Sdf<'_, '_> {
    /// Couples the joints of a model, which are those from a place on.
    pub(super) fn read_couplings(&mut self, node: &Node, first_joint: usize, scope: &Scope) {
        for joint in node.children.iter().filter(|child| child.name == "joint") {
            let name = attribute(joint, "name").unwrap_or_default();
            for (tag, suffix) in AXIS_SUFFIXES {
                let Some(mimic) = child(joint, tag).and_then(|axis| child(axis, "mimic")) else { continue };
                self.read_mimic(mimic, self.joint(first_joint, name, suffix), first_joint);
            }
            if attribute(joint, "type") == Some("gearbox") {
                self.read_gearbox(joint, first_joint, scope);
            }
        }
    }

    /// The index of a joint, or of the one that replaces an axis of it.
    fn joint(&self, first: usize, name: &str, suffix: &str) -> Option<usize> {
        let is = |own: &str| own == name || own.strip_suffix(suffix) == Some(name);
        (first..self.model.joints.len()).find(|place| is(&self.model.joints[*place].name))
    }

    /// follower = multiplier (leader - reference) + offset.
    fn read_mimic(&mut self, node: &Node, follower: Option<usize>, first_joint: usize) {
        let wanted = attribute(node, "joint").unwrap_or_default();
        let suffix = AXIS_SUFFIXES
            .iter()
            .find(|(tag, _)| attribute(node, "axis") == Some(tag))
            .map_or("_1", |(_, suffix)| suffix);
        let (Some(leader), Some(follower)) = (self.joint(first_joint, wanted, suffix), follower) else {
            let meaning = "it follows a joint that is not in its model, or closes a loop; it moves by itself";
            return self.notes.add(node.offset, "a <mimic> is left out", meaning);
        };
        let number = |tag, default| self.number(node, tag).unwrap_or(default);
        let ratio = number("multiplier", 1.0);
        let constant = number("offset", 0.0) - ratio * number("reference", 0.0);
        self.add_coupling(node, Mimic { leader, follower, ratio, constant, offset: node.offset });
    }

    /// The joints between a reference body and two links turn in a ratio: theta_2 = -ratio theta_1 about `<axis2>` and
    /// `<axis>`.
    fn read_gearbox(&mut self, node: &Node, first_joint: usize, scope: &Scope) {
        if child(node, "gearbox_reference_body").is_none() {
            let meaning = "it lacks <gearbox_reference_body>; both its links turn by themselves";
            return self.notes.add(node.offset, "a joint of the type gearbox is left out", meaning);
        }
        let ends = ["parent", "child", "gearbox_reference_body"].map(|tag| self.link_at_end(node, tag, scope));
        let [Some(one), Some(other), Some(reference)] = ends else { return };
        // The joint between the reference and a link, and its direction relative to the gearbox's axis (1 or -1).
        let joint = |link: usize, tag: &str| {
            let turns = |place: &usize| {
                let joint = &self.model.joints[*place];
                [(reference, link), (link, reference)].contains(&(joint.parent, joint.child))
            };
            let place = (first_joint..self.model.joints.len()).find(turns)?;
            let joint = &self.model.joints[place];
            let axis = child(node, tag).and_then(|axis| self.vector(axis, "xyz")).unwrap_or(bevy_math::DVec3::Z);
            // Both in the frame of the file, to which the gearbox's axes refer if its child is upright.
            let own = self.model.links[joint.child].pose.direction(joint.axis);
            let told = self.model.links[other].pose.direction(axis);
            let outwards = if joint.child == link { 1.0 } else { -1.0 };
            Some((place, outwards * if own.dot(told) < 0.0 { -1.0 } else { 1.0 }))
        };
        let (Some((leader, sense)), Some((follower, against))) = (joint(one, "axis"), joint(other, "axis2")) else {
            let meaning = "no joint of the model connects its links with the reference body; both turn by themselves";
            return self.notes.add(node.offset, "a joint of the type gearbox is left out", meaning);
        };
        let ratio = -self.number(node, "gearbox_ratio").unwrap_or(1.0) * sense * against;
        self.add_coupling(node, Mimic { leader, follower, ratio, constant: 0.0, offset: node.offset });
    }

    fn add_coupling(&mut self, node: &Node, coupling: Mimic) {
        if !self.model.couple(coupling) {
            let what =
                if node.name == "mimic" { "a <mimic> is left out" } else { "a joint of the type gearbox is left out" };
            self.notes.add(node.offset, what, UNCOUPLED);
        }
    }
}
