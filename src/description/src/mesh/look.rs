//! Looks of the parts of a mesh, and the images that they name.

use std::{fmt, sync::Arc};

use simpartner_model::Color;

use crate::texture::{self, AlphaRule};

/// Look of triangles of a mesh file.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeshLook {
    /// Colour; with an image the colour by which that is multiplied. `None` leaves the choice to the viewer.
    pub color: Option<Color>,
    /// Emitted light; `None` for none.
    pub emission: Option<Color>,
    /// Index of its image in the mesh.
    pub image: Option<usize>,
    /// Use of the opacity of the image.
    pub alpha: AlphaRule,
}

/// An image that a mesh names, or that its file contains.
#[derive(Debug, Clone)]
pub struct MeshImage {
    /// Its path seen from the mesh file.
    pub name: String,
    /// Its name in the file, which may be spelled otherwise.
    pub(super) given: String,
    /// Its bytes as a PNG or JPEG file; or the reason why there are none, as the end of a sentence.
    pub bytes: Result<Arc<[u8]>, String>,
}

/// Images are equal if their names are: a mesh that is read again from its text finds them by these.
impl PartialEq for MeshImage {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Finds an image file by its name, as it is or with percent-encoding and backslashes decoded.
pub(super) fn find_image(given: &str, beside: &impl Fn(&str) -> Option<Vec<u8>>) -> MeshImage {
    let name = given.trim();
    let name = name.strip_prefix("file://").unwrap_or(name);
    let refuse = |why: &str| MeshImage { name: name.to_owned(), given: given.to_owned(), bytes: Err(why.to_owned()) };
    // Before it is opened: reading some files of the system has effects, or never ends.
    if !texture::has_image_ending(name) {
        return refuse(texture::ENDINGS_HELP);
    }
    if name.contains(['\n', '\r']) {
        return refuse("its name has a line break");
    }
    let decoded = crate::text::encoding::percent_decoded(name);
    let slashes = [name.replace('\\', "/"), decoded.replace('\\', "/")];
    let spellings = [name, &decoded, &slashes[0], &slashes[1]];
    let found = spellings.into_iter().find_map(|spelling| Some((spelling, beside(spelling)?)));
    match found {
        Some((spelling, bytes)) => {
            MeshImage { name: spelling.to_owned(), given: given.to_owned(), bytes: Ok(bytes.into()) }
        }
        None => refuse("there is no such file that can be read"),
    }
}

/// The name of a material of this look in an OBJ file: colour, emitted light, opacity rule, image.
pub(super) struct LookName<'m>(pub(super) MeshLook, pub(super) &'m [MeshImage]);

impl fmt::Display for LookName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(look, images) = self;
        match look.color {
            Some(color) => write!(formatter, "{color}")?,
            None => formatter.write_str("none")?,
        }
        if let Some(emission) = look.emission {
            write!(formatter, " emission={emission}")?;
        }
        match look.alpha {
            AlphaRule::Opaque => {}
            AlphaRule::Blend => formatter.write_str(" alpha=blend")?,
            AlphaRule::Cutoff(least) => write!(formatter, " alpha={least}")?,
        }
        match look.image.and_then(|image| images.get(image)).filter(|image| image.bytes.is_ok()) {
            Some(image) => write!(formatter, " image={}", image.name),
            None => Ok(()),
        }
    }
}

/// The look of a name of [`LookName`], and the name of its image. `None` for the name of any other material.
pub(super) fn parse_look(name: &str) -> Option<(MeshLook, Option<&str>)> {
    let (first, mut rest) = name.split_once(' ').unwrap_or((name, ""));
    let color = if first == "none" { None } else { Some(first.parse().ok()?) };
    let mut look = MeshLook { color, ..MeshLook::default() };
    while !rest.is_empty() {
        if let Some(image) = rest.strip_prefix("image=") {
            return Some((look, Some(image)));
        }
        let (word, others) = rest.split_once(' ').unwrap_or((rest, ""));
        match word.split_once('=')? {
            ("emission", color) => look.emission = Some(color.parse().ok()?),
            ("alpha", "blend") => look.alpha = AlphaRule::Blend,
            ("alpha", least) => look.alpha = AlphaRule::Cutoff(least.parse().ok()?),
            _ => return None,
        }
        rest = others;
    }
    Some((look, None))
}

/// The sRGB component of a linear one from 0 to 1 (IEC 61966-2-1).
pub(super) fn srgb_component(light: f64) -> f64 {
    if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }
}
