//! Types of values, and their permitted texts.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use simpartner_model::Color;

use crate::{
    limits::{MAX_NAME, MAX_VALUE},
    text::numbers::read_real,
};

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::xml) enum Kind {
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
    /// The name of an object: the same, with slashes between the parts of it.
    ObjectName,
    /// Any text that is not blank.
    Text,
    /// A colour, as in the web.
    Color,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// A flag. An empty element of this type means true.
    pub(in crate::xml) const BOOLEAN: Self = Self::Word(&["true", "false"]);

    /// The expected value, in words.
    pub(in crate::xml) fn expectation(self) -> String {
        match self {
            Self::Real => "a finite number".into(),
            Self::Positive(highest) if highest == f64::MAX => "a number above 0".into(),
            Self::Positive(highest) => format!("a number above 0 and at most {}", bound(highest)),
            Self::NotNegative => "a number not below 0".into(),
            Self::Fraction => "a number from 0 to 1".into(),
            Self::Within(lowest, highest) => format!("a number from {} to {}", bound(lowest), bound(highest)),
            Self::Whole(lowest, highest) => format!("a whole number from {lowest} to {highest}"),
            Self::Name => format!("a name of at most {MAX_NAME} bytes without blanks and without < > , /"),
            Self::ObjectName => format!("a name of at most {MAX_NAME} bytes without blanks and without < > ,"),
            Self::Text => "some text".into(),
            Self::Color => "a colour as #rrggbb, or #rrggbbaa with its opacity".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// The value of an empty element of this type: an empty flag is set.
    pub(in crate::xml) fn when_empty(self) -> Option<&'static str> {
        (self == Self::BOOLEAN).then_some("true")
    }

    /// True if a trimmed text is such a value.
    pub(in crate::xml) fn accepts(self, text: &str) -> bool {
        let is_name = [Self::Name, Self::ObjectName].contains(&self);
        if text.len() > if is_name { MAX_NAME } else { MAX_VALUE } {
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
            Self::Name => !text.contains('/') && Self::ObjectName.accepts(text),
            Self::ObjectName => {
                let is_barred = |c: char| c.is_whitespace() || "<>,".contains(c);
                !text.contains(is_barred) && text.split('/').all(|part| !part.is_empty())
            }
            Self::Text => !text.is_empty(),
            Self::Color => text.parse::<Color>().is_ok(),
            Self::Word(words) => words.contains(&text),
        }
    }
}

/// A bound as text: with all its digits, or as a named number if these do not end.
pub(in crate::xml) fn bound(bound: f64) -> String {
    // Rounded towards zero, so that the printed number is within the bound.
    let named = |name: &str| format!("{name} = {}", (bound * 1e8).trunc() / 1e8);
    match bound.abs() {
        PI => named(if bound < 0.0 { "-pi" } else { "pi" }),
        FRAC_PI_2 => named(if bound < 0.0 { "-pi/2" } else { "pi/2" }),
        TAU => named(if bound < 0.0 { "-2 pi" } else { "2 pi" }),
        large if large >= 1e5 => format!("{bound:e}"),
        _ => bound.to_string(),
    }
}
