//! The materials that an instance of a geometry binds.

use std::collections::HashMap;

use simpartner_model::Color;

use super::{Document, attribute, children_named};
use crate::{
    mesh::{
        MeshImage,
        look::{MeshLook, find_image},
    },
    text::tree::{Node, child},
    texture::AlphaRule,
};

impl<'t> Document<'t> {
    /// The looks of the materials of an instance, by the symbols that its geometry has for them.
    pub(super) fn bound_looks(&mut self, instance: &'t Node) -> HashMap<&'t str, MeshLook> {
        let bound = child(instance, "bind_material").and_then(|bind| child(bind, "technique_common"));
        let instances = bound.into_iter().flat_map(|common| children_named(common, "instance_material"));
        instances.filter_map(|material| Some((attribute(material, "symbol")?, self.look_of(material)?))).collect()
    }

    /// Diffuse or emissive colour, image, emitted light and opacity. A shader of the kind `constant` has no light but
    /// its emitted one, which counts as its colour.
    fn look_of(&mut self, instance: &'t Node) -> Option<MeshLook> {
        let material = self.target(instance, "target").ok()?;
        let effect = self.target(child(material, "instance_effect")?, "url").ok()?;
        let profile = child(effect, "profile_COMMON")?;
        let shader = child(profile, "technique")?
            .children
            .iter()
            .find(|node| ["phong", "blinn", "lambert", "constant"].contains(&&*node.name))?;
        let color = |tag: &str| -> Option<Vec<f64>> {
            let numbers: Vec<f64> = self.numbers(child(child(shader, tag)?, "color")?).ok()?;
            (numbers.len() >= 3).then_some(numbers)
        };
        let opacity = self.opacity_of(shader);
        let emitted = color("emission");
        let diffuse = color("diffuse");
        let emission = emitted.as_ref().filter(|parts| diffuse.is_some() && parts[..3].iter().any(|part| *part > 0.0));
        let rgb = |parts: &Vec<f64>, alpha: f64| Color::from_fractions([parts[0], parts[1], parts[2], alpha]);
        let look = MeshLook {
            color: diffuse.as_ref().or(emitted.as_ref()).map(|parts| rgb(parts, opacity)),
            emission: emission.map(|parts| rgb(parts, 1.0)),
            ..MeshLook::default()
        };
        let texture = |tag: &str| child(shader, tag).and_then(|light| child(light, "texture"));
        let Some(name) = texture("diffuse")
            .or_else(|| texture("emission"))
            .and_then(|texture| self.image_of(profile, attribute(texture, "texture")?))
        else {
            return Some(look).filter(|look| *look != MeshLook::default());
        };
        let known = self.mesh.images.iter().position(|known| known.given == name);
        let image = known.or_else(|| {
            let image: MeshImage = find_image(name, &self.beside);
            self.mesh.add_image(image)
        });
        let color = Some(Color::from_fractions([1.0, 1.0, 1.0, opacity])).filter(|_| image.is_some());
        let has_holes = opacity < 1.0 || texture("transparent").is_some();
        let alpha = if has_holes && image.is_some() { AlphaRule::Blend } else { AlphaRule::Opaque };
        Some(MeshLook { color, image, alpha, emission: None })
    }

    /// Opacity by `<transparent>` and `<transparency>`. Programs write what would be invisible for opaque surfaces.
    fn opacity_of(&self, shader: &Node) -> f64 {
        let Some(transparent) = child(shader, "transparent") else { return 1.0 };
        let numbers = |node: &Node| self.numbers::<f64>(node).unwrap_or_default();
        let Some(&[red, green, blue, alpha]) =
            child(transparent, "color").map(numbers).as_deref().and_then(|parts| parts.first_chunk::<4>())
        else {
            return 1.0;
        };
        let float = child(shader, "transparency").and_then(|share| child(share, "float"));
        let share = float.map(numbers).and_then(|parts| parts.first().copied()).unwrap_or(1.0);
        // Weights of the standard (COLLADA 1.5, chapter 7).
        let luminance = 0.212_671 * red + 0.715_160 * green + 0.072_169 * blue;
        let opacity = match attribute(transparent, "opaque") {
            Some("RGB_ZERO") => 1.0 - luminance * share,
            Some("RGB_ONE") => luminance * share,
            Some("A_ZERO") => 1.0 - alpha * share,
            _ => alpha * share,
        };
        if opacity > 0.0 && opacity < 1.0 { opacity } else { 1.0 }
    }

    /// The name of the image file behind a sampler, a surface, or the id of an image.
    fn image_of(&self, profile: &'t Node, name: &'t str) -> Option<&'t str> {
        let parameter =
            |sid: &str| children_named(profile, "newparam").find(|parameter| attribute(parameter, "sid") == Some(sid));
        let sampler = parameter(name).and_then(|parameter| child(parameter, "sampler2D"));
        let instance = sampler.and_then(|sampler| child(sampler, "instance_image"));
        if let Some(instance) = instance {
            return file_of(self.target(instance, "url").ok()?);
        }
        let surface = sampler.and_then(|sampler| child(sampler, "source")).map(|source| source.text.trim());
        let init = surface
            .and_then(parameter)
            .and_then(|parameter| child(child(parameter, "surface")?, "init_from"))
            .map(|init| init.text.trim());
        file_of(self.ids.get(init.unwrap_or(name)).copied()?)
    }
}

/// The file of an `<image>`.
fn file_of(image: &Node) -> Option<&str> {
    let init = child(image, "init_from").filter(|_| image.name == "image")?;
    let path = child(init, "ref").unwrap_or(init).text.trim();
    (!path.is_empty()).then_some(path)
}
