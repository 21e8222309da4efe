//! The seam to the databases: a link to one of the three, with the few things that each does in its own way. Statements, tables
//! and rows are the same for all of them and stand outside of this room.
//!
//! Each has a folder with the same files: the link itself, `value` (how values go in and come out), `failure` (what its
//! codes mean), `asking` (questions of users). Rows are written fast by `inserts`, on PostgreSQL by `postgres/copy`. Every
//! call has a time it must not exceed; after a failure a link is of no more use, and what it had not committed is undone by
//! the database.

mod asking;
mod inserts;
mod mysql;
mod postgres;
mod sqlite;

use std::{pin::Pin, time::Duration};

use sqlx::{SqlSafeStr, SqlStr};

pub(super) use asking::Asking;

use super::{
    Database, RecorderError,
    cell::{Keys, Row, Value},
    error::Failure,
    table::{Batch, Table},
};

/// How long a server may take to be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a statement may take.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the lock of another writer is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Room in a link's cache for every statement of the bulk writer and of a run's beginning and end.
const STATEMENTS: usize = 200;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Writing; tables are created or brought up to date.
    Write,
    /// Reading what is there, with no way to write.
    Read,
}

/// A link to a database.
#[derive(Debug)]
pub(super) struct Store {
    database: Database,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Sqlite(sqlite::Link),
    Postgres(postgres::Link),
    MySql(mysql::Link),
}

/// Why a link failed: the database said so, or did not say anything in time.
enum Trouble {
    Said(sqlx::Error),
    Silent(Duration),
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Said(error)
    }
}

/// A call under way, whichever driver's: boxed, since three drivers' futures in every caller would be much to compile.
type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + 'a>>;

/// The same call on whichever link it is, within the time of a statement.
macro_rules! on_link {
    ($store:expr, $link:ident => $call:expr) => {{
        let call: Call<'_, _> = match &mut $store.link {
            Link::Sqlite($link) => Box::pin($call),
            Link::Postgres($link) => Box::pin($call),
            Link::MySql($link) => Box::pin($call),
        };
        within(STATEMENT_TIMEOUT, call).await.map_err(|trouble| trouble.of(&$store.database))
    }};
}

