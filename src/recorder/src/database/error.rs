//! Errors of writing and reading logs. Each message names the database, the cause and a remedy.

use std::{fmt, io, path::PathBuf};

use sqlx::migrate::MigrateError;
use thiserror::Error;

use super::{
    address::{AddressError, Database},
    query_position::QueryPosition,
};

/// Error of opening, writing, reading or closing a log.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// The address is not valid, or not of a database that this program supports.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no database file to read.
    #[error("the database {database} does not exist; name another with --database, or create it by a run")]
    NoDatabase {
        /// The database file.
        database: Database,
    },
    /// A copied run lacks some of its rows.
    #[error("the copy in {database} is incomplete and was undone: {text}")]
    Incomplete {
        /// The database.
        database: Database,
        /// Description of the missing rows.
        text: String,
    },
    /// A source file in the log does not match its hash.
    #[error(
        "the file {path} in the log is not the one that was logged: its hash differs; `db verify` reports what else was changed"
    )]
    AlteredFile {
        /// Path of the source file.
        path: String,
    },
    /// The database refuses a query.
    #[error("the query failed{}: {message}{}{}", position.as_ref().map(QueryPosition::phrase).unwrap_or_default(), position.as_ref().map(QueryPosition::excerpt).unwrap_or_default(), help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default())]
    Query {
        /// Message of the database.
        message: String,
        /// Position of the error in the query.
        position: Option<QueryPosition>,
        /// Suggestion for an unknown name.
        help: Option<String>,
    },
    /// A pattern that matches no component.
    #[error("{setting}: no {what} of this world fits `{pattern}`; names are such as `{example}`")]
    FitsNothing {
        /// Name of the setting.
        setting: &'static str,
        /// Kind of component that the setting selects.
        what: &'static str,
        /// The pattern.
        pattern: String,
        /// An existing name.
        example: String,
    },
    /// The folder of the database file does not exist.
    #[error("the folder of the database {database} does not exist; create it, or name another file")]
    FolderMissing {
        /// The database.
        database: Database,
    },
    /// The server cannot be reached, or the connection to it was lost.
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
    /// The server did not answer in time.
    #[error("the database {database} did not answer within {seconds} s; every step committed before is kept")]
    Silent {
        /// The database.
        database: Database,
        /// Time waited for an answer, in seconds.
        seconds: u64,
    },
    /// The server ended a transaction, a statement or a connection, because of a deadlock or by order of an
    /// operator.
    #[error("the database {database} interrupted the transaction; every step committed before is kept")]
    Interrupted {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// Another program holds a lock.
    #[error(
        "the database {database} is locked by another process, for longer than {seconds} s; close the program that writes to \
         it, or name another file"
    )]
    Locked {
        /// The database.
        database: Database,
        /// Time waited for the lock, in seconds.
        seconds: u64,
    },
    /// The database can be read but not written.
    #[error("the database {database} is read-only; allow writing to the file and its folder, or name another file")]
    ReadOnly {
        /// The database.
        database: Database,
    },
    /// The server does not permit this user to connect or to write.
    #[error(
        "the database {database} refuses this user access or permission to write; check user, password and rights (GRANT)"
    )]
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
    /// The database file could not be opened or created.
    #[error(
        "the database {database} cannot be opened or created; check that it is a file and the permissions of its folder"
    )]
    CannotOpen {
        /// The database.
        database: Database,
    },
    /// The file is not an SQLite database, or is damaged.
    #[error("{database} is not an SQLite database, or is a damaged one; name another file")]
    NotADatabase {
        /// The file.
        database: Database,
    },
    /// The database file was moved, removed or replaced during a run.
    #[error(
        "the file of the database {database} was moved, removed or replaced while a run was logged into it; only that file holds what \
         was committed before; put it back, and the log goes on in it"
    )]
    FileGone {
        /// The file.
        database: Database,
    },
    /// A table or a column of the log is missing in the database.
    #[error(
        "the database {database} is no log of this program, or a damaged one: a table or a column of the log is missing; name \
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
        "the disk of the database {database} is full, or nearly; every step committed before is kept; {}",
        remedy_for_full_disk()
    )]
    DiskFull {
        /// The database.
        database: Database,
    },
    /// The server does not accept a value as large as one of this log, usually a file of the world.
    #[error(
        "the database {database} does not take a value as large as a file of this world: give its server a larger max_allowed_packet \
         (my.cnf, or SET GLOBAL), or log into a file with --database sqlite:FILE"
    )]
    TooLarge {
        /// The database.
        database: Database,
        /// Cause.
        source: Cause,
    },
    /// There is too little disk space to begin a log.
    #[error("the log in {database} cannot begin: {why}")]
    NoRoom {
        /// The database.
        database: Database,
        /// Description of the limit that is reached.
        why: String,
    },
    /// A file that is not a spill file.
    #[error(
        "{} is no spill file: those are named simpartner-*{suffix} and begin with `SPspill`", path.display(), suffix = ".spill"
    )]
    NotASpillFile {
        /// The file.
        path: PathBuf,
    },
    /// A spill file that another program is writing or reading.
    #[error(
        "the spill file {} is in use: the run that writes it imports it into its database by itself, or leaves it for \
         simpartner db import when it ends", path.display()
    )]
    SpillInUse {
        /// The file.
        path: PathBuf,
    },
    /// A spill file whose rows do not fit the columns of this program's tables.
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
    /// The end of the log is not in the database but in the spill file.
    #[error(
        "the end of the log is not in the database {database}: {why}\nit waits in {path}; once the \
         database is there: simpartner db import {path} --database {url}", path = path.display(), url = database.shown_url()
    )]
    Undelivered {
        /// The database.
        database: Database,
        /// The spill file.
        path: PathBuf,
        /// Latest error message of the database.
        why: String,
        /// Error that ended the delivery; `None` if the database was only away.
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
        /// First lost step.
        first: u64,
        /// Last lost step.
        last: u64,
        /// The spill file.
        path: PathBuf,
        /// Error of the spill file.
        broken: String,
        /// Latest error message of the database.
        why: String,
    },
    /// The tables were created by a later version of this program.
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
    /// A batch belongs to a run that the database does not have.
    #[error("the database {database} has no run of the key {run_key}; name the database that the run was begun in")]
    RunUnknown {
        /// The database.
        database: Database,
        /// Key of the run.
        run_key: String,
    },
    /// A batch does not follow the last one in the database.
    #[error("the database {database} expects batch {next} of the run, but batch {got} came: those between are missing")]
    BatchMissing {
        /// The database.
        database: Database,
        /// Number of the batch that the database expects.
        next: u64,
        /// Number of the batch that was sent.
        got: u64,
    },
    /// Any other error of the database.
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
    #[error("the log writer ended unexpectedly")]
    WriterLost,
}

