//! Joints of a model.

use bevy_math::DVec3;
use simpartner_model::Pose;

use super::{
    super::{
        attributes::attribute,
        gazebo::is_true,
        model::{Apart, Joint, Link, Mimic, Motion},
        scene::WORLD,
    },
    importer::{Scope, Sdf},
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::node::Node,
};

/// Limits of at least this mean none (the format's own is 1e16).
const NO_LIMIT: f64 = 1e15;

impl Sdf<'_, '_> {
    pub(super) fn read_joint(&mut self, node: &Node, at: &Pose, scope: &Scope) {
        let name = attribute(node, "name").unwrap_or("joint").to_owned();
        let (parent, child_link) = (self.link_at_end(node, "parent", scope), self.link_at_end(node, "child", scope));
        let kind = attribute(node, "type").unwrap_or_default();
        let motions: &[Motion] = match kind {
            "revolute" | "continuous" => &[Motion::Turning],
            "prismatic" => &[Motion::Sliding],
            "universal" | "revolute2" => &[Motion::Turning, Motion::Turning],
            "screw" => &[Motion::Turning, Motion::Sliding],
            "ball" => &[Motion::Ball],
            "fixed" => &[Motion::Fixed],
            // Couples two other joints, once all are there.
            "gearbox" => return,
            other => {
                let message = format!("joint '{}': a type '{}' is not known", shorten(&name), shorten(other));
                let help = "revolute, continuous, prismatic, universal, revolute2, screw, ball, fixed and gearbox are";
                return self.reading.problem_with_help(self.reading.attribute_offset(node, "type"), message, help);
            }
        };
        let (Some(parent), Some(child_link)) = (parent, child_link) else { return };
        let motions = if motions.len() > 1 && kind != "screw" && child(node, "axis2").is_none() {
            self.notes.add(
                node.offset,
                format!("a joint of the type {kind} has no <axis2>"),
                "it turns about one axis",
            );
            &motions[..1]
        } else {
            motions
        };
        if parent == child_link {
            return self
                .reading
                .problem(node.offset, format!("joint '{}' connects a link with itself", shorten(&name)));
        }
        let default = child(node, "child").map_or("__model__", |child| child.text.trim());
        let pose = at.then(&scope.frames.pose_of(self.reading, node, default));
        let joints: Vec<Joint> = motions
            .iter()
            .enumerate()
            .map(|(index, motion)| {
                let suffix = if motions.len() > 1 { format!("_{}", index + 1) } else { String::new() };
                let mut joint = Joint::new(format!("{name}{suffix}"), node.offset, *motion, [parent, child_link]);
                joint.scope.clone_from(&self.scope);
                let to_child = self.model.links[child_link].pose.inverse();
                joint.anchor = to_child.point(pose.translation);
                let tag = if index == 1 && kind != "screw" { "axis2" } else { "axis" };
                if ![Motion::Ball, Motion::Fixed].contains(motion) {
                    self.set_axis(node, tag, kind == "continuous", &pose, at, scope, &mut joint);
                    joint.axis = to_child.direction(joint.axis);
                }
                joint
            })
            .collect();
        self.add_joints(node, joints, kind);
    }

    /// The link that a joint ends at: named itself, or by a frame that is fixed to it.
    pub(super) fn link_at_end(&self, node: &Node, tag: &str, scope: &Scope) -> Option<usize> {
        let Some(end) = child(node, tag) else {
            self.reading.problem(node.offset, format!("<joint> lacks <{tag}>"));
            return None;
        };
        let wanted = end.text.trim();
        if let Some(place) = scope.link_of(wanted).and_then(|name| scope.links.get(name)) {
            return Some(*place);
        }
        if scope.frames.is_lost(wanted) {
            let meaning = "what it would connect moves by itself, or stands where it is";
            self.notes.add(node.offset, "a joint to a model that is left out is left out", meaning);
            return None;
        }
        let message = format!("there is no link '{}'", shorten(wanted));
        match self.reading.nearest(wanted, scope.links.keys().map(String::as_str)) {
            Some(near) => self.reading.problem_with_help(end.offset, message, format!("did you mean '{near}'?")),
            None => self.reading.problem(end.offset, message),
        }
        None
    }

    /// Direction (of the world's frame), limits and losses.
    #[expect(clippy::too_many_arguments, reason = "the frames that an axis can be told in")]
    fn set_axis(
        &self,
        node: &Node,
        tag: &str,
        is_continuous: bool,
        pose: &Pose,
        at: &Pose,
        scope: &Scope,
        joint: &mut Joint,
    ) {
        let Some(axis) = child(node, tag) else {
            self.notes.add(node.offset, format!("a joint lacks <{tag}>"), "its axis is z, as in Gazebo");
            joint.axis = pose.direction(DVec3::Z);
            return;
        };
        let xyz = child(axis, "xyz");
        let direction = xyz.map_or(Some(DVec3::Z), |xyz| self.numbers::<3>(xyz).map(DVec3::from_array));
        let Some(direction) = direction else { return };
        let Some(unit) = direction.try_normalize() else {
            return self.reading.problem(axis.offset, format!("the axis of joint '{}' has no length", joint.name));
        };
        let in_model = self.text(axis, "use_parent_model_frame").map_or(self.axes_in_model, is_true);
        let expressed = xyz.and_then(|xyz| attribute(xyz, "expressed_in")).filter(|frame| !frame.is_empty());
        joint.axis = match expressed {
            Some(frame) => at.then(&scope.frames.resolve(self.reading, axis, frame)).direction(unit),
            None if in_model => at.direction(unit),
            None => pose.direction(unit),
        };
        self.set_limits(axis, is_continuous, joint);
    }

