//! `<visual>`: shapes that are drawn, with colours and textures.

use std::sync::Arc;

use simpartner_model::{Body, Color, Look, Paint, Placed, Texture, Tiling, Visual};

use super::{
    body::{self, one_shape, optional_pose},
    files::beside,
    fluids,
    node::Node,
    point_shapes::{MeshPart, read_mesh_parts},
    reading::Reading,
};
use crate::{
    limits::MAX_IMAGE_FILE,
    mesh::{MeshImage, MeshLook},
    source::SourceFile,
    text::{diagnostic::Diagnostic, tree::child},
    texture::{AlphaRule, ENDINGS_HELP, has_image_ending, pattern_of},
};

/// Effect of a texture that cannot be used.
const PLAIN_EFFECT: &str = "its surface is shown in plain colour";

/// Reads an `<object>` or a `<body>` with its visuals.
pub(super) fn read_body(reading: &Reading, node: &Node) -> Option<Body> {
    let (body, visuals) = (body::read(reading, node), read_visuals(reading, node));
    let fluid = fluids::read_properties(reading, node)?;
    let body = Body { visuals: visuals?, fluid: (!fluid.is_empty()).then(|| Box::new(fluid)), ..body? };
    fluids::check_shape(reading, node, &body).then_some(body)
}

/// Reads all visuals of a body; a mesh file with several looks is a visual for each of them.
fn read_visuals(reading: &Reading, node: &Node) -> Option<Vec<Visual>> {
    let mut visuals = Vec::new();
    for visual in node.children.iter().filter(|child| child.name == "visual") {
        let color = color_of(reading, visual, "color");
        let emission = color_of(reading, visual, "emission");
        let texture = read_texture(reading, visual);
        let paint = texture.and_then(|texture| {
            let tint = color.unwrap_or(WHITE_TINT);
            Some(Paint { texture, tint, tiling: read_tiling(reading, visual)? })
        });
        let color = paint.as_ref().map(seen_color).or(color);
        let mesh = child(visual, "triangleMesh");
        let Some((mesh, file)) = mesh.and_then(|mesh| Some((mesh, reading.attribute_text(mesh, "file")?))) else {
            let Some(placed) = one_shape(reading, visual, "<visual>")? else {
                reading.problem(visual.offset, "<visual> holds no shape");
                return None;
            };
            visuals.push(Visual { placed, color, look: Look { emission, paint, corners: None } });
            continue;
        };
        let pose = optional_pose(reading, mesh)?;
        let has_own = color.is_some() || paint.is_some();
        let (parts, images, path) = read_mesh_parts(reading, mesh, file, has_own)?;
        let images = Images { reading, place: reading.attribute_offset(mesh, "file"), file, path, images };
        for MeshPart { look, shape, corners } in parts {
            let own = (color, Look { emission, paint: paint.clone(), corners: None });
            let (color, look) = if has_own { own } else { images.look_of(&look) };
            let look = Look { emission: emission.or(look.emission), corners, ..look };
            visuals.push(Visual { placed: Placed { pose, shape }, color, look });
        }
    }
    Some(visuals)
}

const WHITE_TINT: Color = Color { red: u8::MAX, green: u8::MAX, blue: u8::MAX, alpha: u8::MAX };

fn color_of(reading: &Reading, node: &Node, name: &str) -> Option<Color> {
    reading.attribute_text(node, name).and_then(|color| color.parse().ok())
}

/// Colour of a texture for viewers without textures.
fn seen_color(paint: &Paint) -> Color {
    let (mean, tint) = (paint.texture.mean_color().fractions(), paint.tint.fractions());
    Color::from_fractions([0, 1, 2, 3].map(|channel| mean[channel] * tint[channel]))
}

fn read_tiling(reading: &Reading, visual: &Node) -> Option<Tiling> {
    let pair = |x: &str, y: &str| Some([reading.attribute_real(visual, x)?, reading.attribute_real(visual, y)?]);
    match pair("textureLengthX", "textureLengthY") {
        Some(lengths) => Some(Tiling::Lengths(lengths)),
        None => pair("textureRepeatX", "textureRepeatY").map(Tiling::Repeats),
    }
}

/// The texture that an attribute describes. An unusable image is a warning.
fn read_texture(reading: &Reading, visual: &Node) -> Option<Arc<Texture>> {
    let given = reading.attribute_text(visual, "texture")?;
    if let Some(texture) = pattern_of(given) {
        return Some(Arc::new(texture));
    }
    let place = reading.attribute_offset(visual, "texture");
    let path = reading.files.beside(&reading.base_of_paths(visual), given, "robots");
    let bytes = match has_image_ending(given) {
        true => reading.files.read_bytes(&path, MAX_IMAGE_FILE).map_err(|problem| problem.message),
        false => Err(ENDINGS_HELP.to_owned()),
    };
    let found = bytes.and_then(|bytes| {
        let texture = reading.session.textures.texture_of(&path, &bytes, AlphaRule::Blend)?;
        Ok((texture, bytes))
    });
    match found {
        Ok((texture, bytes)) => keep_image(reading, place, path, bytes).then_some(texture),
        Err(why) => {
            reading.warn(place, format!("the image '{given}' cannot be used: {why}"), PLAIN_EFFECT.into());
            None
        }
    }
}

/// Keeps an image as one of the world's sources; false if there are too many.
fn keep_image(reading: &Reading, place: usize, path: String, bytes: Vec<u8>) -> bool {
    let kept = reading.session.add_source(SourceFile::of_bytes(path, bytes));
    if let Err(what) = kept {
        reading.push(Diagnostic::at(reading.path, reading.text, place, what));
        return false;
    }
    true
}

/// The images of a mesh file.
struct Images<'r, 'a> {
    reading: &'r Reading<'a>,
    /// Offset of the file's name, for messages.
    place: usize,
    file: &'r str,
    path: String,
    images: Vec<MeshImage>,
}

impl Images<'_, '_> {
    /// Colour and look of a part of the mesh. An unusable image is a warning.
    fn look_of(&self, look: &MeshLook) -> (Option<Color>, Look) {
        let paint = look.image.and_then(|image| self.images.get(image)).and_then(|image| self.paint_of(image, look));
        let color = paint.as_ref().map(seen_color).or(look.color);
        (color, Look { emission: look.emission, paint, corners: None })
    }

    fn paint_of(&self, image: &MeshImage, look: &MeshLook) -> Option<Paint> {
        let path = beside(&self.path, &image.name);
        let found = image.bytes.clone().and_then(|bytes| {
            let texture = self.reading.session.textures.texture_of(&path, &bytes, look.alpha)?;
            Ok((texture, bytes))
        });
        match found {
            Ok((texture, bytes)) => {
                let is_kept = keep_image(self.reading, self.place, path, bytes.to_vec());
                let paint =
                    Paint { texture, tint: look.color.unwrap_or(WHITE_TINT), tiling: Tiling::Repeats([1.0; 2]) };
                is_kept.then_some(paint)
            }
            Err(why) => {
                let what = format!("the image '{}' of '{}' cannot be used: {why}", image.name, self.file);
                self.reading.warn_once(self.place, what, PLAIN_EFFECT.into());
                None
            }
        }
    }
}
