//! Frames of a model, each relative to another one.

use std::collections::{BTreeMap, BTreeSet};

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::super::{attributes::attribute, gazebo::numbers};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::{node::Node, reading::Reading},
};

/// The named frames of a model.
#[derive(Debug, Default)]
pub(super) struct Frames {
    given: BTreeMap<String, Given>,
}

#[derive(Debug)]
struct Given {
    /// Its reference frame, and its pose in it.
    frame: String,
    pose: Pose,
    /// The link to which it is fixed, if that is not `frame`.
    link: Option<String>,
}

/// The model's own frame.
const MODEL_FRAME: &str = "__model__";

impl Frames {
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
        if self.given.insert(name.to_owned(), Given { frame, pose: at, link: None }).is_some() {
            reading.problem(node.offset, format!("there is a link, joint, frame or model '{}' already", shorten(name)));
        }
    }

    /// Sets a frame's pose in the model and its link; false if there is a frame of that name already.
    pub(super) fn set(&mut self, name: &str, pose: Pose, link: Option<String>) -> bool {
        let given = Given { frame: MODEL_FRAME.into(), pose, link };
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
            let outer = self.given.get(at)?;
            (pose, at) = (outer.pose.then(&pose), outer.frame.as_str());
        }
        Some(pose)
    }

    /// The link or frame that a frame is fixed to; `None` for a model.
    pub(super) fn attached(&self, name: &str) -> Option<&str> {
        let given = self.given.get(name)?;
        given.link.as_deref().or(Some(given.frame.as_str()).filter(|outer| *outer != MODEL_FRAME))
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
    Pose::from_xyz_rpy(DVec3::from_slice(&given), angles * scale)
}
