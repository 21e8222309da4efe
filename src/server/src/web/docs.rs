//! The documentation at `/docs`, from the book that is built in. It holds nothing of the world, so it needs no token.

use std::sync::OnceLock;

use axum::{
    body::Bytes,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

/// The path of the book's root.
const ROOT: &str = "/docs/";

/// Whether a path belongs to the documentation.
pub(super) fn holds(path: &str) -> bool {
    path == "/docs" || path.starts_with(ROOT)
}

/// `/docs` without the slash that relative links need.
pub(super) async fn redirect() -> Redirect {
    Redirect::permanent(ROOT)
}

/// A file of the book.
pub(super) async fn answer(uri: Uri) -> Response {
    let path = uri.path().strip_prefix(ROOT).unwrap_or_default();
    if path == "search.json" {
        return super::json::json(index());
    }
    match simpartner_book::file(path) {
        Some((kind, bytes)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page; the documentation is at /docs/\n").into_response(),
    }
}

/// The sections of all pages, for the search.
fn index() -> Bytes {
    static INDEX: OnceLock<Bytes> = OnceLock::new();
    let sections = || {
        let pages = simpartner_book::chapters().into_iter();
        let sections = pages.filter_map(|chapter| {
            simpartner_book::markdown(chapter.path).map(|text| simpartner_book::sections(chapter.path, text))
        });
        let entries = sections
            .flatten()
            .map(|section| serde_json::json!({ "link": section.link, "title": section.title, "text": section.text }));
        serde_json::Value::from_iter(entries).to_string().into()
    };
    INDEX.get_or_init(sections).clone()
}
