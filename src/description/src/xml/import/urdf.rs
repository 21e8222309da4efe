//! URDF, the robot description of ROS, with the additions of Bullet: `<contact>` of a link, `<capsule>`, spherical joints.

use std::collections::HashMap;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Color, Pose};

use super::{
    super::{
        reading::{Reading, child, read_numbers, shorten},
        tree::Node,
    },
    attributes::{attribute, name_of, number, numbers, required},
    model::{Drive, DriveKind, Form, Joint, Link, MassOf, Mimic, Model, Motion, Solid, Surface},
};

/// Elements that say nothing of a simulation.
const SILENT: [&str; 3] = ["material", "verbose", "version"];

/// Reads the robot of a URDF file.
pub(super) fn read(reading: &Reading, mut roots: Vec<Node>) -> Option<Model> {
    let root = roots.swap_remove(0);
    if root.name != "robot" {
        reading.problem(root.offset, format!("a URDF file holds a <robot>, this one <{}>", root.name));
        return None;
    }
    if let Some(place) = find_macro(&root) {
        let help = "expand it first: xacro FILE > robot.urdf";
        reading.problem_with_help(place, "this is a xacro file, whose macros are not expanded here", help);
        return None;
    }
    let mut model = Model { name: name_of(reading, &root)?, offset: root.offset, ..Model::default() };
    let links = read_links(reading, &root, &mut model);
    read_joints(reading, &root, &links, &mut model);
    read_drives(reading, &root, &mut model);
    for other in root.children.iter().filter(|node| !["link", "joint", "transmission"].contains(&node.name.as_str())) {
        tell_left_out(reading, other);
    }
    model.root = find_root(reading, &model)?;
    // A link without mass between two joints is there to carry the second one.
    for joint in &model.joints {
        model.links[joint.parent].is_carrier = true;
    }
    Some(model)
}

/// Where a macro or one of its parameters stands.
fn find_macro(root: &Node) -> Option<usize> {
    let mut found = None;
    root.walk(&mut |node| {
        let holds = node.name.starts_with("xacro:") || node.attributes.iter().any(|given| given.value.contains("${"));
        if holds && found.is_none() {
            found = Some(node.offset);
        }
    });
    found
}

/// What the simulation does without, and what that means.
fn tell_left_out(reading: &Reading, node: &Node) {
    if SILENT.contains(&node.name.as_str()) {
        return;
    }
    let help = match node.name.as_str() {
        "gazebo" => "what a plugin or sensor of Gazebo did has to be described as a device of ours",
        _ => "nothing of it is simulated",
    };
    reading.warn(node.offset, format!("<{}> is left out", node.name), help.into());
}

/// The `<origin>` in a node, the identity without one.
fn origin(reading: &Reading, node: &Node) -> Pose {
    let Some(origin) = child(node, "origin") else { return Pose::IDENTITY };
    let vector = |name| numbers::<3>(reading, origin, name).map_or(DVec3::ZERO, DVec3::from_array);
    Pose::from_xyz_rpy(vector("xyz"), vector("rpy"))
}

fn read_links(reading: &Reading, root: &Node, model: &mut Model) -> HashMap<String, usize> {
    let (mut places, colors) = (HashMap::new(), read_colors(reading, root));
    for node in root.children.iter().filter(|node| node.name == "link") {
        let Some(name) = name_of(reading, node) else { continue };
        if places.insert(name.clone(), model.links.len()).is_some() {
            reading.problem(node.offset, format!("there is a link '{name}' already"));
        }
        let solids = |tag: &str| {
            let of = node.children.iter().filter(|child| child.name == tag);
            of.filter_map(|solid| read_solid(reading, solid, &colors)).collect()
        };
        model.links.push(Link {
            name,
            offset: node.offset,
            mass: child(node, "inertial").and_then(|inertial| read_mass(reading, inertial)),
            solids: solids("collision"),
            visuals: solids("visual"),
            surface: child(node, "contact").map_or(Surface::default(), |contact| read_surface(reading, contact)),
            ..Link::default()
        });
    }
    places
}

fn read_mass(reading: &Reading, node: &Node) -> Option<MassOf> {
    let Some(mass) = child(node, "mass") else {
        reading.problem(node.offset, "<inertial> lacks <mass>");
        return None;
    };
    let kilograms = required(reading, mass, "value")?;
    if kilograms < 0.0 {
        reading.problem(mass.offset, format!("a mass of {kilograms} kg is below zero"));
        return None;
    }
    let pose = origin(reading, node);
    let tensor = match child(node, "inertia") {
        Some(inertia) => {
            let entry = |name| number(reading, inertia, name).unwrap_or(0.0);
            let (xy, xz, yz) = (entry("ixy"), entry("ixz"), entry("iyz"));
            DMat3::from_cols(
                DVec3::new(required(reading, inertia, "ixx")?, xy, xz),
                DVec3::new(xy, required(reading, inertia, "iyy")?, yz),
                DVec3::new(xz, yz, required(reading, inertia, "izz")?),
            )
        }
        None => DMat3::ZERO,
    };
    if kilograms == 0.0 && tensor != DMat3::ZERO {
        reading.warn(node.offset, "an inertia without a mass is left out".into(), "the link has neither".into());
    }
    let turn = DMat3::from_quat(pose.rotation);
    let tensor = turn * tensor * turn.transpose();
    (kilograms > 0.0).then_some(MassOf { mass: kilograms, centre: pose.translation, tensor, offset: node.offset })
}

