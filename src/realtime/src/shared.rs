//! What the physics thread publishes of itself for threads that cannot wait for it: a step may take a minute, and meanwhile clients
//! ask for the status, end the run, and want its figures.

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
    os,
    priority::PriorityState,
    queue_figures::QueueFigures,
    report::{ClockReport, Figures, Outcome},
    settings::Mode,
};

/// How long a run that is asked to end waits for the step under way. With this bound a run ends within a second, however long a
/// step takes.
const QUIT_PATIENCE: Duration = Duration::from_millis(500);

/// Shared by the physics thread, the publisher, the handles and the thread that waits for the end of the run.
#[derive(Debug)]
pub(super) struct Shared {
    board: Mutex<Board>,
    /// When the step under way began, monotonic nanoseconds; 0 between steps.
    step_began_ns: AtomicU64,
    /// When the end of the run was asked for first, monotonic nanoseconds; 0 before.
    quit_asked_ns: AtomicU64,
    abandoned: AtomicBool,
    /// Whether steps presently have deadlines, so that real-time priority is due.
    is_paced: AtomicBool,
    /// The physics thread's priority.
    pub(super) priority: PriorityState,
    pub(super) queues: Arc<QueueFigures>,
}

/// Written by the physics thread after each step and each request. Others lock it only when that thread does not answer.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) status: Status,
    pub(super) figures: Figures,
}

impl Shared {
    pub(super) fn new(status: Status) -> Self {
        Self {
            board: Mutex::new(Board { status, figures: Figures::default() }),
            step_began_ns: AtomicU64::new(0),
            quit_asked_ns: AtomicU64::new(0),
            abandoned: AtomicBool::new(false),
            is_paced: AtomicBool::new(false),
            priority: PriorityState::default(),
            queues: Arc::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // The board is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step begins.
    pub(super) fn begin_step(&self, now_ns: u64) {
        self.step_began_ns.store(now_ns, Ordering::Release);
    }

    /// The step is made. The caller holds the lock of the board, so that a step is either made or abandoned. False if the run has
    /// ended without it.
    pub(super) fn end_step(&self, _board: &mut MutexGuard<'_, Board>) -> bool {
        self.step_began_ns.store(0, Ordering::Release);
        !self.is_abandoned()
    }

    /// For how long the step under way has been computed; `None` between steps.
    pub(super) fn in_the_making(&self, now_ns: u64) -> Option<Duration> {
        let began_ns = self.step_began_ns.load(Ordering::Acquire);
        (began_ns > 0).then(|| Duration::from_nanos(now_ns.saturating_sub(began_ns)))
    }

    /// The status as the physics thread last published it, for when that thread does not answer.
    pub(super) fn status(&self) -> Status {
        let status = self.lock().status.clone();
        Status { making: self.in_the_making(os::now_ns()), priority: self.priority.present(), ..status }
    }

    /// Notes that the end of the run was asked for.
    pub(super) fn ask_to_quit(&self, now_ns: u64) {
        let _ = self.quit_asked_ns.compare_exchange(0, now_ns.max(1), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the run has ended without the physics thread's present step.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Ends the run without the step under way, if the end was asked for and the step takes too long. Returns for how long it
    /// has been computed.
    pub(super) fn abandon_if_due(&self, now_ns: u64) -> Option<Duration> {
        let is_due = |making| is_overdue(now_ns, self.quit_asked_ns.load(Ordering::Acquire), making);
        // First without the lock: the physics thread takes it in every step, and must not find it held by a thread of ordinary
        // priority that it has interrupted.
        if !self.in_the_making(now_ns).is_some_and(is_due) {
            return None;
        }
        let mut board = self.lock();
        let making = self.in_the_making(now_ns).filter(|making| is_due(*making))?;
        self.abandoned.store(true, Ordering::Release);
        board.status.state = RunState::Quitting;
        Some(making)
    }

    /// The figures of the run. The final state and the last events, which only the physics thread has, are left empty.
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
            queues: self.queues.uses(),
            step_downs: self.priority.step_downs(),
            state_hash: String::new(),
            events: Vec::new(),
        }
    }

    /// The report of a run that ended without the step under way, which had been computed for so long.
    pub(super) fn report_without(&self, making: Duration, timestep: Timestep) -> ClockReport {
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
        let text = format!("the run ended without step {next}, which had been in the making for {making_s:.3} s");
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

/// Whether a run that was asked to end at this time ends without a step that has been computed for so long.
fn is_overdue(now_ns: u64, quit_asked_ns: u64, making: Duration) -> bool {
    let asked_for = Duration::from_nanos(now_ns.saturating_sub(quit_asked_ns));
    quit_asked_ns > 0 && asked_for >= QUIT_PATIENCE && making >= QUIT_PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_run_goes_without_a_long_step_only_after_it_was_asked_to_end() {
        let made_for = Duration::from_millis;
        assert!(!is_overdue(60_000 * MS, 0, made_for(59_000)), "nobody asked");
        assert!(!is_overdue(10_499 * MS, 10_000 * MS, made_for(9_000)), "the step may still end in time");
        assert!(
            !is_overdue(10_500 * MS, 10_000 * MS, made_for(499)),
            "steps are made, and the request comes with the next"
        );
        assert!(is_overdue(10_500 * MS, 10_000 * MS, made_for(500)));
    }
}
