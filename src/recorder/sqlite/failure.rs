//! What SQLite's result codes mean for the person at the keyboard.

use std::path::Path;

use sqlx::migrate::MigrateError;

use super::BUSY_TIMEOUT;
use crate::recorder::RecorderError;

/// SQLite's primary result codes, from its C interface.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const NOTADB: u32 = 26;
}

pub(super) fn of_database(path: &Path, source: sqlx::Error) -> RecorderError {
    let path = path.to_owned();
    // The low byte of an extended code is the primary one.
    let extended = source.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    match extended.map(|extended| extended & 0xff) {
        Some(code::BUSY | code::LOCKED) => RecorderError::Locked { path, seconds: BUSY_TIMEOUT.as_secs() },
        Some(code::READONLY) => RecorderError::ReadOnly { path },
        Some(code::FULL) => RecorderError::DiskFull { path },
        Some(code::CANTOPEN) => RecorderError::CannotOpen { path },
        Some(code::NOTADB | code::CORRUPT) => RecorderError::NotADatabase { path },
        _ => RecorderError::Database { path, source },
    }
}

pub(super) fn of_migration(path: &Path, error: MigrateError) -> RecorderError {
    match error {
        MigrateError::VersionMissing(version) => RecorderError::NewerSchema { path: path.to_owned(), version },
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => of_database(path, source),
        source => RecorderError::Migration { path: path.to_owned(), source },
    }
}
