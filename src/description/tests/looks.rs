//! Looks of visuals: normals, texture coordinates and materials of mesh files, textures of all formats, and what is
//! kept of them.

use std::{fs, path::Path, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use simpartner_description::{
    World,
    dem::write_picture,
    mesh::Mesh,
    xml::{self, Document, ImportOptions},
};
use simpartner_model::{Color, Tiling, Visual, random::Stream};

/// 16 x 8 pixels, red on the left and blue on the right, as baseline and as progressive JPEG.
const JPEG: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAIABADAREAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAABAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAABwUG/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8AjJrXBEQfP//Z";
const PROGRESSIVE: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wgARCAAIABADAREAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAwT/xAAWAQEBAQAAAAAAAAAAAAAAAAAGBAX/2gAMAwEAAhADEAAAAYptcUR7/8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQABBQI//8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAwEBPwE//8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAgEBPwE//8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQAGPwI//8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQABPyE//9oADAMBAAIAAwAAABCH/8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAwEBPxA//8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAgEBPxA//8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQABPxA//9k=";

/// A square of two triangles that faces +z, with smooth normals and an image; and a glowing triangle beside it.
const OBJ: &str = "mtllib square.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 2\nvn 0.6 0 0.8\n\
    usemtl painted\nf 1/1/1 2/2/2 3/3/2 4/4/1\nusemtl lamp\nf 1 3 4\n";
const MTL: &str = "newmtl painted\nKd 0.5 1 1\nmap_Kd -s 1 1 1 -o 0 0 a map.jpg\nnewmtl lamp\nKd 0 0 0\nKe 1 0.5 0\n";

/// The same square from COLLADA; its points lie in centimetres.
const COLLADA: &str = r##"<COLLADA><asset><unit meter="0.01"/></asset>
<library_images><image id="map"><init_from>a%20map.jpg</init_from></image></library_images>
<library_effects><effect id="fx"><profile_COMMON>
<newparam sid="surface"><surface type="2D"><init_from>map</init_from></surface></newparam>
<newparam sid="sampler"><sampler2D><source>surface</source></sampler2D></newparam>
<technique sid="t"><phong><emission><color>0 0 0 1</color></emission><diffuse><texture texture="sampler" texcoord="UV"/></diffuse>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#fx"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa">0 0 0 100 0 0 100 100 0 0 100 0</float_array></source>
<source id="n"><float_array id="na">0 0 2 0.6 0 0.8</float_array></source>
<source id="u"><float_array id="ua">0 0 1 0 1 1 0 1</float_array><technique_common><accessor source="#ua" stride="2"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<input semantic="TEXCOORD" source="#u" offset="2" set="0"/><vcount>4</vcount><p>0 0 0 1 1 1 2 1 2 3 0 3</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"##;

fn jpeg() -> Vec<u8> {
    BASE64_STANDARD.decode(JPEG).expect("a valid case")
}

/// A PNG file of 2 x 2 pixels: red, green, blue, and a hole.
fn png() -> Vec<u8> {
    write_picture([2, 2], &[255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 9, 9, 0]).expect("a valid case")
}

/// The same square as glTF with the image in the document; texture coordinates count from the top there.
fn gltf(material: &str) -> String {
    let floats: [f32; 32] = [
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.6],
        [0.0, 0.8, 0.6, 0.0, 0.8, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
    ]
    .concat()
    .try_into()
    .expect("a valid case");
    let mut bytes: Vec<u8> = floats.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend([0, 1, 2, 0, 2, 3]);
    let accessor = |view: usize, component: u32, count: usize, kind: &str| {
        format!("{{\"bufferView\":{view},\"componentType\":{component},\"count\":{count},\"type\":\"{kind}\"}}")
    };
    let accessors = [
        accessor(0, 5126, 4, "VEC3"),
        accessor(1, 5126, 4, "VEC3"),
        accessor(2, 5126, 4, "VEC2"),
        accessor(3, 5121, 6, "SCALAR"),
    ];
    let views = [(0, 48), (48, 48), (96, 32), (128, 6)]
        .map(|(offset, length)| format!("{{\"buffer\":0,\"byteOffset\":{offset},\"byteLength\":{length}}}"));
    format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"mesh\":0}}],\"meshes\":[{{\"primitives\":\
         [{{\"attributes\":{{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2}},\"indices\":3,\"material\":0}}]}}],\"materials\":[{material}],\
         \"textures\":[{{\"source\":0}}],\"images\":[{{\"uri\":\"data:image/png;base64,{}\"}}],\"accessors\":[{}],\"bufferViews\":[{}],\
         \"buffers\":[{{\"uri\":\"data:application/octet-stream;base64,{}\"}}]}}",
        BASE64_STANDARD.encode(png()),
        accessors.join(","),
        views.join(","),
        BASE64_STANDARD.encode(bytes)
    )
}

