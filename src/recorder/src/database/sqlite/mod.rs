//! Driver of SQLite, with a file in write-ahead mode and full synchronisation. A committed batch survives a crash of
//! the process and a power failure, and other programs can read while a run writes.

mod errors;
mod value;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, TryStreamExt};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection as _, Executor, Row as _, SqlSafeStr, SqlStr, Sqlite,
    SqliteConnection, Statement, TypeInfo,
    migrate::MigrateError,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

pub(super) use errors::ERROR_CODES;

use super::{
    driver::{Access, Dialect},
    inserts::Inserts,
    limits::{CACHED_STATEMENTS, LOCK_TIMEOUT},
    migrations,
    query::{self, with_parameters},
    scan::RowSender,
};
use crate::format::{
    cell::Cell,
    ids::RunIds,
    schema::TableId,
    value::{Column, Parameter, Row, Value},
};

/// Numbers of rows of the insert statements, each an eighth of the one before, so that a batch needs few statements.
/// The largest statement has at most 8704 parameters (34 columns of `body`); SQLite allows 32 766.
const ROWS_PER_INSERT: [usize; 4] = [256, 32, 4, 1];

/// Size of the pages of a new file, in bytes. Rows of a step are neighbours, so large pages save writes.
const PAGE_BYTES: u32 = 16_384;

/// Number of pages in the write-ahead log (32 MB) at which they are copied into the file. Rows are added to some pages
/// again and again; with a long log only the last state of such a page is copied.
const CHECKPOINT_PAGES: &str = "2048";

/// Time limit of waiting for a lock of a file that is being created. Programs that begin at the same time on a new file
/// create the tables one after the other. On a busy machine each needs more than a second for that, so the last of many
/// waits longer than [`LOCK_TIMEOUT`]. The limit is shorter than that of the whole call, so that the error names the
/// lock.
const NEW_FILE_LOCK_TIMEOUT: Duration = Duration::from_secs(25);

/// Pause before a lock is tried again, where SQLite itself does not wait.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Number of rows that the driver's thread may be ahead of the reader. With the driver's default of 50 the two threads
/// wake each other for nearly every row, which took longer than everything else in an export. Four times as many rows
/// no longer fit into the processor's cache, and take half as long again.
const ROWS_AHEAD: usize = 1024;

/// Pause while the driver's thread reads more rows: it reads one or two hundred rows in this time, or several hundred
/// of narrow tables.
const ROW_POLL_PAUSE: Duration = Duration::from_micros(100);

/// A connection to a file.
#[derive(Debug)]
pub(super) struct Connection {
    connection: SqliteConnection,
    inserts: Inserts,
}

