//! Decides for each batch whether it goes to the database, into the spill file, or to both.
//!
//! In real time the physics must never wait. A batch that the database does not accept at once is spilled. A batch that
//! it accepts but does not commit within a tenth of a second is copied into the spill file, so that a process that is
//! killed does not lose it. Without deadlines the physics waits, and batches are spilled only while the database stays
//! away.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, watch};

use super::{
    batch::{Batch, Content},
    delivery::{Delivered, Delivery, Opened, Progress, Work},
    settings::Settings,
    spill::SpillWriter,
    status::RecorderStatus,
};
use crate::database::error::RecorderError;
use simpartner_realtime::{LogFlags, QueueUse};

/// Largest number of uncommitted batches in memory: one being written and some behind it, so that the database does not
/// wait either.
const MAX_BATCHES_IN_MEMORY: usize = 4;

/// Largest total size of the uncommitted batches in memory, in bytes, because texts of commands can make a batch large.
/// A single batch may be larger.
const MAX_BYTES_IN_MEMORY: u64 = 64_000_000;

/// Time that the database may take to commit a batch before the batch is copied into the spill file. It equals the time
/// for which a batch is gathered, so that a killed process loses at most about two batches.
const COPY_AFTER: Duration = Duration::from_millis(100);

/// The batches on their way from the log's thread to the database and the spill file.
pub(super) struct DeliveryQueue {
    settings: Settings,
    flags: Arc<LogFlags>,
    work: mpsc::UnboundedSender<Work>,
    progress: Arc<Progress>,
    status: Arc<RecorderStatus>,
    give_up: watch::Sender<bool>,
    delivery: JoinHandle<Delivered>,
    spill: SpillWriter,
    /// First batch of the present run.
    beginning: Arc<Batch>,
    /// Number of batches sent to the delivery.
    sent: u64,
    /// Their total size, in bytes.
    sent_bytes: u64,
    uncommitted: VecDeque<Uncommitted>,
    /// Reason why nothing more can be spilled; `None` while the spill file can be written.
    spill_failure: Option<String>,
    /// True if a warning was given that copies into the spill file fail.
    has_warned: bool,
    /// Time at which the database went away; `None` while it is there.
    away_since: Option<Instant>,
    /// Steps lost so far.
    lost: Option<LostSteps>,
    most_in_memory: usize,
}

/// A batch that was sent to the database from memory and is not known to be committed.
struct Uncommitted {
    /// Position in the order of all batches sent, from 1.
    place: u64,
    /// Time at which it was sent.
    since: Instant,
    batch: Arc<Batch>,
    /// First batch of its run.
    beginning: Arc<Batch>,
    bytes: u64,
    /// True if the spill file has a copy.
    is_copied: bool,
}

/// Range of steps that are neither in the database nor in the spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LostSteps {
    first: u64,
    last: u64,
}

impl DeliveryQueue {
    pub(super) fn start(
        settings: Settings,
        process_key: &str,
        beginning: Arc<Batch>,
        opened: Opened,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        let spill = SpillWriter::create(&settings.spill_folder, process_key, settings.spill_limit_mb);
        let (work, works) = mpsc::unbounded_channel();
        let (give_up, given_up) = watch::channel(false);
        let progress = Arc::new(Progress::default());
        if let Some(error) = &opened.error {
            progress.set_last_error(error);
            status.set_away(true);
        }
        let flags = status.flags();
        let delivery = Delivery {
            database: settings.database.clone(),
            spill: spill.reader(),
            spill_path: spill.path().to_owned(),
            progress: Arc::clone(&progress),
            status: Arc::clone(&status),
            given_up,
            destination: opened.destination,
        };
        let (runtime, delivered) = (opened.runtime, opened.delivered);
        let body = move || runtime.block_on(delivery.run(works, delivered));
        let delivery =
            std::thread::Builder::new().name("log delivery".into()).spawn(body).map_err(RecorderError::Start)?;
        Ok(Self {
            settings,
            flags,
            work,
            progress,
            status,
            give_up,
            delivery,
            spill,
            beginning,
            sent: 0,
            sent_bytes: 0,
            uncommitted: VecDeque::new(),
            spill_failure: None,
            has_warned: false,
            away_since: None,
            lost: None,
            most_in_memory: 0,
        })
    }

