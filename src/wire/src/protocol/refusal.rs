//! Refusals of messages. The state is then unchanged and the connection stays open.

use std::fmt;

use crate::near::did_you_mean;

/// A refusal, printed as `ERR code text`.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// 1: no such verb here.
    Verb {
        /// The text received.
        got: String,
        /// The known verbs.
        known: &'static str,
    },
    /// 2: a frame with the wrong number of numbers.
    Count {
        /// The lengths this device takes, in words.
        expected: String,
        /// Number of values received.
        got: usize,
    },
    /// 3: not a finite decimal.
    NotANumber {
        /// Position of the number, from 1.
        place: usize,
        /// The text received.
        got: String,
    },
    /// 4: a number out of its range.
    Range {
        /// Name of the field or parameter.
        name: String,
        /// Its range, in words.
        expected: String,
        /// The text received.
        got: f64,
    },
    /// 5: the message is too long, or is not text.
    Message(String),
    /// 6: too much waits already.
    Busy(String),
    /// 7: it does not fit the present state.
    State(String),
    /// 8: a parameter that is missing or unknown.
    Parameter(String),
    /// 9: the connection has not shown the token.
    Token,
    /// 10: a fault has powered the device off.
    Off,
    /// Refusal of the part of a line for this device.
    Of {
        /// Its name.
        device: String,
        /// The problem.
        refusal: Box<Refusal>,
    },
}

impl Refusal {
    /// The number on the wire.
    pub fn code(&self) -> u8 {
        match self {
            Self::Verb { .. } => 1,
            Self::Count { .. } => 2,
            Self::NotANumber { .. } => 3,
            Self::Range { .. } => 4,
            Self::Message(_) => 5,
            Self::Busy(_) => 6,
            Self::State(_) => 7,
            Self::Parameter(_) => 8,
            Self::Token => 9,
            Self::Off => 10,
            Self::Of { refusal, .. } => refusal.code(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ERR {} ", self.code())?;
        self.explain(formatter)
    }
}

impl Refusal {
    /// The problem, without its code on the wire.
    pub fn explanation(&self) -> String {
        struct Explained<'r>(&'r Refusal);
        impl fmt::Display for Explained<'_> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.explain(formatter)
            }
        }
        Explained(self).to_string()
    }

    fn explain(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verb { got, known } => {
                let verb = got.split_ascii_whitespace().next().unwrap_or_default();
                let is_verb = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
                let verbs = known.split(|c: char| !c.is_ascii_alphabetic()).filter(is_verb);
                write!(formatter, "expected {known}, got '{got}'{}", did_you_mean(verb, verbs))
            }
            Self::Count { expected, got } => write!(formatter, "expected {expected} numbers, got {got}"),
            Self::NotANumber { place, got } => {
                write!(formatter, "number {place}: expected a finite decimal, got '{got}'")
            }
            Self::Range { name, expected, got } => write!(formatter, "{name}: expected {expected}, got {got}"),
            Self::Message(what) | Self::Busy(what) | Self::State(what) | Self::Parameter(what) => {
                formatter.write_str(what)
            }
            Self::Off => formatter.write_str("the device is off; FAULT ok brings it back"),
            Self::Of { device, refusal } => {
                write!(formatter, "{device}: ")?;
                refusal.explain(formatter)
            }
            Self::Token => formatter.write_str("expected TOKEN and the server's token"),
        }
    }
}

impl std::error::Error for Refusal {}
