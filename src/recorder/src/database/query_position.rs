//! Where in a user's query the database found an error.

/// A position in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPosition {
    /// Its line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
    /// The text of that line.
    pub text: String,
}

impl QueryPosition {
    /// The position of a byte of the query.
    pub(crate) fn of_byte(sql: &str, byte: usize) -> Option<Self> {
        let before = sql.get(..byte)?;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Some(Self {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            text: sql[start..].lines().next().unwrap_or("").to_owned(),
        })
    }

    /// The position as part of a sentence.
    pub(super) fn phrase(&self) -> String {
        format!(" at line {}, character {}", self.line, self.column)
    }

    /// The line, with a mark below the position.
    pub(super) fn excerpt(&self) -> String {
        format!("\n  {}\n  {}^", self.text, " ".repeat(self.column - 1))
    }
}

/// How a database reports the location of an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ErrorLocation {
    /// By the character of the text that it was sent, from 1.
    Character(usize),
    /// By the text that begins there.
    From(String),
    /// By the word at that place.
    Word(String),
    /// Not at all.
    Unknown,
}
