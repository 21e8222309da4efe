//! A file during reading: the check of its tree by the schema, the lookup of values, and its problems.

use std::{
    cell::Cell,
    f64::consts::TAU,
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
};

use simpartner_wire::near;

use super::{
    files::Files,
    node::Node,
    schema::{Content, Element, Kind, Occurs, Presence},
    session::Session,
    source_map::{SourceMap, SourcePlace},
    synonyms::synonym,
};
use crate::{
    dem::{Dem, DemProblem},
    limits::{MAX_FILE, MAX_GRID_SIDE, MAX_HEIGHTS_FILE, MAX_NAME, MAX_VALUE},
    mesh::Mesh,
    source::{SourceFile, Warning},
    text::{
        diagnostic::{Diagnostic, Diagnostics},
        numbers::{read_numbers, read_real, shorten},
        tree::{self, child},
    },
};

/// A file and its problems. The lookup of a missing or invalid value gives `None`. Its problem was recorded by the
/// schema check, so readers just omit the incomplete element.
pub(super) struct Reading<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    /// The texts to which offsets refer: the file, then the placed assemblies.
    pub(super) source_map: SourceMap<'a>,
    /// The source of the files that it names.
    pub(super) files: Files<'a>,
    pub(super) session: &'a Session,
    /// True if an importer has generated the tree. Its paths are then relative to the main file's folder, whichever
    /// file contains them.
    pub(super) is_imported: Cell<bool>,
}

/// Permission for `${name}` in place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholders {
    /// Permitted: the value is checked after it is filled in, and assemblies report placeholders without a value.
    Allowed,
    /// Nothing would fill them.
    Unknown,
}

impl<'a> Reading<'a> {
    pub(super) fn new(path: &'a str, text: &'a str, files: Files<'a>, session: &'a Session) -> Self {
        Self { path, text, source_map: SourceMap::new(path, text), files, session, is_imported: Cell::new(false) }
    }

