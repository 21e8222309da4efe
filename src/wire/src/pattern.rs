//! Patterns of names.

/// True if a name matches a pattern, in which each `*` stands for any text, also for none.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
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
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
