//! URDF files that are not by the book, and that other readers take.

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_model::{Axis, JointKind};

fn read(text: &str) -> World {
    match xml::read_text("robot.urdf", text) {
        Ok(Document::Robot(world)) => world,
        Ok(_) => panic!("no robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn link(name: &str) -> String {
    format!("<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>")
}

/// A robot of the link 'a' and more.
fn robot(more: &str) -> World {
    read(&format!("<robot name='r'>{}{more}</robot>", link("a")))
}

#[test]
fn a_robot_hangs_on_a_world_that_is_not_described() {
    let world =
        robot("<joint name='j' type='continuous'><parent link='world'/><child link='a'/><axis xyz='0 1 0'/></joint>");
    assert!(world.warnings.is_empty(), "{:?}", world.warnings);
    let joints = &world.mechanism.joints;
    assert_eq!((joints.len(), joints[0].kind), (1, JointKind::Hinge));
}

#[test]
fn a_robot_that_floats_above_the_world_is_free() {
    let world = robot(
        "<link name='world'/><joint name='f' type='floating'><parent link='world'/><child link='a'/><origin xyz='0 0 2'/></joint>",
    );
    let body = &world.mechanism.bodies[0];
    assert!(world.warnings.is_empty() && world.mechanism.joints.is_empty() && !body.fixed);
    assert!(body.pose.translation.distance(DVec3::new(0.0, 2.0, 0.0)) < 1e-12, "{:?}", body.pose);
}

/// Typical frames of tools: a link with almost no mass and no shape, on a floating joint whose axis has length zero.
#[test]
fn a_frame_that_floats_is_fixed() {
    let frame = |mass: &str, more: &str| {
        format!(
            "<robot name='r'>{}<link name='b'><inertial><mass value='{mass}'/><inertia ixx='0' iyy='0' izz='0'/></inertial>{more}</link>
             <joint name='f' type='floating'><parent link='a'/><child link='b'/><axis xyz='0 0 0'/></joint></robot>",
            link("a")
        )
    };
    let world = read(&frame("1e-9", ""));
    let told: Vec<String> = world.warnings.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|told| told.contains("joint 'f' is floating")), "{told:?}");
    assert!(world.mechanism.joints.is_empty() && world.mechanism.bodies.len() == 1);
    // A link with a mass or a shape would move away from its parent.
    let ball = "<collision><geometry><sphere radius='0.1'/></geometry></collision>";
    for text in [frame("0.1", ""), frame("1e-9", ball)] {
        let Err(problems) = xml::read_text("robot.urdf", &text) else { panic!("it falls apart") };
        assert!(problems.to_string().contains("make two robots of it"), "{problems}");
    }
}

#[test]
fn who_follows_nobody_moves_by_itself_and_as_fast_as_it_may() {
    let joint = "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><mimic joint='index'/>
                 <limit lower='-1' upper='1' velocity='1e9'/></joint>";
    let world = robot(&(link("b") + joint));
    let told: Vec<String> = world.warnings.iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.contains("there is no joint 'index' to follow")), "{told:?}");
    let Axis::Free(axis) = world.mechanism.joints[0].axes[2] else { panic!("a hinge is free about its third axis") };
    assert_eq!(axis.max_rate, 1e6);
}
