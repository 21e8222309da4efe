//! Broken files of other formats: each is refused with file and line, the error and, if possible, the remedy.

use std::fs;

use simpartner_description::xml::{self, ImportOptions};

/// The content of a file, the line of the problem, and a part of the message.
type Broken = (&'static str, usize, &'static str);

#[track_caller]
fn check(ending: &str, (text, line, what): Broken) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let path = scratch.path().join(format!("broken.{ending}"));
    fs::write(&path, text).expect("a scratch file");
    let problems = xml::import(&path, &ImportOptions::default()).expect_err(text);
    let all = problems.to_string();
    let found = problems.problems.iter().any(|problem| {
        let help = problem.help.as_deref().unwrap_or_default();
        problem.line == line && format!("{} {help}", problem.message).contains(what)
    });
    assert!(found, "line {line} of\n{text}\nis to be told of '{what}':\n{all}");
    assert!(all.contains(&format!("broken.{ending}:{line}:")), "{all}");
}

const URDF: [Broken; 19] = [
    ("<robots/>", 1, "a URDF file holds a <robot>"),
    ("<robot/>", 1, "lacks a name"),
    ("<robot name='r'/>", 1, "the robot has no link"),
    ("<robot name='r'>\n<link/></robot>", 2, "<link> lacks a name"),
    ("<robot name='r'><link name='a'/>\n<link name='a'/></robot>", 2, "there is a link 'a' already"),
    (
        "<robot name='r'><link name='a'/>\n<joint name='j' type='fixed'><parent link='a'/></joint></robot>",
        2,
        "lacks <child>",
    ),
    (
        "<robot name='r'><link name='arm'/><joint name='j' type='fixed'><parent link='arm'/>\n<child link='amr'/></joint></robot>",
        2,
        "did you mean 'arm'?",
    ),
    (
        "<robot name='r'><link name='a'/><link name='b'/>\n<joint name='j' type='hinge'><parent link='a'/><child link='b'/></joint></robot>",
        2,
        "revolute, continuous, prismatic",
    ),
    (
        "<robot name='r'><link name='a'/><link name='b'/>\n<joint name='j'><parent link='a'/><child link='b'/></joint></robot>",
        2,
        "lacks the attribute 'type'",
    ),
    (
        "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>\n<joint name='j' type='floating'><parent link='a'/><child link='b'/></joint></robot>",
        2,
        "make two robots of it",
    ),
    (
        "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent link='a'/><child link='b'/>\n<axis xyz='0 0 0'/></joint></robot>",
        2,
        "has no length",
    ),
    (
        "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent link='a'/><child link='b'/>\n<dynamics damping='-1'/></joint></robot>",
        2,
        "would drive the joint",
    ),
    ("<robot name='r'><link name='a'><inertial>\n<mass value='-2'/></inertial></link></robot>", 2, "below zero"),
    (
        "<robot name='r'><link name='a'><inertial><mass value='1'/>\n<inertia ixx='1' iyy='1'/></inertial></link></robot>",
        2,
        "lacks the attribute 'izz'",
    ),
    (
        "<robot name='r'><link name='a'><collision>\n<origin xyz='0 0'/><geometry><sphere radius='1'/></geometry></collision></link></robot>",
        2,
        "expected 3 finite numbers",
    ),
    ("<robot name='r'><link name='a'>\n<collision/></link></robot>", 2, "lacks a <geometry>"),
    (
        "<robot name='r'><link name='a'><collision><geometry>\n<mesh filename='package://r/../../etc/passwd'/></geometry></collision></link></robot>",
        2,
        "leads out of its package",
    ),
    ("<robot name='r' xmlns:xacro='x'>\n<xacro:element xacro:name='a'/></robot>", 2, "xacro FILE > robot.urdf"),
    (
        "<robot name='r'><link name='a'/><link name='b'/><joint name='i' type='fixed'><parent link='a'/><child link='b'/></joint>\n<joint name='j' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
        1,
        "every link is the child of a joint",
    ),
];

/// The world body of a file, begun.
macro_rules! mjcf {
    ($text:literal) => {
        concat!("<mujoco><worldbody>", $text, "</worldbody></mujoco>")
    };
}

