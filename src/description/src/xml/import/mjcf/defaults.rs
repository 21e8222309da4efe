//! `<default>`: classes of attributes that elements inherit.

use super::super::attributes::attribute;
use crate::{
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// The name of the outermost class.
const MAIN_CLASS: &str = "main";
/// Alternative attributes for a rotation: an element with one of them inherits none.
const ROTATION_ATTRIBUTES: [&str; 5] = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];
/// Actuators, which share their defaults.
pub(super) const ACTUATOR_TAGS: [&str; 11] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
];

/// All classes.
#[derive(Debug)]
pub(super) struct Defaults {
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    name: String,
    parent: Option<usize>,
    elements: Vec<Node>,
}

impl Defaults {
    /// The classes in all `<default>` sections of a file.
    pub(super) fn read(reading: &Reading, root: &Node) -> Self {
        let main = Class { name: MAIN_CLASS.into(), parent: None, elements: Vec::new() };
        let mut defaults = Self { classes: vec![main] };
        for section in root.children.iter().filter(|child| child.name == "default") {
            if let Some(name) = attribute(section, "class") {
                defaults.classes[0].name = name.to_owned();
            }
            defaults.read_class(reading, 0, section);
        }
        defaults
    }

    fn read_class(&mut self, reading: &Reading, class: usize, section: &Node) {
        for node in &section.children {
            if node.name != "default" {
                self.classes[class].elements.push(node.clone());
                continue;
            }
            let Some(name) = attribute(node, "class").filter(|name| !name.is_empty()) else {
                reading.problem(node.offset, "a <default> in another one lacks the attribute 'class'");
                continue;
            };
            let place = match self.classes.iter().position(|known| known.name == name) {
                Some(_) => {
                    reading
                        .problem(reading.attribute_offset(node, "class"), format!("there is a class '{name}' already"));
                    continue;
                }
                None => self.classes.len(),
            };
            self.classes.push(Class { name: name.to_owned(), parent: Some(class), elements: Vec::new() });
            self.read_class(reading, place, node);
        }
    }

    /// An element with the attributes of its class, or otherwise of the class of the surrounding body.
    pub(super) fn resolve(&self, reading: &Reading, node: &Node, around: Option<&str>) -> Node {
        let mut full = node.clone();
        let wanted = attribute(node, "class").or(around);
        let place = match wanted {
            Some(name) => {
                self.classes.iter().position(|class| class.name == name || name == MAIN_CLASS && class.parent.is_none())
            }
            None => Some(0),
        };
        let Some(mut place) = place else {
            let name = wanted.unwrap_or_default();
            let message = format!("there is no default class '{}'", shorten(name));
            match reading.nearest(name, self.classes.iter().map(|class| class.name.as_str())) {
                Some(near) => reading.problem_with_help(node.offset, message, format!("did you mean '{near}'?")),
                None => reading.problem(node.offset, message),
            }
            return full;
        };
        loop {
            let class = &self.classes[place];
            for element in class.elements.iter().filter(|element| is_same(&element.name, &node.name)) {
                take_over(&mut full, element);
            }
            match class.parent {
                Some(parent) => place = parent,
                None => return full,
            }
        }
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one == other || ACTUATOR_TAGS.contains(&one) && ACTUATOR_TAGS.contains(&other)
}

fn take_over(node: &mut Node, element: &Node) {
    let is_turned = node.attributes.iter().any(|given| ROTATION_ATTRIBUTES.contains(&given.name.as_str()));
    for given in &element.attributes {
        let name = given.name.as_str();
        let has =
            node.attributes.iter().any(|own| own.name == name) || is_turned && ROTATION_ATTRIBUTES.contains(&name);
        if !has && name != "class" {
            node.attributes.push(given.clone());
        }
    }
}
