//! Frames of a model, each relative to another one.

use std::collections::{BTreeMap, BTreeSet};

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::super::{
    attributes::{attribute, exact_quarter_turns},
    gazebo::numbers,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::{node::Node, reading::Reading},
};

/// The named frames of a model.
#[derive(Debug, Default)]
pub(super) struct Frames {
    given: BTreeMap<String, Given>,
    /// The names of models that are left out.
    lost: BTreeSet<String>,
    /// True if a model is left out whose parts would be those of this one.
    has_lost_parts: bool,
    /// The name of the model itself, by which some files call its frame.
    own_name: String,
}

#[derive(Debug)]
struct Given {
    /// Its reference frame, and its pose in it.
    frame: String,
    pose: Pose,
    /// The link to which it is fixed, if that is not `frame`.
    link: Option<String>,
    /// True for a link or a model.
    is_part: bool,
}

fn is_part(node: &Node) -> bool {
    ["link", "model"].contains(&node.name.as_str())
}

/// True for the rest of a name that leads into the model whose name stands before it.
fn is_inner(rest: &str) -> bool {
    rest.starts_with("::")
}

/// The model's own frame.
pub(super) const MODEL_FRAME: &str = "__model__";

impl Frames {
    /// No frames but that of a model of this name.
    pub(super) fn of_model(name: &str) -> Self {
        Self { own_name: name.to_owned(), ..Self::default() }
    }

    /// Takes up a link, frame, joint or model by its name and pose.
    pub(super) fn define(&mut self, reading: &Reading, node: &Node) {
        let Some(name) = attribute(node, "name") else {
            return reading.problem(node.offset, format!("<{}> lacks the attribute 'name'", node.name));
        };
        let default = match node.name.as_str() {
            "frame" => attribute(node, "attached_to").filter(|frame| !frame.is_empty()).unwrap_or(MODEL_FRAME),
            "joint" => child(node, "child").map_or(MODEL_FRAME, |child| child.text.trim()),
            _ => MODEL_FRAME,
        };
        let pose = child(node, "pose");
        let relative = pose.and_then(|pose| attribute(pose, "relative_to").or(attribute(pose, "frame")));
        let frame = relative.filter(|frame| !frame.is_empty()).unwrap_or(default).to_owned();
        let at = pose.map_or(Pose::IDENTITY, |pose| read_pose(reading, pose));
        if !self.given.contains_key(name) {
            self.given.insert(name.to_owned(), Given { frame, pose: at, link: None, is_part: is_part(node) });
        } else if !is_part(node) && self.given[name].is_part || node.name == "frame" {
            // Before SDF 1.7 each kind had names of its own, and later files still have such frames and joints.
            let what = format!("a {} has the name '{}' of another part", node.name, shorten(name));
            reading.warn(node.offset, what, "where a frame is named, the other one is meant".into());
        } else {
            reading.problem(node.offset, format!("there is a link, joint, frame or model '{}' already", shorten(name)));
        }
    }

    /// Takes up the name of a model that is left out, with its `<pose>`.
    pub(super) fn lose_model(&mut self, reading: &Reading, name: &str, pose: Option<&Node>) {
        let relative = pose.and_then(|pose| attribute(pose, "relative_to").or(attribute(pose, "frame")));
        let frame = relative.filter(|frame| !frame.is_empty()).unwrap_or(MODEL_FRAME).to_owned();
        let at = pose.map_or(Pose::IDENTITY, |pose| read_pose(reading, pose));
        self.given.entry(name.to_owned()).or_insert(Given { frame, pose: at, link: None, is_part: true });
        self.lost.insert(name.to_owned());
    }

    /// Takes up that a model is left out whose parts would be those of this one.
    pub(super) fn lose_some(&mut self) {
        self.has_lost_parts = true;
    }

    /// Makes the models that an inner model lacks known in this one, behind its name unless it is merged.
    pub(super) fn lose_of(&mut self, inner: &Self, named: impl Fn(&str) -> String, is_merged: bool) {
        self.lost.extend(inner.lost.iter().map(|name| named(name)));
        if inner.has_lost_parts && is_merged {
            self.has_lost_parts = true;
        } else if inner.has_lost_parts {
            let name = named("");
            self.lost.insert(name.trim_end_matches("::").to_owned());
        }
    }

    /// The model that is left out and that a name leads into, if any.
    fn lost_model(&self, name: &str) -> Option<&str> {
        let is_in = |lost: &&String| name == lost.as_str() || name.strip_prefix(lost.as_str()).is_some_and(is_inner);
        self.lost.iter().rev().find(is_in).map(String::as_str)
    }

    /// True if a name is that of something in a model that is left out, or of a frame that is fixed to it.
    pub(super) fn is_lost(&self, name: &str) -> bool {
        let mut name = name;
        for _ in 0..=self.given.len() {
            if self.lost_model(name).is_some() {
                return true;
            }
            match self.given.get(name) {
                Some(given) => name = given.link.as_deref().unwrap_or(&given.frame),
                None => return self.has_lost_parts && name != MODEL_FRAME && name != "world",
            }
        }
        false
    }

