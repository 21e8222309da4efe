//! `/robot_description`: a URDF of the robot from the server's data, for viewers and kinematics.
//!
//! Links are the frames of `/tf`, with masses, inertias, visuals and collision shapes. A hinge or slider is a joint
//! with its stops, losses and limits; a joint with several coordinates is a `floating` joint, which `/tf` places. Loop
//! joints are omitted.

use std::fmt::Write;

use bevy_math::{DQuat, DVec3};

use crate::{
    frames::{Axes, Pose},
    links::{self, Link},
    mesh::Mesh,
    scene::{Axis, Joint, Scene, Shape, own_name},
};

/// A stop that a URDF wants and a joint does not have, rad or m.
const UNLIMITED: f64 = 1e6;

/// The description of a robot with these links. `publish` serves a mesh and returns its URL.
pub fn urdf(scene: &Scene, links: &[Link], robot: &str, publish: &mut dyn FnMut(&Mesh) -> String) -> String {
    let own: Vec<usize> = links::links_of(scene, robot).collect();
    let mut text = format!("<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n", escape(robot));
    let root = links::root_of(links, &own);
    for &index in &own {
        link_element(scene, &links[index], index, publish, &mut text);
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

fn link_element(scene: &Scene, link: &Link, index: usize, publish: &mut dyn FnMut(&Mesh) -> String, text: &mut String) {
    let body = &scene.bodies[index];
    let from_body = link.on_body().inverse();
    let _ = writeln!(text, "  <link name=\"{}\">", escape(&link.frame));
    if body.mass > 0.0 {
        let centre = Pose { position: DVec3::from_array(body.centre_of_mass), ..Pose::IDENTITY };
        // The axes of the tensor are the body's.
        let origin = origin_element(from_body.then(centre).turned(link.axes, Axes::ZUp));
        let [xx, yy, zz, xy, xz, yz] = body.inertia;
        let _ = writeln!(text, "    <inertial>\n      {origin}\n      <mass value=\"{}\"/>", body.mass);
        let _ = writeln!(
            text,
            "      <inertia ixx=\"{xx}\" iyy=\"{yy}\" izz=\"{zz}\" ixy=\"{xy}\" ixz=\"{xz}\" iyz=\"{yz}\"/>\n    </inertial>"
        );
    }
    let mut solid = |shape: &Shape, tag: &str, material: &str| {
        solids(shape, from_body, &mut |pose, geometry| {
            let geometry = match geometry {
                Geometry::Simple(geometry) => geometry,
                Geometry::Mesh(mesh) => format!("<mesh filename=\"{}\"/>", escape(&publish(&mesh))),
            };
            // The shape's own axes stay; only the link's are turned.
            let origin = origin_element(pose.turned(link.axes, Axes::ZUp));
            let _ = writeln!(
                text,
                "    <{tag}>\n      {origin}\n      <geometry>{geometry}</geometry>{material}\n    </{tag}>"
            );
        });
    };
    for visual in &body.visuals {
        solid(&visual.shape, "visual", &material(visual.color.as_deref(), visual.opacity));
    }
    if let Some(shape) = body.shape.as_ref().filter(|_| body.visuals.is_empty()) {
        solid(shape, "visual", "");
    }
    if let Some(shape) = body.collision.as_ref().or(body.shape.as_ref()) {
        solid(shape, "collision", "");
    }
    text.push_str("  </link>\n");
}

fn joint_element(
    scene: &Scene,
    links: &[Link],
    joint: Option<&Joint>,
    name: &str,
    [parent, child]: [usize; 2],
    text: &mut String,
) {
    let [above, below] = [parent, child].map(|index| Pose::from(scene.bodies[index].pose).then(links[index].on_body()));
    let now = above.inverse().then(below);
    let movable = joint.and_then(simple);
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
        let (lower, upper) = (axis.lower.unwrap_or(-UNLIMITED), axis.upper.unwrap_or(UNLIMITED));
        let stops = format!("lower=\"{lower}\" upper=\"{upper}\" ");
        let stops = if kind == "continuous" { "" } else { &stops };
        let _ = writeln!(text, "    <limit {stops}effort=\"{effort}\" velocity=\"{rate}\"/>");
        if axis.damping > 0.0 || axis.friction > 0.0 {
            let _ = writeln!(text, "    <dynamics damping=\"{}\" friction=\"{}\"/>", axis.damping, axis.friction);
        }
    }
    text.push_str("  </joint>\n");
}

/// The coordinate of a joint with a single one.
fn simple(joint: &Joint) -> Option<&Axis> {
    match &joint.axes[..] {
        [axis] => Some(axis),
        _ => None,
    }
}

fn kind_of(axis: &Axis) -> &'static str {
    match (axis.linear, axis.lower.is_some() || axis.upper.is_some()) {
        (true, _) => "prismatic",
        (false, true) => "revolute",
        (false, false) => "continuous",
    }
}