/// A `<collision>` or `<visual>`. What is of no kind that we have is told, and left out.
fn read_solid(reading: &Reading, node: &Node, colors: &HashMap<&str, Color>) -> Option<Solid> {
    let geometry = child(node, "geometry").and_then(|geometry| geometry.children.first());
    let Some(shape) = geometry else {
        reading.problem(node.offset, format!("<{}> lacks a <geometry> with a shape", node.name));
        return None;
    };
    let real = |name| required(reading, shape, name);
    let form = match shape.name.as_str() {
        "box" => {
            let size = numbers::<3>(reading, shape, "size");
            if attribute(shape, "size").is_none() {
                reading.problem(shape.offset, "<box> lacks the attribute 'size'");
            }
            Form::Box { size: DVec3::from_array(size?) }
        }
        "sphere" => Form::Sphere { radius: real("radius")? },
        "cylinder" => Form::Cylinder { radius: real("radius")?, length: real("length")? },
        "capsule" => Form::Capsule { radius: real("radius")?, length: real("length")? },
        "mesh" => {
            let Some(file) = attribute(shape, "filename") else {
                reading.problem(shape.offset, "<mesh> lacks the attribute 'filename'");
                return None;
            };
            let scale = numbers::<3>(reading, shape, "scale").map_or(DVec3::ONE, DVec3::from_array);
            Form::Mesh { file: file.trim().to_owned(), scale }
        }
        other => {
            let what = format!("a shape of the kind <{other}> is left out");
            let help = match node.name.as_str() {
                "visual" => "nothing is seen of its link there",
                _ => "its link goes through what would touch it there",
            };
            reading.warn(shape.offset, what, help.into());
            return None;
        }
    };
    let material = child(node, "material");
    let named = || material.and_then(|material| attribute(material, "name")).and_then(|name| colors.get(name)).copied();
    let color = material.and_then(|material| read_color(reading, material)).or_else(named);
    Some(Solid { pose: origin(reading, node), form, color, offset: shape.offset })
}

/// The colours of all materials that have a name, those of the robot and those that a link defines for the others.
fn read_colors<'n>(reading: &Reading, root: &'n Node) -> HashMap<&'n str, Color> {
    let mut colors = HashMap::new();
    root.walk(&mut |node| {
        let name = attribute(node, "name").filter(|_| node.name == "material");
        if let Some((name, color)) = name.and_then(|name| Some((name, read_color(reading, node)?))) {
            colors.entry(name).or_insert(color);
        }
    });
    colors
}

fn read_color(reading: &Reading, material: &Node) -> Option<Color> {
    let color = child(material, "color")?;
    let numbers = read_numbers(attribute(color, "rgba")?, usize::MAX).unwrap_or_default();
    if let Some(color) = numbers.first_chunk::<4>() {
        return Some(Color::from_fractions(*color));
    }
    let what = "attribute 'rgba': expected four numbers from 0 to 1".into();
    reading.warn(reading.place(color, "rgba"), what, "what has this colour is shown in another".into());
    None
}

/// Bullet's `<contact>`: each value is an element of its own.
fn read_surface(reading: &Reading, node: &Node) -> Surface {
    let value = |tag| child(node, tag).and_then(|value| number(reading, value, "value"));
    if let Some(rolling) = child(node, "rolling_friction").filter(|_| value("rolling_friction") != Some(0.0)) {
        let help =
            "give a round body a rollingFriction: a length there, it is a coefficient of force times radius here";
        reading.warn(rolling.offset, "<rolling_friction> is left out".into(), help.into());
    }
    // Bullet has a spring in each contact where both are given.
    let soft = value("stiffness").filter(|stiffness| *stiffness > 0.0 && value("damping").is_some());
    Surface {
        friction: value("lateral_friction").filter(|friction| *friction >= 0.0),
        restitution: value("restitution").filter(|restitution| (0.0..=1.0).contains(restitution)),
        torsional_friction: value("spinning_friction").filter(|friction| *friction >= 0.0),
        stiffness: soft,
        damping: soft.and(value("damping")).filter(|damping| *damping >= 0.0),
        rolling_friction: None,
    }
}

