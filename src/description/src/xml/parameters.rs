//! Parameters of a run, applied to the elements of its files before the schema checks them.
//!
//! A path leads from the world, or from a robot by its name in the world, through names and tags of elements to an
//! attribute or to an element with a value. Elements and attributes that the file leaves out are added. Robots are
//! changed with their assemblies placed and, if they come from another format, after their import.

use std::cell::{Cell, RefCell};

use simpartner_model::Soil;
use simpartner_wire::near::did_you_mean;

use super::{
    node::Node,
    schema::{Content, Element, Kind, Occurs, Presence, ROBOT, WORLD},
};
use crate::{
    parameter::{Parameter, ParameterValue, Parameters, PathStep},
    text::{
        diagnostic::Diagnostic,
        numbers::{read_numbers, read_real, shorten},
        tree::Attribute,
    },
};

const SOIL_TAG: &str = "soil";
/// Elements inside a `<robot>` of a world that belong to the placement and not to the robot.
const PLACEMENT_TAGS: [&str; 2] = ["pose", "initial"];
/// Largest number of names in a hint.
const MAX_LISTED: usize = 12;

/// The parameters of a reading, and their use so far.
#[derive(Debug, Default)]
pub(super) struct AppliedParameters {
    all: Vec<Applied>,
    /// True if a parameter may lead nowhere: then it is dropped.
    may_lead_nowhere: bool,
}

#[derive(Debug)]
struct Applied {
    parameter: Parameter,
    /// Number of values that it has replaced.
    replaced: Cell<usize>,
    /// Position in the path up to which something matched, with the error there.
    failure: RefCell<Option<(usize, String)>>,
}

impl AppliedParameters {
    pub(super) fn of_parameters(given: Parameters) -> Self {
        let unused = |parameter: &Parameter| Applied {
            parameter: parameter.clone(),
            replaced: Cell::new(0),
            failure: RefCell::default(),
        };
        Self { all: given.iter().map(unused).collect(), may_lead_nowhere: false }
    }

    /// The same for a world from which something was removed: parameters that lead nowhere are dropped.
    pub(super) fn of_remaining(given: Parameters) -> Self {
        Self { may_lead_nowhere: true, ..Self::of_parameters(given) }
    }

    /// The parameters that have replaced a value.
    pub(super) fn effective_parameters(&self) -> Parameters {
        let used = self.all.iter().filter(|applied| applied.replaced.get() > 0);
        used.map(|applied| applied.parameter.clone()).collect()
    }

    /// True if a parameter begins with this robot.
    pub(super) fn names_robot(&self, robot: &str) -> bool {
        self.all.iter().any(|applied| applied.parameter.path.path_steps()[0].matches_name(robot))
    }

    /// Applies the parameters of a world to its root element. Robots follow when they are read.
    pub(super) fn apply_to_world(&self, root: &mut Node) {
        for applied in &self.all {
            let steps = applied.parameter.path.path_steps();
            add_named_soil(root, steps);
            let is_placement = |step: &PathStep| PLACEMENT_TAGS.contains(&step.pattern.as_str());
            if let [robot, further @ ..] = steps
                && further.first().is_some_and(is_placement)
            {
                for node in root.children.iter_mut().filter(|node| node.name == ROBOT && has_name(node, robot)) {
                    applied.follow_path(node, Element::by_id("robotPlacement"), further, 1);
                }
            }
            // A robot's name alone leads to its own elements, which follow when it is read.
            let begins_here = |node: &Node| steps[0].matches_name(&node.name) || has_name(node, &steps[0]);
            let (robots, others): (Vec<&Node>, Vec<&Node>) = root.children.iter().partition(|node| node.name == ROBOT);
            let is_robot = robots.into_iter().any(|node| has_name(node, &steps[0]));
            if !is_robot || others.into_iter().any(begins_here) {
                applied.follow_path(root, Element::by_id(WORLD), steps, 0);
            }
        }
    }

    /// Applies the parameters of a robot to its members.
    pub(super) fn apply_to_robot(&self, robot: &str, members: &mut Vec<Node>) {
        let named = self.all.iter().filter(|applied| applied.parameter.path.path_steps()[0].matches_name(robot));
        for applied in named {
            let further = &applied.parameter.path.path_steps()[1..];
            if further.is_empty() {
                let what = format!("'{robot}' is a robot: name one of its values, as in {robot}.BODY.mass");
                applied.note_failure(1, what);
                continue;
            }
            let mut root = Node { name: ROBOT.into(), children: std::mem::take(members), ..Node::default() };
            applied.follow_path(&mut root, Element::by_id(ROBOT), further, 1);
            *members = root.children;
        }
    }

