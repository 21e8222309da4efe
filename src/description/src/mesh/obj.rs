//! Wavefront OBJ, and the colours in MTL files.

use std::{borrow::Cow, collections::HashMap};

use simpartner_model::Color;

use super::triangles::{Mesh, MeshProblem, any_text, coordinates, fan, problem, shorten};

/// Reads points, faces and their materials; faces with more than three corners are fans of triangles, and other
/// statements are ignored.
pub(super) fn read(text: &str, beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Mesh, MeshProblem> {
    let (mut mesh, mut materials) = (Mesh::default(), HashMap::new());
    for (line, content) in logical_lines(text) {
        let content = content.as_ref();
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => mesh.vertices.push(coordinates(line, words)?),
            Some("f") => {
                let corners: Vec<u32> =
                    words.map(|word| index_of(line, word, mesh.vertices.len())).collect::<Result<_, _>>()?;
                if corners.len() < 3 {
                    return Err(problem(Some(line), "a face has at least three corners".into()));
                }
                mesh.triangles.extend(fan(&corners));
            }
            // The colours of a mesh are no part of its form: without their file it has none.
            Some("mtllib") => {
                let file = beside(rest_of_line(content));
                materials.extend(file.iter().flat_map(|bytes| read_materials(&any_text(bytes))));
            }
            Some("usemtl") => {
                let name = rest_of_line(content);
                mesh.begin_color(materials.get(name).copied().or_else(|| name.parse().ok()));
            }
            _ => {}
        }
    }
    Ok(mesh)
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

/// Parses a corner of a face: a point by its number from 1, or negative from the last one, before the numbers of
/// texture and normal.
fn index_of(line: usize, word: &str, count: usize) -> Result<u32, MeshProblem> {
    let number = word.split('/').next().unwrap_or_default();
    let index = number.parse::<i64>().ok().and_then(|index| match index {
        1.. => Some(index - 1),
        0 => None,
        _ => (count as i64).checked_add(index),
    });
    let index = index.filter(|index| (0..count as i64).contains(index));
    index.map(|index| index as u32).ok_or_else(|| {
        problem(Some(line), format!("expected one of the {count} points before it, got '{}'", shorten(word)))
    })
}

/// The colours of an MTL file by name: diffuse colour and opacity of its materials.
fn read_materials(text: &str) -> Vec<(String, Color)> {
    let mut materials: Vec<(String, [f64; 4])> = Vec::new();
    for content in text.lines() {
        let numbers = || rest_of_line(content).split_ascii_whitespace().map_while(|word| word.parse::<f64>().ok());
        let first = content.split_ascii_whitespace().next();
        match (first, materials.last_mut()) {
            (Some("newmtl"), _) => materials.push((rest_of_line(content).to_owned(), [0.8, 0.8, 0.8, 1.0])),
            (Some("Kd"), Some((_, color))) => color.iter_mut().zip(numbers().take(3)).for_each(|(to, from)| *to = from),
            (Some("d"), Some((_, color))) => color[3] = numbers().next().unwrap_or(1.0),
            (Some("Tr"), Some((_, color))) => color[3] = 1.0 - numbers().next().unwrap_or(0.0),
            _ => {}
        }
    }
    materials.into_iter().map(|(name, color)| (name, Color::from_fractions(color))).collect()
}
