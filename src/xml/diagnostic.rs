//! What is wrong with a file, and where.

use std::fmt;

use serde::Serialize;

/// How many characters of a line are shown before the place of a problem, and from it on.
const SHOWN_BEFORE: usize = 90;
const SHOWN_BEHIND: usize = 60;

/// One problem, at one place of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Path as it was opened.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The line of the file; empty if there is no such line.
    pub source_line: Box<str>,
    /// Where the assembly it stands in is placed, `path:line`, from the inside out; empty outside of assemblies.
    pub placed_at: Box<[String]>,
    /// What would put it right, if that can be guessed.
    pub help: Option<String>,
}

/// All problems found, in the order they were found; never empty in an `Err`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diagnostics {
    /// The first problems, at most [`Diagnostics::SHOWN`].
    pub problems: Vec<Diagnostic>,
    /// How many more there were.
    pub more: usize,
}

impl Diagnostic {
    /// A problem at a byte offset of a text. An offset beyond the text means its end, one inside a character means that
    /// character.
    pub fn at(path: &str, text: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let source_line = text[start..].lines().next().unwrap_or_default();
        Self {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            message: message.into(),
            source_line: source_line.into(),
            placed_at: Box::default(),
            help: None,
        }
    }

    /// The same with a hint.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Diagnostics {
    /// Problems beyond this number are only counted.
    pub const SHOWN: usize = 50;

    /// Adds a problem. What an assembly has wrong is told once, however often it is placed.
    pub fn push(&mut self, problem: Diagnostic) {
        let place = |one: &Diagnostic| (one.line, one.column);
        let same = |one: &&Diagnostic| place(one) == place(&problem) && one.path == problem.path;
        if self.problems.iter().filter(same).any(|one| one.message == problem.message) {
            return;
        }
        if self.problems.len() < Self::SHOWN {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// True if nothing is wrong.
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
        writeln!(formatter, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)?;
        if self.source_line.is_empty() {
            return self.write_notes(formatter);
        }
        // Of a long line only the part around the place is shown.
        let skipped = (self.column - 1).saturating_sub(SHOWN_BEFORE);
        let shown: String = self.source_line.chars().skip(skipped).take(SHOWN_BEFORE + SHOWN_BEHIND).collect();
        // Tabs stay tabs, so that the caret stands under its character whatever a terminal makes of them.
        let indent = shown.chars().take(self.column - 1 - skipped).map(|c| if c == '\t' { '\t' } else { ' ' });
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
    fn the_same_problem_is_told_once() {
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
