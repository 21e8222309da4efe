//! Grasp files.

use std::fmt::Write;

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_model::{Contact, ContactKind, Grasp, Patch, Pose};

use super::{
    body,
    node::Node,
    reading::{Reading, is_given},
    schema::GRAVITY,
    visual,
};
use crate::text::tree::child;

/// More than any hand has; a program of this size takes seconds.
const MAX_CONTACTS: usize = 1000;
/// The x axis of a patch is the object's y if the x component of the normal exceeds this.
const ALONG_X: f64 = 0.9;
/// Angles of a pose that count as none.
const ANGLE_TOLERANCE: f64 = 1e-12;

/// Reads the root of a grasp file. `None` if something in it is invalid.
pub(super) fn read(reading: &Reading, root: &Node) -> Option<Grasp> {
    let object = child(root, "object").and_then(|node| {
        if let Some(fixed) = child(node, "static") {
            reading.problem(fixed.offset, "the object of a grasp is held by its contacts alone: leave <static> out");
        }
        visual::read_body(reading, node)
    });
    let nodes: Vec<&Node> = root.children.iter().filter(|child| child.name == "contact").collect();
    if nodes.is_empty() || nodes.len() > MAX_CONTACTS {
        reading.problem(root.offset, format!("a grasp has 1 to {MAX_CONTACTS} contacts, not {}", nodes.len()));
        return None;
    }
    for (index, node) in nodes.iter().enumerate() {
        let name = reading.attribute_text(node, "name");
        let before =
            nodes[..index].iter().find(|other| name.is_some() && reading.attribute_text(other, "name") == name);
        if let Some((other, name)) = before.zip(name) {
            let message = format!("a contact '{name}' stands in {} already", reading.line(other.offset));
            reading.problem(reading.attribute_offset(node, "name"), message);
        }
    }
    let contacts: Vec<_> = nodes.iter().filter_map(|node| read_contact(reading, root, node)).collect();
    let (force, torque) = child(root, "load").map_or(Some((DVec3::ZERO, DVec3::ZERO)), |load| {
        let real = |name| reading.attribute_real(load, name);
        Some((body::vector(reading, load)?, DVec3::new(real("torqueX")?, real("torqueY")?, real("torqueZ")?)))
    })?;
    let complete = contacts.len() == nodes.len();
    Some(Grasp {
        name: reading.attribute_text(root, "name")?.to_owned(),
        gravity: child(root, "gravity").map_or(Some(GRAVITY), |node| body::vector(reading, node))?,
        force,
        torque,
        object: object?,
        contacts: complete.then_some(contacts)?,
        tilt: reading.attribute_real(root, "tilt")?,
        tolerance: reading.attribute_real(root, "tolerance")?,
    })
}

fn read_contact(reading: &Reading, root: &Node, node: &Node) -> Option<Contact> {
    let kind = read_kind(reading, node);
    let frame = read_frame(reading, node);
    let patch = child(node, "patch").map_or(Some(Patch::PLANE), |patch| read_patch(reading, patch));
    let limit = |name: &str| reading.attribute_real(if is_given(node, name) { node } else { root }, name);
    let limits = [limit("minForce")?, limit("maxForce")?];
    if limits[0] > limits[1] {
        let place = if is_given(node, "minForce") { "minForce" } else { "maxForce" };
        let [lowest, highest] = limits;
        reading.problem(
            reading.attribute_offset(node, place),
            format!("minForce, {lowest} N, is above maxForce, {highest} N"),
        );
    }
    let (patch, point) =
        (patch?, DVec2::new(reading.attribute_real(node, "atX")?, reading.attribute_real(node, "atY")?));
    if point.abs().max_element() > patch.range {
        let message = format!("the finger is beyond the patch, which reaches {} m along x and y", patch.range);
        reading
            .problem(reading.attribute_offset(node, if point.x.abs() > patch.range { "atX" } else { "atY" }), message);
    }
    Some(Contact {
        name: reading.attribute_text(node, "name")?.to_owned(),
        kind: kind?,
        frame: frame?,
        patch,
        point,
        limits,
        source: reading.source(node),
    })
}

fn read_kind(reading: &Reading, node: &Node) -> Option<ContactKind> {
    let word = reading.attribute_text(node, "type")?;
    let taken: &[&str] = match word {
        "frictionless" => &[],
        "frictional" => &["friction"],
        _ => &["friction", "radius"],
    };
    let mut sound = true;
    for name in ["friction", "radius"] {
        match (taken.contains(&name), is_given(node, name)) {
            (true, false) => reading.problem(node.offset, format!("a {word} contact needs '{name}'")),
            (false, true) => {
                reading.problem(reading.attribute_offset(node, name), format!("a {word} contact has no '{name}'"))
            }
            _ => continue,
        }
        sound = false;
    }
    let real = |name| reading.attribute_real(node, name);
    match word {
        _ if !sound => None,
        "frictionless" => Some(ContactKind::Frictionless),
        "frictional" => Some(ContactKind::Frictional { friction: real("friction")? }),
        _ => Some(ContactKind::Soft { friction: real("friction")?, radius: real("radius")? }),
    }
}

