//! `<light>` of the world, and the headlight. Numbers that cannot be read count as not given: light changes no motion.

use bevy_math::DVec3;

use super::{
    super::{
        attributes::attribute,
        lights::{Light, LightKind, Lights},
    },
    importer::Mjcf,
};
use crate::{
    text::{numbers::read_spaced_numbers, tree::child},
    xml::node::Node,
};

/// Defaults of the format.
const DEFAULT_DIFFUSE: [f64; 3] = [0.7; 3];
const CUTOFF_DEGREES: f64 = 45.0;
const DEFAULT_HEADLIGHT: [[f64; 3]; 2] = [[0.1; 3], [0.4; 3]];
/// Part of the light of the headlight, which is at the camera, that counts as ambient: the mean of what surfaces of all
/// directions have of it.
const HEADLIGHT_SHARE: f64 = 0.5;

impl Mjcf<'_, '_> {
    pub(super) fn read_lights(&self, root: &Node) -> Lights {
        let bodies = root.children.iter().filter(|child| child.name == "worldbody");
        let lights = bodies.flat_map(|body| &body.children).filter(|child| child.name == "light");
        let lights: Vec<Light> = lights.filter_map(|node| read_light(&self.resolve(node, None))).collect();
        let mut visual = root.children.iter().rev().filter(|child| child.name == "visual");
        let headlight = visual.find_map(|visual| child(visual, "headlight"));
        let ambient = (headlight.is_some() || !lights.is_empty()).then(|| {
            let part = |name: &str, default| headlight.and_then(|light| three_numbers(light, name)).unwrap_or(default);
            let is_on = headlight.and_then(|light| attribute(light, "active")) != Some("0");
            let (ambient, diffuse) = (part("ambient", DEFAULT_HEADLIGHT[0]), part("diffuse", DEFAULT_HEADLIGHT[1]));
            let sum = |channel: usize| ambient[channel] + HEADLIGHT_SHARE * diffuse[channel];
            [0, 1, 2].map(|channel| if is_on { sum(channel) } else { 0.0 })
        });
        Lights { lights, ambient, background: None }
    }
}

fn read_light(node: &Node) -> Option<Light> {
    if attribute(node, "active") == Some("false") {
        return None;
    }
    let is_directional =
        attribute(node, "directional") == Some("true") || attribute(node, "type") == Some("directional");
    let kind = match attribute(node, "type") {
        _ if is_directional => LightKind::Directional,
        Some("point") => LightKind::Point,
        _ => LightKind::Spot,
    };
    let vector = |name: &str, default| three_numbers(node, name).map_or(default, DVec3::from_array);
    let cutoff = attribute(node, "cutoff").and_then(|cutoff| cutoff.trim().parse::<f64>().ok());
    let light = Light {
        kind,
        position: vector("pos", DVec3::ZERO),
        direction: vector("dir", DVec3::NEG_Z),
        color: three_numbers(node, "diffuse").unwrap_or(DEFAULT_DIFFUSE),
        factor: 1.0,
        attenuation: three_numbers(node, "attenuation").unwrap_or([1.0, 0.0, 0.0]),
        range: None,
        angles: [0.0, cutoff.unwrap_or(CUTOFF_DEGREES).to_radians()],
        has_shadow: attribute(node, "castshadow") != Some("false"),
        offset: node.offset,
    };
    light.checked_light()
}

fn three_numbers(node: &Node, name: &str) -> Option<[f64; 3]> {
    read_spaced_numbers(attribute(node, name)?, 8).ok()?.first_chunk::<3>().copied()
}
