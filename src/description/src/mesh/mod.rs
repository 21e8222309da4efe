//! Mesh files: Wavefront OBJ, STL, COLLADA, glTF, VRML97 and MSH.
//!
//! A file is input like any other: a message names the line, and what a binary file claims to hold is held against its
//! length before any memory is taken. Of a mesh points, triangles, normals, texture coordinates and materials are read:
//! base colour and its image, emitted light and opacity. Everything else is not. Coordinates are the file's, whichever
//! of its axes is up; only COLLADA's unit of length counts.
//!
//! | format | module | read by |
//! |---|---|---|
//! | Wavefront OBJ, with the materials of its MTL files | `obj` | us |
//! | STL, text or binary | `stl` | us |
//! | COLLADA 1.4 and 1.5 | `collada` | us, from the tree that all XML goes through |
//! | MSH, MuJoCo's own | `msh` | us |
//! | glTF 2.0, `.gltf` or `.glb` | `gltf` | us, from serde_json |
//! | VRML97, `.wrl`: IndexedFaceSet | `vrml` | us |

mod collada;
mod crease;
mod gltf;
mod look;
mod msh;
mod obj;
mod stl;
mod triangles;
mod vrml;
mod work;

use std::borrow::Cow;

pub(crate) use crease::crease_normals;
pub use look::{MeshImage, MeshLook};
pub use triangles::{Mesh, MeshProblem};

use crate::text::encoding;
use triangles::{any_text, problem};

/// The endings of the names of files that can be read.
pub const ENDINGS: [&str; 7] = ["obj", "stl", "dae", "gltf", "glb", "msh", "wrl"];

impl Mesh {
    /// Reads the contents of a file; the extension of its name determines its format. `beside` reads a file that this
    /// one names, relative to its folder: materials of an OBJ file, buffers of a glTF file, images.
    ///
    /// # Errors
    /// The fault and its line.
    pub fn read(path: &str, bytes: &[u8], beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, MeshProblem> {
        check_ending(path)?;
        let mesh = match ending(path).as_str() {
            "obj" => obj::read(&any_text(bytes), beside)?,
            "stl" => stl::read(bytes)?,
            "dae" => collada::read(&decode_text(bytes)?, beside)?,
            "msh" => msh::read(bytes)?,
            "wrl" => vrml::read(&decode_text(bytes)?)?,
            _ => gltf::read(path, bytes, beside)?,
        };
        match mesh.vertices.iter().position(|vertex| !vertex.is_finite()) {
            Some(index) => Err(problem(None, format!("point {} is not finite", index + 1))),
            None if mesh.vertices.is_empty() => Err(problem(None, "the file holds no points".into())),
            None => Ok(mesh),
        }
    }

    /// As a binary STL file, which has its points in single precision.
    pub fn to_stl(&self) -> Vec<u8> {
        stl::write(self)
    }
}

/// The ending of the name of a file, in small letters.
pub(crate) fn ending(path: &str) -> String {
    path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// Refuses a path whose ending is that of no kind of mesh file.
pub(crate) fn check_ending(path: &str) -> Result<(), MeshProblem> {
    match ENDINGS.contains(&ending(path).as_str()) {
        true => Ok(()),
        false => Err(problem(None, format!("a mesh file ends with .{}", ENDINGS.join(", .")))),
    }
}

fn decode_text(bytes: &[u8]) -> Result<Cow<'_, str>, MeshProblem> {
    encoding::decode(bytes).map_err(|wrong| {
        let line = bytes[..wrong.offset].iter().filter(|byte| **byte == b'\n').count() + 1;
        problem(Some(line), wrong.what)
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use bevy_math::DVec3;

    use super::*;

    fn read(path: &str, bytes: &[u8]) -> Result<Mesh, MeshProblem> {
        Mesh::read(path, bytes, |_| None)
    }

    const TETRAHEDRON: &str =
        "# four points\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1/1/1 3 2\nf 1 2 4\nf -4 -1 -2\nf 2 3 4\n";

    fn tetrahedron() -> Mesh {
        read("a.OBJ", TETRAHEDRON.as_bytes()).unwrap()
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
        assert_eq!(read("b.obj", mesh.to_obj().as_bytes()), Ok(mesh.clone()));
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
            let read = read("t.stl", &bytes).unwrap();
            assert_eq!((corners(&read), read.vertices.len()), (corners(&mesh), 4));
        }
    }

    #[test]
    fn a_square_becomes_two_triangles() {
        let mesh = read("q.obj", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n").unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    }

    /// Ten levels of nodes that each reference the next one ten times place 10^10 meshes.
    #[test]
    fn nodes_that_name_each_other_again_and_again_are_refused() {
        let levels = 10;
        let node = |index: usize| match index + 1 < levels {
            true => format!("{{\"children\":[{}]}}", vec![(index + 1).to_string(); 10].join(",")),
            false => "{}".to_owned(),
        };
        let nodes: Vec<String> = (0..levels).map(node).collect();
        let gltf = format!(
            "{{\"asset\":{{\"version\":\"2.0\"}},\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{}]}}",
            nodes.join(",")
        );
        let instances = |index: usize| format!("<instance_node url=\"#n{}\"/>", index + 1).repeat(10);
        let nodes = (0..levels).map(|index| format!("<node id=\"n{index}\">{}</node>", instances(index)));
        let dae = format!(
            "<COLLADA><library_nodes>{}<node id=\"n{levels}\"/></library_nodes><library_visual_scenes><visual_scene>\
             <instance_node url=\"#n0\"/></visual_scene></library_visual_scenes></COLLADA>",
            nodes.collect::<String>()
        );
        let uses = |index: usize| format!("Group {{ children [ {} ] }}", format!("USE N{} ", index + 1).repeat(10));
        let nodes = (0..levels).rev().map(|index| format!("DEF N{index} {}\n", uses(index)));
        let wrl = format!("#VRML V2.0 utf8\nDEF N{levels} Group {{ }}\n{}", nodes.collect::<String>());
        for (path, text) in [("a.gltf", gltf), ("a.dae", dae), ("a.wrl", wrl)] {
            let problem = read(path, text.as_bytes()).expect_err(path);
            assert!(problem.what.contains("would not end soon"), "{path}: {problem:?}");
        }
    }

    #[test]
    fn files_are_read_as_programs_write_them() {
        let continued =
            "v 0 0 0\nv 1 0 \\\n0\nv 0 1 0\nv 0 0 1\n# K\u{e4}fer\nf 1 2 \\\n 3\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
        let latin: Vec<u8> = continued.chars().map(|c| c as u8).collect();
        let capitals = b"SOLID t\nFACET NORMAL 0 0 1\nOUTER LOOP\nVERTEX 0 0 0\nVERTEX 1 0 0\nVERTEX 0 1 0\nENDLOOP\nENDFACET\nENDSOLID\n";
        for (path, bytes, triangles) in
            [("a.obj", &latin[..], 4), ("a.obj", continued.as_bytes(), 4), ("a.stl", capitals, 1)]
        {
            let mesh = read(path, bytes).unwrap();
            assert_eq!(mesh.triangles.len(), triangles, "{path}");
        }
        let problem = read("a.obj", b"v 0 0 \\\n x\n").unwrap_err();
        assert_eq!(problem.line, Some(1), "{problem:?}");
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
            ("a.ply", b"ply", None, "a mesh file ends with .obj, .stl, .dae, .gltf, .glb"),
        ] {
            let problem = read(path, bytes).expect_err(what);
            assert_eq!(problem.line, line, "{problem:?}");
            assert!(problem.what.contains(what), "{problem:?}");
        }
    }
}
