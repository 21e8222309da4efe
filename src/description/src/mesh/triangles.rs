//! Triangle meshes with colours, and common parts of the readers of all formats.

use std::{borrow::Cow, fmt::Write, ops::Range};

use bevy_math::DVec3;
use simpartner_model::{Color, Corners, NO_CORNER, Norm};

use super::look::{LookName, MeshImage, MeshLook, find_image};
use crate::{
    limits::{MAX_IMAGE_FILE, MAX_TRIANGLES},
    text::encoding,
};

/// Images of a mesh file, and their bytes: files of the largest permitted size.
const MAX_IMAGES: usize = 256;
const MAX_IMAGE_BYTES: usize = 2 * MAX_IMAGE_FILE;

/// Triangles between points.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// The points, in the file's unit.
    pub vertices: Vec<DVec3>,
    /// Three indices of points each, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Normals and texture coordinates.
    pub(crate) corners: Corners,
    /// Images of its looks.
    pub(crate) images: Vec<MeshImage>,
    /// The index of the first triangle of each look, and that look, in the order of the triangles; those before the
    /// first have the default.
    pub(super) looks: Vec<(usize, MeshLook)>,
    /// A statement of its file that has no effect here, as a sentence.
    pub(super) remark: Option<&'static str>,
}

/// Meshes are equal if shape and looks are.
impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        (&self.vertices, &self.triangles, &self.looks) == (&other.vertices, &other.triangles, &other.looks)
            && (&self.corners, &self.images) == (&other.corners, &other.images)
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
    /// looks, with the names of their images.
    pub fn to_obj(&self) -> String {
        let mut text = String::with_capacity(32 * (self.vertices.len() + self.triangles.len()));
        for vertex in &self.vertices {
            let _ = writeln!(text, "v {} {} {}", vertex.x, vertex.y, vertex.z);
        }
        for [u, v] in &self.corners.places {
            let _ = writeln!(text, "vt {u} {v}");
        }
        for [x, y, z] in &self.corners.normals {
            let _ = writeln!(text, "vn {x} {y} {z}");
        }
        for (look, range) in self.looks() {
            if !self.looks.is_empty() {
                let _ = writeln!(text, "usemtl {}", LookName(look, &self.images));
            }
            for index in range {
                self.write_face(index, &mut text);
            }
        }
        text
    }

    fn write_face(&self, index: usize, text: &mut String) {
        let given = |list: &[[u32; 3]]| list.get(index).copied().unwrap_or([NO_CORNER; 3]);
        let (places, normals) = (given(&self.corners.places_of), given(&self.corners.normals_of));
        text.push('f');
        for ((point, place), normal) in self.triangles[index].iter().zip(places).zip(normals) {
            let _ = match (place, normal) {
                (NO_CORNER, NO_CORNER) => write!(text, " {}", point + 1),
                (_, NO_CORNER) => write!(text, " {}/{}", point + 1, place + 1),
                (NO_CORNER, _) => write!(text, " {}//{}", point + 1, normal + 1),
                _ => write!(text, " {}/{}/{}", point + 1, place + 1, normal + 1),
            };
        }
        text.push('\n');
    }

    /// Its triangles by their colours, in the order of the file.
    pub fn parts(&self) -> impl Iterator<Item = (Option<Color>, &[[u32; 3]])> {
        self.looks().map(|(look, range)| (look.color, &self.triangles[range]))
    }

    /// The looks of its triangles, in the order of the file.
    pub fn looks(&self) -> impl Iterator<Item = (MeshLook, Range<usize>)> {
        let first = self.looks.first().map_or(self.triangles.len(), |(start, _)| *start);
        let ends = self.looks.iter().skip(1).map(|(start, _)| *start).chain([self.triangles.len()]);
        let others = self.looks.iter().zip(ends).map(|(&(start, look), end)| (look, start..end));
        [(MeshLook::default(), 0..first)].into_iter().chain(others).filter(|(_, range)| !range.is_empty())
    }

    /// Starts a look for the following triangles.
    pub(super) fn begin_look(&mut self, look: MeshLook) {
        let start = self.triangles.len();
        if self.looks.last().is_some_and(|(begun, _)| *begun == start) {
            self.looks.pop();
        }
        if self.looks.last().map_or(look != MeshLook::default(), |(_, current)| *current != look) {
            self.looks.push((start, look));
        }
    }

    /// Forgets lists of normals and texture coordinates that no triangle uses.
    pub(super) fn drop_unused_corners(&mut self) {
        if self.corners.normals_of.is_empty() {
            self.corners.normals = Vec::new();
        }
        if self.corners.places_of.is_empty() {
            self.corners.places = Vec::new();
        }
    }

    /// The index of an image that the file names; each is read once. `None` beyond the permitted number.
    pub(super) fn image_named(&mut self, given: &str, beside: &impl Fn(&str) -> Option<Vec<u8>>) -> Option<usize> {
        match self.images.iter().position(|known| known.given == given) {
            Some(known) => Some(known),
            None if self.images.len() >= MAX_IMAGES => None,
            None => self.add_image(find_image(given, beside)),
        }
    }

    /// The index of an image. `None` beyond the permitted number.
    pub(super) fn add_image(&mut self, mut image: MeshImage) -> Option<usize> {
        if self.images.len() >= MAX_IMAGES {
            return None;
        }
        let all = self.images.iter().flat_map(|image| &image.bytes).map(|bytes| bytes.len()).sum::<usize>();
        if image.bytes.as_ref().is_ok_and(|bytes| all.saturating_add(bytes.len()) > MAX_IMAGE_BYTES) {
            image.bytes = Err(format!("the images of the mesh have more than {MAX_IMAGE_BYTES} bytes"));
        }
        self.images.push(image);
        Some(self.images.len() - 1)
    }

    /// Adds a triangle with its normals and texture coordinates, [`NO_CORNER`] for none.
    pub(super) fn add_triangle(&mut self, points: [u32; 3], normals: [u32; 3], places: [u32; 3]) {
        let index = self.triangles.len();
        self.triangles.push(points);
        for (list, given) in [(&mut self.corners.normals_of, normals), (&mut self.corners.places_of, places)] {
            if given != [NO_CORNER; 3] {
                list.resize(index, [NO_CORNER; 3]);
                list.push(given);
            }
        }
    }
}

/// A corner of a polygon: indices of its point, normal and texture coordinate.
pub(super) type Corner = [u32; 3];

/// The indices of one kind of three corners.
pub(super) fn column_of(corners: [Corner; 3], kind: usize) -> [u32; 3] {
    corners.map(|corner| corner[kind])
}

/// A direction of any length as a unit vector in f32; `None` for one without a direction.
pub(super) fn unit_normal(normal: DVec3) -> Option<[f32; 3]> {
    let unit = normal.try_normalized().filter(|unit| unit.is_finite())?;
    Some(unit.as_vec3().to_array())
}

/// The triangles of a polygon about its first corner.
pub(super) fn fan<C: Copy>(corners: &[C]) -> Vec<[C; 3]> {
    corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]).collect()
}

/// The triangles of a strip, in which every second one is reversed.
pub(super) fn strip<C: Copy>(corners: &[C]) -> Vec<[C; 3]> {
    let turned = |(index, three): (usize, &[C])| match index % 2 {
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
