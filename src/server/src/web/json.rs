//! An answer in JSON.

use axum::{
    body::Bytes,
    http::header,
    response::{IntoResponse, Response},
};

/// An answer with this text in JSON.
pub(super) fn json(text: impl Into<Bytes>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}
