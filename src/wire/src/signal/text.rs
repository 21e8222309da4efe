//! Control characters in texts: a rule for input, and an escaped form for output.
//!
//! Texts come from files, ports and pages, are logged into databases and printed on terminals. Some databases cannot
//! store a NUL, and a terminal would execute an escape sequence in a name. So every input refuses control characters by
//! this one rule, and every output to a terminal escapes them, because a database may come from elsewhere.

use std::{borrow::Cow, fmt};

/// A control character that no text may contain: all of C0 but tab and line ends, DEL, and all of C1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlCharacter {
    /// Its position in the text, bytes.
    pub at: usize,
    /// The character.
    pub character: char,
}

impl fmt::Display for ControlCharacter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the control character U+{:04X}", u32::from(self.character))
    }
}

impl ControlCharacter {
    /// The first one in a text.
    pub fn find(text: &str) -> Option<Self> {
        let found = text.char_indices().find(|(_, character)| Self::is_refused(*character));
        found.map(|(at, character)| Self { at, character })
    }

    /// True if no text may hold this character.
    pub fn is_refused(character: char) -> bool {
        character.is_control() && !matches!(character, '\t' | '\n' | '\r')
    }
}

/// The text for a terminal, with `\u001b` in place of an escape character. Tabs and line feeds stay; all other control
/// characters and those that reverse the direction of writing are escaped. Within a string of JSON, the escape has the
/// same meaning.
pub fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| (c.is_control() && !matches!(c, '\t' | '\n')) || is_direction(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match hidden(character) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// True if a character changes the direction of the following text, which would then read as something else.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_but_tab_and_line_ends_is_refused() {
        for code in 0..=0x10ffff {
            let Some(character) = char::from_u32(code) else { continue };
            let expected = (code < 0x20 && ![9, 10, 13].contains(&code)) || (0x7f..=0x9f).contains(&code);
            assert_eq!(ControlCharacter::is_refused(character), expected, "U+{code:04X}");
        }
        assert_eq!(ControlCharacter::find("aä\u{9b}m").unwrap().to_string(), "the control character U+009B");
        assert_eq!(ControlCharacter::find("aä\u{9b}m").unwrap().at, 3);
        assert_eq!(ControlCharacter::find("a\tb\r\nünï☃"), None);
    }

    #[test]
    fn what_is_shown_holds_no_control_character_and_is_the_same_within_json() {
        let text = "a\u{1b}[31m\u{9b}\0\u{7f}\u{202e}b\tc\nd";
        assert_eq!(printable(text), "a\\u001b[31m\\u009b\\u0000\\u007f\\u202eb\tc\nd");
        assert!(matches!(printable("ünï☃"), Cow::Borrowed(_)));
        let quoted = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&printable(&quoted)).unwrap(), text);
    }
}
