//! Joints: which bodies, which axes, which stops.

use std::f64::consts::PI;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{Axis, Body, FreeAxis, Joint, JointKind};

use super::{
    body::vector,
    name_table::NameTable,
    node::Node,
    reading::{Reading, is_given},
};
use crate::text::tree::child;

/// The attributes of `<free>` that a ball joint has not: its laws are the same about all its axes, and it begins as its
/// bodies are placed.
const NOT_OF_A_BALL: [&str; 4] = ["axis", "springPosition", "initialPosition", "initialRate"];

/// Tolerance of axes that should be perpendicular, as the cosine of their angle.
const SQUARE_TOLERANCE: f64 = 1e-3;

/// Reads a `<joint>` between bodies of the same file, whose ids are indices into `bodies`. `None` if something is
/// invalid.
pub(super) fn read(reading: &Reading, node: &Node, scope: &NameTable, bodies: &[Body]) -> Option<Joint> {
    let name = reading.attribute_text(node, "name")?.to_owned();
    let kind = JointKind::named(reading.attribute_text(node, "type")?)?;
    let laws = read_laws(reading, node, kind, &name);
    let frame = read_frame(reading, node, kind);
    let end = |tag: &str| {
        let text = reading.child_text(node, tag)?;
        scope.resolve(reading, child(node, tag)?.text_offset, text)
    };
    let (parent, child_body) = (end("parent"), end("child"));
    let (parent, child_body) = (parent?, child_body?);
    if parent == child_body {
        let place = child(node, "child").map_or(node.offset, |child| child.text_offset);
        reading.problem(place, format!("joint '{name}' connects a body with itself"));
        return None;
    }
    let anchor = match child(node, "anchor") {
        Some(anchor) => node.context.frame.point(vector(reading, anchor)?),
        None => bodies.get(child_body.index())?.pose.translation,
    };
    let (axes, swing) = laws?;
    Some(Joint {
        name,
        robot: None,
        kind,
        parent,
        child: child_body,
        anchor,
        frame: frame?,
        axes,
        swing,
        source: reading.source(node),
    })
}

fn read_frame(reading: &Reading, node: &Node, kind: JointKind) -> Option<DQuat> {
    // Without motion along or about the first two axes, their directions have no effect.
    let single = kind != JointKind::Fixed && kind.coordinates().iter().flatten().all(|coordinate| coordinate.axis == 2);
    let allowed: &[&str] = if single { &["axis"] } else { &["axis1", "axis3"] };
    for tag in ["axis", "axis1", "axis3"] {
        if let Some(axis) = child(node, tag).filter(|_| !allowed.contains(&tag)) {
            let help = format!("it takes {}", allowed.join(" and "));
            reading.problem_with_help(axis.offset, format!("a {} joint has no <{tag}>", kind.name()), help);
            return None;
        }
    }
    if single {
        let third = direction(reading, node, "axis", DVec3::Z)?;
        return Some(frame_about(third));
    }
    let first = direction(reading, node, "axis1", DVec3::X)?;
    let third = direction(reading, node, "axis3", DVec3::Z)?;
    if first.dot(third).abs() > SQUARE_TOLERANCE {
        let place = child(node, "axis3").or(child(node, "axis1")).map_or(node.offset, |axis| axis.offset);
        let degrees = first.dot(third).clamp(-1.0, 1.0).acos().to_degrees();
        reading.problem(place, format!("the first and the third axis stand at {degrees:.1} degrees instead of 90"));
        return None;
    }
    Some(frame_of(first, third))
}

fn direction(reading: &Reading, node: &Node, tag: &str, default: DVec3) -> Option<DVec3> {
    let Some(axis) = child(node, tag) else { return Some(node.context.frame.axis(default)) };
    let direction = vector(reading, axis)?.try_normalize();
    if direction.is_none() {
        reading.problem(axis.offset, format!("<{tag}> has no direction"));
    }
    direction.map(|direction| node.context.frame.axis(direction))
}

/// A right-handed frame with this third axis; its first axis follows the rule in the schema's table.
fn frame_about(third: DVec3) -> DQuat {
    let sideways = DVec3::Y.cross(third);
    let first = if sideways.length() > 1e-6 { sideways.normalize() } else { DVec3::Z };
    frame_of(first, third)
}

fn frame_of(first: DVec3, third: DVec3) -> DQuat {
    let second = third.cross(first).normalize();
    DQuat::from_mat3(&DMat3::from_cols(second.cross(third), second, third)).normalize()
}

/// Axes of a joint, and the swing limit of a ball joint.
fn read_laws(reading: &Reading, node: &Node, kind: JointKind, name: &str) -> Option<([Axis; 3], f64)> {
    if kind == JointKind::Ball {
        read_ball(reading, node, name)
    } else {
        Some((read_axes(reading, node, kind, name)?, f64::INFINITY))
    }
}

