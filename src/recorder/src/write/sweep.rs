//! Sweeps in a database: their plans, and the results of their cases.
//!
//! A case is stored in one transaction, with all of its results or not at all. Several processes may store cases of the
//! same sweep, also the same case: the first one stays.

use std::{
    collections::BTreeMap,
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::{
        schema, timestamp,
        value::{Parameter, Row, Value},
    },
};

/// Largest number of rows in one statement. With it a statement stays far below the number of values that every
/// database takes.
const ROWS_PER_STATEMENT: usize = 100;
/// Largest number of cases whose rows are read together. It bounds the memory.
const CASES_PER_QUERY: u64 = 10_000;
/// Time between two transactions with finished cases, while cases end more often.
const STORE_INTERVAL: Duration = Duration::from_millis(250);
/// Times between attempts to store cases in a database that does not take them, such as one that restarts, ms.
const RETRY_INTERVALS_MS: [u64; 5] = [200, 500, 1000, 3000, 10_000];

/// A sweep to be planned.
#[derive(Debug, Clone, Copy)]
pub struct NewSweep<'a> {
    /// Name of the sweep.
    pub name: &'a str,
    /// Hash of everything that its cases are made from, hexadecimal.
    pub hash: &'a str,
    /// Number of cases.
    pub cases: u64,
    /// Text of the sweep file.
    pub plan: &'a str,
}

/// A planned sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSweep {
    /// Number of the sweep in the database.
    pub id: i64,
    /// Name of the sweep.
    pub name: String,
    /// Hash of everything that its cases are made from, hexadecimal.
    pub hash: String,
    /// Number of cases.
    pub cases: u64,
    /// Time of the planning, UTC, ISO 8601.
    pub planned: String,
}

/// A value that a case varies.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseParameter {
    /// Path of the value in the model, or name of a setting.
    pub path: String,
    /// The value as given.
    pub text: String,
    /// The number, or the factor; `None` for a word.
    pub value: Option<f64>,
}

/// A case that has been simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// Number of the case, from 0.
    pub case: u64,
    /// Status of the case: completed, stopped, diverged or failed.
    pub status: String,
    /// Cause of the status, if the status does not state it.
    pub cause: String,
    /// Number of steps made.
    pub steps: u64,
    /// Hash of the final state, hexadecimal; empty for a case that failed.
    pub state_hash: String,
    /// Number of the case's run in the database; `None` if its log was not kept.
    pub run: Option<i64>,
    /// Values of the measures by their names; `None` for a measure without a value.
    pub measures: Vec<(String, Option<f64>)>,
}

/// A number of a case: of a parameter or of a measure.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseNumber {
    /// Path of the parameter, or name of the measure.
    pub name: String,
    /// Number of the case.
    pub case: u64,
    /// The value as text.
    pub text: String,
    /// The value; `None` for a word, and for a measure without a value.
    pub value: Option<f64>,
}

/// The sweeps of a database.
#[derive(Debug)]
pub struct SweepStore {
    runtime: Runtime,
    connection: Connection,
    database: Database,
    /// Time of the last stored cases, or of the opening.
    stored_at: Instant,
}

