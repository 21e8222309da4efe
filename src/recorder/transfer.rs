//! Runs moved from one database into another, of the same kind or another, each in one transaction and counted at the end.
//!
//! What is read are the rows as they stand; what is written are cells that say which part of the run they mean, as the recorder
//! writes them itself. So a run gets new numbers wherever it comes to stand, and what refers to what stays as it was.

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use super::{
    Database, Inquiry, RecorderError,
    cell::{Cell, Keys, Value as Given},
    inquiry::{self, LAST_STEP, Selection, Value, rows_of},
    store::{Access, Store},
    table::{Batch, Table},
};

/// Steps whose rows are held between reading and writing.
const STRETCH: u64 = 64;

/// What is set in a run's row after it was entered.
const AFTERWARDS: [&str; 18] = [
    "ended",
    "steps",
    "rows_written",
    "slips",
    "late_p50_us",
    "late_p99_us",
    "late_p99_9_us",
    "late_max_us",
    "real_time_factor",
    "stateHash",
    "position",
    "missing_batches",
    "steps_logged",
    "gaps",
    "chain_head",
    "log_bytes",
    "status",
    "end_checksum",
];
const AFTERWARDS_SET: &str =
    "UPDATE simulation SET ended = nullif(?, ''), steps = ?, rows_written = ?, slips = ?, late_p50_us = ?,
    late_p99_us = ?, late_p99_9_us = ?, late_max_us = ?, real_time_factor = ?, stateHash = nullif(?, ''), position = ?,
    missing_batches = nullif(?, ''), steps_logged = ?, gaps = ?, chain_head = ?, log_bytes = ?, status = ?,
    end_checksum = ? WHERE simulationID = ?";

/// A run that was moved, or was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Its number where it came from.
    pub from: i64,
    /// Its number where it is now.
    pub into: i64,
    /// The rows that were written; none if the run was there already.
    pub rows: Option<u64>,
}

/// Copies runs into another database.
#[derive(Debug)]
pub struct Merge {
    runtime: Runtime,
    from: Inquiry,
    into: Store,
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
        let into = runtime.block_on(Store::open(into, Access::Write))?;
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
        for table in inquiry::TABLES.iter().filter(|table| !table.view) {
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
    pub fn close(self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.into.close())
    }

