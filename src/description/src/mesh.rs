//! Mesh files: Wavefront OBJ and STL, the latter as text or binary.
//!
//! Both are read here because a file is input like any other: a message names the line, and what a binary file claims to hold is held
//! against its length before any memory is taken.

use std::{collections::HashMap, fmt::Write};

use bevy_math::DVec3;

/// Bytes of an STL file before its triangles, and of each of these.
const STL_HEADER: usize = 84;
const STL_TRIANGLE: usize = 50;

/// Triangles between points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mesh {
    /// The points, in the file's unit.
    pub vertices: Vec<DVec3>,
    /// Three indices of points each, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// What is wrong with a mesh file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshProblem {
    /// The line, counted from 1; of a binary file `None`.
    pub line: Option<usize>,
    /// What, in a sentence.
    pub what: String,
}

/// The endings of the names of files that can be read.
pub const ENDINGS: [&str; 2] = ["obj", "stl"];

impl Mesh {
    /// Reads the contents of a file; its name's ending says of which kind it is.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, MeshProblem> {
        let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let mesh = match ending.as_str() {
            "obj" => read_obj(text(bytes)?)?,
            "stl" if is_binary_stl(bytes) => read_binary_stl(bytes)?,
            "stl" => read_text_stl(text(bytes)?)?,
            _ => return Err(problem(None, format!("a mesh file ends with .{}", ENDINGS.join(" or .")))),
        };
        match mesh.vertices.iter().position(|vertex| !vertex.is_finite()) {
            Some(index) => Err(problem(None, format!("point {} is not finite", index + 1))),
            None if mesh.vertices.is_empty() => Err(problem(None, "the file holds no points".into())),
            None => Ok(mesh),
        }
    }

    /// As the text of an OBJ file, from which the same mesh is read, bit for bit.
    pub fn to_obj(&self) -> String {
        let mut text = String::with_capacity(32 * (self.vertices.len() + self.triangles.len()));
        for vertex in &self.vertices {
            let _ = writeln!(text, "v {} {} {}", vertex.x, vertex.y, vertex.z);
        }
        for [a, b, c] in &self.triangles {
            let _ = writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1);
        }
        text
    }
}

fn problem(line: Option<usize>, what: String) -> MeshProblem {
    MeshProblem { line, what }
}

fn text(bytes: &[u8]) -> Result<&str, MeshProblem> {
    std::str::from_utf8(bytes).map_err(|_| problem(None, "the file is neither text nor a binary STL file".into()))
}

fn coordinates<'t>(line: usize, mut words: impl Iterator<Item = &'t str>) -> Result<DVec3, MeshProblem> {
    let mut point = [0.0; 3];
    for coordinate in &mut point {
        let word = words.next().ok_or_else(|| problem(Some(line), "expected three coordinates".into()))?;
        *coordinate =
            word.parse().map_err(|_| problem(Some(line), format!("expected a number, got '{}'", shorten(word))))?;
    }
    Ok(DVec3::from_array(point))
}

fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Points and faces; faces of more corners are fans of triangles, and everything else in the file is for pictures.
fn read_obj(text: &str) -> Result<Mesh, MeshProblem> {
    let mut mesh = Mesh::default();
    for (line, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content)) {
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => mesh.vertices.push(coordinates(line, words)?),
            Some("f") => {
                let corners: Vec<u32> =
                    words.map(|word| obj_index(line, word, mesh.vertices.len())).collect::<Result<_, _>>()?;
                if corners.len() < 3 {
                    return Err(problem(Some(line), "a face has at least three corners".into()));
                }
                mesh.triangles.extend(corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]));
            }
            _ => {}
        }
    }
    Ok(mesh)
}

/// A corner of a face: a point by its number from 1, or counted back from the last one, before the numbers of texture and normal.
fn obj_index(line: usize, word: &str, count: usize) -> Result<u32, MeshProblem> {
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

/// Whether the length is what the number of triangles in a binary file's header asks for; text may begin like either.
fn is_binary_stl(bytes: &[u8]) -> bool {
    let fits = |count: usize| STL_HEADER + STL_TRIANGLE * count <= bytes.len();
    stl_count(bytes).is_some_and(fits) && (!bytes.starts_with(b"solid") || std::str::from_utf8(bytes).is_err())
}

fn stl_count(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(STL_HEADER - 4..STL_HEADER)?;
    Some(u32::from_le_bytes(count.try_into().ok()?) as usize)
}

fn read_binary_stl(bytes: &[u8]) -> Result<Mesh, MeshProblem> {
    let (count, mut corners) = (stl_count(bytes).unwrap_or(0), Corners::default());
    for triangle in bytes[STL_HEADER..].chunks_exact(STL_TRIANGLE).take(count) {
        // Behind the normal.
        let numbers =
            triangle[12..48].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        let numbers: Vec<f64> = numbers.map(f64::from).collect();
        numbers.chunks_exact(3).for_each(|point| corners.add(DVec3::from_slice(point)));
    }
    Ok(corners.mesh)
}

fn read_text_stl(text: &str) -> Result<Mesh, MeshProblem> {
    if !text.trim_start().starts_with("solid") {
        return Err(problem(
            None,
            "the file is neither a text STL file, which begins with 'solid', nor a whole binary one".into(),
        ));
    }
    let mut corners = Corners::default();
    for (line, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content)) {
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("vertex") => corners.add(coordinates(line, words)?),
            Some("endloop") if corners.open != 0 => {
                return Err(problem(Some(line), "a triangle has three corners".into()));
            }
            _ => {}
        }
    }
    Ok(corners.mesh)
}

