//! Real files of other programs: numbers, encodings, names and paths, and the required warnings.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Diagnostics, Document, ImportOptions},
};
use simpartner_model::{Body, ContactDimensions, FrictionRule};

const URDF: &str = "<robot name='r'><link name='a'><inertial><mass value='#'/><origin xyz='# # #' rpy='# # #'/>
<inertia ixx='#' iyy='#' izz='#'/></inertial><collision><origin xyz='# # #'/><geometry><box size='# # #'/></geometry></collision></link>
<link name='b'><inertial><mass value='#'/><inertia ixx='#' iyy='#' izz='#'/></inertial></link>
<joint name='j' type='revolute'><parent link='a'/><child link='b'/><origin xyz='# # #'/><axis xyz='# # #'/>
<limit lower='#' upper='#' effort='#' velocity='#'/><dynamics damping='#' friction='#'/></joint>
<gazebo reference='a'><mu1>#</mu1><kp>#</kp></gazebo></robot>";
const MJCF: &str = "<mujoco><option gravity='# # #'/><worldbody><geom type='plane' size='# # #' friction='# # #'/>
<body pos='# # #' euler='# # #'><joint type='hinge' axis='# # #' damping='#' armature='#' range='-# #'/>
<geom type='box' size='# # #' mass='#' friction='# # #'/><body pos='# # #'><inertial mass='#' pos='# # #' diaginertia='# # #'/>
<joint type='slide' axis='# # #' frictionloss='#'/></body></body></worldbody></mujoco>";
const SDF: &str = "<sdf version='1.7'><model name='m'><link name='a'><pose># # # # # #</pose><inertial><mass>#</mass><inertia><ixx>#</ixx>
<iyy>#</iyy><izz>#</izz></inertia></inertial><collision name='c'><geometry><box><size># # #</size></box></geometry><surface><friction><ode>
<mu>#</mu></ode></friction></surface></collision></link><link name='b'/><joint name='j' type='revolute'><parent>a</parent><child>b</child><axis>
<xyz># # #</xyz><limit><lower>#</lower><upper>#</upper><effort>#</effort></limit><dynamics><damping>#</damping></dynamics></axis></joint></model></sdf>";

fn read(path: &str, text: &str) -> Result<World, Diagnostics> {
    match xml::read_text(path, text)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        _ => panic!("neither a world nor a robot"),
    }
}

fn right(path: &str, text: &str) -> World {
    read(path, text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap()
}

/// The text with each `#` on a line of its own, replaced by 1, and one of them by something else.
fn filled(text: &str, wrong: Option<(usize, &str)>) -> String {
    let mut filled = String::new();
    for (index, part) in text.replace('\n', "").split('#').enumerate() {
        if index > 0 {
            let word = wrong.filter(|(place, _)| place + 1 == index).map_or("1", |(_, word)| word);
            filled.push_str(word);
            filled.push('\n');
        }
        filled.push_str(part);
    }
    filled
}

/// Each number of three formats replaced by invalid texts. XML has the position of an attribute's name, so the line is
/// at most the value's.
#[test]
fn what_is_no_number_is_an_error_at_its_place() {
    let words =
        ["0,1", "1,000", "0;0", "1.2.3", "1e", "--1", "nan", "inf", "1e999", "1 m", "0x10", "one", "1'000", "\u{661}"];
    for (path, text) in [("r.urdf", URDF), ("m.xml", MJCF), ("m.sdf", SDF)] {
        right(path, &filled(text, None));
        let places = text.matches('#').count();
        for place in 0..places {
            // SDF permits an infinite limit.
            let is_limit = path == "m.sdf" && (17..20).contains(&place);
            for word in words.into_iter().filter(|word| !(is_limit && ["inf", "1e999"].contains(word))) {
                let word = word.replace('\'', "&apos;");
                let text = filled(text, Some((place, &word)));
                let problems =
                    read(path, &text).err().unwrap_or_else(|| panic!("{path} takes '{word}' at {place}: {text}"));
                let first = &problems.problems[0];
                assert!(first.line <= place + 1 && first.line + 6 >= place, "{path} {place}: {problems}");
            }
        }
    }
}

#[test]
fn files_are_read_in_the_encoding_that_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let text = |encoding: &str| {
        format!(
            "<?xml version='1.0' encoding='{encoding}'?><robot name='K\u{e4}fer'><link name='a'><inertial><mass value='2'/>\
             <inertia ixx='1' iyy='1' izz='1'/></inertial></link></robot>"
        )
    };
    let latin: Vec<u8> = text("ISO-8859-1").chars().map(|c| c as u8).collect();
    let little: Vec<u8> = format!("\u{feff}{}", text("UTF-16")).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text("UTF-16").encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (name, bytes) in
        [("latin.urdf", latin), ("little.urdf", little), ("big.urdf", big), ("utf8.urdf", text("UTF-8").into())]
    {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let Ok(Document::Robot(world)) = xml::read_any(&path) else { panic!("{name}") };
        assert_eq!((world.name.as_str(), world.mechanism.bodies[0].mass), ("K\u{e4}fer", 2.0), "{name}");
        // The stored files are read again.
        assert!(xml::read_kept(&world.sources).is_ok(), "{name}");
    }
}

