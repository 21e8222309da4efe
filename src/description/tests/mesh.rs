//! Mesh files of COLLADA and glTF, colours, and files with false contents.

use bevy_math::DVec3;
use simpartner_description::mesh::{Mesh, MeshProblem};

/// A tetrahedron in two materials, in decimetres, stood twice: moved along x, and mirrored along z about the second
/// node.
const COLLADA: &str = r##"<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="decimeter" meter="0.1"/><up_axis>Y_UP</up_axis></asset>
  <library_effects>
    <effect id="red-fx"><profile_COMMON><technique sid="t"><phong><diffuse><color>1 0 0 1</color></diffuse></phong></technique></profile_COMMON></effect>
  </library_effects>
  <library_materials><material id="red"><instance_effect url="#red-fx"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 10 0 0 0 10 0 0 0 10</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2" material="painted"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
      <p>0 0 2 0 1 0 0 0 1 0 3 0</p></triangles>
    <polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount><p>0 3 2 1 2 3</p></polylist>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s">
    <node><translate>20 0 0</translate><instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="painted" target="#red"/></technique_common></bind_material></instance_geometry></node>
    <node><rotate>0 0 1 90</rotate><node><matrix>1 0 0 5 0 1 0 0 0 0 -1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>"##;

/// A triangle twice as large in blue of half the light, its numbers in the file: three points, three indices.
const GLTF: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
"nodes":[{"mesh":0,"scale":[2,2,2],"translation":[1,0,0]}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1,"material":0}]}],
"materials":[{"pbrMetallicRoughness":{"baseColorFactor":[0,0,0.2158605,1]}}],
"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]},
{"bufferView":1,"componentType":5123,"count":3,"type":"SCALAR"}],
"bufferViews":[{"buffer":0,"byteLength":36},{"buffer":0,"byteOffset":36,"byteLength":6}],
"buffers":[{"byteLength":44,"uri":"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAABAAIAAAA="}]}"#;

const OBJ: &str = "mtllib parts of it.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nusemtl red paint\nf 1 2 4\nf 1 4 3\nusemtl #00ff0080\nf 2 3 4\n";
const MTL: &str = "newmtl red paint\nKd 1 0 0\nd 0.5\nnewmtl other\nKd 0 0 x\n";

fn read(path: &str, bytes: &[u8]) -> Result<Mesh, MeshProblem> {
    Mesh::read(path, bytes, |file| (file == "parts of it.mtl").then(|| MTL.into()))
}

fn colors(mesh: &Mesh) -> Vec<(String, usize)> {
    let name = |color: Option<_>| color.map_or("none".into(), |color: simpartner_model::Color| color.to_string());
    mesh.parts().map(|(color, triangles)| (name(color), triangles.len())).collect()
}

/// Six times the volume of a closed surface; negative if its orientation is inward.
fn volume(mesh: &Mesh, triangles: &[[u32; 3]]) -> f64 {
    let corners = |triangle: &[u32; 3]| triangle.map(|index| mesh.vertices[index as usize]);
    triangles.iter().map(corners).map(|[a, b, c]| a.dot(b.cross(c))).sum()
}

#[test]
fn collada_places_its_geometries_in_metres() {
    let mesh = read("a.dae", COLLADA.as_bytes()).unwrap();
    assert_eq!(colors(&mesh), [("#ff0000".into(), 2), ("none".into(), 6)]);
    assert_eq!(mesh.vertices.len(), 8);
    assert!((mesh.vertices[1] - DVec3::new(3.0, 0.0, 0.0)).length() < 1e-12, "{:?}", mesh.vertices);
    // Turned by a quarter about z after it was moved by 5 along x.
    assert!((mesh.vertices[5] - DVec3::new(0.0, 1.5, 0.0)).length() < 1e-12, "{:?}", mesh.vertices);
    for half in mesh.triangles.chunks(4) {
        assert!((volume(&mesh, half) - 1.0).abs() < 1e-12, "a mirrored mesh is seen from outside too");
    }
}