/// `parent_from_child` at coordinate 0.
fn at_zero(now: Pose, axis: &Axis) -> Pose {
    let direction = DVec3::from_array(axis.direction);
    match axis.linear {
        true => Pose { position: now.position - direction * axis.initial, ..now },
        false => Pose { rotation: DQuat::from_axis_angle(direction.normalize(), -axis.initial) * now.rotation, ..now },
    }
}

/// A shape as a URDF has it.
enum Geometry {
    Simple(String),
    Mesh(Mesh),
}

/// Hands over the parts of a shape, each with its pose.
fn solids(shape: &Shape, outer: Pose, take: &mut dyn FnMut(Pose, Geometry)) {
    let pose = outer.then(shape.pose.into());
    for part in &shape.parts {
        solids(part, pose, take);
    }
    // Axis of round shapes: y here, z in URDF.
    let upright = pose.then(Pose { rotation: Axes::YUp.rotation().inverse(), ..Pose::IDENTITY });
    let sphere = |radius: f64| Geometry::Simple(format!("<sphere radius=\"{radius}\"/>"));
    let cylinder =
        |radius: f64, length: f64| Geometry::Simple(format!("<cylinder radius=\"{radius}\" length=\"{length}\"/>"));
    match (shape.kind.as_str(), shape.size, shape.radius, shape.length) {
        ("box", Some([x, y, z]), ..) => take(pose, Geometry::Simple(format!("<box size=\"{x} {y} {z}\"/>"))),
        ("sphere", _, Some(radius), _) => take(pose, sphere(radius)),
        ("cylinder", _, Some(radius), Some(length)) => take(upright, cylinder(radius, length)),
        // A URDF has no capsules: a cylinder with a sphere at either end is the same solid.
        ("capsule", _, Some(radius), Some(length)) => {
            take(upright, cylinder(radius, length));
            for end in [-0.5, 0.5] {
                take(pose.then(Pose { position: DVec3::Y * (end * length), ..Pose::IDENTITY }), sphere(radius));
            }
        }
        ("cone", _, Some(radius), Some(length)) => take(pose, Geometry::Mesh(Mesh::cone(radius, length))),
        ("ellipsoid", ..) => take(pose, Geometry::Mesh(Mesh::ellipsoid(shape.radii.unwrap_or_default()))),
        _ if !shape.triangles.is_empty() => take(pose, Geometry::Mesh(Mesh::of(shape))),
        _ => {}
    }
}

/// Material of a visual with the colour `#rrggbb`.
fn material(color: Option<&str>, opacity: f64) -> String {
    let part = |color: &str, at: usize| u8::from_str_radix(color.get(at..at + 2)?, 16).ok();
    let parts = color.and_then(|color| Some([part(color, 1)?, part(color, 3)?, part(color, 5)?]));
    match (color, parts) {
        (Some(name), Some(parts)) => {
            let [red, green, blue] = parts.map(|part| f64::from(part) / 255.0);
            // Viewers share materials of one name.
            let name = escape(&format!("{name}_{opacity}"));
            format!("\n      <material name=\"{name}\"><color rgba=\"{red} {green} {blue} {opacity}\"/></material>")
        }
        _ => String::new(),
    }
}

