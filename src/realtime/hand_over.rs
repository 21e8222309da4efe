//! The hand-over: a thread of ordinary priority between the physics thread and everybody who reads records.
//!
//! The physics thread fills a record that already exists, passes it through a lock-free ring and gets it back empty. What
//! costs memory or time grows with the number of readers and is done here: making the copy that readers share, showing it,
//! passing it on to the log.

use std::{
    sync::{Arc, mpsc::SyncSender},
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use tokio::sync::watch;

use super::told::Teller;
use crate::signal::{Event, EventKind, Layout, StepRecord};

/// How many records go round: a second of steps at 1 kHz, which is longer than a database holds its breath.
const RECORDS: usize = 1024;

/// How long the courier sleeps when nobody wakes it; it bounds how late it notices the end.
const IDLE: Duration = Duration::from_millis(10);

/// Where everybody sees what comes out.
#[derive(Clone)]
pub struct Shown {
    /// The newest record.
    pub latest: watch::Sender<Arc<StepRecord>>,
    /// The events of all records.
    pub teller: Arc<Teller>,
}

/// The physics thread's end.
pub struct Outlet {
    empty: rtrb::Consumer<Box<StepRecord>>,
    full: rtrb::Producer<Box<StepRecord>>,
    courier: Thread,
    latest: watch::Sender<Arc<StepRecord>>,
}

/// The thread that carries records out. It ends when the outlet is dropped, after the last record is out.
pub struct Courier {
    thread: JoinHandle<()>,
}

impl Courier {
    /// Starts the thread. Records are shown, their events told, and both sent to `log`; a log whose queue is full is waited for.
    pub fn start(
        layout: &Layout,
        shown: Shown,
        log: Option<SyncSender<Arc<StepRecord>>>,
    ) -> std::io::Result<(Self, Outlet)> {
        let (mut give, empty) = rtrb::RingBuffer::new(RECORDS);
        let (full, mut take) = rtrb::RingBuffer::<Box<StepRecord>>::new(RECORDS);
        for _ in 0..RECORDS {
            give.push(Box::new(StepRecord::new(layout))).expect("the ring has room for all records");
        }
        let latest = shown.latest.clone();
        let thread = thread::Builder::new().name("hand-over".into()).spawn(move || {
            loop {
                match take.pop() {
                    Ok(mut record) => {
                        let shared = Arc::new(carry_off(&mut record));
                        shared.events.iter().for_each(tell);
                        shown.teller.tell(shared.epoch, &shared.events);
                        shown.latest.send_replace(Arc::clone(&shared));
                        if let Some(log) = &log {
                            // An error means that the log has ended; it says so itself.
                            let _ = log.send(shared);
                        }
                        let _ = give.push(record);
                    }
                    Err(_) if take.is_abandoned() => return,
                    Err(_) => thread::park_timeout(IDLE),
                }
            }
        })?;
        let courier = thread.thread().clone();
        Ok((Self { thread }, Outlet { empty, full, courier, latest }))
    }

    /// Waits until the last record is out.
    pub fn join(self) {
        // The thread only moves data; should it have panicked, the panic has been printed and the run ends all the same.
        let _ = self.thread.join();
    }
}

/// Tells people of an event at once; the log is for later.
fn tell(event: &Event) {
    let (step, kind, subject, text) = (event.step, event.kind.name(), &event.subject, &event.text);
    match event.kind {
        EventKind::Divergence => tracing::error!("step {step}: {kind} {subject} {text}"),
        EventKind::ClockSlip | EventKind::CommandRefused | EventKind::PhysicsLimit => {
            tracing::warn!("step {step}: {kind} {subject} {text}");
        }
        EventKind::Reset => tracing::info!("step {step}: {kind} {text}"),
        EventKind::Fault | EventKind::Watchdog => tracing::info!("step {step}: {kind} {subject} {text}"),
        EventKind::Substeps | EventKind::Unconverged => tracing::debug!("step {step}: {kind} {subject} {text}"),
        EventKind::Lockstep => tracing::info!("step {step}: {subject}: {text}"),
        EventKind::LockstepTimeout
        | EventKind::Play
        | EventKind::Pause
        | EventKind::Connect
        | EventKind::Disconnect => {
            tracing::debug!("step {step}: {kind} {subject} {text}");
        }
        EventKind::LogLimit | EventKind::LogOutage => tracing::warn!("step {step}: {kind} {text}"),
    }
}

/// Copies the numbers and takes the lists, so that the record goes back empty and with its memory.
fn carry_off(record: &mut StepRecord) -> StepRecord {
    StepRecord {
        step: record.step,
        epoch: record.epoch,
        timing: record.timing,
        values: record.values.clone(),
        fresh: record.fresh.clone(),
        off: record.off.clone(),
        applied: record.applied.clone(),
        commands: std::mem::take(&mut record.commands),
        events: std::mem::take(&mut record.events),
    }
}

impl Outlet {
    /// An empty record, or `None` while all are on their way.
    pub fn take_empty(&mut self) -> Option<Box<StepRecord>> {
        self.empty.pop().ok()
    }

    /// The same, waiting for one.
    pub fn wait_for_empty(&mut self) -> Option<Box<StepRecord>> {
        loop {
            match self.empty.pop() {
                Ok(record) => return Some(record),
                Err(_) if self.empty.is_abandoned() => return None,
                Err(_) => thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// Sends a full record on its way.
    pub fn send(&mut self, record: Box<StepRecord>) {
        // There are no more records than places.
        let _ = self.full.push(record);
        self.courier.unpark();
    }

    /// Waits until everybody can see the records sent so far.
    pub fn settle(&self) {
        while self.empty.slots() < RECORDS && !self.empty.is_abandoned() {
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Shows a state that no step has brought about and that therefore is not logged, after all records under way.
    pub fn show(&mut self, state: StepRecord) {
        self.settle();
        self.latest.send_replace(Arc::new(state));
    }
}