fn read_joints(reading: &Reading, root: &Node, links: &HashMap<String, usize>, model: &mut Model) {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut mimics = Vec::new();
    for node in root.children.iter().filter(|node| node.name == "joint") {
        let Some(name) = name_of(reading, node) else { continue };
        if names.insert(name.clone(), model.joints.len()).is_some() {
            reading.problem(node.offset, format!("there is a joint '{name}' already"));
        }
        let end = |tag: &str| {
            let Some(end) = child(node, tag) else {
                reading.problem(node.offset, format!("joint '{name}' lacks <{tag}>"));
                return None;
            };
            let link = attribute(end, "link").unwrap_or_default().trim();
            let known = links.get(link).copied();
            if known.is_none() {
                let message = format!("joint '{name}': there is no link '{}'", shorten(link));
                match reading.nearest(link, links.keys().map(String::as_str)) {
                    Some(near) => reading.problem_with_help(end.offset, message, format!("did you mean '{near}'?")),
                    None => reading.problem(end.offset, message),
                }
            }
            known
        };
        let (parent, child_link) = (end("parent"), end("child"));
        let Some(motion) = motion_of(reading, node, &name) else { continue };
        let (Some(parent), Some(child_link)) = (parent, child_link) else { continue };
        let Some(joint) = read_joint(reading, node, name, motion, [parent, child_link]) else { continue };
        if let Some(mimic) = child(node, "mimic") {
            mimics.push((mimic, model.joints.len()));
        }
        model.joints.push(joint);
    }
    for (node, follower) in mimics {
        model.couplings.extend(read_mimic(reading, node, follower, &names, &model.joints));
    }
}

fn motion_of(reading: &Reading, node: &Node, name: &str) -> Option<Motion> {
    let place = reading.place(node, "type");
    match attribute(node, "type").map(str::trim) {
        Some("revolute" | "continuous") => Some(Motion::Turning),
        Some("prismatic") => Some(Motion::Sliding),
        Some("fixed") => Some(Motion::Fixed),
        Some("planar") => Some(Motion::Planar),
        Some("spherical") => Some(Motion::Ball),
        Some("floating") => {
            let help = "make two robots of it, or take the joint out where it hangs the robot's root on a link 'world'";
            reading.problem_with_help(place, format!("joint '{name}' is floating: that joins nothing"), help);
            None
        }
        Some(other) => {
            let message = format!("joint '{name}': a type '{}' is not known", shorten(other));
            let known = "revolute, continuous, prismatic, fixed, planar, floating and spherical are";
            reading.problem_with_help(place, message, known);
            None
        }
        None => {
            reading.problem(node.offset, format!("joint '{name}' lacks the attribute 'type'"));
            None
        }
    }
}

fn read_joint(reading: &Reading, node: &Node, name: String, motion: Motion, ends: [usize; 2]) -> Option<Joint> {
    let axis_node = child(node, "axis");
    let axis = axis_node.and_then(|axis| numbers::<3>(reading, axis, "xyz")).map_or(DVec3::X, DVec3::from_array);
    let Some(axis) = axis.try_normalize().or((motion == Motion::Fixed).then_some(DVec3::X)) else {
        let place = axis_node.map_or(node.offset, |axis| axis.offset);
        reading.problem(place, format!("the axis of joint '{name}' has no length"));
        return None;
    };
    let dynamics = child(node, "dynamics");
    let loss = |what: &str| {
        let value = dynamics.and_then(|dynamics| number(reading, dynamics, what)).unwrap_or(0.0);
        if value < 0.0 {
            let place = dynamics.map_or(node.offset, |dynamics| reading.place(dynamics, what));
            reading.problem(place, format!("the {what} of joint '{name}' is below zero: it would drive the joint"));
        }
        value
    };
    // Many files say 0 where nothing is known.
    let bound =
        |what: &str| child(node, "limit").and_then(|limit| number(reading, limit, what)).filter(|bound| *bound > 0.0);
    let is_continuous = attribute(node, "type") == Some("continuous");
    let kind = if is_continuous { DriveKind::Velocity } else { DriveKind::Position };
    Some(Joint {
        limits: child(node, "limit").filter(|_| !is_continuous).and_then(|limit| read_limits(reading, limit, &name)),
        max_effort: bound("effort"),
        max_rate: bound("velocity"),
        damping: loss("damping"),
        friction: loss("friction"),
        drive: Some(Drive { kind, name: None, offset: node.offset }),
        pose: origin(reading, node),
        axis,
        ..Joint::new(name, node.offset, motion, ends)
    })
}

