//! Assemblies: bodies, joints and devices that are written once and placed any number of times.
//!
//! Placement works on the tree, before anything is read: `<place>` becomes a copy of the assembly's content, with its
//! parameters filled in, its names and ports changed, and its frame set. The readers of bodies, joints and devices see
//! plain elements.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use bevy_math::DVec3;

use super::{
    assembly_frame::Frame,
    body::optional_pose,
    node::Node,
    reading::{Placeholders, Reading},
    schema::{ASSEMBLIES, Element},
};
use crate::{
    limits::{MAX_ELEMENTS, MAX_EXPANDED, MAX_NESTED_ASSEMBLIES},
    source::SourceFile,
};

/// The parameter that names the body an assembly hangs on.
const ON_PARAMETER: &str = "on";

/// A robot with all its assemblies placed.
pub(super) struct Expanded {
    /// Only bodies, joints and devices.
    pub(super) members: Vec<Node>,
    /// The files that were included.
    pub(super) sources: Vec<SourceFile>,
}

type Values = BTreeMap<String, String>;

struct Definition {
    node: Node,
    /// Its parameters and their defaults.
    defaults: BTreeMap<String, Option<String>>,
    /// True if it uses `${on}` anywhere.
    needs_on: bool,
    /// Bytes of a copy of it.
    size: usize,
}

struct Library<'r, 'a> {
    reading: &'r Reading<'a>,
    /// Name of the robot, by which parameters name it.
    robot: &'r str,
    definitions: BTreeMap<String, Definition>,
    sources: BTreeMap<String, Rc<SourceFile>>,
}

/// Places all assemblies of a robot, and applies the parameters that name it as `robot`.
pub(super) fn place_assemblies(reading: &Reading, root: &Node, robot: &str) -> Expanded {
    let library = Library::of_robot(reading, root, robot);
    let (values, declared) = library.own_values(root);
    check_placeholders(reading, &root.children, &declared);
    let mut expansion = Expansion {
        reading,
        library: &library,
        open: Vec::new(),
        elements: 0,
        left: Cell::new(MAX_EXPANDED),
        has_ended: false,
    };
    let mut members = expansion.members(&root.children, &values, Frame::default());
    reading.session.parameters.apply_to_robot(robot, &mut members);
    for node in &mut members {
        // An unfilled placeholder has been reported, unless there were no problems so far.
        let placeholders = if reading.is_sound() { Placeholders::Unknown } else { Placeholders::Allowed };
        reading.check(node, Element::by_id(&node.name), placeholders);
    }
    Expanded { members, sources: library.sources.into_values().map(|file| (*file).clone()).collect() }
}

/// The names of the assemblies in a file of assemblies.
pub(super) fn assembly_names(reading: &Reading, root: &Node) -> Vec<String> {
    Library::of_robot(reading, root, "").definitions.into_keys().collect()
}

impl<'r, 'a> Library<'r, 'a> {
    fn of_robot(reading: &'r Reading<'a>, root: &Node, robot: &'r str) -> Self {
        let mut library = Self { reading, robot, definitions: BTreeMap::new(), sources: BTreeMap::new() };
        library.gather(reading.path, root);
        library
    }

    /// Takes up the assemblies below a root, and those of the files that it includes.
    fn gather(&mut self, path: &str, root: &Node) {
        for node in &root.children {
            match node.name.as_str() {
                "include" => self.include(path, node),
                "assembly" => self.define(node),
                _ => {}
            }
        }
    }

    fn define(&mut self, node: &Node) {
        let Some(name) = self.reading.attribute_text(node, "name") else { return };
        if let Some(first) = self.definitions.get(name) {
            let line = self.reading.line(first.node.offset);
            let message = format!("assembly '{name}' is defined a second time; the first is in {line}");
            return self.reading.problem(self.reading.attribute_offset(node, "name"), message);
        }
        let mut defaults = BTreeMap::new();
        for parameter in node.children.iter().filter(|child| child.name == "parameter") {
            let Some(name) = self.reading.attribute_text(parameter, "name") else { continue };
            let value = self.reading.attribute_text(parameter, "value").map(str::to_owned);
            if defaults.insert(name.to_owned(), value).is_some() {
                self.reading.problem(parameter.offset, format!("parameter '{name}' is declared a second time"));
            }
        }
        let mut declared: BTreeSet<&str> = defaults.keys().map(String::as_str).collect();
        declared.insert(ON_PARAMETER);
        check_placeholders(self.reading, &node.children, &declared);
        let needs_on = placeholders_below(node).any(|(_, used)| used == ON_PARAMETER);
        let definition = Definition { node: node.clone(), defaults, needs_on, size: size(node) };
        self.definitions.insert(name.to_owned(), definition);
    }