fn tetrahedron(edge: f64) -> String {
    format!("v 0 0 0\nv {edge} 0 0\nv 0 {edge} 0\nv 0 0 {edge}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

/// MuJoCo's paths are relative to the main file's folder, also for a mesh that an included file names.
#[test]
fn paths_of_included_mjcf_files_are_seen_from_the_main_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "main/m.obj", &tetrahedron(1.0));
    write(at, "parts/m.obj", &tetrahedron(2.0));
    write(at, "parts/part.xml", "<mujocoinclude><asset><mesh name='m' file='m.obj'/></asset></mujocoinclude>");
    write(
        at,
        "parts/body.xml",
        "<mujocoinclude><body name='b'><freejoint/><geom type='mesh' mesh='m'/></body></mujocoinclude>",
    );
    let main = "<mujoco><include file='../parts/part.xml'/><worldbody><include file='../parts/body.xml'/></worldbody></mujoco>";
    write(at, "main/w.xml", main);
    let world = xml::read_world(&at.join("main/w.xml")).unwrap_or_else(|problems| panic!("{problems}"));
    let reach = |world: &World| body(world, "b").collision_shape().unwrap().reach(DVec3::X);
    assert!((reach(&world) - 1.0).abs() < 1e-12 && told(&world).is_empty(), "{} {}", reach(&world), told(&world));
    // The mass is that of the mesh, 1000 kg/m3 times 1/6 m3.
    assert!((body(&world, "b").mass - 1000.0 / 6.0).abs() < 1e-9);
    fs::remove_file(at.join("parts/m.obj")).unwrap();
    let world = xml::read_world(&at.join("main/w.xml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!((reach(&world) - 1.0).abs() < 1e-12);
}

#[test]
fn a_files_own_gravity_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let text = |gravity: &str| {
        format!(
            "<mujoco>{gravity}<worldbody><body name='b'><freejoint/><geom size='1'/><body><joint/><geom size='1'/></body></body></worldbody></mujoco>"
        )
    };
    let import = |gravity: &str| {
        write(folder.path(), "m.xml", &text(gravity));
        xml::import(&folder.path().join("m.xml"), &ImportOptions::default())
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let moon = import("<option gravity='0 0 -1.62'/>");
    let Ok(Document::World(world)) = xml::read_text("w.xml", &moon.text) else { panic!("{}", moon.text) };
    assert_eq!(world.mechanism.gravity, DVec3::new(0.0, -1.62, 0.0));
    for earth in ["", "<option gravity='0 0 -9.81'/>", "<option gravity='0 0 -9.8'/>"] {
        assert!(import(earth).text.contains("<robot"), "{earth}");
    }
}

/// Two surfaces have the larger dimension and coefficients, or those of the one with the higher priority.
#[test]
fn geoms_keep_what_mujocos_rule_of_friction_asks_for() {
    let world = right(
        "m.xml",
        "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='0.4'/><body name='a'><freejoint/>\
         <geom size='0.1' condim='1' friction='0.9'/><geom size='0.1' pos='1 0 0' condim='4' friction='0.3 0.02 0' priority='2'/></body>\
         </worldbody></mujoco>",
    );
    let ground = world.mechanism.grounds[0].material();
    let (first, second) = (body(&world, "a").material_of_part(0), body(&world, "a").material_of_part(1));
    for material in [ground, first, second] {
        assert_eq!(material.friction_rule, FrictionRule::Larger);
    }
    let of = |m: &simpartner_model::Material| (m.friction, m.torsional_friction, m.priority, m.contact_dimensions());
    assert_eq!(of(ground), (0.4, 0.005, 0, ContactDimensions::Sliding));
    assert_eq!(of(first), (0.9, 0.005, 0, ContactDimensions::Normal));
    assert_eq!(of(second), (0.3, 0.02, 2, ContactDimensions::Torsional));
    assert!(!told(&world).contains("friction"), "{}", told(&world));
}

/// A caster with friction 0 does not change the base to which it is fixed.
#[test]
fn links_that_are_merged_keep_their_frictions() {
    let link = |name: &str| {
        format!(
            "<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>\
             <collision><geometry><sphere radius='0.1'/></geometry></collision></link>"
        )
    };
    let text = format!(
        "<robot name='r'>{}{}{}<joint name='j' type='fixed'><parent link='base'/><child link='caster'/></joint>\
         <joint name='k' type='fixed'><parent link='caster'/><child link='tip'/></joint>\
         <gazebo reference='caster'><mu1>0</mu1></gazebo><gazebo reference='tip'><mu1>0.3</mu1></gazebo></robot>",
        link("base"),
        link("caster"),
        link("tip")
    );
    let world = right("r.urdf", &text);
    assert_eq!(world.mechanism.bodies.len(), 1);
    let frictions = [0, 1, 2].map(|part| world.mechanism.bodies[0].material_of_part(part).friction);
    assert_eq!(frictions, [0.8, 0.0, 0.3]);
}

/// Chains of fixed joints, from the root outwards and from the tip inwards.
#[test]
fn thousands_of_links_on_fixed_joints_are_one_body() {
    let count = 5000;
    let link = |index: usize| {
        format!(
            "<link name='l{index}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>\
             <collision><geometry><sphere radius='0.01'/></geometry></collision></link>"
        )
    };
    let joint = |index: usize| {
        let parent = index - 1;
        format!(
            "<joint name='j{index}' type='fixed'><parent link='l{parent}'/><child link='l{index}'/><origin xyz='0.001 0 0'/></joint>"
        )
    };
    let links: String = (0..count).map(link).collect();
    let outwards: String = (1..count).map(joint).collect();
    let inwards: String = (1..count).rev().map(joint).collect();
    for joints in [outwards, inwards] {
        let world = right("r.urdf", &format!("<robot name='r'>{links}{joints}</robot>"));
        let whole = &world.mechanism.bodies[0];
        assert_eq!((world.mechanism.bodies.len(), whole.mass), (1, count as f64));
        let centre = whole.inertia.unwrap().centre_of_mass;
        assert!((centre.x - 0.0005 * (count - 1) as f64).abs() < 1e-9, "{centre}");
    }
}

#[test]
fn mesh_names_are_found_as_people_spell_them() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "meshes/my box.obj", &tetrahedron(1.0));
    write(folder.path(), "meshes/Case.obj", &tetrahedron(1.0));
    let read = |name: &str| {
        let text = format!(
            "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>\
             <collision><geometry><mesh filename='{name}'/></geometry></collision></link></robot>"
        );
        write(folder.path(), "r.urdf", &text);
        let Ok(Document::Robot(world)) = xml::read_any(&folder.path().join("r.urdf")) else { panic!("{name}") };
        world
    };
    for name in ["meshes/my box.obj", "meshes/my%20box.obj", "meshes\\my box.obj", "file://meshes/my%20box.obj"] {
        let world = read(name);
        assert!(world.mechanism.bodies[0].shape.is_some() && told(&world).is_empty(), "{name}: {}", told(&world));
    }
    assert!(told(&read("meshes/case.obj")).contains("did you mean 'Case.obj'?"));
    for name in ["/proc/kmsg", "/dev/zero", "meshes", "meshes/%zz.obj"] {
        assert!(told(&read(name)).contains("the shape is left out"), "{name}");
    }
}

