//! The documentation at `/docs`. It holds nothing of the world, so it needs no token.

use std::{borrow::Cow, sync::Arc};

use axum::{
    extract::State,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

use super::context::Web;

/// Finds a file of the documentation by its path relative to `/docs/` (empty for the first page): its MIME type and its
/// bytes, or `None` if there is no such file.
///
/// The program gives this function, so that the server is not compiled again when a page changes.
pub type FindDocument = fn(&str) -> Option<(&'static str, Cow<'static, [u8]>)>;

/// The path of the first page.
const ROOT: &str = "/docs/";

/// Whether a path belongs to the documentation.
pub(super) fn holds(path: &str) -> bool {
    path == "/docs" || path.starts_with(ROOT)
}

/// `/docs` without the slash that relative links need.
pub(super) async fn redirect() -> Redirect {
    Redirect::permanent(ROOT)
}

/// A file of the documentation.
pub(super) async fn answer(State(web): State<Arc<Web>>, uri: Uri) -> Response {
    let path = uri.path().strip_prefix(ROOT).unwrap_or_default();
    match web.documentation.and_then(|find| find(path)) {
        Some((kind, bytes)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page; the documentation is at /docs/\n").into_response(),
    }
}
