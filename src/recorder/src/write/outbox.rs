//! Decides which batches go to the database, which into the spill file, and which to both.
//!
//! In real time the physics must never wait: batches that the database does not accept at once are spilled, and those that it
//! accepts but does not commit within a tenth of a second are copied into the spill file, so that a process that is killed loses none
//! of them. Without deadlines the physics waits, and batches are spilled only when the database stays away.

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

/// Batches that may be in memory and not yet committed: one being written and some behind it, so that the database does not wait
/// either.
const IN_MEMORY: usize = 4;

/// Bytes of those batches: texts of commands can make a batch large. A single batch may be larger.
const IN_MEMORY_BYTES: u64 = 64_000_000;

/// How long the database may take to commit a batch before it is copied into the spill file: the time that a batch is gathered for,
/// so that a killed process loses at most about two batches.
const COPY_AFTER: Duration = Duration::from_millis(100);

/// Where the log's thread hands its batches over.
pub(super) struct Outbox {
    settings: Settings,
    flags: Arc<LogFlags>,
    work: mpsc::UnboundedSender<Work>,
    progress: Arc<Progress>,
    status: Arc<RecorderStatus>,
    give_up: watch::Sender<bool>,
    delivery: JoinHandle<Delivered>,
    spill: SpillWriter,
    /// The first batch of the present run.
    beginning: Arc<Batch>,
    /// How many batches were sent to the delivery, and their bytes.
    sent: u64,
    sent_bytes: u64,
    uncommitted: VecDeque<Uncommitted>,
    /// Why nothing more can be spilled.
    spill_failure: Option<String>,
    /// Whether a warning was given that copies fail.
    has_warned: bool,
    away_since: Option<Instant>,
    lost: Option<Lost>,
    most_in_memory: usize,
}

/// A batch that was sent to the database from memory.
struct Uncommitted {
    /// Its place in the order of all batches, from 1.
    place: u64,
    since: Instant,
    batch: Arc<Batch>,
    beginning: Arc<Batch>,
    bytes: u64,
    is_copied: bool,
}

/// Steps that are neither in the database nor in the spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    first: u64,
    last: u64,
}

impl Outbox {
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

    /// How far the delivery is.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The spill file.
    pub(super) fn spill_path(&self) -> &Path {
        self.spill.path()
    }

