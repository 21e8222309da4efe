//! What PostgreSQL's codes mean for the person at the keyboard.

use super::super::LOCK_TIMEOUT;
use crate::recorder::error::Failure;

pub(in crate::recorder) fn of(error: &sqlx::Error) -> Failure {
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else { return Failure::Other };
    match &*code {
        // Connection trouble, a server that starts or shuts down, too many connections.
        "53300" => Failure::Unreachable,
        _ if code.starts_with("08") || code.starts_with("57P") => Failure::Unreachable,
        // A conflict, a deadlock, a statement that took too long or that somebody cancelled.
        "40001" | "40P01" | "57014" => Failure::Interrupted,
        "55P03" => Failure::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        "25006" => Failure::ReadOnly,
        "28000" | "28P01" | "42501" => Failure::Denied,
        "3D000" => Failure::Missing,
        // A table or a column that is not there.
        "42P01" | "42703" => Failure::NotALog,
        "53100" => Failure::DiskFull,
        _ => Failure::Other,
    }
}
