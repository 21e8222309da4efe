//! Wavefront OBJ, and the materials in MTL files.

use std::{borrow::Cow, collections::HashMap};

use simpartner_model::{Color, NO_CORNER};

use super::{
    look::{MeshLook, parse_look},
    triangles::{Corner, Mesh, MeshProblem, any_text, column_of, coordinates, fan, problem, shorten, unit_normal},
};
use crate::texture::AlphaRule;

/// Reads points, normals, texture coordinates, faces and their materials; faces with more than three corners are fans
/// of triangles, and other statements are ignored.
pub(super) fn read(text: &str, beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Mesh, MeshProblem> {
    let mut mesh = Mesh::default();
    let mut materials: HashMap<String, Material> = HashMap::new();
    for (line, content) in logical_lines(text) {
        let content = content.as_ref();
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => mesh.vertices.push(coordinates(line, words)?),
            Some("vn") => {
                // A normal without a direction keeps its number.
                let normal = unit_normal(coordinates(line, words)?).unwrap_or([0.0; 3]);
                mesh.corners.normals.push(normal);
            }
            Some("vt") => mesh.corners.places.push(texture_coordinates(line, words)?),
            Some("f") => {
                let corners: Vec<Corner> = words.map(|word| corner_of(line, word, &mesh)).collect::<Result<_, _>>()?;
                if corners.len() < 3 {
                    return Err(problem(Some(line), "a face has at least three corners".into()));
                }
                for corners in fan(&corners) {
                    mesh.add_triangle(column_of(corners, 0), column_of(corners, 1), column_of(corners, 2));
                }
            }
            // The colours of a mesh are no part of its form: without their file it has none.
            Some("mtllib") => {
                let file = beside(rest_of_line(content));
                materials.extend(file.iter().flat_map(|bytes| read_materials(&any_text(bytes))));
            }
            Some("usemtl") => {
                let look = look_named(rest_of_line(content), &materials, &mut mesh, &beside);
                mesh.begin_look(look);
            }
            _ => {}
        }
    }
    mesh.drop_unused_corners();
    Ok(mesh)
}

/// The look of a material of an MTL file, or of a name that [`Mesh::to_obj`] has written.
fn look_named(
    name: &str,
    materials: &HashMap<String, Material>,
    mesh: &mut Mesh,
    beside: &impl Fn(&str) -> Option<Vec<u8>>,
) -> MeshLook {
    if let Some(material) = materials.get(name) {
        let image = material.image.as_deref().and_then(|image| mesh.image_named(image, beside));
        return MeshLook { image, ..material.mesh_look() };
    }
    let Some((look, image)) = parse_look(name) else { return MeshLook::default() };
    MeshLook { image: image.and_then(|image| mesh.image_named(image, beside)), ..look }
}

/// Two coordinates; a missing second one is 0, and others are ignored.
fn texture_coordinates<'t>(line: usize, words: impl Iterator<Item = &'t str>) -> Result<[f32; 2], MeshProblem> {
    let words: Vec<&str> = words.take(2).collect();
    let at = |index: usize| match words.get(index) {
        Some(word) => {
            word.parse::<f32>().map_err(|_| problem(Some(line), format!("expected a number, got '{}'", shorten(word))))
        }
        None => Ok(0.0),
    };
    Ok([at(0)?, at(1)?].map(|place| if place.is_finite() { place } else { 0.0 }))
}

/// The logical lines with their numbers from 1. A line that ends with a backslash continues in the next one.
fn logical_lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, first) = lines.next()?;
        let Some(begun) = first.trim_end().strip_suffix('\\') else { return Some((index + 1, first.into())) };
        let mut whole = begun.to_owned();
        for (_, next) in lines.by_ref() {
            whole.push(' ');
            match next.trim_end().strip_suffix('\\') {
                Some(part) => whole.push_str(part),
                None => {
                    whole.push_str(next);
                    break;
                }
            }
        }
        Some((index + 1, whole.into()))
    })
}

/// The rest of a line behind its first word.
fn rest_of_line(content: &str) -> &str {
    content.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim())
}

