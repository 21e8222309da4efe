//! What can keep the log from being written, each with the database, the cause and the way out.

use std::{fmt, io, path::PathBuf};

use sqlx::migrate::MigrateError;
use thiserror::Error;

use super::{Database, database::ADDRESSES, inquiry::Place};

/// Why the log could not be opened, written or closed.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// The address is of no database this program writes to.
    #[error("expected a database address of the form {ADDRESSES}, got `{url}`")]
    Address {
        /// What came, without a password.
        url: String,
    },
    /// There is no such file to read.
    #[error("there is no database {database}; name another by --database, or make one by a run")]
    NoDatabase {
        /// The file.
        database: Database,
    },
    /// A run that was copied has not all of its rows.
    #[error("the copy in {database} is not whole and was undone: {text}")]
    Incomplete {
        /// The database.
        database: Database,
        /// What is missing.
        text: String,
    },
    /// The database does not understand a query, or will not do what it says.
    #[error("the query failed{}: {message}{}", place.as_ref().map(Place::told).unwrap_or_default(), place.as_ref().map(Place::shown).unwrap_or_default())]
    Query {
        /// The database's own words.
        message: String,
        /// Where in the query.
        place: Option<Place>,
    },
    /// A pattern that picks nothing.
    #[error("{setting}: no {what} of this world fits `{pattern}`; names are such as `{example}`")]
    FitsNothing {
        /// The setting.
        setting: &'static str,
        /// What it picks.
        what: &'static str,
        /// The pattern.
        pattern: String,
        /// A name that there is.
        example: String,
    },
    /// The folder of the database file does not exist.
    #[error("the folder of the database {database} does not exist; create it, or name another file")]
    FolderMissing {
        /// The database.
        database: Database,
    },
    /// The server cannot be reached, or went away.
    #[error(
        "the database {database} cannot be reached; start it, check host and port, log into a file with --database \
         sqlite:FILE, or begin without it with log.start_without_database = true"
    )]
    Unreachable {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// The server took longer than it may.
    #[error("the database {database} did not answer within {seconds} s; every step committed before is kept")]
    Silent {
        /// The database.
        database: Database,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The server broke off what it was doing: a deadlock of which somebody had to be the victim, an operator's order.
    #[error("the database {database} broke off what it was doing; every step committed before is kept")]
    Interrupted {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// Something else holds a lock.
    #[error(
        "the database {database} is locked by another process, for longer than {seconds} s; close the program that writes to \
         it, or name another file"
    )]
    Locked {
        /// The database.
        database: Database,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It may be read but not written.
    #[error("the database {database} is read-only; allow writing to the file and its folder, or name another file")]
    ReadOnly {
        /// The database.
        database: Database,
    },
    /// The server does not let this user do that.
    #[error("the database {database} does not let this user in, or not write; check user, password and rights (GRANT)")]
    Denied {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// The server has no database of that name.
    #[error("the database {database} does not exist on its server; create it with CREATE DATABASE, or name another")]
    Missing {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// The file could not be opened.
    #[error(
        "the database {database} cannot be opened or created; check that it is a file and the permissions of its folder"
    )]
    CannotOpen {
        /// The database.
        database: Database,
    },
    /// The file is something else.
    #[error("{database} is not an SQLite database, or is a damaged one; name another file")]
    NotADatabase {
        /// The file.
        database: Database,
    },
    /// The file is not where it was.
    #[error(
        "the file of the database {database} was moved, removed or replaced while a run was logged into it; what was committed \
         before is in that file alone; put it back, and the log goes on in it"
    )]
    FileGone {
        /// The file.
        database: Database,
    },
    /// Its tables are others.
    #[error(
        "the database {database} is no log of this program, or a damaged one: a table or a column of the log is not there; name \
         another database"
    )]
    NotALog {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// The disk is full.
    #[error(
        "the disk of the database {database} is full, or nearly; every step committed before is kept; free some space, or log to \
         another disk"
    )]
    DiskFull {
        /// The database.
        database: Database,
    },
    /// There is too little room to begin.
    #[error("the log in {database} is not begun: {why}; make room, or log to another disk")]
    NoRoom {
        /// The database.
        database: Database,
        /// How little.
        why: String,
    },
    /// A file that holds no batch of a log.
    #[error(
        "{} is no spill file: those are named simpartner-*{suffix} and begin with `SPspill`", path.display(), suffix = ".spill"
    )]
    NotASpillFile {
        /// The file.
        path: PathBuf,
    },
    /// A spill file that a running program writes or reads.
    #[error(
        "the spill file {} is in use: the run that writes it brings it into its database by itself, or leaves it for \
         simpartner db import when it ends", path.display()
    )]
    SpillInUse {
        /// The file.
        path: PathBuf,
    },
    /// A spill file whose rows are made for other tables than this program's.
    #[error(
        "the spill file {} was written by another version of this program, whose tables have other columns; import it with that \
         version, and keep it until then", path.display()
    )]
    OtherTables {
        /// The file.
        path: PathBuf,
    },
    /// A spill file cannot be read or written.
    #[error("the spill file {} cannot be read or written", path.display())]
    Spill {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Part of the log has not come to the database, and waits in the spill file.
    #[error(
        "the end of the log did not come into the database {database}: {why}\nwhat did not come in waits in {path}; once the \
         database is there: simpartner db import {path} --database {url}", path = path.display(), url = database.shown_url()
    )]
    Undelivered {
        /// The database.
        database: Database,
        /// The spill file.
        path: PathBuf,
        /// What the database said last.
        why: String,
        /// What it failed with, if it was not only away.
        source: Option<Box<RecorderError>>,
    },
    /// Steps that are neither in the database nor in the spill file.
    #[error(
        "steps {first} to {last} are not in the log: the database {database} did not take them ({why}), nor did the spill file \
         {} ({broken})", path.display()
    )]
    Lost {
        /// The database.
        database: Database,
        /// The first such step.
        first: u64,
        /// The last.
        last: u64,
        /// The spill file.
        path: PathBuf,
        /// Why it took nothing.
        broken: String,
        /// What the database said last.
        why: String,
    },
    /// The tables were made by a later version of this program.
    #[error(
        "the database {database} has schema version {version}, which this program does not know: a newer version wrote it; \
         use that version, or name another file"
    )]
    NewerSchema {
        /// The database.
        database: Database,
        /// Version of the first unknown migration.
        version: i64,
    },
    /// The tables could not be brought up to date.
    #[error("the tables of the database {database} cannot be created or updated; name another database")]
    Migration {
        /// The database.
        database: Database,
        /// Cause.
        source: MigrateError,
    },
    /// A portion of a run that the database has never heard of.
    #[error("the database {database} has no run of the key {run_key}; name the database that the run was begun in")]
    RunUnknown {
        /// The database.
        database: Database,
        /// The run's key.
        run_key: String,
    },
    /// A portion that does not follow on those in the database.
    #[error("the database {database} wants portion {next} of the run next, and got {got}: what is between is missing")]
    PortionMissing {
        /// The database.
        database: Database,
        /// What it wants.
        next: u64,
        /// What it got.
        got: u64,
    },
    /// Any other answer of the database.
    #[error("the database {database} failed; every step committed before is kept")]
    Database {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// The writer's thread or its runtime could not be started.
    #[error("the log writer cannot be started")]
    Start(#[source] io::Error),
    /// The writer's thread panicked.
    #[error("the log writer ended without an answer")]
    WriterLost,
}

/// What a driver said. Of what the database itself said, its words are all there is to tell: the driver repeats them as a cause
/// of their own, and adds lines of the server's source.
#[derive(Debug)]
pub struct Cause(sqlx::Error);

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            sqlx::Error::Database(error) => formatter.write_str(error.message()),
            other => other.fmt(formatter),
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            // Its text has the cause's in it.
            sqlx::Error::Database(_) | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => None,
            other => other.source(),
        }
    }
}

