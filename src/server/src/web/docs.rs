//! The documentation at `/docs`. It holds nothing of the world, so it needs no token.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

use super::{context::Web, document::ROOT};

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