    /// Another file whose problems go into the same list.
    pub(super) fn in_file<'b>(&'b self, path: &'b str, text: &'b str) -> Reading<'b> {
        Reading::new(path, text, self.files, self.session)
    }

    /// The mesh of a file. The error has the file's path, and the line if there is one.
    pub(super) fn mesh(&self, path: &str) -> Result<Rc<Mesh>, String> {
        Ok(self.session.meshes.get(self.files, path)?.0)
    }

    /// The heights of a data file that another program's model names at an offset, by one of the readers. The error has
    /// the file's path. Those programs have no holes: missing samples have the lowest height.
    pub(super) fn heights(
        &self,
        offset: usize,
        path: &str,
        read: fn(&str, &[u8]) -> Result<Dem, DemProblem>,
    ) -> Result<Dem, String> {
        let bytes = self.files.read_bytes(path, MAX_HEIGHTS_FILE).map_err(|problem| problem.message)?;
        let mut dem = read(path, &bytes).map_err(|problem| format!("{path}: {}", problem.what))?;
        let (x, z) = (dem.points_x, dem.points_z);
        if x.max(z) > MAX_GRID_SIDE {
            return Err(format!(
                "{path}: a terrain has at most {MAX_GRID_SIDE} heights along a side, this one {x} x {z}"
            ));
        }
        self.session.add_source(SourceFile::of_bytes(path, bytes))?;
        let lowest = dem.range().map_or(0.0, |(lowest, _)| lowest);
        let (filled, of) = (dem.fill(lowest), dem.heights.len());
        if filled > 0 {
            let what = format!("{path}: {filled} of {of} samples are without data");
            self.warn(offset, what, "they are as low as the lowest".into());
        }
        Ok(dem)
    }

    /// Notes a problem.
    pub(super) fn problem(&self, offset: usize, message: impl Into<String>) {
        self.add_problem(offset, message.into(), None);
    }

    /// Notes a problem with a way to put it right.
    pub(super) fn problem_with_help(&self, offset: usize, message: impl Into<String>, help: impl Into<String>) {
        self.add_problem(offset, message.into(), Some(help.into()));
    }

    /// An assembly's errors are reported once, however often it is placed; beyond [`Diagnostics::SHOWN`] problems are
    /// only counted.
    fn add_problem(&self, offset: usize, message: String, help: Option<String>) {
        if !self.is_new(offset, &message) {
            return;
        }
        let mut problems = self.session.problems.borrow_mut();
        if problems.is_full() {
            problems.more += 1;
            return;
        }
        let problem = self.source_map.diagnostic(offset, message);
        problems.push(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }

    /// True for the first problem with this message at this position.
    fn is_new(&self, offset: usize, message: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        self.source_map.in_file(offset, |path, offset| (path, offset, message).hash(&mut hasher));
        self.session.is_new(hasher.finish())
    }

    pub(super) fn push(&self, problem: Diagnostic) {
        self.session.problems.borrow_mut().push(problem);
    }

    /// Reads another XML file of the same world.
    pub(super) fn read_file(&self, path: &str) -> Result<String, Diagnostic> {
        let text = self.files.read(path, MAX_FILE)?;
        self.session.add_file(text.len()).map_err(|what| Diagnostic::at(path, "", 0, what))?;
        Ok(text)
    }

    /// Takes the text of this or another XML file of the same world apart.
    pub(super) fn parse(&self, path: &str, text: &str) -> Result<Vec<Node>, Diagnostic> {
        let parsed = tree::parse(path, text)?;
        self.session.add_elements(parsed.elements).map_err(|what| Diagnostic::at(path, text, 0, what))?;
        Ok(parsed.roots)
    }

    /// The most similar known name, if one is similar and the limit of problems is not reached.
    pub(super) fn nearest<'k>(&self, name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        if self.session.problems.borrow().is_full() || name.len() > MAX_NAME {
            return None;
        }
        let length = name.chars().count();
        let may_compare =
            |known: &str| near::is_as_long(name, known) && self.session.may_compare(length, known.chars().count());
        near::nearest(name, known.filter(|known| may_compare(known)))
    }

    /// True if there are no problems so far.
    pub(super) fn is_sound(&self) -> bool {
        self.session.problems.borrow().is_empty()
    }

    /// The file from whose folder the paths of an element are seen.
    pub(super) fn base_of_paths(&self, node: &Node) -> String {
        if self.is_imported.get() { self.path.to_owned() } else { self.source_map.place(node.offset).path }
    }

    /// `path:line:column` of a node.
    pub(super) fn source(&self, node: &Node) -> String {
        self.source_map.place(node.offset).to_string()
    }

    /// `line n`, with its path for another file.
    pub(super) fn line(&self, offset: usize) -> String {
        match self.source_map.place(offset) {
            SourcePlace { path, line, .. } if path == self.path => format!("line {line}"),
            elsewhere => elsewhere.to_string(),
        }
    }

    /// Checks a node and its descendants by the schema.
    pub(super) fn check(&self, node: &mut Node, element: &'static Element, placeholders: Placeholders) {
        node.context.element = Some(element);
        self.check_attributes(node, element, placeholders);
        self.check_content(node, element, placeholders);
        let allowed = element.children();
        let mut counts = vec![0usize; allowed.len()];
        for index in 0..node.children.len() {
            let child = &mut node.children[index];
            let Some(place) = allowed.iter().position(|candidate| Element::by_id(candidate.id).tag == child.name)
            else {
                let tags: Vec<&str> = allowed.iter().map(|child| Element::by_id(child.id).tag).collect();
                self.unknown_name(
                    child.offset,
                    format!("<{}> does not belong into <{}>", child.name, element.tag),
                    &child.name,
                    &tags,
                );
                continue;
            };
            counts[place] += 1;
            if counts[place] == 2 && allowed[place].occurs != Occurs::AnyTimes {
                self.problem(child.offset, format!("<{}> stands in <{}> a second time", child.name, element.tag));
            }
            self.check(&mut node.children[index], Element::by_id(allowed[place].id), placeholders);
        }
        for (child, count) in allowed.iter().zip(counts) {
            if child.occurs == Occurs::Once && count == 0 {
                self.problem(node.offset, format!("<{}> lacks <{}>", element.tag, Element::by_id(child.id).tag));
            }
        }
    }

    fn check_attributes(&self, node: &Node, element: &'static Element, placeholders: Placeholders) {
        for attribute in &node.attributes {
            match element.attribute(&attribute.name) {
                None => {
                    let names: Vec<&str> = element.attributes.iter().map(|attribute| attribute.name).collect();
                    let message = format!("<{}> has no attribute '{}'", element.tag, attribute.name);
                    self.unknown_name(attribute.offset, message, &attribute.name, &names);
                }
                Some(_) if placeholders == Placeholders::Allowed && attribute.value.contains("${") => {}
                Some(known) => {
                    let what = format!("attribute '{}'", known.name);
                    self.check_value(attribute.offset, &what, &attribute.value, (known.kind, known.unit));
                }
            }
        }
        for attribute in element.attributes.iter().filter(|attribute| attribute.presence == Presence::Required) {
            if !node.attributes.iter().any(|given| given.name == attribute.name) {
                self.problem(node.offset, format!("<{}> lacks the attribute '{}'", element.tag, attribute.name));
            }
        }
    }

    fn check_content(&self, node: &Node, element: &'static Element, placeholders: Placeholders) {
        match element.content {
            Content::Value(..) if placeholders == Placeholders::Allowed && node.text.contains("${") => {}
            Content::Value(kind, _) if node.text.trim().is_empty() => {
                if kind.when_empty().is_none() {
                    self.problem(node.offset, format!("<{}> is empty: expected {}", element.tag, kind.expectation()));
                }
            }
            Content::Value(kind, unit) => {
                self.check_value(node.text_offset, &format!("<{}>", element.tag), &node.text, (kind, unit));
            }
            Content::Numbers(_) => {}
            Content::Empty | Content::Children(_) => {
                if !node.text.trim().is_empty() {
                    self.problem(node.text_offset, format!("<{}> holds no text", element.tag));
                }
            }
        }
    }

    fn check_value(&self, offset: usize, what: &str, value: &str, (kind, unit): (Kind, &str)) {
        let value = value.trim();
        let angle = read_real(value).filter(|_| unit == "rad");
        if kind.accepts(value) {
            if let Some(angle) = angle {
                self.check_angle(offset, what, angle);
            }
            return;
        }
        if value.len() > MAX_VALUE && ![Kind::Name, Kind::ObjectName].contains(&kind) {
            let message = format!("{what} has {} bytes, at most {MAX_VALUE} are read", value.len());
            return self.problem(offset, message);
        }
        let message = format!("{what}: expected {}, got '{}'", kind.expectation(), shorten(value));
        let word = match kind {
            Kind::Word(words) => self.likely_name(value, words),
            _ => None,
        };
        match (angle.filter(|angle| kind.accepts(&radians(*angle))), word) {
            (Some(degrees), _) => self.problem_with_help(offset, message, in_radians(degrees)),
            (None, Some(word)) => self.problem_with_help(offset, message, format!("did you mean '{word}'?")),
            (None, None) => self.problem(offset, message),
        }
    }

    /// The known name that is probably meant: by the synonyms of other formats, or by similarity.
    fn likely_name<'k>(&self, name: &str, known: &[&'k str]) -> Option<&'k str> {
        synonym(name, known).or_else(|| self.nearest(name, known.iter().copied()))
    }

    /// Warns of an angle in radians that was probably meant in degrees.
    pub(super) fn check_angle(&self, offset: usize, what: &str, angle: f64) {
        if angle.abs() >= DEGREES_FROM {
            self.warn(offset, format!("{what}: {angle} rad are {:.1} turns", angle / TAU), in_radians(angle));
        }
    }

    /// Adds a warning: the file is valid, but this is probably a mistake.
    pub(super) fn warn(&self, offset: usize, what: String, help: String) {
        let mut warnings = self.session.warnings.borrow_mut();
        if warnings.len() < Diagnostics::SHOWN && self.is_new(offset, &what) {
            let place = self.source_map.place(offset).to_string();
            warnings.push(Warning { place, what, help });
        }
    }

    /// Adds a warning once, however many places it has.
    pub(super) fn warn_once(&self, offset: usize, what: String, help: String) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        if self.session.is_new(hasher.finish()) {
            self.warn(offset, what, help);
        }
    }

    fn unknown_name(&self, offset: usize, message: String, name: &str, known: &[&str]) {
        match self.likely_name(name, known) {
            Some(near) => self.problem_with_help(offset, message, format!("did you mean '{near}'?")),
            None if known.is_empty() => self.problem(offset, message),
            None => self.problem_with_help(offset, message, format!("it takes {}", known.join(", "))),
        }
    }

    /// An attribute as given, or its default; `None` if it is invalid or missing.
    pub(super) fn attribute_text<'n>(&self, node: &'n Node, name: &str) -> Option<&'n str> {
        let attribute = node.context.element?.attribute(name)?;
        let value = match node.attributes.iter().find(|given| given.name == name) {
            Some(given) => given.value.trim(),
            None => match attribute.presence {
                Presence::Default(value) => value,
                Presence::Required | Presence::Optional => return None,
            },
        };
        attribute.kind.accepts(value).then_some(value)
    }

    pub(super) fn attribute_real(&self, node: &Node, name: &str) -> Option<f64> {
        self.attribute_text(node, name).and_then(read_real)
    }

    pub(super) fn attribute_whole(&self, node: &Node, name: &str) -> Option<i64> {
        self.attribute_text(node, name)?.parse().ok()
    }

    /// The value in a child element.
    pub(super) fn child_text<'n>(&self, node: &'n Node, tag: &str) -> Option<&'n str> {
        let child = child(node, tag)?;
        match child.context.element?.content {
            Content::Value(kind, _) => match child.text.trim() {
                "" => kind.when_empty(),
                value => Some(value).filter(|value| kind.accepts(value)),
            },
            Content::Empty | Content::Numbers(_) | Content::Children(_) => None,
        }
    }

    pub(super) fn child_real(&self, node: &Node, tag: &str) -> Option<f64> {
        self.child_text(node, tag).and_then(read_real)
    }

    /// Position of an attribute, or of the element if the attribute is absent.
    pub(super) fn attribute_offset(&self, node: &Node, name: &str) -> usize {
        node.attributes.iter().find(|given| given.name == name).map_or(node.offset, |given| given.offset)
    }

    /// The numbers in an element's text, each with its offset. A part that is not a number is a problem.
    pub(super) fn numbers(&self, node: &Node) -> Option<Vec<f64>> {
        // With entities in the text, offsets within it are unknown; then the position is that of the whole text.
        let verbatim = self.source_map.text_at(node.text_offset, |text| text.starts_with(node.text.trim_start()));
        let start = verbatim.then_some(node.text_offset);
        read_numbers(node.text.trim_start(), usize::MAX)
            .map_err(|(at, problem)| {
                let place = start.map_or(node.text_offset, |start| start + at);
                self.problem(place, format!("<{}>: {problem}", node.name));
            })
            .ok()
    }
}

/// Angle from which a value is taken for degrees, rad: one and a half turns.
const DEGREES_FROM: f64 = 10.0;

/// Degrees in radians, rounded towards zero: 180 degrees do not exceed pi.
fn radians(degrees: f64) -> String {
    ((degrees.to_radians() * 1e8).trunc() / 1e8).to_string()
}

fn in_radians(degrees: f64) -> String {
    format!("angles are in radians: {degrees} degrees are {}", radians(degrees))
}

/// True if the file has an attribute; false if its default applies.
pub(super) fn is_given(node: &Node, name: &str) -> bool {
    node.attributes.iter().any(|attribute| attribute.name == name)
}
