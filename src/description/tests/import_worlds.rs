//! Worlds of other programs that lack files, have several models, or leave things to defaults: what is there is
//! simulated, and the rest is told with its line.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_model::{Body, JointKind};

fn read_at(path: &str, text: &str) -> World {
    match xml::read_text(path, text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn read(text: &str) -> World {
    read_at("hall.sdf", text)
}

fn read_file(path: &Path) -> World {
    match xml::read_any(path) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn names(world: &World) -> Vec<String> {
    world.mechanism.bodies.iter().map(|body| world.mechanism.qualified_name(body)).collect()
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    let bodies = &world.mechanism.bodies;
    bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no {name} in {:?}", names(world)))
}

fn close(found: DVec3, expected: DVec3) {
    assert!((found - expected).length() < 1e-9, "{found} is not {expected}");
}

/// A link of 2 kg with a shape.
fn link(name: &str, shape: &str) -> String {
    format!(
        "<link name='{name}'><inertial><mass>2</mass></inertial><collision name='c'><geometry>{shape}</geometry></collision></link>"
    )
}

const BALL: &str = "<sphere><radius>0.1</radius></sphere>";

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn a_missing_model_is_left_out_with_what_hangs_on_it() {
    let world = read(&format!(
        "<sdf version='1.9'><world name='w'>
        <include><uri>https://fuel.gazebosim.org/1.0/o/models/No Such Tree</uri><name>tree</name><pose>1 2 3 0 0 0</pose></include>
        <include><uri>model://../../etc</uri></include>
        <model name='bird'><pose relative_to='tree::crown'>0 0 1 0 0 0</pose>{}</model>
        <model name='swing'>{}</model>
        <joint name='rope' type='ball'><parent>tree</parent><child>swing</child></joint></world></sdf>",
        link("l", BALL),
        link("l", BALL),
    ));
    let told = told(&world);
    for part in [
        "hall.sdf:2:18: there is no model 'https://fuel.gazebosim.org/1.0/o/models/No Such Tree'",
        "hall.sdf:3:18: there is no model 'model://../../etc'",
        "hall.sdf:6:9: a joint to a model that is left out is left out",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert_eq!(names(&world), ["bird/l", "swing/l"]);
    close(body(&world, "bird/l").pose.translation, DVec3::new(1.0, 4.0, -2.0));
}

#[test]
fn bodies_of_several_models_have_the_names_of_their_models() {
    let model = |name: &str, more: &str| format!("<model name='{name}'>{}{more}</model>", link("link", BALL));
    let wheel = format!(
        "<model name='front'>{0}</model><model name='rear'>{0}</model>
        <joint name='j' type='continuous'><parent>link</parent><child>front::wheel</child><axis/></joint>
        <joint name='k' type='continuous'><parent>link</parent><child>rear::wheel</child><axis/></joint>",
        link("wheel", BALL)
    );
    let world = read(&format!(
        "<sdf version='1.9'><world name='w'>{}{}{}{}</world></sdf>",
        model("one", ""),
        model("two", ""),
        model("cart", &wheel),
        model("other", &wheel)
    ));
    assert_eq!(
        names(&world),
        [
            "one/link",
            "two/link",
            "cart/link",
            "cart/front::wheel",
            "cart/rear::wheel",
            "other/link",
            "other/front::wheel",
            "other/rear::wheel"
        ]
    );
    assert!(!told(&world).contains("becomes"), "{}", told(&world));
    assert!(xml::read_kept(&world.sources).is_ok());
}

#[test]
fn a_model_is_found_in_the_cache_of_fuel_and_in_given_folders() {
    let folder = tempfile::tempdir().unwrap();
    let model = |mass: u32| {
        format!(
            "<sdf version='1.9'><model name='m'><link name='l'><inertial><mass>{mass}</mass></inertial></link></model></sdf>"
        )
    };
    let cache = "cache/fuel.gazebosim.org/open robotics/models/big box";
    write(folder.path(), &format!("{cache}/2/model.sdf"), &model(2));
    write(folder.path(), &format!("{cache}/10/model.sdf"), &model(10));
    write(folder.path(), "given/crate/model.sdf", &model(5));
    let include = |uri: &str, name: &str| format!("<include><uri>{uri}</uri><name>{name}</name></include>");
    let fuel = "https://fuel.ignitionrobotics.org/1.0/Open%20Robotics/models/Big Box";
    write(
        folder.path(),
        "worlds/w.sdf",
        &format!(
            "<sdf version='1.9'><world name='w'>{}{}{}{}</world></sdf>",
            include(fuel, "newest"),
            include(&format!("{fuel}/2"), "second"),
            include("model://crate", "crate"),
            include("https://fuel.gazebosim.org/1.0/somebody/models/crate", "by_name")
        ),
    );
    xml::search_models_in(&[folder.path().join("cache"), folder.path().join("given")]);
    let world = read_file(&folder.path().join("worlds/w.sdf"));
    assert_eq!(told(&world), "");
    let mass = |name: &str| body(&world, name).mass;
    assert_eq!(["newest/l", "second/l", "crate/l", "by_name/l"].map(mass), [10.0, 2.0, 5.0, 5.0]);
    // A replay has the files that were found, wherever they were.
    fs::remove_dir_all(folder.path()).unwrap();
    let again = xml::read_kept(&world.sources).unwrap();
    assert_eq!(names(&again), names(&world));
    assert!(again.mechanism.bodies.iter().zip(&world.mechanism.bodies).all(|(one, other)| one.mass == other.mass));
}

#[test]
fn a_package_is_found_by_its_name_and_where_ros_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    write(folder.path(), "checkout/package.xml", "<package><name>arm_description</name></package>");
    write(folder.path(), "checkout/meshes/a.obj", tetrahedron);
    write(folder.path(), "ros/repository/gripper/meshes/b.obj", tetrahedron);
    let collision =
        |file: &str| format!("<collision><geometry><mesh filename='package://{file}'/></geometry></collision>");
    let robot = format!(
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>{}{}\n{}</link></robot>",
        collision("arm_description/meshes/a.obj"),
        collision("gripper/meshes/b.obj"),
        collision("gripper/meshes/none.obj")
    );
    write(folder.path(), "checkout/urdf/r.urdf", &robot);
    xml::search_models_in(&[folder.path().join("ros")]);
    let world = read_file(&folder.path().join("checkout/urdf/r.urdf"));
    let told = told(&world);
    assert!(world.warnings.len() == 1 && told.contains("r.urdf:2:"), "{told}");
    assert!(told.contains("no package with 'package://gripper/meshes/none.obj'"), "{told}");
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(xml::read_kept(&world.sources).is_ok());
}

#[test]
fn joints_end_at_frames_nested_frames_and_models() {
    let text = |parent: &str, child: &str| {
        format!(
            "<sdf version='1.10'><model name='m'>{}<frame name='tip' attached_to='arm::hand'><pose>0 0 1 0 0 0</pose></frame>
            <model name='arm'>{}<frame name='inner'/><model name='finger'>{}</model></model>
            <joint name='j' type='fixed'><parent>{parent}</parent><child>{child}</child></joint></model></sdf>",
            link("base", BALL),
            link("hand", BALL),
            link("nail", BALL)
        )
    };
    for (parent, child, expected) in [
        ("base", "tip", 2),
        ("__model__", "arm::hand", 2),
        ("base", "arm::inner", 2),
        ("base", "arm::__model__", 2),
        ("base", "arm::finger", 2),
        ("base", "arm", 2),
        ("world", "__model__", 3),
    ] {
        let world = read(&text(parent, child));
        assert_eq!((world.mechanism.bodies.len(), told(&world)), (expected, String::new()), "{parent} {child}");
    }
}

#[test]
fn two_joints_of_two_links_are_one() {
    let text = |one: &str, other: &str| {
        format!(
            "<sdf version='1.7'><model name='m'>{}{}
            <joint name='j' type='{one}'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
            <joint name='k' type='{other}'><pose>0 0 2 0 0 0</pose><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
            </model></sdf>",
            link("a", BALL),
            link("b", BALL)
        )
    };
    for (one, other, kind) in [
        ("revolute", "revolute", Some(JointKind::Hinge)),
        ("ball", "ball", Some(JointKind::Hinge)),
        ("revolute", "ball", Some(JointKind::Hinge)),
        ("prismatic", "prismatic", Some(JointKind::Slider)),
        ("revolute", "prismatic", None),
        ("revolute", "fixed", None),
    ] {
        let world = read(&text(one, other));
        let joints: Vec<JointKind> = world.mechanism.joints.iter().map(|joint| joint.kind).collect();
        let moving = joints.iter().find(|kind| **kind != JointKind::Fixed).copied();
        assert_eq!((joints.len() <= 1, moving), (true, kind), "{one} {other}: {joints:?}");
        assert!(told(&world).contains("hall.sdf:3:13: joint 'k' connects the same links as 'j'"), "{}", told(&world));
    }
}

#[test]
fn an_inertia_follows_from_the_shapes() {
    let folder = tempfile::tempdir().unwrap();
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    write(folder.path(), "t.obj", tetrahedron);
    let model = |name: &str, shape: &str| {
        format!(
            "<model name='{name}'><link name='l'><inertial auto='true'><density>600</density></inertial><collision name='c'><geometry>{shape}</geometry></collision></link></model>"
        )
    };
    let outline = "<polyline><point>0 0</point><point>2 0</point><point>2 2</point><point>1 1</point><point>0 2</point><height>0.5</height></polyline>";
    let text = format!(
        "<sdf version='1.11'><world name='w'>{}{}{}{}{}</world></sdf>",
        model("mesh", "<mesh><uri>t.obj</uri><scale>1 2 3</scale></mesh>"),
        model("capsule", "<capsule><radius>0.5</radius><length>1</length></capsule>"),
        model("ellipsoid", "<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>"),
        model("outline", outline),
        model("none", "<empty/>")
    );
    write(folder.path(), "w.sdf", &text);
    let world = read_file(&folder.path().join("w.sdf"));
    let pi = std::f64::consts::PI;
    for (name, volume) in [
        ("mesh/l", 1.0),
        ("capsule/l", pi * 0.25 + 4.0 / 3.0 * pi * 0.125),
        ("ellipsoid/l", 4.0 / 3.0 * pi * 0.006),
        ("outline/l", 3.0 * 0.5),
    ] {
        let body = body(&world, name);
        assert!((body.mass / (600.0 * volume) - 1.0).abs() < 1e-12, "{name}: {} kg", body.mass);
    }
    close(body(&world, "mesh/l").inertia.unwrap().centre_of_mass, DVec3::new(0.25, 0.5, 0.75));
    assert_eq!(body(&world, "none/l").mass, 1.0);
    assert!(told(&world).contains("the shapes of a link that has none"), "{}", told(&world));
}

/// A notch of an outline stays open, and an outline in another one is a hole.
#[test]
fn outlines_keep_their_hollows() {
    let square = |low: f64, high: f64| {
        format!(
            "<polyline><point>{low} {low}</point><point>{high} {low}</point><point>{high} {high}</point><point>{low} {high}</point><height>1</height></polyline>"
        )
    };
    let text = format!(
        "<sdf version='1.9'><model name='m'><link name='l'><inertial auto='true'/><collision name='c'><geometry>{}{}</geometry></collision></link></model></sdf>",
        square(0.0, 3.0),
        square(1.0, 2.0)
    );
    let world = read(&text);
    assert!((world.mechanism.bodies[0].mass - 8000.0).abs() < 1e-6, "{}", world.mechanism.bodies[0].mass);
    assert_eq!(told(&world), "");
}

#[test]
fn what_gazebo_has_defaults_for_is_told() {
    let world = read(&format!(
        "<sdf version='1.6'><world name='w'><model name='m'>{}
        {}<link name='c'>
        <collision name='c'/></link>
        <joint name='a' type='revolute'><parent>a</parent><child>b</child></joint>
        <joint name='j' type='universal'><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis></joint></model></world></sdf>",
        link("a", "<sphere/>"),
        link("b", "<box/>")
    ));
    let told = told(&world);
    for part in [
        "hall.sdf:1:",
        "a <sphere> lacks <radius>",
        "hall.sdf:3:9: a <collision> without a <geometry> is left out",
        "hall.sdf:4:9: a joint has the name 'a' of another part",
        "hall.sdf:4:9: a joint lacks <axis>",
        "hall.sdf:5:9: a joint of the type universal has no <axis2>",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert_eq!(world.mechanism.joints.len(), 2);
}

#[test]
fn worlds_of_ground_and_sky_are_worlds() {
    for text in [
        "<sdf version='1.9'><world name='w'><scene><sky/></scene></world></sdf>",
        "<sdf version='1.9'><model name='m'><static>true</static></model></sdf>",
        "<sdf version='1.9'><light name='l' type='point'/></sdf>",
    ] {
        let world = read(text);
        assert!(world.mechanism.bodies.is_empty() && told(&world).contains("the world is empty"), "{text}");
    }
    let world = read_at("m.xml", "<mujoco><worldbody><site name='s'/></worldbody></mujoco>");
    assert!(told(&world).contains("m.xml:1:1: the file has nothing to simulate"), "{}", told(&world));
}

#[test]
fn a_urdf_file_of_two_roots_is_two_robots() {
    let link = |name: &str| {
        format!("<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>")
    };
    let world = read_at("r.urdf", &format!("<robot name='r'>{}\n{}</robot>", link("a"), link("b")));
    assert_eq!(names(&world), ["a", "b"]);
    assert!(
        told(&world).contains("r.urdf:2:1: no joint carries 'a', nor 'b': a robot has one root"),
        "{}",
        told(&world)
    );
}

#[test]
fn the_names_of_objects_may_have_slashes_and_mean_one_body() {
    let object = |name: &str| format!("<object name='{name}'><mass>1</mass><sphere radius='1'/></object>");
    let read = |name: &str| {
        xml::read_text(
            "w.xml",
            &format!(
                "<world name='w'>{}<robot name='car'><body name='wheel'><mass>1</mass><sphere radius='1'/></body></robot></world>",
                object(name)
            ),
        )
    };
    assert!(read("shelf/box").is_ok() && read("car/door").is_ok());
    for (name, what) in [
        ("shelf/", "without blanks and without < > ,"),
        ("/box", "without blanks"),
        ("car/wheel", "is a body of the robot 'car'"),
    ] {
        let problems = read(name).err().unwrap_or_else(|| panic!("{name}")).to_string();
        assert!(problems.contains(what), "{name}: {problems}");
    }
}
