//! The thread that a simulation runs in, and what it is told before it starts.

use std::{
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread::{self, JoinHandle},
};

use super::{
    hand_over::{Courier, Outlet, Shown},
    handle::{Inbox, Mode},
    lockstep::{Barrier, LockstepSettings},
    os::{self, Grants, Scheduling},
    report::RunReport,
    run::{Inlet, Loop},
};
use crate::{
    signal::{Layout, StepIndex, StepRecord},
    sim::Simulation,
};

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
            scheduling: Scheduling { priority: 0, lock_memory: false },
        }
    }
}

/// Where the records go.
pub struct Outputs {
    /// The log's queue.
    pub log: Option<mpsc::SyncSender<Arc<StepRecord>>>,
    /// Raised by the log to end the run, when it has failed or come to its bound.
    pub log_ended: Arc<AtomicBool>,
}

/// The physics thread before and while it runs.
pub struct PhysicsThread {
    layout: Arc<Layout>,
    shown: Shown,
    start: mpsc::Sender<(Outlet, Arc<AtomicBool>)>,
    thread: JoinHandle<Option<RunReport>>,
    courier: Option<Courier>,
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
        let layout = Arc::clone(simulation.layout());
        let Inbox { requests, latest, roll, teller } = inbox;
        let shown = Shown { latest, teller: Arc::new(teller) };
        // Whoever connects before the first step is a member already.
        let barrier =
            (settings.mode == Mode::Lockstep).then(|| Barrier::begin(&roll, &settings.lockstep.members, &layout));
        let thread = thread::Builder::new().name("physics".into()).spawn(move || {
            // Nobody listens any more if preparing was given up, and then `start` never comes either.
            let _ = tell.send(os::prepare_thread(settings.scheduling));
            let (outlet, log_ended) = started.recv().ok()?;
            Some(Loop::new(simulation, Inlet { requests, roll, barrier }, settings, outlet, log_ended).run())
        })?;
        let grants = told.recv().map_err(|_| ThreadError::Panicked)?;
        Ok((Self { layout, shown, start, thread, courier: None }, grants))
    }

    /// Lets it make steps.
    ///
    /// # Errors
    /// When the operating system gives no thread for the hand-over.
    pub fn start(&mut self, outputs: Outputs) -> Result<(), ThreadError> {
        let (courier, outlet) = Courier::start(&self.layout, self.shown.clone(), outputs.log)?;
        self.courier = Some(courier);
        // Should the thread have died, `join` tells.
        let _ = self.start.send((outlet, outputs.log_ended));
        Ok(())
    }

    /// Waits for the end of the run, until the last record is with the log. `None` if it was never started.
    ///
    /// # Errors
    /// When the thread panicked.
    pub fn join(self) -> Result<Option<RunReport>, ThreadError> {
        drop(self.start);
        let report = self.thread.join().map_err(|_| ThreadError::Panicked);
        if let Some(courier) = self.courier {
            courier.join();
        }
        report
    }
}
