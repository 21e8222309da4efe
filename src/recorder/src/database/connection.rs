//! Connection to a database of any kind, for writing or for reading.
//!
//! Calls that this program makes by itself have a time limit. Queries of users have none. After a failure a connection
//! must be dropped, and the database rolls back its transaction.

use std::{pin::Pin, time::Duration};

use sqlx::{SqlSafeStr, SqlStr, migrate::MigrateError};

use super::{
    address::Database,
    driver::{Access, Dialect, ErrorCodes, QueryFault},
    error::{ErrorKind, RecorderError},
    limits::{CONNECT_TIMEOUT, STATEMENT_TIMEOUT},
    mysql, postgres,
    scan::RowSender,
    session,
    session_id::Session,
    sqlite,
};
use crate::format::{
    cell::Cell,
    ids::RunIds,
    schema::{self, TableId},
    table_rows::TableRows,
    value::{Column, Parameter, Row, Value},
};

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct Connection {
    database: Database,
    driver: Driver,
    /// The session on the server; `None` for an SQLite file.
    session: Option<Session>,
}

#[derive(Debug)]
enum Driver {
    Sqlite(sqlite::Connection),
    Postgres(postgres::Connection),
    MySql(mysql::Connection),
}

/// Reason why a call failed.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// The driver reported an error.
    Driver(sqlx::Error),
    /// The database did not answer within this time.
    Timeout(Duration),
}

/// A call in progress. It is boxed, because the futures of three drivers in every caller would take long to compile.
type Call<'a, T, E = sqlx::Error> = Pin<Box<dyn Future<Output = Result<T, E>> + 'a>>;

