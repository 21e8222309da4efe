//! Interprets the error codes of PostgreSQL.

use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

use super::super::{
    driver::{ErrorCodes, QueryFault},
    error::ErrorKind,
    limits::LOCK_TIMEOUT,
    query_position::ErrorLocation,
};

pub(in crate::database) static ERROR_CODES: ErrorCodes = ErrorCodes { kind, query_fault, is_missing_table };

/// Classes of SQLSTATE for faults of a query or of the data that it reads: features, cardinality, data, transaction
/// state (a query that would write), functions, cursors, syntax, PL/pgSQL. The other classes are for faults of the
/// server.
const QUERY_FAULTS: [&str; 10] = ["0A", "21", "22", "25", "2F", "34", "38", "39", "42", "P0"];

fn kind(error: &sqlx::Error) -> ErrorKind {
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else { return ErrorKind::Other };
    match &*code {
        // A lost connection, a server that starts or shuts down, or too many connections.
        "53300" => ErrorKind::Unreachable,
        _ if code.starts_with("08") || code.starts_with("57P") => ErrorKind::Unreachable,
        // A conflict, a deadlock, or a statement that took too long or that an operator cancelled.
        "40001" | "40P01" | "57014" => ErrorKind::Interrupted,
        "55P03" => ErrorKind::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        "25006" => ErrorKind::ReadOnly,
        "28000" | "28P01" | "42501" => ErrorKind::Denied,
        "3D000" => ErrorKind::Missing,
        // No such table or column.
        "42P01" | "42703" => ErrorKind::NotALog,
        "53100" => ErrorKind::DiskFull,
        _ => ErrorKind::Other,
    }
}

fn query_fault(error: &sqlx::Error) -> Option<QueryFault> {
    let error = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    if !QUERY_FAULTS.contains(&error.code().get(..2)?) {
        return None;
    }
    let location = match error.position() {
        Some(PgErrorPosition::Original(character)) => ErrorLocation::Character(character),
        _ => ErrorLocation::Unknown,
    };
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Some(QueryFault { message: error.message().to_owned() + &hint, location })
}

fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "42P01")
}
