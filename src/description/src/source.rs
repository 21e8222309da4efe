//! Files as they were read, and warnings about them.

use std::{fmt, sync::Arc};

use serde::Serialize;

/// A warning: the file is valid, but this is probably a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// `file:line:column` of the element.
    pub place: String,
    /// The finding and its consequence.
    pub what: String,
    /// The suggested change.
    pub help: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.place, self.what, self.help)
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as it was opened.
    pub path: String,
    /// All of it.
    pub content: Content,
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Arc<[u8]>),
}

impl SourceFile {
    /// A file of text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), content: Content::Text(text.into()) }
    }

    /// A file of any kind. It is text if its bytes are: UTF-8 and without the character 0, which databases have no
    /// place for in text.
    pub fn of_bytes(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        let content = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Content::Text(text),
            Ok(text) => Content::Bytes(text.into_bytes().into()),
            Err(error) => Content::Bytes(error.into_bytes().into()),
        };
        Self { path: path.into(), content }
    }

    /// Its text; empty for a file that is not text.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Bytes(_) => "",
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}
