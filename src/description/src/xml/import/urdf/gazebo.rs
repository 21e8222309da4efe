//! `<gazebo>`: Gazebo's additions to a robot, a link or a joint. Gazebo converts the file to SDF and inserts the
//! contents there.

use std::collections::HashMap;

use simpartner_model::Color;

use super::super::{
    attributes::attribute,
    gazebo::{Gazebo, friction_across, is_true, number, soft_contact, text},
    model::{Apart, Model, Motion},
    omissions::Omissions,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::{import::sdf::read_pose, node::Node, reading::Reading},
};

/// Gazebo's materials of one colour that are in common use.
const MATERIAL_COLORS: [(&str, [f64; 3]); 18] = [
    ("Black", [0.0, 0.0, 0.0]),
    ("FlatBlack", [0.1, 0.1, 0.1]),
    ("DarkGrey", [0.175, 0.175, 0.175]),
    ("DarkGray", [0.175, 0.175, 0.175]),
    ("Grey", [0.7, 0.7, 0.7]),
    ("Gray", [0.7, 0.7, 0.7]),
    ("White", [1.0, 1.0, 1.0]),
    ("Red", [1.0, 0.0, 0.0]),
    ("RedBright", [0.87, 0.26, 0.07]),
    ("Green", [0.0, 1.0, 0.0]),
    ("Blue", [0.0, 0.0, 1.0]),
    ("SkyBlue", [0.13, 0.44, 0.7]),
    ("Yellow", [1.0, 1.0, 0.0]),
    ("DarkYellow", [0.7, 0.7, 0.0]),
    ("Purple", [1.0, 0.0, 1.0]),
    ("Turquoise", [0.0, 1.0, 1.0]),
    ("Orange", [1.0, 0.5088, 0.0468]),
    ("Indigo", [0.33, 0.0, 0.5]),
];
/// Elements without effect on a simulation, or with an effect that is the default here.
const SILENT_TAGS: [&str; 14] = [
    "provideFeedback",
    "preserveFixedJoint",
    "disableFixedJointLumping",
    "visual",
    "laserRetro",
    "maxContacts",
    "max_contacts",
    "minDepth",
    "min_depth",
    "maxVel",
    "max_vel",
    "implicitSpringDamper",
    "static",
    "fdir1",
];

/// All `<gazebo>` elements of a robot.
pub(super) fn read_all(
    (reading, notes): (&Reading, &Omissions),
    root: &Node,
    links: &HashMap<String, usize>,
    model: &mut Model,
) {
    let mut collides = vec![None; model.links.len()];
    for node in root.children.iter().filter(|node| node.name == "gazebo").map(with_values_as_text) {
        let node = &node;
        let reference = attribute(node, "reference").map(str::trim).filter(|reference| !reference.is_empty());
        let Some(reference) = reference else {
            read_robot((reading, notes), node, links, model);
            continue;
        };
        let joint = model.joints.iter().position(|joint| joint.name == reference);
        match (links.get(reference), joint) {
            (Some(&link), _) => {
                let own = ["selfCollide", "self_collide"].iter().find_map(|tag| text(node, tag)).map(is_true);
                collides[link] = own.or(collides[link]);
                read_link((reading, notes), node, link, links, model);
            }
            (None, Some(joint)) => read_joint((reading, notes), node, joint, links, model),
            (None, None) => tell_lost((reading, notes), node, reference, links, model),
        }
    }
    set_self_collision(reading, model, &collides);
}

/// The value of `<mu1 value="1"/>` or `<mu1>1</mu1>`; Gazebo accepts both.
fn with_values_as_text(node: &Node) -> Node {
    let mut node = node.clone();
    for part in &mut node.children {
        if let Some(value) = part.attributes.iter().find(|given| given.name == "value") {
            (part.text, part.has_text, part.text_offset) = (value.value.clone(), true, value.offset);
        }
    }
    node
}

fn tell_lost(
    (reading, notes): (&Reading, &Omissions),
    node: &Node,
    reference: &str,
    links: &HashMap<String, usize>,
    model: &Model,
) {
    let names = links.keys().map(String::as_str).chain(model.joints.iter().map(|joint| joint.name.as_str()));
    let near = reading.nearest(reference, names).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    let what = format!("<gazebo reference=\"{}\"> names no link and no joint{near}", shorten(reference));
    notes.add(reading.attribute_offset(node, "reference"), what, "its contents are left out, as in Gazebo");
}

fn devices<'m, 'r, 'a>(
    (reading, notes): (&'r Reading<'a>, &'m Omissions),
    links: &'m HashMap<String, usize>,
    model: &'m mut Model,
) -> Gazebo<'m, 'r, 'a> {
    Gazebo { reading, notes, model, links, world: None, first_joint: 0 }
}

/// Settings of the whole robot.
fn read_robot(to: (&Reading, &Omissions), node: &Node, links: &HashMap<String, usize>, model: &mut Model) {
    for part in &node.children {
        match part.name.as_str() {
            "plugin" => {
                devices(to, links, model).read_plugin(part);
            }
            "self_collide" | "selfCollide" => model.self_collision |= is_true(part.text.trim()),
            "static" if is_true(part.text.trim()) => {
                to.1.add(part.offset, "<static> of a robot is left out", "fix its root by fixedBase");
            }
            "static" | "allow_auto_disable" => {}
            name => {
                let meaning = "nothing of it is simulated";
                to.1.add(part.offset, format!("<{name}> of <gazebo> is left out"), meaning);
            }
        }
    }
}

