//! Real-time priority of a thread: held while steps have deadlines, and never for more than a share of a core's time.
//!
//! A thread of real-time priority stops everything of ordinary priority on its core for as long as it computes. A clock
//! that keeps its deadlines sleeps between steps. An overloaded clock (its steps take longer than their time, or the
//! rate is beyond reach) would never release the core. So a thread that has used up its share continues with ordinary
//! priority for a while.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use super::os::{self, Grants, ThreadId};

/// Largest long-run fraction of a core's time that a thread may compute with real-time priority. At a real load of
/// 80 %, a step that takes a little longer than others is late already. The kernel's own limit of 95 % leaves other
/// threads too little.
const MAX_REALTIME_SHARE: f64 = 0.8;

/// Largest credit of computing time beyond that share, nanoseconds. Without sleep at real-time priority it is used up
/// after 100 ms (the 50 catch-up steps take less), and it is restored in 25 ms of ordinary priority.
const MAX_CREDIT_NS: f64 = 20e6;

/// Token bucket that limits a thread's real-time priority. It fills at the rate [`MAX_REALTIME_SHARE`] and is emptied
/// by computing with that priority. It reads no clock; the caller passes the times.
#[derive(Debug)]
struct DutyCycle {
    /// Fill level of the bucket: computing time, at most [`MAX_CREDIT_NS`].
    credit_ns: f64,
    /// Time of the last call, monotonic nanoseconds.
    last_ns: u64,
    /// True if the thread may have real-time priority.
    allowed: bool,
}

impl DutyCycle {
    fn new(now_ns: u64) -> Self {
        Self { credit_ns: MAX_CREDIT_NS, last_ns: now_ns, allowed: true }
    }

    /// Accounts for the time since the last call, `idle_ns` of which the thread slept. True if the thread may have
    /// real-time priority from now on: until the credit is used up, and then again when it is fully restored.
    fn allows(&mut self, now_ns: u64, idle_ns: u64, is_raised: bool) -> bool {
        let passed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        let computed_ns = if is_raised { passed_ns.saturating_sub(idle_ns) } else { 0 };
        self.credit_ns =
            (self.credit_ns + MAX_REALTIME_SHARE * passed_ns as f64 - computed_ns as f64).min(MAX_CREDIT_NS);
        self.allowed = if self.allowed { self.credit_ns > 0.0 } else { self.credit_ns >= MAX_CREDIT_NS };
        // The credit never becomes negative, so an over-long step costs no more than the full credit.
        self.credit_ns = self.credit_ns.max(0.0);
        self.allowed
    }

    /// Sets the credit to zero.
    fn exhaust(&mut self) {
        (self.credit_ns, self.allowed) = (0.0, false);
    }
}

/// A thread's real-time priority as other threads see it. They can revoke it here.
#[derive(Debug, Default)]
pub(super) struct PriorityState {
    /// The thread while it has real-time priority.
    raised: Mutex<Option<ThreadId>>,
    /// The present real-time priority; 0 is ordinary scheduling.
    present: AtomicU8,
    /// True if another thread has revoked the priority.
    revoked: AtomicBool,
    /// Number of times the thread has used up its share of the core.
    step_downs: AtomicU64,
}

impl PriorityState {
    /// The thread's present real-time priority; 0 is ordinary scheduling.
    pub(super) fn present(&self) -> u8 {
        self.present.load(Ordering::Acquire)
    }

    /// Number of times the thread has used up its share of the core.
    pub(super) fn step_downs(&self) -> u64 {
        self.step_downs.load(Ordering::Acquire)
    }

    /// Revokes the real-time priority of the thread during a long step.
    pub(super) fn revoke(&self) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = *raised
            && os::set_ordinary_priority(thread).is_ok()
        {
            *raised = None;
            self.present.store(0, Ordering::Release);
            self.step_downs.fetch_add(1, Ordering::AcqRel);
            self.revoked.store(true, Ordering::Release);
        }
    }
}

