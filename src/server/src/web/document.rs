//! The paths of the documentation, and the function that finds its files.

use std::borrow::Cow;

/// Finds a file of the documentation by its path relative to `/docs/` (empty for the first page): its MIME type and its
/// bytes, or `None` if there is no such file.
///
/// The program gives this function, so that the server is not compiled again when a page changes.
pub type FindDocument = fn(&str) -> Option<(&'static str, Cow<'static, [u8]>)>;

/// The path of the first page.
pub(super) const ROOT: &str = "/docs/";

/// True if a path belongs to the documentation.
pub(super) fn holds(path: &str) -> bool {
    path == "/docs" || path.starts_with(ROOT)
}