    fn include(&mut self, path: &str, node: &Node) {
        let Some(file) = self.reading.attribute_text(node, "file") else { return };
        let path = self.reading.files.beside(path, file, "robots");
        if self.sources.contains_key(&path) {
            return;
        }
        let text = match self.reading.read_file(&path) {
            Ok(text) => text,
            Err(problem) => return self.reading.problem(self.reading.attribute_offset(node, "file"), problem.message),
        };
        let parsed = self.reading.parse(&path, &text);
        let file = Rc::new(SourceFile::new(path.as_str(), text));
        let start = self.reading.source_map.include(file.clone());
        self.sources.insert(path.clone(), file);
        let mut roots = match parsed {
            Ok(roots) => roots,
            Err(problem) => return self.reading.push(problem),
        };
        roots.iter_mut().for_each(|root| root.shift(start));
        if roots.len() != 1 || roots[0].name != ASSEMBLIES {
            let message = format!("expected a single <{ASSEMBLIES}>, got <{}>", roots[0].name);
            return self.reading.problem(roots[0].offset, message);
        }
        self.reading.check(&mut roots[0], Element::by_id(ASSEMBLIES), Placeholders::Allowed);
        self.gather(&path, &roots[0]);
    }

    /// The robot's own parameters, which apply to all assemblies with a parameter of the name.
    fn own_values<'n>(&self, root: &'n Node) -> (Values, BTreeSet<&'n str>) {
        let (mut values, mut declared) = (Values::new(), BTreeSet::new());
        let known = || self.definitions.values().flat_map(|definition| definition.defaults.keys());
        let all: BTreeSet<&String> = known().collect();
        for node in root.children.iter().filter(|child| child.name == "parameter") {
            let (Some(name), Some(value)) =
                (self.reading.attribute_text(node, "name"), self.reading.attribute_text(node, "value"))
            else {
                let message = "<parameter> of a robot lacks the attribute 'value'";
                self.reading.problem(node.offset, message);
                continue;
            };
            if !all.contains(&name.to_owned()) {
                self.refuse_parameter(node, "no assembly has a", name, known());
            }
            values.insert(name.to_owned(), self.replaced_value(name, value));
            declared.insert(name);
        }
        (values, declared)
    }

    /// A parameter's value, or its replacement by a parameter of the run.
    fn replaced_value(&self, name: &str, value: &str) -> String {
        self.reading.session.parameters.assembly_value(self.robot, name, value)
    }

    fn refuse_parameter<'k>(&self, node: &Node, who: &str, name: &str, known: impl Iterator<Item = &'k String>) {
        let message = format!("{who} parameter '{name}'");
        let place = self.reading.attribute_offset(node, "name");
        match self.reading.nearest(name, known.map(String::as_str)) {
            Some(near) => self.reading.problem_with_help(place, message, format!("did you mean '{near}'?")),
            None => self.reading.problem(place, message),
        }
    }
}

struct Expansion<'l, 'r, 'a> {
    reading: &'r Reading<'a>,
    library: &'l Library<'r, 'a>,
    /// The assemblies that are being placed, outermost first.
    open: Vec<String>,
    elements: usize,
    /// Bytes that may still be generated.
    left: Cell<usize>,
    /// True after a limit was exceeded: then nothing more is placed.
    has_ended: bool,
}

