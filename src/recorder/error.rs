//! What can keep the log from being written, each with the path, the cause and the way out.

use std::{io, path::PathBuf};

use sqlx::migrate::MigrateError;
use thiserror::Error;

/// Why the log could not be opened, written or closed.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// The address is of no database this program writes to.
    #[error("expected a database address of the form sqlite:FILE, got `{url}`")]
    Address {
        /// What came.
        url: String,
    },
    /// The folder of the database file does not exist.
    #[error("the folder of the database {} does not exist; create it, or name another file", path.display())]
    FolderMissing {
        /// The database file.
        path: PathBuf,
    },
    /// Something else holds the file's write lock.
    #[error(
        "the database {} is locked by another process, for longer than {seconds} s; close the program that writes to it, \
         or name another file", path.display()
    )]
    Locked {
        /// The database file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The file may be read but not written.
    #[error(
        "the database {} is read-only; allow writing to the file and its folder, or name another file", path.display()
    )]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// The file could not be opened.
    #[error(
        "the database {} cannot be opened or created; check that it is a file and the permissions of its folder",
        path.display()
    )]
    CannotOpen {
        /// The database file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not an SQLite database, or is a damaged one; name another file", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error(
        "the disk of the database {} is full; every step committed before is kept; free some space, or log to another disk",
        path.display()
    )]
    DiskFull {
        /// The database file.
        path: PathBuf,
    },
    /// The file was written by a later version of this program.
    #[error(
        "the database {} has schema version {version}, which this program does not know: a newer version wrote it; \
         use that version, or name another file", path.display()
    )]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// Version of the first unknown migration.
        version: i64,
    },
    /// The tables could not be brought up to date.
    #[error("the tables of the database {} cannot be created or updated; name another file", path.display())]
    Migration {
        /// The database file.
        path: PathBuf,
        /// Cause.
        source: MigrateError,
    },
    /// Any other answer of the database.
    #[error("the database {} failed; every step committed before is kept", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// Cause.
        source: sqlx::Error,
    },
    /// The writer's thread or its runtime could not be started.
    #[error("the log writer cannot be started")]
    Start(#[source] io::Error),
    /// The writer's thread panicked.
    #[error("the log writer ended without an answer")]
    WriterLost,
}
