//! `<light>` and `<scene>` of a world. Numbers that cannot be read count as not given: light changes no motion.

use bevy_math::DVec3;

use super::{
    super::{
        attributes::attribute,
        gazebo::is_true,
        lights::{Light, LightKind, Lights},
    },
    frames::read_pose,
    importer::Sdf,
};
use crate::{
    text::{numbers::read_spaced_numbers, tree::child},
    xml::node::Node,
};

/// Defaults of the format: attenuation and range of a light, and ambient light of a scene.
const DEFAULT_ATTENUATION: [f64; 3] = [1.0, 1.0, 0.0];
const DEFAULT_RANGE: f64 = 10.0;

impl Sdf<'_, '_> {
    pub(super) fn read_lights(&self, section: &Node) -> Lights {
        let named = |tag: &'static str| section.children.iter().filter(move |child| child.name == tag);
        let scene = named("scene").next();
        let color = |tag: &str| child_vector(scene?, tag);
        // A sky is drawn in place of the background.
        let has_sky = scene.is_some_and(|scene| child(scene, "sky").is_some());
        let lights = named("light").filter(|light| child(light, "light_on").is_none_or(|on| is_true(on.text.trim())));
        Lights {
            lights: lights.filter_map(|light| self.read_light(light)).collect(),
            ambient: color("ambient"),
            background: color("background").filter(|_| !has_sky),
        }
    }

    fn read_light(&self, node: &Node) -> Option<Light> {
        let kind = match attribute(node, "type")? {
            "directional" => LightKind::Directional,
            "point" => LightKind::Point,
            "spot" => LightKind::Spot,
            _ => return None,
        };
        let pose = child(node, "pose").map_or_else(Default::default, |pose| read_pose(self.reading, pose));
        let falls = child(node, "attenuation");
        let part = |tag: &str, default: f64| falls.and_then(|falls| child_number(falls, tag)).unwrap_or(default);
        let [constant, linear, quadratic] = DEFAULT_ATTENUATION;
        let direction = child_vector(node, "direction").map_or(DVec3::NEG_Z, DVec3::from_array);
        let spot = child(node, "spot");
        // The file has whole angles of cones.
        let half = |tag: &str| 0.5 * spot.and_then(|spot| child_number(spot, tag)).unwrap_or(0.0);
        let light = Light {
            kind,
            position: pose.translation,
            direction: pose.direction(direction),
            color: child_vector(node, "diffuse").unwrap_or([1.0; 3]),
            factor: child_number(node, "intensity").unwrap_or(1.0),
            attenuation: [part("constant", constant), part("linear", linear), part("quadratic", quadratic)],
            range: Some(part("range", DEFAULT_RANGE)),
            angles: [half("inner_angle"), half("outer_angle")],
            has_shadow: child(node, "cast_shadows").is_some_and(|casts| is_true(casts.text.trim())),
            offset: node.offset,
        };
        light.checked_light()
    }
}

fn child_vector(node: &Node, tag: &str) -> Option<[f64; 3]> {
    read_spaced_numbers(&child(node, tag)?.text, 8).ok()?.first_chunk::<3>().copied()
}

fn child_number(node: &Node, tag: &str) -> Option<f64> {
    child(node, tag)?.text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}
