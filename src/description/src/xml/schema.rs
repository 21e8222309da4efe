//! The one table of the format: every element and attribute with its type, unit, default, occurrence and meaning. The
//! reader's checks, the DTDs and the reference page all come from it.

mod assemblies;
mod devices;
mod examples;
mod grasp_tasks;
mod grasps;
mod grounds;
mod joints;
mod materials;
mod rocks;
mod sequences;
mod soil;
mod table;
mod words;

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use simpartner_model::Color;

use super::limits::{MAX_NAME, MAX_VALUE};

pub(super) use examples::EXAMPLES;
pub(super) use table::{ASSEMBLIES, ELEMENTS, FARTHEST, GRASP, GRASP_TASK, ROBOT, SEQUENCE, WORLD};

/// An element of the format.
#[derive(Debug)]
pub(super) struct Element {
    /// Its name in this table; differs from `tag` only where two elements share a tag.
    pub(super) id: &'static str,
    /// Its name in a file.
    pub(super) tag: &'static str,
    /// One line for the reference.
    pub(super) doc: &'static str,
    pub(super) attributes: &'static [Attribute],
    pub(super) content: Content,
}

/// What stands inside an element.
#[derive(Debug)]
pub(super) enum Content {
    /// Nothing.
    Empty,
    /// A single value.
    Value(Kind, &'static str),
    /// Numbers with blanks, commas or semicolons between them, and their unit.
    Numbers(&'static str),
    /// Elements, in any order.
    Children(&'static [Child]),
}

/// An element that may stand inside another.
#[derive(Debug)]
pub(super) struct Child {
    /// The `id` of the element.
    pub(super) id: &'static str,
    pub(super) occurs: Occurs,
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurs {
    Once,
    AtMostOnce,
    AnyTimes,
}

/// An attribute of an element.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Its unit, empty for a plain number or word.
    pub(super) unit: &'static str,
    pub(super) presence: Presence,
    pub(super) doc: &'static str,
}

/// What happens when an attribute is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// It has no value then.
    Optional,
    /// It has this value then.
    Default(&'static str),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A finite number.
    Real,
    /// A finite number above 0 and at most this.
    Positive(f64),
    /// A finite number not below 0.
    NotNegative,
    /// A number from 0 to 1.
    Fraction,
    /// A number from the first to the second.
    Within(f64, f64),
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// A name: no blanks, none of `< > , /`.
    Name,
    /// Any text that is not blank.
    Text,
    /// A colour, as in the web.
    Color,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// What is expected, in words.
    pub(super) fn expectation(self) -> String {
        match self {
            Self::Real => "a finite number".into(),
            Self::Positive(highest) if highest == f64::MAX => "a number above 0".into(),
            Self::Positive(highest) => format!("a number above 0 and at most {}", bound(highest)),
            Self::NotNegative => "a number not below 0".into(),
            Self::Fraction => "a number from 0 to 1".into(),
            Self::Within(lowest, highest) => format!("a number from {} to {}", bound(lowest), bound(highest)),
            Self::Whole(lowest, highest) => format!("a whole number from {lowest} to {highest}"),
            Self::Name => format!("a name of at most {MAX_NAME} bytes without blanks and without < > , /"),
            Self::Text => "some text".into(),
            Self::Color => "a colour as #rrggbb, or #rrggbbaa with its opacity".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// The value of an element of this type that holds nothing: a flag is set by being there.
    pub(super) fn when_empty(self) -> Option<&'static str> {
        (self == table::BOOLEAN).then_some("true")
    }

    /// Whether a text, blanks around it taken off, is such a value.
    pub(super) fn accepts(self, text: &str) -> bool {
        if text.len() > if self == Self::Name { MAX_NAME } else { MAX_VALUE } {
            return false;
        }
        let number = || read_real(text);
        match self {
            Self::Real => number().is_some(),
            Self::Positive(highest) => number().is_some_and(|value| value > 0.0 && value <= highest),
            Self::NotNegative => number().is_some_and(|value| value >= 0.0),
            Self::Fraction => number().is_some_and(|value| (0.0..=1.0).contains(&value)),
            Self::Within(lowest, highest) => number().is_some_and(|value| (lowest..=highest).contains(&value)),
            Self::Whole(lowest, highest) => text.parse::<i64>().is_ok_and(|value| (lowest..=highest).contains(&value)),
            Self::Name => !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "<>,/".contains(c)),
            Self::Text => !text.is_empty(),
            Self::Color => text.parse::<Color>().is_ok(),
            Self::Word(words) => words.contains(&text),
        }
    }
}

/// A bound as people read it: with all its digits, and as what it is where these have no end.
pub(super) fn bound(bound: f64) -> String {
    // Rounded towards zero, so that what is printed is within the bound.
    let named = |name: &str| format!("{name} = {}", (bound * 1e8).trunc() / 1e8);
    match bound.abs() {
        PI => named(if bound < 0.0 { "-pi" } else { "pi" }),
        FRAC_PI_2 => named(if bound < 0.0 { "-pi/2" } else { "pi/2" }),
        TAU => named(if bound < 0.0 { "-2 pi" } else { "2 pi" }),
        large if large >= 1e5 => format!("{bound:e}"),
        _ => bound.to_string(),
    }
}

/// A finite decimal. The standard parser also takes `inf` and `nan`, and makes what is too large infinite.
pub(super) fn read_real(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl Element {
    /// Looks an element up by its id.
    pub(super) fn by_id(id: &str) -> &'static Element {
        ELEMENTS.iter().find(|element| element.id == id).expect("a test holds every id named in the table to the table")
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn children(&self) -> &'static [Child] {
        match self.content {
            Content::Children(children) => children,
            Content::Empty | Content::Value(..) | Content::Numbers(_) => &[],
        }
    }
}

/// Where a name stands in the format, for somebody who looked for it elsewhere: the element of this name, or the elements that
/// have such an attribute.
pub fn describe_name(name: &str) -> Option<String> {
    let tag = |element: &Element| format!("<{}>", element.tag);
    if let Some(element) = ELEMENTS.iter().find(|element| element.tag == name) {
        return Some(format!("{} is an element of world and robot files", tag(element)));
    }
    let with: Vec<String> =
        ELEMENTS.iter().filter(|element| element.attribute(name).is_some()).map(tag).take(3).collect();
    (!with.is_empty()).then(|| format!("'{name}' is an attribute of {} in world and robot files", with.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_in_the_table_is_in_the_table() {
        for element in ELEMENTS {
            for child in element.children() {
                assert_eq!(Element::by_id(child.id).id, child.id);
            }
            assert_eq!(ELEMENTS.iter().filter(|other| other.id == element.id).count(), 1, "{}", element.id);
            for attribute in element.attributes {
                if let Presence::Default(value) = attribute.presence {
                    assert!(attribute.kind.accepts(value), "{} {}", element.id, attribute.name);
                }
            }
        }
    }
}