#[test]
fn a_mesh_with_another_axis_up_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = "<COLLADA><asset><up_axis>Y_UP</up_axis></asset><library_geometries><geometry id='g'><mesh><source id='p'>\
        <float_array id='f'>0 0 0 1 0 0 0 1 0 0 0 1</float_array></source><vertices id='v'><input semantic='POSITION' source='#p'/></vertices>\
        <triangles><input semantic='VERTEX' source='#v' offset='0'/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries></COLLADA>";
    write(folder.path(), "m.dae", mesh);
    let solid = "<collision><geometry><mesh filename='m.dae'/></geometry></collision>".repeat(3);
    let text = format!(
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>{solid}</link></robot>"
    );
    write(folder.path(), "r.urdf", &text);
    let Ok(Document::Robot(world)) = xml::read_any(&folder.path().join("r.urdf")) else { panic!("no robot") };
    assert_eq!(told(&world).matches("Y_UP").count(), 1, "{}", told(&world));
}

/// Changes of the meaning of a URDF file are reported.
#[test]
fn nothing_of_a_joint_is_silent() {
    let link = |name: &str| {
        format!("<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>")
    };
    let text = format!(
        "<robot name='r'>{}{}{}<joint name='free' type='revolute'><parent link='a'/><child link='my link'/></joint>\
         <joint name='weak' type='revolute'><parent link='a'/><child link='c'/><limit lower='-1' upper='1' effort='0' velocity='0'/>\
         <safety_controller k_velocity='3'/></joint><gazebo reference='a'><kp>1e9</kp><kd>1</kd></gazebo></robot>",
        link("a"),
        link("my link"),
        link("c")
    );
    let told = told(&right("r.urdf", &text));
    for what in [
        "'free' has no limits",
        "effort='0'",
        "velocity='0'",
        "'my link' becomes 'my_link'",
        "<kp>",
        "<safety_controller>",
    ] {
        assert!(told.contains(what), "{what}: {told}");
    }
}