/// Lower and upper stop, if the joint has any.
fn read_limits(reading: &Reading, node: &Node, name: &str) -> Option<[f64; 2]> {
    let given = |name| attribute(node, name).is_some();
    let bounds = ["lower", "upper"].map(|bound| number(reading, node, bound).unwrap_or(0.0));
    if !given("lower") && !given("upper") {
        return None;
    }
    if bounds[0] > bounds[1] {
        let what = format!("joint '{name}' has its lower limit {} above its upper one {}", bounds[0], bounds[1]);
        reading.warn(node.offset, what, "it moves without stops".into());
        return None;
    }
    Some(bounds)
}

fn read_mimic(
    reading: &Reading,
    node: &Node,
    follower: usize,
    names: &HashMap<String, usize>,
    joints: &[Joint],
) -> Option<Mimic> {
    let leader = attribute(node, "joint").unwrap_or_default().trim();
    let Some(&place) = names.get(leader) else {
        reading.problem(node.offset, format!("there is no joint '{}' to follow", shorten(leader)));
        return None;
    };
    let ratio = number(reading, node, "multiplier").unwrap_or(1.0);
    let moves = |place: usize| {
        joints.get(place).is_some_and(|joint| [Motion::Turning, Motion::Sliding].contains(&joint.motion))
    };
    if ratio == 0.0 || place == follower || !moves(place) || !moves(follower) {
        let help = "a coupling ties two different joints, each with one axis, in a ratio other than 0";
        reading.warn(node.offset, "<mimic> is left out".into(), help.into());
        return None;
    }
    let constant = number(reading, node, "offset").unwrap_or(0.0);
    Some(Mimic { leader: place, follower, ratio, constant, offset: node.offset })
}

/// What the `<transmission>`s say of how each joint is commanded.
fn read_drives(reading: &Reading, root: &Node, model: &mut Model) {
    for transmission in root.children.iter().filter(|node| node.name == "transmission") {
        for node in transmission.children.iter().filter(|node| node.name == "joint") {
            let name = attribute(node, "name").unwrap_or_default();
            let Some(joint) = model.joints.iter_mut().find(|joint| joint.name == name) else { continue };
            let all = [node, transmission].into_iter().flat_map(|node| &node.children);
            let actuator = all.flat_map(|node| [node].into_iter().chain(&node.children));
            let interface =
                actuator.filter(|node| node.name == "hardwareInterface").map(|node| node.text.trim()).next();
            let kind = interface.and_then(|interface| interface.rsplit('/').next());
            let kind = match kind {
                Some("EffortJointInterface") => Some(DriveKind::Effort),
                Some("VelocityJointInterface") => Some(DriveKind::Velocity),
                Some("PositionJointInterface") => Some(DriveKind::Position),
                _ => None,
            };
            if let (Some(kind), Some(drive)) = (kind, &mut joint.drive) {
                drive.kind = kind;
            }
            let ratio = transmission.children.iter().filter_map(|node| child(node, "mechanicalReduction")).next();
            if let Some(ratio) = ratio.filter(|ratio| !matches!(ratio.text.trim(), "1" | "1.0" | "")) {
                let help = "commands count at the joint; give its actuator a <motor gearRatio>";
                reading.warn(ratio.offset, "<mechanicalReduction> is left out".into(), help.into());
            }
        }
    }
}

/// The one link that no joint carries; every other is carried once, and none by itself.
fn find_root(reading: &Reading, model: &Model) -> Option<usize> {
    let mut carried: Vec<Option<&Joint>> = vec![None; model.links.len()];
    for joint in &model.joints {
        if let Some(first) = carried[joint.child].replace(joint) {
            let message = format!(
                "link '{}' is the child of both '{}' and '{}'",
                model.links[joint.child].name, first.name, joint.name
            );
            reading.problem_with_help(joint.offset, message, "URDF has no loops: a link hangs on one joint");
            return None;
        }
    }
    let mut roots = (0..model.links.len()).filter(|&link| carried[link].is_none());
    let Some(root) = roots.next() else {
        let message = if model.links.is_empty() {
            "the robot has no link"
        } else {
            "every link is the child of a joint, so none is the root"
        };
        reading.problem(model.offset, message);
        return None;
    };
    if let Some(second) = roots.next() {
        let (first, second) = (&model.links[root], &model.links[second]);
        let message = format!("no joint carries '{}', nor '{}': a robot has one root", first.name, second.name);
        reading.problem(second.offset, message);
        return None;
    }
    // What the root does not carry goes round in circles.
    let mut is_reached = vec![false; model.links.len()];
    let mut reached = vec![root];
    while let Some(link) = reached.pop() {
        is_reached[link] = true;
        reached.extend(model.joints.iter().filter(|joint| joint.parent == link).map(|joint| joint.child));
    }
    if let Some(apart) = is_reached.iter().position(|reached| !reached) {
        let link = &model.links[apart];
        reading.problem(link.offset, format!("link '{}' carries itself by way of its joints", link.name));
        return None;
    }
    Some(root)
}
