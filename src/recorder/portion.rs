//! The log as a line of portions, each committed whole or not at all, and each once.
//!
//! A portion's number moves the run's `position` in the transaction that writes it. So a portion that comes again, since nobody
//! could tell whether it was committed when the database went away, is known by its number and passed over.

use serde::{Deserialize, Serialize};

use super::{
    RecorderError,
    cell::{Cell, Keys, Value},
    model,
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

/// Whether portions before one may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    Refused,
    Allowed,
}

impl Portion {
    /// How large it is on its way, about.
    pub(super) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Begin(batch) | Content::Rows(batch) => batch.bytes(),
            Content::End(cells) => cells.len() as u64 * 8,
        }
    }

    /// Rows of steps, commands and events.
    pub(super) fn rows(&self) -> u64 {
        match &self.content {
            Content::Rows(batch) => batch.rows(),
            Content::Begin(_) | Content::End(_) => 0,
        }
    }

    /// Commits it, unless it was committed before. Tells the run's keys.
    pub(super) async fn commit(&self, store: &mut Store, gaps: Gaps) -> Result<Keys, RecorderError> {
        store.begin().await?;
        let keys = match &self.content {
            Content::Begin(batch) => self.begin_run(store, batch).await?,
            Content::Rows(batch) => {
                let (keys, is_new) = self.claim(store, gaps).await?;
                if is_new {
                    store.insert(batch, keys).await?;
                }
                keys
            }
            Content::End(cells) => {
                let (keys, is_new) = self.claim(store, gaps).await?;
                if is_new {
                    let values: Vec<Value<'_>> = cells.iter().map(|cell| keys.value(cell)).collect();
                    store.execute(model::END, &values).await?;
                }
                keys
            }
        };
        store.commit().await?;
        Ok(keys)
    }

    /// Enters the run, whose number the database gives.
    async fn begin_run(&self, store: &mut Store, batch: &Batch) -> Result<Keys, RecorderError> {
        if let Some((keys, _)) = self.run(store).await? {
            return Ok(keys);
        }
        // The run's own row refers to nothing.
        store.insert_into(Table::Simulation, batch, Keys::new(0)).await?;
        let Some((keys, _)) = self.run(store).await? else { return Err(self.unknown(store)) };
        store.insert(batch, keys).await?;
        self.claim(store, Gaps::Refused).await?;
        Ok(keys)
    }

    /// The run's keys, and whether this portion is the next that it wants; if so, it has been moved on.
    async fn claim(&self, store: &mut Store, gaps: Gaps) -> Result<(Keys, bool), RecorderError> {
        let Some((keys, position)) = self.run(store).await? else { return Err(self.unknown(store)) };
        if self.number <= position {
            return Ok((keys, false));
        }
        if self.number > position + 1 && gaps == Gaps::Refused {
            let (database, next) = (store.database().clone(), position + 1);
            return Err(RecorderError::PortionMissing { database, next, got: self.number });
        }
        let moved = "UPDATE simulation SET position = ? WHERE runKey = ?";
        store.execute(moved, &[Value::Integer(self.number as i64), Value::Text(&self.run_key)]).await?;
        Ok((keys, true))
    }

    /// The run's keys and position, if the database knows it.
    async fn run(&self, store: &mut Store) -> Result<Option<(Keys, u64)>, RecorderError> {
        let statement = "SELECT simulationID, position FROM simulation WHERE runKey = ?";
        let row = store.row(statement, &[Value::Text(&self.run_key)]).await?;
        Ok(row.and_then(|row| Some((Keys::new(row.integer(0)?), row.count(1)))))
    }

    fn unknown(&self, store: &Store) -> RecorderError {
        RecorderError::RunUnknown { database: store.database().clone(), run_key: self.run_key.clone() }
    }
}
