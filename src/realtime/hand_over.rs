//! The hand-over: the thread between the physics thread and everybody who reads records.
//!
//! The physics thread fills a record that already exists, passes it through a lock-free ring and gets it back empty. What
//! costs memory or time grows with the number of readers and is done here: making the copy that readers share, showing it,
//! passing it on to the log. It has a real-time priority below that of the physics while that has one, prints nothing, and
//! never waits for the log: records that the log's queue has no room for stay here, and the physics runs out of empty ones.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use simpartner_wire::signal::{Layout, StepRecord};
use tokio::sync::watch;

use super::{
    log_queue::LogSender,
    os,
    priority::{Priority, PriorityState},
    report::QueueUse,
    shared::Shared,
    told::Teller,
};

/// How many records go round: a second of steps at 1 kHz.
pub(super) const RECORDS: usize = 1024;

/// How long the courier sleeps when nobody wakes it; it bounds how late it notices the end.
const IDLE: Duration = Duration::from_millis(10);

/// How long it sleeps while the log's queue is full: a few steps, of which the ring holds a thousand.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Where everybody sees what comes out.
#[derive(Clone)]
pub struct Shown {
    /// The newest record.
    pub latest: watch::Sender<Arc<StepRecord>>,
    /// The events of all records.
    pub teller: Arc<Teller>,
}

/// How the queues on the way stand, for the physics thread and the summary.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// Records that everybody could see so far.
    shown: AtomicU64,
    /// The most records that were in the ring.
    longest_ring: AtomicUsize,
    /// The most records that were in the log's queue, and its capacity.
    longest_log: AtomicUsize,
    log_capacity: AtomicUsize,
    /// Whether the log's queue is full and records are held back for it.
    log_is_full: AtomicBool,
}

impl Queues {
    /// How much of each was used.
    pub(super) fn uses(&self) -> Vec<QueueUse> {
        let ring = QueueUse {
            name: "ring to the hand-over",
            longest: self.longest_ring.load(Ordering::Relaxed),
            capacity: RECORDS,
        };
        let log = |(longest, capacity)| QueueUse { name: "log's queue", longest, capacity };
        std::iter::once(ring).chain(self.longest_log().map(log)).collect()
    }

    /// The most records in the log's queue and how many it holds; nothing without a log.
    fn longest_log(&self) -> Option<(usize, usize)> {
        let capacity = self.log_capacity.load(Ordering::Relaxed);
        (capacity > 0).then(|| (self.longest_log.load(Ordering::Relaxed), capacity))
    }
}

/// The physics thread's end.
pub struct Outlet {
    empty: rtrb::Consumer<Box<StepRecord>>,
    full: rtrb::Producer<Box<StepRecord>>,
    courier: Thread,
    latest: watch::Sender<Arc<StepRecord>>,
    queues: Arc<Queues>,
    sent: u64,
}

/// The thread that carries records out. It ends when the outlet is dropped or the physics thread abandoned, after the last
/// record is out.
pub struct Courier {
    thread: JoinHandle<()>,
}

/// The thread's own things.
struct Round {
    take: rtrb::Consumer<Box<StepRecord>>,
    give: rtrb::Producer<Box<StepRecord>>,
    shown: Shown,
    log: Option<LogSender>,
    /// Records that everybody sees and the log's queue has no room for yet, with the emptied ones they came in.
    held: VecDeque<(Arc<StepRecord>, Box<StepRecord>)>,
    queues: Arc<Queues>,
    priority: Priority,
}

impl Courier {
    /// Starts the thread, with that real-time priority while steps have deadlines. Records are shown, their events told, and both
    /// sent to `log`.
    pub fn start(
        layout: &Layout,
        shown: Shown,
        log: Option<LogSender>,
        shared: Arc<Shared>,
        priority: u8,
    ) -> std::io::Result<(Self, Outlet)> {
        let (mut give, empty) = rtrb::RingBuffer::new(RECORDS);
        let (full, take) = rtrb::RingBuffer::<Box<StepRecord>>::new(RECORDS);
        for _ in 0..RECORDS {
            give.push(Box::new(StepRecord::new(layout))).expect("the ring has room for all records");
        }
        let latest = shown.latest.clone();
        let queues = Arc::clone(&shared.queues);
        queues.log_capacity.store(log.as_ref().map_or(0, LogSender::capacity), Ordering::Relaxed);
        let held = VecDeque::with_capacity(RECORDS);
        let priority = Priority::new(priority, os::now_ns());
        let round = Round { take, give, shown, log, held, queues: Arc::clone(&queues), priority };
        let thread = thread::Builder::new().name("hand-over".into()).spawn(move || round.run(&shared))?;
        let courier = thread.thread().clone();
        Ok((Self { thread }, Outlet { empty, full, courier, latest, queues, sent: 0 }))
    }

