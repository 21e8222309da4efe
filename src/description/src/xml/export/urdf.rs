//! A robot as URDF. The origin of a link is its joint's anchor; its axes are those of its body.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Body, Color, Coupling, FreeAxis, Graph, JointKind, Placed, Pose, ellipsoid_surface};

use super::{
    super::{
        import::element::{node, value},
        node::Node,
    },
    chain::{Chain, Step},
    shapes::{Simple, simple},
    writer::{Writer, join},
};
use crate::{
    World,
    device::{Actuator, DeviceSpec, Law, Mount},
    mesh::Mesh,
};

/// The way that a slider without stops gets in a format that has none, metres.
const UNLIMITED_TRAVEL: f64 = 1e6;

/// The `<robot>` element.
pub(super) fn root(writer: &mut Writer, world: &World, mesh_folder: &str) -> Result<Node, String> {
    let mechanism = writer.mechanism;
    let [robot] = &mechanism.robots[..] else {
        return Err(format!(
            "a URDF file holds one robot, the world {}; name a robot file, or write MJCF",
            mechanism.robots.len()
        ));
    };
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    let trees = forest.trees.iter().filter(|tree| mechanism.body(tree.root).robot.is_some());
    let Some(tree) = trees.max_by_key(|tree| tree.edges.len()) else {
        return Err(format!("the robot '{}' has no body", robot.name));
    };
    let mut element = node("robot", 0, &[("name", robot.model.clone())]);
    let upright = Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2) };
    // Each link's frame in its body's; the root's has z up at the body's pose of step 0.
    let mut frames = vec![Pose::IDENTITY; mechanism.bodies.len()];
    let root = mechanism.body(tree.root);
    let standing = Pose { translation: root.pose.translation, ..upright };
    frames[tree.root.index()] = root.pose.inverse().then(&standing);
    element.children.push(link(writer, root, &frames[tree.root.index()], mesh_folder));
    for edge in &tree.edges {
        let chain = Chain::new(mechanism, *edge);
        let inner = mechanism.bodies[chain.inner].pose.then(&frames[chain.inner]);
        let frame = Pose { translation: chain.anchor_at_zero, rotation: chain.outer_at_zero.rotation };
        frames[chain.outer_index] = chain.outer_at_zero.inverse().then(&frame);
        add_joints(writer, &chain, &inner, &frame, &mut element);
        element.children.push(link(writer, chain.outer, &frames[chain.outer_index], mesh_folder));
    }
    for closing in &tree.loops {
        let joint = mechanism.joint(*closing);
        writer.warn(
            &joint.source,
            format!("joint '{}', which closes a loop, is left out", joint.name),
            "URDF has no loops: the loop is open there",
        );
    }
    add_devices(writer, world, &mut element);
    Ok(element)
}

fn origin(pose: &Pose) -> Node {
    let angles = pose.roll_pitch_yaw();
    node("origin", 0, &[("xyz", join(&pose.translation.to_array())), ("rpy", join(&angles.to_array()))])
}

fn link(writer: &mut Writer, body: &Body, frame: &Pose, mesh_folder: &str) -> Node {
    let from_body = frame.inverse();
    let mut link = node("link", 0, &[("name", body.name.clone())]);
    if !body.fixed {
        let (centre, tensor) = body
            .inertia
            .map_or((DVec3::ZERO, bevy_math::DMat3::ZERO), |inertia| (inertia.centre_of_mass, inertia.tensor));
        let at = from_body.then(&Pose { translation: centre, rotation: DQuat::IDENTITY });
        let mut inertial = node("inertial", 0, &[]);
        let entry = |row: usize, column: usize| tensor.col(column)[row].to_string();
        inertial.children.push(origin(&at));
        inertial.children.push(node("mass", 0, &[("value", body.mass.to_string())]));
        let inertia = [
            ("ixx", entry(0, 0)),
            ("iyy", entry(1, 1)),
            ("izz", entry(2, 2)),
            ("ixy", entry(0, 1)),
            ("ixz", entry(0, 2)),
            ("iyz", entry(1, 2)),
        ];
        inertial.children.push(node("inertia", 0, &inertia));
        link.children.push(inertial);
    }
    let solids = |writer: &mut Writer, tag: &str, placed: &Placed, color: Option<Color>| -> Vec<Node> {
        let solid = |(pose, part): (Pose, Simple)| {
            let geometry = node("geometry", 0, &[]);
            let geometry = Node { children: vec![shape(writer, body, part, mesh_folder)], ..geometry };
            let mut children = vec![origin(&from_body.then(&pose)), geometry];
            children.extend(color.map(material));
            Node { children, ..node(tag, 0, &[]) }
        };
        simple(placed).into_iter().map(solid).collect()
    };
    if let Some(placed) = body.collision_shape() {
        link.children.extend(solids(writer, "collision", placed, None));
    }
    for (placed, color) in body.seen() {
        link.children.extend(solids(writer, "visual", placed, color));
    }
    let friction = node("lateral_friction", 0, &[("value", body.material.friction.to_string())]);
    link.children.push(Node { children: vec![friction], ..node("contact", 0, &[]) });
    writer.warn_of_surface(body);
    link
}

