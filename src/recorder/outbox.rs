//! What goes to the database, and what goes into the spill file instead, or as well.
//!
//! In real time the physics must never wait: batches that the database does not take at once are spilled, and those that it
//! takes but does not confirm within a tenth of a second are copied there, so that a process that is killed loses none of them.
//! Where there are no deadlines the physics waits, and only a database that stays away is spilled around.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, watch};

use super::{
    RecorderError, RecorderStatus, Settings,
    deliver::{Delivered, Delivery, Opened, Progress, Work},
    portion::{Content, Portion},
    spill::Spill,
};
use crate::realtime::{LogFlags, QueueUse};

/// Batches that may be in memory and not yet committed: one under way and some behind it, so that the database does not wait
/// either. Texts of commands can make one large, so their bytes are bounded as well; one batch alone may be larger.
const IN_MEMORY: usize = 4;
const IN_MEMORY_BYTES: u64 = 64_000_000;

/// How long the database may take to confirm a batch before it is copied into the spill file.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(100);

/// The way out of the log's thread.
pub(super) struct Outbox {
    settings: Settings,
    flags: Arc<LogFlags>,
    work: mpsc::UnboundedSender<Work>,
    progress: Arc<Progress>,
    status: Arc<RecorderStatus>,
    give_up: watch::Sender<bool>,
    delivery: JoinHandle<Delivered>,
    spill: Spill,
    /// How the run under way begins.
    beginning: Arc<Portion>,
    /// How many batches were sent to the delivery, and their bytes.
    sent: u64,
    sent_bytes: u64,
    unconfirmed: VecDeque<Unconfirmed>,
    /// Why the spill file can take no more.
    broken: Option<String>,
    /// Whether it was told that copies fail.
    has_warned: bool,
    away_since: Option<Instant>,
    lost: Option<Lost>,
    most_in_memory: usize,
}

