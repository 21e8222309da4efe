//! `<joint>`, and `<mimic>` in it.

use std::{
    collections::{HashMap, HashSet},
    f64::consts::PI,
};

use bevy_math::DVec3;

use super::{
    super::{
        attributes::{attribute, first_numbers, name_of, number, numbers},
        model::{Drive, DriveKind, Joint, Mimic, Model, Motion, UNCOUPLED},
        omissions::Omissions,
    },
    origin::read_origin,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::{node::Node, reading::Reading},
};

/// The joints of a robot, and which of them follow others.
pub(super) fn read_all(
    (reading, notes): (&Reading, &Omissions),
    root: &Node,
    links: &HashMap<String, usize>,
    model: &mut Model,
) {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut mimics = Vec::new();
    let ends = root.children.iter().filter(|node| node.name == "joint").filter_map(|node| child(node, "parent"));
    let parents: HashSet<&str> = ends.filter_map(|end| attribute(end, "link")).map(str::trim).collect();
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
        let is_frame = child_link
            .is_some_and(|link| model.links[link].is_frame() && !parents.contains(model.links[link].name.as_str()));
        let Some(motion) = motion_of(reading, node, &name, is_frame) else { continue };
        let (Some(parent), Some(child_link)) = (parent, child_link) else { continue };
        let Some(joint) = read_joint((reading, notes), node, name, motion, [parent, child_link]) else { continue };
        tell_others(notes, node);
        if let Some(mimic) = child(node, "mimic") {
            mimics.push((mimic, model.joints.len()));
        }
        model.joints.push(joint);
    }
    for (node, follower) in mimics {
        read_mimic(reading, node, follower, &names, model);
    }
}