/// Bands of the mesh of an ellipsoid, which are at most 1 % of the radius inside of it.
const ELLIPSOID_BANDS: u32 = 16;

fn shape(writer: &mut Writer, body: &Body, part: Simple, mesh_folder: &str) -> Node {
    match part {
        Simple::Box(size) => node("box", 0, &[("size", join(&size.to_array()))]),
        Simple::Sphere(radius) => node("sphere", 0, &[("radius", radius.to_string())]),
        Simple::Cylinder(radius, length) => {
            node("cylinder", 0, &[("radius", radius.to_string()), ("length", length.to_string())])
        }
        Simple::Capsule(radius, length) => {
            writer.warn(&body.source, format!("'{}' has a <capsule>", body.name), "only Bullet's URDF knows them");
            node("capsule", 0, &[("radius", radius.to_string()), ("length", length.to_string())])
        }
        Simple::Ellipsoid(radii) => {
            let what = format!("'{}' has an <ellipsoid>, which becomes a mesh", body.name);
            writer.warn(&body.source, what, "URDF knows none, and its corners lie on the ellipsoid");
            let (points, triangles) = ellipsoid_surface(radii, ELLIPSOID_BANDS);
            mesh(writer, body, points, &triangles, mesh_folder)
        }
        Simple::Mesh(points, triangles) => mesh(writer, body, points, triangles, mesh_folder),
    }
}

/// A mesh in a file of its own.
fn mesh(writer: &mut Writer, body: &Body, points: Vec<DVec3>, triangles: &[[u32; 3]], mesh_folder: &str) -> Node {
    let path = format!("{mesh_folder}/{}_{}.obj", body.name, writer.meshes.len() + 1);
    writer.meshes.push((path.clone(), Mesh::new(points, triangles.to_vec()).to_obj()));
    node("mesh", 0, &[("filename", path)])
}

fn material(color: Color) -> Node {
    let color_node = node("color", 0, &[("rgba", join(&color.fractions()))]);
    Node { children: vec![color_node], ..node("material", 0, &[("name", color.to_string())]) }
}

/// The joints of a chain, with links without mass between them.
fn add_joints(writer: &mut Writer, chain: &Chain, inner: &Pose, frame: &Pose, robot: &mut Node) {
    let mut parent = writer.mechanism.bodies[chain.inner].name.clone();
    let at = inner.inverse().then(frame);
    let (joint, child) = (chain.joint, &chain.outer.name);
    if chain.steps.is_empty() {
        let kind = if joint.kind == JointKind::Ball { "spherical" } else { "fixed" };
        if joint.kind == JointKind::Ball {
            writer.warn(
                &joint.source,
                format!("joint '{}' is a ball joint", joint.name),
                "only Bullet's URDF knows the type spherical",
            );
        }
        let mut element = node("joint", 0, &[("name", joint.name.clone()), ("type", kind.into())]);
        element.children.extend([
            node("parent", 0, &[("link", parent)]),
            node("child", 0, &[("link", child.clone())]),
            origin(&at),
        ]);
        return robot.children.push(element);
    }
    for (place, step) in chain.steps.iter().enumerate() {
        let is_last = place + 1 == chain.steps.len();
        let carried = if is_last { child.clone() } else { format!("{}_carrier", step.name) };
        if !is_last {
            robot.children.push(node("link", 0, &[("name", carried.clone())]));
        }
        let at = if place == 0 { at } else { Pose::IDENTITY };
        robot.children.push(joint_element(writer, chain, step, [&parent, &carried], &at, frame));
        parent = carried;
    }
}