impl SweepStore {
    /// Connects to a database, and creates its tables or brings them up to date.
    ///
    /// # Errors
    /// When the database cannot be reached, or cannot be written.
    pub fn open(database: &Database) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let connection = runtime.block_on(Connection::open(database, Access::Write))?;
        Ok(Self { runtime, connection, database: database.clone(), stored_at: Instant::now() })
    }

    /// The same for a database that has to exist: nothing is created because of a wrong name.
    ///
    /// # Errors
    /// When the database does not exist, cannot be reached, or cannot be written.
    pub fn open_existing(database: &Database) -> Result<Self, RecorderError> {
        match database.file() {
            Some(file) if !file.exists() => Err(RecorderError::NoDatabase { database: database.clone() }),
            _ => Self::open(database),
        }
    }

    /// True if nothing has been stored for a quarter of a second, so that others see the sweep proceed and a killed
    /// process loses little.
    pub fn is_due(&self) -> bool {
        self.stored_at.elapsed() >= STORE_INTERVAL
    }

    /// All sweeps, the newest last.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sweeps(&mut self) -> Result<Vec<StoredSweep>, RecorderError> {
        let sql = "SELECT sweepID, name, hash, cases, planned FROM sweep ORDER BY sweepID";
        let rows = self.runtime.block_on(self.connection.rows(sql, &[]))?;
        Ok(rows.iter().map(stored_sweep).collect())
    }

    /// The sweep with this hash, if it is planned.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sweep_with_hash(&mut self, hash: &str) -> Result<Option<StoredSweep>, RecorderError> {
        let sql = "SELECT sweepID, name, hash, cases, planned FROM sweep WHERE hash = ?";
        let row = self.runtime.block_on(self.connection.row(sql, &[Parameter::Text(hash)]))?;
        Ok(row.as_ref().map(stored_sweep))
    }

    /// Text of a sweep's file.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn plan_of(&mut self, sweep: i64) -> Result<String, RecorderError> {
        let sql = "SELECT plan FROM sweep WHERE sweepID = ?";
        let row = self.runtime.block_on(self.connection.row(sql, &[Parameter::Integer(sweep)]))?;
        Ok(row.map(|row| row.text(0).to_owned()).unwrap_or_default())
    }

    /// Stores a sweep with the parameters of all its cases, in one transaction. A sweep that is there already stays as
    /// it is.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn plan(
        &mut self,
        new: &NewSweep<'_>,
        parameters: impl Fn(u64) -> Vec<CaseParameter>,
    ) -> Result<StoredSweep, RecorderError> {
        if let Some(known) = self.sweep_with_hash(new.hash)? {
            return Ok(known);
        }
        let planned = timestamp::now();
        let written = self.runtime.block_on(write_plan(&mut self.connection, new, &planned, parameters));
        if written.is_err() {
            self.open_again()?;
        }
        // Another process may have planned the same sweep in the same moment.
        match (self.sweep_with_hash(new.hash)?, written) {
            (Some(sweep), _) => Ok(sweep),
            (None, written) => {
                Err(written.err().unwrap_or(RecorderError::NoDatabase { database: self.database.clone() }))
            }
        }
    }

    /// Numbers of cases of a sweep by their status.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn counts(&mut self, sweep: i64) -> Result<Vec<(String, u64)>, RecorderError> {
        let sql = "SELECT status, count(*) FROM sweepCase WHERE sweepID = ? GROUP BY status ORDER BY status";
        let rows = self.runtime.block_on(self.connection.rows(sql, &[Parameter::Integer(sweep)]))?;
        Ok(rows.iter().map(|row| (row.text(0).to_owned(), row.count(1))).collect())
    }

    /// Texts of the differences that were found when cases were simulated again.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn differences(&mut self, sweep: i64) -> Result<Vec<(u64, String)>, RecorderError> {
        let sql = "SELECT caseNumber, text FROM sweepEvent WHERE sweepID = ? ORDER BY eventID";
        let rows = self.runtime.block_on(self.connection.rows(sql, &[Parameter::Integer(sweep)]))?;
        Ok(rows.iter().map(|row| (row.count(0), row.text(1).to_owned())).collect())
    }

    /// The stored cases among these.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn finished(&mut self, sweep: i64, cases: Range<u64>) -> Result<BTreeMap<u64, CaseResult>, RecorderError> {
        let mut found = BTreeMap::new();
        let mut from = cases.start;
        while from < cases.end {
            let to = cases.end.min(from + CASES_PER_QUERY);
            let limits = [sweep, from as i64, to as i64].map(Parameter::Integer);
            let (rows, measures) = self.runtime.block_on(async {
                let sql = "SELECT caseNumber, status, cause, steps, stateHash, simulationID FROM sweepCase \
                           WHERE sweepID = ? AND caseNumber >= ? AND caseNumber < ?";
                let rows = self.connection.rows(sql, &limits).await?;
                let sql = "SELECT caseNumber, measure, value FROM sweepResult \
                           WHERE sweepID = ? AND caseNumber >= ? AND caseNumber < ? ORDER BY measure";
                Ok::<_, RecorderError>((rows, self.connection.rows(sql, &limits).await?))
            })?;
            found.extend(rows.iter().map(|row| (row.count(0), case_result(row))));
            for row in &measures {
                if let Some(case) = found.get_mut(&row.count(0)) {
                    case.measures.push((row.text(1).to_owned(), row.real(2)));
                }
            }
            from = to;
        }
        Ok(found)
    }

    /// Stores cases, each as a whole. Returns the numbers of those that another process has stored before. If the
    /// database does not take them, further attempts follow for 15 s.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn keep(&mut self, sweep: i64, cases: &[CaseResult]) -> Result<Vec<u64>, RecorderError> {
        let ended = timestamp::now();
        let mut attempt = 0;
        loop {
            let kept = self.runtime.block_on(write_cases(&mut self.connection, sweep, cases, &ended));
            match (kept, RETRY_INTERVALS_MS.get(attempt)) {
                (Ok(known), _) => {
                    self.stored_at = Instant::now();
                    return Ok(known);
                }
                (Err(error), None) => return Err(error),
                (Err(_), Some(interval)) => {
                    thread::sleep(Duration::from_millis(*interval));
                    // If this fails as well, the next attempt fails at once.
                    let _ = self.open_again();
                }
            }
            attempt += 1;
        }
    }

    /// Stores a difference between a stored case and the same case simulated again.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn note_difference(&mut self, sweep: i64, case: u64, text: &str) -> Result<(), RecorderError> {
        let noticed = timestamp::now();
        let row = vec![
            Value::Integer(sweep),
            Value::Integer(case as i64),
            Value::Text(noticed),
            Value::Text(text.to_owned()),
        ];
        self.runtime.block_on(async {
            self.connection.begin().await?;
            insert_rows(&mut self.connection, "sweepEvent", &[row]).await?;
            self.connection.commit().await
        })
    }

    /// Removes the cases with this status, so that they are simulated again. Returns their number.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget(&mut self, sweep: i64, status: &str) -> Result<u64, RecorderError> {
        let of_status = [Parameter::Integer(sweep), Parameter::Integer(sweep), Parameter::Text(status)];
        self.runtime.block_on(async {
            self.connection.begin().await?;
            let sql = "DELETE FROM sweepResult WHERE sweepID = ? AND caseNumber IN \
                       (SELECT caseNumber FROM sweepCase WHERE sweepID = ? AND status = ?)";
            self.connection.execute(sql, &of_status).await?;
            let sql = "DELETE FROM sweepCase WHERE sweepID = ? AND status = ?";
            let removed = self.connection.execute(sql, &of_status[1..]).await?;
            self.connection.commit().await?;
            Ok(removed)
        })
    }

    /// The parameters of all cases, by path and case.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn parameters(&mut self, sweep: i64) -> Result<Vec<CaseNumber>, RecorderError> {
        let sql =
            "SELECT path, caseNumber, text, value FROM sweepParameter WHERE sweepID = ? ORDER BY path, caseNumber";
        self.case_numbers(sql, sweep)
    }

    /// The measures of all stored cases, by name and case.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn measures(&mut self, sweep: i64) -> Result<Vec<CaseNumber>, RecorderError> {
        let sql =
            "SELECT measure, caseNumber, '', value FROM sweepResult WHERE sweepID = ? ORDER BY measure, caseNumber";
        self.case_numbers(sql, sweep)
    }

    fn case_numbers(&mut self, sql: &'static str, sweep: i64) -> Result<Vec<CaseNumber>, RecorderError> {
        let rows = self.runtime.block_on(self.connection.rows(sql, &[Parameter::Integer(sweep)]))?;
        let number = |row: &Row| CaseNumber {
            name: row.text(0).to_owned(),
            case: row.count(1),
            text: row.text(2).to_owned(),
            value: row.real(3),
        };
        Ok(rows.iter().map(number).collect())
    }

    /// Opens the connection anew. The database rolls back what the old one had not committed.
    fn open_again(&mut self) -> Result<(), RecorderError> {
        self.connection = self.runtime.block_on(Connection::open(&self.database, Access::Write))?;
        Ok(())
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// When the database cannot be closed.
    pub fn close(self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.connection.close())
    }
}

