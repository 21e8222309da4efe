//! The thread that a simulation runs in, and what it is told before it starts.

use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::Layout;

use super::{
    hand_over::{Courier, Outlet, Shown},
    handle::{Inbox, Mode},
    lockstep::{Barrier, LockstepSettings},
    log_queue::{LogFlags, LogSender},
    os::{self, Grants, Scheduling},
    print::Printer,
    priority::Niceness,
    report::RunReport,
    run::{Inlet, Loop},
    shared::Shared,
    told::Told,
};
use crate::sim::Simulation;

/// How often whoever waits for the end of the run looks at the step under way.
const LOOK: Duration = Duration::from_millis(50);

/// A step that takes longer goes on with ordinary priority: as long as real-time priority may be had without sleep.
const LONG_STEP: Duration = Duration::from_millis(100);

/// What to do when the clock falls behind farther than it may catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOverrun {
    /// Give the time up, record it and go on.
    Slip,
    /// End the run.
    Stop,
}

/// How the clock runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether steps have deadlines.
    pub mode: Mode,
    /// Simulated seconds per wall second in real time.
    pub rate: f64,
    /// How many steps behind may be made up for by steps back to back.
    pub max_catchup_steps: u64,
    /// What happens beyond that.
    pub on_overrun: OnOverrun,
    /// Whom the clock waits for in lockstep.
    pub lockstep: LockstepSettings,
    /// The step after which the run ends, if it does by itself.
    pub end: Option<StepIndex>,
    /// Whether the clock waits for PLAY.
    pub start_paused: bool,
    /// True if nobody can reset a diverged world, so that the run ends instead of pausing.
    pub unattended: bool,
    /// Every so many steps the whole state goes with the record, for the log; 0 is never.
    pub snapshot_interval_steps: u64,
    /// What is asked of the operating system.
    pub scheduling: Scheduling,
}

impl Default for Settings {
    /// Real time at rate 1, up to 50 steps of catching up, no end, nothing asked of the operating system.
    fn default() -> Self {
        Self {
            mode: Mode::RealTime,
            rate: 1.0,
            max_catchup_steps: 50,
            on_overrun: OnOverrun::Slip,
            lockstep: LockstepSettings::default(),
            end: None,
            start_paused: false,
            unattended: false,
            snapshot_interval_steps: 0,
            scheduling: Scheduling { priority: 0, fast_niceness: 0, lock_memory: false },
        }
    }
}

/// Where the records go.
pub struct Outputs {
    /// The log's queue.
    pub log: Option<LogSender>,
    /// What the clock and the log tell each other.
    pub log_flags: Arc<LogFlags>,
}

/// The physics thread before and while it runs.
pub struct PhysicsThread {
    layout: Arc<Layout>,
    timestep: Timestep,
    shown: Shown,
    events: Told,
    shared: Arc<Shared>,
    priority: u8,
    start: mpsc::Sender<(Outlet, Arc<LogFlags>)>,
    thread: JoinHandle<Option<RunReport>>,
    /// Closed when the thread ends.
    ended: mpsc::Receiver<()>,
    courier: Option<(Courier, Printer)>,
}

/// The physics thread could not be started, or died.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The operating system gave no thread.
    #[error("the operating system gave no thread: {0}")]
    Spawn(#[from] std::io::Error),
    /// It panicked, which is a fault in this program.
    #[error("the physics thread panicked; please report this with the message above")]
    Panicked,
}

impl PhysicsThread {
    /// Makes the thread and asks the operating system for punctuality, but makes no step yet.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn prepare(simulation: Simulation, inbox: Inbox, settings: Settings) -> Result<(Self, Grants), ThreadError> {
        let (start, started) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (alive, ended) = mpsc::channel::<()>();
        let (layout, timestep) = (Arc::clone(simulation.layout()), simulation.timestep());
        let Inbox { requests, latest, roll, teller, shared } = inbox;
        let events = teller.reader();
        let shown = Shown { latest, teller: Arc::new(teller) };
        // Whoever connects before the first step is a member already.
        let barrier =
            (settings.mode == Mode::Lockstep).then(|| Barrier::begin(&roll, &settings.lockstep.members, &layout));
        let (board, priority) = (Arc::clone(&shared), settings.scheduling.priority);
        let thread = thread::Builder::new().name("physics".into()).spawn(move || {
            let _alive = alive;
            let mut grants = os::prepare_thread(settings.scheduling);
            let niceness = Niceness::new(settings.scheduling.fast_niceness, settings.unattended, &mut grants);
            // Nobody listens any more if preparing was given up, and then `start` never comes either.
            let _ = tell.send(grants);
            let (outlet, log) = started.recv().ok()?;
            let inlet = Inlet { requests, roll, barrier, shared: board, niceness };
            Some(Loop::new(simulation, inlet, settings, outlet, log).run())
        })?;
        let grants = told.recv().map_err(|_| ThreadError::Panicked)?;
        let this = Self { layout, timestep, shown, events, shared, priority, start, thread, ended, courier: None };
        Ok((this, grants))
    }

    /// Lets it make steps.
    ///
    /// # Errors
    /// When the operating system gives no thread for the hand-over.
    pub fn start(&mut self, outputs: Outputs) -> Result<(), ThreadError> {
        // Below the physics, which it must not interrupt.
        let priority = self.priority.saturating_sub(1);
        let (shown, shared) = (self.shown.clone(), Arc::clone(&self.shared));
        let (courier, outlet) = Courier::start(&self.layout, shown, outputs.log, shared, priority)?;
        self.courier = Some((courier, Printer::start(self.events.clone())?));
        // Should the thread have died, `join` tells.
        let _ = self.start.send((outlet, outputs.log_flags));
        Ok(())
    }

    /// Waits for the end of the run, until the last record is with the log. `None` if it was never started.
    ///
    /// A run that was asked to end does not wait for a step that takes long: it ends with the step before, and the thread when it
    /// has made the step.
    ///
    /// # Errors
    /// When the thread panicked.
    pub fn join(self) -> Result<Option<RunReport>, ThreadError> {
        let Self { timestep, shown, shared, start, thread, ended, courier, .. } = self;
        drop((shown, start));
        let unmade = loop {
            match ended.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break None,
            }
            let now_ns = os::now_ns();
            if shared.in_the_making(now_ns).is_some_and(|making| making >= LONG_STEP) {
                shared.priority.take_away();
            }
            if let Some(making) = shared.abandon_if_due(now_ns) {
                break Some(making);
            }
        };
        let report = match unmade {
            None => thread.join().map_err(|_| ThreadError::Panicked),
            Some(_) => Ok(None),
        };
        if let Some((courier, printer)) = courier {
            courier.join();
            printer.finish();
        }
        // Only now all queues have been used as much as they were.
        Ok(match unmade {
            None => report?.map(|report| RunReport { queues: shared.queues.uses(), ..report }),
            Some(making) => Some(shared.report_without(making, timestep)),
        })
    }
}