    /// Copies a run, all of it or nothing, and counts what has come across. `progress` hears of rows written.
    ///
    /// # Errors
    /// When either database fails, or not all rows have come across; then the second is as it was.
    pub fn copy(&mut self, run: i64, progress: &mut dyn FnMut(u64)) -> Result<Merged, RecorderError> {
        let key = self.key(run)?;
        if let Some(there) = self.numbered(&key)? {
            return Ok(Merged { from: run, into: there, rows: None });
        }
        let parts = Parts::of(&mut self.from, run)?;
        self.runtime.block_on(self.into.begin())?;
        let keys = self.enter(run, &key)?;
        let mut rows = 1;
        for table in Table::ALL.into_iter().filter(|&table| table != Table::Simulation) {
            let written = self.table(run, table, keys, &parts, &mut |count| progress(rows + count))?;
            let found = self.count(table, keys.simulation)?;
            if found != written {
                let text = format!("{written} rows of {} went out and {found} came in", table.name());
                return Err(RecorderError::Incomplete { database: self.into.database().clone(), text });
            }
            rows += written;
        }
        self.runtime.block_on(self.into.commit())?;
        Ok(Merged { from: run, into: keys.simulation, rows: Some(rows) })
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

    /// Values of the run's row, as far as this log has the columns; none of the others.
    fn simulation(&mut self, run: i64, columns: &[&str]) -> Result<Vec<Value>, RecorderError> {
        let Some(table) = inquiry::Table::named("simulation") else { return Ok(Vec::new()) };
        let there = self.from.columns(table)?;
        let known: Vec<&str> =
            columns.iter().copied().filter(|name| there.iter().any(|column| column.name == *name)).collect();
        let mut found = vec![Value::Null; columns.len()];
        if known.is_empty() {
            return Ok(found);
        }
        self.from.rows(&Selection::all(table, run), &known, |row| {
            for (name, value) in known.iter().zip(row) {
                if let Some(place) = columns.iter().position(|column| column == name) {
                    found[place] = value.clone();
                }
            }
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }
}

impl Merge {
    fn numbered(&mut self, key: &str) -> Result<Option<i64>, RecorderError> {
        let key = [Given::Text(key)];
        let row = self.into.row("SELECT simulationID FROM simulation WHERE runKey = ?", &key);
        Ok(self.runtime.block_on(row)?.and_then(|row| row.integer(0)))
    }

    /// Enters the run's own row, with all that it says, and tells the new numbers.
    fn enter(&mut self, run: i64, key: &str) -> Result<Keys, RecorderError> {
        let columns: Vec<&str> = Table::Simulation.columns().split(", ").collect();
        let values = self.simulation(run, &columns)?;
        let mut batch = Batch::default();
        batch.of(Table::Simulation).extend(columns.iter().zip(&values).map(|(column, value)| match (*column, value) {
            ("runKey", _) => key.into(),
            // From before there was a choice.
            ("on_change", Value::Null) => Cell::Integer(0),
            (_, value) => plain(value),
        }));
        let unknown = RecorderError::RunUnknown { database: self.into.database().clone(), run_key: key.to_owned() };
        self.runtime.block_on(self.into.insert_into(Table::Simulation, &batch, Keys::new(0)))?;
        let keys = Keys::new(self.numbered(key)?.ok_or(unknown)?);
        let mut cells: Vec<Cell> = self.simulation(run, &AFTERWARDS)?.iter().map(plain).collect();
        for (column, cell) in AFTERWARDS.iter().zip(&mut cells).filter(|(_, cell)| **cell == Cell::Null) {
            match *column {
                "ended" | "stateHash" | "missing_batches" => *cell = "".into(),
                "position" => *cell = Cell::Integer(0),
                _ => {}
            }
        }
        cells.push(Cell::Run);
        let given: Vec<Given<'_>> = cells.iter().map(|cell| keys.value(cell)).collect();
        self.runtime.block_on(self.into.execute(AFTERWARDS_SET, &given))?;
        Ok(keys)
    }

    /// Copies the rows of a table, and tells how many.
    fn table(
        &mut self,
        run: i64,
        table: Table,
        keys: Keys,
        parts: &Parts,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, RecorderError> {
        let Some(source) = inquiry::Table::named(table.name()) else { return Ok(0) };
        let there = self.from.columns(source)?;
        let columns: Vec<&str> = table.columns().split(", ").collect();
        let known: Vec<&str> =
            columns.iter().copied().filter(|name| there.iter().any(|column| column.name == *name)).collect();
        if known.is_empty() {
            return Ok(0);
        }
        let place = |column: &&str| known.iter().position(|known| known == column);
        let places: Vec<_> = columns.iter().map(|column| (place(column), Reference::of(column))).collect();
        let mut rows = 0;
        let mut from = 0;
        while from <= LAST_STEP {
            let to = match source.of_steps || source.has_steps() {
                true => self.from.stretch(run, (from, LAST_STEP), STRETCH)?,
                false => LAST_STEP,
            };
            let steps = Some((from, to));
            from = to + 1;
            let selection = Selection { steps, ..Selection::all(source, run) };
            let mut batch = Batch::default();
            self.from.rows(&selection, &known, |row| {
                let cells = batch.of(table);
                for (place, reference) in &places {
                    cells.push(place.map_or(Cell::Null, |place| parts.cell(*reference, &row[place])));
                }
                Ok::<_, RecorderError>(())
            })?;
            rows += (batch.cells(table).len() / columns.len()) as u64;
            self.runtime.block_on(self.into.insert_into(table, &batch, keys))?;
            progress(rows);
        }
        Ok(rows)
    }

    fn count(&mut self, table: Table, run: i64) -> Result<u64, RecorderError> {
        let Some(target) = inquiry::Table::named(table.name()) else { return Ok(0) };
        let sql = format!("SELECT count(*) FROM {} WHERE {}", target.name, target.belongs_to(run, ""));
        // Made of constants of this room and a number.
        let row = self.runtime.block_on(self.into.row(AssertSqlSafe(sql), &[]))?;
        Ok(row.map_or(0, |row| row.count(0)))
    }
}

/// What a column's numbers refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    Run,
    Step,
    Robot,
    Part,
    /// Nothing; it holds bytes, which not every database tells from a text.
    Bytes,
    /// Nothing.
    None,
}

impl Reference {
    /// Of the column of a name.
    pub(super) fn of(column: &str) -> Self {
        match column {
            "simulationID" => Self::Run,
            "simulationRowID" => Self::Step,
            "robotID" => Self::Robot,
            "bodyID" | "jointID" | "componentID" | "reference" | "parent_bodyID" | "child_bodyID" | "attached_to" => {
                Self::Part
            }
            "state" | "sums" => Self::Bytes,
            _ => Self::None,
        }
    }
}

/// What the numbers of a run's parts count from.
pub(super) struct Parts {
    run: i64,
    /// The robots' numbers, in their order.
    robots: Vec<i64>,
    /// The number of the first body, joint or device.
    first: i64,
}

impl Parts {
    pub(super) fn of(from: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let mut robots = Vec::new();
        if let Some(table) = inquiry::Table::named("robot") {
            from.rows(&Selection::all(table, run), &["robotID"], |row| {
                robots.extend(row[0].integer());
                Ok::<_, RecorderError>(())
            })?;
        }
        let first = from.components(run)?.iter().map(|component| component.number).min().unwrap_or(0);
        Ok(Self { run, robots, first })
    }

    /// The cell of a value: what it refers to, where it refers to something.
    pub(super) fn cell(&self, reference: Reference, value: &Value) -> Cell {
        if reference == Reference::Bytes {
            return Cell::Bytes(value.bytes().into());
        }
        let Some(number) = value.integer() else { return plain(value) };
        let count = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
        match reference {
            Reference::Run => Cell::Run,
            Reference::Step => Cell::Step(number.wrapping_sub(rows_of(self.run).0) as u64),
            Reference::Robot => self
                .robots
                .iter()
                .position(|robot| *robot == number)
                .map_or(Cell::Null, |place| Cell::Robot(count(i64::try_from(place).ok()))),
            Reference::Part => Cell::Part(count(number.checked_sub(self.first))),
            Reference::Bytes | Reference::None => plain(value),
        }
    }
}

pub(super) fn plain(value: &Value) -> Cell {
    match value {
        Value::Integer(integer) => Cell::Integer(*integer),
        Value::Real(real) => Cell::Real(*real),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(bytes) => Cell::Bytes(bytes.as_slice().into()),
        Value::Null => Cell::Null,
    }
}
