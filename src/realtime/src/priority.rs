//! When a thread has real-time priority: while steps have deadlines, and never more than a share of a core's time.
//!
//! A thread of real-time priority stops everything of ordinary priority on its core for as long as it computes. A clock that keeps
//! its deadlines sleeps between steps; one that is overloaded (its steps take longer than their time, or the rate is beyond
//! reach) would not let go of the core. So a thread that has used up its share goes on with ordinary priority for a while.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use super::os::{self, Grants, ThreadId};

/// The share of a core's time that a thread may have with real-time priority in the long run. Under a real load of 80 % a step
/// that takes a little longer than others is late already; the kernel's own limit of 95 % leaves too little to work with.
const SHARE: f64 = 0.8;

/// How much time it may have beyond its share, nanoseconds. With real-time priority and without sleep it is used up after 100 ms
/// (the 50 steps of catching up take less), and saved up again in 25 ms of ordinary priority.
const CREDIT_NS: f64 = 20e6;

/// Decides whether a thread may have real-time priority: a token bucket that fills at the rate of the share and is emptied by computing
/// with that priority. It reads no clock; the caller passes the times.
#[derive(Debug)]
struct DutyCycle {
    credit_ns: f64,
    last_ns: u64,
    may: bool,
}

impl DutyCycle {
    fn new(now_ns: u64) -> Self {
        Self { credit_ns: CREDIT_NS, last_ns: now_ns, may: true }
    }

    /// Accounts for the time since the last call, `idle_ns` of which the thread slept. Returns whether it may have real-time
    /// priority from now on: until its credit is used up, and then not before it is whole again.
    fn allows(&mut self, now_ns: u64, idle_ns: u64, is_raised: bool) -> bool {
        let passed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        let computed_ns = if is_raised { passed_ns.saturating_sub(idle_ns) } else { 0 };
        self.credit_ns = (self.credit_ns + SHARE * passed_ns as f64 - computed_ns as f64).min(CREDIT_NS);
        self.may = if self.may { self.credit_ns > 0.0 } else { self.credit_ns >= CREDIT_NS };
        // What one long step has used beyond the credit is not held against the thread for longer than the credit.
        self.credit_ns = self.credit_ns.max(0.0);
        self.may
    }

    /// The credit is used up.
    fn exhaust(&mut self) {
        (self.credit_ns, self.may) = (0.0, false);
    }
}

/// The priority of a thread as others see it, and the way for them to take it away.
#[derive(Debug, Default)]
pub(super) struct PriorityState {
    /// The thread while it has real-time priority.
    raised: Mutex<Option<ThreadId>>,
    /// What it has presently: 0 is ordinary.
    present: AtomicU8,
    /// Whether it was taken away from outside.
    taken: AtomicBool,
    /// How often the thread had used up its share.
    step_downs: AtomicU64,
}

impl PriorityState {
    /// The real-time priority that the thread has presently; 0 is ordinary scheduling.
    pub(super) fn present(&self) -> u8 {
        self.present.load(Ordering::Acquire)
    }

    /// How often the thread had used up its share of the core.
    pub(super) fn step_downs(&self) -> u64 {
        self.step_downs.load(Ordering::Acquire)
    }

    /// Takes real-time priority away from a thread that is in the midst of a long step.
    pub(super) fn take_away(&self) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = *raised
            && os::lower(thread).is_ok()
        {
            *raised = None;
            self.present.store(0, Ordering::Release);
            self.step_downs.fetch_add(1, Ordering::AcqRel);
            self.taken.store(true, Ordering::Release);
        }
    }
}

/// A thread's own hold on its priority.
#[derive(Debug)]
pub(super) struct Priority {
    /// What it asks for; 0 never asks.
    wanted: u8,
    duty: DutyCycle,
    idle_ns: u64,
    is_raised: bool,
}

impl Priority {
    pub(super) fn new(wanted: u8, now_ns: u64) -> Self {
        Self { wanted, duty: DutyCycle::new(now_ns), idle_ns: 0, is_raised: false }
    }

