//! The publisher: the thread between the physics thread and everybody who reads records.
//!
//! The physics thread fills a record that already exists, passes it through a lock-free ring and gets it back empty. Work that
//! allocates memory, or grows with the number of readers, is done here: copying the record once for all readers, publishing it,
//! passing it on to the log. The thread has a real-time priority below that of the physics thread, prints nothing, and never waits
//! for the log: it keeps the records that the log's queue has no room for, and the physics thread runs out of empty ones.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    events::EventWriter,
    log_queue::LogSender,
    os,
    priority::{Priority, PriorityState},
    queue_figures::{QueueFigures, RECORDS},
    records::RecordWriter,
    shared::Shared,
};

/// How long the publisher sleeps when nobody wakes it; it bounds how late it notices the end.
const IDLE: Duration = Duration::from_millis(10);

/// How long it sleeps while the log's queue is full: a few steps, of which the ring holds a thousand.
const LOG_RETRY: Duration = Duration::from_millis(1);

/// How long the physics thread sleeps at a time while it waits for the publisher: a twentieth of the shortest usual step. Nobody sees
/// the difference, and the publisher gets the core.
const TURN: Duration = Duration::from_micros(50);

/// Where readers see records and events.
#[derive(Clone)]
pub(super) struct Published {
    /// The records.
    pub records: RecordWriter,
    /// The events and commands of all records.
    pub events: Arc<EventWriter>,
}

/// The physics thread's end of the two rings.
pub struct RecordSender {
    empty: rtrb::Consumer<Box<StepRecord>>,
    full: rtrb::Producer<Box<StepRecord>>,
    publisher: Thread,
    published: RecordWriter,
    queues: Arc<QueueFigures>,
    sent: u64,
}

/// The publisher's thread. It ends, after the last record is out, when the [`RecordSender`] is dropped or the physics thread
/// abandoned.
pub struct Publisher {
    thread: JoinHandle<()>,
}

/// What the thread owns.
struct PublisherLoop {
    full: rtrb::Consumer<Box<StepRecord>>,
    empty: rtrb::Producer<Box<StepRecord>>,
    published: Published,
    log: Option<LogSender>,
    /// Published records that the log's queue has no room for yet, each with the emptied record it was copied from. A record of no
    /// step has no values to be filled again, and does not go back.
    held: VecDeque<(Arc<StepRecord>, Option<Box<StepRecord>>)>,
    queues: Arc<QueueFigures>,
    priority: Priority,
}

impl Publisher {
    /// Starts the thread, with that real-time priority while steps have deadlines.
    pub fn start(
        layout: &Layout,
        published: Published,
        log: Option<LogSender>,
        shared: Arc<Shared>,
        priority: u8,
    ) -> std::io::Result<(Self, RecordSender)> {
        let (mut give, empty) = rtrb::RingBuffer::new(RECORDS);
        let (full, take) = rtrb::RingBuffer::<Box<StepRecord>>::new(RECORDS);
        for _ in 0..RECORDS {
            give.push(Box::new(StepRecord::new(layout))).expect("the ring has room for all records");
        }
        let records = published.records.clone();
        let queues = Arc::clone(&shared.queues);
        queues.set_log_capacity(log.as_ref().map_or(0, LogSender::capacity));
        let work = PublisherLoop {
            full: take,
            empty: give,
            published,
            log,
            held: VecDeque::with_capacity(RECORDS),
            queues: Arc::clone(&queues),
            priority: Priority::new(priority, os::now_ns()),
        };
        let thread = thread::Builder::new().name("publisher".into()).spawn(move || work.run(&shared))?;
        let publisher = thread.thread().clone();
        Ok((Self { thread }, RecordSender { empty, full, publisher, published: records, queues, sent: 0 }))
    }

    /// Waits until the last record is out.
    pub fn join(self) {
        self.thread.thread().unpark();
        // The thread only moves data; if it panicked, the panic was printed and the run ends all the same.
        let _ = self.thread.join();
    }
}