/// A batch that was sent to the database from memory.
struct Unconfirmed {
    /// Its place in the line, from 1.
    place: u64,
    since: Instant,
    portion: Arc<Portion>,
    beginning: Arc<Portion>,
    bytes: u64,
    is_copied: bool,
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
        process_key: &str,
        beginning: Arc<Portion>,
        opened: Opened,
        status: Arc<RecorderStatus>,
    ) -> Result<Self, RecorderError> {
        let spill = Spill::create(&settings.spill_folder, process_key, settings.spill_limit_mb);
        let (work, works) = mpsc::unbounded_channel();
        let (give_up, given_up) = watch::channel(false);
        let progress = Arc::new(Progress::default());
        if let Some(trouble) = &opened.trouble {
            progress.set_trouble(trouble);
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
            link: opened.link,
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
            unconfirmed: VecDeque::new(),
            broken: None,
            has_warned: false,
            away_since: None,
            lost: None,
            most_in_memory: 0,
        })
    }

    /// How the delivery stands.
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

    /// True once what comes can neither be committed nor spilled, or will not be committed in this run.
    pub(super) fn is_at_end(&self) -> bool {
        self.broken.is_some() || self.has_failed()
    }

    /// True if everything that was sent is committed, so that there is nothing to watch.
    pub(super) fn is_idle(&self) -> bool {
        self.unconfirmed.is_empty() && !self.spill.holds_batches()
    }

    /// Lets go of what is committed, and copies into the spill file what should be by now.
    pub(super) fn watch(&mut self) {
        self.note_away();
        let is_urgent = self.flags.has_deadlines() || self.has_failed() || self.is_out_of_patience();
        self.release(is_urgent);
    }

    fn release(&mut self, copies: bool) {
        let committed = self.progress.committed.load(Ordering::Acquire);
        while self.unconfirmed.front().is_some_and(|first| first.place <= committed) {
            self.unconfirmed.pop_front();
        }
        self.spill.release(committed);
        let late = |batch: &&mut Unconfirmed| !batch.is_copied && batch.since.elapsed() >= CONFIRMED_WITHIN;
        for batch in self.unconfirmed.iter_mut().filter(late).filter(|_| copies && self.broken.is_none()) {
            match self.spill.append(&batch.portion, &batch.beginning, batch.place) {
                Ok(_) => (batch.is_copied, self.has_warned) = (true, false),
                Err(error) if !self.has_warned => {
                    let path = self.spill.path().display();
                    tracing::warn!("the database is slow, and the spill file {path} takes no copy: {error}");
                    self.has_warned = true;
                }
                Err(_) => break,
            }
        }
    }

    /// Takes a batch, or gives it back if it has to wait. `crowded` says that the queue before is half full.
    pub(super) fn offer(&mut self, portion: Arc<Portion>, crowded: bool) -> Option<Arc<Portion>> {
        if matches!(portion.content, Content::Begin(_)) {
            self.beginning = Arc::clone(&portion);
        }
        self.watch();
        let has_failed = self.has_failed();
        let bytes = self.unconfirmed.iter().map(|batch| batch.bytes).sum::<u64>();
        let is_full = self.unconfirmed.len() >= IN_MEMORY || bytes >= IN_MEMORY_BYTES;
        let aside = has_failed || self.is_out_of_patience() || (is_full && self.flags.has_deadlines());
        if aside && self.broken.is_none() {
            match self.spill.append(&portion, &self.beginning, self.sent + 1) {
                Ok(frame) => {
                    self.send(Work::Spilled(frame), portion.bytes());
                    return None;
                }
                // The queue holds what comes until there is room again.
                Err(_) if !crowded && !has_failed => {}
                Err(error) => {
                    let path = self.spill.path().display();
                    tracing::error!("the spill file {path} can take no more, so the run ends: {error}");
                    self.broken = Some(error.to_string());
                }
            }
        }
        if !is_full && !has_failed {
            let bytes = portion.bytes();
            self.send(Work::Portion(Arc::clone(&portion)), bytes);
            let beginning = Arc::clone(&self.beginning);
            let (place, since) = (self.sent, Instant::now());
            self.unconfirmed.push_back(Unconfirmed { place, since, portion, beginning, bytes, is_copied: false });
            self.most_in_memory = self.most_in_memory.max(self.unconfirmed.len());
            return None;
        }
        let away_for = self.away_since.map_or(Duration::ZERO, |since| since.elapsed());
        let is_hopeless = self.broken.is_some() && (has_failed || away_for >= self.settings.drain);
        if is_hopeless {
            lose(&mut self.lost, &portion);
            return None;
        }
        Some(portion)
    }

    fn send(&mut self, work: Work, bytes: u64) {
        self.sent += 1;
        self.sent_bytes += bytes;
        // The other end is open for as long as this one is, but for a panic there, which joining it tells.
        let _ = self.work.send(work);
    }

    fn has_failed(&self) -> bool {
        self.progress.has_failed.load(Ordering::Acquire)
    }

    fn note_away(&mut self) {
        self.away_since = self.status.is_away().then(|| self.away_since.unwrap_or_else(Instant::now));
    }

    /// Whether the database is away and nobody waits for it.
    fn is_out_of_patience(&self) -> bool {
        self.away_since.is_some_and(|since| self.flags.has_deadlines() || since.elapsed() >= self.settings.drain)
    }

    /// Waits until everything is committed, as long as something is at least from time to time, and tells which runs are. What
    /// is left is in the spill file.
    pub(super) fn finish(mut self) -> Result<Delivered, RecorderError> {
        // The delivery ends when there is no more to come.
        self.work = mpsc::unbounded_channel().0;
        let mut seen = (0, Instant::now());
        while !self.delivery.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            // Whoever loses patience now and kills the process loses nothing.
            self.release(true);
            let committed = self.progress.committed.load(Ordering::Acquire);
            if committed != seen.0 {
                seen = (committed, Instant::now());
            } else if seen.1.elapsed() >= self.settings.drain {
                // It hears this at once, also in the midst of a call.
                let _ = self.give_up.send(true);
            }
        }
        self.release(false);
        let Self { settings, progress, delivery, mut spill, mut broken, mut lost, unconfirmed, .. } = self;
        let delivered = delivery.join().map_err(|_| RecorderError::WriterLost)?;
        for batch in unconfirmed.iter().filter(|batch| !batch.is_copied) {
            if broken.is_none() {
                let added = spill.append(&batch.portion, &batch.beginning, batch.place);
                broken = added.err().map(|error| error.to_string());
            }
            if broken.is_some() {
                lose(&mut lost, &batch.portion);
            }
        }
        let (path, database) = (spill.path().to_owned(), settings.database);
        let finished = spill.finish(progress.committed.load(Ordering::Acquire));
        let nothing_waits = finished.map_err(|source| RecorderError::Spill { path: path.clone(), source })?;
        let why = delivered.failure.as_ref().map_or_else(|| progress.trouble(), ToString::to_string);
        match (lost, broken, delivered.failure) {
            (Some(Lost { first, last }), Some(broken), _) => {
                Err(RecorderError::Lost { database, first, last, path, broken, why })
            }
            (_, _, None) if nothing_waits => Ok(Delivered { failure: None, ..delivered }),
            (_, _, Some(failure)) if nothing_waits => Err(failure),
            (_, _, failure) => Err(RecorderError::Undelivered { database, path, why, source: failure.map(Box::new) }),
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
