//! Drives of joints: `<transmission>` of ROS 1, `<ros2_control>` of ROS 2.

use super::super::{
    attributes::attribute,
    gazebo::numbers,
    model::{DriveKind, Joint, Mimic, Model, Motion, UNCOUPLED},
    omissions::Omissions,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::{node::Node, reading::Reading},
};

/// Effect of a drive without a joint of the model.
const NO_JOINT: &str = "nothing is driven by it";

pub(super) fn read_all(to: (&Reading, &Omissions), root: &Node, model: &mut Model) {
    for node in &root.children {
        match node.name.as_str() {
            "transmission" => read_transmission(to, node, model),
            "ros2_control" => read_control(to, node, model),
            _ => {}
        }
    }
}

/// The place of the joint that an element names.
fn named((_, notes): (&Reading, &Omissions), node: &Node, model: &Model) -> Option<usize> {
    let name = attribute(node, "name").unwrap_or_default().trim();
    let place = model.joints.iter().position(|joint| joint.name == name);
    if place.is_none() {
        let what = format!("'{}' is to be driven and is no joint", shorten(name));
        notes.add(node.offset, what, NO_JOINT);
    }
    place
}

/// Command interfaces of the joints of a transmission.
fn read_transmission((reading, notes): (&Reading, &Omissions), transmission: &Node, model: &mut Model) {
    for node in transmission.children.iter().filter(|node| node.name == "joint") {
        let Some(place) = named((reading, notes), node, model) else { continue };
        let all = [node, transmission].into_iter().flat_map(|node| &node.children);
        let mut inner = all.flat_map(|node| [node].into_iter().chain(&node.children));
        let interface = inner.find(|node| node.name == "hardwareInterface");
        let word = interface.map_or("", |node| node.text.trim().rsplit('/').next().unwrap_or_default());
        let kind = match word {
            "EffortJointInterface" => Some(DriveKind::Effort),
            "VelocityJointInterface" => Some(DriveKind::Velocity),
            "PositionJointInterface" => Some(DriveKind::Position),
            _ => None,
        };
        match (kind, &mut model.joints[place].drive) {
            (Some(kind), Some(drive)) => drive.kind = kind,
            (None, _) if !word.is_empty() => {
                let what = format!("the hardware interface '{}' is left out", shorten(word));
                let meaning = "its joint holds positions, or of a continuous joint velocities";
                notes.add(interface.map_or(node.offset, |node| node.offset), what, meaning);
            }
            _ => {}
        }
    }
    let simple = child(transmission, "type").is_none_or(|kind| kind.text.trim().ends_with("SimpleTransmission"));
    if !simple {
        let meaning = "each of its joints is driven by itself";
        notes.add(transmission.offset, "a <transmission> that is not simple is left out", meaning);
    }
    tell_reduction(notes, transmission, "mechanicalReduction");
}

fn tell_reduction(notes: &Omissions, transmission: &Node, tag: &str) {
    let ratio = [transmission].into_iter().chain(&transmission.children).filter_map(|node| child(node, tag)).next();
    if let Some(ratio) = ratio.filter(|ratio| !ratio.text.trim().is_empty() && ratio.text.trim().parse() != Ok(1.0)) {
        let help = "commands count at the joint; give its actuator a <motor gearRatio>";
        notes.add(ratio.offset, format!("<{tag}> is left out"), help);
    }
}

/// Reads the joints of a ros2_control hardware: each is driven by its first command interface, or not at all without
/// one.
fn read_control(to: (&Reading, &Omissions), control: &Node, model: &mut Model) {
    let (_, notes) = to;
    for node in &control.children {
        match node.name.as_str() {
            "joint" => {
                if let Some(place) = named(to, node, model) {
                    read_control_joint(to, node, place, model);
                }
            }
            "hardware" => {}
            "transmission" => tell_reduction(notes, node, "mechanical_reduction"),
            "sensor" => {
                let meaning =
                    "it does not say where the sensor is; describe it by <gazebo reference> or as a device of ours";
                notes.add(node.offset, "a <sensor> of <ros2_control> is left out", meaning);
            }
            other => {
                notes.add(node.offset, format!("<{other}> of <ros2_control> is left out"), "nothing of it is simulated")
            }
        }
    }
}