impl PublisherLoop {
    fn run(mut self, shared: &Shared) {
        let state = PriorityState::default();
        loop {
            self.priority.update(shared.is_paced(), os::now_ns(), &state);
            // Read before the ring, so that no record can come in between.
            let is_last = self.full.is_abandoned() || shared.is_abandoned();
            let moved = self.publish_next();
            self.pass_to_log();
            if moved {
                continue;
            }
            if is_last {
                break;
            }
            let from_ns = os::now_ns();
            thread::park_timeout(if self.held.is_empty() { IDLE } else { LOG_RETRY });
            self.priority.slept(os::now_ns() - from_ns);
        }
        if let Some(log) = &self.log {
            // A log that has ended reports that itself.
            self.held.drain(..).for_each(|(record, _)| drop(log.send(record)));
        }
    }

    /// Publishes the next record, if there is one.
    fn publish_next(&mut self) -> bool {
        let Ok(mut record) = self.full.pop() else { return false };
        let shared = Arc::new(take_contents(&mut record));
        self.published.events.publish(&shared);
        let is_step = shared.is_step;
        if is_step {
            self.published.records.publish(Arc::clone(&shared));
        }
        self.queues.count_published();
        self.held.push_back((shared, is_step.then_some(record)));
        true
    }

    /// Passes as many records to the log as its queue has room for.
    fn pass_to_log(&mut self) {
        while let Some((shared, empty)) = self.held.pop_front() {
            if let Some(log) = &self.log {
                let refused = log.try_send(shared);
                self.queues.note_log_length(log.len());
                if let Err(shared) = refused {
                    self.held.push_front((shared, empty));
                    break;
                }
            }
            if let Some(empty) = empty {
                let _ = self.empty.push(empty);
            }
        }
        self.queues.set_log_is_full(!self.held.is_empty());
    }
}

/// Copies the numbers and moves what the lists hold, so that the record goes back empty and with its memory.
fn take_contents(record: &mut StepRecord) -> StepRecord {
    StepRecord {
        step: record.step,
        is_step: record.is_step,
        epoch: record.epoch,
        world: record.world,
        timing: record.timing,
        values: record.values.clone(),
        long_readings: record.long_readings.clone(),
        fresh: record.fresh.clone(),
        off: record.off.clone(),
        applied: record.applied.clone(),
        contacts: record.contacts.clone(),
        commands: record.commands.drain(..).collect(),
        events: record.events.drain(..).collect(),
        snapshot: record.snapshot.take(),
        begins_with: record.begins_with.take(),
    }
}

impl RecordSender {
    /// An empty record, or `None` while all are on their way.
    pub fn take_empty(&mut self) -> Option<Box<StepRecord>> {
        self.empty.pop().ok()
    }

    /// Whether records are held back because the log's queue is full.
    pub fn log_is_full(&self) -> bool {
        self.queues.log_is_full()
    }

    /// Which queue was full, and why, when there was no empty record.
    pub fn what_was_full(&self, log_was_full: bool) -> String {
        match self.queues.longest_log().filter(|_| log_was_full) {
            Some((_, capacity)) => {
                format!("the log's queue of {capacity} records was full, because the log took fewer than steps came")
            }
            None => format!(
                "the ring of {RECORDS} records to the publisher was full, because that thread got too little processor time"
            ),
        }
    }

    /// Sends a full record on its way.
    pub fn send(&mut self, record: Box<StepRecord>) {
        // It has a place for every empty record there is; one of no step may have to wait until the publisher takes another. That
        // thread waits for nobody, so this is soon.
        while self.full.is_full() && !self.full.is_abandoned() {
            thread::sleep(TURN);
        }
        let _ = self.full.push(record);
        self.sent += 1;
        self.queues.note_ring_length(RECORDS - self.full.slots());
        self.publisher.unpark();
    }

    /// Waits until the records sent so far are published. It does not wait for the log.
    pub fn flush(&self) {
        while self.queues.published() < self.sent && !self.empty.is_abandoned() {
            thread::sleep(TURN);
        }
    }

    /// Publishes a state that no step has produced, and that is therefore not logged, after all records sent so far.
    pub fn publish_state(&mut self, state: StepRecord) {
        self.flush();
        self.published.publish(Arc::new(state));
    }
}