    /// What was sent and is not yet in the database, bytes.
    pub(super) fn pending_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.progress.committed_bytes.load(Ordering::Acquire))
    }

    /// The most batches that were in memory and not yet committed.
    pub(super) fn most_in_memory(&self) -> QueueUse {
        QueueUse { name: "batches for the database", longest: self.most_in_memory, capacity: IN_MEMORY }
    }

    /// True once further batches can neither be committed nor spilled, or will not be committed in this run.
    pub(super) fn has_ended(&self) -> bool {
        self.spill_failure.is_some() || self.has_failed()
    }

    /// True if everything that was sent is committed, so that there is nothing to watch.
    pub(super) fn is_idle(&self) -> bool {
        self.uncommitted.is_empty() && !self.spill.has_batches()
    }

    /// Drops what is committed, and copies into the spill file what should be by now.
    pub(super) fn watch(&mut self) {
        self.note_away();
        let is_urgent = self.flags.has_deadlines() || self.has_failed() || self.is_out_of_patience();
        self.release(is_urgent);
    }

    fn release(&mut self, copies: bool) {
        let committed = self.progress.committed.load(Ordering::Acquire);
        while self.uncommitted.front().is_some_and(|first| first.place <= committed) {
            self.uncommitted.pop_front();
        }
        self.spill.release(committed);
        let late = |sent: &&mut Uncommitted| !sent.is_copied && sent.since.elapsed() >= COPY_AFTER;
        for sent in self.uncommitted.iter_mut().filter(late).filter(|_| copies && self.spill_failure.is_none()) {
            match self.spill.append(&sent.batch, &sent.beginning, sent.place) {
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

    /// Takes a batch, or returns it if it has to wait. `is_crowded` says that the queue of records is half full.
    pub(super) fn offer(&mut self, batch: Arc<Batch>, is_crowded: bool) -> Option<Arc<Batch>> {
        if matches!(batch.content, Content::Begin(_)) {
            self.beginning = Arc::clone(&batch);
        }
        self.watch();
        let has_failed = self.has_failed();
        let bytes = self.uncommitted.iter().map(|sent| sent.bytes).sum::<u64>();
        let is_full = self.uncommitted.len() >= IN_MEMORY || bytes >= IN_MEMORY_BYTES;
        let spills = has_failed || self.is_out_of_patience() || (is_full && self.flags.has_deadlines());
        if spills && self.spill_failure.is_none() {
            match self.spill.append(&batch, &self.beginning, self.sent + 1) {
                Ok(frame) => {
                    self.send(Work::Spilled(frame), batch.bytes());
                    return None;
                }
                // The queue holds further records until there is room again.
                Err(_) if !is_crowded && !has_failed => {}
                Err(error) => {
                    let path = self.spill.path().display();
                    tracing::error!("the spill file {path} can take no more, so the run ends: {error}");
                    self.spill_failure = Some(error.to_string());
                }
            }
        }
        if !is_full && !has_failed {
            let bytes = batch.bytes();
            self.send(Work::Batch(Arc::clone(&batch)), bytes);
            let beginning = Arc::clone(&self.beginning);
            let (place, since) = (self.sent, Instant::now());
            self.uncommitted.push_back(Uncommitted { place, since, batch, beginning, bytes, is_copied: false });
            self.most_in_memory = self.most_in_memory.max(self.uncommitted.len());
            return None;
        }
        let away_for = self.away_since.map_or(Duration::ZERO, |since| since.elapsed());
        let is_hopeless = self.spill_failure.is_some() && (has_failed || away_for >= self.settings.drain);
        if is_hopeless {
            lose(&mut self.lost, &batch);
            return None;
        }
        Some(batch)
    }

    fn send(&mut self, work: Work, bytes: u64) {
        self.sent += 1;
        self.sent_bytes += bytes;
        // The receiver lives as long as this sender, unless its thread panics, which joining it reports.
        let _ = self.work.send(work);
    }

    fn has_failed(&self) -> bool {
        self.progress.has_failed.load(Ordering::Acquire)
    }

    fn note_away(&mut self) {
        self.away_since = self.status.is_away().then(|| self.away_since.unwrap_or_else(Instant::now));
    }

    /// Whether the database is away and is not waited for any longer.
    fn is_out_of_patience(&self) -> bool {
        let is_impatient = self.flags.has_deadlines() || self.status.is_hurried();
        self.away_since.is_some_and(|since| is_impatient || since.elapsed() >= self.settings.drain)
    }

    /// Waits until everything is committed, as long as there is progress within the drain time and nobody wants the waiting to end, and
    /// returns which runs are. The rest is in the spill file.
    pub(super) fn finish(mut self) -> Result<Delivered, RecorderError> {
        // The delivery ends when its channel is closed.
        self.work = mpsc::unbounded_channel().0;
        let mut seen = (0, Instant::now());
        while !self.delivery.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            // A user who kills the process now loses nothing.
            self.release(true);
            let committed = self.progress.committed.load(Ordering::Acquire);
            if committed != seen.0 {
                seen = (committed, Instant::now());
            }
            if seen.1.elapsed() >= self.settings.drain || self.status.is_hurried() {
                // This interrupts a call in progress.
                let _ = self.give_up.send(true);
            }
        }
        self.release(false);
        let Self { settings, progress, delivery, mut spill, mut spill_failure, mut lost, uncommitted, .. } = self;
        let delivered = delivery.join().map_err(|_| RecorderError::WriterLost)?;
        for sent in uncommitted.iter().filter(|sent| !sent.is_copied) {
            if spill_failure.is_none() {
                let added = spill.append(&sent.batch, &sent.beginning, sent.place);
                spill_failure = added.err().map(|error| error.to_string());
            }
            if spill_failure.is_some() {
                lose(&mut lost, &sent.batch);
            }
        }
        let (path, database) = (spill.path().to_owned(), settings.database);
        let finished = spill.finish(progress.committed.load(Ordering::Acquire));
        let nothing_waits = finished.map_err(|source| RecorderError::Spill { path: path.clone(), source })?;
        let why = delivered.failure.as_ref().map_or_else(|| progress.last_error(), ToString::to_string);
        match (lost, spill_failure, delivered.failure) {
            (Some(Lost { first, last }), Some(broken), _) => {
                Err(RecorderError::Lost { database, first, last, path, broken, why })
            }
            (_, _, None) if nothing_waits => Ok(Delivered { failure: None, ..delivered }),
            (_, _, Some(failure)) if nothing_waits => Err(failure),
            (_, _, failure) => Err(RecorderError::Undelivered { database, path, why, source: failure.map(Box::new) }),
        }
    }
}

fn lose(lost: &mut Option<Lost>, batch: &Batch) {
    if batch.steps > 0 {
        let (first, last) = (batch.first_step, batch.first_step + batch.steps - 1);
        let before = lost.unwrap_or(Lost { first, last });
        *lost = Some(Lost { first: before.first.min(first), last: before.last.max(last) });
    }
}
