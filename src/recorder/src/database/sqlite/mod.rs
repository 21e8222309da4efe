//! SQLite: a file in write-ahead mode with full synchronisation. A committed batch survives a crash of the process and a loss of
//! power, and other programs may read while a run writes.

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

/// Rows of the insert statements, each an eighth of the one before, so that a batch takes few. The largest has at most 8704 parameters
/// (34 columns of `body`); SQLite takes 32 766.
const ROWS_PER_INSERT: [usize; 4] = [256, 32, 4, 1];

/// Size of the pages of a new file. Rows of a step are neighbours, so large pages save writes.
const PAGE_BYTES: u32 = 16_384;

/// Pages that the write-ahead log gathers (32 MB) before they are copied into the file: of pages that rows are added to again and
/// again only the last state is then written twice.
const CHECKPOINT_PAGES: &str = "2048";

/// How long to wait for a lock of a file that is being created. Programs that begin at the same time on a new file create the tables one
/// after the other; on a busy machine each takes more than a second for it, so the last of many waits longer than [`LOCK_TIMEOUT`].
/// It is less than the time limit of the whole call, so that the error is about the lock.
const NEW_FILE_LOCK_TIMEOUT: Duration = Duration::from_secs(25);

/// How long to wait before a lock is tried again, where SQLite does not wait itself.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Rows that the driver's thread may be ahead of the reader. With its default of 50 the two wake each other for nearly every row, which took longer
/// than everything else in an export. Four times as many do not fit into the processor's cache any more, and take half as long again.
const ROWS_AHEAD: usize = 1024;

/// How long to wait for more rows: the driver reads one or two hundred meanwhile, of narrow tables several hundred.
const BUNCH: Duration = Duration::from_micros(100);

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

    /// Takes the write lock first, so that of several programs that find the same new file one creates the tables and the others
    /// find them there.
    pub(super) async fn migrate(&mut self) -> Result<(), MigrateError> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        migrations::SQLITE.run(&mut *transaction).await?;
        transaction.commit().await?;
        let timeout = AssertSqlSafe(format!("PRAGMA busy_timeout = {}", LOCK_TIMEOUT.as_millis()));
        sqlx::raw_sql(timeout).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Takes the write lock at once, so that no commit has to wait for it.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.map(drop)
    }

    pub(super) async fn insert(&mut self, table: TableId, cells: &[Cell], ids: RunIds) -> Result<(), sqlx::Error> {
        self.inserts.insert::<Sqlite>(&mut self.connection, table, cells, ids).await
    }

    pub(super) async fn execute(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<u64, sqlx::Error> {
        let query = with_parameters::<Sqlite>(sql, parameters);
        Ok(query.execute(&mut self.connection).await?.rows_affected())
    }

    pub(super) async fn rows(&mut self, sql: SqlStr, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let rows = with_parameters::<Sqlite>(sql, parameters).fetch_all(&mut self.connection).await?;
        rows.iter().map(|row| query::row(row, value::value)).collect()
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
        // Whatever it says, a connection to read writes nothing.
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false).fetch(&mut self.connection);
        query::for_each_row(rows, value::value, take).await
    }

    /// Hands over the rows of an answer. It blocks: rows are taken in bunches. To wait for each by itself, this thread and the driver's would wake
    /// each other for every row, which takes longer than the row.
    pub(super) async fn scan(&mut self, sql: &str, rows: &mut RowSender) -> Result<(), sqlx::Error> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
        let mut found = query.fetch(&mut self.connection);
        let mut next = found.try_next().await?;
        while let Some(row) = next {
            for (column, value) in rows.row(row.len()).iter_mut().enumerate() {
                value::read(&row, column, value)?;
            }
            if !rows.end_row() {
                return Ok(());
            }
            next = loop {
                match found.try_next().now_or_never() {
                    Some(next) => break next?,
                    None => std::thread::sleep(BUNCH),
                }
            };
        }
        rows.flush();
        Ok(())
    }

    /// Rewrites the file without its free space.
    pub(super) async fn vacuum(&mut self) -> Result<(), sqlx::Error> {
        let sql = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        sqlx::raw_sql(sql).execute(&mut self.connection).await.map(drop)
    }

    /// Copies into the file what only its write-ahead log has.
    pub(super) async fn checkpoint(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut self.connection).await.map(drop)
    }

    /// Whether all pages are there and in order.
    pub(super) async fn is_sound(&mut self) -> Result<bool, sqlx::Error> {
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut self.connection).await?;
        Ok(found == "ok")
    }

    /// Closing copies the write-ahead log into the file.
    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}

/// Connects to write, and creates the file if it is missing. SQLite does not wait for the lock that turns a new file to write-ahead mode, so
/// this does.
async fn connect_to_write(path: &Path, options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    // The tables take more than a page.
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
            Err(error) if errors::is_busy(&error) && Instant::now() < until => tokio::time::sleep(LOCK_PAUSE).await,
            answer => return answer,
        }
    }
}

/// Connects to read the present state. On a read-only disk, or in a folder that this user must not write to, SQLite cannot create the
/// shared memory of a write-ahead log. Where there is no such log nobody writes, and the file is read as one that does not change.
async fn connect_to_read(path: &Path, options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    match begin_to_read(options.clone()).await {
        Err(error) if errors::is_read_only(&error) && !has_write_ahead_log(path) => {
            begin_to_read(options.immutable(true)).await
        }
        answer => answer,
    }
}

/// Whether there is a write-ahead log with anything in it.
fn has_write_ahead_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

async fn begin_to_read(options: SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let options = options.read_only(true).pragma("query_only", "ON").busy_timeout(LOCK_TIMEOUT);
    let mut connection = options.row_buffer_size(ROWS_AHEAD).connect().await?;
    sqlx::query("BEGIN").execute(&mut connection).await?;
    // The state is that of the first reading.
    sqlx::query("SELECT 1 FROM sqlite_master").fetch_optional(&mut connection).await?;
    Ok(connection)
}
