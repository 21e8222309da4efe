//! A robot file, and a robot's place in a world.

use std::collections::HashMap;

use super::{
    assembly::{self, Expanded},
    device, parts,
    reading::Reading,
    tree::Node,
};
use crate::{
    model::{Body, Device, Graph, Joint, Pose, Robot, SourceFile, World},
    signal::{BodyId, JointId, Port, RobotId},
};

/// A robot as its file describes it, in its own frame, ids counted within it.
pub(super) struct Draft {
    pub(super) model: String,
    self_collision: bool,
    bodies: Vec<Body>,
    joints: Vec<Joint>,
    devices: Vec<Device>,
    /// The files that it includes.
    pub(super) sources: Vec<SourceFile>,
}

/// Reads the root of a robot file. `None` if its name is missing; other problems leave things out.
pub(super) fn read(reading: &Reading, root: &Node) -> Option<Draft> {
    let Expanded { members, sources } = assembly::expand(reading, root);
    let mut parts = parts::read(reading, &members, "body");
    let devices = device::read_all(reading, &members, &mut parts);
    if parts.complete {
        check_connected(reading, root, &parts);
    }
    Some(Draft {
        model: reading.text(root, "name")?.to_owned(),
        self_collision: reading.text(root, "selfCollision")? == "true",
        bodies: parts.bodies,
        joints: parts.joints,
        devices,
        sources,
    })
}

/// A robot is complete if joints connect all its bodies (thesis 3.6).
fn check_connected(reading: &Reading, root: &Node, parts: &parts::Parts) {
    let trees = Graph::new(&parts.bodies, &parts.joints).spanning_forest().trees;
    match &trees[..] {
        [] => reading.problem(root.offset, "the robot has no body"),
        [_] => {}
        many => {
            let named = |body: BodyId| parts.bodies[body.index()].name.as_str();
            let groups = many.iter().map(|tree| tree.bodies().map(named).collect::<Vec<_>>().join(", "));
            let message = format!("the robot falls into {} parts that no joint connects", many.len());
            reading.problem_with_help(root.offset, message, groups.collect::<Vec<_>>().join(" | "));
        }
    }
}

/// Where a robot stands and how it is called.
pub(super) struct Placement {
    pub(super) name: String,
    pub(super) pose: Pose,
    pub(super) port_offset: i64,
    pub(super) combined_port: Port,
    pub(super) source: String,
}

/// Puts a robot into the world. Ports that another robot has are problems at `offset`; `taken` remembers whose each is.
pub(super) fn place(
    reading: &Reading,
    offset: usize,
    draft: &Draft,
    placement: Placement,
    world: &mut World,
    taken: &mut HashMap<u16, String>,
) {
    let robot = RobotId::new(world.robots.len());
    let (first_body, first_joint) = (world.bodies.len(), world.joints.len());
    let body_id = |body: BodyId| BodyId::new(first_body + body.index());
    let joint_id = |joint: JointId| JointId::new(first_joint + joint.index());
    let pose = placement.pose;
    world.bodies.extend(draft.bodies.iter().map(|body| Body {
        robot: Some(robot),
        pose: pose.then(&body.pose),
        linear_velocity: pose.direction(body.linear_velocity),
        angular_velocity: pose.direction(body.angular_velocity),
        ..body.clone()
    }));
    world.joints.extend(draft.joints.iter().map(|joint| Joint {
        robot: Some(robot),
        parent: body_id(joint.parent),
        child: body_id(joint.child),
        anchor: pose.point(joint.anchor),
        frame: (pose.rotation * joint.frame).normalize(),
        ..joint.clone()
    }));
    for device in &draft.devices {
        let Some(port) = shift(reading, offset, device, placement.port_offset) else { continue };
        let whose = format!("'{}' of '{}'", device.name, placement.name);
        claim(reading, offset, port, whose, "give the robots different values of portOffset", taken);
        let spec = device.spec.clone().moved(body_id, joint_id);
        world.devices.push(Device { robot, port, spec, ..device.clone() });
    }
    let Placement { name, combined_port, source, .. } = placement;
    let whose = format!("combinedPort of '{name}'");
    claim(reading, offset, combined_port, whose, "choose another port, or 0 for a free one", taken);
    let (model, self_collision) = (draft.model.clone(), draft.self_collision);
    world.robots.push(Robot { name, model, self_collision, combined_port, source });
}

/// A port that two want is a problem.
fn claim(
    reading: &Reading,
    offset: usize,
    port: Port,
    whose: String,
    help: &'static str,
    taken: &mut HashMap<u16, String>,
) {
    if port != Port::ANY
        && let Some(first) = taken.insert(port.number(), whose.clone())
    {
        let message = format!("{whose} has port {port}, which is that of {first} already");
        reading.problem_with_help(offset, message, help);
    }
}

/// The device's port in this placement.
fn shift(reading: &Reading, offset: usize, device: &Device, port_offset: i64) -> Option<Port> {
    if device.port == Port::ANY {
        return Some(Port::ANY);
    }
    let shifted = i64::from(device.port.number()) + port_offset;
    Port::new(shifted)
        .map_err(|error| reading.problem(offset, format!("'{}' with portOffset {port_offset}: {error}", device.name)))
        .ok()
}
