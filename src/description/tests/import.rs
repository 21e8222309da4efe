//! URDF import: frames, masses, joints, devices, meshes, and errors of broken files.
//!
//! URDF has z up and SimPartner y up: a point (x, y, z) of the one is (x, z, -y) of the other. Two links that cannot
//! move against each other are one body: masses add up, and the inertia is that about the common centre of mass
//! (Steiner).

use std::fs;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::{
    World,
    mesh::Mesh,
    xml::{self, Document, ImportOptions},
};
use simpartner_model::{Axis, Body, JointKind, Shape};

const ARM: &str = r#"<robot name="arm">
  <material name="grey"/>
  <link name="base_footprint"/>
  <joint name="stand" type="fixed"><parent link="base_footprint"/><child link="base"/><origin xyz="0 0 0.1"/></joint>
  <link name="base">
    <inertial><mass value="4"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.4 0.2"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/><axis xyz="0 2 0"/>
    <limit lower="0.2" upper="2" effort="30" velocity="3"/><dynamics damping="0.5" friction="0.1"/>
  </joint>
  <link name="upper">
    <inertial><origin xyz="0 0 0.5"/><mass value="2"/><inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.05" length="1"/></geometry></collision>
    <contact><lateral_friction value="0.7"/></contact>
  </link>
  <joint name="flange" type="fixed"><parent link="upper"/><child link="tool"/><origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/></joint>
  <link name="tool">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="wheel" type="continuous"><parent link="upper"/><child link="disc"/><axis xyz="1 0 0"/></joint>
  <link name="disc"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="rod"/><limit upper="0.3"/></joint>
  <link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="copy" type="prismatic">
    <parent link="base"/><child link="other"/><axis xyz="0 1 0"/><mimic joint="slide" multiplier="-2" offset="0.1"/>
  </joint>
  <link name="other"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
</robot>"#;

