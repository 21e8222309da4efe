//! Colours and textures of visuals of other formats.

use simpartner_model::Color;

use super::{
    super::{node::Node, reading::Reading},
    paths::image_path,
};
use crate::texture::pattern_of;

/// Look of a visual, as far as the file has one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Finish {
    pub(super) color: Option<Color>,
    /// Emitted light.
    pub(super) emission: Option<Color>,
    /// A pattern of our format, or the path of an image as the file has it.
    pub(super) texture: Option<String>,
    /// Images across each side of the shape.
    pub(super) repeats: Option<[f64; 2]>,
    /// Extent of an image, m, in place of these.
    pub(super) lengths: Option<[f64; 2]>,
}

impl Finish {
    /// A plain colour.
    pub(super) fn of_color(color: Option<Color>) -> Self {
        Self { color, ..Self::default() }
    }

    /// True if the file says nothing of it.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The attributes of a `<visual>`. A missing image is a warning.
    pub(super) fn visual_attributes(&self, reading: &Reading, offset: usize) -> Vec<(&'static str, String)> {
        let texture = self.texture.as_deref().and_then(|texture| match pattern_of(texture) {
            Some(_) => Some(texture.to_owned()),
            None => image_path(reading, offset, texture),
        });
        let mut given = Vec::new();
        given.extend(self.color.map(|color| ("color", color.to_string())));
        given.extend(self.emission.map(|color| ("emission", color.to_string())));
        if let Some(texture) = texture {
            given.push(("texture", texture));
            let sides = match self.lengths {
                Some([x, y]) => [("textureLengthX", x), ("textureLengthY", y)],
                None => {
                    let [x, y] = self.repeats.unwrap_or([1.0; 2]);
                    [("textureRepeatX", x), ("textureRepeatY", y)]
                }
            };
            let is_given = |(_, value): &(&str, f64)| self.lengths.is_some() || *value != 1.0;
            given.extend(sides.into_iter().filter(is_given).map(|(name, value)| (name, value.to_string())));
        }
        given
    }
}

/// True if an attribute of a `<visual>` is the path of an image.
pub(super) fn is_image_path(node: &Node, name: &str, value: &str) -> bool {
    node.name == "visual" && name == "texture" && pattern_of(value).is_none()
}
