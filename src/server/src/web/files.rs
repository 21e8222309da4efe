//! The files of the page, which `build.rs` has built into the program.

use axum::{
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

/// A file of the page.
struct File {
    path: &'static str,
    /// Content type.
    kind: &'static str,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

fn find_file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// Text of a file of the page; `None` if there is no such file.
pub(super) fn file_text(path: &str) -> Option<&'static str> {
    find_file(path).and_then(|file| std::str::from_utf8(file.bytes).ok())
}

/// True if the path is a file of the page. Such files need no token, since they contain nothing of the world.
pub(super) fn is_public(path: &str) -> bool {
    find_file(path).is_some()
}

/// The response to a request for a file of the page.
pub(super) async fn answer(uri: Uri) -> Response {
    match find_file(uri.path()) {
        Some(file) => ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page; the viewer is at /\n").into_response(),
    }
}
