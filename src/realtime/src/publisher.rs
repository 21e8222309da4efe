//! The publisher: the thread between the physics thread and all readers of records.
//!
//! The physics thread fills an existing record, passes it through a lock-free ring and gets it back empty. The
//! publisher does the work that allocates memory or grows with the number of readers: it copies the record once for all
//! readers, publishes the copy and passes it on to the log. Its real-time priority is below that of the physics thread.
//! It prints nothing and never waits for the log: it holds the records that do not fit into the log's queue, until the
//! physics thread runs out of empty ones.

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
    queue_figures::{CIRCULATING_RECORDS, QueueFigures},
    records::RecordWriter,
    shared::Shared,
};

/// Longest sleep of the publisher while there is nothing to do. It bounds the delay with which it notices the end.
const IDLE_SLEEP: Duration = Duration::from_millis(10);

/// Longest sleep of the publisher while the log's queue is full: a few steps, of which the ring holds a thousand.
const LOG_RETRY: Duration = Duration::from_millis(1);

/// Polling interval of the physics thread while it waits for the publisher: a twentieth of the shortest usual timestep.
/// The delay is negligible, and the sleep leaves the core to the publisher.
const PUBLISHER_WAIT: Duration = Duration::from_micros(50);

/// The writers through which readers get records and events.
#[derive(Clone)]
pub(super) struct Published {
    /// Writer of records.
    pub records: RecordWriter,
    /// Writer of the events and command counts of all records.
    pub events: Arc<EventWriter>,
}

/// The physics thread's end of the two rings.
pub struct RecordSender {
    empty: rtrb::Consumer<Box<StepRecord>>,
    full: rtrb::Producer<Box<StepRecord>>,
    publisher: Thread,
    published: RecordWriter,
    shared: Arc<Shared>,
    queues: Arc<QueueFigures>,
    sent: u64,
}

/// The publisher's thread. It ends when the [`RecordSender`] is dropped or the physics thread is abandoned, after the
/// last record is out.
pub struct Publisher {
    thread: JoinHandle<()>,
}

/// State of the publisher's thread.
struct PublisherLoop {
    full: rtrb::Consumer<Box<StepRecord>>,
    empty: rtrb::Producer<Box<StepRecord>>,
    published: Published,
    log: Option<LogSender>,
    /// Published records that await room in the log's queue, each with the emptied record it was copied from. A record
    /// without a step has no values to be filled again, so it is not returned.
    held: VecDeque<(Arc<StepRecord>, Option<Box<StepRecord>>)>,
    queues: Arc<QueueFigures>,
    priority: Priority,
}

impl Publisher {
    /// Starts the thread. `priority` is its real-time priority while steps have deadlines; 0 requests none.
    pub fn start(
        layout: &Layout,
        published: Published,
        log: Option<LogSender>,
        shared: Arc<Shared>,
        priority: u8,
    ) -> std::io::Result<(Self, RecordSender)> {
        let (mut empty_records, empty) = rtrb::RingBuffer::new(CIRCULATING_RECORDS);
        let (full, full_records) = rtrb::RingBuffer::<Box<StepRecord>>::new(CIRCULATING_RECORDS);
        for _ in 0..CIRCULATING_RECORDS {
            empty_records.push(Box::new(StepRecord::new(layout))).expect("the ring has room for all records");
        }
        let records = published.records.clone();
        let queues = Arc::clone(&shared.queues);
        queues.set_log_capacity(log.as_ref().map_or(0, LogSender::capacity));
        let work = PublisherLoop {
            full: full_records,
            empty: empty_records,
            published,
            log,
            held: VecDeque::with_capacity(CIRCULATING_RECORDS),
            queues: Arc::clone(&queues),
            priority: Priority::new(priority, os::now_ns()),
        };
        let run = Arc::clone(&shared);
        let thread = thread::Builder::new().name("publisher".into()).spawn(move || work.run(&run))?;
        let publisher = thread.thread().clone();
        Ok((Self { thread }, RecordSender { empty, full, publisher, published: records, shared, queues, sent: 0 }))
    }

