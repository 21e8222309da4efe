//! The reader through its public interface: accepted and refused files, and the messages.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bevy_math::{DQuat, DVec3};
use proptest::prelude::*;
use simpartner_description::{
    DeviceReference, DeviceSpec, Mount, Sequence, SequenceItem, World,
    xml::{
        Diagnostics, Document, grasp_dtd, grasp_task_dtd, read_any, read_text, read_world, reference, robot_dtd,
        sequence_dtd, world_dtd,
    },
};
use simpartner_model::{Axis, FreeAxis, JointKind, Moment, Shape};
use xmloxide::{
    Document as Xml,
    validation::dtd::{parse_dtd, validate},
};

const EXAMPLE_C: &str = r#"<object type="Body" name="TestParticle">
  <mass>1</mass>
  <transformation>
<T00>1</T00><T01>0</T01><T02>0</T02><T03>0</T03>
<T10>0</T10><T11>1</T11><T12>0</T12><T13>10</T13>
<T20>0</T20><T21>0</T21><T22>1</T22><T23>0</T23>
  </transformation>
  <translationalVelocity>
    <vx>0</vx>
    <vy>0</vy>
    <vz>0</vz>
  </translationalVelocity>
  <rotationalVelocity>
    <omegax>0</omegax>
    <omegay>0</omegay>
    <omegaz>0</omegaz>
  </rotationalVelocity>
</object>
"#;

const ROBOT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE robot SYSTEM "robot.dtd">
<robot name="Arm">
  <body name="Base"><mass>5</mass><pose x="1"/><box x="1" y="2" z="3"/></body>
  <body name="Hand"><mass>1</mass><pose x="2"/><translationalVelocity><vx>1</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <cylinder radius="0.1" length="0.5" axis="z"/></body>
  <joint type="hinge" name="Elbow"><parent>Base</parent><child>Hand</child><axis x="0" y="0" z="-2"/><free lower="-1"/></joint>
  <sensor type="ScannerSensor" name="Eye" body="Hand" port="1025" rays="5"/>
  <actuator type="JointController" name="Motor" joint="Elbow" port="0"/>
</robot>
"#;

fn world_from_str(path: &str, text: &str) -> Result<World, Diagnostics> {
    match read_text(path, text)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        other => panic!("{path} is {other:?}"),
    }
}

