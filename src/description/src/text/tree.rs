//! XML text as a tree with the position of each element.
//!
//! Nothing is fetched and nothing expands: only the five predefined entities and character references are known, and of
//! document type declarations only `<!DOCTYPE name SYSTEM "file.dtd">`, which is for editors.

use quick_xml::{
    Reader,
    events::{Event, attributes::AttrError},
};
use simpartner_wire::signal::ControlCharacter;

use super::{diagnostic::Diagnostic, numbers::shorten};
use crate::limits::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_ELEMENTS, MAX_NAME};

const KNOWN_ENTITIES: &str = "only &lt; &gt; &amp; &apos; &quot; and character numbers are known";

/// An element as written. `C` is the context that a reader adds to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node<C = ()> {
    /// Its name.
    pub(crate) name: String,
    /// Byte offset of its `<`.
    pub(crate) offset: usize,
    /// Byte offset behind its end.
    pub(crate) end: usize,
    /// Its attributes, in order.
    pub(crate) attributes: Vec<Attribute>,
    /// Its children, in order.
    pub(crate) children: Vec<Self>,
    /// All its text, entities resolved.
    pub(crate) text: String,
    /// True if any of the text is not blank.
    pub(crate) has_text: bool,
    /// Byte offset of the text's first character that is not blank.
    pub(crate) text_offset: usize,
    /// The context of its reader.
    pub(crate) context: C,
}

impl<C> Node<C> {
    /// Visits this element and all below it.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Self)) {
        visit(self);
        self.children.iter().for_each(|child| child.walk(visit));
    }

    /// The same, to change them.
    pub(crate) fn walk_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        self.children.iter_mut().for_each(|child| child.walk_mut(visit));
    }

    /// Moves all offsets on, into another copy of the text.
    pub(crate) fn shift(&mut self, by: usize) {
        self.walk_mut(&mut |node| {
            node.offset += by;
            node.end += by;
            node.text_offset += by;
            node.attributes.iter_mut().for_each(|attribute| attribute.offset += by);
        });
    }
}

/// An attribute as written.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Byte offset of its name.
    pub(crate) offset: usize,
}

/// The first child of this name.
pub(crate) fn child<'n, C>(node: &'n Node<C>, tag: &str) -> Option<&'n Node<C>> {
    node.children.iter().find(|child| child.name == tag)
}

/// A text taken apart.
#[derive(Debug)]
pub(crate) struct Parsed<C = ()> {
    /// The top-level elements: one in a document, several in a fragment.
    pub(crate) roots: Vec<Node<C>>,
    /// Number of elements in all.
    pub(crate) elements: usize,
}

/// Takes a text apart into its elements.
pub(crate) fn parse<C: Default>(path: &str, text: &str) -> Result<Parsed<C>, Diagnostic> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut builder = Builder { path, text, open: vec![Node::default()], elements: 0 };
    if let Some(found) = ControlCharacter::find(text) {
        return Err(builder.refused(found.at, found));
    }
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let offset = reader.error_position() as usize;
            builder.problem(offset, format!("not well-formed: {error}"))
        })?;
        let end = reader.buffer_position() as usize;
        if !builder.handle_event(event, start, end)? {
            return builder.into_parsed();
        }
    }
}

struct Builder<'a, C> {
    path: &'a str,
    text: &'a str,
    /// The open elements; the first one represents the whole text.
    open: Vec<Node<C>>,
    elements: usize,
}