const MJCF: [Broken; 32] = [
    ("<mujoco/>", 1, "nothing to simulate"),
    ("<robot/>", 1, "an MJCF file holds <mujoco>"),
    ("<mujoco>\n<compiler angle='degrees'/></mujoco>", 2, "expected degree or radian"),
    ("<mujoco>\n<compiler coordinate='global'/></mujoco>", 2, "2.3.4"),
    ("<mujoco>\n<compiler eulerseq='xyw'/></mujoco>", 2, "three of xyzXYZ"),
    ("<mujoco>\n<compiler boundmass='much'/></mujoco>", 2, "expected a finite number"),
    ("<mujoco>\n<include/></mujoco>", 2, "lacks the attribute 'file'"),
    ("<mujoco>\n<include file='none.xml'/></mujoco>", 2, "cannot open"),
    ("<mujoco>\n<include file='broken.mjcf'/></mujoco>", 2, "included a second time"),
    ("<mujoco>\n<include file='./../../etc/../etc/none.xml'/></mujoco>", 2, "cannot open"),
    ("<mujoco><default>\n<default/></default></mujoco>", 2, "lacks the attribute 'class'"),
    (
        "<mujoco><default><default class='a'/>\n<default class='a'/></default></mujoco>",
        2,
        "there is a class 'a' already",
    ),
    (mjcf!("<body name='b'>\n<geom class='leg' size='1'/></body>"), 2, "there is no default class 'leg'"),
    (mjcf!("<body name='b'>\n<geom type='ball' size='1'/></body>"), 2, "plane, hfield, sphere"),
    (mjcf!("<body name='b'>\n<geom type='box' size='1 1'/></body>"), 2, "expected 3 finite numbers"),
    (mjcf!("<body name='b'>\n<geom type='box'/></body>"), 2, "lacks the attribute 'size'"),
    (mjcf!("<body name='b'>\n<geom size='-1'/></body>"), 2, "above 0"),
    (mjcf!("<body name='b'>\n<geom type='capsule' size='1' fromto='1 1 1 1 1 1'/></body>"), 2, "one point"),
    (mjcf!("<body name='b'>\n<geom type='mesh'/></body>"), 2, "lacks the attribute 'mesh'"),
    (mjcf!("<body name='b' quat='1 0 0 0'\n euler='0 0 1'><geom size='1'/></body>"), 2, "leave one out"),
    (mjcf!("<body name='b'\n quat='0 0 0 0'><geom size='1'/></body>"), 2, "is no rotation"),
    (
        mjcf!(
            "<body name='b'><joint name='j'/><geom size='1'/></body><body name='c'>\n<joint name='j'/><geom size='1'/></body>"
        ),
        2,
        "there is a joint 'j' already",
    ),
    (mjcf!("<body name='b'/>\n<body name='b'/>"), 2, "there is a body 'b' already"),
    (mjcf!("<body name='b'>\n<joint type='screw'/><geom size='1'/></body>"), 2, "free, ball, slide and hinge"),
    (mjcf!("<body name='b'>\n<joint axis='0 0 0'/><geom size='1'/></body>"), 2, "has no length"),
    (mjcf!("<body name='b'>\n<joint range='2 1'/><geom size='1'/></body>"), 2, "is empty"),
    (mjcf!("<body name='b'>\n<joint damping='-1'/><geom size='1'/></body>"), 2, "would drive the joint"),
    (
        mjcf!("<body name='b'><joint/><geom size='1'/><body name='c'>\n<freejoint/><geom size='1'/></body></body>"),
        2,
        "single joint of a body of the world",
    ),
    (mjcf!("<body name='b'><joint/>\n<inertial mass='-1' diaginertia='1 1 1'/></body>"), 2, "below zero"),
    (mjcf!("\n<replicate count='1000000000'><geom size='1'/></replicate>"), 2, "from 1 to 10000 copies"),
    (
        "<mujoco><worldbody><body name='arm'><joint name='elbow'/><geom size='1'/></body></worldbody><actuator>\n<motor joint='elbo'/></actuator></mujoco>",
        2,
        "did you mean 'elbow'?",
    ),
    (
        "<mujoco><worldbody><body name='b'><joint/><geom size='1'/></body></worldbody><sensor>\n<gyro site='imu'/></sensor></mujoco>",
        2,
        "there is no site 'imu'",
    ),
];

/// A model with two links, begun.
macro_rules! sdf {
    ($text:literal) => {
        concat!("<sdf version='1.9'><model name='m'><link name='a'/><link name='b'/>", $text, "</model></sdf>")
    };
}

const SDF: [Broken; 15] = [
    ("<mujoco/>", 1, "an SDF file holds <sdf>"),
    ("<sdf version='1.9'/>", 1, "no <model> with a <link>"),
    ("<sdf version='1.9'>\n<model><link name='a'/></model></sdf>", 2, "lacks the attribute 'name'"),
    (sdf!("\n<link name='a'/>"), 2, "there is a link, joint, frame or model 'a' already"),
    (sdf!("\n<joint name='j' type='revolute'><parent>a</parent><axis/></joint>"), 2, "lacks <child>"),
    (
        sdf!("<joint name='j' type='revolute'><parent>a</parent>\n<child>c</child><axis/></joint>"),
        2,
        "there is no link 'c'",
    ),
    (
        sdf!("\n<joint name='j' type='hinge'><parent>a</parent><child>b</child></joint>"),
        2,
        "revolute, continuous, prismatic",
    ),
    (
        sdf!(
            "<joint name='j' type='revolute'><parent>a</parent><child>b</child>\n<axis><xyz>0 0 0</xyz></axis></joint>"
        ),
        2,
        "has no length",
    ),
    (
        sdf!(
            "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis>\n<dynamics><damping>-1</damping></dynamics></axis></joint>"
        ),
        2,
        "would drive the joint",
    ),
    (sdf!("\n<joint name='j' type='fixed'><parent>a</parent><child>a</child></joint>"), 2, "a link with itself"),
    (sdf!("<link name='c'>\n<pose>1 2 3</pose></link>"), 2, "expected 6 finite numbers"),
    (sdf!("<link name='c'>\n<pose relative_to='base'>0 0 0 0 0 0</pose></link>"), 2, "there is no frame 'base'"),
    (
        sdf!(
            "<frame name='f'><pose relative_to='g'/></frame><frame name='g'><pose relative_to='f'/></frame><link name='c'>\n<pose relative_to='f'/></link>"
        ),
        2,
        "stands in itself",
    ),
    (sdf!("<link name='c'>\n<inertial><mass>-1</mass></inertial></link>"), 2, "below zero"),
    (
        sdf!(
            "<link name='c'><collision name='c'><geometry>\n<box><size>1 -1 1</size></box></geometry></collision></link>"
        ),
        2,
        "above 0",
    ),
];