impl Expansion<'_, '_, '_> {
    /// Bodies, joints and devices among the nodes, and those of the assemblies placed there.
    fn members(&mut self, nodes: &[Node], values: &Values, frame: Frame) -> Vec<Node> {
        let mut members = Vec::new();
        for node in nodes {
            if self.has_ended {
                break;
            }
            if !is_member(&node.name) {
                continue;
            }
            let mut copied = self.take_bytes(size(node));
            let mut node = node.clone();
            node.walk_mut(&mut |node| {
                node.context.frame = frame;
                self.elements += 1;
                for text in node.attributes.iter_mut().map(|given| &mut given.value).chain([&mut node.text]) {
                    copied &= fill_placeholders(text, values, &self.left);
                }
            });
            if self.elements > MAX_ELEMENTS {
                let message = format!("with all assemblies placed there are more than {MAX_ELEMENTS} elements");
                self.stop_with(node.offset, message);
            } else if !copied {
                self.stop_with(node.offset, too_large());
            }
            if node.name == "place" {
                self.reading.check(&mut node, Element::by_id("place"), Placeholders::Allowed);
                members.extend(self.place(&node, values).unwrap_or_default());
            } else {
                members.push(node);
            }
        }
        members
    }

    /// Counts bytes before they are generated; false if there are too many.
    fn take_bytes(&self, bytes: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(bytes));
        bytes <= left
    }

    fn stop_with(&mut self, offset: usize, message: String) {
        self.reading.problem(offset, message);
        self.has_ended = true;
    }

    /// Members of one `<place>`. `None` if something in it is invalid.
    fn place(&mut self, place: &Node, outer: &Values) -> Option<Vec<Node>> {
        let name = self.reading.attribute_text(place, "assembly")?;
        let where_named = self.reading.attribute_offset(place, "assembly");
        let Some(definition) = self.library.definitions.get(name) else {
            let message = format!("there is no assembly '{name}'");
            match self.reading.nearest(name, self.library.definitions.keys().map(String::as_str)) {
                Some(near) => self.reading.problem_with_help(where_named, message, format!("did you mean '{near}'?")),
                None => self.reading.problem(where_named, message),
            }
            return None;
        };
        if self.open.iter().any(|open| open == name) {
            self.reading.problem(where_named, format!("assembly '{name}' would be placed within itself"));
            return None;
        }
        if self.open.len() == MAX_NESTED_ASSEMBLIES {
            let message = format!("assemblies are placed in assemblies more than {MAX_NESTED_ASSEMBLIES} deep");
            self.stop_with(where_named, message);
            return None;
        }
        let around: usize = outer.iter().map(|(name, value)| ELEMENT_OVERHEAD + name.len() + value.len()).sum();
        if !self.take_bytes(definition.size + around) {
            self.stop_with(place.offset, too_large());
            return None;
        }
        let values = self.values(place, definition, outer)?;
        let mut copy = definition.node.clone();
        copy.shift(self.reading.source_map.copy(definition.node.offset, place.offset));
        let frame = place
            .context
            .frame
            .placed(&optional_pose(self.reading, place)?, mirror_signs(self.reading.attribute_text(place, "mirror")));
        self.open.push(name.to_owned());
        let mut members = self.members(&copy.children, &values, frame);
        self.open.pop();
        rename(&mut members, self.reading.attribute_text(place, "suffix").unwrap_or_default());
        shift_ports(&mut members, self.reading.attribute_whole(place, "portOffset")?);
        Some(members)
    }

    /// The values of an assembly's parameters: those of `<place>`, otherwise those of the same name around it,
    /// otherwise the defaults.
    fn values(&self, place: &Node, definition: &Definition, outer: &Values) -> Option<Values> {
        // Outer values are visible in inner assemblies, whether or not this one has such a parameter.
        let mut values = outer.clone();
        values.remove(ON_PARAMETER);
        let name = self.reading.attribute_text(&definition.node, "name").unwrap_or_default();
        for (parameter, default) in &definition.defaults {
            if let (false, Some(default)) = (values.contains_key(parameter), default) {
                values.insert(parameter.clone(), self.library.replaced_value(parameter, default));
            }
        }
        for given in place.children.iter().filter(|child| child.name == "parameter") {
            let parameter = self.reading.attribute_text(given, "name")?;
            if !definition.defaults.contains_key(parameter) {
                let who = format!("assembly '{name}' has no");
                self.library.refuse_parameter(given, &who, parameter, definition.defaults.keys());
                return None;
            }
            let value = self.reading.attribute_text(given, "value")?;
            // A value that is handed on from around the assembly was replaced there.
            let is_handed_on = outer.get(parameter).is_some_and(|around| around == value);
            let value = if is_handed_on { value.to_owned() } else { self.library.replaced_value(parameter, value) };
            values.insert(parameter.to_owned(), value);
        }
        if let Some(on) = self.reading.attribute_text(place, ON_PARAMETER) {
            values.insert(ON_PARAMETER.to_owned(), on.to_owned());
        }
        let missing = definition.defaults.keys().map(String::as_str).chain(definition.needs_on.then_some(ON_PARAMETER));
        let missing: Vec<&str> = missing.filter(|parameter| !values.contains_key(*parameter)).collect();
        if missing.is_empty() {
            return Some(values);
        }
        let message = format!("assembly '{name}' needs a value for {}", missing.join(", "));
        let help = "give <parameter name=\"..\" value=\"..\"/> in <place>; the body it hangs on is the attribute 'on'";
        self.reading.problem_with_help(place.offset, message, help);
        None
    }
}

fn mirror_signs(mirror: Option<&str>) -> DVec3 {
    match mirror {
        Some("x") => DVec3::new(-1.0, 1.0, 1.0),
        Some("y") => DVec3::new(1.0, -1.0, 1.0),
        Some("z") => DVec3::new(1.0, 1.0, -1.0),
        _ => DVec3::ONE,
    }
}

/// True if elements of this name are copied with an assembly: all permitted ones except its parameters.
fn is_member(name: &str) -> bool {
    let mut children = Element::by_id("assembly").children().iter();
    name != "parameter" && children.any(|child| Element::by_id(child.id).tag == name)
}