fn motion_of(reading: &Reading, node: &Node, name: &str, is_frame: bool) -> Option<Motion> {
    let place = reading.attribute_offset(node, "type");
    match attribute(node, "type").map(str::trim) {
        Some("revolute" | "continuous") => Some(Motion::Turning),
        Some("prismatic") => Some(Motion::Sliding),
        Some("fixed") => Some(Motion::Fixed),
        Some("planar") => Some(Motion::Planar),
        Some("spherical") => Some(Motion::Ball),
        Some("floating") if is_frame => {
            let meaning = "a robot hangs together, and its child is no more than a frame: it is fixed to its parent";
            reading.warn(place, format!("joint '{name}' is floating: that joins nothing"), meaning.into());
            Some(Motion::Fixed)
        }
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

/// Reports a joint that should have stops and has none. A follower stops with its leader.
fn tell_missing_limits(reading: &Reading, node: &Node, name: &str) {
    let limit = child(node, "limit");
    let has_stops = limit.is_some_and(|limit| ["lower", "upper"].iter().any(|bound| attribute(limit, bound).is_some()));
    if !has_stops && child(node, "mimic").is_none() {
        let what = format!("joint '{name}' has no limits");
        reading.warn(limit.unwrap_or(node).offset, what, "it moves without stops".into());
    }
}

/// Reports elements without support.
fn tell_others(notes: &Omissions, node: &Node) {
    const KNOWN_TAGS: [&str; 8] = ["parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "calibration"];
    for other in node.children.iter().filter(|other| !KNOWN_TAGS.contains(&other.name.as_str())) {
        notes.add(other.offset, format!("<{}> of <joint> is left out", other.name), "nothing of it is simulated");
    }
}

fn read_joint(
    (reading, notes): (&Reading, &Omissions),
    node: &Node,
    name: String,
    motion: Motion,
    ends: [usize; 2],
) -> Option<Joint> {
    let axis = read_axis(reading, node, &name, motion)?;
    let dynamics = child(node, "dynamics");
    let loss = |what: &str| {
        // Of a joint with several axes Drake has a number for each.
        let has_axes = [Motion::Ball, Motion::Planar].contains(&motion);
        let read = |dynamics| match has_axes {
            true => first_numbers::<1>(reading, dynamics, what).map(|[first]| first),
            false => number(reading, dynamics, what),
        };
        let value = dynamics.and_then(read).unwrap_or(0.0);
        if value < 0.0 {
            let place = dynamics.map_or(node.offset, |dynamics| reading.attribute_offset(dynamics, what));
            reading.problem(place, format!("the {what} of joint '{name}' is below zero: it would drive the joint"));
        }
        value
    };
    let bound = |what: &str| {
        let limit = child(node, "limit")?;
        let bound = number(reading, limit, what)?;
        // Many files have 0 for an unknown value.
        if bound <= 0.0 && motion != Motion::Fixed {
            let said = format!("{what}='{}' of <limit> counts as no bound", attribute(limit, what).unwrap_or_default());
            let help = "give the joint what its motor has, or take it as a fixed one";
            notes.add(reading.attribute_offset(limit, what), said, help);
        }
        Some(bound).filter(|bound| *bound > 0.0)
    };
    let is_continuous = attribute(node, "type") == Some("continuous");
    let kind = if is_continuous { DriveKind::Velocity } else { DriveKind::Position };
    let limit = child(node, "limit").filter(|_| !is_continuous);
    let (limits, swing) = if motion == Motion::Ball {
        limit.and_then(|limit| read_cone(reading, limit, &name)).unzip()
    } else {
        (limit.and_then(|limit| read_limits(reading, limit, &name)), None)
    };
    if !is_continuous && [Motion::Turning, Motion::Sliding].contains(&motion) {
        tell_missing_limits(reading, node, &name);
    }
    Some(Joint {
        limits,
        swing,
        max_effort: bound("effort"),
        max_rate: bound("velocity"),
        damping: loss("damping"),
        friction: loss("friction"),
        drive: Some(Drive { kind, gains: None, name: None, offset: node.offset }),
        pose: read_origin(reading, node),
        axis,
        ..Joint::new(name, node.offset, motion, ends)
    })
}

/// The axis as a unit vector; x without one. A joint without motion needs none.
fn read_axis(reading: &Reading, node: &Node, name: &str, motion: Motion) -> Option<DVec3> {
    let given = child(node, "axis");
    let axis = given.and_then(|axis| numbers::<3>(reading, axis, "xyz")).map_or(DVec3::X, DVec3::from_array);
    let unit = axis.try_normalize().or((motion == Motion::Fixed).then_some(DVec3::X));
    if unit.is_none() {
        let place = given.map_or(node.offset, |axis| axis.offset);
        reading.problem(place, format!("the axis of joint '{name}' has no length"));
    }
    unit
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

/// Twist and swing of a ball joint as Bullet has them: half the ranges about x and y in the places of a lower and an
/// upper limit, and of the twist, which all have to be there.
fn read_cone(reading: &Reading, node: &Node, name: &str) -> Option<([f64; 2], f64)> {
    let bounds = ["lower", "upper", "twist"]
        .map(|bound| attribute(node, bound).and_then(|_| number(reading, node, bound)).filter(|bound| *bound > 0.0));
    let [Some(about_x), Some(about_y), Some(twist)] = bounds else { return None };
    let (swing, twist) = (about_x.max(about_y).min(PI), twist.min(PI));
    if about_x != about_y {
        let what = format!("joint '{name}' leans by {about_x} rad about x and {about_y} rad about y");
        reading.warn(
            node.offset,
            what,
            format!("it leans by {swing} rad in every direction: its stops are a round cone"),
        );
    }
    Some(([-twist, twist], swing))
}

fn read_mimic(reading: &Reading, node: &Node, follower: usize, names: &HashMap<String, usize>, model: &mut Model) {
    let wanted = attribute(node, "joint").unwrap_or_default().trim();
    let Some(&leader) = names.get(wanted) else {
        // ROS stores the name and looks it up when it moves the joints, so such files exist.
        let near = reading.nearest(wanted, names.keys().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let what = format!("<mimic> is left out: there is no joint '{}' to follow", shorten(wanted));
        reading.warn(node.offset, what, format!("the joint moves by itself{near}"));
        return;
    };
    let ratio = number(reading, node, "multiplier").unwrap_or(1.0);
    let constant = number(reading, node, "offset").unwrap_or(0.0);
    let is_there = leader < model.joints.len() && follower < model.joints.len();
    if !is_there || !model.couple(Mimic { leader, follower, ratio, constant, offset: node.offset }) {
        reading.warn(node.offset, "<mimic> is left out".into(), UNCOUPLED.into());
    }
}
