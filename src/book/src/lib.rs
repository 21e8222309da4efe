//! The documentation of `docs/src`, built into the program: pages as Markdown and as HTML, pictures, and an index to
//! search.
//!
//! It knows nothing of servers; [`file()`] answers for a path, whoever asks. `mdbook build docs` makes the same pages
//! as files.

mod files;
mod page;
mod summary;

use std::{borrow::Cow, sync::OnceLock};

pub use files::{FILES, File, markdown};
pub use page::{Section, heading_id, sections};
pub use summary::{Chapter, chapters};

/// Style and script of the HTML pages.
const ASSETS: [(&str, &str); 2] = [("book.css", include_str!("book.css")), ("book.js", include_str!("book.js"))];

/// A file of the HTML book, and its MIME type, by its path relative to the book's root. The root itself is the first
/// chapter, and `search.json` the sections of all pages.
pub fn file(path: &str) -> Option<(&'static str, Cow<'static, [u8]>)> {
    if let Some((name, text)) = ASSETS.iter().find(|(name, _)| *name == path) {
        let kind = if name.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        return Some((kind, text.as_bytes().into()));
    }
    if path == "search.json" {
        return Some(("application/json", search_index().as_bytes().into()));
    }
    if path.is_empty() || path.ends_with(".html") {
        let page = match path.strip_suffix(".html") {
            Some(stem) => format!("{stem}.md"),
            None => chapters().into_iter().next()?.path.to_owned(),
        };
        let text = page::html(&page, markdown(&page)?);
        return Some(("text/html; charset=utf-8", text.into_bytes().into()));
    }
    let file = FILES.iter().find(|file| file.path == path)?;
    let kind = match path.rsplit('.').next()? {
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        _ => return None,
    };
    Some((kind, file.bytes.into()))
}

/// The sections of all pages as JSON, which the script searches: `[{"link", "title", "text"}]`.
fn search_index() -> &'static str {
    static SEARCH_INDEX: OnceLock<String> = OnceLock::new();
    SEARCH_INDEX.get_or_init(|| {
        let chapters = chapters().into_iter();
        let sections = chapters
            .filter_map(|chapter| markdown(chapter.path).map(|text| sections(chapter.path, text)))
            .flatten()
            .map(|section| serde_json::json!({ "link": section.link, "title": section.title, "text": section.text }));
        serde_json::Value::from_iter(sections).to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chapter_is_a_page_and_every_page_a_chapter() {
        let mut named: Vec<&str> = chapters().iter().map(|chapter| chapter.path).collect();
        let mut there: Vec<&str> =
            FILES.iter().map(|file| file.path).filter(|path| path.ends_with(".md") && *path != "SUMMARY.md").collect();
        named.sort_unstable();
        there.sort_unstable();
        assert_eq!(named, there);
    }

    #[test]
    fn the_root_is_the_first_chapter_with_the_list_of_all() {
        let (kind, bytes) = file("").unwrap();
        let text = String::from_utf8(bytes.into_owned()).unwrap();
        assert_eq!(kind, "text/html; charset=utf-8");
        for chapter in chapters() {
            let link = format!("href=\"{}\"", chapter.path.replace(".md", ".html"));
            assert!(text.contains(&link), "{link}");
        }
    }

    #[test]
    fn paths_outside_of_the_book_are_none() {
        for path in ["../Cargo.toml", "SUMMARY", "SUMMARY.md", "none.html", "tutorials/", "book.jss"] {
            assert!(file(path).is_none(), "{path}");
        }
    }
}
