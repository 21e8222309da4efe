//! xacro files: macros, properties, conditions and included files become what they stand for.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document},
};

fn read(path: &Path) -> Result<World, String> {
    match xml::read_any(path) {
        Ok(Document::World(world) | Document::Robot(world)) => Ok(world),
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => Err(problems.to_string()),
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

const COMMON: &str = "<robot xmlns:xacro='http://www.ros.org/wiki/xacro'>
<xacro:property name='mass' value='${2 * unit}'/>
<xacro:macro name='cylinder_inertia' params='m r h'><inertial><mass value='${m}'/>
  <inertia ixx='${m*(3*r**2+h*h)/12}' iyy='${m*(3*r**2+h*h)/12}' izz='${m*r**2/2}'/></inertial></xacro:macro>
</robot>";

const CAR: &str = "<robot name='$(arg name)' xmlns:xacro='http://www.ros.org/wiki/xacro'>
<xacro:arg name='name' default='car'/><xacro:arg name='mast' default='false'/>
<xacro:property name='unit' value='1.5'/>
<xacro:include filename='$(find car_description)/urdf/common.xacro'/>
<link name='base'><xacro:cylinder_inertia m='${mass}' r='0.5' h='1'/></link>
<xacro:macro name='wheel' params='prefix *place reflect:=1 suffix:=${&apos;_wheel&apos;} **more'>
  <link name='${prefix}${suffix}'><xacro:cylinder_inertia m='1' r='0.2' h='0.1'/><xacro:insert_block name='more'/></link>
  <joint name='${prefix}_joint' type='continuous'><parent link='base'/><child link='${prefix}${suffix}'/>
    <xacro:insert_block name='place'/><axis xyz='0 ${reflect} 0'/></joint>
</xacro:macro>
<xacro:wheel prefix='left'><origin xyz='0 ${unit/3} 0' rpy='0 0 ${radians(90)}'/>
  <more><collision><geometry><sphere radius='${mass / 10}'/></geometry></collision></more></xacro:wheel>
<xacro:wheel prefix='right' reflect='-1'><origin xyz='0 ${-unit/3} 0'/><more/></xacro:wheel>
<xacro:if value='$(arg mast)'><link name='mast'/></xacro:if>
<xacro:unless value='${mass == 3 and not False}'><link name='never'/></xacro:unless>
</robot>";

#[test]
fn macros_become_what_they_stand_for() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "checkout/package.xml", "<package><name>car_description</name></package>");
    write(folder.path(), "checkout/urdf/common.xacro", COMMON);
    write(folder.path(), "checkout/urdf/car.urdf.xacro", CAR);
    let world = read(&folder.path().join("checkout/urdf/car.urdf.xacro")).unwrap();
    assert_eq!(world.name, "car");
    let bodies: Vec<(&str, f64)> = world.mechanism.bodies.iter().map(|body| (&*body.name, body.mass)).collect();
    assert_eq!(bodies, [("base", 3.0), ("left_wheel", 1.0), ("right_wheel", 1.0)]);
    let base = world.mechanism.bodies[0].inertia.unwrap().tensor;
    assert!((base.z_axis.z - 0.375).abs() < 1e-15 && (base.x_axis.x - 3.0 * (0.75 + 1.0) / 12.0).abs() < 1e-15);
    let anchor = world.mechanism.joints[0].anchor;
    assert!((anchor - DVec3::new(0.0, 0.0, -0.5)).length() < 1e-12, "{anchor}");
    // A replay has the included files.
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(xml::read_kept(&world.sources).unwrap().mechanism.bodies.len(), 3);
}

#[test]
fn what_cannot_be_expanded_is_told_by_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.xacro");
    let bomb: String = (0..40)
        .map(|level| {
            format!("<xacro:macro name='m{level}' params=''><xacro:m{0}/><xacro:m{0}/></xacro:macro>", level + 1)
        })
        .collect();
    for (text, what) in [
        ("\n<xacro:whel/>", "r.xacro:2:1: there is no macro 'whel'"),
        ("<link name='${a.b}'/>", "there is no property 'a.b'"),
        (
            "<xacro:property name='a' value='${b}'/><xacro:property name='b' value='${a}'/>\n<link name='${a}'/>",
            "leads to itself",
        ),
        ("\n<xacro:include filename='none.xacro'/>", "r.xacro:2:1: there is no file 'none.xacro'"),
        ("\n<xacro:include filename='r.xacro'/>", "includes itself"),
        (
            "<xacro:property name='c' value='${xacro.load_yaml(&apos;a.yaml&apos;)}'/>\n<link name='${c}'/>",
            "pip install xacro",
        ),
        ("<link name='$(arg n)'/>", "the argument 'n' has no default"),
        ("<xacro:macro name='m' params='a'/>\n<xacro:m/>", "r.xacro:2:1: the macro 'm' lacks the parameter 'a'"),
        ("<xacro:macro name='m' params='*a'/>\n<xacro:m/>", "lacks the element for its block 'a'"),
        ("<xacro:macro name='m' params=''/>\n<xacro:m b='1'/>", "the macro 'm' has no parameter 'b'"),
        ("<xacro:macro name='m' params=''><xacro:m/></xacro:macro>\n<xacro:m/>", "macros are nested more than"),
        ("<xacro:if value='maybe'/>", "expected true or false, got 'maybe'"),
        ("<link name='${1/0}'/>", "it divides by zero"),
        (&format!("{bomb}<xacro:macro name='m40' params=''/><xacro:m0/>"), "called more than"),
    ] {
        fs::write(&path, format!("<robot name='r' xmlns:xacro='x'>{text}</robot>")).unwrap();
        let problems = read(&path).err().unwrap_or_else(|| panic!("{text}"));
        assert!(problems.contains(what), "{what}:\n{problems}");
    }
}