fn stored_sweep(row: &Row) -> StoredSweep {
    StoredSweep {
        id: row.integer(0).unwrap_or_default(),
        name: row.text(1).to_owned(),
        hash: row.text(2).to_owned(),
        cases: row.count(3),
        planned: row.text(4).to_owned(),
    }
}

fn case_result(row: &Row) -> CaseResult {
    CaseResult {
        case: row.count(0),
        status: row.text(1).to_owned(),
        cause: row.text(2).to_owned(),
        steps: row.count(3),
        state_hash: row.text(4).to_owned(),
        run: row.integer(5),
        measures: Vec::new(),
    }
}

fn real_or_null(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::Real)
}

async fn write_plan(
    connection: &mut Connection,
    new: &NewSweep<'_>,
    planned: &str,
    parameters: impl Fn(u64) -> Vec<CaseParameter>,
) -> Result<(), RecorderError> {
    let text = |text: &str| Value::Text(text.to_owned());
    let version = text(env!("CARGO_PKG_VERSION"));
    let cases = Value::Integer(new.cases as i64);
    connection.begin().await?;
    let row = vec![text(new.name), text(new.hash), text(planned), version, cases, text(new.plan)];
    insert_rows(connection, "sweep", &[row]).await?;
    let id = connection.row("SELECT sweepID FROM sweep WHERE hash = ?", &[Parameter::Text(new.hash)]).await?;
    let id = id.and_then(|row| row.integer(0)).unwrap_or_default();
    let mut rows = Vec::new();
    for case in 0..new.cases {
        rows.extend(parameters(case).into_iter().map(|given| {
            let case = Value::Integer(case as i64);
            vec![Value::Integer(id), Value::Text(given.path), case, Value::Text(given.text), real_or_null(given.value)]
        }));
        if rows.len() >= ROWS_PER_STATEMENT {
            insert_rows(connection, "sweepParameter", &rows).await?;
            rows.clear();
        }
    }
    insert_rows(connection, "sweepParameter", &rows).await?;
    connection.commit().await
}

