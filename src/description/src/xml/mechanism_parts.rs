//! Bodies, joints and couplings of one file.

use std::collections::HashMap;

use simpartner_model::{Body, BodyId, Coupling, Joint, Pose};

use super::{coupling, joint, name_table::NameTable, node::Node, reading::Reading, visual};
use crate::limits::MAX_BODIES;

/// Bodies, joints and couplings of a file, ids counted within it.
pub(super) struct MechanismParts {
    pub(super) bodies: Vec<Body>,
    pub(super) joints: Vec<Joint>,
    pub(super) couplings: Vec<Coupling>,
    pub(super) apart: Vec<[BodyId; 2]>,
    pub(super) body_names: NameTable,
    pub(super) joint_names: NameTable,
    /// False if something could not be read, so that the rest may be incomplete.
    pub(super) complete: bool,
}

/// Reads all bodies (elements of this name), joints and couplings among the nodes.
pub(super) fn read(reading: &Reading, nodes: &[Node], body_tag: &str) -> MechanismParts {
    let mut parts = MechanismParts {
        bodies: Vec::new(),
        joints: Vec::new(),
        couplings: Vec::new(),
        apart: Vec::new(),
        body_names: NameTable::new(if body_tag == "object" { "object" } else { "body" }),
        joint_names: NameTable::new("joint"),
        complete: true,
    };
    for (count, node) in nodes.iter().filter(|child| child.name == body_tag).enumerate() {
        if count == MAX_BODIES {
            reading.problem(node.offset, format!("more than {MAX_BODIES} bodies"));
            parts.complete = false;
            break;
        }
        let body = visual::read_body(reading, node);
        parts.body_names.define(reading, node, body.as_ref().map(|_| parts.bodies.len()));
        parts.complete &= body.is_some();
        parts.bodies.extend(body);
    }
    add_world(reading, nodes, &mut parts);
    // The first joint of each pair of bodies.
    let mut pairs = HashMap::new();
    for (count, node) in nodes.iter().filter(|child| child.name == "joint").enumerate() {
        if count == MAX_BODIES {
            reading.problem(node.offset, format!("more than {MAX_BODIES} joints"));
            parts.complete = false;
            break;
        }
        let joint = joint::read(reading, node, &parts.body_names, &parts.bodies);
        parts.joint_names.define(reading, node, joint.as_ref().map(|_| parts.joints.len()));
        parts.complete &= joint.is_some();
        if let Some(joint) = joint {
            let pair = (joint.parent.min(joint.child), joint.parent.max(joint.child));
            let first = *pairs.entry(pair).or_insert(parts.joints.len());
            if let Some(first) = parts.joints.get(first) {
                let message = format!("joint '{}' connects the same bodies as '{}'", joint.name, first.name);
                reading.problem_with_help(node.offset, message, "use one constrained joint with several free axes");
            }
            parts.joints.push(joint);
        }
    }
    for (count, node) in nodes.iter().filter(|child| child.name == "coupling").enumerate() {
        if count == MAX_BODIES {
            reading.problem(node.offset, format!("more than {MAX_BODIES} couplings"));
            parts.complete = false;
            break;
        }
        let coupling = coupling::read(reading, node, (&parts.joint_names, &parts.joints));
        parts.complete &= coupling.is_some();
        parts.couplings.extend(coupling);
    }
    read_excluded(reading, nodes, &mut parts);
    parts
}

/// The name of the world as a joint's parent or child (as in URDF, SDF and MJCF).
const WORLD_NAME: &str = "world";

/// A joint to the world is one to a fixed body without a shape, at the origin of the file's frame. A body with that
/// name in the file takes precedence.
fn add_world(reading: &Reading, nodes: &[Node], parts: &mut MechanismParts) {
    let ends = |joint: &Node| ["parent", "child"].map(|end| reading.child_text(joint, end) == Some(WORLD_NAME));
    let Some(node) = nodes.iter().find(|node| node.name == "joint" && ends(node).contains(&true)) else { return };
    if parts.body_names.define_built_in(WORLD_NAME, parts.bodies.len()) {
        let pose = node.context.frame.place(&Pose::IDENTITY);
        let source = reading.source(node);
        parts.bodies.push(Body { name: WORLD_NAME.into(), fixed: true, mass: 0.0, pose, source, ..Body::default() });
    }
}

/// Reads the pairs of bodies that never collide.
fn read_excluded(reading: &Reading, nodes: &[Node], parts: &mut MechanismParts) {
    for node in nodes.iter().filter(|child| child.name == "exclude") {
        let body = |name| {
            parts.body_names.resolve(reading, reading.attribute_offset(node, name), reading.attribute_text(node, name)?)
        };
        let pair = body("body").zip(body("other"));
        parts.complete &= pair.is_some();
        parts.apart.extend(pair.map(|(one, other)| [one, other]));
    }
}
