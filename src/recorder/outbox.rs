//! What goes to the database, and what goes into the spill file instead.
//!
//! In real time the physics must never wait: portions that the database does not take are spilled, at once while it is away, and
//! as soon as the queue is half full when it is merely slow. Where there are no deadlines the physics waits, and only a database
//! that stays away is spilled around.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, watch};

use super::{
    RecorderError, RecorderStatus, Settings,
    deliver::{Delivered, Delivery, Opened, Progress, Work},
    portion::Portion,
    spill::Spill,
};

/// Portions that may be in memory and not yet committed: one under way and some behind it, so that the database does not wait
/// either.
const IN_MEMORY: usize = 4;

/// The way out of the log's thread.
pub(super) struct Outbox {
    settings: Settings,
    has_deadlines: bool,
    work: mpsc::UnboundedSender<Work>,
    progress: Arc<Progress>,
    give_up: watch::Sender<bool>,
    delivery: JoinHandle<Delivered>,
    spill: Spill,
    /// Why the spill file can take no more.
    broken: Option<String>,
    away_since: Option<Instant>,
    lost: Option<Lost>,
}

/// Steps that are nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    first: u64,
    last: u64,
}

impl Outbox {
    pub(super) fn start(
        settings: Settings,
        has_deadlines: bool,
        process_key: &str,
        opened: Opened,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        let spill = Spill::new(&settings.spill_folder, process_key, settings.spill_limit_mb);
        let (work, works) = mpsc::unbounded_channel();
        let (give_up, given_up) = watch::channel(false);
        let progress = Arc::new(Progress::default());
        if let Some(trouble) = &opened.trouble {
            progress.set_trouble(trouble);
            progress.is_away.store(true, Ordering::Release);
        }
        let delivery = Delivery {
            database: settings.database.clone(),
            spill: spill.path().to_owned(),
            waiting: spill.waiting(),
            progress: Arc::clone(&progress),
            status,
            given_up,
            store: opened.store,
        };
        let (runtime, delivered) = (opened.runtime, opened.delivered);
        let body = move || runtime.block_on(delivery.run(works, delivered));
        let delivery =
            std::thread::Builder::new().name("log delivery".into()).spawn(body).map_err(RecorderError::Start)?;
        Ok(Self {
            settings,
            has_deadlines,
            work,
            progress,
            give_up,
            delivery,
            spill,
            broken: None,
            away_since: None,
            lost: None,
        })
    }

    /// How the delivery stands.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The spill file, once there is one.
    pub(super) fn spill_path(&self) -> &Path {
        self.spill.path()
    }

    /// True once what comes can neither be committed nor spilled, or will not be committed in this run.
    pub(super) fn is_at_end(&self) -> bool {
        self.broken.is_some() || self.progress.has_failed.load(Ordering::Acquire)
    }

    /// Takes a portion, or gives it back if it has to wait. `crowded` says that the queue before is half full.
    pub(super) fn offer(&mut self, portion: Portion, crowded: bool) -> Option<Portion> {
        let has_failed = self.progress.has_failed.load(Ordering::Acquire);
        let is_away = self.progress.is_away.load(Ordering::Acquire);
        let away_for = match is_away {
            true => self.away_since.get_or_insert_with(Instant::now).elapsed(),
            false => {
                self.away_since = None;
                Duration::ZERO
            }
        };
        let is_full = self.progress.in_memory.load(Ordering::Acquire) >= IN_MEMORY;
        let is_patient = !self.has_deadlines && away_for < self.settings.drain;
        let aside = has_failed || (is_away && !is_patient) || (is_full && crowded && self.has_deadlines);
        if aside && self.broken.is_none() {
            match self.spill.append(&portion) {
                Ok(frame) => {
                    self.send(Work::Spilled(frame));
                    return None;
                }
                Err(error) => {
                    let path = self.spill.path().display();
                    tracing::error!("the spill file {path} can take no more, so the run ends: {error}");
                    self.broken = Some(error.to_string());
                }
            }
        }
        if !is_full && !has_failed {
            self.progress.in_memory.fetch_add(1, Ordering::AcqRel);
            self.send(Work::Portion(Box::new(portion)));
            return None;
        }
        let is_hopeless = self.broken.is_some() && (has_failed || away_for >= self.settings.drain);
        if is_hopeless {
            lose(&mut self.lost, &portion);
            return None;
        }
        Some(portion)
    }

    fn send(&self, work: Work) {
        // The other end is open for as long as this one is, but for a panic there, which joining it tells.
        let _ = self.work.send(work);
    }

    /// Waits until everything is committed, as long as something is at least from time to time, and tells which runs are. What
    /// is left is in the spill file.
    pub(super) fn finish(self) -> Result<Delivered, RecorderError> {
        let Self { settings, work, progress, give_up, delivery, mut spill, mut broken, mut lost, .. } = self;
        drop(work);
        let mut seen = (0, Instant::now());
        while !delivery.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            let committed = progress.committed.load(Ordering::Acquire);
            if committed != seen.0 {
                seen = (committed, Instant::now());
            } else if seen.1.elapsed() >= settings.drain {
                // It hears this at once, also in the midst of a call.
                let _ = give_up.send(true);
            }
        }
        let mut delivered = delivery.join().map_err(|_| RecorderError::WriterLost)?;
        for portion in std::mem::take(&mut delivered.unwritten) {
            if broken.is_none() {
                broken = spill.append(&portion).err().map(|error| error.to_string());
            }
            if broken.is_some() {
                lose(&mut lost, &portion);
            }
        }
        let nothing_waits = spill.remove_if_empty();
        let why = delivered.failure.as_ref().map_or_else(|| progress.trouble(), ToString::to_string);
        let (path, database) = (spill.path().to_owned(), settings.database);
        match (lost, broken) {
            (Some(Lost { first, last }), Some(broken)) => {
                Err(RecorderError::Lost { database, first, last, path, broken, why })
            }
            _ if nothing_waits => Ok(delivered),
            _ => Err(RecorderError::Undelivered { database, path, why, source: delivered.failure.map(Box::new) }),
        }
    }
}

fn lose(lost: &mut Option<Lost>, portion: &Portion) {
    if portion.steps > 0 {
        let (first, last) = (portion.first_step, portion.first_step + portion.steps - 1);
        let before = lost.unwrap_or(Lost { first, last });
        *lost = Some(Lost { first: before.first.min(first), last: before.last.max(last) });
    }
}
