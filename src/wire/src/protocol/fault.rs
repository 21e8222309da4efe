//! Faults as text.

use super::{
    Refusal,
    number::{excerpt, read_numbers},
};
use crate::signal::Fault;

/// The longest delay that a fault may bring, seconds.
const MAX_DELAY_S: f64 = 60.0;

/// All faults, for errors.
pub(super) const FAULT_WORDS: &str = "ok, off, stuck, garbage, delayed SECONDS or intermittent PROBABILITY";

/// Reads the parameters of `FAULT`.
///
/// # Errors
/// The fault is unknown, or its value is missing, superfluous or out of range.
pub(super) fn read_fault(text: &str) -> Result<Fault, Refusal> {
    let mut words = text.split_ascii_whitespace();
    let (mode, value, rest) = (words.next().unwrap_or("").to_ascii_lowercase(), words.next(), words.next());
    match (&*mode, value, rest) {
        ("ok", None, None) => Ok(Fault::None),
        ("off", None, None) => Ok(Fault::Off),
        ("stuck", None, None) => Ok(Fault::Stuck),
        ("garbage", None, None) => Ok(Fault::Garbage),
        ("delayed", Some(value), None) => figure("delayed", value, MAX_DELAY_S).map(Fault::Delayed),
        ("intermittent", Some(value), None) => figure("intermittent", value, 1.0).map(Fault::Intermittent),
        _ => Err(Refusal::Parameter(format!("expected {FAULT_WORDS}, got '{}'", excerpt(text)))),
    }
}

fn figure(name: &str, text: &str, highest: f64) -> Result<f64, Refusal> {
    match read_numbers(text)?[..] {
        [value] if value > 0.0 && value <= highest => Ok(value),
        [got, ..] => Err(Refusal::Range { name: name.to_owned(), expected: format!("above 0 to {highest}"), got }),
        [] => Err(Refusal::NotANumber { place: 1, got: excerpt(text) }),
    }
}
