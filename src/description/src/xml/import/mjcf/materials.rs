//! `<texture>` and `<material>` of `<asset>`.

use std::collections::HashMap;

use simpartner_model::Color;

use super::{
    super::{
        attributes::{attribute, number, numbers},
        finish::Finish,
    },
    importer::Mjcf,
};
use crate::{text::tree::child, xml::node::Node};

/// The image of a texture: a file or a pattern; or the colour of a flat one.
enum Image {
    Texture(String),
    Flat([f64; 3]),
}

impl Mjcf<'_, '_> {
    /// The looks of all materials by name.
    pub(super) fn read_materials(&self, root: &Node) -> HashMap<String, Finish> {
        let sections = || root.children.iter().filter(|child| child.name == "asset");
        let of = |tag: &'static str| {
            let elements = sections().flat_map(|section| &section.children).filter(move |node| node.name == tag);
            elements.map(|node| self.resolve(node, None))
        };
        let images: HashMap<String, Image> = of("texture").filter_map(|node| self.read_image(&node)).collect();
        of("material")
            .filter_map(|node| Some((attribute(&node, "name")?.to_owned(), self.read_material(&node, &images))))
            .collect()
    }

    /// A texture with its name. Skies have no surface.
    fn read_image(&self, node: &Node) -> Option<(String, Image)> {
        if attribute(node, "type") == Some("skybox") {
            return None;
        }
        let file = attribute(node, "file").or(attribute(node, "fileup")).or(attribute(node, "filefront"));
        let stem = || file.and_then(|file| file.rsplit(['/', '\\']).next()?.split('.').next());
        let name = attribute(node, "name").or_else(stem)?.to_owned();
        if let Some(file) = file {
            return Some((name, Image::Texture(self.compiler.texture_path(file))));
        }
        let color = |name: &str, default: f64| numbers::<3>(self.reading, node, name).unwrap_or([default; 3]);
        let (first, second) = (color("rgb1", 0.8), color("rgb2", 0.5));
        let text = |[red, green, blue]: [f64; 3]| Color::from_fractions([red, green, blue, 1.0]).to_string();
        let kind = attribute(node, "builtin").filter(|kind| ["checker", "gradient"].contains(kind));
        let image = match kind {
            Some(kind) => Image::Texture(format!("{kind} {} {}", text(first), text(second))),
            None if attribute(node, "builtin") == Some("flat") => Image::Flat(first),
            None => return None,
        };
        Some((name, image))
    }

    fn read_material(&self, node: &Node, images: &HashMap<String, Image>) -> Finish {
        let rgba = numbers::<4>(self.reading, node, "rgba");
        let layer = child(node, "layer").filter(|layer| attribute(layer, "role").is_none_or(|role| role == "rgb"));
        let texture = attribute(node, "texture").or_else(|| layer.and_then(|layer| attribute(layer, "texture")));
        let image = texture.and_then(|name| images.get(name));
        let own = rgba.unwrap_or([1.0; 4]);
        let color = match image {
            Some(Image::Flat(flat)) => Some([own[0] * flat[0], own[1] * flat[1], own[2] * flat[2], own[3]]),
            _ => rgba,
        };
        let repeats = numbers::<2>(self.reading, node, "texrepeat").unwrap_or([1.0; 2]);
        let repeats = Some(repeats).filter(|repeats| repeats.iter().all(|repeat| (1e-6..=1e6).contains(repeat)));
        let is_uniform = attribute(node, "texuniform") == Some("true");
        let share = number(self.reading, node, "emission").filter(|share| *share > 0.0);
        let emitted = |share: f64| {
            let [red, green, blue, _] = color.unwrap_or([1.0; 4]);
            Color::from_fractions([red * share, green * share, blue * share, 1.0])
        };
        Finish {
            color: color.map(Color::from_fractions),
            emission: share.map(emitted),
            texture: match image {
                Some(Image::Texture(texture)) => Some(texture.clone()),
                _ => None,
            },
            repeats,
            lengths: repeats.filter(|_| is_uniform).map(|repeats| repeats.map(|repeat| 1.0 / repeat)),
        }
    }
}
