//! The thread that owns the link to the database: commits portion after portion, and when the database goes away tries again
//! until it is back.

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
    Database, RecorderError, RecorderStatus,
    database_file::DatabaseFile,
    portion::{Gaps, Portion},
    space,
    spill::{Frame, SpillReader},
    store::{Access, Store},
};

/// How long is waited before the database is tried again: twice as long each time, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// What there is to deliver, in the order of the run.
#[derive(Debug)]
pub(super) enum Work {
    /// A portion in memory.
    Portion(Arc<Portion>),
    /// One in the spill file.
    Spilled(Frame),
}

/// How the delivery stands, for the log's thread to look at.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Portions committed: so many of the first in the line.
    pub(super) committed: AtomicU64,
    /// What they have brought, bytes.
    pub(super) committed_bytes: AtomicU64,
    /// True once it has failed for good.
    pub(super) has_failed: AtomicBool,
    trouble: Mutex<String>,
}

impl Progress {
    /// What the database said last when it went away.
    pub(super) fn trouble(&self) -> String {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_trouble(&self, error: &RecorderError) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
    }
}

/// What came of it, when there is no more to deliver.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// The numbers that the database gave to runs, by their keys.
    pub(super) runs: HashMap<String, i64>,
    /// Why, if not for lack of time alone.
    pub(super) failure: Option<RecorderError>,
}

/// The delivery, before its thread runs.
pub(super) struct Delivery {
    pub(super) database: Database,
    pub(super) spill: SpillReader,
    pub(super) spill_path: PathBuf,
    pub(super) progress: Arc<Progress>,
    pub(super) status: Arc<RecorderStatus>,
    /// Becomes true when nobody wants to wait any longer.
    pub(super) given_up: watch::Receiver<bool>,
    pub(super) link: Connection,
}

/// A link to the database, as long as there is one.
#[derive(Debug, Default)]
pub(super) struct Connection {
    store: Option<Store>,
    /// The file it goes to, where it is one, from the first link on.
    file: Option<DatabaseFile>,
}

impl Delivery {
    /// Delivers until there is no more work, or no hope.
    pub(super) async fn run(mut self, mut work: mpsc::UnboundedReceiver<Work>, mut delivered: Delivered) -> Delivered {
        while let Some(work) = work.recv().await {
            // What is not committed is in the spill file, or still with the outbox.
            if delivered.failure.is_some() || *self.given_up.borrow() {
                continue;
            }
            let portion = match work {
                Work::Portion(portion) => portion,
                Work::Spilled(frame) => match self.spill.portion(frame) {
                    Ok(portion) => Arc::new(portion),
                    Err(source) => {
                        self.fail(RecorderError::Spill { path: self.spill_path.clone(), source }, &mut delivered);
                        continue;
                    }
                },
            };
            self.deliver(&portion, &mut delivered).await;
        }
        if let Err(error) = std::mem::take(&mut self.link).close().await {
            match error {
                RecorderError::FileGone { .. } if delivered.failure.is_none() => self.fail(error, &mut delivered),
                // Everything is committed; a link that cannot be closed takes nothing with it.
                error => tracing::warn!("the database was not closed: {error}"),
            }
        }
        delivered
    }

    fn fail(&self, error: RecorderError, delivered: &mut Delivered) {
        tracing::error!("the log has failed: {error}");
        self.progress.set_trouble(&error);
        self.progress.has_failed.store(true, Ordering::Release);
        self.status.fail();
        delivered.failure = Some(error);
    }

    /// Commits a portion, however often that has to be tried, unless there is no hope, or no time.
    async fn deliver(&mut self, portion: &Portion, delivered: &mut Delivered) {
        let mut pause = FIRST_PAUSE;
        let mut given_up = self.given_up.clone();
        loop {
            let attempt = tokio::select! {
                biased;
                _ = given_up.wait_for(|given_up| *given_up) => None,
                attempt = self.attempt(portion) => Some(attempt),
            };
            let error = match attempt {
                Some(Ok(simulation)) => {
                    if self.status.set_away(false) {
                        tracing::info!("the database {} is back", self.database);
                    }
                    delivered.runs.insert(portion.run_key.clone(), simulation);
                    self.progress.committed_bytes.fetch_add(portion.bytes(), Ordering::AcqRel);
                    self.progress.committed.fetch_add(1, Ordering::AcqRel);
                    self.status.committed(portion.rows());
                    return;
                }
                Some(Err(error)) => error,
                None => {
                    self.link.drop_store();
                    return;
                }
            };
            // Whatever state the link is in, a new one is in a known one.
            self.link.drop_store();
            if !error.is_passing() {
                return self.fail(error, delivered);
            }
            self.progress.set_trouble(&error);
            if !self.status.set_away(true) {
                tracing::warn!("{error}; it is tried again until it is back");
            }
            let _ = tokio::time::timeout(pause.mul_f64(jitter()), given_up.wait_for(|given_up| *given_up)).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    async fn attempt(&mut self, portion: &Portion) -> Result<i64, RecorderError> {
        // What is left of a disk is for others, as long as there is another.
        let is_full = self.database.file().is_some_and(|file| space::elsewhere(file, &self.spill_path));
        if is_full {
            return Err(RecorderError::DiskFull { database: self.database.clone() });
        }
        self.link.commit(&self.database, portion).await
    }
}

impl Connection {
    /// Commits a portion, over a new link if there is none.
    async fn commit(&mut self, database: &Database, portion: &Portion) -> Result<i64, RecorderError> {
        if let Some(file) = &mut self.file {
            file.check(&mut self.store).await?;
        }
        let store = match &mut self.store {
            Some(store) => store,
            None => {
                let store = self.store.insert(Store::open(database, Access::Write).await?);
                self.file = self.file.take().or_else(|| database.file().and_then(DatabaseFile::new));
                store
            }
        };
        portion.commit(store, Gaps::Refused).await.map(|committed| committed.keys.simulation)
    }

    fn drop_store(&mut self) {
        self.store = None;
    }

    /// Closes the link, once all is committed.
    async fn close(mut self) -> Result<(), RecorderError> {
        if let Some(file) = &mut self.file {
            file.check(&mut self.store).await?;
        }
        match self.store {
            Some(store) => store.close().await,
            None => Ok(()),
        }
    }
}

/// A link that has been opened, and the run that was entered through it.
pub(super) struct Opened {
    pub(super) runtime: Runtime,
    pub(super) link: Connection,
    pub(super) delivered: Delivered,
    /// Why there is no link yet, where the run may begin without one.
    pub(super) trouble: Option<RecorderError>,
}

/// Opens the database and commits the run's first portion.
pub(super) fn open(database: &Database, first: &Portion, may_be_away: bool) -> Result<Opened, RecorderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    let (mut link, mut delivered) = (Connection::default(), Delivered::default());
    let trouble = match runtime.block_on(link.commit(database, first)) {
        Ok(simulation) => {
            delivered.runs.insert(first.run_key.clone(), simulation);
            None
        }
        Err(error) if may_be_away && error.is_passing() => {
            tracing::warn!("the run begins without its database: {error}");
            link.drop_store();
            Some(error)
        }
        Err(error) => return Err(error),
    };
    Ok(Opened { runtime, link, delivered, trouble })
}

/// From a half to one, so that many servers do not come back at the same moment; the standard library's seeds are random.
fn jitter() -> f64 {
    0.5 + (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 54) as f64
}