fn sequence_from_str(path: &str, text: &str) -> Result<Sequence, Diagnostics> {
    match read_text(path, text)? {
        Document::Sequence(sequence) => Ok(sequence),
        other => panic!("{path} is {other:?}"),
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a generated file with its text; UPDATE_GENERATED=1 writes it.
pub fn assert_current(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(path, text).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, text, "{}: run this test with UPDATE_GENERATED=1 to write it anew", path.display());
}

#[test]
fn the_generated_files_are_the_schema_table() {
    assert_current(&root().join("worlds/world.dtd"), &world_dtd());
    assert_current(&root().join("robots/robot.dtd"), &robot_dtd());
    assert_current(&root().join("robots/sequence.dtd"), &sequence_dtd());
    assert_current(&root().join("worlds/grasps/grasp.dtd"), &grasp_dtd());
    assert_current(&root().join("worlds/grasps/tasks/graspTask.dtd"), &grasp_task_dtd());
    assert_current(&root().join("docs/src/reference/format.md"), &reference());
}

#[test]
fn the_thesis_particle_loads_as_printed() {
    let world = world_from_str("c.xml", EXAMPLE_C).unwrap();
    let body = &world.mechanism.bodies[0];
    assert_eq!((world.name.as_str(), body.name.as_str(), body.mass), ("c", "TestParticle", 1.0));
    assert_eq!(body.pose.translation, DVec3::new(0.0, 10.0, 0.0));
    assert_eq!((body.pose.rotation, &body.shape), (DQuat::IDENTITY, &None));
    assert_eq!((world.mechanism.gravity, body.source.as_str()), (DVec3::new(0.0, -9.81, 0.0), "c.xml:1:1"));
}

#[test]
fn the_thesis_sequence_loads_as_printed() {
    let sequence = sequence_from_str("d.xml", include_str!("example_d.xml")).unwrap();
    assert_eq!(sequence.items.len(), 7);
    assert_eq!(sequence.items[3], SequenceItem::Pause(Moment::of_seconds(2.0)));
    let SequenceItem::Command { device, text, .. } = &sequence.items[0] else { panic!("a command comes first") };
    assert_eq!((device, &**text), (&DeviceReference::Port(1028), "1000,1000,100,0,0,0"));
}

#[test]
fn what_is_wrong_in_a_sequence_is_told_at_its_place() {
    let cases = [
        ("<set device='M'>v=1</set>", "1", "<set> is not known in version 1 of the sequence language"),
        ("<wait for='1s'/>", "1", "write <sequence version=\"2\">"),
        ("<wait/>", "2", "neither 'for' nor 'until'"),
        ("<wait for='1' until='a.b > 1' timeout='2'/>", "2", "either 'for' alone or 'until' with 'timeout'"),
        ("<wait until='a.b > 1'/>", "2", "lacks a 'timeout'"),
        ("<wait until='a.b = 1' timeout='2'/>", "2", "expected SENSOR.FIELD, one of > >= < <= and a number"),
        ("<wait until='ab > 1' timeout='2'/>", "2", "expected SENSOR.FIELD"),
        ("<wait until='a.b > one' timeout='2'/>", "2", "expected SENSOR.FIELD"),
        ("<wait for='-1s'/>", "2", "attribute 'for': expected a time from 0 on"),
        ("<wait for='2e9'/>", "2", "attribute 'for': expected at most 1e9 s, got '2e9'"),
        ("<wait for='1.5steps'/>", "2", "attribute 'for': expected a time from 0 on"),
        ("<set>v=1</set>", "2", "device"),
        ("<set device='M'/>", "2", "set"),
        ("<st device='M'>v=1</st>", "2", "did you mean"),
    ];
    for (inside, version, expected) in cases {
        let text = format!("<sequence version='{version}'>\n  {inside}\n</sequence>");
        let problems = sequence_from_str("s.xml", &text).unwrap_err();
        let said = problems.to_string();
        assert!(said.contains(expected) && problems.problems[0].line == 2, "{inside}: {said}");
    }
    let both = sequence_from_str("s.xml", "<sequence version='3'/>").unwrap_err().to_string();
    assert!(both.contains("this program knows versions 1 and 2"), "{both}");
}

#[test]
fn a_robot_becomes_bodies_joints_and_devices() {
    let world = world_from_str("arm.xml", ROBOT).unwrap();
    assert_eq!(
        (world.mechanism.robots[0].model.as_str(), world.mechanism.bodies.len(), world.devices.len()),
        ("Arm", 2, 2)
    );
    let joint = &world.mechanism.joints[0];
    assert_eq!((joint.kind, joint.anchor, joint.axes[0]), (JointKind::Hinge, DVec3::new(2.0, 0.0, 0.0), Axis::Locked));
    let free = joint.axes[2].free().unwrap();
    assert_eq!((free.lower, free.upper), (-1.0, f64::INFINITY));
    assert!((joint.frame * DVec3::Z - DVec3::NEG_Z).length() < 1e-15);
    let DeviceSpec::Sensor(eye) = &world.devices[0].spec else { panic!("the scanner comes first") };
    assert_eq!(eye.kind.name(), "ScannerSensor");
    let scanner = eye.options.rays;
    assert_eq!((scanner.rays, scanner.half_angle, scanner.range), (5, 0.1, 10.0));
    let placed = world.mechanism.bodies[1].shape.as_ref().unwrap();
    assert_eq!(placed.shape, Shape::Cylinder { radius: 0.1, length: 0.5 });
    assert!((placed.pose.rotation * DVec3::Y - DVec3::Z).length() < 1e-15, "axis=\"z\" stands along z");
}

/// A cylindrical joint is placed by its axis, a planar one by two; `<free>` names their coordinates.
#[test]
fn joints_that_slide_and_turn_have_the_coordinates_of_their_kind() {
    let text = r#"<robot name="R"><body name="A"><mass>1</mass></body><body name="B"><mass>1</mass></body><body name="C"><mass>1</mass></body>
<joint type="cylindrical" name="J1"><parent>A</parent><child>B</child><axis x="2"/><free axis="2" lower="-7" damping="3"/></joint>
<joint type="planar" name="J2"><parent>B</parent><child>C</child><axis1 y="1"/><axis3 x="1"/><free axis="3" upper="1"/></joint>
</robot>"#;
    let world = world_from_str("r.xml", text).unwrap();
    let [cylindrical, planar] = &world.mechanism.joints[..] else { panic!("two joints") };
    assert_eq!((cylindrical.kind, planar.kind), (JointKind::Cylindrical, JointKind::Planar));
    assert!((cylindrical.frame * DVec3::Z - DVec3::X).length() < 1e-15);
    assert!(
        (planar.frame * DVec3::X - DVec3::Y).length() < 1e-15 && (planar.frame * DVec3::Z - DVec3::X).length() < 1e-15
    );
    let slide = FreeAxis { lower: -7.0, damping: 3.0, ..FreeAxis::default() };
    let free = Axis::Free(FreeAxis::default());
    assert_eq!(cylindrical.axes, [Axis::Locked, Axis::Free(slide), free]);
    assert_eq!(planar.axes, [free, free, Axis::Free(FreeAxis { upper: 1.0, ..FreeAxis::default() })]);
}

/// A folder with `worlds/w.xml` of this content and `robots/arm.xml`.
fn project(content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let worlds = folder.path().join("worlds");
    fs::create_dir(&worlds).unwrap();
    fs::create_dir(folder.path().join("robots")).unwrap();
    fs::write(folder.path().join("robots/arm.xml"), ROBOT).unwrap();
    fs::write(worlds.join("w.xml"), format!("<world name=\"W\">{content}</world>")).unwrap();
    let path = worlds.join("w.xml");
    (folder, path)
}

#[test]
fn a_robot_is_placed_with_its_velocities_joints_and_ports() {
    let (_folder, path) = project(
        "<object type=\"Body\" name=\"Rock\"><static>true</static></object>\
         <robot file=\"arm.xml\" name=\"A\"/>\
         <robot file=\"arm.xml\" name=\"B\" portOffset=\"100\"><pose x=\"10\" yaw=\"1.5707963267948966\"/></robot>",
    );
    let world = read_world(&path).unwrap();
    assert_eq!((world.mechanism.robots.len(), world.mechanism.bodies.len(), world.sources.len()), (2, 5, 2));
    let hand = &world.mechanism.bodies[4];
    assert!((hand.pose.translation - DVec3::new(10.0, 2.0, 0.0)).length() < 1e-14);
    assert!((hand.linear_velocity - DVec3::Y).length() < 1e-15);
    let joint = &world.mechanism.joints[1];
    assert_eq!((joint.parent.index(), joint.child.index()), (3, 4));
    assert!((joint.anchor - hand.pose.translation).length() < 1e-14);
    let ports: Vec<u16> = world.devices.iter().map(|device| device.port.number()).collect();
    assert_eq!(ports, [1025, 0, 1125, 0]);
}

#[test]
fn two_robots_on_one_port_are_refused_with_both_names() {
    let (_folder, path) = project("<robot file=\"arm.xml\" name=\"A\"/><robot file=\"arm.xml\" name=\"B\"/>");
    let problems = read_world(&path).unwrap_err();
    let message = &problems.problems[0].message;
    assert!(message == "'Eye' of 'B' has port 1025, which is that of 'Eye' of 'A' already", "{message}");
}

/// A gripper as an assembly that is placed twice: each copy couples and keeps apart its own fingers.
#[test]
fn couplings_and_exclusions_of_an_assembly_are_those_of_each_copy() {
    let finger = |name: &str| {
        format!(
            "<body name='{name}'><mass>1</mass><sphere radius='0.1'/></body>
            <joint type='slider' name='{name}Slide'><parent>${{on}}</parent><child>{name}</child></joint>"
        )
    };
    let text = format!(
        "<robot name='R'><body name='Hand'><mass>1</mass></body><assembly name='Gripper'>{}{}
        <coupling leader='LeftSlide' follower='RightSlide' ratio='-1'/><exclude body='Left' other='Right'/></assembly>
        <place assembly='Gripper' suffix='A' on='Hand'/><place assembly='Gripper' suffix='B' on='Hand'/></robot>",
        finger("Left"),
        finger("Right")
    );
    let Document::Robot(world) = read_text("robot.xml", &text).unwrap_or_else(|problems| panic!("{problems}")) else {
        panic!("it is a robot")
    };
    let mechanism = &world.mechanism;
    let coupled = mechanism
        .couplings
        .iter()
        .map(|coupling| [coupling.leader, coupling.follower].map(|axis| mechanism.joint(axis.joint).name.as_str()));
    assert_eq!(coupled.collect::<Vec<_>>(), [["LeftSlideA", "RightSlideA"], ["LeftSlideB", "RightSlideB"]]);
    let apart = mechanism.apart.iter().map(|pair| pair.map(|body| mechanism.body(body).name.as_str()));
    assert_eq!(apart.collect::<Vec<_>>(), [["LeftA", "RightA"], ["LeftB", "RightB"]]);
}

#[test]
fn a_missing_robot_file_says_where_it_was_looked_for() {
    let (_folder, path) = project("<robot file=\"leg.xml\" name=\"A\"/>");
    let help = read_world(&path).unwrap_err().problems[0].help.clone().unwrap();
    assert!(help.contains("worlds/leg.xml") && help.contains("robots/leg.xml"), "{help}");
}

#[test]
fn a_heightfield_reads_the_same_from_text_csv_and_grid() {
    let (folder, path) = project(
        "<heightfield rows=\"2\" columns=\"3\" width=\"1\" depth=\"2\" scale=\"2\" offset=\"1\">1 2 3 4 5 6</heightfield>",
    );
    let inline = read_world(&path).unwrap().mechanism.heightfields().next().unwrap().clone();
    assert_eq!(inline.heights[..], [3.0, 5.0, 7.0, 9.0, 11.0, 13.0]);
    assert_eq!((inline.height(1, 0), inline.position(1, 0)), (9.0, (0.5, -1.0)));
    fs::write(folder.path().join("worlds/t.csv"), "1, 2, 3\n4, 5, 6\n").unwrap();
    let grid = "ncols 2\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n1 4\n2 5\n3 6\n";
    fs::write(folder.path().join("worlds/t.asc"), grid).unwrap();
    let from = |attributes: &str| {
        fs::write(&path, format!("<world name='W'><heightfield scale='2' offset='1' {attributes}/></world>")).unwrap();
        read_world(&path).unwrap().mechanism.heightfields().next().unwrap().clone()
    };
    assert_eq!(from("file='t.csv' width='1' depth='2'"), inline);
    assert_eq!(from("file='t.asc'"), inline);
}

#[test]
fn a_bad_number_in_a_data_file_is_told_at_its_place_there() {
    let (folder, path) = project("<heightfield file=\"t.csv\" width=\"1\" depth=\"1\"/>");
    fs::write(folder.path().join("worlds/t.csv"), "1,2\n3,NaN\n").unwrap();
    let problem = read_world(&path).unwrap_err().problems.remove(0);
    assert!(problem.path.ends_with("t.csv"));
    assert_eq!((problem.line, problem.column), (2, 3));
}

#[test]
fn a_file_that_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.xml");
    assert!(read_any(&path).unwrap_err().to_string().contains("cannot open"));
    fs::write(&path, b"<world name='\xff'/>").unwrap();
    assert!(read_any(&path).unwrap_err().to_string().contains("not UTF-8"));
    fs::write(&path, "").unwrap();
    assert!(read_any(&path).unwrap_err().to_string().contains("no element"));
    fs::write(&path, ROBOT).unwrap();
    assert!(matches!(read_any(&path).unwrap(), Document::Robot(_)));
}

