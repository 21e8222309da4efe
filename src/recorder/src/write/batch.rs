//! A log is a sequence of batches. Each is committed whole or not at all, and only once.
//!
//! The transaction of a batch also sets the run's `position` to the batch's number. A recorder that lost its connection during a commit
//! does not know whether the batch is there and sends it again: then the number says that the database has it, and nothing is written.

use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;

use super::ranges::Ranges;
use crate::{
    database::{connection::Connection, error::RecorderError},
    format::{
        cell::Cell,
        ids::RunIds,
        schema::{self, TableId},
        table_rows::TableRows,
        value::Parameter,
    },
};

/// A part of a run's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    /// The run's key.
    pub(super) run_key: String,
    /// How often the process had reset the world before that run.
    pub(super) epoch: u32,
    /// Its number within the run, from 1.
    pub(super) number: u64,
    /// The first step that it has rows of, and how many steps.
    pub(super) first_step: u64,
    pub(super) steps: u64,
    pub(super) content: Content,
}

/// What a batch has. Spill files hold the variants by their place here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Content {
    /// The run's row and the model: always the first.
    Begin(TableRows),
    /// Rows of steps, commands and events.
    Rows(TableRows),
    /// What the run's row gets at its end, see `run_rows::end`: always the last.
    End(Vec<Cell>),
}

/// The result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) ids: RunIds,
    /// False if the database had it already.
    pub(super) is_new: bool,
}

/// What the database has of a run.
pub(super) struct CommittedRun {
    pub(super) ids: RunIds,
    /// The highest number of a committed batch.
    position: u64,
    /// The numbers below it of batches that are not committed.
    pub(super) missing: Ranges,
}

impl CommittedRun {
    /// Whether a batch is committed.
    pub(super) fn has(&self, number: u64) -> bool {
        number <= self.position && !self.missing.contains(number)
    }
}

/// Whether batches before one may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    Refused,
    Allowed,
}

impl Batch {
    /// Whether its values fit the columns of the tables.
    pub(super) fn fits_the_tables(&self) -> bool {
        match &self.content {
            Content::Begin(rows) | Content::Rows(rows) => rows.fit_the_tables(),
            // The checksum and the run's number are behind the columns.
            Content::End(values) => values.len() == schema::columns_at_end().len() + 2,
        }
    }

    /// The size of its values in a database, about, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Begin(rows) | Content::Rows(rows) => rows.bytes(),
            Content::End(_) => 0,
        }
    }

    /// How many rows of steps, commands and events it has.
    pub(super) fn rows(&self) -> u64 {
        match &self.content {
            Content::Rows(rows) => rows.count(),
            Content::Begin(_) | Content::End(_) => 0,
        }
    }

    /// Commits it, unless it was committed before.
    pub(super) async fn commit(&self, connection: &mut Connection, gaps: Gaps) -> Result<Committed, RecorderError> {
        connection.begin().await?;
        let committed = match &self.content {
            Content::Begin(rows) => self.begin_run(connection, rows).await?,
            Content::Rows(rows) => {
                let committed = self.claim(connection, gaps).await?;
                if committed.is_new {
                    connection.insert(rows, committed.ids).await?;
                }
                committed
            }
            Content::End(values) => {
                let committed = self.claim(connection, gaps).await?;
                if committed.is_new {
                    end_run(connection, values, committed.ids).await?;
                }
                committed
            }
        };
        connection.commit().await?;
        Ok(committed)
    }

    /// Inserts the run, which gets its number from the database.
    async fn begin_run(&self, connection: &mut Connection, rows: &TableRows) -> Result<Committed, RecorderError> {
        if let Some(CommittedRun { ids, .. }) = committed_run(connection, &self.run_key).await? {
            return Ok(Committed { ids, is_new: false });
        }
        // The run's own row refers to nothing.
        connection.insert_into(TableId::Simulation, rows, RunIds::new(0)).await?;
        let run = committed_run(connection, &self.run_key).await?;
        let Some(CommittedRun { ids, .. }) = run else { return Err(self.unknown(connection)) };
        connection.insert(rows, ids).await?;
        self.claim(connection, Gaps::Refused).await
    }

    /// Enters the batch's number into the run's row, if it is not yet there.
    async fn claim(&self, connection: &mut Connection, gaps: Gaps) -> Result<Committed, RecorderError> {
        let Some(mut run) = committed_run(connection, &self.run_key).await? else {
            return Err(self.unknown(connection));
        };
        let ids = run.ids;
        if run.has(self.number) {
            return Ok(Committed { ids, is_new: false });
        }
        let (next, bytes) = (run.position + 1, Parameter::Integer(self.bytes() as i64));
        if self.number == next {
            let moved = "UPDATE simulation SET position = ?, log_bytes = coalesce(log_bytes, 0) + ? WHERE runKey = ?";
            let values = [Parameter::Integer(self.number as i64), bytes, Parameter::Text(&self.run_key)];
            connection.execute(moved, &values).await?;
            return Ok(Committed { ids, is_new: true });
        }
        if gaps == Gaps::Refused {
            let database = connection.database().clone();
            return Err(RecorderError::BatchMissing { database, next, got: self.number });
        }
        if !run.missing.remove(self.number) {
            run.missing.append(next, self.number - 1);
        }
        let moved = "UPDATE simulation SET position = ?, missing_batches = nullif(?, ''),
            log_bytes = coalesce(log_bytes, 0) + ? WHERE runKey = ?";
        let (position, missing) = (run.position.max(self.number) as i64, run.missing.to_string());
        let values = [Parameter::Integer(position), Parameter::Text(&missing), bytes, Parameter::Text(&self.run_key)];
        connection.execute(moved, &values).await?;
        Ok(Committed { ids, is_new: true })
    }

    fn unknown(&self, connection: &Connection) -> RecorderError {
        RecorderError::RunUnknown { database: connection.database().clone(), run_key: self.run_key.clone() }
    }
}

/// Writes what a run's row gets at its end.
async fn end_run(connection: &mut Connection, values: &[Cell], ids: RunIds) -> Result<(), RecorderError> {
    let columns = [&schema::columns_at_end()[..], &[schema::END_CHECKSUM]].concat();
    let parameters: Vec<Parameter<'_>> = values.iter().map(|cell| cell.parameter(ids)).collect();
    // Made of constants of this program.
    connection.execute(AssertSqlSafe(schema::update_run(&columns)), &parameters).await.map(drop)
}

/// What the database has of a run, if it has the run.
pub(super) async fn committed_run(
    connection: &mut Connection,
    run_key: &str,
) -> Result<Option<CommittedRun>, RecorderError> {
    let statement = "SELECT simulationID, position, missing_batches FROM simulation WHERE runKey = ?";
    let row = connection.row(statement, &[Parameter::Text(run_key)]).await?;
    Ok(row.and_then(|row| {
        let (ids, missing) = (RunIds::new(row.integer(0)?), Ranges::parse(row.text(2)));
        Some(CommittedRun { ids, position: row.count(1), missing })
    }))
}
