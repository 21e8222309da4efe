//! SQLite: a file in write-ahead mode with full synchronisation. A committed batch survives a crash of the process and a loss
//! of power, and programs may read while a run writes.

pub(super) mod asking;
pub(super) mod failure;
mod value;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, SqlStr, SqliteConnection,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    Access, LOCK_TIMEOUT, STATEMENTS,
    inserts::{Inserts, in_turn},
};
use crate::recorder::{
    cell::{Cell, Keys, Row, Value},
    table::Table,
};

/// Rows of the statements that insert.
const ROWS: [usize; 4] = [256, 32, 4, 1];

/// Pages of a new file, and how many of them the write-ahead log gathers (32 MB) before they are folded into it: of pages that
/// rows are added to again and again only the last state is then written twice.
const PAGE_BYTES: u32 = 16_384;
const CHECKPOINT_PAGES: &str = "2048";

/// How long is waited before a lock is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// A connection to a file.
#[derive(Debug)]
pub(super) struct Link {
    connection: SqliteConnection,
    inserts: Vec<Inserts>,
}

impl Link {
    pub(super) async fn open(path: &Path, access: Access) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(LOCK_TIMEOUT).disable_statement_logging();
        let options = match access {
            Access::Write => options
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .page_size(PAGE_BYTES)
                .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
                .statement_cache_capacity(STATEMENTS),
            Access::Read => options.read_only(true),
        };
        let connection = connect(&options).await?;
        Ok(Self { connection, inserts: Table::ALL.map(|table| Inserts::new(table, &ROWS)).into() })
    }

    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        // Under the write lock, so that of several programs that find the same new file one makes the tables and the others
        // find them made.
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        MIGRATIONS.run(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// It takes the write lock at once, so that no commit has to wait for it.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: Table, cells: &[Cell], keys: Keys) -> Result<(), sqlx::Error> {
        let queries = self.inserts[table as usize].of(cells).map(|(statement, cells)| {
            let query = sqlx::query(statement);
            cells.iter().fold(query, |query, cell| value::bind(query, keys.value(cell)))
        });
        in_turn(queries, async |query| query.execute(&mut self.connection).await.map(drop)).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<u64, sqlx::Error> {
        let query = values.iter().fold(sqlx::query(sql), |query, &value| value::bind(query, value));
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let query = values.iter().fold(sqlx::query(sql), |query, &value| value::bind(query, value));
        query.fetch_all(&mut self.connection).await?.iter().map(value::row).collect()
    }

    /// Writes the file anew without what is free in it.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        let sql = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        sqlx::raw_sql(sql).execute(&mut self.connection).await.map(drop)
    }

    /// Writes into the file what stands in its write-ahead log alone.
    pub(super) async fn fold(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut self.connection).await.map(drop)
    }

    /// Whether all pages are there and in order.
    pub(super) async fn is_sound(&mut self) -> Result<bool, sqlx::Error> {
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut self.connection).await?;
        Ok(found == "ok")
    }

    /// It folds the write-ahead log into the file.
    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}

/// Opens a connection. SQLite does not wait for the lock that turns a new file to write-ahead mode, so this does.
async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match options.connect().await {
            Err(error) if failure::is_busy(&error) && Instant::now() < until => tokio::time::sleep(LOCK_PAUSE).await,
            answer => return answer,
        }
    }
}