/// What an answer of a database means, made out by each backend from its codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    Unreachable,
    Interrupted,
    Locked { seconds: u64 },
    ReadOnly,
    Denied,
    Missing,
    CannotOpen,
    NotADatabase,
    NotALog,
    DiskFull,
    Other,
}

impl RecorderError {
    /// True where another try may do: the database is away, busy, or its disk is full.
    pub(super) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Silent { .. }
                | Self::Interrupted { .. }
                | Self::Locked { .. }
                | Self::DiskFull { .. }
                | Self::FileGone { .. }
        )
    }

    pub(super) fn new(database: Database, failure: Failure, source: sqlx::Error) -> Self {
        let source = Cause(source);
        match failure {
            Failure::Unreachable => Self::Unreachable { database, source },
            Failure::Interrupted => Self::Interrupted { database, source },
            Failure::Locked { seconds } => Self::Locked { database, seconds },
            Failure::ReadOnly => Self::ReadOnly { database },
            Failure::Denied => Self::Denied { database, source },
            Failure::Missing => Self::Missing { database, source },
            Failure::CannotOpen => Self::CannotOpen { database },
            Failure::NotADatabase => Self::NotADatabase { database },
            Failure::NotALog => Self::NotALog { database, source },
            Failure::DiskFull => Self::DiskFull { database },
            Failure::Other => Self::Database { database, source },
        }
    }
}