/// Reads a ball joint: one `<free>` for all its axes; its stops are those of the twist and of the swing.
fn read_ball(reading: &Reading, node: &Node, name: &str) -> Option<([Axis; 3], f64)> {
    let mut given = node.children.iter().filter(|child| child.name == "free");
    let Some(free) = given.next() else { return Some((JointKind::Ball.free_axes(), f64::INFINITY)) };
    let mut sound = true;
    if let Some(second) = given.next() {
        reading.problem(
            second.offset,
            format!("joint '{name}' has <free> a second time: a ball joint has one for all its axes"),
        );
        sound = false;
    }
    for attribute in NOT_OF_A_BALL.into_iter().filter(|attribute| is_given(free, attribute)) {
        let message = format!("<free> of a ball joint has no attribute '{attribute}'");
        let help =
            "damping, friction, spring and rotor are the same about all its axes; swing, lower and upper are its stops";
        reading.problem_with_help(reading.attribute_offset(free, attribute), message, help);
        sound = false;
    }
    let twist = read_free(reading, free, false)?;
    if let (true, false) | (false, true) = (twist.lower.is_finite(), twist.upper.is_finite()) {
        let help = "a body that twists by more than half a turn comes from the other side";
        reading.problem_with_help(free.offset, "a ball joint has both stops of its twist or none", help);
        sound = false;
    }
    for (attribute, stop) in [("lower", twist.lower), ("upper", twist.upper)] {
        if stop.is_finite() && stop.abs() > PI {
            let message = format!("attribute '{attribute}': a twist is from -pi to pi, got {stop}");
            reading.problem(reading.attribute_offset(free, attribute), message);
            sound = false;
        }
    }
    let swing = if is_given(free, "swing") { reading.attribute_real(free, "swing")? } else { f64::INFINITY };
    let rest = FreeAxis { lower: f64::NEG_INFINITY, upper: f64::INFINITY, ..twist };
    sound.then_some(([Axis::Free(rest), Axis::Free(rest), Axis::Free(twist)], swing))
}

fn read_axes(reading: &Reading, node: &Node, kind: JointKind, name: &str) -> Option<[Axis; 3]> {
    let mut axes = if kind == JointKind::Constrained { [Axis::Locked; 3] } else { kind.free_axes() };
    let numbers: Vec<i64> = (1..).zip(kind.coordinates()).filter_map(|(number, there)| there.map(|_| number)).collect();
    let mut seen = [false; 3];
    let mut sound = true;
    for given in node.children.iter().filter(|child| child.name == "free") {
        if !kind.moves() {
            reading.problem(given.offset, format!("a {} joint takes no <free>", kind.name()));
            return None;
        }
        if is_given(given, "swing") {
            let message = format!("<free> of a {} joint has no attribute 'swing'", kind.name());
            reading.problem_with_help(
                reading.attribute_offset(given, "swing"),
                message,
                "lower and upper are its stops; swing is a ball joint's",
            );
            sound = false;
        }
        let number = match (reading.attribute_whole(given, "axis"), &numbers[..]) {
            (Some(number), _) if numbers.contains(&number) => number,
            (None, &[only]) => only,
            _ => {
                let which = match numbers[..] {
                    [only] => format!("{only}, or none"),
                    [first, second] => format!("{first} or {second}"),
                    _ => "1, 2 or 3".into(),
                };
                reading.problem(given.offset, format!("<free> of a {} joint has the axis {which}", kind.name()));
                return None;
            }
        };
        let index = number as usize - 1;
        if std::mem::replace(&mut seen[index], true) {
            reading.problem(given.offset, format!("joint '{name}' has <free> for axis {number} a second time"));
            sound = false;
        }
        match read_free(reading, given, kind.is_linear(index)) {
            Some(axis) => axes[index] = Axis::Free(axis),
            None => sound = false,
        }
    }
    sound.then_some(axes)
}

fn read_free(reading: &Reading, node: &Node, linear: bool) -> Option<FreeAxis> {
    let stop = |name, none: f64| {
        if is_given(node, name) { reading.attribute_real(node, name) } else { Some(none) }
    };
    let (lower, upper) = (stop("lower", f64::NEG_INFINITY)?, stop("upper", f64::INFINITY)?);
    for (name, stop) in [("lower", lower), ("upper", upper)] {
        if stop.is_finite() && !linear {
            reading.check_angle(reading.attribute_offset(node, name), &format!("attribute '{name}'"), stop);
        }
    }
    if lower > upper {
        reading.problem(
            reading.attribute_offset(node, "lower"),
            format!("the lower stop {lower} is above the upper one, {upper}"),
        );
        return None;
    }
    let initial_position = reading.attribute_real(node, "initialPosition")?;
    if !linear {
        reading.check_angle(
            reading.attribute_offset(node, "initialPosition"),
            "attribute 'initialPosition'",
            initial_position,
        );
    }
    if !(lower..=upper).contains(&initial_position) {
        let message = match initial_position {
            0.0 => format!("the stops {lower} to {upper} leave out 0, which is how the bodies are placed"),
            initial => format!("the stops {lower} to {upper} leave out {initial}, where the joint begins"),
        };
        reading.problem_with_help(
            node.offset,
            message,
            "give an initialPosition between them; a ball joint begins at 0",
        );
        return None;
    }
    Some(FreeAxis {
        lower,
        upper,
        damping: reading.attribute_real(node, "damping")?,
        friction: reading.attribute_real(node, "friction")?,
        stiffness: reading.attribute_real(node, "stiffness")?,
        spring_position: reading.attribute_real(node, "springPosition")?,
        armature: reading.attribute_real(node, "armature")?,
        max_effort: reading.attribute_real(node, "maxEffort")?,
        max_rate: reading.attribute_real(node, "maxRate")?,
        max_power: if is_given(node, "maxPower") { reading.attribute_real(node, "maxPower")? } else { f64::INFINITY },
        initial_position,
        initial_rate: if is_given(node, "initialRate") {
            Some(reading.attribute_real(node, "initialRate")?)
        } else {
            None
        },
    })
}
