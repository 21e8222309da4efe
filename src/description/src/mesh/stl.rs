//! STL: triangles only, as text or binary.

use std::collections::HashMap;

use bevy_math::DVec3;

use super::triangles::{Mesh, MeshProblem, any_text, coordinates, problem};

/// Bytes of a binary file before its triangles, and of each of these.
const HEADER_BYTES: usize = 84;
const TRIANGLE_BYTES: usize = 50;

/// Reads a file of either variant.
pub(super) fn read(bytes: &[u8]) -> Result<Mesh, MeshProblem> {
    if is_binary(bytes) { Ok(read_binary(bytes)) } else { read_text(&any_text(bytes)) }
}

/// True if the length matches the number of triangles in a binary file's header; text may begin like either variant.
fn is_binary(bytes: &[u8]) -> bool {
    let fits = |count: usize| HEADER_BYTES + TRIANGLE_BYTES * count <= bytes.len();
    count_of(bytes).is_some_and(fits) && (!bytes.starts_with(b"solid") || std::str::from_utf8(bytes).is_err())
}

fn count_of(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(HEADER_BYTES - 4..HEADER_BYTES)?;
    Some(u32::from_le_bytes(count.try_into().ok()?) as usize)
}

fn read_binary(bytes: &[u8]) -> Mesh {
    let (count, mut corners) = (count_of(bytes).unwrap_or(0), Corners::default());
    for triangle in bytes[HEADER_BYTES..].chunks_exact(TRIANGLE_BYTES).take(count) {
        // Behind the normal.
        let numbers =
            triangle[12..48].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        let numbers: Vec<f64> = numbers.map(f64::from).collect();
        numbers.chunks_exact(3).for_each(|point| corners.add(DVec3::from_slice(point)));
    }
    corners.mesh
}

fn read_text(text: &str) -> Result<Mesh, MeshProblem> {
    let start = text.trim_start();
    if !start.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("solid")) {
        return Err(problem(
            None,
            "the file is neither a text STL file, which begins with 'solid', nor a whole binary one".into(),
        ));
    }
    let mut corners = Corners::default();
    for (line, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content)) {
        let mut words = content.split_ascii_whitespace();
        // The format's description has its keywords in small letters, and programs write capitals.
        let Some(word) = words.next().map(str::to_ascii_lowercase) else { continue };
        match word.as_str() {
            "vertex" => corners.add(coordinates(line, words)?),
            "endloop" if corners.open != 0 => {
                return Err(problem(Some(line), "a triangle has three corners".into()));
            }
            _ => {}
        }
    }
    Ok(corners.mesh)
}

/// A binary file.
pub(super) fn write(mesh: &Mesh) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES - 4];
    bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|corner| mesh.vertices[corner as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for vector in [normal, a, b, c] {
            bytes.extend(vector.to_array().iter().flat_map(|number| (*number as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

/// Corners of triangles in sequence; equal positions become one point.
#[derive(Default)]
struct Corners {
    mesh: Mesh,
    /// Corners of the incomplete triangle.
    open: usize,
    corner: [u32; 3],
    places: HashMap<[u64; 3], u32>,
}

impl Corners {
    fn add(&mut self, point: DVec3) {
        // Positive and negative zero are equal.
        let bits = (point + DVec3::ZERO).to_array().map(f64::to_bits);
        let vertices = &mut self.mesh.vertices;
        self.corner[self.open] = *self.places.entry(bits).or_insert_with(|| {
            vertices.push(point);
            vertices.len() as u32 - 1
        });
        self.open += 1;
        if self.open == 3 {
            self.open = 0;
            self.mesh.triangles.push(self.corner);
        }
    }
}
