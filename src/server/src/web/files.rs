//! The page itself: what `build.rs` has put into the program.

use axum::{
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// The text of a file of the page.
pub(super) fn text(path: &str) -> Option<&'static str> {
    find(path).and_then(|file| std::str::from_utf8(file.bytes).ok())
}

/// Whether anybody may have it. It holds nothing of the world.
pub(super) fn is_public(path: &str) -> bool {
    find(path).is_some()
}

/// A file of the page.
pub(super) async fn answer(uri: Uri) -> Response {
    match find(uri.path()) {
        Some(file) => ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "there is nothing here; the page is at /\n").into_response(),
    }
}