/// The tetrahedron's four faces as a strip of six corners, and its corner of three faces as a fan, enclose the same
/// volume as triangles.
#[test]
fn strips_and_fans_turn_all_their_triangles_outwards() {
    let start = COLLADA.find("<triangles").unwrap();
    let end = COLLADA.find("</mesh>").unwrap();
    let with = |primitives: &str| format!("{}{primitives}{}", &COLLADA[..start], &COLLADA[end..]);
    let primitive = |kind: &str, corners: &str| {
        format!("<{kind} count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>{corners}</p></{kind}>")
    };
    let closed = primitive("tristrips", "0 2 1 3 0 2");
    let cone = primitive("trifans", "0 2 1 3 2") + &primitive("triangles", "1 2 3");
    for primitives in [closed, cone] {
        let mesh = read("a.dae", with(&primitives).as_bytes()).unwrap();
        assert_eq!(mesh.triangles.len(), 8);
        for half in mesh.triangles.chunks(4) {
            assert!((volume(&mesh, half) - 1.0).abs() < 1e-12, "{half:?}");
            let edges = half.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
            let edges: std::collections::HashSet<[u32; 2]> = edges.collect();
            assert!(edges.len() == 12 && edges.iter().all(|&[a, b]| edges.contains(&[b, a])), "{half:?} is not closed");
        }
    }
}

#[test]
fn gltf_has_its_nodes_and_its_colours() {
    let mesh = read("a.gltf", GLTF.as_bytes()).unwrap();
    assert_eq!(mesh.vertices, [DVec3::new(1.0, 0.0, 0.0), DVec3::new(3.0, 0.0, 0.0), DVec3::new(1.0, 2.0, 0.0)]);
    assert_eq!((mesh.triangles.clone(), colors(&mesh)), (vec![[0, 1, 2]], vec![("#000080".into(), 1)]));
}

#[test]
fn colours_of_an_obj_file_come_from_its_mtl_file_and_stay_in_what_is_kept() {
    let mesh = read("a.obj", OBJ.as_bytes()).unwrap();
    assert_eq!(colors(&mesh), [("none".into(), 1), ("#ff000080".into(), 2), ("#00ff0080".into(), 1)]);
    for mesh in [mesh, read("a.dae", COLLADA.as_bytes()).unwrap(), read("a.gltf", GLTF.as_bytes()).unwrap()] {
        assert_eq!(Mesh::read("kept.obj", mesh.to_obj().as_bytes(), |_| None), Ok(mesh));
    }
    let without = Mesh::read("a.obj", OBJ.as_bytes(), |_| None).unwrap();
    assert_eq!(colors(&without), [("none".into(), 3), ("#00ff0080".into(), 1)]);
}

#[test]
fn broken_documents_are_told_by_line() {
    let collada = |from: &str, to: &str| COLLADA.replacen(from, to, 1).into_bytes();
    let gltf = |from: &str, to: &str| GLTF.replacen(from, to, 1).into_bytes();
    let cases = [
        ("a.dae", b"<robot/>".to_vec(), None, "holds a <COLLADA>, this one <robot>"),
        ("a.dae", b"<COLLADA>\n<a>".to_vec(), Some(2), "<a> is never closed"),
        ("a.dae", collada("#pa", "#nowhere"), Some(10), "<accessor> names '#nowhere', which is nowhere"),
        ("a.dae", collada("0 3 2 1 2 3", "0 3 2 1 2 9"), Some(14), "there is no point 9 among 4"),
        ("a.dae", collada("0 3 2 1 2 3", "0 3 2 1 2 -3"), Some(14), "'-3' is no such number"),
        ("a.dae", collada("<vcount>3 3", "<vcount>3 4"), Some(14), "<vcount> counts more corners than <p> has"),
        ("a.dae", collada("20 0 0", "20 0"), Some(17), "<translate> holds 3 numbers, got 2"),
        ("a.dae", collada("10 0 0 0", "10 0 inf 0"), None, "point 2 is not finite"),
        ("a.gltf", gltf("[2,2,2]", "[2,2]"), Some(2), "not glTF: invalid length 2"),
        ("a.gltf", gltf("data:application/octet-stream;base64,", "a.bin?"), None, "cannot be had from 'a.bin?"),
        (
            "a.gltf",
            gltf("\"count\":3,\"type\":\"VEC3\"", "\"count\":4,\"type\":\"VEC3\""),
            None,
            "lie outside of its buffer",
        ),
        ("a.gltf", gltf("\"byteOffset\":36", "\"byteOffset\":40"), None, "lie outside of its buffer"),
        ("a.gltf", gltf("AAABAAIAAAA", "AAABAAkAAAA"), None, "there is no point 9 among 3"),
        ("a.gltf", gltf("\"scale\"", "\"children\":[0],\"scale\""), None, "nodes are nested more than 64 deep"),
    ];
    for (path, bytes, line, what) in cases {
        let problem = read(path, &bytes).expect_err(what);
        assert!(problem.what.contains(what), "{problem:?}");
        assert_eq!(problem.line, line, "{problem:?}");
    }
}