const MATERIAL: &str = "{\"pbrMetallicRoughness\":{\"baseColorFactor\":[1,0.2158605,1,0.5],\"baseColorTexture\":{\"index\":0}},\
    \"emissiveFactor\":[0.2158605,0,0]";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a valid case");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("a valid case");
    write("square.obj", OBJ.as_bytes());
    write("square.mtl", MTL.as_bytes());
    write("a map.jpg", &jpeg());
    write("square.dae", COLLADA.as_bytes());
    write("square.gltf", gltf(&format!("{MATERIAL}}}")).as_bytes());
    write("holes.png", &png());
    folder
}

fn read_world(path: &Path) -> World {
    match xml::read_any(path) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("no world"),
        Err(problems) => panic!("{problems}"),
    }
}

fn world_of(folder: &Path, visuals: &str) -> World {
    let text =
        format!("<world name='w'>\n<object name='o'><static/><box x='1' y='1' z='1'/>\n{visuals}</object></world>");
    fs::write(folder.join("w.xml"), text).expect("a valid case");
    read_world(&folder.join("w.xml"))
}

fn visuals(world: &World) -> &[Visual] {
    &world.mechanism.bodies[0].visuals
}

fn mesh_of(file: &str) -> String {
    format!("<visual><triangleMesh file='{file}'/></visual>\n")
}

/// Normals and texture coordinates of the corners of the first triangle.
fn first_corners(visual: &Visual) -> ([[f32; 3]; 3], [[f32; 2]; 3]) {
    let corners = visual.look.corners.as_ref().expect("a valid case");
    let normals = corners.normals_of[0].map(|corner| corners.normals[corner as usize]);
    (normals, corners.places_of[0].map(|corner| corners.places[corner as usize]))
}

#[test]
fn every_format_has_normals_texture_coordinates_and_images() {
    let folder = folder();
    for file in ["square.obj", "square.dae", "square.gltf"] {
        let world = world_of(folder.path(), &mesh_of(file));
        assert!(world.warnings.is_empty(), "{file}: {:?}", world.warnings);
        let (normals, places) = first_corners(&visuals(&world)[0]);
        assert_eq!(normals, [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [0.6, 0.0, 0.8]], "{file}");
        assert_eq!(places, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], "{file}");
        let paint = visuals(&world)[0].look.paint.as_ref().expect("a valid case");
        let size = if file == "square.gltf" { [2, 2] } else { [16, 8] };
        assert_eq!(paint.texture.size(), size, "{file}");
        // Read from what is kept of it, without its files, it is the same.
        let kept = xml::read_kept(&world.sources).expect("a valid case");
        assert_eq!(visuals(&kept), visuals(&world), "{file}");
    }
}

#[test]
fn materials_have_tint_emission_and_opacity() {
    let folder = folder();
    let world = world_of(folder.path(), &mesh_of("square.obj"));
    let [painted, lamp] = visuals(&world) else { panic!("{:?}", visuals(&world)) };
    assert_eq!(painted.look.paint.as_ref().expect("a valid case").tint.to_string(), "#80ffff");
    let lit = |visual: &Visual| visual.look.emission.map(|color| color.to_string());
    assert_eq!((lit(painted), lit(lamp)), (None, Some("#ff8000".into())));
    assert!(lamp.look.paint.is_none() && lamp.color.expect("a valid case").to_string() == "#000000");
    // Without the image, a viewer has its mean: half of red, the mean of blue.
    let Color { red, blue, .. } = painted.color.expect("a valid case");
    assert!(red.abs_diff(55) < 4 && blue.abs_diff(125) < 4, "{:?}", painted.color);
    for (mode, opacity, hole) in
        [("", 255, 255), (",\"alphaMode\":\"BLEND\"", 128, 0), (",\"alphaMode\":\"MASK\",\"alphaCutoff\":0.3", 255, 0)]
    {
        fs::write(folder.path().join("square.gltf"), gltf(&format!("{MATERIAL}{mode}}}"))).expect("a valid case");
        let world = world_of(folder.path(), &mesh_of("square.gltf"));
        let look = &visuals(&world)[0].look;
        let paint = look.paint.as_ref().expect("a valid case");
        assert_eq!((paint.tint.green, paint.tint.alpha), (128, opacity), "{mode}");
        assert_eq!(paint.texture.pixels()[3][3], hole, "{mode}");
        assert_eq!(look.emission.expect("a valid case").to_string(), "#800000");
        assert_eq!(visuals(&xml::read_kept(&world.sources).expect("a valid case")), visuals(&world), "{mode}");
    }
}