#[test]
fn every_bad_file_is_refused_in_the_words_beside_it() {
    let folder = root().join("tests/it/bad");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    assert!(files.len() >= 45, "only {} bad files", files.len());
    let mut accepted = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        match read_text(name, &text) {
            Ok(_) => accepted.push(name.to_owned()),
            Err(problems) => assert_current(&path.with_extension("txt"), &problems.to_string()),
        }
    }
    assert_eq!(accepted, Vec::<String>::new());
}

/// Every file of the folders loads, and its DTD takes it.
#[test]
fn every_shipped_file_loads_and_fits_its_dtd() {
    let mut seen = 0;
    for folder in ["worlds", "worlds/benchmark", "robots", "worlds/grasps", "worlds/grasps/tasks"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "xml") {
                let dtd = match read_any(&path).unwrap_or_else(|problems| panic!("{problems}")) {
                    Document::World(_) => world_dtd(),
                    Document::Robot(_) | Document::Assemblies(_) => robot_dtd(),
                    Document::Sequence(_) => sequence_dtd(),
                    Document::Grasp(_) => grasp_dtd(),
                    Document::GraspTask(_) => grasp_task_dtd(),
                };
                assert!(dtd_accepts(&dtd, &fs::read_to_string(&path).unwrap()), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "{seen}");
}

/// The result of the DTD for a document, by a validator that shares nothing with the reader.
fn dtd_accepts(dtd: &str, text: &str) -> bool {
    let dtd = parse_dtd(dtd).unwrap();
    validate(&mut Xml::parse_str(text).unwrap(), &dtd).is_valid
}

#[test]
fn the_dtds_and_the_reader_agree() {
    let world = format!("<!DOCTYPE world SYSTEM \"world.dtd\"><world name=\"W\"><gravity/>{EXAMPLE_C}</world>");
    assert!(world_from_str("w.xml", &world).is_ok() && dtd_accepts(&world_dtd(), &world));
    assert!(world_from_str("r.xml", ROBOT).is_ok() && dtd_accepts(&robot_dtd(), ROBOT));
    for (good, bad) in [
        ("<mass>5</mass>", "<mess>5</mess>"),
        (" name=\"Base\"", ""),
        ("type=\"hinge\"", "type=\"hing\""),
        ("radius=\"0.1\"", "radios=\"0.1\""),
        ("<parent>Base</parent>", "<parent><box x=\"1\" y=\"1\" z=\"1\"/></parent>"),
        ("<free lower=\"-1\"/>", "<free lower=\"-1\">text</free>"),
        (" port=\"0\"", ""),
    ] {
        let broken = ROBOT.replacen(good, bad, 1);
        assert_ne!(broken, ROBOT);
        assert!(world_from_str("r.xml", &broken).is_err(), "{bad}");
        assert!(!dtd_accepts(&robot_dtd(), &broken), "{bad}");
    }
    let sequence = "<!DOCTYPE sequence SYSTEM \"sequence.dtd\"><sequence version=\"1\"><repeat count=\"2\"><command>\
                    <commandString>1</commandString><port>0</port></command></repeat></sequence>";
    assert!(sequence_from_str("s.xml", sequence).is_ok() && dtd_accepts(&sequence_dtd(), sequence));
    let broken = sequence.replace(" count=\"2\"", "");
    assert!(sequence_from_str("s.xml", &broken).is_err() && !dtd_accepts(&sequence_dtd(), &broken));
}

proptest! {
    #[test]
    fn no_mutation_of_a_file_makes_the_reader_panic(at in 0usize..1200, cut in 0usize..40, put in "[ -~]{0,12}") {
        for text in [ROBOT, EXAMPLE_C, include_str!("../../robots/drive_until.xml")] {
            let end = (at + cut).min(text.len());
            let mutated = format!("{}{put}{}", &text[..at.min(text.len())], &text[end..]);
            if let Err(problems) = read_text("m.xml", &mutated) {
                let lines = mutated.lines().count().max(1);
                for problem in problems.problems {
                    prop_assert!((1..=lines + 1).contains(&problem.line) && problem.column >= 1, "{problem}");
                }
            }
        }
    }
}

/// A mirrored, rotated and moved copy has the pose of the geometry: mirrored along z, then rotated by 90 degrees about
/// y (x to -z), then moved by 10 m.
#[test]
fn an_assembly_is_placed_mirrored_turned_and_renamed() {
    let text = r#"<robot name="R">
  <assembly name="Arm">
    <parameter name="mass" value="2"/>
    <body name="Rod"><mass>${mass}</mass><pose x="1" z="0.5" pitch="0.3"/>
      <cone radius="0.1" length="0.5" axis="z"><pose z="0.2"/></cone></body>
    <joint type="hinge" name="Pivot"><parent>${on}</parent><child>Rod</child><anchor x="0.5" z="0.25"/><axis z="1"/></joint>
    <sensor type="PositionSensor" name="Tip" body="Rod" port="2000"><pose z="0.4"/></sensor>
  </assembly>
  <parameter name="mass" value="3"/>
  <body name="Hull"><mass>1</mass></body>
  <place assembly="Arm" suffix="Left" on="Hull"/>
  <place assembly="Arm" suffix="Right" on="Hull" mirror="z" portOffset="5">
    <pose x="10" pitch="1.570796326794897"/><parameter name="mass" value="4"/>
  </place>
</robot>"#;
    let world = world_from_str("r.xml", text).unwrap();
    let names: Vec<&str> = world.mechanism.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["Hull", "RodLeft", "RodRight"]);
    assert_eq!(world.mechanism.bodies.iter().map(|body| body.mass).collect::<Vec<_>>(), [1.0, 3.0, 4.0]);
    let near = |a: DVec3, b: DVec3| assert!((a - b).length() < 1e-12, "{a} {b}");
    let (left, right) = (&world.mechanism.bodies[1], &world.mechanism.bodies[2]);
    near(left.pose.translation, DVec3::new(1.0, 0.0, 0.5));
    // (1, 0, 0.5) mirrored is (1, 0, -0.5), turned (-0.5, 0, -1).
    near(right.pose.translation, DVec3::new(9.5, 0.0, -1.0));
    // The cone's tip is on the mirrored z axis of the body, and so is its middle.
    let tip = |body: &simpartner_model::Body| {
        let shape = body.shape.as_ref().unwrap();
        body.pose.direction(shape.pose.direction(DVec3::Y))
    };
    let mirrored = DVec3::new(tip(left).x, 0.0, -tip(left).z);
    near(tip(right), DVec3::new(mirrored.z, 0.0, -mirrored.x));
    // Axes of joints keep their directions but for the turn; anchors are mirrored.
    let joint = &world.mechanism.joints[1];
    assert_eq!(
        (joint.name.as_str(), joint.parent, joint.child.index()),
        ("PivotRight", world.mechanism.joints[0].parent, 2)
    );
    near(joint.frame * DVec3::Z, DVec3::X);
    near(joint.anchor, DVec3::new(9.75, 0.0, -0.5));
    assert_eq!((world.devices[1].name.as_str(), world.devices[1].port.number()), ("TipRight", 2005));
    let DeviceSpec::Sensor(tip) = &world.devices[1].spec else { panic!("a position sensor") };
    let Mount::Body { pose, .. } = tip.mount else { panic!("on a body") };
    near(pose.translation, DVec3::new(0.0, 0.0, -0.4));
}

