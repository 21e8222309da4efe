//! Removes whole runs from a database.

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use super::selection::Selection;
use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::{
        ids::LAST_STEP,
        schema::{TABLES, Table, TableId},
        timestamp,
    },
};

/// Number of logged steps whose rows one statement deletes: a few hundred thousand rows, so that no statement exceeds
/// its time limit.
const STEPS_PER_DELETE: u64 = 4096;

/// Removes runs from a database.
#[derive(Debug)]
pub struct Prune {
    runtime: Runtime,
    connection: Connection,
}

impl Prune {
    /// Opens the database.
    ///
    /// # Errors
    /// When the database cannot be opened for writing.
    pub fn new(database: &Database) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let connection = runtime.block_on(Connection::open(database, Access::Write))?;
        Ok(Self { runtime, connection })
    }

    /// Size of the database in bytes, without its free space if the database reports that.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn bytes(&mut self) -> Result<u64, RecorderError> {
        let sql = match self.connection.database() {
            Database::Sqlite(_) => {
                "SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())
                - (SELECT freelist_count FROM pragma_freelist_count()) * (SELECT page_size FROM pragma_page_size())"
            }
            Database::Postgres(_) => "SELECT pg_database_size(current_database())",
            Database::MySql(_) => {
                "SELECT cast(coalesce(sum(data_length + index_length), 0) AS SIGNED) FROM information_schema.tables
                WHERE table_schema = database()"
            }
        };
        Ok(self.runtime.block_on(self.connection.row(sql, &[]))?.map_or(0, |row| row.count(0)))
    }

    /// Removes a run, and returns the number of rows removed. `progress` is called with the number of statements
    /// executed, and the number of all statements.
    ///
    /// # Errors
    /// When the database fails. Then the run is unchanged.
    pub fn remove(&mut self, run: i64, progress: &mut dyn FnMut(u64, u64)) -> Result<u64, RecorderError> {
        self.runtime.block_on(self.connection.begin())?;
        let chunks = self.step_chunks(run)?;
        let statements_for = |table: &Table| if table.has_steps() { chunks.len() } else { 1 };
        let tables = || TABLES.iter().rev().filter(|table| table.holds_runs());
        let all = tables().map(statements_for).sum::<usize>() as u64;
        let (mut rows, mut done) = (0, 0);
        // The reverse order of tables deletes rows before the rows that they refer to.
        for table in tables() {
            for steps in &chunks[..statements_for(table)] {
                let selection = Selection { steps: Some(*steps), ..Selection::all(table, run) };
                let sql = format!("DELETE FROM {} WHERE {}", table.name, selection.condition());
                // The statement consists of constants of this program and numbers.
                rows += self.runtime.block_on(self.connection.execute(AssertSqlSafe(sql), &[]))?;
                done += 1;
                progress(done, all);
            }
        }
        self.runtime.block_on(self.connection.commit())?;
        Ok(rows)
    }

    /// First and last step of each chunk of [`STEPS_PER_DELETE`] logged steps. The last chunk extends to the last
    /// possible step.
    fn step_chunks(&mut self, run: i64) -> Result<Vec<(u64, u64)>, RecorderError> {
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let logged = Selection::all(TableId::SimulationRow.table(), run);
            let selection = Selection { steps: Some((from, LAST_STEP)), ..logged };
            // The statement consists of constants of this program and numbers.
            let sql = AssertSqlSafe(selection.query_for_step(STEPS_PER_DELETE));
            let row = self.runtime.block_on(self.connection.row(sql, &[]))?;
            let Some(last) = row.and_then(|row| row.integer(0)).and_then(|step| u64::try_from(step).ok()) else {
                found.push((from, LAST_STEP));
                return Ok(found);
            };
            found.push((from, last));
            from = last + 1;
        }
    }

    /// Returns free space of the database to the disk. This has no time limit.
    ///
    /// # Errors
    /// When the database fails, or another program uses it.
    pub fn vacuum(&mut self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.connection.vacuum())
    }

    /// Closes the database.
    ///
    /// # Errors
    /// When the database fails.
    pub fn close(self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.connection.close())
    }
}

/// Time of `days` days ago, in the format of a run's row.
pub fn days_ago(days: f64) -> String {
    timestamp::before_now(std::time::Duration::from_secs_f64(days * 86_400.0))
}