/// Appends the suffix to every name that is defined among the members, in definitions and uses. Other names are those
/// of bodies and joints around the assembly.
fn rename(members: &mut [Node], suffix: &str) {
    let name = |node: &Node| node.attributes.iter().find(|given| given.name == "name").map(|given| given.value.clone());
    let defined: BTreeSet<String> = members.iter().filter_map(name).collect();
    let add = |text: &mut String| {
        if defined.contains(text.trim()) {
            *text = format!("{}{suffix}", text.trim());
        }
    };
    for member in members {
        for attribute in &mut member.attributes {
            if matches!(attribute.name.as_str(), "name" | "body" | "joint" | "leader" | "follower" | "other") {
                add(&mut attribute.value);
            }
        }
        for child in &mut member.children {
            if matches!(child.name.as_str(), "parent" | "child") {
                add(&mut child.text);
            }
        }
    }
}

/// Adds an offset to the ports of devices; 0 still means any free port, and invalid ports are reported when they are
/// read.
fn shift_ports(members: &mut [Node], offset: i64) {
    let ports = members.iter_mut().flat_map(|member| &mut member.attributes).filter(|given| given.name == "port");
    for port in ports {
        match port.value.trim().parse::<i64>() {
            Ok(number) if number != 0 => port.value = number.saturating_add(offset).to_string(),
            _ => {}
        }
    }
}

/// Reports placeholders that are not closed, or whose parameter is not declared; the value of a declaration may have
/// none. Inner assemblies are checked separately.
fn check_placeholders(reading: &Reading, nodes: &[Node], declared: &BTreeSet<&str>) {
    let none = BTreeSet::new();
    for node in nodes.iter().filter(|node| node.name != "assembly") {
        let declared = if node.name == "parameter" { &none } else { declared };
        for (offset, text) in values_below(node) {
            if text.rfind("${").is_some_and(|start| !text[start..].contains('}')) {
                reading.problem_with_help(offset, "'${' is never closed", "write ${name}");
            }
        }
        for (offset, name) in placeholders_below(node) {
            if declared.contains(name) {
                continue;
            }
            let message = format!("there is no parameter '{name}' here");
            match reading.nearest(name, declared.iter().copied()) {
                Some(near) => reading.problem_with_help(offset, message, format!("did you mean '${{{near}}}'?")),
                None if node.name == "parameter" => {
                    reading.problem_with_help(offset, message, "the value of a declaration is written out");
                }
                None => reading.problem_with_help(offset, message, "declare it: <parameter name=\"..\"/>"),
            }
        }
    }
}

/// All values in a node, each with its place.
fn values_below(node: &Node) -> impl Iterator<Item = (usize, &str)> {
    let mut found = Vec::new();
    node.walk(&mut |node| {
        found.extend(node.attributes.iter().map(|attribute| (attribute.offset, attribute.value.as_str())));
        found.push((node.text_offset, node.text.as_str()));
    });
    found.into_iter()
}

/// The names in all placeholders in a node, with the position of their value.
fn placeholders_below(node: &Node) -> impl Iterator<Item = (usize, &str)> {
    values_below(node)
        .flat_map(|(offset, text)| placeholders(text).map(move |range| (offset, &text[range.start + 2..range.end - 1])))
}

/// Ranges of `${name}` in a text, which are not nested.
fn placeholders(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find("${")?;
        let end = start + text[start..].find('}')? + 1;
        from = end;
        Some(start..end)
    })
}

/// Replaces placeholders by values, and counts the generated bytes; false if the limit is exceeded. A placeholder
/// without a value stays; it has been reported by then.
fn fill_placeholders(text: &mut String, values: &Values, left: &Cell<usize>) -> bool {
    let mut filled = String::new();
    let mut done = 0;
    for range in placeholders(text) {
        let Some(value) = values.get(&text[range.start + 2..range.end - 1]) else { continue };
        let part = &text[done..range.start];
        let Some(less) = left.get().checked_sub(part.len() + value.len()) else { return false };
        left.set(less);
        filled.push_str(part);
        filled.push_str(value);
        done = range.end;
    }
    if done > 0 {
        filled.push_str(&text[done..]);
        *text = filled;
    }
    true
}

/// Bytes that an element or a parameter takes in addition to its texts.
const ELEMENT_OVERHEAD: usize = 64;

/// Bytes of a copy of a node.
fn size(node: &Node) -> usize {
    let mut bytes = 0;
    node.walk(&mut |node| {
        let attributes = node.attributes.iter().map(|given| ELEMENT_OVERHEAD + given.name.len() + given.value.len());
        bytes += ELEMENT_OVERHEAD + node.name.len() + node.text.len() + attributes.sum::<usize>();
    });
    bytes
}

fn too_large() -> String {
    format!("with all assemblies placed the robot is larger than {MAX_EXPANDED} bytes")
}