    /// Waits until the last record is out.
    pub fn join(self) {
        self.thread.thread().unpark();
        // The thread only moves data; should it have panicked, the panic has been printed and the run ends all the same.
        let _ = self.thread.join();
    }
}

impl Round {
    fn run(mut self, shared: &Shared) {
        let state = PriorityState::default();
        loop {
            self.priority.attend(shared.is_paced(), os::now_ns(), &state);
            // Looked at before the ring, so that nothing can come between.
            let is_last = self.take.is_abandoned() || shared.is_abandoned();
            let moved = self.show_next();
            self.pass_on();
            if moved {
                continue;
            }
            if is_last {
                break;
            }
            let from_ns = os::now_ns();
            thread::park_timeout(if self.held.is_empty() { IDLE } else { LOOK_AGAIN });
            self.priority.slept(os::now_ns() - from_ns);
        }
        if let Some(log) = &self.log {
            // A log that has ended says so itself.
            self.held.drain(..).for_each(|(record, _)| drop(log.send(record)));
        }
    }

    /// Shows the next record, if there is one.
    fn show_next(&mut self) -> bool {
        let Ok(mut record) = self.take.pop() else { return false };
        let shared = Arc::new(carry_off(&mut record));
        self.shown.teller.tell(&shared);
        self.shown.latest.send_replace(Arc::clone(&shared));
        self.queues.shown.fetch_add(1, Ordering::Release);
        self.held.push_back((shared, record));
        true
    }

    /// Passes on what the log's queue has room for.
    fn pass_on(&mut self) {
        while let Some((shared, empty)) = self.held.pop_front() {
            if let Some(log) = &self.log {
                let refused = log.try_send(shared);
                self.queues.longest_log.fetch_max(log.len(), Ordering::Relaxed);
                if let Err(shared) = refused {
                    self.held.push_front((shared, empty));
                    break;
                }
            }
            let _ = self.give.push(empty);
        }
        self.queues.log_is_full.store(!self.held.is_empty(), Ordering::Release);
    }
}

/// Copies the numbers and moves what the lists hold, so that the record goes back empty and with its memory.
fn carry_off(record: &mut StepRecord) -> StepRecord {
    StepRecord {
        step: record.step,
        epoch: record.epoch,
        timing: record.timing,
        values: record.values.clone(),
        fresh: record.fresh.clone(),
        off: record.off.clone(),
        applied: record.applied.clone(),
        contacts: record.contacts.clone(),
        commands: record.commands.drain(..).collect(),
        events: record.events.drain(..).collect(),
        snapshot: record.snapshot.take(),
    }
}

impl Outlet {
    /// An empty record, or `None` while all are on their way.
    pub fn take_empty(&mut self) -> Option<Box<StepRecord>> {
        self.empty.pop().ok()
    }

    /// Whether records are held back because the log's queue is full.
    pub fn log_is_full(&self) -> bool {
        self.queues.log_is_full.load(Ordering::Acquire)
    }

    /// Which queue was full, and why, when there was no empty record.
    pub fn what_was_full(&self, log_was_full: bool) -> String {
        match self.queues.longest_log().filter(|_| log_was_full) {
            Some((_, capacity)) => {
                format!("the log's queue of {capacity} records was full, because the log took fewer than steps came")
            }
            None => format!(
                "the ring of {RECORDS} records to the hand-over was full, because that thread got too little processor time"
            ),
        }
    }

    /// Sends a full record on its way.
    pub fn send(&mut self, record: Box<StepRecord>) {
        // There are no more records than places.
        let _ = self.full.push(record);
        self.sent += 1;
        self.queues.longest_ring.fetch_max(RECORDS - self.full.slots(), Ordering::Relaxed);
        self.courier.unpark();
    }

    /// Waits until everybody can see the records sent so far. It does not wait for the log.
    pub fn settle(&self) {
        while self.queues.shown.load(Ordering::Acquire) < self.sent && !self.empty.is_abandoned() {
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Shows a state that no step has brought about and that therefore is not logged, after all records under way.
    pub fn show(&mut self, state: StepRecord) {
        self.settle();
        self.latest.send_replace(Arc::new(state));
    }
}