fn read_link(
    (reading, notes): (&Reading, &Omissions),
    node: &Node,
    link: usize,
    links: &HashMap<String, usize>,
    model: &mut Model,
) {
    read_surface((reading, notes), node, link, model);
    for part in &node.children {
        let is_on = is_true(part.text.trim());
        match part.name.as_str() {
            "sensor" => {
                let pose = child(part, "pose").map_or_else(Default::default, |pose| read_pose(reading, pose));
                devices((reading, notes), links, model).read_link_sensor(part, link, pose);
            }
            "plugin" => {
                devices((reading, notes), links, model).read_plugin(part);
            }
            "material" => set_color(notes, part, link, model),
            "mu1" | "mu2" | "mu" | "kp" | "kd" | "selfCollide" | "self_collide" => {}
            "gravity" if is_on => {}
            "turnGravityOff" if !is_on => {}
            "gravity" | "turnGravityOff" => {
                let meaning = "gravity pulls on it as on any other; a ForceActuator with its weight upwards holds it";
                notes.add(part.offset, "a link without gravity has it here", meaning);
            }
            "dampingFactor" => {
                let meaning = "nothing but its joints' damping slows it down";
                notes.add(part.offset, "<dampingFactor> is left out", meaning);
            }
            name if SILENT_TAGS.contains(&name) => {}
            name => notes.add(part.offset, format!("<{name}> of <gazebo> is left out"), "nothing of it is simulated"),
        }
    }
}

/// Friction and stiffness of a link's contacts, in place of Bullet's values.
fn read_surface((reading, notes): (&Reading, &Omissions), node: &Node, link: usize, model: &mut Model) {
    let value = |tags: [&str; 2]| tags.into_iter().find_map(|tag| number(reading, node, tag));
    let surface = &mut model.links[link].surface;
    if let Some(along) = value(["mu1", "mu"]).filter(|friction| *friction >= 0.0) {
        surface.friction = Some(along);
        surface.across = friction_across((reading, notes), node, along, value(["mu2", "mu2"]));
    }
    if let Some(stiffness) = value(["kp", "kp"]) {
        soft_contact((notes, node), Some(stiffness), value(["kd", "kd"]), surface);
    }
}

/// Sets the colour of visuals without one.
fn set_color(notes: &Omissions, node: &Node, link: usize, model: &mut Model) {
    let name = node.text.trim();
    let known = MATERIAL_COLORS.iter().find(|(known, _)| name.strip_prefix("Gazebo/") == Some(known));
    let Some((_, [red, green, blue])) = known else {
        if !name.is_empty() {
            let what = format!("the material {} is left out", shorten(name));
            notes.add(node.offset, what, "only the plain colours of Gazebo are known; give the visual a <color>");
        }
        return;
    };
    let color = Color::from_fractions([*red, *green, *blue, 1.0]);
    for visual in &mut model.links[link].visuals {
        if visual.finish.texture.is_none() {
            visual.finish.color.get_or_insert(color);
        }
    }
}

fn read_joint(
    (reading, notes): (&Reading, &Omissions),
    node: &Node,
    place: usize,
    links: &HashMap<String, usize>,
    model: &mut Model,
) {
    for part in &node.children {
        let is_on = is_true(part.text.trim());
        let value = || number(reading, node, &part.name);
        let joint = &mut model.joints[place];
        match part.name.as_str() {
            "sensor" => devices((reading, notes), links, model).read_joint_sensor(part, Some(place)),
            "plugin" => {
                devices((reading, notes), links, model).read_plugin(part);
            }
            "preserveFixedJoint" | "disableFixedJointLumping" => joint.keeps_links |= is_on,
            "springStiffness" if joint.motion != Motion::Ball => {
                joint.stiffness = value().filter(|stiffness| *stiffness >= 0.0).unwrap_or(0.0);
            }
            "springReference" => joint.spring_position = value().unwrap_or(0.0),
            "stopCfm" | "stopErp" | "stopKp" | "stopKd" | "stop_cfm" | "stop_erp" | "fudgeFactor" | "cfmDamping"
            | "cfm_damping" | "erp" | "cfm" => {
                notes.add(part.offset, format!("<{}> is left out", part.name), "stops are rigid and inelastic");
            }
            name if SILENT_TAGS.contains(&name) => {}
            name => notes.add(part.offset, format!("<{name}> of <gazebo> is left out"), "nothing of it is simulated"),
        }
    }
}

/// Links with self-collision: those that both request it, unless the whole robot does.
fn set_self_collision(reading: &Reading, model: &mut Model, collides: &[Option<bool>]) {
    /// Links with shapes of which some may collide with each other: each pair of others is an element.
    const MAX_LINKS_WITH_SHAPES: usize = 500;
    if model.self_collision || !collides.contains(&Some(true)) {
        return;
    }
    model.self_collision = true;
    let solid = |link: &usize| !model.links[*link].solids.is_empty();
    let all: Vec<usize> = (0..model.links.len()).filter(solid).collect();
    if all.len() > MAX_LINKS_WITH_SHAPES {
        let what = format!(
            "of {} links with shapes some collide with each other; at most {MAX_LINKS_WITH_SHAPES} are told apart",
            all.len()
        );
        return reading.problem_with_help(model.offset, what, "let all of the robot's links collide, or none");
    }
    for (index, &one) in all.iter().enumerate() {
        for &other in &all[index + 1..] {
            let both = [one, other].iter().all(|link| collides[*link] == Some(true));
            if !both {
                model.apart.push(Apart { links: [one, other], offset: model.links[one].offset });
            }
        }
    }
}