/// An error of a driver. For an error that the database itself reported, only its message is displayed: the driver
/// would repeat it as a cause of its own, and add lines of the server's source code.
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
            // The text of these errors already contains that of the cause.
            sqlx::Error::Database(_) | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => None,
            other => other.source(),
        }
    }
}

/// Meaning of an error of a database. Each driver determines it from the error codes of its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorKind {
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
    TooLarge,
    Other,
}

impl Database {
    /// Parses an address, as [`FromStr`](std::str::FromStr) does.
    ///
    /// # Errors
    /// When the address is not valid.
    pub fn parse(url: &str) -> Result<Self, RecorderError> {
        Ok(url.parse()?)
    }
}

impl RecorderError {
    /// True if a retry may succeed: the database is away or busy, its disk is full, or its file is gone.
    pub(crate) fn is_transient(&self) -> bool {
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

    /// The message without the remedy, for a program that retries by itself.
    pub(crate) fn without_advice(&self) -> String {
        match self {
            Self::Unreachable { database, source } => format!("the database {database} cannot be reached ({source})"),
            Self::Locked { database, .. } => format!("the database {database} is locked by another process"),
            other => other.to_string(),
        }
    }

    pub(super) fn new(database: Database, kind: ErrorKind, source: sqlx::Error) -> Self {
        let source = Cause(source);
        match kind {
            ErrorKind::Unreachable => Self::Unreachable { database, source },
            ErrorKind::Interrupted => Self::Interrupted { database, source },
            ErrorKind::Locked { seconds } => Self::Locked { database, seconds },
            ErrorKind::ReadOnly => Self::ReadOnly { database },
            ErrorKind::Denied => Self::Denied { database, source },
            ErrorKind::Missing => Self::Missing { database, source },
            ErrorKind::CannotOpen => Self::CannotOpen { database },
            ErrorKind::NotADatabase => Self::NotADatabase { database },
            ErrorKind::NotALog => Self::NotALog { database, source },
            ErrorKind::DiskFull => Self::DiskFull { database },
            ErrorKind::TooLarge => Self::TooLarge { database, source },
            ErrorKind::Other => Self::Database { database, source },
        }
    }
}
/// Remedy for a file that cannot grow. The system reports the same error for a full disk and for a file at the limit of
/// file sizes.
fn remedy_for_full_disk() -> &'static str {
    #[cfg(target_os = "linux")]
    if rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some() {
        return "files of this process have a limit, which may be what is reached: raise it with ulimit -f unlimited; or free some space";
    }
    "free some space, or log to another disk"
}
