//! Elements of MJCF: names, attributes and poses.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::{
    super::node::Node,
    writer::{Writer, join},
};
use crate::text::tree::Attribute;

/// A vector of ours in the axes of MuJoCo, z up.
pub(super) fn z_up_vector(vector: DVec3) -> DVec3 {
    DVec3::new(vector.x, -vector.z, vector.y) + DVec3::ZERO
}

/// A name that is unique in the file: with the robot's name before it if there are several robots.
pub(super) fn name_of(writer: &Writer, body: usize) -> String {
    let body = &writer.mechanism.bodies[body];
    match body.robot {
        Some(robot) if writer.mechanism.robots.len() > 1 => {
            format!("{}/{}", writer.mechanism.robot(robot).name, body.name)
        }
        // That is the name of the world body.
        _ if body.name == "world" => "world_body".into(),
        _ => body.name.clone(),
    }
}

/// Adds an attribute to an element.
pub(super) fn push(element: &mut Node, name: &str, value: String) {
    element.attributes.push(Attribute { name: name.into(), value, offset: 0 });
}

/// Adds the attributes of a pose to an element.
pub(super) fn set_pose(element: &mut Node, pose: &Pose) {
    let DQuat { x, y, z, w } = pose.rotation;
    push(element, "pos", join(&pose.translation.to_array()));
    if pose.rotation != DQuat::IDENTITY {
        push(element, "quat", join(&[w, x, y, z]));
    }
}
