//! The physics thread's published state, for threads that cannot wait for it. A step may take a minute; meanwhile
//! clients ask for the status, end the run, and read its figures.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Event, EventKind};

use super::{
    control::{RunState, Status},
    image_sink::ImageSinkSlot,
    os,
    priority::PriorityState,
    queue_figures::QueueFigures,
    report::{ClockReport, Figures, Outcome},
    settings::Mode,
};

/// Time after a quit request at which the run ends without the step under way. With this bound a run ends within a
/// second, however long a step takes.
const QUIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Shared by the physics thread, the publisher, the handles and the thread that waits for the end of the run.
#[derive(Debug)]
pub(super) struct Shared {
    board: Mutex<StatusBoard>,
    /// Start of the step under way, monotonic nanoseconds; 0 between steps.
    step_began_ns: AtomicU64,
    /// Time of the first quit request, monotonic nanoseconds; 0 before it.
    quit_requested_ns: AtomicU64,
    /// True once the run has ended without the step under way.
    abandoned: AtomicBool,
    /// True while steps have deadlines, so that threads may use real-time priority.
    is_paced: AtomicBool,
    /// The physics thread's priority.
    pub(super) priority: PriorityState,
    /// Counters of the queues on a record's way.
    pub(super) queues: Arc<QueueFigures>,
    /// Whoever makes the images of cameras.
    pub(super) images: ImageSinkSlot,
}

/// Status and figures, written by the physics thread after each step and each request. Other threads lock it only when
/// that thread does not answer.
#[derive(Debug)]
pub(super) struct StatusBoard {
    pub(super) status: Status,
    pub(super) figures: Figures,
}

impl Shared {
    pub(super) fn new(status: Status) -> Self {
        Self {
            board: Mutex::new(StatusBoard { status, figures: Figures::default() }),
            step_began_ns: AtomicU64::new(0),
            quit_requested_ns: AtomicU64::new(0),
            abandoned: AtomicBool::new(false),
            is_paced: AtomicBool::new(false),
            priority: PriorityState::default(),
            queues: Arc::default(),
            images: ImageSinkSlot::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StatusBoard> {
        // The board is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the start of a step.
    pub(super) fn begin_step(&self, now_ns: u64) {
        self.step_began_ns.store(now_ns, Ordering::Release);
    }

    /// Marks the end of a step. False if the run has ended without it. The caller holds the board's lock, so that a
    /// step is either completed or abandoned.
    pub(super) fn end_step(&self, _board: &mut MutexGuard<'_, StatusBoard>) -> bool {
        self.step_began_ns.store(0, Ordering::Release);
        !self.is_abandoned()
    }

    /// Computation time so far of the step under way; `None` between steps.
    pub(super) fn step_compute_time(&self, now_ns: u64) -> Option<Duration> {
        let began_ns = self.step_began_ns.load(Ordering::Acquire);
        (began_ns > 0).then(|| Duration::from_nanos(now_ns.saturating_sub(began_ns)))
    }

    /// The status that the physics thread published last. It is the answer when that thread does not answer itself.
    pub(super) fn status(&self) -> Status {
        let status = self.lock().status.clone();
        Status { making: self.step_compute_time(os::now_ns()), priority: self.priority.present(), ..status }
    }

    /// Records the time of the first quit request.
    pub(super) fn request_quit(&self, now_ns: u64) {
        let _ = self.quit_requested_ns.compare_exchange(0, now_ns.max(1), Ordering::AcqRel, Ordering::Acquire);
    }

    /// True if the run has ended without the physics thread's present step.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Ends the run without the step under way, if the end was requested and the step takes too long. Returns the
    /// step's computation time so far.
    pub(super) fn abandon_if_due(&self, now_ns: u64) -> Option<Duration> {
        let is_due = |making| gives_up_step(now_ns, self.quit_requested_ns.load(Ordering::Acquire), making);
        // Check without the lock first. The physics thread takes the lock in every step and must not find it held by a
        // thread of ordinary priority that it has interrupted.
        if !self.step_compute_time(now_ns).is_some_and(is_due) {
            return None;
        }
        let mut board = self.lock();
        let making = self.step_compute_time(now_ns).filter(|making| is_due(*making))?;
        self.abandoned.store(true, Ordering::Release);
        board.status.state = RunState::Quitting;
        Some(making)
    }

    /// The figures of the run. The hash of the final state and the last events stay empty: only the physics thread has
    /// them.
    pub(super) fn report(&self, outcome: Outcome, timestep: Timestep) -> ClockReport {
        let board = self.lock();
        let (figures, status) = (&board.figures, &board.status);
        let steps = figures.speed.steps();
        ClockReport {
            outcome,
            step: status.step,
            steps,
            simulated_s: timestep.seconds_at(StepIndex(steps)),
            wall_s: figures.speed.played_s(),
            processor_s: os::processor_seconds(),
            lateness: figures.lateness.percentiles(),
            compute: figures.compute.percentiles(),
            slips: figures.slips,
            slipped_s: figures.slipped_ns as f64 * 1e-9,
            waits: figures.waits,
            waited: Duration::from_nanos(figures.waited_ns),
            queues: self.queues.queue_uses(),
            step_downs: self.priority.step_downs(),
            state_hash: String::new(),
            events: Vec::new(),
        }
    }

    /// The report of a run that ended without the step under way; `making` is that step's computation time so far.
    pub(super) fn report_without_step(&self, making: Duration, timestep: Timestep) -> ClockReport {
        let mut board = self.lock();
        board.figures.speed.stop(os::now_ns());
        let (status, making_s) = (board.status.clone(), making.as_secs_f64());
        let kind = if status.mode == Mode::RealTime {
            board.figures.slips += 1;
            board.figures.slipped_ns += making.as_nanos() as u64;
            EventKind::ClockSlip
        } else {
            EventKind::PhysicsLimit
        };
        drop(board);
        let next = status.step.after(1);
        let text = format!("the run ended without step {next}, which had taken {making_s:.3} s so far");
        tracing::warn!("{text}");
        let event = Event { step: status.step, kind, subject: String::new(), text, value: Some(making_s) };
        ClockReport { events: vec![event], ..self.report(Outcome::Quit, timestep) }
    }

    pub(super) fn set_paced(&self, is_paced: bool) {
        self.is_paced.store(is_paced, Ordering::Release);
    }

    pub(super) fn is_paced(&self) -> bool {
        self.is_paced.load(Ordering::Acquire)
    }
}

/// True if a run ends without the step under way: the quit request (0: none) and the start of the step (`making` ago)
/// are both at least [`QUIT_TIMEOUT`] ago.
fn gives_up_step(now_ns: u64, quit_requested_ns: u64, making: Duration) -> bool {
    let waited = Duration::from_nanos(now_ns.saturating_sub(quit_requested_ns));
    quit_requested_ns > 0 && waited >= QUIT_TIMEOUT && making >= QUIT_TIMEOUT
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_run_goes_without_a_long_step_only_after_it_was_asked_to_end() {
        let made_for = Duration::from_millis;
        assert!(!gives_up_step(60_000 * MS, 0, made_for(59_000)), "nobody asked");
        assert!(!gives_up_step(10_499 * MS, 10_000 * MS, made_for(9_000)), "the step may still end in time");
        assert!(
            !gives_up_step(10_500 * MS, 10_000 * MS, made_for(499)),
            "steps are made, and the request comes with the next"
        );
        assert!(gives_up_step(10_500 * MS, 10_000 * MS, made_for(500)));
    }
}
