//! Copies runs from one database into another, which may be of another kind. Each run is copied in one transaction, and
//! its rows are counted before the commit.
//!
//! Rows are read as the cells that they were written from. So a run gets new numbers in the other database, and the
//! references between its rows stay intact.

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use super::{
    inquiry::Inquiry,
    selection::Selection,
    stored_rows::{self, StoredIds},
};
use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::{
        cell::Cell,
        ids::{LAST_STEP, RunIds},
        schema::{self, TABLES, TableId},
        table_rows::TableRows,
        value::{Parameter, Value},
    },
};

/// Number of logged steps whose rows are in memory between reading and writing: about the size of a recorder's batch.
const STEPS_PER_INSERT: u64 = 64;

/// Result of copying a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Number of the run in the source database.
    pub from: i64,
    /// Number of the run in the target database.
    pub into: i64,
    /// Number of rows written; `None` if the target already had the run.
    pub rows: Option<u64>,
}

/// Copies runs into another database.
#[derive(Debug)]
pub struct Merge {
    runtime: Runtime,
    from: Inquiry,
    into: Connection,
}

impl Merge {
    /// Opens both databases. The tables of the target are created or brought up to date.
    ///
    /// # Errors
    /// When one of the databases cannot be opened.
    pub fn new(from: &Database, into: &Database) -> Result<Self, RecorderError> {
        let from = Inquiry::open(from)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let into = runtime.block_on(Connection::open(into, Access::Write))?;
        Ok(Self { runtime, from, into })
    }

