//! Copies runs from one database into another, of the same kind or another, each in one transaction, and counts the rows at the end.
//!
//! Rows are read as the cells that they were written from. So a run gets new numbers in the other database, and what its rows refer to
//! stays the same.

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

/// Logged steps whose rows are in memory between reading and writing: about the size of a recorder's batch.
const CHUNK: u64 = 64;

/// A run that was copied, or was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Its number in the first database.
    pub from: i64,
    /// Its number in the second.
    pub into: i64,
    /// The rows that were written; none if the run was there already.
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
    /// Opens both databases; the tables of the second are created or brought up to date.
    ///
    /// # Errors
    /// When one of them cannot be opened, or both are the same.
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

    /// How many rows a run has.
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

    /// Closes the second database.
    ///
    /// # Errors
    /// When it fails.
    pub fn close(mut self) -> Result<(), RecorderError> {
        self.runtime.block_on(async {
            self.into.analyze().await?;
            self.into.close().await
        })
    }

    /// Copies a run, all of it or nothing, and counts the copied rows. `progress` is called with the number of rows written.
    ///
    /// # Errors
    /// When either database fails, or the second does not have all rows; then it is unchanged.
    pub fn copy(&mut self, run: i64, progress: &mut dyn FnMut(u64)) -> Result<Merged, RecorderError> {
        let key = self.key(run)?;
        if let Some(there) = self.number_of(&key)? {
            return Ok(Merged { from: run, into: there, rows: None });
        }
        let stored = StoredIds::of(&mut self.from, run)?;
        self.runtime.block_on(self.into.begin())?;
        let ids = self.insert_run(run, &key)?;
        let mut rows = 1;
        for table in TableId::ALL.into_iter().filter(|&table| table != TableId::Simulation) {
            let written = self.copy_table(run, table, ids, &stored, &mut |count| progress(rows + count))?;
            let found = self.count(table, ids.simulation)?;
            if found != written {
                let text = format!("{written} rows of {} were written and {found} are there", table.name());
                return Err(RecorderError::Incomplete { database: self.into.database().clone(), text });
            }
            rows += written;
        }
        self.runtime.block_on(self.into.commit())?;
        Ok(Merged { from: run, into: ids.simulation, rows: Some(rows) })
    }

    /// The run's key; a run from before there were keys gets one that is the same whenever it is copied.
    fn key(&mut self, run: i64) -> Result<String, RecorderError> {
        let row = self.simulation(run, &["runKey"])?;
        if let [Value::Text(key)] = &row[..] {
            return Ok(key.clone());
        }
        let row = self.simulation(run, &["started", "world", "stateHash"])?;
        let text = format!("{run} {row:?}");
        Ok(blake3::hash(text.as_bytes()).to_hex()[..32].to_owned())
    }

    /// Values of the run's row.
    fn simulation(&mut self, run: i64, columns: &[&str]) -> Result<Vec<Value>, RecorderError> {
        let mut found = vec![Value::Null; columns.len()];
        self.from.rows(&Selection::all(TableId::Simulation.table(), run), columns, |row| {
            found = row.to_vec();
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }

    fn number_of(&mut self, key: &str) -> Result<Option<i64>, RecorderError> {
        let key = [Parameter::Text(key)];
        let row = self.into.row("SELECT simulationID FROM simulation WHERE runKey = ?", &key);
        Ok(self.runtime.block_on(row)?.and_then(|row| row.integer(0)))
    }

    /// Inserts the run's own row, with all of its columns, and returns the new numbers.
    fn insert_run(&mut self, run: i64, key: &str) -> Result<RunIds, RecorderError> {
        let columns = TableId::Simulation.column_names();
        let values = self.simulation(run, &columns)?;
        let mut rows = TableRows::default();
        let cell = |(column, value): (&&str, &Value)| match (*column, value) {
            ("runKey", _) => key.into(),
            // Logs of earlier versions have all rows.
            ("on_change", Value::Null) => Cell::Integer(0),
            (_, value) => value.into(),
        };
        rows.cells_mut(TableId::Simulation).extend(columns.iter().zip(&values).map(cell));
        let unknown = RecorderError::RunUnknown { database: self.into.database().clone(), run_key: key.to_owned() };
        self.runtime.block_on(self.into.insert_into(TableId::Simulation, &rows, RunIds::new(0)))?;
        let ids = RunIds::new(self.number_of(key)?.ok_or(unknown)?);
        let columns = schema::columns_after_insert();
        let cell = |(column, value): (&&str, &Value)| match (*column, value) {
            (column, Value::Null) if schema::is_nullable_text(column) => "".into(),
            ("position", Value::Null) => Cell::Integer(0),
            (_, value) => value.into(),
        };
        let values = self.simulation(run, &columns)?;
        let mut cells: Vec<Cell> = columns.iter().zip(&values).map(cell).collect();
        cells.push(Cell::Run);
        let parameters: Vec<Parameter<'_>> = cells.iter().map(|cell| cell.parameter(ids)).collect();
        // Made of constants of this program.
        let update = AssertSqlSafe(schema::update_run(&columns));
        self.runtime.block_on(self.into.execute(update, &parameters))?;
        Ok(ids)
    }

    /// Copies the rows of a table, and returns how many.
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
                true => self.from.chunk_end(run, (from, LAST_STEP), CHUNK)?,
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

    fn count(&mut self, table: TableId, run: i64) -> Result<u64, RecorderError> {
        let sql = format!("SELECT count(*) FROM {} WHERE {}", table.name(), table.table().belongs_to(run, ""));
        // Made of constants of this program and a number.
        let row = self.runtime.block_on(self.into.row(AssertSqlSafe(sql), &[]))?;
        Ok(row.map_or(0, |row| row.count(0)))
    }
}