impl Connection {
    pub(super) async fn open(path: &Path, access: Access) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(path).disable_statement_logging();
        let connection = match access {
            Access::Write => connect_to_write(path, options).await?,
            Access::Read => connect_to_read(path, options).await?,
        };
        Ok(Self { connection, inserts: Inserts::new(&ROWS_PER_INSERT) })
    }

    /// Applies the migrations under the write lock. If several programs open the same new file, one creates the tables,
    /// and the others find them.
    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        migrations::SQLITE_MIGRATOR.run(&mut *transaction).await?;
        transaction.commit().await?;
        let timeout = AssertSqlSafe(format!("PRAGMA busy_timeout = {}", LOCK_TIMEOUT.as_millis()));
        sqlx::raw_sql(timeout).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Begins a transaction and takes the write lock at once, so that no commit has to wait for it.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: TableId, cells: &[Cell], ids: RunIds) -> Result<(), sqlx::Error> {
        self.inserts.insert_rows::<Sqlite>(&mut self.connection, table, cells, ids).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<u64, sqlx::Error> {
        let query = with_parameters::<Sqlite>(sql, parameters);
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let rows = with_parameters::<Sqlite>(sql, parameters).fetch_all(&mut self.connection).await?;
        rows.iter().map(|row| query::decode_row(row, value::decode_value)).collect()
    }

    pub(super) async fn dialect(&mut self) -> Result<Dialect, sqlx::Error> {
        Ok(Dialect { schema: "main.".into(), with_keywords: "AS", is_case_sensitive: false })
    }

    pub(super) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, sqlx::Error> {
        let statement = self.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        let column = |column: &sqlx::sqlite::SqliteColumn| Column {
            name: column.name().to_owned(),
            column_type: value::column_type(column.type_info().name()),
        };
        Ok(statement.columns().iter().map(column).collect())
    }

    pub(super) async fn for_each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), sqlx::Error> {
        // The text is a user's. A connection for reading writes nothing, whatever the text says.
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        query::for_each_row(rows, value::decode_value, take).await
    }

    /// Sends the rows of a query to another thread. The call blocks its thread between bunches of rows. If it awaited
    /// each row, this thread and the driver's would wake each other for every row, which takes longer than reading the
    /// row.
    pub(super) async fn scan(&mut self, sql: &str, rows: &mut RowSender) -> Result<(), sqlx::Error> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
        let mut found = query.fetch(&mut self.connection);
        let mut next = found.try_next().await?;
        while let Some(row) = next {
            for (column, value) in rows.next_row(row.len()).iter_mut().enumerate() {
                value::decode_into(&row, column, value)?;
            }
            if !rows.end_row() {
                return Ok(());
            }
            next = loop {
                match found.try_next().now_or_never() {
                    Some(next) => break next?,
                    None => std::thread::sleep(ROW_POLL_PAUSE),
                }
            };
        }
        rows.flush();
        Ok(())
    }

    /// Rewrites the file without free space.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        let sql = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        sqlx::raw_sql(sql).execute(&mut self.connection).await.map(drop)
    }

    /// Copies the write-ahead log into the file.
    pub(super) async fn checkpoint(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut self.connection).await.map(drop)
    }

    /// True if all pages of the file are intact.
    pub(super) async fn is_sound(&mut self) -> Result<bool, sqlx::Error> {
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut self.connection).await?;
        Ok(found == "ok")
    }

    /// Closes the connection, which copies the write-ahead log into the file.
    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}

/// Connects for writing, and creates the file if it is missing. SQLite does not wait for the lock that switches a new
/// file to write-ahead mode, so this function does.
async fn connect_to_write(path: &Path, options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    // A file with the tables is larger than a page.
    let is_new = std::fs::metadata(path).map_or(0, |metadata| metadata.len()) <= PAGE_BYTES.into();
    let lock_timeout = if is_new { NEW_FILE_LOCK_TIMEOUT } else { LOCK_TIMEOUT };
    let options = options
        .create_if_missing(true)
        .busy_timeout(lock_timeout)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .page_size(PAGE_BYTES)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .statement_cache_capacity(CACHED_STATEMENTS);
    let until = Instant::now() + lock_timeout;
    loop {
        match options.connect().await {
            Err(error) if errors::is_busy(&error) && Instant::now() < until => {
                tokio::time::sleep(LOCK_RETRY_PAUSE).await
            }
            answer => return answer,
        }
    }
}

/// Connects for reading the present state. On a read-only disk, or in a folder that this user must not write to, SQLite
/// cannot create the shared memory of a write-ahead log. If there is no write-ahead log, no program is writing, and the
/// file is opened as immutable.
async fn connect_to_read(path: &Path, options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    match begin_reading(options.clone()).await {
        Err(error) if errors::is_read_only(&error) && !has_write_ahead_log(path) => {
            begin_reading(options.immutable(true)).await
        }
        answer => answer,
    }
}

/// True if there is a write-ahead log that is not empty.
fn has_write_ahead_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

/// Connects and begins a reading transaction.
async fn begin_reading(options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let options = options.read_only(true).pragma("query_only", "ON").busy_timeout(LOCK_TIMEOUT);
    let mut connection = options.row_buffer_size(ROWS_AHEAD).connect().await?;
    sqlx::query("BEGIN").execute(&mut connection).await?;
    // The first query fixes the snapshot that the transaction reads.
    sqlx::query("SELECT 1 FROM sqlite_master").fetch_optional(&mut connection).await?;
    Ok(connection)
}
