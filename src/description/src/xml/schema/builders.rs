//! Constructors of elements, attributes and children, in which the table is written.

use super::{
    element::{Attribute, Child, Content, Element, Occurs, Presence},
    kind::Kind,
};

const fn attribute(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    presence: Presence,
    doc: &'static str,
) -> Attribute {
    Attribute { name, kind, unit, presence, doc }
}

pub(super) const fn required(name: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Attribute {
    attribute(name, kind, unit, Presence::Required, doc)
}

pub(super) const fn optional(name: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Attribute {
    attribute(name, kind, unit, Presence::Optional, doc)
}

pub(super) const fn default(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    value: &'static str,
    doc: &'static str,
) -> Attribute {
    attribute(name, kind, unit, Presence::Default(value), doc)
}

pub(super) const fn once(id: &'static str) -> Child {
    Child { id, occurs: Occurs::Once }
}

pub(super) const fn maybe(id: &'static str) -> Child {
    Child { id, occurs: Occurs::AtMostOnce }
}

pub(super) const fn any(id: &'static str) -> Child {
    Child { id, occurs: Occurs::AnyTimes }
}

pub(super) const fn element(
    id: &'static str,
    doc: &'static str,
    attributes: &'static [Attribute],
    content: Content,
) -> Element {
    Element { id, tag: id, doc, attributes, content }
}

/// A value in its own element, as in the thesis.
pub(super) const fn value(id: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Element {
    element(id, doc, &[], Content::Value(kind, unit))
}