#[test]
fn both_kinds_of_jpeg_have_their_colours() {
    let folder = folder();
    for text in [JPEG, PROGRESSIVE] {
        fs::write(folder.path().join("x.jpeg"), BASE64_STANDARD.decode(text).expect("a valid case"))
            .expect("a valid case");
        let world = world_of(folder.path(), "<visual texture='x.jpeg'><box x='1' y='1' z='1'/></visual>");
        let texture = &visuals(&world)[0].look.paint.as_ref().expect("a valid case").texture;
        for (place, pixel) in texture.pixels().iter().enumerate() {
            let expected = if place % 16 < 8 { [200, 40, 30] } else { [20, 60, 220] };
            let off = expected.iter().zip(pixel).map(|(one, other): (&u8, &u8)| one.abs_diff(*other)).max();
            assert!(off < Some(12), "{place}: {pixel:?}");
        }
    }
}

#[test]
fn visuals_have_textures_of_files_and_patterns() {
    let folder = folder();
    let shape = "<sphere radius='1'/></visual>";
    let world = world_of(
        folder.path(),
        &format!(
            "<visual texture='checker #ffffff #102030' textureRepeatX='3' color='#808080'>{shape}
             <visual texture='gradient #ff0000 #0000ff' textureLengthX='0.5' textureLengthY='0.25'>{shape}
             <visual texture='holes.png' emission='#010203'>{shape}<visual texture='holes.png'>{shape}
             <visual texture='holes.png' color='#ff0000'><triangleMesh file='square.obj'/></visual>"
        ),
    );
    let paints: Vec<_> =
        visuals(&world).iter().map(|visual| visual.look.paint.clone().expect("a valid case")).collect();
    let [width, height] = paints[0].texture.size();
    let corners = [0, width - 1, width * (height - 1)].map(|place| paints[0].texture.pixels()[place]);
    assert_eq!(corners, [[255; 4], [16, 32, 48, 255], [16, 32, 48, 255]]);
    assert_eq!((paints[0].tiling, paints[0].tint.red), (Tiling::Repeats([3.0, 1.0]), 128));
    let pixels = paints[1].texture.pixels();
    assert_eq!((pixels[0], pixels[255], pixels[51]), ([255, 0, 0, 255], [0, 0, 255, 255], [204, 0, 51, 255]));
    assert_eq!(paints[1].tiling, Tiling::Lengths([0.5, 0.25]));
    assert!(Arc::ptr_eq(&paints[2].texture, &paints[3].texture) && !paints[2].texture.is_opaque());
    assert_eq!(visuals(&world)[2].look.emission.expect("a valid case").to_string(), "#010203");
    // One part, with the texture coordinates of the file.
    assert_eq!(visuals(&world).len(), 5);
    assert!(visuals(&world)[4].look.corners.is_some() && paints[4].tint.to_string() == "#ff0000");
    assert_eq!(visuals(&xml::read_kept(&world.sources).expect("a valid case")), visuals(&world));
}

/// A mirrored mesh has mirrored normals, and a stretched one those of its surface.
#[test]
fn normals_follow_scale_and_mirror() {
    let folder = folder();
    for (scale, x) in [("scaleX='-1'", -0.6_f32), ("scaleX='2'", 0.3 / 0.73_f32.sqrt())] {
        let world = world_of(folder.path(), &format!("<visual><triangleMesh file='square.obj' {scale}/></visual>"));
        let (normals, _) = first_corners(&visuals(&world)[0]);
        assert!(normals.iter().any(|normal| (normal[0] - x).abs() < 1e-6), "{scale}: {normals:?}");
        assert!(normals.iter().all(|normal| normal[2] > 0.0));
    }
}

