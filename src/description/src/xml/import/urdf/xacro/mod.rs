//! xacro, the macros of ROS: properties, arguments, macros, conditions and included files become the elements that
//! they mean. Expressions have numbers, texts and truth values; files that need Python's lists, dictionaries, methods
//! or YAML are refused, with their place.
//!
//! | module | reads |
//! |---|---|
//! | `expression` | `${...}` |
//! | `scope` | names of properties, arguments and macros; texts with `${...}` and `$(...)` |

mod expression;
mod scope;

use std::rc::Rc;

use self::scope::{EXPAND_HELP, Macro, Parameter, Scope};
use super::super::{attributes::attribute, search};
use crate::{
    source::SourceFile,
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// Begins the names of xacro's elements.
pub(super) const ELEMENT_PREFIX: &str = "xacro:";
/// Deepest nesting of macros and files, and most calls and files of a robot.
const MAX_DEPTH: usize = 64;
const MAX_CALLS: usize = 20_000;

/// Replaces all macros of a file. `None` if there are problems.
pub(super) fn expand_macros(reading: &Reading, root: Node) -> Option<Node> {
    let scope = Scope::new(reading);
    let mut xacro = Xacro { reading, scope, files: vec![reading.path.to_owned()], depth: 0, calls: 0 };
    let mut whole = Node { children: xacro.expand_all(&root.children), ..root };
    // Its name may be an argument that stands in it.
    xacro.set_attributes(&mut whole);
    reading.is_sound().then_some(whole)
}

struct Xacro<'r, 'a> {
    reading: &'r Reading<'a>,
    scope: Scope<'r, 'a>,
    /// Files that are being included, from the outside in.
    files: Vec<String>,
    depth: usize,
    calls: usize,
}

impl Xacro<'_, '_> {
    fn expand_all(&mut self, nodes: &[Node]) -> Vec<Node> {
        nodes.iter().flat_map(|node| self.expand_node(node)).collect()
    }

    fn expand_node(&mut self, node: &Node) -> Vec<Node> {
        if !self.reading.is_sound() {
            return Vec::new();
        }
        let Some(name) = node.name.strip_prefix(ELEMENT_PREFIX) else {
            if let Err(what) = self.reading.session.add_elements(1) {
                self.reading.problem(node.offset, what);
                return Vec::new();
            }
            let mut own = Node { children: Vec::new(), ..node.clone() };
            self.set_attributes(&mut own);
            if own.text.contains('$') {
                own.text = self.scope.text_of(&own.text, node.text_offset);
            }
            own.children = self.expand_all(&node.children);
            return vec![own];
        };
        match name {
            "property" => self.define_property(node),
            "arg" => self.define_argument(node),
            "macro" => self.define_macro(node),
            "include" => return self.expand_nested(node, |xacro| xacro.include_file(node)),
            "if" | "unless" => {
                if self.read_condition(node) == Some(name == "if") {
                    return self.expand_nested(node, |xacro| xacro.expand_all(&node.children));
                }
            }
            "insert_block" => {
                let name = attribute(node, "name").unwrap_or_default();
                match self.scope.find_block(name) {
                    Some(block) => return self.expand_nested(node, |xacro| xacro.expand_all(&block)),
                    None => self.reading.problem(node.offset, format!("there is no block '{}'", shorten(name))),
                }
            }
            "call" | "element" | "attribute" => {
                let message = format!("<{}> is not read here", node.name);
                self.reading.problem_with_help(node.offset, message, EXPAND_HELP);
            }
            name => return self.expand_nested(node, |xacro| xacro.call_macro(name, node)),
        }
        Vec::new()
    }

    /// Expands something that may lead to itself.
    fn expand_nested(&mut self, node: &Node, expand: impl FnOnce(&mut Self) -> Vec<Node>) -> Vec<Node> {
        (self.depth, self.calls) = (self.depth + 1, self.calls + 1);
        if self.depth > MAX_DEPTH || self.calls > MAX_CALLS {
            let message =
                format!("macros are nested more than {MAX_DEPTH} deep, or called more than {MAX_CALLS} times");
            self.reading.problem(node.offset, message);
            return Vec::new();
        }
        let expanded = expand(self);
        self.depth -= 1;
        expanded
    }

    fn set_attributes(&self, node: &mut Node) {
        node.attributes.retain(|given| !given.name.starts_with("xmlns"));
        for given in node.attributes.iter_mut().filter(|given| given.value.contains('$')) {
            given.value = self.scope.text_of(&given.value, given.offset);
        }
    }

    fn name_attribute<'n>(&self, node: &'n Node) -> Option<&'n str> {
        let name = attribute(node, "name").map(str::trim).filter(|name| !name.is_empty());
        if name.is_none() {
            self.reading.problem(node.offset, format!("<{}> lacks a name", node.name));
        }
        name
    }

    fn define_property(&mut self, node: &Node) {
        let Some(name) = self.name_attribute(node) else { return };
        let is_global = attribute(node, "scope").is_some_and(|scope| scope != "local");
        match (attribute(node, "value"), attribute(node, "default")) {
            (Some(value), _) => self.scope.set_property(name, value, node.offset, is_global),
            (None, Some(_)) if self.scope.has_property(name) => {}
            (None, Some(default)) => self.scope.set_property(name, default, node.offset, is_global),
            (None, None) => self.scope.set_block(name, node.children.clone()),
        }
    }

    fn define_argument(&mut self, node: &Node) {
        let (Some(name), Some(default)) = (self.name_attribute(node), attribute(node, "default")) else { return };
        let default = self.scope.text_of(default, node.offset);
        self.scope.set_argument(name, default);
    }

    fn define_macro(&mut self, node: &Node) {
        let Some(name) = self.name_attribute(node) else { return };
        let parameters = attribute(node, "params").unwrap_or_default();
        let parameters = scope::read_parameters(parameters);
        let body: Rc<[Node]> = node.children.clone().into();
        self.scope.set_macro(name.strip_prefix(ELEMENT_PREFIX).unwrap_or(name), Macro { parameters, body });
    }

    fn read_condition(&self, node: &Node) -> Option<bool> {
        let Some(value) = attribute(node, "value") else {
            self.reading.problem(node.offset, format!("<{}> lacks the attribute 'value'", node.name));
            return None;
        };
        let found = self.scope.value_of(value, node.offset)?;
        let condition = found.as_condition();
        if condition.is_none() {
            let message = format!("<{}>: expected true or false, got '{}'", node.name, shorten(&found.to_string()));
            self.reading.problem(node.offset, message);
        }
        condition
    }

    /// The content of a macro, with the attributes and elements of its call in place of its parameters.
    fn call_macro(&mut self, name: &str, node: &Node) -> Vec<Node> {
        let Some(Macro { parameters, body }) = self.scope.find_macro(name) else {
            let message = format!("there is no macro '{}'", shorten(name));
            let help = self.scope.nearest_macro(name).map(|near| format!("did you mean '{near}'?"));
            self.reading.problem_with_help(node.offset, message, help.unwrap_or_else(|| EXPAND_HELP.into()));
            return Vec::new();
        };
        let known = |given: &str| parameters.iter().any(|parameter| parameter.name == given);
        if let Some(other) =
            node.attributes.iter().find(|given| !known(&given.name) && !given.name.starts_with("xmlns"))
        {
            self.reading
                .problem(other.offset, format!("the macro '{name}' has no parameter '{}'", shorten(&other.name)));
            return Vec::new();
        }
        let (mut values, mut blocks, mut elements) = (Vec::new(), Vec::new(), node.children.iter());
        for Parameter { name: parameter, kind, default } in parameters.iter() {
            if kind.is_block() {
                let Some(element) = elements.next() else {
                    let message = format!("the macro '{name}' lacks the element for its block '{parameter}'");
                    self.reading.problem(node.offset, message);
                    return Vec::new();
                };
                let block = if kind.is_content() { element.children.clone() } else { vec![element.clone()] };
                // It means what it does at the call.
                blocks.push((parameter.clone(), self.expand_all(&block)));
                continue;
            }
            let given = node.attributes.iter().find(|given| given.name == *parameter);
            let value = match (given, default) {
                (Some(given), _) => self.scope.value_of(&given.value, given.offset),
                (None, Some(default)) => self.scope.default_of(parameter, default, node.offset),
                (None, None) => {
                    self.reading.problem(node.offset, format!("the macro '{name}' lacks the parameter '{parameter}'"));
                    None
                }
            };
            let Some(value) = value else { return Vec::new() };
            values.push((parameter.clone(), value));
        }
        self.scope.enter_macro(values, blocks);
        let expanded = self.expand_all(&body);
        self.scope.leave_macro();
        expanded
    }

    /// The content of another file.
    fn include_file(&mut self, node: &Node) -> Vec<Node> {
        let file = self.scope.text_of(attribute(node, "filename").unwrap_or_default(), node.offset);
        let from = self.files.last().map_or(self.reading.path, String::as_str).to_owned();
        let places = match file.starts_with("package://") {
            true => search::possible_places(self.reading, Some(&from), &file),
            false => vec![std::path::Path::new(&from).parent().unwrap_or(std::path::Path::new("")).join(&file)],
        };
        let mut places = places.into_iter().map(|place| place.to_string_lossy().into_owned());
        let Some(path) = places.find(|place| self.reading.files.has(place)) else {
            let help = "name the folder of its package by --models or ROS_PACKAGE_PATH";
            self.reading.problem_with_help(node.offset, format!("there is no file '{}'", shorten(&file)), help);
            return Vec::new();
        };
        if self.files.contains(&path) {
            self.reading.problem(node.offset, format!("'{}' includes itself", shorten(&file)));
            return Vec::new();
        }
        let text = match self.reading.read_file(&path) {
            Ok(text) => text,
            Err(problem) => {
                self.reading.problem(node.offset, problem.message);
                return Vec::new();
            }
        };
        let parsed = self.reading.parse(&path, &text);
        let source = Rc::new(SourceFile::new(path.clone(), text));
        let start = self.reading.source_map.include(Rc::clone(&source));
        let mut sources = self.reading.session.sources.borrow_mut();
        if !sources.iter().any(|known| known.path == path) {
            sources.push((*source).clone());
        }
        drop(sources);
        let Ok(mut roots) = parsed.map_err(|problem| self.reading.push(problem)) else { return Vec::new() };
        roots.iter_mut().for_each(|root| root.shift(start));
        self.files.push(path);
        let expanded = roots.iter().flat_map(|root| self.expand_all(&root.children)).collect();
        self.files.pop();
        expanded
    }
}
