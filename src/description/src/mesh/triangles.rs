//! Triangle meshes with colours, and common parts of the readers of all formats.

use std::{borrow::Cow, fmt::Write};

use bevy_math::DVec3;
use simpartner_model::Color;

use crate::{limits::MAX_TRIANGLES, text::encoding};

/// Triangles between points.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// The points, in the file's unit.
    pub vertices: Vec<DVec3>,
    /// Three indices of points each, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// The index of the first triangle of each colour, and that colour, in the order of the triangles; those before the
    /// first have none.
    pub(super) colors: Vec<(usize, Option<Color>)>,
    /// A statement of its file that has no effect here, as a sentence.
    pub(super) remark: Option<&'static str>,
}

/// Meshes are equal if shape and colours are.
impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        (&self.vertices, &self.triangles, &self.colors) == (&other.vertices, &other.triangles, &other.colors)
    }
}

/// A problem of a mesh file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshProblem {
    /// The line, counted from 1; of a binary file `None`.
    pub line: Option<usize>,
    /// The problem, as a sentence.
    pub what: String,
}

impl Mesh {
    /// A mesh without colours.
    pub fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { vertices, triangles, ..Self::default() }
    }

    /// A statement of its file that has no effect here, as a sentence.
    pub fn remark(&self) -> Option<&str> {
        self.remark
    }

    /// As the text of an OBJ file, from which the same mesh is read, bit for bit. The names of its materials are their
    /// colours.
    pub fn to_obj(&self) -> String {
        let mut text = String::with_capacity(32 * (self.vertices.len() + self.triangles.len()));
        for vertex in &self.vertices {
            let _ = writeln!(text, "v {} {} {}", vertex.x, vertex.y, vertex.z);
        }
        for (color, triangles) in self.parts() {
            match color {
                Some(color) => text.push_str(&format!("usemtl {color}\n")),
                None if self.colors.is_empty() => {}
                None => text.push_str("usemtl none\n"),
            }
            for [a, b, c] in triangles {
                let _ = writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1);
            }
        }
        text
    }

    /// Its triangles by their colours, in the order of the file.
    pub fn parts(&self) -> impl Iterator<Item = (Option<Color>, &[[u32; 3]])> {
        let first = self.colors.first().map_or(self.triangles.len(), |(start, _)| *start);
        let ends = self.colors.iter().skip(1).map(|(start, _)| *start).chain([self.triangles.len()]);
        let colored = self.colors.iter().zip(ends).map(|(&(start, color), end)| (color, start..end));
        let all = [(None, 0..first)].into_iter().chain(colored);
        all.filter(|(_, range)| !range.is_empty()).map(|(color, range)| (color, &self.triangles[range]))
    }

    /// Starts a colour for the following triangles.
    pub(super) fn begin_color(&mut self, color: Option<Color>) {
        let start = self.triangles.len();
        if self.colors.last().is_some_and(|(begun, _)| *begun == start) {
            self.colors.pop();
        }
        if self.colors.last().map_or(color.is_some(), |(_, current)| *current != color) {
            self.colors.push((start, color));
        }
    }
}

/// The triangles of a polygon about its first corner.
pub(super) fn fan(corners: &[u32]) -> Vec<[u32; 3]> {
    corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]).collect()
}

/// The triangles of a strip, in which every second one is reversed.
pub(super) fn strip(corners: &[u32]) -> Vec<[u32; 3]> {
    let turned = |(index, three): (usize, &[u32])| match index % 2 {
        0 => [three[0], three[1], three[2]],
        _ => [three[1], three[0], three[2]],
    };
    corners.windows(3).enumerate().map(turned).collect()
}

pub(super) fn problem(line: Option<usize>, what: String) -> MeshProblem {
    MeshProblem { line, what }
}

pub(super) fn too_many_triangles() -> MeshProblem {
    problem(None, format!("the file holds more than {MAX_TRIANGLES} triangles; simplify the mesh"))
}

/// Decodes a text in which only ASCII is significant; comments and names may contain anything.
pub(super) fn any_text(bytes: &[u8]) -> Cow<'_, str> {
    encoding::decode(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes))
}

pub(super) fn coordinates<'t>(line: usize, mut words: impl Iterator<Item = &'t str>) -> Result<DVec3, MeshProblem> {
    let mut point = [0.0; 3];
    for coordinate in &mut point {
        let word = words.next().ok_or_else(|| problem(Some(line), "expected three coordinates".into()))?;
        *coordinate =
            word.parse().map_err(|_| problem(Some(line), format!("expected a number, got '{}'", shorten(word))))?;
    }
    Ok(DVec3::from_array(point))
}

pub(super) fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}