    /// The thread has slept so long.
    pub(super) fn slept(&mut self, nanoseconds: u64) {
        self.idle_ns += nanoseconds;
    }

    /// Takes or gives back real-time priority for the calling thread. To be called between any two pieces of work.
    pub(super) fn update(&mut self, has_deadlines: bool, now_ns: u64, state: &PriorityState) {
        if self.wanted == 0 {
            return;
        }
        if self.is_raised && state.taken.swap(false, Ordering::AcqRel) {
            self.is_raised = false;
            self.duty.exhaust();
        }
        let may = self.duty.allows(now_ns, std::mem::take(&mut self.idle_ns), self.is_raised);
        let is_due = has_deadlines && may;
        if is_due == self.is_raised {
            return;
        }
        let mut raised = state.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = os::this_thread();
        let changed = if is_due { os::raise(thread, self.wanted) } else { os::lower(thread) };
        if changed.is_err() {
            // It is not granted, which the grants at the start report.
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

/// The niceness of the process in fast mode, which is a computation and lets interactive programs go first.
///
/// It is the niceness of all threads, since the log's threads compute as much as the physics. A clock that may return to real time
/// raises it only where the system lets it lower it again.
#[derive(Debug)]
pub(super) struct Niceness {
    ordinary: i32,
    fast: i32,
    is_fast: bool,
}

impl Niceness {
    /// `nicer` is by how much. A run that nobody can turn to real time need not lower it again.
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

    /// Sets it when the mode has changed.
    pub(super) fn set(&mut self, is_fast: bool) {
        if is_fast != self.is_fast && self.fast != self.ordinary {
            os::set_niceness(if is_fast { self.fast } else { self.ordinary });
        }
        self.is_fast = is_fast;
    }
}

/// By how much less nice than others such a thread is while steps have deadlines. On a busy core it then gets some nine times an
/// ordinary thread's share, and still leaves the others theirs.
const LESS_NICE: i32 = 10;

/// The niceness of a thread that has to keep up with the clock, as the log's does: without it a queue fills up beside busy
/// programs, and the clock then has to wait. Where the system does not grant it, nothing changes.
#[derive(Debug)]
pub struct DeadlineNiceness {
    ordinary: i32,
}

impl DeadlineNiceness {
    /// For the calling thread, which has its ordinary niceness.
    pub fn new() -> Self {
        Self { ordinary: os::niceness() }
    }

    /// Whether steps have deadlines now; on the thread that it was made for.
    pub fn set(&self, has_deadlines: bool) {
        let (less_nice, present) = ((self.ordinary - LESS_NICE).max(-20), os::niceness());
        // A fast run sets the niceness of all threads, so the present one says whether anything is to be done.
        match has_deadlines {
            true if present != less_nice => os::set_own_niceness(less_nice),
            false if present == less_nice => os::set_own_niceness(self.ordinary),
            _ => {}
        }
    }
}

impl Default for DeadlineNiceness {
    fn default() -> Self {
        Self::new()
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
        let granted = if os::can_be_less_nice() { (ordinary - LESS_NICE).max(-20) } else { ordinary };
        niceness.set(true);
        assert_eq!(os::niceness(), granted);
        niceness.set(false);
        assert_eq!(os::niceness(), ordinary);
    }

    /// Runs a thread that computes for `busy_ns` and then sleeps for `idle_ns`, for ten seconds. Returns the time it had real-time
    /// priority while it computed, and how often that changed.
    fn ten_seconds(busy_ns: u64, idle_ns: u64) -> (u64, u32) {
        let (mut duty, mut now, mut raised, mut computed, mut changes) = (DutyCycle::new(0), 0, true, 0, 0);
        while now < 10_000 * MS {
            now += busy_ns + idle_ns;
            computed += if raised { busy_ns } else { 0 };
            let may = duty.allows(now, idle_ns, raised);
            changes += u32::from(may != raised);
            raised = may;
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
            assert!((share - SHARE).abs() < 0.03, "steps of {busy_ns} ns: {share}");
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