/// Makes the same call on the driver of the connection.
macro_rules! on_driver {
    ($connection:expr, $driver:ident => $call:expr) => {{
        let call: Call<'_, _, _> = match &mut $connection.driver {
            Driver::Sqlite($driver) => Box::pin($call),
            Driver::Postgres($driver) => Box::pin($call),
            Driver::MySql($driver) => Box::pin($call),
        };
        call
    }};
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(database: &Database, access: Access) -> Result<Self, RecorderError> {
        if let Some(file) = database.file() {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            match access {
                Access::Read if !file.exists() => {
                    return Err(RecorderError::NoDatabase { database: database.clone() });
                }
                Access::Write if folder.is_some_and(|folder| !folder.is_dir()) => {
                    return Err(RecorderError::FolderMissing { database: database.clone() });
                }
                _ => {}
            }
        }
        let driver = match database {
            // Opening a file may have to wait for a lock, so it has the time limit of a statement.
            Database::Sqlite(path) => {
                with_time_limit(STATEMENT_TIMEOUT, Box::pin(sqlite::Connection::open(path, access)))
                    .await
                    .map(Driver::Sqlite)
            }
            Database::Postgres(address) => {
                let url = address.url();
                let opened = Box::pin(postgres::Connection::open(&url, access));
                with_time_limit(CONNECT_TIMEOUT, opened).await.map(Driver::Postgres)
            }
            Database::MySql(address) => {
                let url = address.url();
                let opened = Box::pin(mysql::Connection::open(&url, access));
                with_time_limit(CONNECT_TIMEOUT, opened).await.map(Driver::MySql)
            }
        };
        let driver = driver.map_err(|error| error.into_recorder_error(database))?;
        let session = match &driver {
            Driver::Sqlite(_) => None,
            Driver::Postgres(driver) => Some(driver.session()),
            Driver::MySql(driver) => Some(driver.session()),
        };
        let mut connection = Self { database: database.clone(), driver, session };
        if access == Access::Write {
            connection.migrate().await?;
        }
        Ok(connection)
    }

    /// Creates the tables, or brings them up to date.
    async fn migrate(&mut self) -> Result<(), RecorderError> {
        let call: Call<'_, (), MigrateError> = on_driver!(self, driver => driver.migrate());
        let migrated = tokio::time::timeout(STATEMENT_TIMEOUT, call).await;
        let database = || self.database.clone();
        match migrated {
            Ok(Ok(())) => Ok(()),
            Ok(Err(MigrateError::VersionMissing(version))) => {
                Err(RecorderError::NewerSchema { database: database(), version })
            }
            Ok(Err(MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _))) => {
                Err(ConnectionError::Driver(source).into_recorder_error(&self.database))
            }
            Ok(Err(source)) => Err(RecorderError::Migration { database: database(), source }),
            Err(_) => Err(ConnectionError::Timeout(STATEMENT_TIMEOUT).into_recorder_error(&self.database)),
        }
    }

    /// The session on the server; `None` for an SQLite file.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Ends a session on this server whose connection was given up, because the session keeps its locks until it ends.
    pub(crate) async fn end_session(&mut self, session: &Session) -> Result<(), RecorderError> {
        let call: Call<'_, ()> = match (&mut self.driver, session) {
            (Driver::Postgres(driver), Session::Postgres(name)) => Box::pin(driver.end_session(name)),
            (Driver::MySql(driver), Session::MySql { id, host }) => Box::pin(driver.end_session(*id, host)),
            _ => return Ok(()),
        };
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Address of the database.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Interprets the error of a call.
    pub(crate) fn error(&self, error: ConnectionError) -> RecorderError {
        error.into_recorder_error(&self.database)
    }

    /// Begins a writing transaction.
    pub(crate) async fn begin(&mut self) -> Result<(), RecorderError> {
        let call = on_driver!(self, driver => driver.begin());
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Commits the transaction. After this returns, everything in it is kept.
    pub(crate) async fn commit(&mut self) -> Result<(), RecorderError> {
        let call = on_driver!(self, driver => driver.commit());
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Inserts rows into their tables, except for the run's own row.
    pub(crate) async fn insert(&mut self, rows: &TableRows, ids: RunIds) -> Result<(), RecorderError> {
        for table in TableId::ALL.into_iter().filter(|&table| table != TableId::Simulation) {
            self.insert_into(table, rows, ids).await?;
        }
        Ok(())
    }

    /// Inserts the rows of one table.
    pub(crate) async fn insert_into(
        &mut self,
        table: TableId,
        rows: &TableRows,
        ids: RunIds,
    ) -> Result<(), RecorderError> {
        let cells: &[Cell] = rows.cells(table);
        if cells.is_empty() {
            return Ok(());
        }
        let call = on_driver!(self, driver => driver.insert(table, cells, ids));
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Executes a statement with a question mark for each parameter, and returns the number of changed rows.
    pub(crate) async fn execute(
        &mut self,
        sql: impl SqlSafeStr,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, RecorderError> {
        let sql: SqlStr = sql.into_sql_str();
        let call = on_driver!(self, driver => driver.execute(sql, parameters));
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Rows of the result of a query.
    pub(crate) async fn rows(
        &mut self,
        sql: impl SqlSafeStr,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, RecorderError> {
        let sql: SqlStr = sql.into_sql_str();
        let call = on_driver!(self, driver => driver.rows(sql, parameters));
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// First row of the result of a query; `None` if it has no rows.
    pub(crate) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, RecorderError> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// Returns free space of the database to the disk. This has no time limit.
    pub(crate) async fn vacuum(&mut self) -> Result<(), RecorderError> {
        let call = on_driver!(self, driver => driver.vacuum());
        call.await.map_err(|source| ConnectionError::Driver(source).into_recorder_error(&self.database))
    }

    /// Renews PostgreSQL's statistics of the tables, by which it plans queries. It would do so by itself within a
    /// minute or two. Until then, the time of a join of views by time grows with the square of the number of steps. The
    /// other databases need no such call.
    pub(crate) async fn analyze(&mut self) -> Result<(), RecorderError> {
        match &mut self.driver {
            Driver::Postgres(driver) => with_time_limit(STATEMENT_TIMEOUT, Box::pin(driver.analyze())).await,
            Driver::Sqlite(_) | Driver::MySql(_) => Ok(()),
        }
        .map_err(|error| error.into_recorder_error(&self.database))
    }

    /// Copies the write-ahead log of an SQLite file into the file. A server does that by itself.
    pub(crate) async fn checkpoint(&mut self) -> Result<(), RecorderError> {
        match &mut self.driver {
            Driver::Sqlite(driver) => with_time_limit(STATEMENT_TIMEOUT, Box::pin(driver.checkpoint())).await,
            Driver::Postgres(_) | Driver::MySql(_) => Ok(()),
        }
        .map_err(|error| error.into_recorder_error(&self.database))
    }

    /// Checks every page of an SQLite file. This has no time limit. A server checks its files by itself.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(crate) async fn check_integrity(&mut self) -> Result<(), RecorderError> {
        let is_sound = match &mut self.driver {
            Driver::Sqlite(driver) => driver.is_sound().await.map_err(ConnectionError::Driver),
            Driver::Postgres(_) | Driver::MySql(_) => Ok(true),
        };
        let is_sound = is_sound.map_err(|error| error.into_recorder_error(&self.database))?;
        is_sound.then_some(()).ok_or_else(|| RecorderError::NotADatabase { database: self.database.clone() })
    }

    /// Closes the connection. For SQLite the write-ahead log is copied into the file.
    pub(crate) async fn close(self) -> Result<(), RecorderError> {
        let closed = match self.driver {
            Driver::Sqlite(driver) => with_time_limit(STATEMENT_TIMEOUT, Box::pin(driver.close())).await,
            Driver::Postgres(driver) => with_time_limit(CONNECT_TIMEOUT, Box::pin(driver.close())).await,
            Driver::MySql(driver) => with_time_limit(CONNECT_TIMEOUT, Box::pin(driver.close())).await,
        };
        closed.map_err(|error| error.into_recorder_error(&self.database))
    }
}

/// Queries of users, and queries that go through a whole run.
impl Connection {
    /// SQL dialect of the database, for users' queries.
    pub(crate) async fn dialect(&mut self) -> Result<Dialect, RecorderError> {
        let call = on_driver!(self, driver => driver.dialect());
        wait_for_answer(&self.database, self.session.as_ref(), call).await
    }

    /// Columns of the result of a query.
    pub(crate) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, ConnectionError> {
        let call = on_driver!(self, driver => driver.columns(sql));
        call.await.map_err(ConnectionError::Driver)
    }

    /// Columns of a table of this log; empty if the log has no such table.
    pub(crate) async fn table_columns(&mut self, table: &str) -> Result<Vec<Column>, RecorderError> {
        match self.columns(&format!("SELECT * FROM {table}")).await {
            Ok(columns) => Ok(columns
                .into_iter()
                .map(|column| Column { name: schema::schema_spelling(&column.name), ..column })
                .collect()),
            Err(ConnectionError::Driver(error)) if (error_codes(&self.database).is_missing_table)(&error) => {
                Ok(Vec::new())
            }
            Err(error) => Err(self.error(error)),
        }
    }

    /// Calls `take` with each row of the result of a query until it returns false. The rows are streamed.
    pub(crate) async fn for_each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(&[Value]) -> bool,
    ) -> Result<(), ConnectionError> {
        let call = on_driver!(self, driver => driver.for_each_row(sql, take));
        call.await.map_err(ConnectionError::Driver)
    }

    /// Sends the rows of a query of this program to another thread, in batches, as fast as the database reads. The call
    /// blocks its thread if the database is a file.
    pub(crate) async fn scan(&mut self, sql: &str, rows: &mut RowSender) -> Result<(), ConnectionError> {
        let call = on_driver!(self, driver => driver.scan(sql, rows));
        call.await.map_err(ConnectionError::Driver)
    }

    /// Fault of a query; `None` if the query is not the cause of the error.
    pub(crate) fn query_fault(&self, error: &ConnectionError) -> Option<QueryFault> {
        match error {
            ConnectionError::Driver(error) => (error_codes(&self.database).query_fault)(error),
            ConnectionError::Timeout(_) => None,
        }
    }
}

/// Waits for the answer to a call, at most [`STATEMENT_TIMEOUT`]. The wait ends earlier if the server is not working on
/// the call.
async fn wait_for_answer<T>(
    database: &Database,
    session: Option<&Session>,
    call: Call<'_, T>,
) -> Result<T, RecorderError> {
    let call = with_time_limit(STATEMENT_TIMEOUT, call);
    let answer = match session {
        Some(session) => session::wait_with_probes(database, session, call).await,
        None => Ok(call.await),
    };
    answer
        .unwrap_or_else(|silence| Err(ConnectionError::Timeout(silence)))
        .map_err(|error| error.into_recorder_error(database))
}

async fn with_time_limit<T>(limit: Duration, call: Call<'_, T>) -> Result<T, ConnectionError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer.map_err(ConnectionError::Driver),
        Err(_) => Err(ConnectionError::Timeout(limit)),
    }
}

fn error_codes(database: &Database) -> &'static ErrorCodes {
    match database {
        Database::Sqlite(_) => &sqlite::ERROR_CODES,
        Database::Postgres(_) => &postgres::ERROR_CODES,
        Database::MySql(_) => &mysql::ERROR_CODES,
    }
}

impl ConnectionError {
    /// Interprets the error by the codes of the database.
    fn into_recorder_error(self, database: &Database) -> RecorderError {
        match self {
            Self::Timeout(limit) => RecorderError::Silent { database: database.clone(), seconds: limit.as_secs() },
            Self::Driver(source) => {
                let kind = match &source {
                    sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                        ErrorKind::Unreachable
                    }
                    reported => (error_codes(database).kind)(reported),
                };
                RecorderError::new(database.clone(), kind, source)
            }
        }
    }
}
