//! Position of an error in a user's query.

/// A position in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPosition {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the character in the line, from 1.
    pub column: usize,
    /// Text of the line.
    pub text: String,
}

impl QueryPosition {
    /// Position of a byte of the query.
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

/// Location of an error as a database reports it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ErrorLocation {
    /// Number of the character in the text sent to the database, from 1.
    Character(usize),
    /// The text from the location on.
    From(String),
    /// The word at the location.
    Word(String),
    /// No location is reported.
    Unknown,
}
