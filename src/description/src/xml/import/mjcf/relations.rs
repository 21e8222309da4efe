//! Relations of bodies and joints outside of the tree: equalities and tendons; and the initial state of a keyframe.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::{
    super::{
        attributes::{attribute, list, number, numbers},
        model::{Joint, Mimic, Motion, UNCOUPLED},
        scene::WORLD,
    },
    importer::Mjcf,
    joint::motion_of,
};
use crate::{text::numbers::shorten, xml::node::Node};

/// Largest initial gap of a loop, metres: the rounding of a file with four digits.
const LOOP_TOLERANCE: f64 = 1e-3;

/// Passive properties of a tendon.
const TENDON_LAWS: [&str; 5] = ["range", "stiffness", "damping", "frictionloss", "armature"];

impl Mjcf<'_, '_> {
    /// Reads equalities, and tendons that couple joints.
    pub(super) fn read_relations(&mut self, root: &Node) {
        let of = |name: &'static str| {
            root.children.iter().filter(move |child| child.name == name).flat_map(|section| &section.children)
        };
        self.model.place();
        for node in of("equality") {
            self.read_equality(&self.resolve(node, None), root);
        }
        let is_used = |node: &Node| {
            let name = attribute(node, "name").unwrap_or_default();
            let only_pulls = node.name == "fixed" && !TENDON_LAWS.iter().any(|law| attribute(node, law).is_some());
            of("equality").any(|equality| attribute(equality, "tendon1") == Some(name))
                || only_pulls && of("actuator").any(|actuator| attribute(actuator, "tendon") == Some(name))
        };
        for node in of("tendon").filter(|node| !is_used(node)) {
            let node = &self.resolve(node, None);
            if !self.read_joint_tendon(node) {
                self.tell_lost_tendon(node);
            }
        }
    }

    fn read_equality(&mut self, node: &Node, root: &Node) {
        if attribute(node, "active") == Some("false") {
            return self.notes.add(
                node.offset,
                "an <equality> that is not active is left out",
                "nothing can make it active",
            );
        }
        match node.name.as_str() {
            "connect" => self.read_loop(node, Motion::Ball),
            "weld" => self.read_loop(node, Motion::Fixed),
            "joint" => self.read_coupling(node),
            "tendon" => self.read_tendon_equality(node, root),
            other => self.notes.add(node.offset, format!("<{other}> of <equality> is left out"), "nothing holds there"),
        }
    }

    /// Reads a loop: two bodies connected at a point, or rigidly, at their present poses.
    fn read_loop(&mut self, node: &Node, motion: Motion) {
        let Some((one, other, anchor)) = self.ends_of_loop(node, motion) else { return };
        if motion == Motion::Ball && self.make_hinge(one, other, anchor) {
            return;
        }
        let mut all = self.model.joints.iter().chain(&self.model.loops);
        let has_joint = all.any(|joint| [(one, other), (other, one)].contains(&(joint.parent, joint.child)));
        if one == other || has_joint {
            let what = format!("a <{}> of bodies that a joint connects already is left out", node.name);
            return self.notes.add(node.offset, what, "two bodies have one joint at most");
        }
        let name = attribute(node, "name")
            .map_or_else(|| format!("{}_{}", node.name, self.model.loops.len() + 1), str::to_owned);
        self.model.loops.push(Joint { anchor, ..Joint::new(name, node.offset, motion, [other, one]) });
    }

    /// The bodies of a loop, and its position on the first one; `None` for a loop that is open at the start.
    fn ends_of_loop(&self, node: &Node, motion: Motion) -> Option<(usize, usize, DVec3)> {
        let poses = self.start_poses();
        let (ends, apart) = if attribute(node, "site1").is_some() {
            let [one, other] = ["site1", "site2"].map(|name| self.resolve_name(node, name, "site", &self.sites));
            let ((one, at), (other, also)) = (one?, other?);
            let apart = poses[one].then(&at).inverse().then(&poses[other].then(&also));
            ((one, other, at.translation), apart)
        } else {
            let one = self.resolve_name(node, "body1", "body", &self.bodies)?;
            let other = match attribute(node, "body2") {
                Some(_) => self.resolve_name(node, "body2", "body", &self.bodies)?,
                None => WORLD,
            };
            let given = numbers::<7>(self.reading, node, "relpose").filter(|given| given[3..] != [0.0; 4]);
            let apart = given.map_or(Pose::IDENTITY, |[x, y, z, w, i, j, k]| {
                let turn = DQuat::from_xyzw(i, j, k, w).normalize();
                let told = Pose { translation: DVec3::new(x, y, z), rotation: turn };
                told.inverse().then(&poses[one].inverse().then(&poses[other]))
            });
            let anchor = numbers::<3>(self.reading, node, "anchor").map_or(DVec3::ZERO, DVec3::from_array);
            ((one, other, anchor), apart)
        };
        let gap = apart.translation.length();
        // Half the angle, for a small one.
        let turned = if motion == Motion::Fixed { 2.0 * apart.rotation.xyz().length() } else { 0.0 };
        if gap > LOOP_TOLERANCE || turned > LOOP_TOLERANCE {
            let what = format!("a <{}> that is {gap:.2e} m and {turned:.2e} rad open is left out", node.name);
            self.notes.add(node.offset, what, "it is no loop that is closed at the start; move its bodies together");
            return None;
        }
        Some(ends)
    }

    /// Pose of each link at the coordinates of the file, at which loops are closed.
    fn start_poses(&self) -> Vec<Pose> {
        let mut poses: Vec<Pose> = self.model.links.iter().map(|link| link.pose).collect();
        // A link comes after its parent.
        for joint in &self.model.joints {
            let moves = [Motion::Turning, Motion::Sliding].contains(&joint.motion);
            let at = if moves { joint.pose.then(&motion_of(joint, joint.initial)) } else { joint.pose };
            poses[joint.child] = poses[joint.parent].then(&at);
        }
        poses
    }

    /// Makes a hinge of a ball loop joint if a second point of the same bodies is connected.
    fn make_hinge(&mut self, one: usize, other: usize, anchor: DVec3) -> bool {
        let poses = self.start_poses();
        let at = poses[one].point(anchor);
        let is_same = |joint: &&mut Joint| {
            joint.motion == Motion::Ball && [(one, other), (other, one)].contains(&(joint.parent, joint.child))
        };
        let Some(known) = self.model.loops.iter_mut().find(is_same) else { return false };
        let second = poses[known.child].inverse().point(at);
        let Some(axis) = (second - known.anchor).try_normalize() else { return false };
        (known.motion, known.axis) = (Motion::Turning, axis);
        true
    }

    /// Reads a joint that follows another one linearly.
    fn read_coupling(&mut self, node: &Node) {
        let follower = self.resolve_name(node, "joint1", "joint", &self.joints);
        let leader = match attribute(node, "joint2") {
            Some(_) => self.resolve_name(node, "joint2", "joint", &self.joints),
            None => follower,
        };
        let (Some(follower), Some(leader)) = (follower, leader) else { return };
        let given = list(self.reading, node, "polycoef").unwrap_or_default();
        let term = |index: usize| given.get(index).copied().unwrap_or(if index == 1 { 1.0 } else { 0.0 });
        if attribute(node, "joint2").is_none() {
            return self.hold_joint(node, follower, term(0));
        }
        if (2..5).any(|index| term(index) != 0.0) {
            let what = "curved terms of a joint <equality> are left out";
            self.notes.add(
                self.reading.attribute_offset(node, "polycoef"),
                what,
                "the joint follows along the line that touches the curve",
            );
        }
        // Both are relative to the positions of the file.
        let [follows, leads] = [follower, leader].map(|place| self.model.joints[place].initial);
        self.add_coupling(node, [leader, follower], term(1), follows + term(0) - term(1) * leads);
    }

    /// Fixes a joint at an offset from its position in the file.
    fn hold_joint(&mut self, node: &Node, place: usize, offset: f64) {
        let is_coupled = self.model.couplings.iter().any(|known| [known.leader, known.follower].contains(&place));
        let joint = &mut self.model.joints[place];
        if ![Motion::Turning, Motion::Sliding].contains(&joint.motion) || is_coupled {
            let what = "an <equality> that holds a ball or free joint, or one that is coupled, is left out";
            return self.notes.add(node.offset, what, "it moves");
        }
        joint.pose = joint.pose.then(&motion_of(joint, joint.initial + offset));
        joint.motion = Motion::Fixed;
    }

    /// Reads a fixed tendon of two joints with a fixed length.
    fn read_tendon_equality(&mut self, node: &Node, root: &Node) {
        let name = attribute(node, "tendon1").unwrap_or_default();
        let sections = root.children.iter().filter(|child| child.name == "tendon");
        let tendon =
            sections.flat_map(|section| &section.children).find(|tendon| attribute(tendon, "name") == Some(name));
        let Some(tendon) = tendon else {
            let message = format!("there is no tendon '{}'", shorten(name));
            return self.reading.problem(self.reading.attribute_offset(node, "tendon1"), message);
        };
        let parts: Vec<&Node> = tendon.children.iter().filter(|part| part.name == "joint").collect();
        let ([one, other], None) = (&parts[..], attribute(node, "tendon2")) else {
            let what = "an <equality> of tendons that is not one of two joints is left out";
            return self.notes.add(node.offset, what, "the joints move by themselves");
        };
        let places = [*one, *other].map(|part| self.resolve_name(part, "joint", "joint", &self.joints));
        let (Some(leader), Some(follower)) = (places[0], places[1]) else { return };
        let [leads, follows] = [*one, *other].map(|part| number(self.reading, part, "coef").unwrap_or(0.0));
        let start = |place: usize| self.model.joints[place].initial;
        let ratio = -leads / follows;
        if ratio.is_finite() {
            self.add_coupling(node, [leader, follower], ratio, start(follower) - ratio * start(leader));
        }
    }

    fn add_coupling(&mut self, node: &Node, [leader, follower]: [usize; 2], ratio: f64, constant: f64) {
        if !self.model.couple(Mimic { leader, follower, ratio, constant, offset: node.offset }) {
            self.notes.add(node.offset, "an <equality> of joints is left out", UNCOUPLED);
        }
    }

    /// Reads the coordinates of a keyframe: the initial state of the robots.
    pub(super) fn read_keyframe(&mut self, root: &Node, wanted: Option<&str>) {
        let sections = root.children.iter().filter(|child| child.name == "keyframe");
        let keys: Vec<&Node> =
            sections.flat_map(|section| &section.children).filter(|node| node.name == "key").collect();
        let name = |node: &Node| attribute(node, "name").unwrap_or_default().to_owned();
        let Some(wanted) = wanted else {
            if let Some(first) = keys.first() {
                self.notes.add(
                    first.offset,
                    "<keyframe> is left out",
                    "choose where to begin with --keyframe and its name",
                );
            }
            return;
        };
        let names: Vec<String> = keys.iter().map(|node| name(node)).collect();
        let Some(key) = keys.iter().find(|node| name(node) == wanted) else {
            let message = format!("there is no keyframe '{}'", shorten(wanted));
            return self.reading.problem_with_help(root.offset, message, format!("there are: {}", names.join(", ")));
        };
        let Some(values) = list(self.reading, key, "qpos") else { return };
        self.set_start(&values, self.reading.attribute_offset(key, "qpos"));
    }

    /// Sets the initial position of each joint from the numbers of a keyframe.
    fn set_start(&mut self, values: &[f64], place: usize) {
        let width = |motion: Motion| match motion {
            Motion::Free => 7,
            Motion::Ball => 4,
            _ => 1,
        };
        let count: usize = self.order.iter().map(|&joint| width(self.model.joints[joint].motion)).sum();
        if count != values.len() {
            return self.reading.problem(
                place,
                format!("attribute 'qpos' has {} numbers, the model {count} coordinates", values.len()),
            );
        }
        let (mut rest, mut turned) = (values, Vec::new());
        for &joint in &self.order {
            let joint = &mut self.model.joints[joint];
            let (own, others) = rest.split_at(width(joint.motion));
            rest = others;
            let turn = |at: &[f64]| {
                let turn = DQuat::from_xyzw(at[1], at[2], at[3], at[0]);
                if turn.length_squared() > 0.0 { turn.normalize() } else { DQuat::IDENTITY }
            };
            match joint.motion {
                Motion::Free => joint.pose = Pose { translation: DVec3::from_slice(own), rotation: turn(&own[3..]) },
                Motion::Ball => {
                    let rotation = turn(own);
                    let about = Pose { translation: joint.anchor - rotation * joint.anchor, rotation };
                    joint.pose = joint.pose.then(&about);
                    if joint.limits.take_if(|_| rotation.w.abs() < 1.0).is_some() {
                        turned.push(joint.offset);
                    }
                }
                _ => joint.initial = own[0],
            }
        }
        for offset in turned {
            let meaning = "stops of a ball joint here count from where it begins";
            self.notes.add(offset, "'range' of a ball joint that a keyframe turns is left out", meaning);
        }
    }
}
