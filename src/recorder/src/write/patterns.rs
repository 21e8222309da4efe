//! Patterns for the names of bodies, joints and devices.

use simpartner_wire::pattern::matches_pattern;

/// A list of patterns for names such as `WorkPartner/Wheel1`. A `*` in a pattern matches any part of a name. An empty
/// list matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// The list of these patterns.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// The list of the pattern `*`, which matches every name.
    pub fn everything() -> Self {
        Self(vec!["*".into()])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }

    /// True if the name matches one of the patterns.
    pub fn fit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| matches_pattern(pattern, name))
    }
}