#[test]
fn wrong_images_are_warnings_with_their_place() {
    let folder = folder();
    fs::write(folder.path().join("cut.png"), &png()[..40]).expect("a valid case");
    fs::write(folder.path().join("text.jpg"), "not an image").expect("a valid case");
    fs::write(folder.path().join("lost.obj"), OBJ.replace("square.mtl", "lost.mtl")).expect("a valid case");
    fs::write(folder.path().join("lost.mtl"), "newmtl painted\nKd 0 1 0\nmap_Kd nowhere.png\nnewmtl lamp\n")
        .expect("a valid case");
    let textured = |file: &str| format!("<visual texture='{file}' color='#00ff00'><sphere radius='1'/></visual>");
    for (visual, what) in [
        (textured("cut.png"), "the image 'cut.png' cannot be used: the PNG file cannot be read"),
        (textured("text.jpg"), "it is neither a PNG nor a JPEG file"),
        (textured("/dev/zero"), "images are PNG and JPEG files"),
        (textured("nowhere.png"), "cannot open"),
        (mesh_of("lost.obj"), "the image 'nowhere.png' of 'lost.obj' cannot be used: there is no such file"),
    ] {
        let world = world_of(folder.path(), &visual);
        let [warning] = &world.warnings[..] else { panic!("{:?}", world.warnings) };
        assert!(warning.what.contains(what) && warning.place.contains("w.xml:3:"), "{warning}");
        assert_eq!(visuals(&world)[0].color.expect("a valid case").to_string(), "#00ff00", "{what}");
        assert!(visuals(&world)[0].look.paint.is_none());
    }
}

const URDF: &str = "<robot name='r'><material name='paint'><color rgba='1 0.5 1 1'/><texture filename='holes.png'/></material>
    <link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>
    <visual><geometry><box size='1 1 1'/></geometry><material name='paint'/></visual>
    <visual><geometry><mesh filename='square.obj'/></geometry></visual><visual><geometry><mesh filename='square.gltf'/></geometry></visual>
    <visual><geometry><mesh filename='square.dae'/></geometry></visual></link></robot>";

/// An imported robot in a folder of its own has the same looks as where it came from.
#[test]
fn an_imported_robot_takes_its_images_along() {
    let folder = folder();
    fs::write(folder.path().join("r.urdf"), URDF).expect("a valid case");
    let options = ImportOptions { mesh_folder: Some("parts".into()), ..ImportOptions::default() };
    let imported = xml::import(&folder.path().join("r.urdf"), &options).expect("a valid case");
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    let other = tempfile::tempdir().expect("a valid case");
    fs::create_dir(other.path().join("parts")).expect("a valid case");
    for file in &imported.meshes {
        fs::write(other.path().join(&file.path), &file.contents).expect("a valid case");
    }
    fs::write(other.path().join("r.xml"), &imported.text).expect("a valid case");
    let (there, here) = (read_world(&folder.path().join("r.urdf")), read_world(&other.path().join("r.xml")));
    assert_eq!(visuals(&here), visuals(&there));
    assert!(here.warnings.is_empty(), "{:?}", here.warnings);
    let painted = visuals(&here).iter().filter(|visual| visual.look.paint.is_some()).count();
    assert_eq!((visuals(&here).len(), painted), (5, 4));
}

