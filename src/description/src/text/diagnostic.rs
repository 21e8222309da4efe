//! Problems of files, each with its place.

use std::fmt;

use serde::Serialize;

/// Characters of a line that are shown before the place of a problem, and from it on.
const SHOWN_BEFORE: usize = 90;
const SHOWN_BEHIND: usize = 60;
/// Characters of a message and of a hint, at most: six lines of a terminal.
const MAX_MESSAGE: usize = 600;

/// A problem at a position of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Path as it was opened.
    pub path: String,
    /// Line, from 1; 0 for a problem that has no place in a file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The line of the file, or the part around the position of a long one; empty if there is no such line.
    pub source_line: Box<str>,
    /// Column of the first character of `source_line`: 1 but in a long line.
    pub source_column: usize,
    /// Positions of the placements of the surrounding assemblies, `path:line:column`, from the inside out; empty
    /// outside of assemblies.
    pub placed_at: Box<[String]>,
    /// A suggested correction.
    pub help: Option<Box<str>>,
}

/// Line and column of an offset in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// Offset of the line's first character.
    pub(crate) start: usize,
}

/// All problems found, in the order they were found; never empty in an `Err`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diagnostics {
    /// The first problems, at most [`Diagnostics::SHOWN`].
    pub problems: Vec<Diagnostic>,
    /// Number of further problems.
    pub more: usize,
}

impl Diagnostic {
    /// A problem at a byte offset of a text. An offset beyond the text means its end, one inside a character means that
    /// character.
    pub fn at(path: &str, text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..boundary(text, offset)];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let location =
            Location { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1, start };
        Self::located(path, text, location, offset, message)
    }

    /// The same for a known position.
    pub(crate) fn located(
        path: &str,
        text: &str,
        location: Location,
        offset: usize,
        message: impl Into<String>,
    ) -> Self {
        let Location { line, column, start } = location;
        // Of a long line only the part around the place is kept.
        let before = text[start..boundary(text, offset)].char_indices().rev().take(SHOWN_BEFORE);
        let (skipped, count) = before.fold((None, 0), |(_, count), (index, _)| (Some(index), count + 1));
        let shown = text[start + skipped.unwrap_or(0)..].lines().next().unwrap_or_default();
        let end = shown.char_indices().nth(SHOWN_BEFORE + SHOWN_BEHIND).map_or(shown.len(), |(index, _)| index);
        Self {
            path: path.to_owned(),
            line,
            column,
            message: limit_length(message.into()),
            source_line: shown[..end].into(),
            source_column: column - count,
            placed_at: Box::default(),
            help: None,
        }
    }

    /// A problem of something other than a file, such as a parameter of the command line.
    pub fn outside_files(subject: &str, message: impl Into<String>) -> Self {
        Self { line: 0, column: 0, ..Self::at(subject, "", 0, message) }
    }

    /// The same with a hint.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(limit_length(help.into()).into());
        self
    }
}

impl Diagnostics {
    /// Problems beyond this number are only counted.
    pub const SHOWN: usize = 50;

    /// Adds a problem. An assembly's errors are reported once, however often it is placed.
    pub fn push(&mut self, problem: Diagnostic) {
        let place = |one: &Diagnostic| (one.line, one.column);
        let same = |one: &&Diagnostic| place(one) == place(&problem) && one.path == problem.path;
        if self.problems.iter().filter(same).any(|one| one.message == problem.message) {
            return;
        }
        if self.is_full() {
            self.more += 1;
        } else {
            self.problems.push(problem);
        }
    }

    /// True if further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.problems.len() >= Self::SHOWN
    }

    /// The first problems as one line of text, for the protocol.
    pub fn one_line(&self) -> String {
        /// Largest number of problems in the line.
        const MAX_PROBLEMS: usize = 3;
        let listed = self.problems.iter().take(MAX_PROBLEMS).map(|problem| {
            let help = problem.help.as_deref().map_or(String::new(), |help| format!("; {help}"));
            match problem.line {
                0 => format!("{}: {}{help}", problem.path, problem.message),
                line => format!("{}:{line}:{}: {}{help}", problem.path, problem.column, problem.message),
            }
        });
        let mut line = listed.collect::<Vec<_>>().join("; ");
        let more = self.problems.len().saturating_sub(MAX_PROBLEMS) + self.more;
        if more > 0 {
            line += &format!("; and {more} more");
        }
        line.replace(['\n', '\r'], " ")
    }

    /// True if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(problem: Diagnostic) -> Self {
        Self { problems: vec![problem], more: 0 }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => writeln!(formatter, "{}: {}", self.path, self.message)?,
            line => writeln!(formatter, "{}:{line}:{}: {}", self.path, self.column, self.message)?,
        }
        if self.source_line.is_empty() {
            return self.write_notes(formatter);
        }
        // A file that is refused for a control character must not send it to a terminal.
        let plain = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
        let shown: String = self.source_line.chars().map(plain).collect();
        // Tabs are kept, so that the caret is below its character for any tab width.
        let indent = shown.chars().take(self.column - self.source_column);
        let indent = indent.map(|c| if c == '\t' { '\t' } else { ' ' });
        writeln!(formatter, "  {shown}\n  {}^", indent.collect::<String>())?;
        self.write_notes(formatter)
    }
}

impl Diagnostic {
    fn write_notes(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.placed_at.iter().try_for_each(|place| writeln!(formatter, "placed at {place}"))?;
        self.help.iter().try_for_each(|help| writeln!(formatter, "help: {help}"))
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problems.iter().try_for_each(|problem| problem.fmt(formatter))?;
        if self.more > 0 {
            writeln!(formatter, "and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// The offset, or the nearest character boundary before it.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// A text limited to [`MAX_MESSAGE`] characters, without control characters that a terminal would execute.
fn limit_length(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_MESSAGE) {
        text.truncate(end);
        text.push_str("...");
    }
    if text.chars().any(char::is_control) { text.replace(char::is_control, "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_character_meant() {
        let text = "<a>\n\t<ä b='1'/>\n";
        let problem =
            Diagnostic::at("f.xml", text, text.find('b').unwrap(), "unknown attribute 'b'").with_help("drop it");
        assert_eq!(problem.to_string(), "f.xml:2:5: unknown attribute 'b'\n  \t<ä b='1'/>\n  \t   ^\nhelp: drop it\n");
    }

    #[test]
    fn an_offset_beyond_the_text_means_its_end() {
        let problem = Diagnostic::at("f.xml", "ab", 99, "cut off");
        assert_eq!((problem.line, problem.column), (1, 3));
    }

    #[test]
    fn the_same_problem_is_reported_once() {
        let mut all = Diagnostics::default();
        (0..2).for_each(|_| all.push(Diagnostic::at("f.xml", "x", 0, "no")));
        assert_eq!(all.problems.len(), 1);
    }

    #[test]
    fn problems_beyond_the_cap_are_counted() {
        let mut all = Diagnostics::default();
        (0..53).for_each(|count| all.push(Diagnostic::at("f.xml", "x", 0, format!("no {count}"))));
        assert_eq!((all.problems.len(), all.more), (50, 3));
        assert!(all.to_string().ends_with("and 3 more\n"));
    }
}