/// A node that names another twice, which names another twice: a file of a kilobyte with a million tetrahedra.
#[test]
fn a_small_file_makes_no_mesh_without_end() {
    let node = |index: usize| {
        let next = format!("<instance_node url=\"#n{}\"/>", index + 1);
        format!("<node id=\"n{index}\">{next}{next}</node>\n")
    };
    let nodes: String =
        (0..28).map(node).collect::<String>() + "<node id=\"n28\"><instance_geometry url=\"#g\"/></node>";
    let from = COLLADA.find("<node>").unwrap();
    let to = COLLADA.find("</visual_scene>").unwrap();
    let bomb = format!("{}{nodes}{}", &COLLADA[..from], &COLLADA[to..]);
    let problem = read("a.dae", bomb.as_bytes()).unwrap_err();
    assert!(problem.what.contains("more than 1300000 triangles"), "{problem:?}");
    let circle = COLLADA.replacen("<instance_geometry url=\"#g\"/>", "<instance_node url=\"#s\"/>", 1);
    assert!(read("a.dae", circle.as_bytes()).unwrap_err().what.contains("nested more than 32 deep"));
}

/// With any changed byte, the result is a mesh or a problem.
#[test]
fn damaged_files_never_panic() {
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    let json = GLTF.replace(
        "\"uri\":\"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAABAAIAAAA=\"",
        "\"name\":\"b\"",
    );
    let json = format!("{json:width$}", width = json.len().next_multiple_of(4));
    glb.extend((12 + 8 + json.len() as u32 + 8 + 44).to_le_bytes());
    glb.extend((json.len() as u32).to_le_bytes());
    glb.extend(b"JSON");
    glb.extend(json.bytes());
    glb.extend(44u32.to_le_bytes());
    glb.extend(b"BIN\0");
    let numbers = [0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    glb.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    glb.extend([0, 0, 1, 0, 2, 0, 0, 0]);
    assert_eq!(read("a.glb", &glb), read("a.gltf", GLTF.as_bytes()));

    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most as u64) as usize
    };
    let samples =
        [("a.dae", COLLADA.as_bytes()), ("a.gltf", GLTF.as_bytes()), ("a.glb", &glb[..]), ("a.obj", OBJ.as_bytes())];
    let (mut good, mut bad) = (0, 0);
    for round in 0..4000 {
        let (path, sample) = samples[round % samples.len()];
        let mut bytes = sample.to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] = b"0123456789-.\"<#"[next(15)],
                2 => drop(bytes.remove(at)),
                _ => {
                    let end = (at + next(12)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        match read(path, &bytes) {
            Ok(mesh) => {
                good += 1;
                assert!(mesh.triangles.iter().flatten().all(|index| (*index as usize) < mesh.vertices.len()), "{path}");
            }
            Err(_) => bad += 1,
        }
    }
    assert!(good > 100 && bad > 100, "{good} were read and {bad} refused");
}