    /// Waits until the last record is out.
    pub fn join(self) {
        self.thread.thread().unpark();
        // The thread only moves data. If it panicked, the panic was printed, and the run ends all the same.
        let _ = self.thread.join();
    }
}

impl PublisherLoop {
    fn run(mut self, shared: &Shared) {
        let state = PriorityState::default();
        loop {
            self.priority.update(shared.is_paced(), os::now_ns(), &state);
            // Checked before the ring is read, so that no record is left in it.
            let is_last = self.full.is_abandoned() || shared.is_abandoned();
            let moved = self.publish_next(shared);
            self.pass_to_log();
            if moved {
                continue;
            }
            if is_last {
                break;
            }
            let from_ns = os::now_ns();
            thread::park_timeout(if self.held.is_empty() { IDLE_SLEEP } else { LOG_RETRY });
            self.priority.record_sleep(os::now_ns() - from_ns);
        }
        if let Some(log) = &self.log {
            // If the log has ended, it has reported that itself.
            self.held.drain(..).for_each(|(record, _)| drop(log.send(record)));
        }
    }

    /// Publishes the next record. False if there is none.
    fn publish_next(&mut self, run: &Shared) -> bool {
        let Ok(mut record) = self.full.pop() else { return false };
        let ruts: Vec<_> = record.ruts.drain(..).collect();
        let shared = Arc::new(take_contents(&mut record));
        self.published.events.publish(&shared);
        let is_step = shared.is_step;
        if is_step {
            // Ruts are memory, so records that are kept for seconds have none.
            let newest = match ruts.is_empty() {
                true => Arc::clone(&shared),
                false => Arc::new(StepRecord { ruts, ..StepRecord::clone(&shared) }),
            };
            // First the images, so that a client that has read of an image gets it when it asks.
            run.images.offer_record(&newest, run.is_paced());
            self.published.records.publish(newest, Arc::clone(&shared));
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

/// Copies the numbers and moves the contents of the lists, except for ruts. The record keeps its memory and can be
/// filled again.
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
        exposed: record.exposed.clone(),
        ruts: Vec::new(),
        arrived: record.arrived.clone(),
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
    /// An empty record; `None` while all records are in use.
    pub fn take_empty(&mut self) -> Option<Box<StepRecord>> {
        self.empty.pop().ok()
    }

    /// True while records are held back because the log's queue is full.
    pub fn log_is_full(&self) -> bool {
        self.queues.log_is_full()
    }

    /// Text for the log: which queue was full, and why, when there was no empty record.
    pub fn full_queue_text(&self, log_was_full: bool) -> String {
        match self.queues.longest_log().filter(|_| log_was_full) {
            Some((_, capacity)) => {
                format!(
                    "the log's queue of {capacity} records was full, because the log was slower than the simulation"
                )
            }
            None => format!(
                "the ring of {CIRCULATING_RECORDS} records to the publisher was full, because that thread got too \
                 little processor time"
            ),
        }
    }

    /// Sends a filled record to the publisher.
    pub fn send(&mut self, record: Box<StepRecord>) {
        // The ring has a slot for every circulating record. A record without a step is an extra one and may have to
        // wait until the publisher takes another. That is soon, because the publisher waits for nobody.
        while self.full.is_full() && !self.full.is_abandoned() {
            thread::sleep(PUBLISHER_WAIT);
        }
        let _ = self.full.push(record);
        self.sent += 1;
        self.queues.note_ring_length(CIRCULATING_RECORDS - self.full.slots());
        self.publisher.unpark();
    }

    /// Waits until the records sent so far are published. It does not wait for the log.
    pub fn flush(&self) {
        while self.queues.published() < self.sent && !self.empty.is_abandoned() {
            thread::sleep(PUBLISHER_WAIT);
        }
    }

    /// Publishes a state that no step has produced, after all records sent so far. It is not logged.
    pub fn publish_state(&mut self, state: StepRecord) {
        self.flush();
        let state = Arc::new(state);
        // The clock stands still meanwhile.
        self.shared.images.offer_record(&state, false);
        self.published.publish(Arc::clone(&state), state);
    }
}
