//! A blocking connection for queries of a log. It reads one snapshot of the database as long as it lives, and streams
//! rows.

use std::collections::BTreeMap;

use tokio::runtime::Runtime;

use super::{
    known_columns, near_names,
    recorded::RecordedRun,
    runs,
    scope::{self, Scope},
    selection::Selection,
};
use crate::{
    database::{
        address::Database,
        connection::{Connection, ConnectionError},
        driver::Access,
        error::RecorderError,
        scan::rows_between_threads,
    },
    format::{
        schema::{Table, TableId},
        value::{Column, Value},
    },
};

/// Receives the result of a query.
pub trait Listener {
    /// Reason why the listener stops receiving.
    type Error: From<RecorderError>;

    /// Receives the columns, before the rows.
    ///
    /// # Errors
    /// An error ends the query.
    fn columns(&mut self, columns: &[Column]) -> Result<(), Self::Error>;

    /// Receives a row.
    ///
    /// # Errors
    /// An error ends the query.
    fn row(&mut self, row: &[Value]) -> Result<(), Self::Error>;
}

/// A read-only connection to a database of logs.
#[derive(Debug)]
pub struct Inquiry {
    runtime: Runtime,
    connection: Connection,
    /// Columns of the tables queried so far, by table name.
    columns: BTreeMap<&'static str, Vec<Column>>,
}

impl Inquiry {
    /// Connects. The connection does not see anything written later.
    ///
    /// # Errors
    /// When there is no such database or it cannot be read.
    pub fn open(database: &Database) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let connection = runtime.block_on(Connection::open(database, Access::Read))?;
        Ok(Self { runtime, connection, columns: BTreeMap::new() })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        self.connection.database()
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs(&mut self) -> Result<Vec<RecordedRun>, RecorderError> {
        self.runtime.block_on(runs::query_runs(&mut self.connection, None))
    }