/// The frame of a contact's patch.
fn read_frame(reading: &Reading, node: &Node) -> Option<Pose> {
    let placed = child(node, "pose").or(child(node, "transformation"));
    let pose = body::pose_of(reading, node)?;
    let Some(normal) = child(node, "normal") else {
        if placed.is_none() {
            let help = "give it a <pose> and a <normal>";
            reading.problem_with_help(node.offset, "the contact has no place", help);
            return None;
        }
        return Some(pose);
    };
    let direction = body::vector(reading, normal)?;
    if placed.is_none() {
        reading.problem_with_help(node.offset, "the contact has no place", "give it a <pose>");
        return None;
    }
    if direction.length() < f64::MIN_POSITIVE.sqrt() || !direction.length().is_finite() {
        reading.problem(normal.offset, "the normal has no direction");
        return None;
    }
    if pose.rotation.xyz().length() > ANGLE_TOLERANCE {
        let help = "leave the normal out, or the angles of the pose";
        reading.problem_with_help(normal.offset, "the normal and the pose both say how the contact is turned", help);
        return None;
    }
    Some(pose_facing(pose.translation, direction.normalize()))
}

/// The frame at a point whose z is against a unit normal.
fn pose_facing(point: DVec3, normal: DVec3) -> Pose {
    let along = if normal.x.abs() > ALONG_X { DVec3::Y } else { DVec3::X };
    let x = (along - normal * along.dot(normal)).normalize();
    Pose::from_matrix(DMat3::from_cols(x, x.cross(normal), -normal), point)
}

fn read_patch(reading: &Reading, node: &Node) -> Option<Patch> {
    let real = |name| reading.attribute_real(node, name);
    Some(Patch {
        xx: real("xx")?,
        yy: real("yy")?,
        xy: real("xy")?,
        x: real("x")?,
        y: real("y")?,
        constant: real("constant")?,
        range: if is_given(node, "range") { real("range")? } else { f64::INFINITY },
    })
}

/// The file of a grasp whose object has no shape, mass and inertia: the result of the importer.
pub fn write(grasp: &Grasp, comment: &str) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE grasp SYSTEM \"grasp.dtd\">\n");
    // Writing to a string cannot fail.
    let _ = write_all(grasp, comment, &mut text);
    text
}

fn write_all(grasp: &Grasp, comment: &str, out: &mut String) -> std::fmt::Result {
    let all = grasp.contacts[0].limits;
    let common = grasp.contacts.iter().all(|contact| contact.limits == all);
    let [lowest, highest] = all;
    let limits = if common { format!(" minForce=\"{lowest}\" maxForce=\"{highest}\"") } else { String::new() };
    writeln!(out, "<!-- {} -->", comment.replace("--", "- -"))?;
    writeln!(out, "<grasp name=\"{}\"{limits} tilt=\"{}\" tolerance=\"{}\">", grasp.name, grasp.tilt, grasp.tolerance)?;
    let DVec3 { x, y, z } = grasp.gravity;
    writeln!(out, "  <gravity x=\"{x}\" y=\"{y}\" z=\"{z}\"/>")?;
    writeln!(out, "  <object name=\"{}\">\n    <mass>{}</mass>", grasp.object.name, grasp.object.mass)?;
    if let Some(inertia) = grasp.object.inertia {
        let (DVec3 { x, y, z }, i) = (inertia.centre_of_mass, inertia.tensor);
        writeln!(
            out,
            "    <inertia x=\"{x}\" y=\"{y}\" z=\"{z}\" ixx=\"{}\" iyy=\"{}\" izz=\"{}\"",
            i.x_axis.x, i.y_axis.y, i.z_axis.z
        )?;
        writeln!(out, "      ixy=\"{}\" ixz=\"{}\" iyz=\"{}\"/>", i.x_axis.y, i.x_axis.z, i.y_axis.z)?;
    }
    writeln!(out, "  </object>")?;
    for contact in &grasp.contacts {
        write!(out, "  <contact name=\"{}\" type=\"{}\"", contact.name, contact.kind.word())?;
        match contact.kind {
            ContactKind::Frictionless => {}
            ContactKind::Frictional { friction } => write!(out, " friction=\"{friction}\"")?,
            ContactKind::Soft { friction, radius } => write!(out, " friction=\"{friction}\" radius=\"{radius}\"")?,
        }
        if !common {
            write!(out, " minForce=\"{}\" maxForce=\"{}\"", contact.limits[0], contact.limits[1])?;
        }
        if contact.point != DVec2::ZERO {
            write!(out, " atX=\"{}\" atY=\"{}\"", contact.point.x, contact.point.y)?;
        }
        // Sums take the sign off zeros.
        let (place, rpy) = (contact.frame.translation + DVec3::ZERO, contact.frame.roll_pitch_yaw() + DVec3::ZERO);
        let DVec3 { x, y, z } = place;
        writeln!(out, ">")?;
        writeln!(
            out,
            "    <pose x=\"{x}\" y=\"{y}\" z=\"{z}\" roll=\"{}\" pitch=\"{}\" yaw=\"{}\"/>",
            rpy.x, rpy.y, rpy.z
        )?;
        let Patch { xx, yy, xy, x, y, constant, .. } = contact.patch;
        if contact.patch.coefficients() != [0.0; 6] {
            writeln!(
                out,
                "    <patch xx=\"{xx}\" yy=\"{yy}\" xy=\"{xy}\" x=\"{x}\" y=\"{y}\" constant=\"{constant}\"/>"
            )?;
        }
        writeln!(out, "  </contact>")?;
    }
    writeln!(out, "</grasp>")
}
