//! Bodies and joints of one file, and the names by which they are meant.

use std::collections::BTreeMap;

use super::{
    body, joint,
    reading::{Reading, nearest},
    tree::Node,
};
use crate::{
    model::{Body, Joint},
    signal::BodyId,
};

/// How many bodies a file may hold.
const MAX_BODIES: usize = 10_000;

/// Names of one kind of thing in one file, and where they are defined. A thing that could not be read has its name here all
/// the same, so that nobody is told twice.
pub(super) struct Scope {
    noun: &'static str,
    names: BTreeMap<String, (usize, Option<usize>)>,
}

impl Scope {
    /// An empty scope of, say, bodies.
    pub(super) fn new(noun: &'static str) -> Self {
        Self { noun, names: BTreeMap::new() }
    }

    /// Takes up the name of a node, defined at its line, with its index in the model's list if it could be read.
    pub(super) fn define(&mut self, reading: &Reading, node: &Node, index: Option<usize>) {
        let Some(name) = reading.text(node, "name") else { return };
        let line = reading.line(node.offset);
        if let Some((first, _)) = self.names.get(name) {
            let place = reading.place(node, "name");
            reading.problem(
                place,
                format!("{} '{name}' is defined a second time; the first is in line {first}", self.noun),
            );
            return;
        }
        self.names.insert(name.to_owned(), (line, index));
    }

    /// The index of a name; one that is not known is a problem at `offset`.
    pub(super) fn index(&self, reading: &Reading, offset: usize, name: &str) -> Option<usize> {
        if let Some((_, index)) = self.names.get(name) {
            return *index;
        }
        let message = format!("there is no {} '{name}'", self.noun);
        match nearest(name, self.names.keys().map(String::as_str)) {
            Some(near) => {
                let line = self.names[near].0;
                reading.problem_with_help(offset, message, format!("did you mean '{near}', line {line}?"));
            }
            None => reading.problem(offset, message),
        }
        None
    }

    /// The same for a body.
    pub(super) fn resolve(&self, reading: &Reading, offset: usize, name: &str) -> Option<BodyId> {
        self.index(reading, offset, name).map(BodyId::new)
    }
}

/// Bodies and joints of a file, ids counted within it.
pub(super) struct Parts {
    pub(super) bodies: Vec<Body>,
    pub(super) joints: Vec<Joint>,
    pub(super) body_names: Scope,
    pub(super) joint_names: Scope,
    /// False if something could not be read, so that the rest may be incomplete.
    pub(super) complete: bool,
}

/// Reads all bodies (elements of this name) and joints below a root.
pub(super) fn read(reading: &Reading, root: &Node, body_tag: &str) -> Parts {
    let mut parts = Parts {
        bodies: Vec::new(),
        joints: Vec::new(),
        body_names: Scope::new(if body_tag == "object" { "object" } else { "body" }),
        joint_names: Scope::new("joint"),
        complete: true,
    };
    for (count, node) in root.children.iter().filter(|child| child.name == body_tag).enumerate() {
        if count == MAX_BODIES {
            reading.problem(node.offset, format!("more than {MAX_BODIES} bodies"));
            parts.complete = false;
            break;
        }
        let body = body::read(reading, node);
        parts.body_names.define(reading, node, body.as_ref().map(|_| parts.bodies.len()));
        parts.complete &= body.is_some();
        parts.bodies.extend(body);
    }
    for node in root.children.iter().filter(|child| child.name == "joint") {
        let joint = joint::read(reading, node, &parts.body_names, &parts.bodies);
        parts.joint_names.define(reading, node, joint.as_ref().map(|_| parts.joints.len()));
        parts.complete &= joint.is_some();
        if let Some(joint) = joint {
            let pair = |joint: &Joint| (joint.parent.min(joint.child), joint.parent.max(joint.child));
            if let Some(first) = parts.joints.iter().find(|first| pair(first) == pair(&joint)) {
                let message = format!("joint '{}' connects the same bodies as '{}'", joint.name, first.name);
                reading.problem_with_help(node.offset, message, "use one constrained joint with several free axes");
            }
            parts.joints.push(joint);
        }
    }
    parts
}
