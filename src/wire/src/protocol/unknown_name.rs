//! The refusal of an unknown name.

use super::{Refusal, number::excerpt};
use crate::near::did_you_mean;

/// Number of known names that a refusal lists.
pub(super) const MAX_LISTED_NAMES: usize = 20;

/// The refusal of a name that is not among the known ones. For a long list, it names the request that lists them.
pub(super) fn unknown_name(known: &[String], got: &str, request: &str) -> Refusal {
    let names = known.iter().map(String::as_str);
    let last_parts = names.clone().filter_map(|name| Some(name.rsplit_once('/')?.1)).filter(|_| !got.contains('/'));
    let near = did_you_mean(got, names.clone().chain(last_parts));
    let mut listed: Vec<&str> = names.take(MAX_LISTED_NAMES).collect();
    let others = format!("others; {request} lists them");
    if known.len() > MAX_LISTED_NAMES {
        listed.push(&others);
    }
    Refusal::Parameter(format!("expected one of {}, got '{}'{near}", listed.join(", "), excerpt(got)))
}