#[test]
fn broken_urdf_files_are_told_by_place() {
    URDF.into_iter().for_each(|broken| check("urdf", broken));
}

#[test]
fn broken_mjcf_files_are_told_by_place() {
    MJCF.into_iter().for_each(|broken| check("mjcf", broken));
}

#[test]
fn broken_sdf_files_are_told_by_place() {
    SDF.into_iter().for_each(|broken| check("sdf", broken));
}

/// Two files that include each other, under any paths.
#[test]
fn includes_that_go_round_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(scratch.path().join(name), text).unwrap();
        scratch.path().join(name)
    };
    let main = file("one.xml", "<mujoco><include file='two.xml'/></mujoco>");
    file("two.xml", "<mujoco>\n<include file='./one.xml'/></mujoco>");
    let problems = xml::import(&main, &ImportOptions::default()).unwrap_err().to_string();
    assert!(problems.contains("two.xml:2:10: './one.xml' is included a second time"), "{problems}");
    fs::create_dir(scratch.path().join("box")).unwrap();
    let model =
        "<sdf version='1.9'><model name='m'><link name='l'/>\n<include><uri>model://box</uri></include></model></sdf>";
    file("box/model.sdf", model);
    let main =
        file("world.sdf", "<sdf version='1.9'><world name='w'><include><uri>model://box</uri></include></world></sdf>");
    let problems = xml::import(&main, &ImportOptions::default()).unwrap_err().to_string();
    assert!(problems.contains("model.sdf:2:10: the model 'model://box' includes itself"), "{problems}");
}

/// A mesh with a false size, and one longer than permitted, take no memory: they are omitted with a message.
#[test]
fn meshes_that_are_bombs_are_left_out() {
    let scratch = tempfile::tempdir().unwrap();
    let liar = [1_000_000_000u32, 0, 0, 1_000_000_000].map(u32::to_le_bytes).concat();
    fs::write(scratch.path().join("liar.msh"), liar).unwrap();
    let long = fs::File::create(scratch.path().join("long.stl")).unwrap();
    // A sparse file on most file systems: nothing is written.
    long.set_len(10 << 30).unwrap();
    let path = scratch.path().join("model.xml");
    let text = "<mujoco><asset>\n<mesh name='a' file='liar.msh'/>\n<mesh name='b' file='long.stl'/></asset><worldbody><body name='b'><freejoint/>\
                <geom type='mesh' mesh='a'/><geom type='mesh' mesh='b'/><geom size='1'/></body></worldbody></mujoco>";
    fs::write(&path, text).unwrap();
    let imported = xml::import(&path, &ImportOptions::default()).unwrap();
    let said: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|line| line.contains("model.xml:2:") && line.contains("24000000016 bytes, this one has 16")),
        "{said:?}"
    );
    assert!(
        said.iter().any(|line| line.contains("model.xml:3:") && line.contains("which are the most that are read")),
        "{said:?}"
    );
}

/// Files cut off anywhere, and with any one byte changed, give an error or a robot, and no panic.
#[test]
fn damaged_files_never_panic() {
    let scratch = tempfile::tempdir().unwrap();
    let good = [
        ("sdf", SDF[9].0.replace("-1", "1")),
        (
            "mjcf",
            MJCF[27]
                .0
                .replace("freejoint", "joint range='1 2' ref='1'")
                .replace("</worldbody>", "</worldbody><equality><weld body1='b' body2='c'/></equality>"),
        ),
        ("urdf", URDF[11].0.replace("-1", "1")),
    ];
    for (ending, text) in good {
        let path = scratch.path().join(format!("damaged.{ending}"));
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = b"<>/'\" 09-ez"[at % 11];
            for bytes in [&text.as_bytes()[..at], &other] {
                fs::write(&path, bytes).unwrap();
                if let Ok(imported) = xml::import(&path, &ImportOptions::default()) {
                    let _ = xml::read_text("damaged.xml", &imported.text);
                }
            }
        }
    }
}
