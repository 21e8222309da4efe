//! The types of settings: which values each accepts, and how messages describe it.

use std::net::IpAddr;

use simpartner_model::Timestep;

use crate::recorder::{self, Database};

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SettingType {
    Boolean,
    Integer {
        lowest: i64,
        highest: i64,
    },
    Real {
        lowest: f64,
        highest: f64,
    },
    Timestep,
    Word(&'static [&'static str]),
    File,
    /// The name of a file, or nothing.
    OptionalFile,
    Database,
    Address,
    /// Names with blanks or commas between them, or none.
    Names,
    /// A text that does not go into the log.
    Secret,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingValue {
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
}

/// A value as given, before the check against the setting's type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawValue<'a> {
    /// A value from a file, where texts are in quotes.
    Typed(SettingValue),
    /// A value from a variable or an override, where texts are without quotes.
    Plain(&'a str),
    /// A table, a list or a date from a file, which no setting accepts.
    Other,
}

impl SettingValue {
    /// The value without quotation marks.
    pub(super) fn plain_text(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl SettingType {
    /// The value, if the type accepts it.
    pub(super) fn accept(self, raw: &RawValue<'_>) -> Option<SettingValue> {
        match self {
            Self::Boolean => raw.boolean().map(SettingValue::Boolean),
            Self::Integer { lowest, highest } => {
                raw.integer().filter(|value| (lowest..=highest).contains(value)).map(SettingValue::Integer)
            }
            Self::Real { lowest, highest } => {
                raw.real().filter(|value| (lowest..=highest).contains(value)).map(SettingValue::Real)
            }
            Self::Timestep => raw.real().filter(|&value| Timestep::from_seconds(value).is_ok()).map(SettingValue::Real),
            Self::Word(words) => raw.text_if(|text| words.contains(&text)),
            Self::File => raw.text_if(|text| !text.is_empty()),
            Self::Database => raw.text_if(|text| Database::parse(text).is_ok()),
            Self::Address => raw.text_if(|text| text.parse::<IpAddr>().is_ok()),
            Self::OptionalFile | Self::Names => raw.text_if(|_| true),
            // A client sends a secret as a line of text.
            Self::Secret => raw.text_if(|text| text.trim() == text && !text.contains(char::is_control)),
        }
    }

    /// The given text for messages: without passwords and secrets.
    pub(super) fn shown(self, text: &str) -> String {
        match self {
            Self::Database => {
                // A text from a file is in quotes.
                let address = text.trim_matches(['"', '\'']);
                text.replace(address, &recorder::without_password(address))
            }
            Self::Secret => "***".to_owned(),
            _ => text.to_owned(),
        }
    }

    /// Description of the accepted values, for messages.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Boolean => "true or false".into(),
            Self::Integer { lowest, highest } => format!("a whole number from {lowest} to {highest}"),
            Self::Real { lowest, highest } => format!("a number from {lowest} to {highest}"),
            Self::Timestep => "a number from 0.000001 to 0.1 that is a whole number of nanoseconds".into(),
            Self::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
            Self::File => "the name of a file".into(),
            Self::OptionalFile => "the name of a file, or nothing".into(),
            Self::Database => format!("a database address of the form {}", recorder::ADDRESSES),
            Self::Address => "an IP address".into(),
            Self::Names => "names, separated by blanks".into(),
            Self::Secret => "a text without line ends, and without blanks at its ends".into(),
        }
    }
}

impl RawValue<'_> {
    fn boolean(&self) -> Option<bool> {
        match self {
            Self::Typed(SettingValue::Boolean(value)) => Some(*value),
            Self::Plain(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Typed(SettingValue::Integer(value)) => Some(*value),
            Self::Plain(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn real(&self) -> Option<f64> {
        match self {
            Self::Typed(SettingValue::Real(value)) => Some(*value),
            Self::Typed(SettingValue::Integer(value)) => Some(*value as f64),
            Self::Plain(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn text_if(&self, accepted: impl Fn(&str) -> bool) -> Option<SettingValue> {
        match self {
            Self::Typed(SettingValue::Text(text)) if accepted(text) => Some(SettingValue::Text(text.clone())),
            Self::Plain(text) if accepted(text) => Some(SettingValue::Text((*text).into())),
            _ => None,
        }
    }
}
