//! The thread that owns the connection to the database. It commits batch after batch. When the database goes away, it
//! retries until the database is back.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Runtime,
    sync::{mpsc, watch},
};

use super::{
    batch::{Batch, Gaps},
    database_file::DatabaseFile,
    disk_space,
    spill::{Frame, SpillReader},
    status::RecorderStatus,
};
use crate::database::{
    address::Database, connection::Connection, driver::Access, error::RecorderError, session_id::Session,
};

/// Pause before the first retry: about the time of a batch. Each further pause is twice as long.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Longest pause before a retry: a server that starts again is found soon enough, and is not flooded by connections.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(5);

/// A batch to deliver. Batches are sent in the order of the run.
#[derive(Debug)]
pub(super) enum Work {
    /// A batch in memory.
    Batch(Arc<Batch>),
    /// A batch in the spill file.
    Spilled(Frame),
}

/// Progress of the delivery, for the log's thread.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of committed batches.
    pub(super) committed: AtomicU64,
    /// Total size of the committed batches, in bytes.
    pub(super) committed_bytes: AtomicU64,
    /// True once the delivery has failed for good.
    pub(super) has_failed: AtomicBool,
    last_error: Mutex<String>,
}

impl Progress {
    /// Message of the latest error of the database; empty if there was none.
    pub(super) fn last_error(&self) -> String {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_last_error(&self, error: &RecorderError) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }
}

/// Result of the delivery.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// Numbers that the database assigned to the runs, by run key.
    pub(super) runs: HashMap<String, i64>,
    /// Error that ended the delivery; `None` if everything was delivered, or if only the time ran out.
    pub(super) failure: Option<RecorderError>,
}

/// State of the delivery thread.
pub(super) struct Delivery {
    pub(super) database: Database,
    pub(super) spill: SpillReader,
    pub(super) spill_path: PathBuf,
    pub(super) progress: Arc<Progress>,
    pub(super) status: Arc<RecorderStatus>,
    /// Becomes true when the log's thread no longer waits for the delivery.
    pub(super) given_up: watch::Receiver<bool>,
    pub(super) destination: Destination,
}

/// The connection to the database, and what has to outlive it.
#[derive(Debug, Default)]
pub(super) struct Destination {
    connection: Option<Connection>,
    /// Session of a connection that was given up, until the session is ended on the server.
    abandoned_session: Option<Session>,
    /// The file of an SQLite database, from the first connection on.
    file: Option<DatabaseFile>,
}

impl Delivery {
    /// Delivers until the channel is closed.
    pub(super) async fn run(mut self, mut work: mpsc::UnboundedReceiver<Work>, mut delivered: Delivered) -> Delivered {
        while let Some(work) = work.recv().await {
            // Uncommitted batches are in the spill file, or still in the delivery queue.
            if delivered.failure.is_some() || *self.given_up.borrow() {
                continue;
            }
            let batch = match work {
                Work::Batch(batch) => batch,
                Work::Spilled(frame) => match self.spill.read_batch(frame) {
                    Ok(batch) => Arc::new(batch),
                    Err(source) => {
                        self.set_failed(RecorderError::Spill { path: self.spill_path.clone(), source }, &mut delivered);
                        continue;
                    }
                },
            };
            self.deliver_batch(&batch, &mut delivered).await;
        }
        if let Err(error) = std::mem::take(&mut self.destination).close().await {
            match error {
                RecorderError::FileGone { .. } if delivered.failure.is_none() => self.set_failed(error, &mut delivered),
                // Everything is committed, so nothing is lost if the connection cannot be closed.
                error => tracing::warn!("the database was not closed: {error}"),
            }
        }
        delivered
    }

    fn set_failed(&self, error: RecorderError, delivered: &mut Delivered) {
        tracing::error!("the log has failed: {error}");
        self.progress.set_last_error(&error);
        self.progress.has_failed.store(true, Ordering::Release);
        self.status.set_failed();
        delivered.failure = Some(error);
    }

