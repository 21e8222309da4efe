//! The batches that make up a log. Each batch is committed as a whole or not at all, and only once.
//!
//! The transaction of a batch also sets the run's `position` to the batch's number. A recorder that loses its
//! connection during a commit does not know whether the batch was stored, so it sends the batch again. If `position`
//! shows that the database has it, nothing is written.

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

/// Part of a run's log: consecutive rows that one transaction commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Key of the run.
    pub(super) run_key: String,
    /// Index of the run among the runs of its process, from 0.
    pub(super) run_index: u32,
    /// Number of the batch within the run, from 1.
    pub(super) number: u64,
    /// First step that the batch has rows of.
    pub(super) first_step: u64,
    /// Number of steps that the batch has rows of; 0 for a batch without steps.
    pub(super) steps: u64,
    pub(super) content: Content,
}

/// Content of a batch. Spill files store the index of the variant, so the order of the variants must not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Content {
    /// The run's row and the model: always the first batch of a run.
    Begin(TableRows),
    /// Rows of steps, commands and events.
    Rows(TableRows),
    /// Values that complete the run's row at the end, see `run_rows::encode_run_end`: always the last batch of a run.
    End(Vec<Cell>),
}

/// Result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) ids: RunIds,
    /// False if the database already had the batch.
    pub(super) is_new: bool,
}

/// The part of a run that the database has.
pub(super) struct CommittedRun {
    pub(super) ids: RunIds,
    /// Highest number of a committed batch.
    position: u64,
    /// Numbers below `position` of batches that are not committed.
    pub(super) missing: Ranges,
}

impl CommittedRun {
    /// True if the batch of this number is committed.
    pub(super) fn has_batch(&self, number: u64) -> bool {
        number <= self.position && !self.missing.contains(number)
    }
}

/// Rule for a batch whose predecessors are not all committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// The commit fails.
    Refused,
    /// The commit succeeds, and the database notes the numbers of the missing batches.
    Allowed,
}

impl Batch {
    /// True if the batch has one value for each column of its tables.
    pub(super) fn fits_the_tables(&self) -> bool {
        match &self.content {
            Content::Begin(rows) | Content::Rows(rows) => rows.fit_the_tables(),
            // The checksum and the run's number follow the columns.
            Content::End(values) => values.len() == schema::columns_at_end().len() + 2,
        }
    }

    /// Approximate size of the batch's values in a database, in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        match &self.content {
            Content::Begin(rows) | Content::Rows(rows) => rows.size_bytes(),
            Content::End(_) => 0,
        }
    }

    /// Number of rows of steps, commands and events.
    pub(super) fn row_count(&self) -> u64 {
        match &self.content {
            Content::Rows(rows) => rows.row_count(),
            Content::Begin(_) | Content::End(_) => 0,
        }
    }

    /// Commits the batch, unless it was committed before.
    pub(super) async fn commit(&self, connection: &mut Connection, gaps: Gaps) -> Result<Committed, RecorderError> {
        connection.begin().await?;
        let committed = match &self.content {
            Content::Begin(rows) => self.begin_run(connection, rows).await?,
            Content::Rows(rows) => {
                let committed = self.claim_number(connection, gaps).await?;
                if committed.is_new {
                    connection.insert(rows, committed.ids).await?;
                }
                committed
            }
            Content::End(values) => {
                let committed = self.claim_number(connection, gaps).await?;
                if committed.is_new {
                    end_run(connection, values, committed.ids).await?;
                }
                committed
            }
        };
        connection.commit().await?;
        Ok(committed)
    }

    /// Inserts the run's row and model. The database assigns the run's number.
    async fn begin_run(&self, connection: &mut Connection, rows: &TableRows) -> Result<Committed, RecorderError> {
        if let Some(CommittedRun { ids, .. }) = committed_run(connection, &self.run_key).await? {
            return Ok(Committed { ids, is_new: false });
        }
        // The run's own row refers to no other row, so it can be inserted before its number is known.
        connection.insert_into(TableId::Simulation, rows, RunIds::new(0)).await?;
        let run = committed_run(connection, &self.run_key).await?;
        let Some(CommittedRun { ids, .. }) = run else { return Err(self.unknown_run_error(connection)) };
        connection.insert(rows, ids).await?;
        self.claim_number(connection, Gaps::Refused).await
    }

    /// Enters the batch's number into the run's row, unless the row has it.
    async fn claim_number(&self, connection: &mut Connection, gaps: Gaps) -> Result<Committed, RecorderError> {
        let Some(mut run) = committed_run(connection, &self.run_key).await? else {
            return Err(self.unknown_run_error(connection));
        };
        let ids = run.ids;
        if run.has_batch(self.number) {
            return Ok(Committed { ids, is_new: false });
        }
        let (next, bytes) = (run.position + 1, Parameter::Integer(self.size_bytes() as i64));
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

    fn unknown_run_error(&self, connection: &Connection) -> RecorderError {
        RecorderError::RunUnknown { database: connection.database().clone(), run_key: self.run_key.clone() }
    }
}

/// Completes a run's row with the values of its end.
async fn end_run(connection: &mut Connection, values: &[Cell], ids: RunIds) -> Result<(), RecorderError> {
    let columns = [&schema::columns_at_end()[..], &[schema::END_CHECKSUM]].concat();
    let parameters: Vec<Parameter<'_>> = values.iter().map(|cell| cell.parameter(ids)).collect();
    // The statement consists of constants of this program.
    connection.execute(AssertSqlSafe(schema::update_run(&columns)), &parameters).await.map(drop)
}

/// The part of a run that the database has; `None` if it does not have the run.
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
