//! The log in an SQLite file: all SQL text and everything that only SQLite does. Another database is another folder like
//! this one.
//!
//! The file is in write-ahead mode with full synchronisation: a committed batch survives a crash of the process and a loss
//! of power, and programs may read while a run writes.

mod bulk;
mod failure;
pub(super) mod read;
mod register;

use std::{path::PathBuf, time::Duration};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use self::bulk::BulkInsert;
use super::{
    Database, RecorderError, RunDescription, RunOutcome, SimulationSummary,
    rows::{Batch, Keys, TABLES},
};

/// How long another writer is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Room in the connection's cache for every statement of the bulk writer and of registration.
const STATEMENTS: usize = 100;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// An open log.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    connection: SqliteConnection,
    inserts: [BulkInsert; TABLES.len()],
}

impl Store {
    /// Opens or creates the file and brings its tables up to date.
    pub(super) async fn open(database: &Database) -> Result<Self, RecorderError> {
        let path = database.path().to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(RecorderError::FolderMissing { path });
        }
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(|error| failure::of_database(&path, error))?;
        MIGRATIONS.run(&mut connection).await.map_err(|error| failure::of_migration(&path, error))?;
        Ok(Self { path, connection, inserts: TABLES.each_ref().map(BulkInsert::new) })
    }

    /// Enters a run with its model, and tells the numbers its rows refer to.
    pub(super) async fn register(
        &mut self,
        run: &RunDescription,
        every_n_steps: u64,
        resets: u64,
    ) -> Result<Keys, RecorderError> {
        let registered = async {
            let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
            let keys = register::run(&mut transaction, run, every_n_steps, resets).await?;
            transaction.commit().await?;
            Ok(keys)
        };
        registered.await.map_err(|error| failure::of_database(&self.path, error))
    }

    /// Writes a batch, all of it or nothing.
    pub(super) async fn write(&mut self, batch: &Batch) -> Result<(), RecorderError> {
        let written = async {
            let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
            for (table, cells) in batch.tables() {
                self.inserts[table].execute(&mut transaction, cells).await?;
            }
            transaction.commit().await
        };
        written.await.map_err(|error| failure::of_database(&self.path, error))
    }

    /// Closes a run's row.
    pub(super) async fn close_simulation(
        &mut self,
        summary: SimulationSummary,
        outcome: &RunOutcome,
    ) -> Result<(), RecorderError> {
        let closed = register::close(&mut self.connection, summary, outcome).await;
        closed.map_err(|error| failure::of_database(&self.path, error))
    }

    /// Closes the file, which folds the write-ahead log into it.
    pub(super) async fn close(self) -> Result<(), RecorderError> {
        self.connection.close().await.map_err(|error| failure::of_database(&self.path, error))
    }
}