    /// The value of an assembly's parameter in a robot: that of the files, or its replacement by a path of the robot's
    /// name and the parameter's.
    pub(super) fn assembly_value(&self, robot: &str, name: &str, written: &str) -> String {
        let mut value = written.to_owned();
        for applied in &self.all {
            if let [first, second] = applied.parameter.path.path_steps()
                && first.matches_name(robot)
                && second.matches_name(name)
            {
                value = applied.new_value(Kind::Text, Some(&value), 2).unwrap_or(value);
            }
        }
        value
    }

    /// Problems of the parameters that replaced nothing, or whose value was refused.
    pub(super) fn take_problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for applied in &self.all {
            let failure = applied.failure.take();
            let is_problem =
                |depth: usize| depth == REFUSED_DEPTH || (applied.replaced.get() == 0 && !self.may_lead_nowhere);
            if let Some((_, what)) = failure.filter(|(depth, _)| is_problem(*depth)) {
                problems.push(Diagnostic::outside_files(&format!("parameter {}", applied.parameter), what));
            }
        }
        problems
    }
}

/// Depth of an error in the value: it is reported even if other values were replaced.
const REFUSED_DEPTH: usize = usize::MAX;

impl Applied {
    /// Notes an error at a position of the path, unless something matched further on.
    fn note_failure(&self, depth: usize, what: String) {
        let mut failure = self.failure.borrow_mut();
        if failure.as_ref().is_none_or(|(deepest, _)| *deepest < depth) {
            *failure = Some((depth, what));
        }
    }

    /// Follows the path below an element of this kind, and replaces the values at its end.
    fn follow_path(&self, node: &mut Node, element: &'static Element, steps: &[PathStep], depth: usize) {
        let [step, further @ ..] = steps else { return self.replace_content(node, element, depth) };
        let child_of = |child: &Node| element_of(element, &child.name);
        let by_name: Vec<usize> =
            places_where(&node.children, |child| has_name(child, step) && child_of(child).is_some());
        let by_tag: Vec<usize> =
            places_where(&node.children, |child| step.matches_name(&child.name) && child_of(child).is_some());
        let (found, further, depth_of_rest) = if !by_name.is_empty() {
            (by_name, further, depth + 1)
        } else {
            narrowed_by_name(&node.children, by_tag, further, depth + 1)
        };
        let found = match step.index {
            Some(index) => found.into_iter().skip(index - 1).take(1).collect(),
            None => found,
        };
        for &place in &found {
            let child = &mut node.children[place];
            if let Some(element) = element_of(element, &child.name) {
                self.follow_path(child, element, further, depth_of_rest);
            }
        }
        if !found.is_empty() {
            return;
        }
        if further.is_empty()
            && let Some(attribute) = element.attribute(&step.pattern)
        {
            return self.replace_attribute(node, attribute.name, (attribute.kind, attribute.presence), depth + 1);
        }
        match element_of(element, &step.pattern).filter(|_| step.index.is_none_or(|index| index == 1)) {
            Some(missing) if occurs_once(element, missing) => {
                let mut child =
                    Node { name: missing.tag.into(), offset: node.offset, text_offset: node.offset, ..Node::default() };
                let before = self.replaced.get();
                self.follow_path(&mut child, missing, further, depth + 1);
                if self.replaced.get() > before {
                    node.children.push(child);
                }
            }
            _ => self.note_failure(depth, unknown_step(node, element, step)),
        }
    }

    /// Replaces the value that an element has as its text, or else its attribute `value`.
    fn replace_content(&self, node: &mut Node, element: &'static Element, depth: usize) {
        match element.content {
            Content::Value(kind, _) => {
                if let Some(value) = self.new_value(kind, Some(node.text.trim()), depth) {
                    (node.text, node.has_text) = (value, true);
                }
            }
            Content::Numbers(_) => match &self.parameter.value {
                ParameterValue::Text(text) if read_numbers(text, usize::MAX).is_ok() => {
                    (node.text, node.has_text) = (text.clone(), true);
                    self.replaced.set(self.replaced.get() + 1);
                }
                other => {
                    self.note_failure(REFUSED_DEPTH, format!("expected numbers for <{}>, got '{other}'", element.tag))
                }
            },
            Content::Empty | Content::Children(_) => {
                let names: Vec<&str> = element.attributes.iter().map(|attribute| attribute.name).collect();
                let names = names.iter().filter(|name| **name != "name").take(MAX_LISTED).copied().collect::<Vec<_>>();
                let what = format!("<{}> has no value of its own; it has {}", element.tag, names.join(", "));
                self.note_failure(depth, what);
            }
        }
    }

    fn replace_attribute(&self, node: &mut Node, name: &'static str, (kind, presence): (Kind, Presence), depth: usize) {
        // A name is how paths find an element, and a text may be the path of a file.
        if kind == Kind::Text || name == "name" {
            return self
                .note_failure(depth, format!("'{name}' is a name or a file; parameters replace numbers and words"));
        }
        let written = node.attributes.iter().position(|given| given.name == name);
        let current = match (written, presence) {
            (Some(place), _) => Some(node.attributes[place].value.as_str()),
            (None, Presence::Default(value)) => Some(value),
            (None, Presence::Required | Presence::Optional) => None,
        };
        let Some(value) = self.new_value(kind, current, depth) else { return };
        match written {
            Some(place) => node.attributes[place].value = value,
            None => node.attributes.push(Attribute { name: name.into(), value, offset: node.offset }),
        }
    }