    /// The runs that can be copied, the oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn runs(&mut self) -> Result<Vec<i64>, RecorderError> {
        Ok(self.from.runs()?.iter().rev().map(|run| run.simulation_id).collect())
    }

    /// Number of rows of a run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rows(&mut self, run: i64) -> Result<u64, RecorderError> {
        let mut rows = 0;
        for table in TABLES.iter().filter(|table| table.holds_runs()) {
            if !self.from.columns(table)?.is_empty() {
                rows += self.from.count(&Selection::all(table, run))?;
            }
        }
        Ok(rows)
    }

    /// Closes the target database.
    ///
    /// # Errors
    /// When the database fails.
    pub fn close(mut self) -> Result<(), RecorderError> {
        self.runtime.block_on(async {
            self.into.analyze().await?;
            self.into.close().await
        })
    }

    /// Copies a run as a whole or not at all, and counts the copied rows. `progress` is called with the number of rows
    /// written.
    ///
    /// # Errors
    /// When either database fails, or the target does not have all rows. Then the target is unchanged.
    pub fn copy(&mut self, run: i64, progress: &mut dyn FnMut(u64)) -> Result<Merged, RecorderError> {
        let key = self.run_key(run)?;
        if let Some(existing) = self.find_run(&key)? {
            return Ok(Merged { from: run, into: existing, rows: None });
        }
        let stored = StoredIds::read(&mut self.from, run)?;
        self.runtime.block_on(self.into.begin())?;
        let ids = self.insert_run(run, &key)?;
        let mut rows = 1;
        for table in TableId::ALL.into_iter().filter(|&table| table != TableId::Simulation) {
            let written = self.copy_table(run, table, ids, &stored, &mut |count| progress(rows + count))?;
            let found = self.count_rows(table, ids.simulation)?;
            if found != written {
                let text = format!("{written} rows of {} were written, but {found} were found", table.name());
                return Err(RecorderError::Incomplete { database: self.into.database().clone(), text });
            }
            rows += written;
        }
        self.runtime.block_on(self.into.commit())?;
        Ok(Merged { from: run, into: ids.simulation, rows: Some(rows) })
    }

    /// The run's key. A run of an early version has none, and gets a key that is the same whenever it is copied.
    fn run_key(&mut self, run: i64) -> Result<String, RecorderError> {
        let row = self.run_values(run, &["runKey"])?;
        if let [Value::Text(key)] = &row[..] {
            return Ok(key.clone());
        }
        let row = self.run_values(run, &["started", "world", "stateHash"])?;
        let text = format!("{run} {row:?}");
        Ok(blake3::hash(text.as_bytes()).to_hex()[..32].to_owned())
    }

    /// Values of these columns in the run's row.
    fn run_values(&mut self, run: i64, columns: &[&str]) -> Result<Vec<Value>, RecorderError> {
        let mut found = vec![Value::Null; columns.len()];
        self.from.rows(&Selection::all(TableId::Simulation.table(), run), columns, |row| {
            found = row.to_vec();
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }

    /// Number of the run of this key in the target.
    fn find_run(&mut self, key: &str) -> Result<Option<i64>, RecorderError> {
        let key = [Parameter::Text(key)];
        let row = self.into.row("SELECT simulationID FROM simulation WHERE runKey = ?", &key);
        Ok(self.runtime.block_on(row)?.and_then(|row| row.integer(0)))
    }

    /// Inserts the run's own row, with all columns, and returns the run's new numbers.
    fn insert_run(&mut self, run: i64, key: &str) -> Result<RunIds, RecorderError> {
        let columns = TableId::Simulation.column_names();
        let values = self.run_values(run, &columns)?;
        let mut rows = TableRows::default();
        let cell = |(column, value): (&&str, &Value)| match (*column, value) {
            ("runKey", _) => key.into(),
            // Logs of earlier versions leave out no rows.
            ("on_change", Value::Null) => Cell::Integer(0),
            (_, value) => value.into(),
        };
        rows.cells_mut(TableId::Simulation).extend(columns.iter().zip(&values).map(cell));
        let unknown = RecorderError::RunUnknown { database: self.into.database().clone(), run_key: key.to_owned() };
        self.runtime.block_on(self.into.insert_into(TableId::Simulation, &rows, RunIds::new(0)))?;
        let ids = RunIds::new(self.find_run(key)?.ok_or(unknown)?);
        let columns = schema::columns_after_insert();
        let cell = |(column, value): (&&str, &Value)| match (*column, value) {
            (column, Value::Null) if schema::is_nullable_text(column) => "".into(),
            ("position", Value::Null) => Cell::Integer(0),
            (_, value) => value.into(),
        };
        let values = self.run_values(run, &columns)?;
        let mut cells: Vec<Cell> = columns.iter().zip(&values).map(cell).collect();
        cells.push(Cell::Run);
        let parameters: Vec<Parameter<'_>> = cells.iter().map(|cell| cell.parameter(ids)).collect();
        // The statement consists of constants of this program.
        let update = AssertSqlSafe(schema::update_run(&columns));
        self.runtime.block_on(self.into.execute(update, &parameters))?;
        Ok(ids)
    }

    /// Copies the rows of a run in a table, and returns their number.
    fn copy_table(
        &mut self,
        run: i64,
        table: TableId,
        ids: RunIds,
        stored: &StoredIds,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, RecorderError> {
        let (mut count, mut from) = (0, 0);
        while from <= LAST_STEP {
            let to = match table.table().has_steps() {
                true => self.from.chunk_end(run, (from, LAST_STEP), STEPS_PER_INSERT)?,
                false => LAST_STEP,
            };
            let mut rows = TableRows::default();
            stored_rows::for_each_row(&mut self.from, stored, table, (Some((from, to)), None), |cells| {
                rows.cells_mut(table).extend_from_slice(cells);
                Ok::<_, RecorderError>(())
            })?;
            from = to + 1;
            count += (rows.cells(table).len() / table.width()) as u64;
            self.runtime.block_on(self.into.insert_into(table, &rows, ids))?;
            progress(count);
        }
        Ok(count)
    }

    /// Number of rows of a run in a table of the target.
    fn count_rows(&mut self, table: TableId, run: i64) -> Result<u64, RecorderError> {
        let sql = format!("SELECT count(*) FROM {} WHERE {}", table.name(), table.table().belongs_to(run, ""));
        // The statement consists of constants of this program and a number.
        let row = self.runtime.block_on(self.into.row(AssertSqlSafe(sql), &[]))?;
        Ok(row.map_or(0, |row| row.count(0)))
    }
}
