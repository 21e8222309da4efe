//! Mapping of offsets to positions: a file's own text, the files it includes, and copies for each placement of an
//! assembly.

use std::{
    cell::{OnceCell, RefCell},
    fmt,
    rc::Rc,
};

use crate::{
    source::SourceFile,
    text::diagnostic::{Diagnostic, Location},
};

/// The texts of one reading, concatenated: the file itself from 0 on, then each added text. A placed assembly is read
/// from a copy of its text, so that an offset also identifies the placement.
pub(super) struct SourceMap<'a> {
    texts: RefCell<Vec<MappedText<'a>>>,
}

struct MappedText<'a> {
    /// The offset of its first byte.
    start: usize,
    file: File<'a>,
    /// Shared by all copies of the file.
    lines: Rc<Lines>,
    /// The offset of the `<place>` that it is a copy for.
    placed_at: Option<usize>,
}

#[derive(Clone)]
enum File<'a> {
    Own { path: &'a str, text: &'a str },
    Included(Rc<SourceFile>),
}

/// An index of a text's lines, built on first use.
#[derive(Default)]
struct Lines(OnceCell<Index>);

struct Index {
    /// Start of each line.
    starts: Vec<usize>,
    /// Number of characters that begin before each [`BLOCK_BYTES`] of bytes.
    characters: Vec<usize>,
}

/// Bytes between two entries of the index of characters.
const BLOCK_BYTES: usize = 1024;

impl Index {
    fn new(text: &str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1)).collect();
        let mut characters = vec![0];
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            characters.push(characters[characters.len() - 1] + characters_begun(block));
        }
        Self { starts, characters }
    }

    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK_BYTES;
        self.characters[block] + characters_begun(&text.as_bytes()[block * BLOCK_BYTES..offset])
    }
}

/// Number of characters that begin in these bytes of a text.
fn characters_begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

impl MappedText<'_> {
    /// Line and column of an offset, both from 1, and the start of the line.
    fn locate(&self, offset: usize) -> Location {
        let text = self.file.text();
        let offset = (offset - self.start).min(text.len());
        let index = self.lines.0.get_or_init(|| Index::new(text));
        let line = index.starts.partition_point(|&start| start <= offset);
        let start = index.starts[line - 1];
        let column = index.characters_before(text, offset) - index.characters_before(text, start) + 1;
        Location { line, column, start }
    }
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
            Self::Included(file) => file.text(),
        }
    }
}

/// A place in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SourcePlace {
    pub(super) path: String,
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.path, self.line, self.column)
    }
}

impl<'a> SourceMap<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        let own = MappedText { start: 0, file: File::Own { path, text }, lines: Rc::default(), placed_at: None };
        Self { texts: RefCell::new(vec![own]) }
    }

    /// Takes in another file; offsets in it count from the number returned.
    pub(super) fn include(&self, file: Rc<SourceFile>) -> usize {
        self.append(File::Included(file), Rc::default(), None)
    }

    /// Adds a copy of the text at `offset`, for the `<place>` at `placed_at`, and returns the displacement of the
    /// copy's offsets.
    pub(super) fn copy(&self, offset: usize, placed_at: usize) -> usize {
        let (start, file, lines) =
            self.with_text(offset, |origin| (origin.start, origin.file.clone(), Rc::clone(&origin.lines)));
        self.append(file, lines, Some(placed_at)) - start
    }

    fn append(&self, file: File<'a>, lines: Rc<Lines>, placed_at: Option<usize>) -> usize {
        let mut texts = self.texts.borrow_mut();
        // One more than the length, for the offset of a text's end.
        let start = texts.last().map_or(0, |last| last.start + last.file.text().len() + 1);
        texts.push(MappedText { start, file, lines, placed_at });
        start
    }

    fn with_text<R>(&self, offset: usize, look: impl FnOnce(&MappedText<'a>) -> R) -> R {
        let texts = self.texts.borrow();
        let behind = texts.partition_point(|origin| origin.start <= offset);
        look(&texts[behind - 1])
    }

    /// Shows the text from an offset on.
    pub(super) fn text_at<R>(&self, offset: usize, look: impl FnOnce(&str) -> R) -> R {
        self.with_text(offset, |origin| look(&origin.file.text()[offset - origin.start..]))
    }

    /// The place of an offset.
    pub(super) fn place(&self, offset: usize) -> SourcePlace {
        self.with_text(offset, |origin| {
            let Location { line, column, .. } = origin.locate(offset);
            SourcePlace { path: origin.file.path().to_owned(), line, column }
        })
    }

    /// Calls `look` with the path of an offset's file and the offset in it.
    pub(super) fn in_file(&self, offset: usize, look: impl FnOnce(&str, usize)) {
        self.with_text(offset, |origin| look(origin.file.path(), offset - origin.start));
    }

    /// A problem at an offset, with the placements that lead to it.
    pub(super) fn diagnostic(&self, offset: usize, message: String) -> Diagnostic {
        let (mut problem, mut placed_at) = self.with_text(offset, |origin| {
            let (path, text) = (origin.file.path(), origin.file.text());
            let problem = Diagnostic::located(path, text, origin.locate(offset), offset - origin.start, message);
            (problem, origin.placed_at)
        });
        let mut places = Vec::new();
        while let Some(place) = placed_at {
            places.push(self.place(place).to_string());
            placed_at = self.with_text(place, |origin| origin.placed_at);
        }
        problem.placed_at = places.into();
        problem
    }
}