/// Corners of triangles one after the other, those at the same place as one point.
#[derive(Default)]
struct Corners {
    mesh: Mesh,
    /// Of the triangle that is not complete, how many there are.
    open: usize,
    corner: [u32; 3],
    places: HashMap<[u64; 3], u32>,
}

impl Corners {
    fn add(&mut self, point: DVec3) {
        // Both zeros are one place.
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

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str =
        "# four points\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1/1/1 3 2\nf 1 2 4\nf -4 -1 -2\nf 2 3 4\n";

    fn tetrahedron() -> Mesh {
        Mesh::read("a.OBJ", TETRAHEDRON.as_bytes()).unwrap()
    }

    fn binary(mesh: &Mesh) -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
        for triangle in &mesh.triangles {
            bytes.extend([0; 12]);
            for corner in triangle {
                bytes.extend(mesh.vertices[*corner as usize].to_array().iter().flat_map(|x| (*x as f32).to_le_bytes()));
            }
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn each_format_holds_the_same_tetrahedron() {
        let mesh = tetrahedron();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 4));
        assert_eq!(mesh.triangles[2], [0, 3, 2]);
        assert_eq!(Mesh::read("b.obj", mesh.to_obj().as_bytes()), Ok(mesh.clone()));
        let mut text = String::from("solid t\n");
        for triangle in &mesh.triangles {
            text += "facet normal 0 0 0\nouter loop\n";
            for corner in triangle {
                let DVec3 { x, y, z } = mesh.vertices[*corner as usize];
                let _ = writeln!(text, "vertex {x} {y} {z}");
            }
            text += "endloop\nendfacet\n";
        }
        text += "endsolid t\n";
        let corners = |mesh: &Mesh| -> Vec<[f64; 9]> {
            let point = |index: &u32| mesh.vertices[*index as usize].to_array();
            let of = |triangle: &[u32; 3]| triangle.iter().flat_map(point).collect::<Vec<_>>().try_into().unwrap();
            mesh.triangles.iter().map(of).collect()
        };
        for bytes in [text.into_bytes(), binary(&mesh)] {
            let read = Mesh::read("t.stl", &bytes).unwrap();
            assert_eq!((corners(&read), read.vertices.len()), (corners(&mesh), 4));
        }
    }

    #[test]
    fn a_square_becomes_two_triangles() {
        let mesh = Mesh::read("q.obj", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n").unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn broken_files_are_told_by_line() {
        let mut liar = binary(&tetrahedron());
        liar[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
        for (path, bytes, line, what) in [
            ("a.obj", &b"v 0 0\n"[..], Some(1), "expected three coordinates"),
            ("a.obj", b"v 0 0 0\nv 1 x 0\n", Some(2), "expected a number, got 'x'"),
            ("a.obj", b"v 0 0 0\nf 1 2 3\n", Some(2), "expected one of the 1 points before it, got '2'"),
            ("a.obj", b"v 0 0 0\nf 1 1\n", Some(2), "a face has at least three corners"),
            ("a.obj", b"v 0 0 0\nf 0 1 1\n", Some(2), "got '0'"),
            ("a.obj", b"v inf 0 0\n", None, "point 1 is not finite"),
            ("a.obj", b"", None, "no points"),
            ("a.stl", b"solid\nvertex 1 2 3\nendloop\n", Some(3), "three corners"),
            ("a.stl", b"facet", None, "neither a text STL file"),
            ("a.stl", &liar, None, "neither"),
            ("a.ply", b"ply", None, "a mesh file ends with .obj or .stl"),
        ] {
            let problem = Mesh::read(path, bytes).expect_err(what);
            assert_eq!(problem.line, line, "{problem:?}");
            assert!(problem.what.contains(what), "{problem:?}");
        }
    }
}