    /// Progress of the delivery.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Path of the spill file.
    pub(super) fn spill_path(&self) -> &Path {
        self.spill.path()
    }

    /// Size of the batches that were sent and are not yet in the database, in bytes.
    pub(super) fn pending_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.progress.committed_bytes.load(Ordering::Acquire))
    }

    /// Largest number of uncommitted batches in memory so far.
    pub(super) fn most_in_memory(&self) -> QueueUse {
        QueueUse { name: "batches for the database", longest: self.most_in_memory, capacity: MAX_BATCHES_IN_MEMORY }
    }

    /// True once the spill file takes no more batches, or the database has failed for good.
    pub(super) fn has_ended(&self) -> bool {
        self.spill_failure.is_some() || self.has_failed()
    }

    /// True if everything that was sent is committed, so that [`DeliveryQueue::update`] need not be called.
    pub(super) fn is_idle(&self) -> bool {
        self.uncommitted.is_empty() && !self.spill.has_batches()
    }

    /// Drops committed batches from memory, and copies late ones into the spill file.
    pub(super) fn update(&mut self) {
        self.update_away_since();
        let is_urgent = self.flags.has_deadlines() || self.has_failed() || self.has_wait_expired();
        self.release_committed(is_urgent);
    }

    /// Drops committed batches from memory. With `copies`, batches that are late by [`COPY_AFTER`] are copied into the
    /// spill file.
    fn release_committed(&mut self, copies: bool) {
        let committed = self.progress.committed.load(Ordering::Acquire);
        while self.uncommitted.front().is_some_and(|first| first.place <= committed) {
            self.uncommitted.pop_front();
        }
        self.spill.release_committed(committed);
        let late = |sent: &&mut Uncommitted| !sent.is_copied && sent.since.elapsed() >= COPY_AFTER;
        for sent in self.uncommitted.iter_mut().filter(late).filter(|_| copies && self.spill_failure.is_none()) {
            match self.spill.append_batch(&sent.batch, &sent.beginning, sent.place) {
                Ok(_) => (sent.is_copied, self.has_warned) = (true, false),
                Err(error) if !self.has_warned => {
                    let path = self.spill.path().display();
                    tracing::warn!(
                        "the database is slow, and batches cannot be copied into the spill file {path}: {error}"
                    );
                    self.has_warned = true;
                }
                Err(_) => break,
            }
        }
    }

    /// Takes a batch, or returns it if it has to wait. `is_crowded` is true if the queue of records is half full.
    pub(super) fn offer_batch(&mut self, batch: Arc<Batch>, is_crowded: bool) -> Option<Arc<Batch>> {
        if matches!(batch.content, Content::Begin(_)) {
            self.beginning = Arc::clone(&batch);
        }
        self.update();
        let has_failed = self.has_failed();
        let bytes = self.uncommitted.iter().map(|sent| sent.bytes).sum::<u64>();
        let is_full = self.uncommitted.len() >= MAX_BATCHES_IN_MEMORY || bytes >= MAX_BYTES_IN_MEMORY;
        let spills = has_failed || self.has_wait_expired() || (is_full && self.flags.has_deadlines());
        if spills && self.spill_failure.is_none() {
            match self.spill.append_batch(&batch, &self.beginning, self.sent + 1) {
                Ok(frame) => {
                    self.send_work(Work::Spilled(frame), batch.size_bytes());
                    return None;
                }
                // The batch waits, and the queue holds further records, until there is room again.
                Err(_) if !is_crowded && !has_failed => {}
                Err(error) => {
                    let path = self.spill.path().display();
                    tracing::error!("the spill file {path} cannot grow further, so the run ends: {error}");
                    self.spill_failure = Some(error.to_string());
                }
            }
        }
        if !is_full && !has_failed {
            let bytes = batch.size_bytes();
            self.send_work(Work::Batch(Arc::clone(&batch)), bytes);
            let beginning = Arc::clone(&self.beginning);
            let (place, since) = (self.sent, Instant::now());
            self.uncommitted.push_back(Uncommitted { place, since, batch, beginning, bytes, is_copied: false });
            self.most_in_memory = self.most_in_memory.max(self.uncommitted.len());
            return None;
        }
        let away_for = self.away_since.map_or(Duration::ZERO, |since| since.elapsed());
        let is_hopeless = self.spill_failure.is_some() && (has_failed || away_for >= self.settings.drain);
        if is_hopeless {
            add_lost(&mut self.lost, &batch);
            return None;
        }
        Some(batch)
    }

    fn send_work(&mut self, work: Work, bytes: u64) {
        self.sent += 1;
        self.sent_bytes += bytes;
        // The receiver lives as long as this sender, unless its thread panics. Joining the thread reports a panic.
        let _ = self.work.send(work);
    }

    fn has_failed(&self) -> bool {
        self.progress.has_failed.load(Ordering::Acquire)
    }

    fn update_away_since(&mut self) {
        self.away_since = self.status.is_away().then(|| self.away_since.unwrap_or_else(Instant::now));
    }

    /// True if the database is away and the time to wait for it is over.
    fn has_wait_expired(&self) -> bool {
        let must_not_wait = self.flags.has_deadlines() || self.status.is_hurried();
        self.away_since.is_some_and(|since| must_not_wait || since.elapsed() >= self.settings.drain)
    }

    /// Waits until everything is committed, and returns the committed runs. The wait ends early if nothing is committed
    /// for the drain time, or if [`RecorderStatus::hurry`] was called. What is not committed then is in the spill file.
    pub(super) fn finish(mut self) -> Result<Delivered, RecorderError> {
        // The delivery ends when its channel is closed.
        self.work = mpsc::unbounded_channel().0;
        let mut seen = (0, Instant::now());
        while !self.delivery.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            // Late batches are copied into the spill file, so that a user who kills the process now loses nothing.
            self.release_committed(true);
            let committed = self.progress.committed.load(Ordering::Acquire);
            if committed != seen.0 {
                seen = (committed, Instant::now());
            }
            if seen.1.elapsed() >= self.settings.drain || self.status.is_hurried() {
                // This interrupts a call in progress.
                let _ = self.give_up.send(true);
            }
        }
        self.release_committed(false);
        let Self { settings, progress, delivery, mut spill, mut spill_failure, mut lost, uncommitted, .. } = self;
        let delivered = delivery.join().map_err(|_| RecorderError::WriterLost)?;
        for sent in uncommitted.iter().filter(|sent| !sent.is_copied) {
            if spill_failure.is_none() {
                let added = spill.append_batch(&sent.batch, &sent.beginning, sent.place);
                spill_failure = added.err().map(|error| error.to_string());
            }
            if spill_failure.is_some() {
                add_lost(&mut lost, &sent.batch);
            }
        }
        let (path, database) = (spill.path().to_owned(), settings.database);
        let finished = spill.finish(progress.committed.load(Ordering::Acquire));
        let is_spill_empty = finished.map_err(|source| RecorderError::Spill { path: path.clone(), source })?;
        let why = delivered.failure.as_ref().map_or_else(|| progress.last_error(), ToString::to_string);
        match (lost, spill_failure, delivered.failure) {
            (Some(LostSteps { first, last }), Some(broken), _) => {
                Err(RecorderError::Lost { database, first, last, path, broken, why })
            }
            (_, _, None) if is_spill_empty => Ok(Delivered { failure: None, ..delivered }),
            (_, _, Some(failure)) if is_spill_empty => Err(failure),
            (_, _, failure) => Err(RecorderError::Undelivered { database, path, why, source: failure.map(Box::new) }),
        }
    }
}

/// Extends the range of lost steps by those of a batch.
fn add_lost(lost: &mut Option<LostSteps>, batch: &Batch) {
    if batch.steps > 0 {
        let (first, last) = (batch.first_step, batch.first_step + batch.steps - 1);
        let before = lost.unwrap_or(LostSteps { first, last });
        *lost = Some(LostSteps { first: before.first.min(first), last: before.last.max(last) });
    }
}
