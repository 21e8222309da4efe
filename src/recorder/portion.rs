//! The log as a line of portions, each committed whole or not at all, and each once.
//!
//! A portion's number moves the run's `position` in the transaction that writes it. So a portion that comes again, since nobody
//! could tell whether it was committed when the database went away, is known by its number and passed over.

use serde::{Deserialize, Serialize};

use super::{
    RecorderError,
    cell::{Cell, Keys, Value},
    model,
    ranges::Ranges,
    store::Store,
    table::{Batch, Table},
};

/// A part of a run's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Portion {
    /// Names the run.
    pub(super) run_key: String,
    /// How often the process had reset the world before that run.
    pub(super) epoch: u32,
    /// Its place in the run, from 1.
    pub(super) number: u64,
    /// The first step it tells of, and how many steps.
    pub(super) first_step: u64,
    pub(super) steps: u64,
    pub(super) content: Content,
}

/// What a portion brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Content {
    /// The run's row and the model: always the first.
    Begin(Batch),
    /// Rows of steps, commands and events.
    Rows(Batch),
    /// The values of [`model::END`]: always the last.
    End(Vec<Cell>),
}

/// What became of a portion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) keys: Keys,
    /// False if the database had it already.
    pub(super) is_new: bool,
}

/// What the database says of a run.
pub(super) struct RunRow {
    pub(super) keys: Keys,
    /// The highest number of a portion that is committed.
    position: u64,
    /// Those below that are not.
    pub(super) missing: Ranges,
}

impl RunRow {
    /// Whether a portion is committed.
    pub(super) fn has(&self, number: u64) -> bool {
        number <= self.position && !self.missing.contains(number)
    }
}

/// Whether portions before one may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    Refused,
    Allowed,
}

impl Portion {
    /// Its rows, if it brings any.
    pub(super) fn batch(&self) -> Option<&Batch> {
        match &self.content {
            Content::Begin(batch) | Content::Rows(batch) => Some(batch),
            Content::End(_) => None,
        }
    }

    /// How much room its values take in a database, about.
    pub(super) fn bytes(&self) -> u64 {
        self.batch().map_or(0, Batch::bytes)
    }

    /// Rows of steps, commands and events.
    pub(super) fn rows(&self) -> u64 {
        match &self.content {
            Content::Rows(batch) => batch.rows(),
            Content::Begin(_) | Content::End(_) => 0,
        }
    }

    /// Commits it, unless it was committed before.
    pub(super) async fn commit(&self, store: &mut Store, gaps: Gaps) -> Result<Committed, RecorderError> {
        store.begin().await?;
        let committed = match &self.content {
            Content::Begin(batch) => self.begin_run(store, batch).await?,
            Content::Rows(batch) => {
                let committed = self.claim(store, gaps).await?;
                if committed.is_new {
                    store.insert(batch, committed.keys).await?;
                }
                committed
            }
            Content::End(cells) => {
                let committed = self.claim(store, gaps).await?;
                if committed.is_new {
                    let values: Vec<Value<'_>> = cells.iter().map(|cell| committed.keys.value(cell)).collect();
                    store.execute(model::END, &values).await?;
                }
                committed
            }
        };
        store.commit().await?;
        Ok(committed)
    }

    /// Enters the run, whose number the database gives.
    async fn begin_run(&self, store: &mut Store, batch: &Batch) -> Result<Committed, RecorderError> {
        if let Some(RunRow { keys, .. }) = run_row(store, &self.run_key).await? {
            return Ok(Committed { keys, is_new: false });
        }
        // The run's own row refers to nothing.
        store.insert_into(Table::Simulation, batch, Keys::new(0)).await?;
        let Some(RunRow { keys, .. }) = run_row(store, &self.run_key).await? else { return Err(self.unknown(store)) };
        store.insert(batch, keys).await?;
        self.claim(store, Gaps::Refused).await
    }

    /// Enters the portion into the run's row, if it is not yet there.
    async fn claim(&self, store: &mut Store, gaps: Gaps) -> Result<Committed, RecorderError> {
        let Some(mut run) = run_row(store, &self.run_key).await? else { return Err(self.unknown(store)) };
        let keys = run.keys;
        if run.has(self.number) {
            return Ok(Committed { keys, is_new: false });
        }
        let (next, bytes) = (run.position + 1, Value::Integer(self.bytes() as i64));
        if self.number == next {
            let moved = "UPDATE simulation SET position = ?, log_bytes = coalesce(log_bytes, 0) + ? WHERE runKey = ?";
            let values = [Value::Integer(self.number as i64), bytes, Value::Text(&self.run_key)];
            store.execute(moved, &values).await?;
            return Ok(Committed { keys, is_new: true });
        }
        if gaps == Gaps::Refused {
            let database = store.database().clone();
            return Err(RecorderError::PortionMissing { database, next, got: self.number });
        }
        if !run.missing.remove(self.number) {
            run.missing.append(next, self.number - 1);
        }
        let moved = "UPDATE simulation SET position = ?, missing_batches = nullif(?, ''),
            log_bytes = coalesce(log_bytes, 0) + ? WHERE runKey = ?";
        let (position, missing) = (run.position.max(self.number) as i64, run.missing.to_string());
        let values = [Value::Integer(position), Value::Text(&missing), bytes, Value::Text(&self.run_key)];
        store.execute(moved, &values).await?;
        Ok(Committed { keys, is_new: true })
    }

    fn unknown(&self, store: &Store) -> RecorderError {
        RecorderError::RunUnknown { database: store.database().clone(), run_key: self.run_key.clone() }
    }
}

/// What the database says of a run, if it knows it.
pub(super) async fn run_row(store: &mut Store, run_key: &str) -> Result<Option<RunRow>, RecorderError> {
    let statement = "SELECT simulationID, position, missing_batches FROM simulation WHERE runKey = ?";
    let row = store.row(statement, &[Value::Text(run_key)]).await?;
    Ok(row.and_then(|row| {
        let (keys, missing) = (Keys::new(row.integer(0)?), Ranges::parse(row.text(2)));
        Some(RunRow { keys, position: row.count(1), missing })
    }))
}
