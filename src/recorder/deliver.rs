//! The thread that owns the link to the database: commits portion after portion, and when the database goes away tries again
//! until it is back.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Runtime,
    sync::{mpsc, watch},
};

use super::{
    Database, RecorderError, RecorderStatus,
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
    Portion(Box<Portion>),
    /// One in the spill file.
    Spilled(Frame),
}

/// How the delivery stands, for the log's thread to look at.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Portions in memory that are not committed.
    pub(super) in_memory: AtomicUsize,
    /// Portions committed.
    pub(super) committed: AtomicU64,
    /// True while the database is away.
    pub(super) is_away: AtomicBool,
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
    /// Portions in memory that could not be committed, in their order.
    pub(super) unwritten: Vec<Portion>,
    /// Why, if not for lack of time alone.
    pub(super) failure: Option<RecorderError>,
}

/// The delivery, before its thread runs.
pub(super) struct Delivery {
    pub(super) database: Database,
    pub(super) spill: PathBuf,
    /// Frames that wait in the spill file.
    pub(super) waiting: Arc<AtomicU64>,
    pub(super) progress: Arc<Progress>,
    pub(super) status: Arc<RecorderStatus>,
    /// Becomes true when nobody wants to wait any longer.
    pub(super) given_up: watch::Receiver<bool>,
    pub(super) store: Option<Store>,
}

impl Delivery {
    /// Delivers until there is no more work, or no hope.
    pub(super) async fn run(mut self, mut work: mpsc::UnboundedReceiver<Work>, mut delivered: Delivered) -> Delivered {
        let mut spilled: Option<SpillReader> = None;
        while let Some(work) = work.recv().await {
            let hopeless = delivered.failure.is_some() || *self.given_up.borrow();
            let portion = match work {
                Work::Portion(portion) => *portion,
                // It is safe where it is.
                Work::Spilled(_) if hopeless => continue,
                Work::Spilled(frame) => {
                    match self.read(&mut spilled, frame) {
                        Ok(portion) if self.deliver(&portion, &mut delivered).await => {
                            self.waiting.fetch_sub(1, Ordering::AcqRel);
                        }
                        Ok(_) => {}
                        Err(error) => self.fail(error, &mut delivered),
                    }
                    continue;
                }
            };
            if hopeless || !self.deliver(&portion, &mut delivered).await {
                delivered.unwritten.push(portion);
            }
            self.progress.in_memory.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(store) = self.store.take() {
            // Everything is committed; a link that cannot be closed takes nothing with it.
            if let Err(error) = store.close().await {
                tracing::warn!("the database was not closed: {error}");
            }
        }
        delivered
    }

    fn read(&self, spilled: &mut Option<SpillReader>, frame: Frame) -> Result<Portion, RecorderError> {
        let read = |spilled: &mut Option<SpillReader>| match spilled {
            Some(reader) => reader.portion(frame),
            None => spilled.insert(SpillReader::open(&self.spill)?).portion(frame),
        };
        read(spilled).map_err(|source| RecorderError::Spill { path: self.spill.clone(), source })
    }

    fn fail(&self, error: RecorderError, delivered: &mut Delivered) {
        tracing::error!("the log has failed: {error}");
        self.progress.set_trouble(&error);
        self.progress.has_failed.store(true, Ordering::Release);
        delivered.failure = Some(error);
    }

    /// Commits a portion, however often that has to be tried; false if there is no hope, or no time.
    async fn deliver(&mut self, portion: &Portion, delivered: &mut Delivered) -> bool {
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
                    if self.progress.is_away.swap(false, Ordering::AcqRel) {
                        tracing::info!("the database {} is back", self.database);
                    }
                    delivered.runs.insert(portion.run_key.clone(), simulation);
                    self.progress.committed.fetch_add(1, Ordering::AcqRel);
                    self.status.committed(portion.rows());
                    return true;
                }
                Some(Err(error)) => error,
                None => {
                    self.store = None;
                    return false;
                }
            };
            // Whatever state the link is in, a new one is in a known one.
            self.store = None;
            if !error.is_passing() {
                self.fail(error, delivered);
                return false;
            }
            self.progress.set_trouble(&error);
            if !self.progress.is_away.swap(true, Ordering::AcqRel) {
                tracing::warn!("{error}; it is tried again until it is back");
            }
            let _ = tokio::time::timeout(pause.mul_f64(jitter()), given_up.wait_for(|given_up| *given_up)).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    async fn attempt(&mut self, portion: &Portion) -> Result<i64, RecorderError> {
        // What is left of a disk is for others, as long as there is another.
        let is_full = self.database.file().is_some_and(|file| space::elsewhere(file, &self.spill));
        if is_full {
            return Err(RecorderError::DiskFull { database: self.database.clone() });
        }
        attempt(&mut self.store, &self.database, portion).await
    }
}

/// A link that has been opened, and the run that was entered through it.
pub(super) struct Opened {
    pub(super) runtime: Runtime,
    pub(super) store: Option<Store>,
    pub(super) delivered: Delivered,
    /// Why there is no link yet, where the run may begin without one.
    pub(super) trouble: Option<RecorderError>,
}

/// Opens the database and commits the run's first portion.
pub(super) fn open(database: &Database, first: &Portion, may_be_away: bool) -> Result<Opened, RecorderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    let (mut store, mut delivered) = (None, Delivered::default());
    let trouble = match runtime.block_on(attempt(&mut store, database, first)) {
        Ok(simulation) => {
            delivered.runs.insert(first.run_key.clone(), simulation);
            None
        }
        Err(error) if may_be_away && error.is_passing() => {
            tracing::warn!("the run begins without its database: {error}");
            store = None;
            Some(error)
        }
        Err(error) => return Err(error),
    };
    Ok(Opened { runtime, store, delivered, trouble })
}

async fn attempt(store: &mut Option<Store>, database: &Database, portion: &Portion) -> Result<i64, RecorderError> {
    let link = match store {
        Some(store) => store,
        None => store.insert(Store::open(database, Access::Write).await?),
    };
    portion.commit(link, Gaps::Refused).await.map(|keys| keys.simulation)
}

/// From a half to one, so that many servers do not come back at the same moment; the standard library's seeds are random.
fn jitter() -> f64 {
    0.5 + (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 54) as f64
}
