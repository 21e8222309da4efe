//! Runs taken out of a database, each whole.

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use super::{
    Database, RecorderError, calendar,
    inquiry::{LAST_STEP, Selection, TABLES, Table, rows_of},
    store::{Access, Store},
};

/// Steps that one statement takes out, so that none takes longer than a statement may.
const STRETCH: u64 = 4096;

/// Takes runs out of a database.
#[derive(Debug)]
pub struct Prune {
    runtime: Runtime,
    store: Store,
}

impl Prune {
    /// Opens the database.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn new(database: &Database) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let store = runtime.block_on(Store::open(database, Access::Write))?;
        Ok(Self { runtime, store })
    }

    /// Bytes that the database uses, free room within it not counted where it can tell.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn bytes(&mut self) -> Result<u64, RecorderError> {
        let sql = match self.store.database() {
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
        Ok(self.runtime.block_on(self.store.row(sql, &[]))?.map_or(0, |row| row.count(0)))
    }

    /// Takes a run out, and tells how many rows that were. `progress` hears of statements carried out, and of how many.
    ///
    /// # Errors
    /// When the database fails; then the run is there as it was.
    pub fn remove(&mut self, run: i64, progress: &mut dyn FnMut(u64, u64)) -> Result<u64, RecorderError> {
        self.runtime.block_on(self.store.begin())?;
        let stretches = self.stretches(run)?;
        let of = |table: &Table| if table.of_steps || table.has_steps() { stretches.len() } else { 1 };
        let tables = || TABLES.iter().rev().filter(|table| !table.view);
        let all = tables().map(of).sum::<usize>() as u64;
        let (mut rows, mut done) = (0, 0);
        // What refers to others goes before them.
        for table in tables() {
            for steps in &stretches[..of(table)] {
                let selection = Selection { steps: Some(*steps), ..Selection::all(table, run) };
                let sql = format!("DELETE FROM {} WHERE {}", table.name, selection.condition());
                // Made of constants of this room and numbers.
                rows += self.runtime.block_on(self.store.execute(AssertSqlSafe(sql), &[]))?;
                done += 1;
                progress(done, all);
            }
        }
        self.runtime.block_on(self.store.commit())?;
        Ok(rows)
    }

    /// The steps of a run in stretches of so many logged ones; what happened after the last belongs to the last stretch.
    fn stretches(&mut self, run: i64) -> Result<Vec<(u64, u64)>, RecorderError> {
        let (mut found, mut from) = (Vec::new(), 0);
        let first = rows_of(run).0;
        loop {
            let selection =
                Selection { steps: Some((from, LAST_STEP)), ..Selection::all(Table::of_logged_steps(), run) };
            let sql = format!(
                "SELECT simulationRowID - {first} FROM simulationRow WHERE {} ORDER BY simulationRowID LIMIT 1 OFFSET {}",
                selection.condition(),
                STRETCH - 1
            );
            let row = self.runtime.block_on(self.store.row(AssertSqlSafe(sql), &[]))?;
            let Some(last) = row.and_then(|row| row.integer(0)).and_then(|step| u64::try_from(step).ok()) else {
                found.push((from, LAST_STEP));
                return Ok(found);
            };
            found.push((from, last));
            from = last + 1;
        }
    }

    /// Gives free room back to the disk, however long that takes.
    ///
    /// # Errors
    /// When the database fails, or another program uses it.
    pub fn vacuum(&mut self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.store.vacuum())
    }

    /// Closes the database.
    ///
    /// # Errors
    /// When it fails.
    pub fn close(self) -> Result<(), RecorderError> {
        self.runtime.block_on(self.store.close())
    }
}

/// The time so many days ago, as a run's row tells times.
pub fn days_ago(days: f64) -> String {
    calendar::before_now(std::time::Duration::from_secs_f64(days * 86_400.0))
}
