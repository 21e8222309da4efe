//! Gazebo's devices and surfaces, in SDF files and in the `<gazebo>` elements of URDF files.
//!
//! | module | reads |
//! |---|---|
//! | `sensors` | `<sensor>` |
//! | `cameras` | `<camera>` of a sensor: size, lens, noise |
//! | `wide_angle` | the lenses of wide-angle cameras |
//! | `plugin_table` | which plugins are known, and what becomes of them |
//! | `fluids` | plugins of wings, propellers and water |
//! | `plugins` | `<plugin>`: what drives joints, couples them, and measures or pushes links |
//! | `vehicles` | plugins that drive a vehicle |
//! | `surface` | friction, restitution and stiffness of contacts |

mod axes;
mod cameras;
mod fluids;
mod plugin_table;
mod plugins;
mod sensors;
mod surface;
mod vehicles;
mod wide_angle;

use std::collections::HashMap;

use bevy_math::DVec3;

use super::{
    super::{node::Node, reading::Reading},
    attributes::{NUMBER_SPELLING, attribute},
    model::Model,
    omissions::Omissions,
};
use crate::text::{
    numbers::{read_spaced_numbers, shorten},
    tree::child,
};

pub use plugin_table::gazebo_plugins;
pub(super) use surface::{friction_across, soft_contact};

/// The model that devices are added to.
pub(super) struct Gazebo<'m, 'r, 'a> {
    pub(super) reading: &'r Reading<'a>,
    pub(super) notes: &'m Omissions,
    pub(super) model: &'m mut Model,
    /// Places of links by their names.
    pub(super) links: &'m HashMap<String, usize>,
    /// The link that is the world, if there is one.
    pub(super) world: Option<usize>,
    /// The place of the first joint that plugins may name.
    pub(super) first_joint: usize,
}

/// The text of a child element.
pub(super) fn text<'n>(node: &'n Node, tag: &str) -> Option<&'n str> {
    child(node, tag).map(|child| child.text.trim())
}

/// The number in a child element.
pub(super) fn number(reading: &Reading, node: &Node, tag: &str) -> Option<f64> {
    numbers::<1>(reading, child(node, tag)?).map(|[number]| number)
}

/// The vector in a child element.
pub(super) fn vector(reading: &Reading, node: &Node, tag: &str) -> Option<DVec3> {
    numbers::<3>(reading, child(node, tag)?).map(DVec3::from_array)
}

/// N numbers in the text of an element.
pub(super) fn numbers<const N: usize>(reading: &Reading, node: &Node) -> Option<[f64; N]> {
    // sdformat ignores the rest after the numbers; in such files it is a quotation mark of an attribute.
    let bare = node.text.trim_end().trim_end_matches('"');
    if bare.len() < node.text.trim_end().len() {
        reading.warn(
            node.text_offset,
            format!("<{}> has a quote behind its numbers", node.name),
            "it is left out".into(),
        );
    }
    let numbers = read_spaced_numbers(bare, N);
    match numbers.map(<[f64; N]>::try_from) {
        Ok(Ok(numbers)) => Some(numbers),
        _ => {
            let what = if N == 1 { "a finite number".into() } else { format!("{N} finite numbers") };
            let place = if node.has_text { node.text_offset } else { node.offset };
            let message = format!("<{}>: expected {what}, got '{}'", node.name, shorten(node.text.trim()));
            reading.problem_with_help(place, message, NUMBER_SPELLING);
            None
        }
    }
}

/// The class that a plugin of a visual or a model gives to what a segmentation camera sees; `None` for other plugins.
pub(super) fn class_label(reading: &Reading, plugin: &Node) -> Option<u16> {
    let is_label = |name: &str| name.ends_with("::Label") || name.contains("label-system");
    let names = ["name", "filename"].into_iter().filter_map(|name| attribute(plugin, name));
    let given = names.filter(|name| is_label(name)).find_map(|_| number(reading, plugin, "label"))?;
    (given.fract() == 0.0 && (1.0..=f64::from(u16::MAX)).contains(&given)).then_some(given as u16)
}

pub(super) fn is_true(text: &str) -> bool {
    ["true", "1"].contains(&text)
}
