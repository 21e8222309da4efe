//! Interprets the result codes of SQLite.

use super::super::{
    driver::{ErrorCodes, QueryFault},
    error::ErrorKind,
    limits::LOCK_TIMEOUT,
    query_position::ErrorLocation,
};

pub(in crate::database) static ERROR_CODES: ErrorCodes = ErrorCodes { kind, query_fault, is_missing_table };

/// SQLite's primary result codes, from its C interface.
mod code {
    pub(super) const ERROR: u32 = 1;
    pub(super) const PERM: u32 = 3;
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const NOTADB: u32 = 26;
}

fn kind(error: &sqlx::Error) -> ErrorKind {
    let message = error.as_database_error().map_or("", |error| error.message());
    match primary_code(error) {
        Some(code::ERROR) if message.starts_with("no such table") || message.starts_with("no such column") => {
            ErrorKind::NotALog
        }
        Some(code::BUSY | code::LOCKED) => ErrorKind::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        Some(code::READONLY | code::PERM) => ErrorKind::ReadOnly,
        Some(code::FULL) => ErrorKind::DiskFull,
        Some(code::CANTOPEN) => ErrorKind::CannotOpen,
        Some(code::NOTADB | code::CORRUPT) => ErrorKind::NotADatabase,
        _ => ErrorKind::Other,
    }
}

/// True if another program holds a lock.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(code::BUSY | code::LOCKED))
}

/// True if the file, or one of the files that SQLite keeps beside it, cannot be created or written.
pub(super) fn is_read_only(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(code::READONLY | code::PERM | code::CANTOPEN))
}

fn query_fault(error: &sqlx::Error) -> Option<QueryFault> {
    let message = error.as_database_error()?.message();
    match primary_code(error)? {
        code::ERROR => Some(QueryFault { message: message.to_owned(), location: parse_location(message) }),
        code::READONLY => Some(QueryFault {
            message: "the statement would write, but a query may only read".into(),
            location: ErrorLocation::Unknown,
        }),
        _ => None,
    }
}

fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().starts_with("no such table"))
}

/// The primary result code, which is the low byte of the extended one.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let extended = error.as_database_error()?.code()?.parse::<u32>().ok()?;
    Some(extended & 0xff)
}

/// Location that a message names, as in `near "FORM": syntax error` or `no such column: z`.
fn parse_location(message: &str) -> ErrorLocation {
    let quoted = message.split_once("near \"").or(message.split_once("token: \"")).map(|(_, rest)| rest);
    let word = match quoted {
        Some(rest) => rest.rsplit_once('"').map(|(word, _)| word),
        None => message.split_once("no such ").or(message.split_once("ambiguous ")).and_then(|(_, rest)| {
            let (_, name) = rest.split_once(": ")?;
            Some(name.split([' ', '(']).next().unwrap_or(name))
        }),
    };
    word.map_or(ErrorLocation::Unknown, |word| ErrorLocation::Word(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_message_is_found() {
        let word = |word: &str| ErrorLocation::Word(word.into());
        assert_eq!(parse_location("near \"FORM\": syntax error"), word("FORM"));
        assert_eq!(parse_location("no such column: p.z"), word("p.z"));
        assert_eq!(parse_location("unrecognized token: \"'abc\""), word("'abc"));
        assert_eq!(parse_location("incomplete input"), ErrorLocation::Unknown);
    }
}
