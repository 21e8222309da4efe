//! `/robot_description`: a URDF of what the server tells about a robot, for viewers and kinematics.
//!
//! Links are the frames of `/tf`. A hinge or slider whose origin is that of its child is a joint with its stops; every other one is a
//! `floating` joint, which `/tf` places. Boxes, spheres and cylinders are drawn; meshes, masses and what closes a loop are left out.

use std::fmt::Write;

use bevy_math::{DQuat, DVec3};

use crate::{
    frames::{Axes, Pose},
    links::Link,
    scene::{Axis, Joint, Scene, Shape, own_name},
};

/// How far a joint's origin may be from its child's, m: beyond this the two frames of a URDF would not be one.
const SAME_PLACE: f64 = 1e-9;

/// The description of a robot, whose links these are.
pub fn urdf(scene: &Scene, links: &[Link], robot: &str) -> String {
    let own: Vec<usize> =
        (0..links.len()).filter(|&index| scene.bodies[index].robot.as_deref() == Some(robot)).collect();
    let mut text = format!("<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n", escape(robot));
    // A URDF is one tree. What hangs on no link of the robot hangs on its first.
    let root = own.first().copied();
    for &index in &own {
        let link = &links[index];
        let _ = writeln!(text, "  <link name=\"{}\">", escape(&link.frame));
        if let Some(shape) = &scene.bodies[index].shape {
            visual(shape, Pose::IDENTITY, link.axes, &mut text);
        }
        text.push_str("  </link>\n");
    }
    for &index in own.iter().filter(|&&index| Some(index) != root) {
        let link = &links[index];
        let parent = link.parent.filter(|parent| own.contains(parent));
        let joint = parent.and(link.joint).and_then(|joint| scene.joints.get(joint));
        let parent = parent.or(root).unwrap_or(index);
        let name = joint
            .map_or_else(|| format!("{}_joint", link.frame), |joint| own_name(&joint.name, Some(robot)).to_owned());
        joint_element(scene, links, joint, &name, [parent, index], &mut text);
    }
    text.push_str("</robot>\n");
    text
}

fn joint_element(
    scene: &Scene,
    links: &[Link],
    joint: Option<&Joint>,
    name: &str,
    [parent, child]: [usize; 2],
    text: &mut String,
) {
    let [above, below] = [parent, child].map(|index| Pose::from(scene.bodies[index].pose));
    let now = above.inverse().then(below);
    let movable =
        joint.and_then(|joint| simple(joint).filter(|_| DVec3::from_array(joint.anchor).length() < SAME_PLACE));
    let (kind, origin) = match (&movable, joint) {
        (Some(axis), _) => (kind_of(axis), at_zero(now, axis)),
        (None, Some(joint)) if joint.kind == "fixed" => ("fixed", now),
        _ => ("floating", now),
    };
    let _ = writeln!(text, "  <joint name=\"{}\" type=\"{kind}\">", escape(name));
    let _ = writeln!(text, "    <parent link=\"{}\"/>", escape(&links[parent].frame));
    let _ = writeln!(text, "    <child link=\"{}\"/>", escape(&links[child].frame));
    let turned = origin.turned(links[parent].axes, links[child].axes);
    let _ = writeln!(text, "    {}", origin_element(turned));
    if let Some(axis) = movable {
        // A URDF has the axis in the child's frame, ours is in the parent's.
        let direction = links[child].axes.vector(origin.rotation.inverse() * DVec3::from_array(axis.direction));
        let _ = writeln!(text, "    <axis xyz=\"{}\"/>", numbers(direction.to_array()));
        let (effort, rate) = (axis.max_effort.unwrap_or(0.0), axis.max_rate.unwrap_or(0.0));
        let stops = axis.lower.zip(axis.upper).map(|(lower, upper)| format!("lower=\"{lower}\" upper=\"{upper}\" "));
        let _ = writeln!(text, "    <limit {}effort=\"{effort}\" velocity=\"{rate}\"/>", stops.unwrap_or_default());
    }
    text.push_str("  </joint>\n");
}

/// The coordinate of a joint with one.
fn simple(joint: &Joint) -> Option<&Axis> {
    match &joint.axes[..] {
        // A slider without stops has no type in URDF.
        [axis] if !axis.linear || axis.lower.is_some() && axis.upper.is_some() => Some(axis),
        _ => None,
    }
}

fn kind_of(axis: &Axis) -> &'static str {
    match (axis.linear, axis.lower.is_some() && axis.upper.is_some()) {
        (true, _) => "prismatic",
        (false, true) => "revolute",
        (false, false) => "continuous",
    }
}