    /// Commits a batch. It retries until the batch is committed, a retry cannot help, or the delivery is given up.
    async fn deliver_batch(&mut self, batch: &Batch, delivered: &mut Delivered) {
        let mut pause = FIRST_RETRY_PAUSE;
        let mut given_up = self.given_up.clone();
        loop {
            let attempt = tokio::select! {
                biased;
                _ = given_up.wait_for(|given_up| *given_up) => None,
                attempt = self.try_commit(batch) => Some(attempt),
            };
            let error = match attempt {
                Some(Ok(simulation)) => {
                    if self.status.set_away(false) {
                        tracing::info!("the database {} is available again", self.database);
                    }
                    delivered.runs.insert(batch.run_key.clone(), simulation);
                    self.progress.committed_bytes.fetch_add(batch.size_bytes(), Ordering::AcqRel);
                    self.progress.committed.fetch_add(1, Ordering::AcqRel);
                    self.status.add_committed_rows(batch.row_count());
                    return;
                }
                Some(Err(error)) => error,
                None => {
                    self.destination.abandon_connection();
                    return;
                }
            };
            // The state of this connection is unknown, so the next attempt opens a new one.
            self.destination.abandon_connection();
            if !error.is_transient() {
                return self.set_failed(error, delivered);
            }
            self.progress.set_last_error(&error);
            if !self.status.set_away(true) {
                tracing::warn!("{}; the recorder retries until it is available again", error.without_advice());
            }
            let _ = tokio::time::timeout(pause.mul_f64(jitter_factor()), given_up.wait_for(|given_up| *given_up)).await;
            pause = (pause * 2).min(MAX_RETRY_PAUSE);
        }
    }

    /// Commits a batch, and returns the run's number.
    async fn try_commit(&mut self, batch: &Batch) -> Result<i64, RecorderError> {
        // The log leaves the rest of the database's disk to other programs, if the spill file's disk has room.
        let is_full = self.database.file().is_some_and(|file| disk_space::has_only_spill_space(file, &self.spill_path));
        if is_full {
            return Err(RecorderError::DiskFull { database: self.database.clone() });
        }
        self.destination.commit_batch(&self.database, batch).await
    }
}

impl Destination {
    /// Commits a batch, over a new connection if there is none, and returns the run's number.
    async fn commit_batch(&mut self, database: &Database, batch: &Batch) -> Result<i64, RecorderError> {
        if let Some(file) = &mut self.file {
            file.check_in_place(&mut self.connection).await?;
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let mut connection = Connection::open(database, Access::Write).await?;
                if let Some(session) = &self.abandoned_session {
                    connection.end_session(session).await?;
                    self.abandoned_session = None;
                }
                let connection = self.connection.insert(connection);
                self.file = self.file.take().or_else(|| database.file().and_then(DatabaseFile::new));
                connection
            }
        };
        batch.commit(connection, Gaps::Refused).await.map(|committed| committed.ids.simulation)
    }

    fn abandon_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.abandoned_session = connection.session().cloned();
        }
    }

    /// Closes the connection after the last commit.
    async fn close(mut self) -> Result<(), RecorderError> {
        if let Some(file) = &mut self.file {
            file.check_in_place(&mut self.connection).await?;
        }
        match self.connection {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }
}

/// An open database, into which the run has been entered if the database was there.
pub(super) struct Opened {
    pub(super) runtime: Runtime,
    pub(super) destination: Destination,
    pub(super) delivered: Delivered,
    /// Reason why there is no connection yet; only if the run may begin without its database.
    pub(super) error: Option<RecorderError>,
}

/// Opens the database and commits the run's first batch. With `may_be_away`, a database that is away is no error.
pub(super) fn open_database(database: &Database, first: &Batch, may_be_away: bool) -> Result<Opened, RecorderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    let (mut destination, mut delivered) = (Destination::default(), Delivered::default());
    let error = match runtime.block_on(destination.commit_batch(database, first)) {
        Ok(simulation) => {
            delivered.runs.insert(first.run_key.clone(), simulation);
            None
        }
        Err(error) if may_be_away && error.is_transient() => {
            tracing::warn!("the run begins without its database: {error}");
            destination.abandon_connection();
            Some(error)
        }
        Err(error) => return Err(error),
    };
    Ok(Opened { runtime, destination, delivered, error })
}

/// Random factor of a pause, from 0.5 to 1, so that many servers do not reconnect at the same moment. Its source, the
/// standard library's seeds, is random.
fn jitter_factor() -> f64 {
    0.5 + (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 54) as f64
}
