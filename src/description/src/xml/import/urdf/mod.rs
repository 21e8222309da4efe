//! URDF, the robot description of ROS, with the additions of Bullet: `<contact>` of a link, `<capsule>`, spherical
//! joints; and those of Gazebo and of ROS's controllers.
//!
//! | module | reads |
//! |---|---|
//! | `joint` | `<joint>` |
//! | `drives` | `<transmission>`, `<ros2_control>`: what drives joints |
//! | `xacro` | macros, before all others |
//! | `gazebo` | `<gazebo>`: sensors, plugins, surfaces |

mod drives;
mod gazebo;
mod joint;
mod origin;
mod xacro;

use std::collections::HashMap;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Color, Pose};

use self::origin::read_origin;
use super::{
    super::{node::Node, reading::Reading},
    attributes::{attribute, name_of, number, numbers, required},
    finish::Finish,
    model::{Form, Joint, Link, MassOf, Model, Solid, Surface, WORLD_LINK},
    omissions::Omissions,
};
use crate::text::{
    numbers::{read_spaced_numbers, shorten},
    tree::{Attribute, child},
};

/// Elements without effect on a simulation.
const SILENT_TAGS: [&str; 3] = ["material", "verbose", "version"];

/// Reads the robot of a URDF file, and its roots: several for parts that no joint connects.
pub(super) fn read(reading: &Reading, mut roots: Vec<Node>) -> Option<(Model, Vec<usize>)> {
    let mut root = roots.swap_remove(0);
    if root.name != "robot" {
        reading.problem(root.offset, format!("a URDF file holds a <robot>, this one <{}>", root.name));
        return None;
    }
    if has_macros(&root) {
        root = xacro::expand_macros(reading, root)?;
    }
    let mut model = Model { name: name_of(reading, &root)?, offset: root.offset, ..Model::default() };
    let floating = take_floating_base(reading, &mut root);
    let links = read_links(reading, &root, &mut model);
    let notes = Omissions::default();
    joint::read_all((reading, &notes), &root, &links, &mut model);
    let roots = find_roots(reading, &model)?;
    model.root = roots[0];
    model.links[model.root].pose = floating.unwrap_or(Pose::IDENTITY);
    drives::read_all((reading, &notes), &root, &mut model);
    gazebo::read_all((reading, &notes), &root, &links, &mut model);
    let known = ["link", "joint", "transmission", "ros2_control", "gazebo"];
    for other in root.children.iter().filter(|node| ![&known[..], &SILENT_TAGS].concat().contains(&node.name.as_str()))
    {
        notes.add(other.offset, format!("<{}> is left out", other.name), "nothing of it is simulated");
    }
    notes.report(reading);
    // A link without mass between two joints carries the second one.
    for joint in &model.joints {
        model.links[joint.parent].is_carrier = true;
    }
    Some((model, roots))
}

/// True for a file with macros or their parameters.
fn has_macros(root: &Node) -> bool {
    let mut found = false;
    root.walk(&mut |node| {
        let holds = |given: &Attribute| given.value.contains("${") || given.value.contains("$(");
        found |= node.name.starts_with(xacro::ELEMENT_PREFIX) || node.attributes.iter().any(holds);
    });
    found
}