/// A thread's control of its own real-time priority.
#[derive(Debug)]
pub(super) struct Priority {
    /// Requested real-time priority; 0 if the thread requests none.
    wanted: u8,
    duty: DutyCycle,
    /// Time slept since the last update, nanoseconds.
    idle_ns: u64,
    /// True while the thread has real-time priority.
    is_raised: bool,
}

impl Priority {
    pub(super) fn new(wanted: u8, now_ns: u64) -> Self {
        Self { wanted, duty: DutyCycle::new(now_ns), idle_ns: 0, is_raised: false }
    }

    /// Adds time that the thread has slept.
    pub(super) fn record_sleep(&mut self, nanoseconds: u64) {
        self.idle_ns += nanoseconds;
    }

    /// Acquires or releases real-time priority for the calling thread. To be called between any two pieces of work.
    pub(super) fn update(&mut self, has_deadlines: bool, now_ns: u64, state: &PriorityState) {
        if self.wanted == 0 {
            return;
        }
        if self.is_raised && state.revoked.swap(false, Ordering::AcqRel) {
            self.is_raised = false;
            self.duty.exhaust();
        }
        let allowed = self.duty.allows(now_ns, std::mem::take(&mut self.idle_ns), self.is_raised);
        let is_due = has_deadlines && allowed;
        if is_due == self.is_raised {
            return;
        }
        let mut raised = state.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = os::this_thread();
        let changed =
            if is_due { os::set_realtime_priority(thread, self.wanted) } else { os::set_ordinary_priority(thread) };
        if changed.is_err() {
            // The system does not grant it, which the grants at the start report.
            self.wanted = 0;
            return;
        }
        self.is_raised = is_due;
        *raised = is_due.then_some(thread);
        state.present.store(if is_due { self.wanted } else { 0 }, Ordering::Release);
        if !is_due && has_deadlines {
            state.step_downs.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// The niceness of the process, raised in fast mode: a fast run is a batch computation and yields to interactive
/// programs.
///
/// It applies to all threads, since the log's threads compute as much as the physics. If the clock may return to real
/// time, the niceness is raised only where the system allows lowering it again.
#[derive(Debug)]
pub(super) struct Niceness {
    /// Niceness outside of fast mode.
    ordinary: i32,
    /// Niceness in fast mode.
    fast: i32,
    is_fast: bool,
}

impl Niceness {
    /// `nicer` is the increase in fast mode, 0 to 19. A run that `stays_fast` never has to lower the niceness again.
    pub(super) fn new(nicer: u8, stays_fast: bool, grants: &mut Grants) -> Self {
        let ordinary = os::niceness();
        let is_granted = nicer > 0 && (stays_fast || os::can_be_less_nice());
        let fast = if is_granted { (ordinary + i32::from(nicer)).min(19) } else { ordinary };
        if nicer > 0 {
            grants.0.push(match is_granted {
                true => format!("niceness {fast} in fast mode"),
                false => {
                    "no niceness in fast mode (it could not be taken back; that needs CAP_SYS_NICE or `ulimit -e`)"
                        .into()
                }
            });
        }
        Self { ordinary, fast, is_fast: false }
    }

    /// Sets the niceness of the process if the mode has changed.
    pub(super) fn set(&mut self, is_fast: bool) {
        if is_fast != self.is_fast && self.fast != self.ordinary {
            os::set_process_niceness(if is_fast { self.fast } else { self.ordinary });
        }
        self.is_fast = is_fast;
    }
}

/// Reduction of the niceness of a [`DeadlineNiceness`] thread while steps have deadlines. On a busy core the thread
/// then gets some nine times an ordinary thread's share, and the others still run.
const NICENESS_REDUCTION: i32 = 10;

/// Reduced niceness of a thread that has to keep up with the clock, such as the log's. Without it a queue fills up
/// beside busy programs, and the clock then has to wait. Where the system does not grant it, nothing changes.
#[derive(Debug)]
pub struct DeadlineNiceness {
    ordinary: i32,
}

impl DeadlineNiceness {
    /// Takes the present niceness of the calling thread as its ordinary one.
    pub fn new() -> Self {
        Self { ordinary: os::niceness() }
    }

    /// Sets the niceness for steps with or without deadlines. To be called on the thread that called
    /// [`new`](Self::new).
    pub fn set(&self, has_deadlines: bool) {
        let (less_nice, present) = ((self.ordinary - NICENESS_REDUCTION).max(-20), os::niceness());
        // A fast run sets the niceness of all threads, so compare with the present value and not with the last one set.
        match has_deadlines {
            true if present != less_nice => os::set_thread_niceness(less_nice),
            false if present == less_nice => os::set_thread_niceness(self.ordinary),
            _ => {}
        }
    }
}

impl Default for DeadlineNiceness {
    fn default() -> Self {
        Self::new()
    }
}

/// Increase of the niceness of a [`BackgroundNiceness`] thread. On a busy core the thread then gets half of an ordinary
/// thread's share. With 10 it gets a ninth, and beside a log on two cores a camera makes two images per second.
const BACKGROUND_NICENESS: i32 = 3;

/// Raised niceness of a thread whose work may wait, such as the making of images: on a busy core, the threads that keep
/// deadlines come first.
#[derive(Debug)]
pub struct BackgroundNiceness {
    raised: i32,
}

impl BackgroundNiceness {
    /// The niceness of the calling thread, raised.
    pub fn of_this_thread() -> Self {
        Self { raised: (os::niceness() + BACKGROUND_NICENESS).min(19) }
    }

    /// Raises the niceness of the calling thread. A fast run sets the niceness of all threads when it ends, so this is
    /// to be called before each piece of work.
    pub fn apply(&self) {
        if os::niceness() < self.raised {
            os::set_thread_niceness(self.raised);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// On Linux, where niceness is a thread's own.
    #[test]
    fn a_thread_that_has_to_keep_up_is_less_nice_while_steps_have_deadlines() {
        let niceness = DeadlineNiceness::new();
        let ordinary = os::niceness();
        let granted = if os::can_be_less_nice() { (ordinary - NICENESS_REDUCTION).max(-20) } else { ordinary };
        niceness.set(true);
        assert_eq!(os::niceness(), granted);
        niceness.set(false);
        assert_eq!(os::niceness(), ordinary);
    }

    /// Runs a thread that computes for `busy_ns` and then sleeps for `idle_ns`, for ten seconds. Returns the time it
    /// computed with real-time priority, ns, and the number of changes of priority.
    fn ten_seconds(busy_ns: u64, idle_ns: u64) -> (u64, u32) {
        let (mut duty, mut now, mut raised, mut computed, mut changes) = (DutyCycle::new(0), 0, true, 0, 0);
        while now < 10_000 * MS {
            now += busy_ns + idle_ns;
            computed += if raised { busy_ns } else { 0 };
            let allowed = duty.allows(now, idle_ns, raised);
            changes += u32::from(allowed != raised);
            raised = allowed;
        }
        (computed, changes)
    }

    #[test]
    fn a_thread_that_keeps_its_deadlines_keeps_its_priority() {
        assert_eq!(ten_seconds(300_000, 700_000), (3_000 * MS, 0));
        assert_eq!(ten_seconds(790_000, 210_000), (7_900 * MS, 0));
    }

    #[test]
    fn an_overloaded_thread_leaves_a_fifth_of_its_core_to_others() {
        for busy_ns in [10_000, MS, 7 * MS] {
            let (computed, changes) = ten_seconds(busy_ns, 0);
            let share = computed as f64 / 1e10;
            assert!((share - MAX_REALTIME_SHARE).abs() < 0.03, "steps of {busy_ns} ns: {share}");
            assert!(changes > 50, "others wait a tenth of a second, not longer: {changes} changes");
        }
    }

    #[test]
    fn the_steps_of_catching_up_are_within_the_credit() {
        let mut duty = DutyCycle::new(0);
        assert!(duty.allows(99 * MS, 0, true), "almost 100 ms without sleep");
        assert!(!duty.allows(101 * MS, 0, true));
        assert!(!duty.allows(125 * MS, 0, false), "not before the credit is whole again");
        assert!(duty.allows(127 * MS, 0, false));
        duty.exhaust();
        assert!(!duty.allows(140 * MS, 0, false));
    }
}
