//! The thread that a simulation runs in: its start, its outputs and its end.

use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use simpartner_model::Timestep;
use simpartner_wire::signal::Layout;

use super::{
    background::BackgroundThread,
    events::EventReader,
    handle::Inbox,
    lockstep::Barrier,
    log_queue::{LogFlags, LogSender},
    os::{self, Grants},
    physics_loop::{LoopInputs, PhysicsLoop},
    print::Printer,
    priority::Niceness,
    publisher::{Published, Publisher, RecordSender},
    report::ClockReport,
    settings::{ClockSettings, Mode},
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// Interval at which the thread that waits for the end of the run checks the step under way: half of [`LONG_STEP`].
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Computation time after which a step continues with ordinary priority. It equals the time that a thread may compute
/// without sleep at real-time priority (`priority`).
const LONG_STEP: Duration = Duration::from_millis(100);

/// The destinations of records.
pub struct Outputs {
    /// The log's queue; `None` without a log.
    pub log: Option<LogSender>,
    /// The flags through which the clock and the log control each other.
    pub log_flags: Arc<LogFlags>,
}

/// The physics thread, prepared or running.
pub struct PhysicsThread {
    layout: Arc<Layout>,
    timestep: Timestep,
    published: Published,
    events: EventReader,
    shared: Arc<Shared>,
    priority: u8,
    start: mpsc::Sender<(RecordSender, Arc<LogFlags>)>,
    thread: JoinHandle<Option<ClockReport>>,
    /// Closed when the thread ends.
    ended: mpsc::Receiver<()>,
    publisher: Option<(Publisher, Printer)>,
}

/// The physics thread could not be started, or it panicked.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The operating system refused to start a thread.
    #[error("cannot start a thread: {0}")]
    Spawn(#[from] std::io::Error),
    /// The physics thread panicked, which is a defect of this program.
    #[error("the physics thread panicked; please report this with the message above")]
    Panicked,
}

impl PhysicsThread {
    /// Starts the thread and asks the operating system for real-time scheduling. The thread computes no step before
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// When the operating system refuses to start a thread.
    pub fn prepare(
        mut simulation: Simulation,
        inbox: Inbox,
        settings: ClockSettings,
    ) -> Result<(Self, Grants), ThreadError> {
        // Started here and not by the physics thread, whose priority it would inherit.
        simulation.set_background(Box::new(BackgroundThread::start()?));
        let (start, started) = mpsc::channel();
        let (report_grants, granted) = mpsc::channel();
        let (alive, ended) = mpsc::channel::<()>();
        let (layout, timestep) = (Arc::clone(simulation.layout()), simulation.timestep());
        let Inbox { requests, records, members, events: writer, shared } = inbox;
        let events = writer.reader();
        let published = Published { records, events: Arc::new(writer) };
        // Before the thread starts, so that a client may join before the first step.
        let barrier =
            (settings.mode == Mode::Lockstep).then(|| Barrier::begin(&members, &settings.lockstep.members, &layout));
        let (board, priority) = (Arc::clone(&shared), settings.scheduling.priority);
        let thread = thread::Builder::new().name("physics".into()).spawn(move || {
            let _alive = alive;
            let mut grants = os::prepare_thread(settings.scheduling);
            let niceness = Niceness::new(settings.scheduling.fast_niceness, settings.unattended, &mut grants);
            // If the caller is gone, nobody receives this and `start` is never called.
            let _ = report_grants.send(grants);
            let (records, log) = started.recv().ok()?;
            let inputs = LoopInputs { requests, members, barrier, shared: board, niceness };
            Some(PhysicsLoop::new(simulation, inputs, settings, records, log).run())
        })?;
        let grants = granted.recv().map_err(|_| ThreadError::Panicked)?;
        let this =
            Self { layout, timestep, published, events, shared, priority, start, thread, ended, publisher: None };
        Ok((this, grants))
    }

    /// Starts the publisher and lets the physics thread run.
    ///
    /// # Errors
    /// When the operating system refuses to start the publisher or the thread that prints events.
    pub fn start(&mut self, outputs: Outputs) -> Result<(), ThreadError> {
        // One below the physics thread, which the publisher must not interrupt.
        let priority = self.priority.saturating_sub(1);
        let (published, shared) = (self.published.clone(), Arc::clone(&self.shared));
        let (publisher, records) = Publisher::start(&self.layout, published, outputs.log, shared, priority)?;
        self.publisher = Some((publisher, Printer::start(self.events.clone())?));
        // If the thread has died, `join` reports it.
        let _ = self.start.send((records, outputs.log_flags));
        Ok(())
    }

    /// Waits for the end of the run, until the last record has reached the log. `None` if the run was never started.
    ///
    /// After a quit request the run does not wait for a long step: it ends with the previous step. The thread itself
    /// ends when it has finished the long step.
    ///
    /// # Errors
    /// When the thread panicked.
    pub fn join(self) -> Result<Option<ClockReport>, ThreadError> {
        let Self { timestep, published, shared, start, thread, ended, publisher, .. } = self;
        drop((published, start));
        let unmade = loop {
            match ended.recv_timeout(WATCH_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break None,
            }
            let now_ns = os::now_ns();
            if shared.step_compute_time(now_ns).is_some_and(|making| making >= LONG_STEP) {
                shared.priority.revoke();
            }
            if let Some(making) = shared.abandon_if_due(now_ns) {
                break Some(making);
            }
        };
        let report = match unmade {
            None => thread.join().map_err(|_| ThreadError::Panicked),
            Some(_) => Ok(None),
        };
        if let Some((publisher, printer)) = publisher {
            publisher.join();
            printer.finish();
        }
        // The queues are no longer in use, so their figures are final.
        Ok(match unmade {
            None => report?.map(|report| ClockReport { queues: shared.queues.queue_uses(), ..report }),
            Some(making) => Some(shared.report_without_step(making, timestep)),
        })
    }
}