fn origin_element(pose: Pose) -> String {
    let (position, rotation) = (pose.position, pose.rotation);
    // Roll, pitch and yaw about fixed axes are the intrinsic angles in reverse order.
    let (yaw, pitch, roll) = rotation.to_euler(bevy_math::EulerRot::ZYX);
    format!("<origin xyz=\"{}\" rpy=\"{}\"/>", numbers(position.to_array()), numbers([roll, pitch, yaw]))
}

/// Numbers, rounded far below any robot's accuracy.
fn numbers(values: [f64; 3]) -> String {
    const DIGITS: f64 = 1e12;
    // Adding zero turns negative zero into zero.
    values.map(|value| ((value * DIGITS).round() / DIGITS + 0.0).to_string()).join(" ")
}

/// Text as XML has it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, links::Naming, scene::tests::pendulum};

    fn describe(scene: &Scene) -> String {
        let links = links::links(scene, |robot| Naming::of(robot, scene, &Config::default()));
        urdf(scene, &links, "P", &mut |mesh| format!("http://here/{}.stl", mesh.triangles().len()))
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
    fn a_links_frame_stands_in_the_joint_by_which_it_hangs() {
        let mut scene = pendulum();
        scene.joints[0].anchor = [0.0, 0.5, 0.0];
        let text = describe(&scene);
        let joint = &text[text.find("<joint").unwrap()..];
        assert!(
            joint.contains("type=\"revolute\"") && joint.contains("<origin xyz=\"0 0 0.5\" rpy=\"0 0 0\"/>"),
            "{text}"
        );
        // Half a metre above the body's middle is 0 now, so its middle is below.
        let arm = &text[text.find("<link name=\"Arm\"").unwrap()..];
        for tag in ["<inertial>", "<visual>", "<collision>"] {
            let origin = &arm[arm.find(tag).unwrap()..];
            let origin = &origin[origin.find("xyz=\"").unwrap() + 5..];
            assert!(origin.starts_with("0 0 -0.5\""), "{tag}: {text}");
        }
        scene.joints.clear();
        assert!(describe(&scene).contains("<joint name=\"Arm_joint\" type=\"floating\">"));
    }

    #[test]
    fn several_coordinates_make_it_floating_and_one_stop_is_enough() {
        let mut scene = pendulum();
        scene.joints[0].axes[0].upper = None;
        assert!(describe(&scene).contains("<limit lower=\"-1\" upper=\"1000000\""), "{}", describe(&scene));
        let second = scene.joints[0].axes[0].clone();
        scene.joints[0].axes.push(second);
        assert!(describe(&scene).contains("type=\"floating\""));
    }

    #[test]
    fn a_link_has_its_mass_and_what_is_seen_apart_from_what_collides() {
        let mut scene = pendulum();
        let corners = r#"[[0,0,0],[1,0,0],[0,1,0],[0,0,1]],"triangles":[[0,2,1],[0,1,3],[0,3,2],[1,2,3]]"#;
        let at = r#""position":[0,0,0],"rotation":[0,0,0,1]"#;
        let visual =
            format!(r##"{{"kind":"triangleMesh",{at},"vertices":{corners},"color":"#ff0033","opacity":0.5}}"##);
        let hull = format!(r#"{{"kind":"convexHull",{at},"points":{corners}}}"#);
        scene.bodies[0].visuals = vec![serde_json::from_str(&visual).unwrap()];
        scene.bodies[0].collision = Some(serde_json::from_str(&hull).unwrap());
        let text = describe(&scene);
        assert!(text.contains("<mass value=\"1\"/>"), "{text}");
        assert!(text.contains("<inertia ixx=\"1\" iyy=\"2\" izz=\"3\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>"), "{text}");
        assert_eq!(text.matches("<mesh filename=\"http://here/4.stl\"/>").count(), 2, "{text}");
        assert!(text.contains("<color rgba=\"1 0 0.2 0.5\"/>"), "{text}");
        assert!(text.contains("<dynamics damping=\"0.5\" friction=\"0\"/>"), "{text}");
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
