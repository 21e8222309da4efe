//! Patterns for the names of bodies, joints and devices.

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
        self.0.iter().any(|pattern| pattern_matches(pattern, name))
    }
}

/// True if a name matches a pattern.
pub(super) fn pattern_matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        // The last part has to be at the end of the name. For a part before it, the earliest position is as good as
        // any.
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "R/Wheel1", true),
            ("R/*", "R/Wheel1", true),
            ("R/*", "RR/Wheel1", false),
            ("*Wheel*", "R/Wheel1", true),
            ("*/Wheel*1", "R/Wheel11", true),
            ("*/Wheel*1", "R/Wheel12", false),
            ("R/Wheel1", "R/Wheel1", true),
            ("R/Wheel1", "R/Wheel12", false),
            ("R/W*l1*1", "R/Wheel1", false),
            ("", "R", false),
        ] {
            assert_eq!(pattern_matches(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!Patterns::new([]).fit("R"));
    }
}