    /// Limits, losses and spring.
    fn set_limits(&self, axis: &Node, is_continuous: bool, joint: &mut Joint) {
        if let Some(limit) = child(axis, "limit") {
            let bound = |tag: &str, default: f64| {
                let endless = self
                    .text(limit, tag)
                    .is_some_and(|text| text.trim_start_matches(['-', '+']).to_ascii_lowercase().starts_with("inf"));
                if endless { default } else { self.number(limit, tag).unwrap_or(default) }
            };
            let (lower, upper) = (bound("lower", -NO_LIMIT), bound("upper", NO_LIMIT));
            if lower > upper {
                self.reading.warn(
                    limit.offset,
                    format!("joint '{}' has its lower limit {lower} above its upper one {upper}", joint.name),
                    "it moves without stops".into(),
                );
            } else if !is_continuous && (lower > -NO_LIMIT || upper < NO_LIMIT) {
                joint.limits = Some([lower, upper]);
            }
            let positive = |tag| Some(bound(tag, -1.0)).filter(|bound| *bound > 0.0 && *bound < NO_LIMIT);
            (joint.max_effort, joint.max_rate) = (positive("effort"), positive("velocity"));
        }
        if let Some(dynamics) = child(axis, "dynamics") {
            let loss = |tag: &str| {
                let value = self.number(dynamics, tag).unwrap_or(0.0);
                if value < 0.0 {
                    self.reading.problem(
                        dynamics.offset,
                        format!("the {tag} of joint '{}' is below zero: it would drive the joint", joint.name),
                    );
                }
                value
            };
            (joint.damping, joint.friction, joint.stiffness) =
                (loss("damping"), loss("friction"), loss("spring_stiffness"));
            joint.spring_position = self.number(dynamics, "spring_reference").unwrap_or(0.0);
        }
    }

    /// Adds joints between two links: one, or a chain over links without mass.
    fn add_joints(&mut self, node: &Node, joints: Vec<Joint>, kind: &str) {
        let Some(&Joint { parent, child, .. }) = joints.first() else { return };
        let relative = self.model.links[parent].pose.inverse().then(&self.model.links[child].pose);
        let is_carried = self.model.joints.iter().any(|joint| joint.child == child);
        if is_carried || child == WORLD || self.carries(child, parent) {
            if joints.len() > 1 {
                let what = format!("a joint of the type {kind} that closes a loop is left out");
                return self.notes.add(node.offset, what, "the loop is open");
            }
            return self.model.loops.extend(joints);
        }
        let (first, count) = (self.model.joints.len(), joints.len());
        let mut carrier = parent;
        for (index, joint) in joints.into_iter().enumerate() {
            let is_last = index + 1 == count;
            let carried = if is_last { child } else { self.model.links.len() };
            if !is_last {
                let name = format!("{}_carrier", joint.name);
                let pose = self.model.links[child].pose;
                let scope = self.scope.clone();
                let carrier = Link { name, scope, offset: node.offset, pose, is_carrier: true, ..Link::default() };
                self.model.links.push(carrier);
            }
            let pose = if index == 0 { relative } else { Pose::IDENTITY };
            self.model.joints.push(Joint { parent: carrier, child: carried, pose, ..joint });
            carrier = carried;
        }
        if count > 1 && parent != WORLD {
            self.model.apart.push(Apart { links: [parent, child], offset: node.offset });
        }
        if kind == "screw" {
            self.couple_screw(node, first);
        }
    }

    /// A screw slides as it turns.
    fn couple_screw(&mut self, node: &Node, turning: usize) {
        // Metres for a turn; the older figure is radians for a metre, against the sense of turning.
        let by_turn = self.number(node, "screw_thread_pitch").map(|pitch| pitch / std::f64::consts::TAU);
        let ratio = by_turn
            .or_else(|| self.number(node, "thread_pitch").map(|pitch| -1.0 / pitch))
            .unwrap_or(1.0 / std::f64::consts::TAU);
        if ratio == 0.0 || !ratio.is_finite() {
            return self.reading.problem(node.offset, "a screw with a pitch of 0 does not move");
        }
        self.model.couplings.push(Mimic {
            leader: turning,
            follower: turning + 1,
            ratio,
            constant: 0.0,
            offset: node.offset,
        });
    }

    /// True if joints connect a link to an inner one.
    fn carries(&self, inner: usize, outer: usize) -> bool {
        let mut at = outer;
        while at != inner {
            match self.model.joints.iter().find(|joint| joint.child == at) {
                Some(joint) => at = joint.parent,
                None => return false,
            }
        }
        true
    }
}