    /// The new value of a kind in place of the current one, counted as replaced; `None` if it is refused.
    fn new_value(&self, kind: Kind, current: Option<&str>, depth: usize) -> Option<String> {
        let value = match &self.parameter.value {
            ParameterValue::Text(text) => text.clone(),
            ParameterValue::Factor(factor) => match current.map(str::trim).and_then(read_real) {
                Some(number) => (number * factor).to_string(),
                None => {
                    self.note_failure(
                        depth,
                        "the file has no number there that a factor could multiply; give the value".into(),
                    );
                    return None;
                }
            },
        };
        if !kind.accepts(&value) {
            self.note_failure(REFUSED_DEPTH, format!("expected {}, got '{}'", kind.expectation(), shorten(&value)));
            return None;
        }
        self.replaced.set(self.replaced.get() + 1);
        Some(value)
    }
}

/// Gives a world an element for the built-in soil that a path names, so that its values can be replaced. A soil of the
/// world takes precedence over a built-in one of the same name.
fn add_named_soil(root: &mut Node, steps: &[PathStep]) {
    let [tag, name, ..] = steps else { return };
    let is_there = |node: &Node| node.name == SOIL_TAG && has_name(node, name);
    if tag.pattern != SOIL_TAG || Soil::named(&name.pattern).is_none() || root.children.iter().any(is_there) {
        return;
    }
    let attribute =
        |attribute: &str| Attribute { name: attribute.into(), value: name.pattern.clone(), offset: root.offset };
    let attributes = vec![attribute("name"), attribute("like")];
    root.children.push(Node { name: SOIL_TAG.into(), offset: root.offset, attributes, ..Node::default() });
}

fn has_name(node: &Node, step: &PathStep) -> bool {
    name_of(node).is_some_and(|name| step.matches_name(name))
}

fn name_of(node: &Node) -> Option<&str> {
    node.attributes.iter().find(|given| given.name == "name").map(|given| given.value.trim())
}

fn places_where(nodes: &[Node], is_meant: impl Fn(&Node) -> bool) -> Vec<usize> {
    (0..nodes.len()).filter(|&place| is_meant(&nodes[place])).collect()
}

/// The elements with a tag whose name is the next step; all elements with the tag if the next step is not a name.
fn narrowed_by_name<'s>(
    nodes: &[Node],
    by_tag: Vec<usize>,
    further: &'s [PathStep],
    depth: usize,
) -> (Vec<usize>, &'s [PathStep], usize) {
    let Some((name, rest)) = further.split_first() else { return (by_tag, further, depth) };
    let named: Vec<usize> = by_tag.iter().copied().filter(|&place| has_name(&nodes[place], name)).collect();
    if named.is_empty() { (by_tag, further, depth) } else { (named, rest, depth + 1) }
}

/// The schema's element of a tag inside another element. Robots in a world are no such elements, because a path reaches
/// their parts by the robot's name alone, with the assemblies placed.
fn element_of(parent: &'static Element, tag: &str) -> Option<&'static Element> {
    if parent.id == WORLD && tag == ROBOT {
        return None;
    }
    parent.children().iter().map(|child| Element::by_id(child.id)).find(|element| element.tag == tag)
}

/// True if an element may stand in its parent once only, so that a missing one can be added.
fn occurs_once(parent: &'static Element, element: &'static Element) -> bool {
    parent.children().iter().any(|child| child.id == element.id && child.occurs != Occurs::AnyTimes)
}

/// Message for a step of a path that nothing matches.
fn unknown_step(node: &Node, element: &'static Element, step: &PathStep) -> String {
    let names = node.children.iter().filter_map(name_of);
    let tags = element.children().iter().map(|child| Element::by_id(child.id).tag);
    let attributes = element.attributes.iter().map(|attribute| attribute.name);
    let known: Vec<&str> = names.chain(attributes).chain(tags).collect();
    let place = match name_of(node) {
        Some(name) => format!("<{}> '{name}'", element.tag),
        None => format!("<{}>", element.tag),
    };
    let near = if step.is_literal() { did_you_mean(&step.pattern, known.iter().copied()) } else { String::new() };
    if !near.is_empty() {
        return format!("{place} has no '{}'{near}", step.pattern);
    }
    let mut listed: Vec<&str> = known.into_iter().filter(|name| *name != "name").collect();
    let more = listed.len().saturating_sub(MAX_LISTED);
    listed.truncate(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{place} has no '{}'; it has {}{more}", step.pattern, listed.join(", "))
}
