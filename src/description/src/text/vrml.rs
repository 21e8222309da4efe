//! VRML97 (ISO/IEC 14772-1) as a tree of nodes, for surfaces and grids of heights.
//!
//! Prototypes, scripts and external files are not supported; a file that needs them is refused.

use std::{collections::HashMap, rc::Rc};

/// Nesting depth of nodes: far deeper than any modeller writes, and far from the end of the stack.
const MAX_DEPTH: usize = 64;

/// A node with its fields in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: String,
    /// Position in the file, bytes.
    pub(crate) offset: usize,
    fields: Vec<(String, Value)>,
}

/// Value of a field.
#[derive(Debug, Clone)]
enum Value {
    Numbers(Vec<f64>),
    Nodes(Vec<Rc<Node>>),
    /// A word such as TRUE, or a string.
    Word,
    False,
}

/// A problem: its offset in bytes, and a sentence.
pub(crate) type Problem = (usize, String);

impl Node {
    /// The numbers of a field; empty if the field is absent.
    pub(crate) fn numbers(&self, name: &str) -> &[f64] {
        match self.field(name) {
            Some(Value::Numbers(numbers)) => numbers,
            _ => &[],
        }
    }

    /// The first number of a field.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name).first().copied()
    }

    /// The nodes in a field.
    pub(crate) fn nodes(&self, name: &str) -> &[Rc<Node>] {
        match self.field(name) {
            Some(Value::Nodes(nodes)) => nodes,
            _ => &[],
        }
    }

    /// True if a field is present and FALSE.
    pub(crate) fn is_false(&self, name: &str) -> bool {
        matches!(self.field(name), Some(Value::False))
    }

    /// The nodes in all of its fields.
    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = &Rc<Node>> {
        self.fields.iter().flat_map(|(_, value)| match value {
            Value::Nodes(nodes) => nodes.as_slice(),
            _ => &[],
        })
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// The nodes of a file.
pub(crate) fn parse(text: &str) -> Result<Vec<Rc<Node>>, Problem> {
    if !text.starts_with("#VRML V2.0") {
        return Err((0, "a VRML97 file begins with '#VRML V2.0 utf8'".into()));
    }
    let mut parser = Parser { text, at: 0, named: HashMap::new() };
    let mut roots = Vec::new();
    while let Some((offset, word)) = parser.next() {
        match word {
            "ROUTE" => parser.skip_route(),
            _ => roots.extend(parser.node(offset, word, 0)?),
        }
    }
    Ok(roots)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    named: HashMap<&'t str, Rc<Node>>,
}

impl<'t> Parser<'t> {
    /// The next word or bracket with its place; commas are blanks.
    fn next(&mut self) -> Option<(usize, &'t str)> {
        let blank = |c: char| c.is_whitespace() || c == ',';
        loop {
            self.at = self.text.len() - self.text[self.at..].trim_start_matches(blank).len();
            let rest = &self.text[self.at..];
            let start = self.at;
            let length = match rest.chars().next()? {
                '#' => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                '[' | ']' | '{' | '}' => 1,
                '"' => string_length(rest),
                _ => rest.find(|c: char| blank(c) || "[]{}\"#".contains(c)).unwrap_or(rest.len()),
            };
            self.at += length;
            return Some((start, &rest[..length]));
        }
    }

    fn peek(&mut self) -> Option<&'t str> {
        let before = self.at;
        let word = self.next().map(|(_, word)| word);
        self.at = before;
        word
    }

    /// Skips a ROUTE: an event, TO, and another.
    fn skip_route(&mut self) {
        for _ in 0..3 {
            let _ = self.next();
        }
    }

    fn expect(&mut self, what: &str) -> Result<(usize, &'t str), Problem> {
        self.next().ok_or_else(|| (self.text.len(), format!("the file ends where {what} is expected")))
    }

    /// The node that begins with this word; `None` for NULL.
    fn node(&mut self, offset: usize, word: &'t str, depth: usize) -> Result<Option<Rc<Node>>, Problem> {
        if depth > MAX_DEPTH {
            return Err((offset, format!("nodes stand in each other more than {MAX_DEPTH} deep")));
        }
        match word {
            "NULL" => Ok(None),
            "DEF" => {
                let (_, name) = self.expect("a name")?;
                let (offset, kind) = self.expect("a node")?;
                let node = self.node(offset, kind, depth + 1)?;
                self.named.extend(node.clone().map(|node| (name, node)));
                Ok(node)
            }
            "USE" => {
                let (place, name) = self.expect("a name")?;
                let node = self.named.get(name).cloned();
                node.map(Some)
                    .ok_or_else(|| (place, format!("there is no node '{}' before it", crate::xml::shorten(name))))
            }
            "PROTO" | "EXTERNPROTO" | "Script" => {
                Err((offset, format!("{word} is not read; save the scene without prototypes and scripts")))
            }
            kind if kind.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let (place, brace) = self.expect("'{'")?;
                if brace != "{" {
                    return Err((
                        place,
                        format!("expected '{{' behind '{kind}', got '{}'", crate::xml::shorten(brace)),
                    ));
                }
                let fields = self.fields(depth)?;
                Ok(Some(Rc::new(Node { kind: kind.to_owned(), offset, fields })))
            }
            _ => Err((offset, format!("expected a node, got '{}'", crate::xml::shorten(word)))),
        }
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<(String, Value)>, Problem> {
        let mut fields = Vec::new();
        loop {
            match self.expect("'}'")? {
                (_, "}") => return Ok(fields),
                (_, "ROUTE") => self.skip_route(),
                (_, name) if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                    fields.push((name.to_owned(), self.value(depth)?));
                }
                (offset, word) => {
                    return Err((offset, format!("expected the name of a field, got '{}'", crate::xml::shorten(word))));
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Problem> {
        let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
        let (offset, word) = self.expect("a value")?;
        match word {
            "[" => loop {
                match self.expect("']'")? {
                    (_, "]") => {
                        return Ok(if nodes.is_empty() { Value::Numbers(numbers) } else { Value::Nodes(nodes) });
                    }
                    (offset, word) if starts_number(word) => numbers.push(number(offset, word)?),
                    (_, word) if word.starts_with('"') || matches!(word, "TRUE" | "FALSE") => {}
                    (offset, word) => nodes.extend(self.node(offset, word, depth + 1)?),
                }
            },
            "TRUE" => Ok(Value::Word),
            "FALSE" => Ok(Value::False),
            _ if word.starts_with('"') => Ok(Value::Word),
            _ if starts_number(word) => {
                numbers.push(number(offset, word)?);
                while self.peek().is_some_and(starts_number) {
                    let (offset, word) = self.expect("a number")?;
                    numbers.push(number(offset, word)?);
                }
                Ok(Value::Numbers(numbers))
            }
            _ => Ok(Value::Nodes(self.node(offset, word, depth + 1)?.into_iter().collect())),
        }
    }
}

fn starts_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
}

fn number(offset: usize, word: &str) -> Result<f64, Problem> {
    let number = word.parse().ok().filter(|number: &f64| number.is_finite());
    // Whole numbers may be hexadecimal.
    let number = number.or_else(|| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok().map(f64::from));
    number.ok_or_else(|| (offset, format!("expected a finite number, got '{}'", crate::xml::shorten(word))))
}

/// Length in bytes of the string at the start of a text, including both quotation marks; a backslash escapes the next
/// character.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            '"' if !escaped => return index + 1,
            _ => escaped = character == '\\' && !escaped,
        }
    }
    text.len()
}