fn read_control_joint((reading, notes): (&Reading, &Omissions), node: &Node, place: usize, model: &mut Model) {
    let interfaces = |tag: &'static str| node.children.iter().filter(move |child| child.name == tag);
    let name = |node: &Node| attribute(node, "name").unwrap_or_default().trim().to_owned();
    let kind = |interface: &Node| match name(interface).as_str() {
        "position" => Some(DriveKind::Position),
        "velocity" => Some(DriveKind::Velocity),
        "effort" => Some(DriveKind::Effort),
        _ => None,
    };
    let mut known = interfaces("command_interface").filter_map(kind);
    let joint = &mut model.joints[place];
    match (known.next(), &mut joint.drive) {
        (Some(first), Some(drive)) => {
            (drive.kind, drive.offset) = (first, node.offset);
            if known.next().is_some() {
                let meaning = "an actuator here takes one kind of command: the first one; add another actuator of ours for the others";
                notes.add(node.offset, "a joint with several command interfaces is driven by its first one", meaning);
            }
        }
        (None, drive) => *drive = None,
        _ => {}
    }
    for interface in interfaces("command_interface").chain(interfaces("state_interface")) {
        read_figures(reading, interface, &name(interface), joint);
        if kind(interface).is_none() {
            let what = format!("an interface '{}' of a joint is left out", shorten(&name(interface)));
            notes.add(interface.offset, what, "joints here take and tell positions, velocities and efforts");
        }
    }
    let text = |wanted: &str| parameter(node, wanted).map(|node| node.text.trim());
    if let Some(leader) = text("mimic").or(attribute(node, "mimic").filter(|name| *name != "true" && *name != "false"))
    {
        let number =
            |wanted: &str, default| parameter(node, wanted).and_then(|node| figure(reading, node)).unwrap_or(default);
        let leader = model.joints.iter().position(|joint| joint.name == leader).unwrap_or(place);
        let (ratio, constant) = (number("multiplier", 1.0), number("offset", 0.0));
        let coupling = Mimic { leader, follower: place, ratio, constant, offset: node.offset };
        let is_told = model.couplings.iter().any(|known| known.follower == place);
        if !(is_told || model.couple(coupling)) {
            notes.add(node.offset, "the parameter 'mimic' is left out", UNCOUPLED);
        }
    }
}

fn parameter<'n>(node: &'n Node, wanted: &str) -> Option<&'n Node> {
    node.children.iter().find(|child| child.name == "param" && attribute(child, "name") == Some(wanted))
}

/// The number that a parameter is.
fn figure(reading: &Reading, node: &Node) -> Option<f64> {
    let [figure] = numbers::<1>(reading, node)?;
    Some(figure)
}

/// Reads a joint's initial position, largest effort and largest rate from an interface of `ros2_control`.
fn read_figures(reading: &Reading, interface: &Node, name: &str, joint: &mut Joint) {
    let figure = |wanted: &str| parameter(interface, wanted).and_then(|node| figure(reading, node));
    let bound = || figure("max").filter(|bound| *bound > 0.0);
    let least = |own: Option<f64>, other: Option<f64>| [own, other].into_iter().flatten().reduce(f64::min);
    match (interface.name.as_str(), name) {
        ("command_interface", "effort") => joint.max_effort = least(joint.max_effort, bound()),
        ("command_interface", "velocity") => joint.max_rate = least(joint.max_rate, bound()),
        ("state_interface", "position") if [Motion::Turning, Motion::Sliding].contains(&joint.motion) => {
            joint.initial = figure("initial_value").unwrap_or(joint.initial);
        }
        _ => {}
    }
}