fn read(text: &str) -> World {
    match xml::read_text("robot.urdf", text) {
        Ok(Document::Robot(world)) => world,
        Ok(_) => panic!("no robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn close(found: DVec3, expected: DVec3) {
    assert!((found - expected).length() < 1e-12, "{found} is not {expected}");
}

/// A URDF point in our frame.
fn y_up(point: DVec3) -> DVec3 {
    DVec3::new(point.x, point.z, -point.y)
}

#[test]
fn links_stand_where_their_joints_put_them() {
    let world = read(ARM);
    let names: Vec<&str> = world.mechanism.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["base", "upper", "disc", "rod", "other"]);
    // The footprint has no mass, so the base gives the body its frame; the robot's frame is still the footprint's.
    close(body(&world, "base").pose.translation, y_up(DVec3::new(0.0, 0.0, 0.1)));
    let shoulder = &world.mechanism.joints[0];
    assert_eq!((shoulder.name.as_str(), shoulder.kind), ("shoulder", JointKind::Hinge));
    close(shoulder.anchor, y_up(DVec3::new(0.0, 0.0, 0.2)));
    // The upper link is turned by a quarter about z, which takes its y axis to -x.
    close(shoulder.frame * DVec3::Z, -DVec3::X);
    let Axis::Free(axis) = shoulder.axes[2] else { panic!("a hinge is free about its third axis") };
    assert_eq!((axis.damping, axis.friction), (0.5, 0.1));
    assert_eq!((axis.max_effort, axis.max_rate), (30.0, 3.0));
}

#[test]
fn fixed_links_are_one_body_or_stay_apart() {
    let world = read(ARM);
    let upper = body(&world, "upper");
    assert_eq!(upper.mass, 3.0);
    let inertia = upper.inertia.unwrap();
    // 2 kg at 0.5 m and 1 kg at 1 m along z; the tool is turned by a quarter about x, so its y and z moments change
    // places.
    let centre = 2.0 / 3.0;
    close(inertia.centre_of_mass, DVec3::new(0.0, 0.0, centre));
    let far = 2.0 * (centre - 0.5f64).powi(2) + (1.0 - centre).powi(2);
    let expected = DMat3::from_diagonal(DVec3::new(0.2 + 0.01 + far, 0.3 + 0.025 + far, 0.4 + 0.02));
    for column in 0..3 {
        close(inertia.tensor.col(column), expected.col(column));
    }
    assert_eq!(upper.material.friction, 0.7);
    let Some(Shape::Compound { parts }) = upper.shape.as_ref().map(|placed| &placed.shape) else {
        panic!("two shapes")
    };
    close(parts[1].pose.translation, DVec3::new(0.0, 0.0, 1.0));
    // The axis of a URDF cylinder is z.
    close(parts[0].pose.rotation * DVec3::Y, DVec3::Z);

    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("arm.urdf");
    fs::write(&path, ARM).unwrap();
    let apart = xml::import(&path, &ImportOptions { keep_fixed_joints: true, ..ImportOptions::default() }).unwrap();
    let world = match xml::read_text("arm.xml", &apart.text).unwrap() {
        Document::Robot(world) => world,
        _ => panic!("no robot"),
    };
    assert_eq!(world.mechanism.bodies.iter().filter(|body| body.name == "tool").count(), 1);
    assert_eq!(world.mechanism.joints.iter().filter(|joint| joint.kind == JointKind::Fixed).count(), 2);
    let mass =
        |world: &World| world.mechanism.bodies.iter().filter(|body| !body.fixed).map(|body| body.mass).sum::<f64>();
    // The footprint has no mass: kept apart it is the root, and fixed.
    assert_eq!(mass(&world), mass(&read(ARM)));
}

#[test]
fn joints_begin_within_their_stops_and_follow_each_other() {
    let world = read(ARM);
    // The shoulder's stops exclude 0: it starts at the nearer one, with its child there. The axis is -x in this frame.
    let turned = DQuat::from_axis_angle(DVec3::NEG_X, 0.2);
    let upright =
        DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2) * DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    close(body(&world, "upper").pose.rotation * DVec3::Z, turned * (upright * DVec3::Z));
    let [coupling] = &world.mechanism.couplings[..] else { panic!("one coupling") };
    let named = |id: simpartner_model::JointId| world.mechanism.joints[id.index()].name.as_str();
    assert_eq!((named(coupling.leader.joint), named(coupling.follower.joint)), ("slide", "copy"));
    assert_eq!((coupling.ratio, coupling.offset), (-2.0, 0.1));
    let devices: Vec<(&str, u16)> =
        world.devices.iter().map(|device| (device.name.as_str(), device.port.number())).collect();
    assert_eq!(
        devices[..4],
        [("shoulder_encoder", 3001), ("shoulder_motor", 3002), ("wheel_encoder", 3003), ("wheel_motor", 3004)]
    );
    assert!(!devices.iter().any(|(name, _)| *name == "copy_motor"), "what follows has no motor of its own");
}

/// The text that is written reads as the same robot as the URDF itself.
#[test]
fn the_written_file_is_the_same_robot() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("arm.urdf");
    fs::write(&path, ARM).unwrap();
    let imported = xml::import(&path, &ImportOptions::default()).unwrap();
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    let Document::Robot(written) = xml::read_text("arm.xml", &imported.text).unwrap() else { panic!("no robot") };
    let direct = read(ARM);
    for (one, other) in written.mechanism.bodies.iter().zip(&direct.mechanism.bodies) {
        assert_eq!(Body { source: String::new(), ..one.clone() }, Body { source: String::new(), ..other.clone() });
    }
    assert_eq!(written.mechanism.joints.len(), direct.mechanism.joints.len());
}