impl<C: Default> Builder<'_, C> {
    fn problem(&self, offset: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.path, self.text, offset, message)
    }

    fn refused(&self, offset: usize, found: ControlCharacter) -> Diagnostic {
        let problem = self.problem(offset, format!("{found} is not taken"));
        problem.with_help("names and texts go to terminals, clients and databases: leave it out")
    }

    /// Handles an event at `start` to `end`; false at the end of the text.
    fn handle_event(&mut self, event: Event<'_>, start: usize, end: usize) -> Result<bool, Diagnostic> {
        match event {
            Event::Start(tag) => self.open_element(&tag, start)?,
            Event::End(_) => self.close_element(end),
            Event::Empty(_) => unreachable!("the reader is told to expand empty elements"),
            Event::Text(text) => self.add_text(&text, start),
            Event::CData(text) => self.add_text(&text, start + "<![CDATA[".len()),
            Event::GeneralRef(reference) => {
                let resolved = resolve(&reference).ok_or_else(|| {
                    let message = format!("entity '&{};' is not known", shorten(&reference));
                    self.problem(start, message)
                        .with_help("only &lt; &gt; &amp; &apos; &quot; and character numbers are")
                })?;
                let mut resolved_text = [0; 4];
                let resolved_text = resolved.encode_utf8(&mut resolved_text);
                if let Some(found) = ControlCharacter::find(resolved_text) {
                    return Err(self.refused(start, found));
                }
                self.add_text(resolved_text, start);
            }
            Event::DocType(declaration) => {
                let words: Vec<&str> = declaration.split_ascii_whitespace().collect();
                let quoted = |word: &str| word.len() > 2 && (word.starts_with('"') || word.starts_with('\''));
                if !matches!(words[..], [_, "SYSTEM", file] if quoted(file) && !file.contains('[')) {
                    let problem = self.problem(start, "this document type declaration is not taken");
                    return Err(problem
                        .with_help("write <!DOCTYPE name SYSTEM \"name.dtd\"> and nothing else, or leave it out"));
                }
            }
            // The encoding that a declaration names is that of the file's bytes, which are characters by now.
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => return Ok(false),
        }
        Ok(true)
    }

    fn open_element(&mut self, tag: &quick_xml::events::BytesStart<'_>, start: usize) -> Result<(), Diagnostic> {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err(self.problem(start, format!("more than {MAX_ELEMENTS} elements")));
        }
        if self.open.len() > MAX_DEPTH {
            return Err(self.problem(start, format!("elements are nested more than {MAX_DEPTH} deep")));
        }
        let name = tag.name();
        self.check_name(start, "an element", name.as_ref())?;
        let mut node = Node { name: name.as_ref().to_owned(), offset: start, ..Node::default() };
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| match error {
                // Its positions count from behind the `<`.
                AttrError::Duplicated(second, _) => {
                    self.problem(start + 1 + second, format!("<{}> has this attribute twice", node.name))
                }
                other => self.problem(start, format!("the attributes of <{}> cannot be read: {other}", node.name)),
            })?;
            let name = attribute.key.as_ref();
            // The reader borrows from the text, so the address of the name gives its position.
            let offset = (name.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
            self.check_name(offset, "an attribute", name)?;
            let Some(value) = unescape(&attribute.value) else {
                let value = shorten(&attribute.value);
                let message = format!("attribute '{name}' holds an entity that is not known: {value}");
                return Err(self.problem(offset, message).with_help(KNOWN_ENTITIES));
            };
            if let Some(found) = ControlCharacter::find(&value) {
                return Err(self.refused(offset, found));
            }
            node.attributes.push(Attribute { name: name.to_owned(), value, offset });
            if node.attributes.len() > MAX_ATTRIBUTES {
                return Err(self.problem(start, format!("<{}> has more than {MAX_ATTRIBUTES} attributes", node.name)));
            }
        }
        self.open.push(node);
        Ok(())
    }

    fn check_name(&self, offset: usize, whose: &str, name: &str) -> Result<(), Diagnostic> {
        if name.len() <= MAX_NAME {
            return Ok(());
        }
        let message = format!("the name of {whose} is longer than {MAX_NAME} bytes: '{}'", shorten(name));
        Err(self.problem(offset, message))
    }

    fn close_element(&mut self, end: usize) {
        // The reader has matched the names already.
        if let (Some(node), Some(parent)) = (self.open.pop(), self.open.last_mut()) {
            parent.children.push(Node { end, ..node });
        }
    }

    fn add_text(&mut self, text: &str, start: usize) {
        if let Some(node) = self.open.last_mut() {
            if !node.has_text && !text.trim().is_empty() {
                node.has_text = true;
                node.text_offset = start + (text.len() - text.trim_start().len());
            }
            node.text.push_str(text);
        }
    }

    fn into_parsed(mut self) -> Result<Parsed<C>, Diagnostic> {
        if self.open.len() > 1 {
            let unclosed = &self.open[self.open.len() - 1];
            return Err(self.problem(unclosed.offset, format!("<{}> is never closed", unclosed.name)));
        }
        let whole = self.open.pop().unwrap_or_default();
        if whole.has_text {
            return Err(self.problem(whole.text_offset, "text outside of any element"));
        }
        if whole.children.is_empty() {
            return Err(self.problem(0, "the file holds no element"));
        }
        Ok(Parsed { roots: whole.children, elements: self.elements })
    }
}

fn resolve(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) => Some(character),
        Ok(None) => predefined(reference),
        Err(_) => None,
    }
}

fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "apos" => '\'',
        "quot" => '"',
        _ => return None,
    })
}

/// Resolves the entities of an attribute's value.
fn unescape(value: &str) -> Option<String> {
    quick_xml::escape::unescape(value).ok().map(std::borrow::Cow::into_owned)
}
