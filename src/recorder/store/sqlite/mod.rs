//! SQLite: a file in write-ahead mode with full synchronisation. A committed batch survives a crash of the process and a loss
//! of power, and programs may read while a run writes.

pub(super) mod asking;
pub(super) mod failure;
mod value;

use std::path::Path;

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
        let connection = options.connect().await?;
        Ok(Self { connection, inserts: Table::ALL.map(|table| Inserts::new(table, &ROWS)).into() })
    }

    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        MIGRATIONS.run(&mut self.connection).await
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

    /// It folds the write-ahead log into the file.
    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}