    /// Sets a frame's pose in the model and its link; false if there is a frame of that name already.
    pub(super) fn set(&mut self, name: &str, pose: Pose, link: Option<String>) -> bool {
        let given = Given { frame: MODEL_FRAME.into(), pose, link, is_part: true };
        self.given.insert(name.to_owned(), given).is_none()
    }

    /// All frames whose place in the model is known by now.
    pub(super) fn resolved(&self) -> Vec<(String, Pose)> {
        self.given.keys().filter_map(|name| Some((name.clone(), self.find(name)?))).collect()
    }

    /// The pose in an element, relative to the frame that it names, or otherwise to this one.
    pub(super) fn pose_of(&self, reading: &Reading, node: &Node, default: &str) -> Pose {
        let Some(pose) = child(node, "pose") else { return self.resolve(reading, node, default) };
        let relative = attribute(pose, "relative_to").or(attribute(pose, "frame")).filter(|frame| !frame.is_empty());
        self.resolve(reading, pose, relative.unwrap_or(default)).then(&read_pose(reading, pose))
    }

    /// The pose of an element of a link, in the frame of that link.
    pub(super) fn pose_in_link(&self, reading: &Reading, node: &Node, link: &str) -> Pose {
        let relative = child(node, "pose").is_some_and(|pose| {
            let frame = attribute(pose, "relative_to").or(attribute(pose, "frame"));
            frame.is_some_and(|frame| !frame.is_empty() && frame != link)
        });
        match relative {
            true => self.resolve(reading, node, link).inverse().then(&self.pose_of(reading, node, MODEL_FRAME)),
            false => child(node, "pose").map_or(Pose::IDENTITY, |pose| read_pose(reading, pose)),
        }
    }

    /// Pose of a frame in the model.
    pub(super) fn resolve(&self, reading: &Reading, node: &Node, name: &str) -> Pose {
        self.find(name).unwrap_or_else(|| {
            if self.is_lost(name) {
                let what = format!("the frame '{}' belongs to a model that is left out", shorten(name));
                reading.warn(node.offset, what, "what stands in it stands where its own model does".into());
                return Pose::IDENTITY;
            }
            let message = match self.given.contains_key(name) {
                true => format!(
                    "the frame '{}' stands in itself by way of others, or in one that is not there",
                    shorten(name)
                ),
                false => format!("there is no frame '{}'", shorten(name)),
            };
            match reading.nearest(name, self.given.keys().map(String::as_str)).filter(|near| *near != name) {
                Some(near) => reading.problem_with_help(node.offset, message, format!("did you mean '{near}'?")),
                None => reading.problem(node.offset, message),
            }
            Pose::IDENTITY
        })
    }

    fn find(&self, name: &str) -> Option<Pose> {
        let (mut pose, mut at, mut seen) = (Pose::IDENTITY, name, BTreeSet::new());
        while ![MODEL_FRAME, "world", ""].contains(&at) {
            if !seen.insert(at) {
                return None;
            }
            let Some(outer) = self.given.get(at) else {
                if at == self.own_name {
                    return Some(pose);
                }
                // In a model that is left out: where that would be.
                at = self.lost_model(at)?;
                continue;
            };
            (pose, at) = (outer.pose.then(&pose), outer.frame.as_str());
        }
        Some(pose)
    }

    /// The sibling of a model in one of whose frames the model stands, directly or by way of frames beside it.
    pub(super) fn model_around<'f>(&'f self, model: &'f Node) -> Option<&'f str> {
        let pose = child(model, "pose")?;
        let mut frame = attribute(pose, "relative_to").or(attribute(pose, "frame"))?;
        for _ in 0..=self.given.len() {
            if let Some((outer, _)) = frame.split_once("::") {
                return Some(outer);
            }
            frame = &self.given.get(frame)?.frame;
        }
        None
    }

    /// The link, frame or model that a frame is fixed to.
    pub(super) fn attached(&self, name: &str) -> Option<&str> {
        let given = self.given.get(name).filter(|_| self.lost_model(name).is_none())?;
        Some(given.link.as_deref().unwrap_or(&given.frame))
    }
}

/// A `<pose>`: x y z and roll, pitch, yaw, or a quaternion.
pub(in super::super) fn read_pose(reading: &Reading, node: &Node) -> Pose {
    if node.text.trim().is_empty() {
        return Pose::IDENTITY;
    }
    if attribute(node, "rotation_format") == Some("quat_xyzw") {
        let Some(given) = numbers::<7>(reading, node) else { return Pose::IDENTITY };
        let turn = DQuat::from_slice(&given[3..]);
        if turn.length_squared() == 0.0 {
            reading.problem(node.text_offset, "<pose>: a quaternion of zeros is no rotation");
            return Pose::IDENTITY;
        }
        return Pose { translation: DVec3::from_slice(&given), rotation: turn.normalize() };
    }
    let Some(given) = numbers::<6>(reading, node) else { return Pose::IDENTITY };
    let angles = DVec3::from_slice(&given[3..]);
    let scale = if attribute(node, "degrees") == Some("true") { 1f64.to_radians() } else { 1.0 };
    Pose::from_xyz_rpy(DVec3::from_slice(&given), exact_quarter_turns(reading, node.text_offset, angles * scale))
}
