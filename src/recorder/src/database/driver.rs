//! Types shared by the connection and its drivers.

use super::{error::ErrorKind, query_position::ErrorLocation};

/// Purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Writing. The tables are created or brought up to date. A missing SQLite file is created.
    Write,
    /// Reading one snapshot of the database as long as the connection lives. Writing is impossible.
    Read,
}

/// Interpretation of the error codes of a database.
pub(super) struct ErrorCodes {
    pub(super) kind: fn(&sqlx::Error) -> ErrorKind,
    /// Fault of a query, with its location; `None` if the query is not the cause of the error.
    pub(super) query_fault: fn(&sqlx::Error) -> Option<QueryFault>,
    /// True if a table of the query does not exist.
    pub(super) is_missing_table: fn(&sqlx::Error) -> bool,
}

/// SQL dialect of a database, as far as rewritten queries of users depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    /// Schema of the log's tables, followed by a dot.
    pub(crate) schema: String,
    /// Keywords between the name of a common table expression and its query.
    pub(crate) with_keywords: &'static str,
    /// True if `Pose` and `pose` are different tables.
    pub(crate) is_case_sensitive: bool,
}

/// Fault of a user's query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueryFault {
    /// Message of the database.
    pub(crate) message: String,
    pub(crate) location: ErrorLocation,
}
