//! What a connection and the drivers below it agree on.

use super::{error::ErrorKind, query_position::ErrorLocation};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Writing. The tables are created or brought up to date, and an SQLite file is created if missing.
    Write,
    /// Reading one state of the database for as long as the connection lives, with no way to write.
    Read,
}

/// What the codes of a database's errors mean.
pub(super) struct ErrorCodes {
    pub(super) kind: fn(&sqlx::Error) -> ErrorKind,
    /// What is wrong with a query, and where; `None` if it is not the query that is at fault.
    pub(super) query_fault: fn(&sqlx::Error) -> Option<QueryFault>,
    /// Whether the table of a query does not exist.
    pub(super) is_missing_table: fn(&sqlx::Error) -> bool,
}

/// How a database wants a user's query to be written.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    /// The schema of the log's tables, with a dot behind.
    pub(crate) schema: String,
    /// The keywords between the name of a common table expression and its query.
    pub(crate) with_keywords: &'static str,
    /// True if `Pose` and `pose` are two tables.
    pub(crate) is_case_sensitive: bool,
}

/// What is wrong with a user's query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueryFault {
    /// In the database's own words.
    pub(crate) message: String,
    pub(crate) location: ErrorLocation,
}