#[test]
fn what_a_leg_costs() {
    let lines = |file: &str| fs::read_to_string(root().join("robots").join(file)).unwrap().lines().count();
    for generation in 1..=4 {
        let file = format!("workpartner{generation}.xml");
        assert!(lines(&file) <= 40, "{file}: {} lines", lines(&file));
    }
    // A fifth leg takes one more line.
    let text = fs::read_to_string(root().join("robots/workpartner1.xml")).unwrap();
    let leg = r#"<place assembly="Leg" suffix="5" on="FrontChassis" portOffset="20"><pose x="0.3" z="0.3"/></place>"#;
    let text = text.replace("</robot>", &format!("{leg}\n</robot>"));
    let path = root().join("robots/six.xml");
    let world = world_from_str(path.to_str().unwrap(), &text).unwrap();
    assert_eq!((world.mechanism.bodies.len(), world.mechanism.joints.len(), world.devices.len()), (17, 16, 3 + 13 + 3));
    assert_eq!(world.sources.len(), 2, "the robot and what it includes");
}

/// A joint to the world needs no body: it connects to a fixed one at the origin of the file's frame. A body with that
/// name takes precedence.
#[test]
fn a_joint_may_have_the_world_for_its_parent() {
    let robot = |parent: &str, more: &str| {
        format!(
            r#"<robot name="R"><body name="Table"><mass>2</mass><pose y="1"/></body>{more}
            <joint type="slider" name="Lift"><parent>{parent}</parent><child>Table</child><axis y="1"/>
              <free maxEffort="500" maxRate="2"/></joint></robot>"#
        )
    };
    let world = world_from_str("r.xml", &robot("world", "")).unwrap();
    let [table, fixed] = &world.mechanism.bodies[..] else { panic!("two bodies") };
    assert_eq!((table.name.as_str(), fixed.name.as_str(), fixed.fixed, &fixed.shape), ("Table", "world", true, &None));
    let lift = &world.mechanism.joints[0];
    assert_eq!((lift.parent.index(), lift.child.index(), lift.anchor), (1, 0, DVec3::Y));
    let bounds = lift.axes[2].free().map(|axis| (axis.max_effort, axis.max_rate));
    assert_eq!(bounds, Some((500.0, 2.0)));
    let own = r#"<body name="world"><mass>5</mass></body>"#;
    let world = world_from_str("r.xml", &robot("world", own)).unwrap();
    assert_eq!((world.mechanism.bodies.len(), world.mechanism.bodies[1].fixed), (2, false));
    let missing = world_from_str("r.xml", &robot("World", "")).unwrap_err().to_string();
    assert!(missing.contains("there is no body 'World'"), "{missing}");
    let objects = r#"<world name="w"><object name="Door"><mass>3</mass><pose x="1"/></object>
        <joint type="hinge" name="Hinge"><parent>world</parent><child>Door</child><anchor x="0.5"/></joint></world>"#;
    let world = world_from_str("w.xml", objects).unwrap();
    assert_eq!((world.mechanism.bodies.len(), world.mechanism.joints[0].parent.index()), (2, 1));
}

/// A belt: its velocity is the body's, and turns with it.
#[test]
fn surfaces_may_move() {
    let text = r#"<world name="w"><surface surfaceVelocityZ="-2"/>
        <object name="Belt"><static>true</static><box x="4" y="0.1" z="1"/><material friction="0.5" surfaceVelocityX="0.5"/></object>
        </world>"#;
    let world = world_from_str("w.xml", text).unwrap();
    assert_eq!(world.mechanism.bodies[0].material.surface_velocity, DVec3::new(0.5, 0.0, 0.0));
    assert_eq!(world.mechanism.grounds[0].material().surface_velocity, DVec3::new(0.0, 0.0, -2.0));
}
