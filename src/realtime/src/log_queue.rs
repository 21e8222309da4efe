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

/// Length of the texts of commands and events, in bytes, at which the queue counts as half full whatever the number of
/// records: a quarter of the memory that it may take (`recorder`).
const HALF_FULL_TEXT_BYTES: usize = 64_000_000;

/// Length in bytes of the texts of a record, which the size of the struct does not include.
pub fn text_bytes(record: &StepRecord) -> usize {
    let commands = record.commands.iter().map(|applied| applied.command.text.len());
    let events = record.events.iter().map(|event| event.subject.len() + event.text.len());
    commands.chain(events).sum()
}

/// Fill level of the queue.
#[derive(Debug, Default)]
struct FillLevel {
    records: AtomicUsize,
    text_bytes: AtomicUsize,
}

impl FillLevel {
    fn add_record(&self, text_bytes: usize) {
        self.records.fetch_add(1, Ordering::AcqRel);
        self.text_bytes.fetch_add(text_bytes, Ordering::AcqRel);
    }

    fn remove_record(&self, text_bytes: usize) {
        self.records.fetch_sub(1, Ordering::AcqRel);
        self.text_bytes.fetch_sub(text_bytes, Ordering::AcqRel);
    }
}

/// The flags through which the clock and the log control each other. Neither waits for the other to read them.
#[derive(Debug, Default)]
pub struct LogFlags {
    /// Set by the log to end the run.
    ended: AtomicBool,
    /// Set by the clock while steps have deadlines.
    has_deadlines: AtomicBool,
}

impl LogFlags {
    /// Asks the run to end, because the log has failed or has reached its size limit.
    pub fn end_run(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// True if the log has asked the run to end.
    pub fn run_is_to_end(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Sets whether steps have deadlines in the present clock mode. Called by the clock.
    pub fn set_deadlines(&self, has_deadlines: bool) {
        self.has_deadlines.store(has_deadlines, Ordering::Release);
    }

    /// True if steps have deadlines. The log must then not make the physics wait, so it spills.
    pub fn has_deadlines(&self) -> bool {
        self.has_deadlines.load(Ordering::Acquire)
    }
}

/// Creates both ends of a queue of at most `capacity` records.
pub fn log_queue(capacity: usize) -> (LogSender, LogReceiver) {
    let (sender, receiver) = mpsc::sync_channel(capacity);
    let fill = Arc::<FillLevel>::default();
    let receiver = LogReceiver { records: receiver, fill: Arc::clone(&fill), capacity };
    (LogSender { records: sender, fill, capacity }, receiver)
}

/// The end that the publisher fills.
#[derive(Debug, Clone)]
pub struct LogSender {
    records: SyncSender<Arc<StepRecord>>,
    fill: Arc<FillLevel>,
    capacity: usize,
}

impl LogSender {
    /// Adds a record without waiting. After the log has ended, records are dropped.
    ///
    /// # Errors
    /// The record, when the queue is full.
    pub fn try_send(&self, record: Arc<StepRecord>) -> Result<(), Arc<StepRecord>> {
        // Counted before it is sent, so that the receiver never counts below zero.
        let bytes = text_bytes(&record);
        self.fill.add_record(bytes);
        let refused = self.records.try_send(record);
        if refused.is_err() {
            self.fill.remove_record(bytes);
        }
        match refused {
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(record)) => Err(record),
        }
    }

    /// Adds a record; waits while the queue is full.
    ///
    /// # Errors
    /// When the log has ended.
    pub fn send(&self, record: Arc<StepRecord>) -> Result<(), SendError<Arc<StepRecord>>> {
        let bytes = text_bytes(&record);
        self.fill.add_record(bytes);
        self.records.send(record).inspect_err(|_| self.fill.remove_record(bytes))
    }

    /// Number of records in the queue.
    pub fn len(&self) -> usize {
        self.fill.records.load(Ordering::Acquire).min(self.capacity)
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Capacity of the queue, records.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The end that the log empties.
#[derive(Debug)]
pub struct LogReceiver {
    records: Receiver<Arc<StepRecord>>,
    fill: Arc<FillLevel>,
    capacity: usize,
}

impl LogReceiver {
    /// Waits for the next record; `None` when all senders are gone and all records are taken.
    pub fn recv(&self) -> Option<Arc<StepRecord>> {
        self.records.recv().ok().inspect(|record| self.fill.remove_record(text_bytes(record)))
    }

    /// Waits for the next record for at most `time`.
    ///
    /// # Errors
    /// When no record comes in that time, or all senders are gone and all records are taken.
    pub fn recv_timeout(&self, time: Duration) -> Result<Arc<StepRecord>, RecvTimeoutError> {
        self.records.recv_timeout(time).inspect(|record| self.fill.remove_record(text_bytes(record)))
    }

    /// True if the queue is at least half full, by the number of records or by the length of their texts.
    pub fn is_half_full(&self) -> bool {
        self.fill.records.load(Ordering::Acquire) >= self.capacity.div_ceil(2)
            || self.fill.text_bytes.load(Ordering::Acquire) >= HALF_FULL_TEXT_BYTES
    }

    /// All records until the senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = Arc<StepRecord>> {
        std::iter::from_fn(|| self.recv())
    }
}