/// Points without faces have the mass of their convex hull, as a mesh with `inertia="convex"` has.
#[test]
fn points_weigh_as_their_hull() {
    let model = |asset: &str| {
        format!(
            "<mujoco><asset><mesh name='m' {asset}/></asset><worldbody><body name='b'><freejoint/>\
             <geom type='mesh' mesh='m' density='100'/></body></worldbody></mujoco>"
        )
    };
    let points = "vertex='0 0 0  2 0 0  0 1 0  2 1 0  0 0 3  2 0 3  0 1 3  2 1 3  1 0.5 1'";
    // One of the six sides alone, which the hull ignores.
    let side = "face='0 1 2 1 3 2' inertia='convex'";
    for asset in [points.to_owned(), format!("{points} scale='-1 1 1'"), format!("{points} {side}")] {
        let world = read("m.xml", &model(&asset)).unwrap_or_else(|problems| panic!("{problems}"));
        let own = world.mechanism.bodies.iter().find(|body| body.name == "b").unwrap();
        assert!((own.mass - 600.0).abs() < 1e-9, "{asset}: {}", own.mass);
        let trace = own.inertia.unwrap().tensor.to_cols_array_2d();
        let sum: f64 = (0..3).map(|index| trace[index][index]).sum();
        assert!((sum - 600.0 * 2.0 * 14.0 / 12.0).abs() < 1e-8, "{asset}: {sum}");
    }
    let flat = read("m.xml", &model("vertex='0 0 0 1 0 0 0 1 0 1 1 0 2 2 0'"));
    assert!(flat.unwrap_err().to_string().contains("span no volume"));
}
