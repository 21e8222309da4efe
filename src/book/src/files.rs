//! The files of `docs/src`, as `build.rs` has put them into the program.

/// A file of the book.
#[derive(Debug)]
pub struct File {
    /// Its path in `docs/src`, with `/`.
    pub path: &'static str,
    /// Its content; of a page with all that it includes.
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The Markdown of a page, by its path in `docs/src`.
pub fn markdown(path: &str) -> Option<&'static str> {
    let file = FILES.iter().find(|file| file.path == path && path.ends_with(".md"))?;
    std::str::from_utf8(file.bytes).ok()
}
