//! Asking the log: one connection that cannot write, one snapshot for as long as it lives, and rows that stream.
//!
//! [`Reader`](super::Reader) serves a page that looks at a few steps at a time beside a run; this serves programs that go through
//! a whole run once. It blocks, since what calls it has nothing else to do.

mod components;
mod deviation;
mod dictionary;
mod place;
mod scope;
mod tables;

use tokio::runtime::Runtime;

use super::{Database, RecordedRun, RecorderError, store::Asking};

pub use components::{Component, Part};
pub use deviation::Deviation;
pub use dictionary::{columns, dictionary};
pub use place::Place;
pub use scope::Scope;
pub use tables::{TABLES, Table};

pub(super) use place::Told;
pub(super) use scope::Dialect;
pub(super) use tables::{LAST_STEP, rows_of, spelt};

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, or a number that is not finite.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(*integer as f64),
            Self::Real(real) => Some(*real),
            Self::Null | Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    /// The whole number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// The bytes of bytes or of a text, which some databases do not tell apart; none of anything else.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::Null | Self::Integer(_) | Self::Real(_) => &[],
        }
    }

    /// The text; nothing of anything else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

/// What a column of a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

/// A column of a table or of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds, where the database says so.
    pub kind: Option<Kind>,
}

/// Which rows of which table of a run, in their order.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The table.
    pub table: &'static Table,
    /// The run.
    pub run: i64,
    /// The first and the last step, of tables that have steps.
    pub steps: Option<(u64, u64)>,
    /// Only steps that are divided by this, of tables whose rows are of steps.
    pub every: u64,
    /// Only rows that have one of these numbers in this column.
    pub among: Option<(&'static str, Vec<i64>)>,
    /// Only so many of them.
    pub most: Option<u64>,
}

impl Selection {
    /// All rows of a run.
    pub fn all(table: &'static Table, run: i64) -> Self {
        Self { table, run, steps: None, every: 1, among: None, most: None }
    }

    /// A column, or the step that the rows of steps have in their number.
    fn column(&self, name: &str) -> String {
        match name {
            "step" if self.table.of_steps => format!("simulationRowID - {}", rows_of(self.run).0),
            name => name.to_owned(),
        }
    }

    /// What is true of the rows that are meant.
    pub(super) fn condition(&self) -> String {
        let mut all = self.table.belongs_to(self.run, "");
        let (first, _) = rows_of(self.run);
        let row = |step: u64| first.saturating_add(i64::try_from(step).unwrap_or(i64::MAX));
        match self.steps {
            Some((from, to)) if self.table.of_steps => {
                all += &format!(" AND simulationRowID BETWEEN {} AND {}", row(from), row(to));
            }
            Some((from, to)) if self.table.has_steps() => all += &format!(" AND step BETWEEN {from} AND {to}"),
            _ => {}
        }
        if self.table.of_steps && self.every > 1 {
            all += &format!(" AND (simulationRowID - {first}) % {} = 0", self.every);
        }
        if let Some((column, numbers)) = &self.among {
            let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
            all += &format!(" AND {column} IN ({})", numbers.join(","));
        }
        all
    }
}

/// Whoever hears an answer.
pub trait Listener {
    /// What may go wrong with it.
    type Error: From<RecorderError>;

    /// The columns, before the rows.
    ///
    /// # Errors
    /// Ends the answer.
    fn columns(&mut self, columns: &[Column]) -> Result<(), Self::Error>;

    /// A row.
    ///
    /// # Errors
    /// Ends the answer.
    fn row(&mut self, row: &[Value]) -> Result<(), Self::Error>;
}

/// A connection to a database of logs that cannot write.
#[derive(Debug)]
pub struct Inquiry {
    runtime: Runtime,
    connection: Asking,
    database: Database,
}

