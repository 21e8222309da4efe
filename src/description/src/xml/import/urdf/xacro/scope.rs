//! The names of properties, arguments, macros and blocks, and texts with values in them.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use super::expression::{Value, evaluate_expression};
use crate::{
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// Remedy for what is not read here.
pub(super) const EXPAND_HELP: &str = "expand the file first: 'ros2 run xacro xacro FILE > robot.urdf'; without ROS, 'pip install xacro' has the command xacro";
/// Deepest chain of properties that refer to others, and most evaluations of a file.
const MAX_CHAIN: usize = 50;
const MAX_EVALUATIONS: usize = 200_000;
/// Bytes of a text with its values filled in.
const MAX_TEXT: usize = 100_000;

/// A macro.
#[derive(Debug, Clone)]
pub(super) struct Macro {
    pub(super) parameters: Rc<[Parameter]>,
    pub(super) body: Rc<[Node]>,
}

/// A parameter of a macro.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: ParameterKind,
    pub(super) default: Option<String>,
}

/// Kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    Value,
    /// An element.
    Block,
    /// The content of an element.
    Content,
}

impl ParameterKind {
    pub(super) fn is_block(self) -> bool {
        self != Self::Value
    }

    pub(super) fn is_content(self) -> bool {
        self == Self::Content
    }
}

/// The parameters in the attribute `params`: `a b:=default *block **content`.
pub(super) fn read_parameters(text: &str) -> Rc<[Parameter]> {
    let (mut parameters, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == ':').unwrap_or(rest.len());
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        let mut default = None;
        if let Some(value) = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')) {
            let value = value.trim_start();
            // A default in quotes has blanks.
            let (text, length) = match value.chars().next().filter(|first| "'\"".contains(*first)) {
                Some(quote) => match value[1..].find(quote) {
                    Some(end) => (&value[1..=end], end + 2),
                    None => (value, value.len()),
                },
                None => {
                    let end = value_end(value);
                    (&value[..end], end)
                }
            };
            default = Some(text.to_owned());
            rest = value[length..].trim_start();
        } else if let Some(after) = rest.strip_prefix(':') {
            rest = after;
        }
        let name = word.trim_start_matches('*');
        let kind = match word.len() - name.len() {
            0 => ParameterKind::Value,
            1 => ParameterKind::Block,
            _ => ParameterKind::Content,
        };
        if !name.is_empty() {
            parameters.push(Parameter { name: name.to_owned(), kind, default });
        }
    }
    parameters.into()
}