/// Parses a corner of a face: `point/texture/normal`. Each is a number from 1, or negative from the last one; a texture
/// coordinate or normal that is not there counts as none.
fn corner_of(line: usize, word: &str, mesh: &Mesh) -> Result<Corner, MeshProblem> {
    let mut numbers = word.split('/');
    let point = index_of(numbers.next().unwrap_or_default(), mesh.vertices.len()).ok_or_else(|| {
        let count = mesh.vertices.len();
        problem(Some(line), format!("expected one of the {count} points before it, got '{}'", shorten(word)))
    })?;
    let mut other = |count: usize| numbers.next().and_then(|number| index_of(number, count)).unwrap_or(NO_CORNER);
    let place = other(mesh.corners.places.len());
    let normal = other(mesh.corners.normals.len());
    Ok([point, normal, place])
}

fn index_of(number: &str, count: usize) -> Option<u32> {
    let index = match number.parse::<i64>().ok()? {
        index @ 1.. => index - 1,
        0 => return None,
        index => (count as i64).checked_add(index)?,
    };
    (0..count as i64).contains(&index).then_some(index as u32)
}

/// Material of an MTL file.
struct Material {
    /// Diffuse colour; `None` if the file has none.
    diffuse: Option<[f64; 3]>,
    opacity: f64,
    emission: [f64; 3],
    image: Option<String>,
    /// True if an image has the opacity.
    has_holes: bool,
}

impl Material {
    fn mesh_look(&self) -> MeshLook {
        // Programs write black beside an image.
        let missing = if self.image.is_some() { [1.0; 3] } else { [0.8; 3] };
        let diffuse = self.diffuse.filter(|color| self.image.is_none() || *color != [0.0; 3]).unwrap_or(missing);
        let color = |[red, green, blue]: [f64; 3], alpha: f64| Color::from_fractions([red, green, blue, alpha]);
        let emission = (self.emission != [0.0; 3]).then(|| color(self.emission, 1.0));
        let alpha = if self.image.is_some() && self.has_holes { AlphaRule::Blend } else { AlphaRule::Opaque };
        MeshLook { color: Some(color(diffuse, self.opacity)), emission, image: None, alpha }
    }
}

/// The materials of an MTL file by name.
fn read_materials(text: &str) -> Vec<(String, Material)> {
    let mut materials: Vec<(String, Material)> = Vec::new();
    for content in text.lines() {
        let numbers = || rest_of_line(content).split_ascii_whitespace().map_while(|word| word.parse::<f64>().ok());
        let three = |mut color: [f64; 3]| {
            color.iter_mut().zip(numbers()).for_each(|(to, from)| *to = from);
            color
        };
        match (content.split_ascii_whitespace().next(), materials.last_mut()) {
            (Some("newmtl"), _) => {
                let fresh = Material { diffuse: None, opacity: 1.0, emission: [0.0; 3], image: None, has_holes: false };
                materials.push((rest_of_line(content).to_owned(), fresh));
            }
            (Some("Kd"), Some((_, material))) => material.diffuse = Some(three([0.8; 3])),
            (Some("Ke"), Some((_, material))) => material.emission = three([0.0; 3]),
            (Some("d"), Some((_, material))) => material.opacity = numbers().next().unwrap_or(1.0),
            (Some("Tr"), Some((_, material))) => material.opacity = 1.0 - numbers().next().unwrap_or(0.0),
            (Some("map_d"), Some((_, material))) => material.has_holes = true,
            (Some("map_Kd"), Some((_, material))) => material.image = image_of(rest_of_line(content)),
            _ => {}
        }
    }
    materials
}

/// The name of an image behind its options.
fn image_of(statement: &str) -> Option<String> {
    let mut rest = statement.trim();
    while let Some(option) = rest.strip_prefix('-') {
        let mut words = option.split_ascii_whitespace();
        let arguments = match words.next()? {
            "mm" => 2,
            "o" | "s" | "t" => 3,
            _ => 1,
        };
        rest = rest.trim_start();
        // The option and its arguments; those of the scale may be fewer than three numbers.
        for place in 0..=arguments {
            let (word, others) = rest.split_once(char::is_whitespace)?;
            let is_number = word.parse::<f64>().is_ok();
            if place > 1 && arguments == 3 && !is_number {
                break;
            }
            rest = others.trim_start();
        }
    }
    (!rest.is_empty()).then(|| rest.to_owned())
}
