//! Interprets the error numbers of MySQL and MariaDB.

use sqlx::mysql::MySqlDatabaseError;

use super::super::{
    driver::{ErrorCodes, QueryFault},
    error::ErrorKind,
    limits::LOCK_TIMEOUT,
    query_position::ErrorLocation,
};

pub(in crate::database) static ERROR_CODES: ErrorCodes = ErrorCodes { kind, query_fault, is_missing_table };

/// Classes of SQLSTATE for faults of a query or of the data that it reads: cardinality, data, transaction state (a
/// query that would write), syntax. The other classes are for faults of the server.
const QUERY_FAULTS: [&str; 4] = ["21", "22", "25", "42"];

fn kind(error: &sqlx::Error) -> ErrorKind {
    // `Connection::insert` refuses values that are too large before it sends them.
    if matches!(error, sqlx::Error::InvalidArgument(_)) {
        return ErrorKind::TooLarge;
    }
    let number = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    match number.map(MySqlDatabaseError::number) {
        // Too many connections, or a server that shuts down.
        Some(1040 | 1053 | 1077 | 1079 | 1152 | 1203 | 1226) => ErrorKind::Unreachable,
        // A deadlock, or a statement or connection that an operator ended.
        Some(1213 | 1317 | 1927) => ErrorKind::Interrupted,
        Some(1205) => ErrorKind::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        Some(1290 | 1836) => ErrorKind::ReadOnly,
        Some(1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698) => ErrorKind::Denied,
        Some(1049) => ErrorKind::Missing,
        // No such table or column.
        Some(1146 | 1054) => ErrorKind::NotALog,
        Some(1021 | 1114 | 3675) => ErrorKind::DiskFull,
        Some(1153) => ErrorKind::TooLarge,
        _ => ErrorKind::Other,
    }
}

fn query_fault(error: &sqlx::Error) -> Option<QueryFault> {
    let error = error.as_database_error()?;
    let class = error.code()?.get(..2)?.to_owned();
    let is_fault = QUERY_FAULTS.contains(&class.as_str());
    is_fault.then(|| QueryFault { message: error.message().to_owned(), location: parse_location(error.message()) })
}

fn is_missing_table(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "42S02")
}

/// Location that a message names, as in `near 'FORM pose' at line 1` or `Unknown column 'z' in 'SELECT'`.
fn parse_location(message: &str) -> ErrorLocation {
    if let Some((_, rest)) = message.split_once("near '") {
        let text = rest.rsplit_once("' at line").map(|(text, _)| text.to_owned());
        return text.map_or(ErrorLocation::Unknown, ErrorLocation::From);
    }
    let word = message.split_once("Unknown column '").or(message.split_once("Column '"));
    let word = word.and_then(|(_, rest)| Some(rest.split_once('\'')?.0));
    word.map_or(ErrorLocation::Unknown, |word| ErrorLocation::Word(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_location_that_a_message_names_is_found() {
        let message = "You have an error in your SQL syntax; check the manual for the right syntax to use near 'FORM pose' at line 1";
        assert_eq!(parse_location(message), ErrorLocation::From("FORM pose".into()));
        assert_eq!(parse_location("Unknown column 'height' in 'SELECT'"), ErrorLocation::Word("height".into()));
    }
}