/// Stores the cases that are not there yet in one transaction. Returns the numbers of the others.
async fn write_cases(
    connection: &mut Connection,
    sweep: i64,
    cases: &[CaseResult],
    ended: &str,
) -> Result<Vec<u64>, RecorderError> {
    connection.begin().await?;
    let mut known = Vec::new();
    for group in cases.chunks(ROWS_PER_STATEMENT) {
        let places = vec!["?"; group.len()].join(",");
        let sql = format!("SELECT caseNumber FROM sweepCase WHERE sweepID = ? AND caseNumber IN ({places})");
        let numbers = group.iter().map(|case| Parameter::Integer(case.case as i64));
        let parameters: Vec<Parameter<'_>> = [Parameter::Integer(sweep)].into_iter().chain(numbers).collect();
        // The statement consists of constants of this program.
        known.extend(connection.rows(AssertSqlSafe(sql), &parameters).await?.iter().map(|row| row.count(0)));
    }
    let new = || cases.iter().filter(|case| !known.contains(&case.case));
    let rows: Vec<Vec<Value>> = new().map(|case| case_row(sweep, case, ended)).collect();
    insert_rows(connection, "sweepCase", &rows).await?;
    let measures = |case: &CaseResult| {
        let number = case.case as i64;
        let row = move |(name, value): &(String, Option<f64>)| {
            vec![Value::Integer(sweep), Value::Text(name.clone()), Value::Integer(number), real_or_null(*value)]
        };
        case.measures.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Value>> = new().flat_map(measures).collect();
    insert_rows(connection, "sweepResult", &rows).await?;
    connection.commit().await?;
    Ok(known)
}

fn case_row(sweep: i64, case: &CaseResult, ended: &str) -> Vec<Value> {
    vec![
        Value::Integer(sweep),
        Value::Integer(case.case as i64),
        Value::Text(case.status.clone()),
        Value::Text(case.cause.clone()),
        Value::Integer(case.steps as i64),
        Value::Text(case.state_hash.clone()),
        case.run.map_or(Value::Null, Value::Integer),
        Value::Text(ended.to_owned()),
    ]
}

/// Inserts rows into a table whose rows belong to no run.
async fn insert_rows(connection: &mut Connection, table: &str, rows: &[Vec<Value>]) -> Result<(), RecorderError> {
    for group in rows.chunks(ROWS_PER_STATEMENT) {
        let statement = schema::insert_rows_outside_runs(table, group.len());
        let parameters: Vec<Parameter<'_>> = group.iter().flatten().map(Parameter::from).collect();
        // The statement consists of constants of this program.
        connection.execute(AssertSqlSafe(statement), &parameters).await?;
    }
    Ok(())
}