fn read_links(reading: &Reading, root: &Node, model: &mut Model) -> HashMap<String, usize> {
    let (mut places, finishes) = (HashMap::new(), read_finishes(reading, root));
    for node in root.children.iter().filter(|node| node.name == "link") {
        let Some(name) = name_of(reading, node) else { continue };
        if places.insert(name.clone(), model.links.len()).is_some() {
            reading.problem(node.offset, format!("there is a link '{name}' already"));
        }
        let solids = |tag: &str| {
            let of = node.children.iter().filter(|child| child.name == tag);
            of.filter_map(|solid| read_solid(reading, solid, &finishes)).collect()
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
    // As in Gazebo and Drake: a robot on a link 'world' need not describe that link.
    if let Some(joint) =
        root.children.iter().find(|node| hangs_on_world(node)).filter(|_| !places.contains_key(WORLD_LINK))
    {
        places.insert(WORLD_LINK.to_owned(), model.links.len());
        model.links.push(Link { name: WORLD_LINK.to_owned(), offset: joint.offset, ..Link::default() });
    }
    places
}

fn hangs_on_world(node: &Node) -> bool {
    node.name == "joint" && child(node, "parent").and_then(|end| attribute(end, "link")) == Some(WORLD_LINK)
}

/// Removes the floating joint from a link 'world', and that link: without them the robot floats as well. Returns the
/// initial pose of its root.
fn take_floating_base(reading: &Reading, root: &mut Node) -> Option<Pose> {
    let floats = |node: &Node| hangs_on_world(node) && attribute(node, "type") == Some("floating");
    let joint = root.children.remove(root.children.iter().position(floats)?);
    root.children.retain(|node| node.name != "link" || attribute(node, "name") != Some(WORLD_LINK));
    Some(read_origin(reading, &joint))
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
    let pose = read_origin(reading, node);
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

/// Reads a `<collision>` or `<visual>`. An unsupported one is reported and omitted.
fn read_solid(reading: &Reading, node: &Node, finishes: &HashMap<&str, Finish>) -> Option<Solid> {
    let geometry = child(node, "geometry").and_then(|geometry| geometry.children.first());
    let Some(shape) = geometry else {
        if node.name == "visual" {
            let what = "a <visual> without a <geometry> is left out".into();
            reading.warn(node.offset, what, "nothing is seen of its link there".into());
            return None;
        }
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
            Form::Mesh { file: file.trim().to_owned(), scale: read_scale(reading, shape) }
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
    let named =
        || material.and_then(|material| attribute(material, "name")).and_then(|name| finishes.get(name)).cloned();
    let finish = material.and_then(|material| read_finish(reading, material)).or_else(named).unwrap_or_default();
    Some(Solid { surface: None, pose: read_origin(reading, node), form, finish, offset: shape.offset })
}

/// A factor for each axis, or one for all as in Drake's files.
fn read_scale(reading: &Reading, mesh: &Node) -> DVec3 {
    let Some(given) = attribute(mesh, "scale") else { return DVec3::ONE };
    match read_spaced_numbers(given, usize::MAX).as_deref() {
        Ok(&[factor]) => DVec3::splat(factor),
        _ => numbers::<3>(reading, mesh, "scale").map_or(DVec3::ONE, DVec3::from_array),
    }
}

/// The looks of all materials that have a name, those of the robot and those that a link defines for the others.
fn read_finishes<'n>(reading: &Reading, root: &'n Node) -> HashMap<&'n str, Finish> {
    let mut finishes = HashMap::new();
    root.walk(&mut |node| {
        let name = attribute(node, "name").filter(|_| node.name == "material");
        if let Some((name, finish)) = name.and_then(|name| Some((name, read_finish(reading, node)?))) {
            finishes.entry(name).or_insert(finish);
        }
    });
    finishes
}

/// Colour and texture of a material; `None` without both.
fn read_finish(reading: &Reading, material: &Node) -> Option<Finish> {
    let file = child(material, "texture").and_then(|texture| attribute(texture, "filename"));
    let texture = file.map(str::trim).filter(|file| !file.is_empty()).map(str::to_owned);
    let finish = Finish { texture, ..Finish::of_color(read_color(reading, material)) };
    (!finish.is_default()).then_some(finish)
}

fn read_color(reading: &Reading, material: &Node) -> Option<Color> {
    let color = child(material, "color")?;
    let numbers = read_spaced_numbers(attribute(color, "rgba")?, usize::MAX).unwrap_or_default();
    if let Some(color) = numbers.first_chunk::<4>() {
        return Some(Color::from_fractions(*color));
    }
    let what = "attribute 'rgba': expected four numbers from 0 to 1".into();
    reading.warn(reading.attribute_offset(color, "rgba"), what, "what has this colour is shown in another".into());
    None
}

/// Bullet's `<contact>`: each value is an element.
fn read_surface(reading: &Reading, node: &Node) -> Surface {
    let value = |tag| child(node, tag).and_then(|value| number(reading, value, "value"));
    if let Some(rolling) = child(node, "rolling_friction").filter(|_| value("rolling_friction") != Some(0.0)) {
        let help =
            "give a round body a rollingFriction: a length there, it is a coefficient of force times radius here";
        reading.warn(rolling.offset, "<rolling_friction> is left out".into(), help.into());
    }
    // Bullet's contacts are springs if both are given.
    let soft = value("stiffness").filter(|stiffness| *stiffness > 0.0 && value("damping").is_some());
    Surface {
        friction: value("lateral_friction").filter(|friction| *friction >= 0.0),
        restitution: value("restitution").filter(|restitution| (0.0..=1.0).contains(restitution)),
        torsional_friction: value("spinning_friction").filter(|friction| *friction >= 0.0),
        stiffness: soft,
        damping: soft.and(value("damping")).filter(|damping| *damping >= 0.0),
        ..Surface::default()
    }
}

/// The links that no joint carries; every other link is carried once, and none by itself.
fn find_roots(reading: &Reading, model: &Model) -> Option<Vec<usize>> {
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
    let roots: Vec<usize> = (0..model.links.len()).filter(|&link| carried[link].is_none()).collect();
    let named = |link: &usize| format!("'{}'", shorten(&model.links[*link].name));
    match &roots[..] {
        [] => {
            let message = if model.links.is_empty() {
                "the robot has no link"
            } else {
                "every link is the child of a joint, so none is the root"
            };
            reading.problem(model.offset, message);
            return None;
        }
        [_] => {}
        [first, second, ..] => {
            let what = format!("no joint carries {}, nor {}: a robot has one root", named(first), named(second));
            let help = "each root is a robot of its own; connect them by a joint if they are one";
            reading.warn(model.links[*second].offset, what, help.into());
        }
    }
    // Links that are not connected to the root form a cycle.
    let mut carries = vec![Vec::new(); model.links.len()];
    model.joints.iter().for_each(|joint| carries[joint.parent].push(joint.child));
    let mut is_reached = vec![false; model.links.len()];
    let mut reached = roots.clone();
    while let Some(link) = reached.pop() {
        is_reached[link] = true;
        reached.extend(&carries[link]);
    }
    if let Some(apart) = is_reached.iter().position(|reached| !reached) {
        let link = &model.links[apart];
        reading.problem(link.offset, format!("link '{}' carries itself by way of its joints", link.name));
        return None;
    }
    Some(roots)
}