fn joint_element(
    writer: &mut Writer,
    chain: &Chain,
    step: &Step,
    [parent, child]: [&str; 2],
    at: &Pose,
    frame: &Pose,
) -> Node {
    let FreeAxis { lower, upper, damping, friction, max_effort, max_rate, .. } = step.law;
    let is_limited = lower.is_finite() || upper.is_finite();
    let kind = match (step.linear, is_limited) {
        (true, _) => "prismatic",
        (false, true) => "revolute",
        (false, false) => "continuous",
    };
    let mut element = node("joint", 0, &[("name", step.name.clone()), ("type", kind.into())]);
    element.children.extend([
        node("parent", 0, &[("link", parent.to_owned())]),
        node("child", 0, &[("link", child.to_owned())]),
        origin(at),
    ]);
    let axis = frame.rotation.inverse() * step.axis_at_zero;
    element.children.push(node("axis", 0, &[("xyz", join(&axis.to_array()))]));
    let mut limit = Vec::new();
    if is_limited || step.linear {
        limit.extend([
            ("lower", lower.max(-UNLIMITED_TRAVEL).to_string()),
            ("upper", upper.min(UNLIMITED_TRAVEL).to_string()),
        ]);
    }
    limit.extend([("effort", max_effort.to_string()), ("velocity", max_rate.to_string())]);
    element.children.push(node("limit", 0, &limit));
    if damping > 0.0 || friction > 0.0 {
        element.children.push(node(
            "dynamics",
            0,
            &[("damping", damping.to_string()), ("friction", friction.to_string())],
        ));
    }
    for (name, given) in [
        ("stiffness", step.law.stiffness),
        ("armature", step.law.armature),
        ("initialPosition", step.law.initial_position),
    ] {
        if given != 0.0 {
            writer.warn(
                &chain.joint.source,
                format!("the {name} of joint '{}' is left out", chain.joint.name),
                "URDF has no such thing",
            );
        }
    }
    element.children.extend(mimic(writer, chain, step));
    element
}

/// The `<mimic>` of a coordinate that follows another.
fn mimic(writer: &Writer, chain: &Chain, step: &Step) -> Option<Node> {
    let mechanism = writer.mechanism;
    let is_own = |coupling: &&Coupling| {
        let Coupling { follower, .. } = coupling;
        std::ptr::eq(mechanism.joint(follower.joint), chain.joint) && follower.axis == step.index
    };
    let coupling = mechanism.couplings.iter().find(is_own)?;
    let leader = mechanism.joint(coupling.leader.joint);
    let name = match leader.degrees_of_freedom() {
        1 => leader.name.clone(),
        _ => format!("{}_{}", leader.name, coupling.leader.axis + 1),
    };
    let figures = [("multiplier", coupling.ratio.to_string()), ("offset", coupling.offset.to_string())];
    Some(node("mimic", 0, &[[("joint", name)].as_slice(), &figures].concat()))
}

/// A transmission for each coordinate that an actuator drives; sensors have no place in the format.
fn add_devices(writer: &mut Writer, world: &World, robot: &mut Node) {
    for device in &world.devices {
        let DeviceSpec::Actuator(Actuator { mount: Mount::Joint(joint), law, .. }) = &device.spec else {
            writer.warn(
                &device.source,
                format!("'{}' is left out", device.name),
                "URDF has joints and what drives them, but no such device",
            );
            continue;
        };
        let interface = match law {
            Law::Effort | Law::Force(_) | Law::Surface(_) | Law::Propeller(_) => "EffortJointInterface",
            Law::Velocity => "VelocityJointInterface",
            Law::Position | Law::Angle(_) => "PositionJointInterface",
        };
        let joint = writer.mechanism.joint(*joint);
        let free: Vec<usize> =
            joint.free_coordinates().map(|(index, _)| index).filter(|_| joint.kind.has_axes()).collect();
        for index in &free {
            let name = if free.len() == 1 { joint.name.clone() } else { format!("{}_{}", joint.name, index + 1) };
            let hardware = || value("hardwareInterface", 0, format!("hardware_interface/{interface}"));
            let driven = Node { children: vec![hardware()], ..node("joint", 0, &[("name", name.clone())]) };
            let motor = Node {
                children: vec![hardware()],
                ..node("actuator", 0, &[("name", format!("{}_{name}", device.name))])
            };
            let kind = value("type", 0, "transmission_interface/SimpleTransmission");
            let children = vec![kind, driven, motor];
            robot.children.push(Node {
                children,
                ..node("transmission", 0, &[("name", format!("{}_{name}_transmission", device.name))])
            });
        }
    }
}
