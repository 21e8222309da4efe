//! The queue of records to the log, with a length that both ends can read, and the flags that clock and log share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SendError, SyncSender, TrySendError},
    },
    time::Duration,
};

use simpartner_wire::signal::StepRecord;

/// The queue counts as half full when the texts of commands and events in it take so many bytes, whatever the number of records: a
/// quarter of the memory that it may take (`recorder`).
const CROWDED_BYTES: usize = 64_000_000;

/// Bytes of the texts of a record, which the size of the struct does not include.
pub fn text_bytes(record: &StepRecord) -> usize {
    let commands = record.commands.iter().map(|applied| applied.command.text.len());
    let events = record.events.iter().map(|event| event.subject.len() + event.text.len());
    commands.chain(events).sum()
}

/// How much is in the queue.
#[derive(Debug, Default)]
struct Waiting {
    records: AtomicUsize,
    text_bytes: AtomicUsize,
}

impl Waiting {
    fn add(&self, text_bytes: usize) {
        self.records.fetch_add(1, Ordering::AcqRel);
        self.text_bytes.fetch_add(text_bytes, Ordering::AcqRel);
    }

    fn remove(&self, text_bytes: usize) {
        self.records.fetch_sub(1, Ordering::AcqRel);
        self.text_bytes.fetch_sub(text_bytes, Ordering::AcqRel);
    }
}

/// The flags through which the clock and the log control each other. Neither waits for the other to read them.
#[derive(Debug, Default)]
pub struct LogFlags {
    ended: AtomicBool,
    has_deadlines: AtomicBool,
}

impl LogFlags {
    /// Asks the run to end, because the log has failed or has reached its size limit.
    pub fn end_run(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether the log asks the run to end.
    pub fn run_is_to_end(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Called by the clock: whether steps have deadlines in its present mode.
    pub fn set_deadlines(&self, has_deadlines: bool) {
        self.has_deadlines.store(has_deadlines, Ordering::Release);
    }

    /// Whether steps have deadlines: then the log must not let the physics wait, and spills.
    pub fn has_deadlines(&self) -> bool {
        self.has_deadlines.load(Ordering::Acquire)
    }
}

/// Makes both ends of a queue of at most `capacity` records.
pub fn log_queue(capacity: usize) -> (LogSender, LogReceiver) {
    let (sender, receiver) = mpsc::sync_channel(capacity);
    let waiting = Arc::<Waiting>::default();
    let receiver = LogReceiver { records: receiver, waiting: Arc::clone(&waiting), capacity };
    (LogSender { records: sender, waiting, capacity }, receiver)
}

/// The end that the publisher fills.
#[derive(Debug, Clone)]
pub struct LogSender {
    records: SyncSender<Arc<StepRecord>>,
    waiting: Arc<Waiting>,
    capacity: usize,
}

impl LogSender {
    /// Adds a record, or returns it if the queue is full. After the log has ended, records are dropped.
    ///
    /// # Errors
    /// The record, when the queue is full.
    pub fn try_send(&self, record: Arc<StepRecord>) -> Result<(), Arc<StepRecord>> {
        // Counted before it is sent, so that the other end never counts below zero.
        let bytes = text_bytes(&record);
        self.waiting.add(bytes);
        let refused = self.records.try_send(record);
        if refused.is_err() {
            self.waiting.remove(bytes);
        }
        match refused {
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(record)) => Err(record),
        }
    }

    /// Adds a record, and waits for room.
    ///
    /// # Errors
    /// When the log has ended.
    pub fn send(&self, record: Arc<StepRecord>) -> Result<(), SendError<Arc<StepRecord>>> {
        let bytes = text_bytes(&record);
        self.waiting.add(bytes);
        self.records.send(record).inspect_err(|_| self.waiting.remove(bytes))
    }

    /// Records in the queue.
    pub fn len(&self) -> usize {
        self.waiting.records.load(Ordering::Acquire).min(self.capacity)
    }

    /// Whether no record waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many records the queue holds at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The end that the log empties.
#[derive(Debug)]
pub struct LogReceiver {
    records: Receiver<Arc<StepRecord>>,
    waiting: Arc<Waiting>,
    capacity: usize,
}

impl LogReceiver {
    /// The next record, whenever it comes; `None` when all senders are gone and all records are taken.
    pub fn recv(&self) -> Option<Arc<StepRecord>> {
        self.records.recv().ok().inspect(|record| self.waiting.remove(text_bytes(record)))
    }

    /// The next record, if one comes in that time.
    ///
    /// # Errors
    /// When none does, or none can any more.
    pub fn recv_timeout(&self, time: Duration) -> Result<Arc<StepRecord>, RecvTimeoutError> {
        self.records.recv_timeout(time).inspect(|record| self.waiting.remove(text_bytes(record)))
    }

    /// Whether half of the queue is in use, by the number of records or by the texts in them.
    pub fn is_half_full(&self) -> bool {
        self.waiting.records.load(Ordering::Acquire) >= self.capacity.div_ceil(2)
            || self.waiting.text_bytes.load(Ordering::Acquire) >= CROWDED_BYTES
    }

    /// All records until the senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = Arc<StepRecord>> {
        std::iter::from_fn(|| self.recv())
    }
}
