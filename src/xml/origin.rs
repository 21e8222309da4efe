//! Where offsets lead: a file's own text, the files it includes, and copies of either for each placement of an assembly.

use std::{cell::RefCell, fmt, rc::Rc};

use super::Diagnostic;
use crate::model::SourceFile;

/// The texts that the offsets of one reading mean, laid end to end: the file itself from 0 on, then each text that is taken
/// in. An assembly that is placed is read from a copy of its text, so that an offset also says which placement is meant.
pub(super) struct Origins<'a> {
    texts: RefCell<Vec<Origin<'a>>>,
}

struct Origin<'a> {
    /// The offset of its first byte.
    start: usize,
    file: File<'a>,
    /// The offset of the `<place>` that it is a copy for.
    placed_at: Option<usize>,
}

#[derive(Clone)]
enum File<'a> {
    Own { path: &'a str, text: &'a str },
    Included(Rc<SourceFile>),
}

impl File<'_> {
    fn path(&self) -> &str {
        match self {
            Self::Own { path, .. } => path,
            Self::Included(file) => &file.path,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Own { text, .. } => text,
            Self::Included(file) => &file.text,
        }
    }
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    /// From 1.
    pub(super) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.path, self.line)
    }
}

impl<'a> Origins<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        let own = Origin { start: 0, file: File::Own { path, text }, placed_at: None };
        Self { texts: RefCell::new(vec![own]) }
    }

    /// Takes in another file; offsets in it count from the number returned.
    pub(super) fn include(&self, file: Rc<SourceFile>) -> usize {
        self.append(File::Included(file), None)
    }

    /// Takes in a copy of the text that `offset` lies in, for the `<place>` at `placed_at`: what stood at an offset stands in
    /// the copy so much later.
    pub(super) fn copy(&self, offset: usize, placed_at: usize) -> usize {
        let (start, file) = self.with(offset, |origin| (origin.start, origin.file.clone()));
        self.append(file, Some(placed_at)) - start
    }

    fn append(&self, file: File<'a>, placed_at: Option<usize>) -> usize {
        let mut texts = self.texts.borrow_mut();
        // One more than the length, for the offset of a text's end.
        let start = texts.last().map_or(0, |last| last.start + last.file.text().len() + 1);
        texts.push(Origin { start, file, placed_at });
        start
    }

    fn with<R>(&self, offset: usize, look: impl FnOnce(&Origin<'a>) -> R) -> R {
        let texts = self.texts.borrow();
        let behind = texts.partition_point(|origin| origin.start <= offset);
        look(&texts[behind - 1])
    }

    /// Shows the text from an offset on.
    pub(super) fn text_at<R>(&self, offset: usize, look: impl FnOnce(&str) -> R) -> R {
        self.with(offset, |origin| look(&origin.file.text()[offset - origin.start..]))
    }

    /// The line of an offset.
    pub(super) fn place(&self, offset: usize) -> Place {
        self.with(offset, |origin| {
            let text = origin.file.text();
            let line = text[..(offset - origin.start).min(text.len())].matches('\n').count() + 1;
            Place { path: origin.file.path().to_owned(), line }
        })
    }

    /// A problem at an offset, with the placements that lead to it.
    pub(super) fn diagnostic(&self, offset: usize, message: String) -> Diagnostic {
        let (mut problem, mut placed_at) = self.with(offset, |origin| {
            let problem = Diagnostic::at(origin.file.path(), origin.file.text(), offset - origin.start, message);
            (problem, origin.placed_at)
        });
        let mut places = Vec::new();
        while let Some(place) = placed_at {
            places.push(self.place(place).to_string());
            placed_at = self.with(place, |origin| origin.placed_at);
        }
        problem.placed_at = places.into();
        problem
    }
}