impl Inquiry {
    /// Connects. What is written from now on is not seen.
    ///
    /// # Errors
    /// When there is no such database or it cannot be read.
    pub fn open(database: &Database) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let connection = runtime.block_on(Asking::open(database))?;
        Ok(Self { runtime, connection, database: database.clone() })
    }

    /// Whom it asks.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs(&mut self) -> Result<Vec<RecordedRun>, RecorderError> {
        self.runtime.block_on(super::Reader::new(&self.database).runs())
    }

    /// The columns of a table, none if this log has no such table.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn columns(&mut self, table: &Table) -> Result<Vec<Column>, RecorderError> {
        let columns = self.runtime.block_on(self.connection.columns(&format!("SELECT * FROM {}", table.name)));
        match columns {
            Ok(columns) => {
                Ok(columns.into_iter().map(|column| Column { name: spelt(&column.name), ..column }).collect())
            }
            Err(error) if self.connection.is_missing_table(&error) => Ok(Vec::new()),
            Err(error) => Err(self.connection.failed(error)),
        }
    }

    /// Goes through rows of a table, with the values of these columns; every table whose rows are of steps has a `step`.
    ///
    /// # Errors
    /// The first that `take` returns, or when the database cannot be read.
    pub fn rows<E: From<RecorderError>>(
        &mut self,
        selection: &Selection,
        columns: &[&str],
        take: impl FnMut(&[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Table { name: table, order, .. } = *selection.table;
        let condition = selection.condition();
        let columns: Vec<String> = columns.iter().map(|column| selection.column(column)).collect();
        let limit = selection.most.map_or(String::new(), |most| format!(" LIMIT {most}"));
        let columns = columns.join(", ");
        self.stream(&format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order}{limit}"), take)
    }

    /// The last step of a stretch that begins with `from`, has so many logged steps at most, and ends with `to` at the latest. Where
    /// steps are far apart, or only said to be, a stretch is as long as it has to be, so that their number follows from the rows.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn stretch(&mut self, run: i64, (from, to): (u64, u64), logged: u64) -> Result<u64, RecorderError> {
        let selection = Selection { steps: Some((from, to)), ..Selection::all(Table::of_logged_steps(), run) };
        let sql = format!(
            "SELECT simulationRowID - {} FROM simulationRow WHERE {} ORDER BY simulationRowID LIMIT 1 OFFSET {}",
            rows_of(run).0,
            selection.condition(),
            logged.saturating_sub(1)
        );
        let mut last = to;
        self.stream(&sql, |row| {
            last = row[0].integer().and_then(|step| u64::try_from(step).ok()).unwrap_or(to).clamp(from, to);
            Ok::<_, RecorderError>(())
        })?;
        Ok(last)
    }

    /// How many rows of a table belong to a run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count(&mut self, selection: &Selection) -> Result<u64, RecorderError> {
        let sql = format!("SELECT count(*) FROM {} WHERE {}", selection.table.name, selection.condition());
        let mut count = 0;
        self.stream(&sql, |row| {
            count = row.first().and_then(Value::integer).unwrap_or(0) as u64;
            Ok::<_, RecorderError>(())
        })?;
        Ok(count)
    }

    /// Asks a question of the user's.
    ///
    /// # Errors
    /// When the database does not understand it, with its words and the place; the first that the listener returns.
    pub fn ask<L: Listener>(&mut self, sql: &str, scope: Scope, listener: &mut L) -> Result<(), L::Error> {
        let scoped = scope::scoped(sql, scope, &self.connection.dialect());
        let asked = |connection: &Asking, error: sqlx::Error| match connection.words(&error) {
            Some((message, told)) => RecorderError::Query { message, place: told.place(sql, &scoped) },
            None => connection.failed(error),
        };
        let columns = self.runtime.block_on(self.connection.columns(&scoped.text));
        let columns = columns.map_err(|error| asked(&self.connection, error))?;
        if columns.is_empty() {
            let message = "it has no answer, and so is no query".to_owned();
            return Err(RecorderError::Query { message, place: None }.into());
        }
        listener.columns(&columns)?;
        let mut failure = None;
        let mut hear = |row: &[Value]| {
            failure = listener.row(row).err();
            failure.is_none()
        };
        let rows = self.connection.rows(&scoped.text, &mut hear);
        let read = self.runtime.block_on(rows).map_err(|error| asked(&self.connection, error));
        failure.map_or(Ok(()), Err)?;
        Ok(read?)
    }

    /// Goes through the rows of a query of ours.
    pub(super) fn stream<E: From<RecorderError>>(
        &mut self,
        sql: &str,
        mut take: impl FnMut(&[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut failure = None;
        let mut hear = |row: &[Value]| {
            failure = take(row).err();
            failure.is_none()
        };
        let rows = self.connection.rows(sql, &mut hear);
        let read = self.runtime.block_on(rows).map_err(|error| self.connection.failed(error));
        failure.map_or(Ok(()), Err)?;
        Ok(read?)
    }
}