impl Store {
    /// Opens a link. For writing, the tables are brought up to date, and an SQLite file is created if missing.
    pub(super) async fn open(database: &Database, access: Access) -> Result<Self, RecorderError> {
        let link = match database {
            Database::Sqlite(path) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                if access == Access::Write && folder.is_some_and(|folder| !folder.is_dir()) {
                    return Err(RecorderError::FolderMissing { database: database.clone() });
                }
                // It may have to wait for a lock.
                within(STATEMENT_TIMEOUT, Box::pin(sqlite::Link::open(path, access))).await.map(Link::Sqlite)
            }
            Database::Postgres(address) => {
                within(CONNECT_TIMEOUT, Box::pin(postgres::Link::open(address.url(), access))).await.map(Link::Postgres)
            }
            Database::MySql(address) => {
                within(CONNECT_TIMEOUT, Box::pin(mysql::Link::open(address.url(), access))).await.map(Link::MySql)
            }
        };
        let link = link.map_err(|trouble| trouble.of(database))?;
        let mut store = Self { database: database.clone(), link };
        if access == Access::Write {
            store.migrate().await?;
        }
        Ok(store)
    }

    async fn migrate(&mut self) -> Result<(), RecorderError> {
        use sqlx::migrate::MigrateError;
        let call: Pin<Box<dyn Future<Output = Result<(), MigrateError>> + '_>> = match &mut self.link {
            Link::Sqlite(link) => Box::pin(link.migrate()),
            Link::Postgres(link) => Box::pin(link.migrate()),
            Link::MySql(link) => Box::pin(link.migrate()),
        };
        let migrated = tokio::time::timeout(STATEMENT_TIMEOUT, call).await;
        let database = || self.database.clone();
        match migrated {
            Ok(Ok(())) => Ok(()),
            Ok(Err(MigrateError::VersionMissing(version))) => {
                Err(RecorderError::NewerSchema { database: database(), version })
            }
            Ok(Err(MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _))) => {
                Err(Trouble::Said(source).of(&self.database))
            }
            Ok(Err(source)) => Err(RecorderError::Migration { database: database(), source }),
            Err(_) => Err(Trouble::Silent(STATEMENT_TIMEOUT).of(&self.database)),
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn begin(&mut self) -> Result<(), RecorderError> {
        on_link!(self, link => link.begin())
    }

    /// Ends it: from here on everything in it is kept.
    pub(super) async fn commit(&mut self) -> Result<(), RecorderError> {
        on_link!(self, link => link.commit())
    }

    /// Writes the rows of a batch into their tables, but for the run's own row.
    pub(super) async fn insert(&mut self, batch: &Batch, keys: Keys) -> Result<(), RecorderError> {
        for table in Table::ALL.into_iter().filter(|&table| table != Table::Simulation) {
            self.insert_into(table, batch, keys).await?;
        }
        Ok(())
    }

    /// Writes the rows that a batch has for one table.
    pub(super) async fn insert_into(&mut self, table: Table, batch: &Batch, keys: Keys) -> Result<(), RecorderError> {
        let cells = batch.cells(table);
        if cells.is_empty() {
            return Ok(());
        }
        on_link!(self, link => link.insert(table, cells, keys))
    }

    /// Which database it is.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Carries out a statement, with a question mark for each value, and tells how many rows it has changed.
    pub(super) async fn execute(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<u64, RecorderError> {
        let sql: SqlStr = sql.into_sql_str();
        on_link!(self, link => link.execute(sql, values))
    }

    /// The rows of an answer.
    pub(super) async fn rows(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<Vec<Row>, RecorderError> {
        let sql: SqlStr = sql.into_sql_str();
        on_link!(self, link => link.rows(sql, values))
    }

    /// The first row of an answer, if it has any.
    pub(super) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, RecorderError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Gives free room back to the disk, however long that takes.
    pub(super) async fn vacuum(&mut self) -> Result<(), RecorderError> {
        let vacuumed = match &mut self.link {
            Link::Sqlite(link) => link.vacuum().await,
            Link::Postgres(link) => link.vacuum().await,
            Link::MySql(link) => link.vacuum().await,
        };
        vacuumed.map_err(|source| Trouble::Said(source).of(&self.database))
    }

    /// Folds the write-ahead log of an SQLite file into it; a server does that by itself.
    pub(super) async fn fold(&mut self) -> Result<(), RecorderError> {
        match &mut self.link {
            Link::Sqlite(link) => within(STATEMENT_TIMEOUT, Box::pin(link.fold())).await,
            Link::Postgres(_) | Link::MySql(_) => Ok(()),
        }
        .map_err(|trouble| trouble.of(&self.database))
    }

    /// Looks at every page of an SQLite file, however long that takes; a server looks after its own.
    ///
    /// # Errors
    /// When it is damaged.
    pub(super) async fn check_structure(&mut self) -> Result<(), RecorderError> {
        let is_sound = match &mut self.link {
            Link::Sqlite(link) => link.is_sound().await.map_err(|source| Trouble::Said(source).of(&self.database))?,
            Link::Postgres(_) | Link::MySql(_) => true,
        };
        is_sound.then_some(()).ok_or_else(|| RecorderError::NotADatabase { database: self.database.clone() })
    }

    /// Closes the link; an SQLite file then holds everything itself.
    pub(super) async fn close(self) -> Result<(), RecorderError> {
        let closed = match self.link {
            Link::Sqlite(link) => within(STATEMENT_TIMEOUT, Box::pin(link.close())).await,
            Link::Postgres(link) => within(CONNECT_TIMEOUT, Box::pin(link.close())).await,
            Link::MySql(link) => within(CONNECT_TIMEOUT, Box::pin(link.close())).await,
        };
        closed.map_err(|trouble| trouble.of(&self.database))
    }
}

async fn within<T>(limit: Duration, call: Call<'_, T>) -> Result<T, Trouble> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Trouble::Silent(limit)),
    }
}

impl Trouble {
    fn of(self, database: &Database) -> RecorderError {
        let source = match self {
            Self::Said(source) => source,
            Self::Silent(limit) => {
                return RecorderError::Silent { database: database.clone(), seconds: limit.as_secs() };
            }
        };
        let failure = match (&source, database) {
            (sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed, _) => Failure::Unreachable,
            (_, Database::Sqlite(_)) => sqlite::failure::of(&source),
            (_, Database::Postgres(_)) => postgres::failure::of(&source),
            (_, Database::MySql(_)) => mysql::failure::of(&source),
        };
        RecorderError::new(database.clone(), failure, source)
    }
}
