//! What clients read in answers.

/// The value behind `key=` in a line of such words.
pub fn word<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_by_its_whole_key() {
        let line = "DEVICE name=Motor port=1027 bound=40001 empty=";
        assert_eq!((word(line, "port"), word(line, "empty"), word(line, "por")), (Some("1027"), Some(""), None));
    }
}
