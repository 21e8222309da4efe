//! `<illumination>` and `<light>`.

use bevy_math::DVec3;
use simpartner_model::{Brightness, Color, Lamp, LampKind, Norm, Scenery};

use super::{body::vector, node::Node, reading::Reading};
use crate::text::tree::child;

/// Reads the light of a world.
pub(super) fn read_scenery(reading: &Reading, root: &Node) -> Scenery {
    let mut scenery = child(root, "illumination").and_then(|node| read_illumination(reading, node)).unwrap_or_default();
    for node in root.children.iter().filter(|child| child.name == "light") {
        if scenery.lamps.len() == Scenery::MAX_LAMPS {
            reading.problem(node.offset, format!("a world has at most {} lights", Scenery::MAX_LAMPS));
            break;
        }
        scenery.lamps.extend(read_lamp(reading, node));
    }
    scenery
}

fn read_illumination(reading: &Reading, node: &Node) -> Option<Scenery> {
    let light = |name: &str, factor: f64| Some(Brightness { color: color_of(reading, node, name)?, factor });
    let is_given = |name: &str| node.attributes.iter().any(|given| given.name == name);
    let has_direction = ["sunX", "sunY", "sunZ"].into_iter().any(is_given);
    let to_sun = has_direction.then(|| direction_of(reading, node, ["sunX", "sunY", "sunZ"]));
    let (ambient_above, zenith) = (light("ambient", 1.0), light("zenith", 1.0));
    Some(Scenery {
        to_sun: match to_sun {
            Some(found) => Some(found?),
            None => None,
        },
        sun: light("sun", reading.attribute_real(node, "sunFactor")?),
        ambient_above,
        ambient_below: light("ambientBelow", 1.0).or(ambient_above),
        zenith,
        horizon: light("horizon", 1.0).or(zenith),
        lamps: Vec::new(),
    })
}

fn color_of(reading: &Reading, node: &Node, name: &str) -> Option<Color> {
    reading.attribute_text(node, name).and_then(|color| color.parse().ok())
}

fn direction_of(reading: &Reading, node: &Node, names: [&str; 3]) -> Option<DVec3> {
    let [x, y, z] = names.map(|name| reading.attribute_real(node, name));
    let unit = DVec3::new(x?, y?, z?).try_normalized();
    if unit.is_none() {
        reading.problem(
            node.offset,
            format!("{}, {} and {} are all zero, so there is no direction", names[0], names[1], names[2]),
        );
    }
    unit
}

fn read_lamp(reading: &Reading, node: &Node) -> Option<Lamp> {
    let real = |name| reading.attribute_real(node, name);
    let position = vector(reading, node)?;
    let along = || direction_of(reading, node, ["directionX", "directionY", "directionZ"]);
    let kind = match reading.attribute_text(node, "type")? {
        "directional" => LampKind::Directional { direction: along()? },
        "spot" => {
            let (inner_angle, outer_angle) = (real("innerAngle")?, real("outerAngle")?);
            if inner_angle > outer_angle {
                let message = format!("innerAngle {inner_angle} is above outerAngle {outer_angle}");
                reading.problem(reading.attribute_offset(node, "innerAngle"), message);
                return None;
            }
            LampKind::Spot { position, direction: along()?, inner_angle, outer_angle }
        }
        _ => LampKind::Point { position },
    };
    let attenuation = [real("constant")?, real("linear")?, real("quadratic")?];
    if attenuation == [0.0; 3] {
        let message = "constant, linear and quadratic are all 0, so the light would be infinite";
        reading.problem_with_help(node.offset, message, "quadratic=\"1\" is the law of nature");
        return None;
    }
    Some(Lamp {
        kind,
        brightness: Brightness { color: color_of(reading, node, "color")?, factor: real("factor")? },
        attenuation,
        range: real("range").unwrap_or(f64::INFINITY),
        has_shadow: reading.attribute_text(node, "shadow") == Some("true"),
    })
}