/// `parent_from_child` where the coordinate is 0.
fn at_zero(now: Pose, axis: &Axis) -> Pose {
    let direction = DVec3::from_array(axis.direction);
    match axis.linear {
        true => Pose { position: now.position - direction * axis.initial, ..now },
        false => Pose { rotation: DQuat::from_axis_angle(direction.normalize(), -axis.initial) * now.rotation, ..now },
    }
}

fn visual(shape: &Shape, outer: Pose, axes: Axes, text: &mut String) {
    let pose = outer.then(shape.pose.into());
    for part in &shape.parts {
        visual(part, pose, axes, text);
    }
    // The round ones stand along y here and along z there.
    let upright = Pose { rotation: Axes::YUp.rotation().inverse(), ..Pose::IDENTITY };
    let (pose, geometry) = match (shape.kind.as_str(), shape.size, shape.radius, shape.length) {
        ("box", Some([x, y, z]), ..) => (pose, format!("<box size=\"{x} {y} {z}\"/>")),
        ("sphere", _, Some(radius), _) => (pose, format!("<sphere radius=\"{radius}\"/>")),
        ("cylinder", _, Some(radius), Some(length)) => {
            (pose.then(upright), format!("<cylinder radius=\"{radius}\" length=\"{length}\"/>"))
        }
        _ => return,
    };
    // The shape's own axes stay; only the link's are turned.
    let origin = origin_element(pose.turned(axes, Axes::ZUp));
    let _ = writeln!(text, "    <visual>\n      {origin}\n      <geometry>{geometry}</geometry>\n    </visual>");
}

fn origin_element(pose: Pose) -> String {
    let (position, rotation) = (pose.position, pose.rotation);
    // Fixed axes roll, pitch, yaw are the intrinsic ones the other way round.
    let (yaw, pitch, roll) = rotation.to_euler(bevy_math::EulerRot::ZYX);
    format!("<origin xyz=\"{}\" rpy=\"{}\"/>", numbers(position.to_array()), numbers([roll, pitch, yaw]))
}

/// Numbers without what rounding has left behind, far below what any robot measures.
fn numbers(values: [f64; 3]) -> String {
    const DIGITS: f64 = 1e12;
    // Adding zero makes a positive zero of a negative one.
    values.map(|value| ((value * DIGITS).round() / DIGITS + 0.0).to_string()).join(" ")
}

/// Text as XML has it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, links, links::Naming, scene::tests::pendulum};

    fn describe(scene: &Scene) -> String {
        urdf(scene, &links::links(scene, |robot| Naming::of(robot, scene, &Config::default())), "P")
    }

    #[test]
    fn a_hinge_at_its_childs_origin_is_a_joint_with_stops() {
        let text = describe(&pendulum());
        assert!(text.contains("<joint name=\"Shoulder\" type=\"revolute\">"), "{text}");
        assert!(text.contains("<limit lower=\"-1\" upper=\"2\" effort=\"50\" velocity=\"3\"/>"), "{text}");
        // Our z is to the right.
        assert!(text.contains("<axis xyz=\"0 -1 0\"/>"), "{text}");
        assert_eq!(text.matches("<link name=").count(), 2, "{text}");
    }

    #[test]
    fn another_place_makes_it_floating() {
        let mut scene = pendulum();
        scene.joints[0].anchor = [0.1, 0.0, 0.0];
        assert!(describe(&scene).contains("type=\"floating\""));
        scene.joints.clear();
        assert!(describe(&scene).contains("<joint name=\"Arm_joint\" type=\"floating\">"));
    }

    #[test]
    fn names_are_escaped() {
        let mut scene = pendulum();
        scene.bodies[0].name = "P/a\"<b>&".into();
        assert!(describe(&scene).contains("<link name=\"a&quot;&lt;b&gt;&amp;\">"));
    }

    #[test]
    fn a_box_keeps_its_edges_and_a_cylinder_stands_along_z() {
        let mut scene = pendulum();
        let text = describe(&scene);
        // The edges are ours; the origin turns them.
        assert!(text.contains("<box size=\"1 2 3\"/>"), "{text}");
        let shape = scene.bodies[0].shape.as_mut().unwrap();
        (shape.kind, shape.size, shape.radius, shape.length) = ("cylinder".into(), None, Some(0.2), Some(2.0));
        let text = describe(&scene);
        let place = text.find("<cylinder radius=\"0.2\" length=\"2\"/>").unwrap();
        let origin = text[..place].rfind("rpy=\"").unwrap() + 5;
        let angles: Vec<f64> =
            text[origin..].split('"').next().unwrap().split(' ').map(|angle| angle.parse().unwrap()).collect();
        // It stood upright before and does so now.
        assert!(angles.iter().all(|angle| angle.abs() < 1e-12), "{angles:?}");
    }
}
