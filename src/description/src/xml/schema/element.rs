//! The types of the table of elements.

use super::kind::Kind;

/// An element of the format.
#[derive(Debug)]
pub(in crate::xml) struct Element {
    /// Its name in this table; differs from `tag` only if two elements share a tag.
    pub(in crate::xml) id: &'static str,
    /// Its name in a file.
    pub(in crate::xml) tag: &'static str,
    /// One line for the reference.
    pub(in crate::xml) doc: &'static str,
    pub(in crate::xml) attributes: &'static [Attribute],
    pub(in crate::xml) content: Content,
}

/// Content of an element.
#[derive(Debug)]
pub(in crate::xml) enum Content {
    /// Empty.
    Empty,
    /// A single value.
    Value(Kind, &'static str),
    /// Numbers with blanks, commas or semicolons between them, and their unit.
    Numbers(&'static str),
    /// Elements, in any order.
    Children(&'static [Child]),
}

/// A permitted child element.
#[derive(Debug)]
pub(in crate::xml) struct Child {
    /// The `id` of the element.
    pub(in crate::xml) id: &'static str,
    pub(in crate::xml) occurs: Occurs,
}

/// Permitted number of occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::xml) enum Occurs {
    Once,
    AtMostOnce,
    AnyTimes,
}

/// An attribute of an element.
#[derive(Debug)]
pub(in crate::xml) struct Attribute {
    pub(in crate::xml) name: &'static str,
    pub(in crate::xml) kind: Kind,
    /// Its unit, empty for a plain number or word.
    pub(in crate::xml) unit: &'static str,
    pub(in crate::xml) presence: Presence,
    pub(in crate::xml) doc: &'static str,
}

/// Presence of an attribute, and its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::xml) enum Presence {
    Required,
    /// No value by default.
    Optional,
    /// This value by default.
    Default(&'static str),
}

impl Element {
    pub(in crate::xml) fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(in crate::xml) fn children(&self) -> &'static [Child] {
        match self.content {
            Content::Children(children) => children,
            Content::Empty | Content::Value(..) | Content::Numbers(_) => &[],
        }
    }
}