    /// The run of this number, or the newest run; `None` if there is no such run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn run(&mut self, number: Option<i64>) -> Result<Option<RecordedRun>, RecorderError> {
        let mut newest = None;
        if number.is_none() {
            self.for_each_row("SELECT max(simulationID) FROM simulation", |row| {
                newest = row[0].integer();
                Ok::<_, RecorderError>(())
            })?;
        }
        let Some(number) = number.or(newest) else { return Ok(None) };
        Ok(self.runtime.block_on(runs::query_runs(&mut self.connection, Some(number)))?.into_iter().next())
    }

    /// The columns of a table; empty if this log has no such table.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn columns(&mut self, table: &Table) -> Result<Vec<Column>, RecorderError> {
        if let Some(columns) = self.columns.get(table.name) {
            return Ok(columns.clone());
        }
        let mut columns = self.runtime.block_on(self.connection.table_columns(table.name))?;
        // SQLite reports no type for computed columns of views.
        for column in &mut columns {
            let known = table.columns().find(|(name, _)| *name == column.name);
            column.column_type = known.map_or(column.column_type, |(_, known)| Some(known.column_type()));
        }
        self.columns.insert(table.name, columns.clone());
        Ok(columns)
    }

    /// Calls `take` with the values of these columns of each selected row. Every table whose rows belong to steps also
    /// has a column `step`, computed from the simulationRowID. A log of an earlier version reads as if it had the
    /// present tables: columns that it lacks are NULL, and tables that it lacks are empty.
    ///
    /// # Errors
    /// The first error that `take` returns, or when the database cannot be read.
    pub fn rows<E: From<RecorderError>>(
        &mut self,
        selection: &Selection,
        columns: &[&str],
        take: impl FnMut(&[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut known = self.columns(selection.table)?;
        if known.is_empty() {
            return Ok(());
        }
        if selection.table.has_rows_of_steps() {
            known.push(Column { name: selection.expression("step"), column_type: None });
        }
        let wanted = columns.iter().map(|column| selection.expression(column));
        let expressions = known_columns::column_expressions(&known, wanted);
        self.for_each_row(&selection.query(&expressions), take)
    }

    /// Last step of a chunk of steps that begins with `from`, has at most `logged` logged steps, and ends at `to` at
    /// the latest. The chunk may span any number of steps that are not logged.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn chunk_end(&mut self, run: i64, (from, to): (u64, u64), logged: u64) -> Result<u64, RecorderError> {
        let steps = TableId::SimulationRow.table();
        let selection = Selection { steps: Some((from, to)), ..Selection::all(steps, run) };
        let mut last = to;
        self.for_each_row(&selection.query_for_step(logged), |row| {
            last = row[0].integer().and_then(|step| u64::try_from(step).ok()).unwrap_or(to).clamp(from, to);
            Ok::<_, RecorderError>(())
        })?;
        Ok(last)
    }

    /// Number of selected rows.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count(&mut self, selection: &Selection) -> Result<u64, RecorderError> {
        let sql = format!("SELECT count(*) FROM {} WHERE {}", selection.table.name, selection.condition());
        let mut count = 0;
        self.for_each_row(&sql, |row| {
            count = row.first().and_then(Value::integer).unwrap_or(0) as u64;
            Ok::<_, RecorderError>(())
        })?;
        Ok(count)
    }

    /// Executes a user's query, restricted to `scope`.
    ///
    /// # Errors
    /// When the database refuses the query, with its message and the position of the error. Otherwise the first error
    /// that the listener returns.
    pub fn ask<L: Listener>(&mut self, sql: &str, scope: Scope, listener: &mut L) -> Result<(), L::Error> {
        let dialect = self.runtime.block_on(self.connection.dialect())?;
        let scoped = scope::scope_query(sql, scope, &dialect);
        let failed = |connection: &Connection, error: ConnectionError| match connection.query_fault(&error) {
            Some(fault) => {
                let help = near_names::suggest_names(sql, &fault.message);
                RecorderError::Query { message: fault.message, position: scoped.position(sql, &fault.location), help }
            }
            None => connection.error(error),
        };
        let columns = self.runtime.block_on(self.connection.columns(&scoped.text));
        let columns = columns.map_err(|error| failed(&self.connection, error))?;
        if columns.is_empty() {
            let message = "the statement returns no columns, so it is not a query".to_owned();
            return Err(RecorderError::Query { message, position: None, help: None }.into());
        }
        listener.columns(&columns)?;
        self.stream_rows(&scoped.text, |row| listener.row(row), failed)
    }

    /// Calls `take` with each row of a query of this program, while another thread reads ahead.
    pub(super) fn for_each_row<E: From<RecorderError>>(
        &mut self,
        sql: &str,
        take: impl FnMut(&[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (runtime, connection) = (&self.runtime, &mut self.connection);
        let (mut sender, receiver) = rows_between_threads();
        let (taken, read) = std::thread::scope(|threads| {
            let reader = threads.spawn(move || runtime.block_on(connection.scan(sql, &mut sender)));
            let taken = receiver.for_each_row(take);
            (taken, reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        taken?;
        Ok(read.map_err(|error| self.connection.error(error))?)
    }

    /// Calls `take` with each row of a user's query. `failed` converts an error of the database.
    fn stream_rows<E: From<RecorderError>>(
        &mut self,
        sql: &str,
        mut take: impl FnMut(&[Value]) -> Result<(), E>,
        failed: impl FnOnce(&Connection, ConnectionError) -> RecorderError,
    ) -> Result<(), E> {
        let mut failure = None;
        let mut take = |row: &[Value]| {
            failure = take(row).err();
            failure.is_none()
        };
        let read = self.runtime.block_on(self.connection.for_each_row(sql, &mut take));
        failure.map_or(Ok(()), Err)?;
        Ok(read.map_err(|error| failed(&self.connection, error))?)
    }
}
