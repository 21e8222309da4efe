//! Errors as Python's exceptions, the classes of `simpartner.errors`.

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyString,
};
use simpartner_embed::EmbedError;
use simpartner_wire::protocol::Refusal;

/// Name of the module with the classes.
const ERRORS: &str = "simpartner.errors";

/// The exception for an error.
pub(crate) fn exception_of(py: Python<'_>, error: &EmbedError) -> PyErr {
    let text = error.to_string();
    let inner = match error {
        EmbedError::InBatch { error, .. } => error,
        error => error,
    };
    match inner {
        EmbedError::Refused(refusal) => refusal_exception(py, refusal, error),
        EmbedError::Files(_) | EmbedError::World(_) => exception_named(py, "ModelError", text.trim_end()),
        EmbedError::Snapshot(_) => exception_named(py, "SnapshotError", &text),
        EmbedError::Diverged { .. } => exception_named(py, "DivergedError", &text),
        EmbedError::Length { .. } => PyValueError::new_err(text),
        EmbedError::Threads(_) | EmbedError::InBatch { .. } => PyRuntimeError::new_err(text),
    }
}

/// The class of a refusal, which depends on its code.
fn refusal_exception(py: Python<'_>, refusal: &Refusal, error: &EmbedError) -> PyErr {
    let who = match error {
        EmbedError::InBatch { index, .. } => format!("world {index}"),
        _ => "the simulation".to_owned(),
    };
    let read = || py.import(ERRORS)?.getattr("read_refusal")?.call1((refusal.to_string(), "", who));
    read().map_or_else(|error| error, PyErr::from_value)
}

/// An exception of a class of `simpartner.errors`.
pub(crate) fn exception_named(py: Python<'_>, class: &str, text: &str) -> PyErr {
    let new = || py.import(ERRORS)?.getattr(class)?.call1((PyString::new(py, text),));
    new().map_or_else(|error| error, PyErr::from_value)
}
