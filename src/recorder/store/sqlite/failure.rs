//! What SQLite's result codes mean for the person at the keyboard.

use super::super::LOCK_TIMEOUT;
use crate::recorder::error::Failure;

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

pub(in crate::recorder) fn of(error: &sqlx::Error) -> Failure {
    let message = error.as_database_error().map_or("", |error| error.message());
    match primary_code(error) {
        Some(code::ERROR) if message.starts_with("no such table") || message.starts_with("no such column") => {
            Failure::NotALog
        }
        Some(code::BUSY | code::LOCKED) => Failure::Locked { seconds: LOCK_TIMEOUT.as_secs() },
        Some(code::READONLY | code::PERM) => Failure::ReadOnly,
        Some(code::FULL) => Failure::DiskFull,
        Some(code::CANTOPEN) => Failure::CannotOpen,
        Some(code::NOTADB | code::CORRUPT) => Failure::NotADatabase,
        _ => Failure::Other,
    }
}

/// Whether somebody else holds a lock.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(code::BUSY | code::LOCKED))
}

/// The low byte of an extended code is the primary one.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let extended = error.as_database_error()?.code()?.parse::<u32>().ok()?;
    Some(extended & 0xff)
}
