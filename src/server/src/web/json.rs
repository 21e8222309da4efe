//! HTTP responses in JSON.

use axum::{
    body::Bytes,
    http::header,
    response::{IntoResponse, Response},
};

/// A response with this JSON text.
pub(super) fn json(text: impl Into<Bytes>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}