/// The end of a default: a blank outside of `${...}`.
fn value_end(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// A property: as the file has it until it is asked for.
#[derive(Debug, Clone)]
enum Property {
    Raw(String),
    Known(Value),
}

/// The names within a macro.
#[derive(Debug, Default)]
struct Level {
    properties: RefCell<HashMap<String, Property>>,
    blocks: HashMap<String, Rc<[Node]>>,
}

pub(super) struct Scope<'r, 'a> {
    reading: &'r Reading<'a>,
    /// From the file inwards.
    levels: Vec<Level>,
    arguments: HashMap<String, String>,
    macros: BTreeMap<String, Macro>,
    chain: Cell<usize>,
    evaluations: Cell<usize>,
}

impl<'r, 'a> Scope<'r, 'a> {
    pub(super) fn new(reading: &'r Reading<'a>) -> Self {
        Self {
            reading,
            levels: vec![Level::default()],
            arguments: HashMap::new(),
            macros: BTreeMap::new(),
            chain: Cell::new(0),
            evaluations: Cell::new(0),
        }
    }

    pub(super) fn has_property(&self, name: &str) -> bool {
        self.levels.iter().any(|level| level.properties.borrow().contains_key(name))
    }

    pub(super) fn set_property(&mut self, name: &str, value: &str, offset: usize, is_global: bool) {
        let level = if is_global { self.levels.first() } else { self.levels.last() };
        // Its own former value may be part of it.
        let property = match self.has_property(name) && value.contains('$') {
            true => self.value_of(value, offset).map(Property::Known),
            false => Some(Property::Raw(value.to_owned())),
        };
        if let (Some(level), Some(property)) = (level, property) {
            level.properties.borrow_mut().insert(name.to_owned(), property);
        }
    }

    pub(super) fn set_block(&mut self, name: &str, block: Vec<Node>) {
        if let Some(level) = self.levels.last_mut() {
            level.blocks.insert(name.to_owned(), block.into());
        }
    }

    pub(super) fn set_argument(&mut self, name: &str, default: String) {
        self.arguments.entry(name.to_owned()).or_insert(default);
    }

    pub(super) fn set_macro(&mut self, name: &str, definition: Macro) {
        self.macros.insert(name.to_owned(), definition);
    }

    pub(super) fn find_macro(&self, name: &str) -> Option<Macro> {
        self.macros.get(name).cloned()
    }

    pub(super) fn nearest_macro(&self, name: &str) -> Option<&str> {
        self.reading.nearest(name, self.macros.keys().map(String::as_str))
    }

    pub(super) fn find_block(&self, name: &str) -> Option<Rc<[Node]>> {
        let name = name.trim_start_matches('*');
        self.levels.iter().rev().find_map(|level| level.blocks.get(name)).cloned()
    }

    /// Begins a macro with its parameters.
    pub(super) fn enter_macro(&mut self, values: Vec<(String, Value)>, blocks: Vec<(String, Vec<Node>)>) {
        let properties = values.into_iter().map(|(name, value)| (name, Property::Known(value))).collect();
        let blocks = blocks.into_iter().map(|(name, block)| (name, block.into())).collect();
        self.levels.push(Level { properties: RefCell::new(properties), blocks });
    }

    pub(super) fn leave_macro(&mut self) {
        self.levels.pop();
    }

    /// The default of a parameter: `^` is the property of its name around the call, `^|text` that or the text.
    pub(super) fn default_of(&self, name: &str, default: &str, offset: usize) -> Option<Value> {
        match default.strip_prefix('^') {
            Some(other) if !self.has_property(name) && other.starts_with('|') => self.value_of(&other[1..], offset),
            Some(_) => self.value_of(&format!("${{{name}}}"), offset),
            None => self.value_of(default, offset),
        }
    }

    /// A text with its values filled in.
    pub(super) fn text_of(&self, text: &str, offset: usize) -> String {
        self.value_with(text, offset, false).map_or_else(String::new, |value| value.to_string())
    }

    /// The value that a text stands for; `None` if it has a problem.
    pub(super) fn value_of(&self, text: &str, offset: usize) -> Option<Value> {
        self.value_with(text, offset, true)
    }

    fn value_with(&self, text: &str, offset: usize, is_value: bool) -> Option<Value> {
        match self.fill_in(text) {
            Ok(Value::Text(text)) if is_value => Some(Value::of_text(&text)),
            Ok(value) => Some(value),
            Err(what) => {
                let message = format!("'{}': {what}", shorten(text));
                self.reading.problem_with_help(offset, message, EXPAND_HELP);
                None
            }
        }
    }

    /// Fills in `${...}` and `$(...)`; a text that is one of these alone has its value.
    fn fill_in(&self, text: &str) -> Result<Value, String> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let open = rest.chars().next().unwrap_or_default();
            match open {
                '$' => {
                    filled.push('$');
                    rest = &rest[1..];
                }
                '{' | '(' => {
                    let end = closing_bracket(rest).ok_or("a bracket is not closed")?;
                    let value = match open {
                        '{' => self.evaluate_text(&rest[1..end])?,
                        _ => self.substitute_word(&rest[1..end])?,
                    };
                    if filled.is_empty() && at == 0 && end + 2 == text.len() {
                        return Ok(value);
                    }
                    filled.push_str(&value.to_string());
                    rest = &rest[end + 1..];
                }
                _ => filled.push('$'),
            }
            if filled.len() > MAX_TEXT {
                return Err(format!("it is longer than {MAX_TEXT} bytes"));
            }
        }
        filled.push_str(rest);
        Ok(Value::Text(filled))
    }

    fn evaluate_text(&self, text: &str) -> Result<Value, String> {
        self.evaluations.set(self.evaluations.get() + 1);
        if self.evaluations.get() > MAX_EVALUATIONS {
            return Err(format!("the file has more than {MAX_EVALUATIONS} expressions"));
        }
        evaluate_expression(text, &mut |name| self.look_up(name))
    }

    /// `$(arg NAME)`, `$(find PACKAGE)`, `$(eval EXPRESSION)`; the environment is not read.
    fn substitute_word(&self, text: &str) -> Result<Value, String> {
        let (what, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        match what {
            "arg" => match self.arguments.get(rest) {
                Some(value) => Ok(Value::of_text(value)),
                None => Err(format!("the argument '{}' has no default", shorten(rest))),
            },
            "find" => Ok(Value::Text(format!("package://{rest}"))),
            "eval" => self.evaluate_text(rest),
            "optenv" => {
                Ok(Value::of_text(rest.split_once(char::is_whitespace).map_or("", |(_, default)| default.trim())))
            }
            _ => Err(format!("$({} ...) is not known here", shorten(what))),
        }
    }

    fn look_up(&self, name: &str) -> Result<Value, String> {
        for level in self.levels.iter().rev() {
            let found = level.properties.borrow().get(name).cloned();
            match found {
                Some(Property::Known(value)) => return Ok(value),
                Some(Property::Raw(text)) => {
                    self.chain.set(self.chain.get() + 1);
                    let value = if self.chain.get() > MAX_CHAIN {
                        Err(format!("the property '{}' leads to itself", shorten(name)))
                    } else {
                        self.fill_in(&text)
                    };
                    self.chain.set(self.chain.get() - 1);
                    let value = match value? {
                        Value::Text(text) => Value::of_text(&text),
                        value => value,
                    };
                    level.properties.borrow_mut().insert(name.to_owned(), Property::Known(value.clone()));
                    return Ok(value);
                }
                None => {}
            }
        }
        Err(format!("there is no property '{}'", shorten(name)))
    }
}

/// The place of the bracket that closes the one at the start.
fn closing_bracket(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let close = if open == '{' { '}' } else { ')' };
    let (mut depth, mut quote) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(mark), c) if mark == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if open == '{' => quote = Some(c),
            (None, c) if c == open => depth += 1,
            (None, c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
