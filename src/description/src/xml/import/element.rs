//! Elements of SimPartner's format that an importer generates, each at the position of its origin.

use bevy_math::DVec3;
use simpartner_model::Pose;

use super::super::node::Node;
use crate::text::tree::Attribute;

/// Smaller coordinates are the rounding of a right angle, metres: a thousandth of an atom.
pub(super) const NEGLIGIBLE_COORDINATE: f64 = 1e-13;

pub(in crate::xml) fn node(name: &str, offset: usize, attributes: &[(&str, String)]) -> Node {
    let attributes = attributes.iter().map(|(name, value)| new_attribute(name, value.clone(), offset)).collect();
    Node { name: name.into(), offset, attributes, ..Node::default() }
}

pub(super) fn new_attribute(name: &str, value: String, offset: usize) -> Attribute {
    Attribute { name: name.into(), value, offset }
}

/// A number with 15 digits, without the rounding beyond them.
pub(super) fn digits(value: f64) -> String {
    format!("{value:.14e}").parse::<f64>().unwrap_or(value).to_string()
}

pub(in crate::xml) fn value(name: &str, offset: usize, text: impl ToString) -> Node {
    Node { text: text.to_string(), has_text: true, text_offset: offset, ..node(name, offset, &[]) }
}

/// The attributes x, y and z, without those that are 0.
pub(super) fn coordinates(vector: DVec3) -> Vec<(&'static str, String)> {
    let all = ["x", "y", "z"].into_iter().zip(vector.to_array());
    all.filter(|(_, value)| value.abs() > NEGLIGIBLE_COORDINATE).map(|(name, value)| (name, digits(value))).collect()
}

/// A `<pose>`, unless it is the identity.
pub(in crate::xml) fn pose_element(pose: &Pose, offset: usize) -> Option<Node> {
    let angles = ["roll", "pitch", "yaw"].into_iter().zip(pose.roll_pitch_yaw().to_array());
    let mut attributes = coordinates(pose.translation);
    attributes.extend(
        angles.filter(|(_, value)| value.abs() > NEGLIGIBLE_COORDINATE).map(|(name, value)| (name, digits(value))),
    );
    (!attributes.is_empty()).then(|| node("pose", offset, &attributes))
}