/// Meshes of a package, once with a scale that mirrors; the run's own texts are enough to read the world again.
#[test]
fn meshes_are_found_in_packages_and_kept_with_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = |path: &str| {
        let folder = scratch.path().join(path);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (meshes, urdf) = (folder("my_robot/meshes"), folder("my_robot/urdf"));
    fs::write(meshes.join("wedge.obj"), "v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        .unwrap();
    let shape = |scale: &str| {
        format!(
            "<collision><geometry><mesh filename=\"package://my_robot/meshes/wedge.obj\"{scale}/></geometry></collision>"
        )
    };
    let text = format!(
        "<robot name=\"wedge\"><link name=\"one\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>{}{}\
         <collision><geometry><mesh filename=\"package://my_robot/meshes/none.stl\"/></geometry></collision></link></robot>",
        shape(""),
        shape(" scale=\"-0.5 1 1\"")
    );
    fs::write(urdf.join("wedge.urdf"), text).unwrap();
    let world_file = scratch.path().join("world.xml");
    let place =
        "<world name=\"w\"><robot file=\"my_robot/urdf/wedge.urdf\" name=\"Wedge\" fixedBase=\"true\"/></world>";
    fs::write(&world_file, place).unwrap();
    let world = xml::read_world(&world_file).unwrap_or_else(|problems| panic!("{problems}"));
    let hulls = |world: &World| -> Vec<Vec<DVec3>> {
        let Some(Shape::Compound { parts }) =
            world.mechanism.bodies[0].shape.as_ref().map(|placed| placed.shape.clone())
        else {
            panic!("two shapes")
        };
        let points = parts.into_iter().map(|part| match part.shape {
            Shape::ConvexHull { points } => points,
            other => panic!("a {}", other.name()),
        });
        points.collect()
    };
    let found = hulls(&world);
    assert!(world.mechanism.bodies[0].fixed);
    assert_eq!((found[0][1], found[1][1]), (DVec3::new(2.0, 0.0, 0.0), DVec3::new(-1.0, 0.0, 0.0)));
    let [warning] = &world.warnings[..] else { panic!("{:?}", world.warnings) };
    assert!(warning.what.contains("no package with 'package://my_robot/meshes/none.stl'"), "{warning}");
    // Without any file.
    fs::remove_dir_all(scratch.path().join("my_robot")).unwrap();
    let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(hulls(&again), found);
}

#[test]
fn imported_meshes_are_gathered_beside_the_robot_file() {
    let scratch = tempfile::tempdir().unwrap();
    for side in ["left", "right"] {
        fs::create_dir(scratch.path().join(side)).unwrap();
        fs::write(scratch.path().join(side).join("hand.obj"), "v 0 0 0\nv 2 0 0\nv 0 1 0\nv 0 0 1\n").unwrap();
    }
    let shape =
        |side: &str| format!("<collision><geometry><mesh filename=\"{side}/hand.obj\"/></geometry></collision>");
    let text = format!(
        "<robot name=\"r\"><link name=\"l\">{}{}{}</link></robot>",
        shape("left"),
        shape("right"),
        shape("left")
    );
    let path = scratch.path().join("r.urdf");
    fs::write(&path, text).unwrap();
    let options = ImportOptions { mesh_folder: Some("meshes/r".into()), ..ImportOptions::default() };
    let imported = xml::import(&path, &options).unwrap();
    let to: Vec<&str> = imported.meshes.iter().map(|mesh| mesh.path.as_str()).collect();
    assert_eq!(to, ["meshes/r/hand.obj", "meshes/r/2_hand.obj"]);
    assert_eq!(imported.text.matches("meshes/r/hand.obj").count(), 2, "{}", imported.text);
}

fn link(name: &str) -> String {
    format!(
        "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial></link>"
    )
}

fn joint(kind: &str, parent: &str, child: &str) -> String {
    format!("<joint name=\"j_{child}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
}

/// Errors have their position in the URDF file; omissions are warnings.
#[test]
fn broken_files_are_told_by_place() {
    let robot = |content: &str| format!("<robot name=\"r\">\n{content}\n</robot>");
    expect("<world name=\"w\"/>", "1:1: a URDF file holds a <robot>, this one <world>");
    expect("<robot/>", "1:1: <robot> lacks a name");
    expect("<robot name=\"r\"><link name=\"a\">", "never closed");
    expect(&robot(""), "1:1: the robot has no link");
    expect(&robot("<xacro:macro name=\"m\"/>"), "1:1: the robot has no link");
    expect(&robot("<!DOCTYPE a [<!ENTITY b \"c\">]>"), "document type declaration is not taken");
}

#[test]
fn broken_trees_are_told_by_place() {
    let two = link("a") + &link("b");
    let broken = |content: &str, expected: &str| expect(&format!("<robot name=\"r\">{content}</robot>"), expected);
    broken("<link/>", "<link> lacks a name");
    broken(&(link("a") + &link("a")), "there is a link 'a' already");
    let with = |more: &str, expected: &str| broken(&format!("{two}{more}"), expected);
    with(&joint("hinge", "a", "b"), "a type 'hinge' is not known");
    with(&joint("floating", "a", "b"), "is floating: that joins nothing");
    with(&joint("fixed", "a", "c"), "there is no link 'c'");
    with("<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/></joint>", "joint 'j' lacks <child>");
    with(&(joint("fixed", "a", "b") + &joint("fixed", "b", "a")), "so none is the root");
    with(&(link("c") + &joint("fixed", "b", "c") + &joint("fixed", "c", "b")), "carries itself");
    with(&(link("c") + &joint("fixed", "a", "c") + &joint("fixed", "b", "c")), "is the child of both");
    let turning = |more: &str| {
        format!("<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/>{more}</joint>")
    };
    with(&turning("<axis xyz=\"0 0 0\"/>"), "the axis of joint 'j' has no length");
    with(&turning("<dynamics damping=\"-1\"/>"), "the damping of joint 'j' is below zero");
}

#[test]
fn broken_links_are_told_by_place() {
    let broken = |content: &str, expected: &str| {
        expect(&format!("<robot name=\"r\"><link name=\"a\">{content}</link></robot>"), expected);
    };
    broken("<inertial><mass value=\"-1\"/></inertial>", "a mass of -1 kg is below zero");
    broken("<inertial><mass value=\"x\"/></inertial>", "expected a finite number, got 'x'");
    broken("<inertial/>", "<inertial> lacks <mass>");
    broken("<collision/>", "<collision> lacks a <geometry> with a shape");
    let shape = |shape: &str, expected: &str| {
        broken(&format!("<collision><geometry>{shape}</geometry></collision>"), expected);
    };
    shape("<box/>", "<box> lacks the attribute 'size'");
    shape("<box size=\"1 1\"/>", "expected 3 finite numbers");
    shape("<sphere radius=\"-1\"/>", "expected a number above 0");
    shape("<mesh/>", "<mesh> lacks the attribute 'filename'");
    shape("<mesh filename=\"package://a/../../etc/passwd\"/>", "leads out of its package");
}

fn expect(text: &str, expected: &str) {
    let problems = xml::read_text("broken.urdf", text).err().unwrap_or_else(|| panic!("taken: {text}")).to_string();
    assert!(problems.starts_with("broken.urdf:") && problems.contains(expected), "{text}\n{problems}");
}

#[test]
fn what_is_left_out_is_a_warning() {
    let text = "<robot name=\"r\"><gazebo reference=\"c\"/>
      <link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"5\"/></inertial>
        <collision><geometry><torus/></geometry></collision></link>
      <joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/><limit lower=\"1\" upper=\"-1\"/></joint>
      <link name=\"b\"/></robot>";
    let warnings: Vec<String> = read(text).warnings.iter().map(ToString::to_string).collect();
    let all = warnings.join("\n");
    for (line, what) in [
        (1, "<gazebo reference=\"c\"> names no link and no joint"),
        (2, "link 'a' has an inertia that no mass has"),
        (3, "a shape of the kind <torus> is left out"),
        (4, "joint 'j' has its lower limit 1 above its upper one -1"),
        (5, "link 'b' moves and has no mass; it gets 0.001 kg"),
    ] {
        assert!(
            warnings.iter().any(|told| told.starts_with(&format!("robot.urdf:{line}:")) && told.contains(what)),
            "{what}\n{all}"
        );
    }
    assert_eq!(warnings.len(), 5, "{all}");
}

/// A missing mesh file is reported at the position of its name, and an error in it with its line.
#[test]
fn wrong_mesh_files_are_told_by_place() {
    let scratch = tempfile::tempdir().unwrap();
    let world = scratch.path().join("world.xml");
    fs::write(scratch.path().join("flat.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\n").unwrap();
    fs::write(scratch.path().join("points.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n").unwrap();
    fs::write(scratch.path().join("broken.obj"), "v 0 0 0\nv 1 x 0\n").unwrap();
    for (shape, expected) in [
        ("<convexHull file=\"none.stl\"/>", "the mesh file cannot be used: cannot open"),
        ("<convexHull file=\"world.xml\"/>", "a mesh file ends with .obj, .stl, .dae"),
        ("<convexHull file=\"broken.obj\"/>", "broken.obj:2: expected a number, got 'x'"),
        ("<convexHull file=\"flat.obj\"/>", "enclose no volume"),
        ("<convexHull file=\"points.obj\" scaleX=\"0\"/>", "a scale of 0 leaves nothing"),
        ("<convexHull file=\"points.obj\" scale=\"1e6\" scaleX=\"1e6\"/>", "reaches 1e12 m from its origin"),
        ("<convexHull file=\"points.obj\"><vertices>0 0 0</vertices></convexHull>", "stand both here and in a file"),
        ("<triangleMesh file=\"points.obj\"/>", "holds no triangles"),
        ("<convexHull/>", "<convexHull> has no points"),
    ] {
        let text = format!("<world name=\"w\">\n<object name=\"o\"><mass>1</mass>{shape}</object></world>");
        fs::write(&world, text).unwrap();
        let problems = xml::read_world(&world).err().unwrap_or_else(|| panic!("taken: {shape}")).to_string();
        assert!(problems.contains("world.xml:2:") && problems.contains(expected), "{shape}\n{problems}");
    }
}

/// Red on one side and without a colour on the other.
const PAINTED: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nusemtl #ff0000\nf 1 4 3\nf 2 3 4\n";

fn seen(body: &Body) -> Vec<(&str, Option<String>)> {
    body.seen().map(|(placed, color)| (placed.shape.name(), color.map(|color| color.to_string()))).collect()
}

#[test]
fn what_is_seen_has_the_colours_of_its_materials() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("painted.obj"), PAINTED).unwrap();
    let box_of = "<geometry><box size='1 1 1'/></geometry>";
    let mesh = "<geometry><mesh filename='painted.obj'/></geometry>";
    let visual = |inner: &str, material: &str| format!("<visual>{inner}{material}</visual>");
    let link = |name: &str, visuals: &[String]| {
        let mass = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>";
        format!("<link name='{name}'>{mass}<collision>{box_of}</collision>{}</link>", visuals.concat())
    };
    let joint = |child: &str| {
        format!("<joint name='to_{child}' type='fixed'><parent link='a'/><child link='{child}'/></joint>")
    };
    let text = [
        "<robot name='r'><material name='blue'><color rgba='0 0 1 0.5'/></material>",
        &link("a", &[visual(box_of, "")]),
        &link("b", &[visual(box_of, "<material name='blue'/>"), visual(mesh, "")]),
        &link("c", &[visual(mesh, "<material name='own'><color rgba='0 1 0 1'/></material>")]),
        &link(
            "d",
            &[
                visual(box_of, "<material name='own'/>"),
                visual(box_of, "<material name='x'><color rgba='1 1'/></material>"),
            ],
        ),
        &["b", "c", "d"].map(joint).concat(),
        "</robot>",
    ]
    .concat();
    fs::write(folder.path().join("r.urdf"), text).unwrap();
    let options = ImportOptions { keep_fixed_joints: true, ..ImportOptions::default() };
    let imported = xml::import(&folder.path().join("r.urdf"), &options).unwrap();
    fs::write(folder.path().join("r.xml"), &imported.text).unwrap();
    let Ok(Document::Robot(world)) = xml::read_any(&folder.path().join("r.xml")) else { panic!("{}", imported.text) };
    let some = |color: &str| Some(color.to_owned());
    assert_eq!(seen(body(&world, "a")), [("box", None)]);
    assert!(body(&world, "a").visuals.is_empty(), "what looks as it collides is said once");
    let expected = [("box", some("#0000ff80")), ("triangleMesh", None), ("triangleMesh", some("#ff0000"))];
    assert_eq!(seen(body(&world, "b")), expected);
    assert_eq!(seen(body(&world, "c")), [("triangleMesh", some("#00ff00"))]);
    assert_eq!(seen(body(&world, "d")), [("box", some("#00ff00")), ("box", None)]);
    let [warning] = &imported.warnings[..] else { panic!("{:?}", imported.warnings) };
    assert!(warning.what.contains("'rgba': expected four numbers"), "{warning}");
    let again = xml::read_kept(&world.sources).unwrap();
    assert_eq!(again.mechanism.bodies[1].visuals, world.mechanism.bodies[1].visuals);
}

#[test]
fn wrong_visuals_are_told_by_place() {
    let robot = |visual: &str| format!("<robot name='r'><body name='b'><mass>1</mass>\n  {visual}</body></robot>");
    for (visual, expected) in [
        ("<visual/>", "r.xml:2:3: <visual> holds no shape"),
        (
            "<visual color='red'><sphere radius='1'/></visual>",
            "r.xml:2:11: attribute 'color': expected a colour as #rrggbb",
        ),
        ("<visual><sphere radius='1'/><sphere radius='2'/></visual>", "<visual> has a second shape"),
        ("<visual><triangleMesh file='nowhere.dae'/></visual>", "cannot open 'nowhere.dae'"),
    ] {
        let problems = xml::read_text("r.xml", &robot(visual)).expect_err(visual).to_string();
        assert!(problems.contains(expected), "{problems}");
    }
}

/// Each pair of triangles with the other corners: any parts suffice for this test.
fn halves(mesh: &Mesh) -> Vec<Mesh> {
    mesh.triangles.chunks(2).map(|triangles| Mesh::new(mesh.vertices.clone(), triangles.to_vec())).collect()
}

#[test]
fn meshes_are_taken_apart_where_they_collide_and_whole_where_they_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("painted.obj"), format!("mtllib painted.mtl\n{}", PAINTED.replace("#ff0000", "red")))
        .unwrap();
    fs::write(folder.path().join("painted.mtl"), "newmtl red\nKd 1 0 0\n").unwrap();
    let mesh = "<geometry><mesh filename='painted.obj' scale='2 2 2'/></geometry>";
    let at = |x: i32| format!("<collision><origin xyz='{x} 0 0'/>{mesh}</collision>");
    let inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>";
    let link =
        |name: &str, solids: &str| format!("<link name='{name}'>{inertial}{solids}<visual>{mesh}</visual></link>");
    let text = format!(
        "<robot name='r'>{}{}{}</robot>",
        link("a", &at(1)),
        link("b", &(at(1) + &at(3))),
        joint("revolute", "a", "b")
    );
    fs::write(folder.path().join("r.urdf"), text).unwrap();
    let options =
        ImportOptions { mesh_folder: Some("meshes/r".into()), decompose: Some(halves), ..ImportOptions::default() };
    let imported = xml::import(&folder.path().join("r.urdf"), &options).unwrap();
    let names: Vec<&str> = imported.meshes.iter().map(|mesh| mesh.path.as_str()).collect();
    assert_eq!(names, ["meshes/r/painted_1.obj", "meshes/r/painted_2.obj", "meshes/r/painted.obj"]);
    fs::create_dir_all(folder.path().join("meshes/r")).unwrap();
    for mesh in &imported.meshes {
        fs::write(folder.path().join(&mesh.path), &mesh.contents).unwrap();
    }
    // The colours were included without their file.
    fs::write(folder.path().join("r.xml"), &imported.text).unwrap();
    fs::remove_file(folder.path().join("painted.mtl")).unwrap();
    let world = match xml::read_any(&folder.path().join("r.xml")) {
        Ok(Document::Robot(world)) => world,
        other => panic!("{other:?}\n{}", imported.text),
    };
    assert_eq!(seen(body(&world, "a")), [("triangleMesh", None), ("triangleMesh", Some("#ff0000".into()))]);
    for (name, parts_at) in [("a", vec![1.0; 2]), ("b", vec![1.0, 1.0, 3.0, 3.0])] {
        let whole = body(&world, name).shape.as_ref().unwrap();
        let Shape::Compound { parts } = &whole.shape else { panic!("{whole:?}") };
        let found: Vec<f64> = parts.iter().map(|part| whole.pose.then(&part.pose).translation.x).collect();
        assert_eq!(found, parts_at, "{}", imported.text);
    }
}

/// Bullet's stops of a ball joint. The initial position of its example is outside of its two first numbers as limits.
#[test]
fn spherical_joints_have_cones_for_stops() {
    let text = |limit: &str| {
        format!(
            "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>
             <link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>
             <joint name='neck' type='spherical'><parent link='a'/><child link='b'/>{limit}</joint></robot>"
        )
    };
    let neck = |limit: &str| read(&text(limit)).mechanism.joints[0].clone();
    let joint = neck("<limit effort='1000' lower='0.2' upper='.8' twist='.3'/>");
    let axis = joint.axes[2].free().unwrap();
    assert_eq!((joint.swing, axis.lower, axis.upper), (0.8, -0.3, 0.3));
    assert_eq!(neck("<limit effort='10' lower='0' upper='0'/>").swing, f64::INFINITY);
}