#[test]
fn textures_of_mujoco_and_gazebo_are_read() {
    let folder = folder();
    let mjcf = "<mujoco><compiler texturedir='.'/><asset><texture name='c' type='2d' builtin='checker' rgb1='1 1 1' rgb2='0 0 0'/>
        <texture name='f' builtin='flat' rgb1='0 1 0' type='cube'/><texture file='holes.png' type='2d'/>
        <material name='c' texture='c' texrepeat='4 2' texuniform='true'/><material name='f' texture='f' rgba='1 0.5 1 1'/>
        <material name='h' texture='holes' texrepeat='2 2' emission='0.5'/></asset><worldbody><body><freejoint/>
        <geom type='sphere' size='1' material='c'/><geom type='sphere' size='1' material='f'/>
        <geom type='sphere' size='1' material='h' rgba='1 0 0 1'/></body></worldbody></mujoco>";
    fs::write(folder.path().join("m.xml"), mjcf).expect("a valid case");
    let world = read_world(&folder.path().join("m.xml"));
    let [checker, flat, holes] = visuals(&world) else { panic!("{:?}", visuals(&world)) };
    assert_eq!(checker.look.paint.as_ref().expect("a valid case").tiling, Tiling::Lengths([0.25, 0.5]));
    assert_eq!((flat.look.paint.clone(), flat.color.expect("a valid case").to_string()), (None, "#008000".into()));
    let paint = holes.look.paint.as_ref().expect("a valid case");
    assert_eq!((paint.tiling, paint.tint.to_string().as_str()), (Tiling::Repeats([2.0; 2]), "#ff0000"));
    assert_eq!(holes.look.emission.expect("a valid case").to_string(), "#808080");
    let sdf =
        "<sdf version='1.9'><model name='b'><link name='l'><collision name='c'><geometry><box/></geometry></collision>
        <visual name='v'><geometry><box/></geometry><material><diffuse>1 1 0 1</diffuse><emissive>0.2 0 0 1</emissive>
        <pbr><metal><albedo_map>holes.png</albedo_map></metal></pbr></material></visual></link></model></sdf>";
    fs::write(folder.path().join("w.sdf"), sdf).expect("a valid case");
    let world = read_world(&folder.path().join("w.sdf"));
    let look = &visuals(&world)[0].look;
    assert_eq!(look.paint.as_ref().expect("a valid case").tint.to_string(), "#ffff00");
    assert_eq!(look.emission.expect("a valid case").to_string(), "#330000");
}

/// Files with bytes changed, cut off or repeated at places that follow from a seed: each is read, or refused with a
/// sentence.
#[test]
fn ten_thousand_damaged_files_end_in_a_mesh_or_a_sentence() {
    let images = [png(), jpeg(), BASE64_STANDARD.decode(PROGRESSIVE).expect("a valid case")];
    let meshes = [("a.obj", OBJ.to_owned()), ("a.dae", COLLADA.to_owned()), ("a.gltf", gltf(&format!("{MATERIAL}}}")))];
    let folder = tempfile::tempdir().expect("a valid case");
    let (mut read, mut refused, mut painted) = (0, 0, 0);
    for seed in 0..10_000_u64 {
        let mut stream = Stream::from_number(seed);
        if seed % 10 < 7 {
            let (path, text) = &meshes[seed as usize % 3];
            let bytes = damaged(text.as_bytes(), &mut stream);
            match Mesh::read(path, &bytes, |file| file.ends_with(".mtl").then(|| MTL.into())) {
                Ok(mesh) => {
                    read += 1;
                    assert!(mesh.triangles.iter().flatten().all(|corner| (*corner as usize) < mesh.vertices.len()));
                }
                Err(problem) => {
                    refused += 1;
                    assert!(!problem.what.is_empty() && problem.what.len() < 400, "{seed}: {problem:?}");
                }
            }
            continue;
        }
        let bytes = damaged(&images[seed as usize % 3], &mut stream);
        fs::write(folder.path().join("x.png"), bytes).expect("a valid case");
        let world = world_of(folder.path(), "<visual texture='x.png'><sphere radius='1'/></visual>");
        let is_painted = visuals(&world)[0].look.paint.is_some();
        assert_eq!(world.warnings.len(), usize::from(!is_painted), "{seed}: {:?}", world.warnings);
        painted += usize::from(is_painted);
    }
    assert!(read > 500 && refused > 1000 && painted > 100, "{read} read, {refused} refused, {painted} painted");
}

fn damaged(bytes: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + stream.below(2) {
        if bytes.is_empty() {
            break;
        }
        let place = stream.below(bytes.len());
        let length = (1 + stream.below(4)).min(bytes.len() - place);
        match stream.below(8) {
            0 => bytes.truncate(place),
            1 => bytes.extend_from_within(place..place + length),
            2 => drop(bytes.drain(place..place + length)),
            _ => bytes[place..place + length].iter_mut().for_each(|byte| *byte = stream.below(256) as u8),
        }
    }
    bytes
}
