//! What the error numbers of MySQL and MariaDB mean for the person at the keyboard.

use sqlx::mysql::MySqlDatabaseError;

use super::super::LOCK_TIMEOUT;
use crate::recorder::error::Failure;

pub(in crate::recorder) fn of(error: &sqlx::Error) -> Failure {
    let number = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    match number.map(MySqlDatabaseError::number) {
        // Too many connections, a server that shuts down.
        Some(1040 | 1053 | 1077 | 1079 | 1152 | 1203 | 1226) => Failure::Unreachable,
        // A deadlock, a statement or a connection that somebody ended.
        Some(1213 | 1317 | 1927) => Failure::Interrupted,
        Some(1205) => Failure::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        Some(1290 | 1836) => Failure::ReadOnly,
        Some(1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698) => Failure::Denied,
        Some(1049) => Failure::Missing,
        // A table or a column that is not there.
        Some(1146 | 1054) => Failure::NotALog,
        Some(1021 | 1114 | 3675) => Failure::DiskFull,
        _ => Failure::Other,
    }
}
