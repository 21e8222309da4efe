//! The operating system's part in punctuality: clocks, sleep, priority, niceness, locked memory. Linux has all of it; on other
//! systems the thread sleeps as precisely as the standard library can.

/// What the physics thread asks of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// SCHED_FIFO priority while steps have deadlines, 1 to 99; 0 does not ask.
    pub priority: u8,
    /// By how much the process is nicer than it was started while steps have none, 0 to 19.
    pub fast_niceness: u8,
    /// Whether to keep the process's memory from being paged out.
    pub lock_memory: bool,
}

/// What it granted, one phrase for each request, for the log and the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(pub Vec<String>);

impl std::fmt::Display for Grants {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0.join("; "))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::num::NonZeroU64;

    use rustix::{
        mm::{MlockAllFlags, mlockall},
        process::{Pid, getpriority_process, setpriority_process},
        thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack},
        time::{Timespec, clock_gettime},
    };
    use thread_priority::{
        NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id, thread_schedule_policy_param,
    };

    use super::{Grants, Scheduling};

    /// Nanoseconds of the monotonic clock.
    pub fn now_ns() -> u64 {
        let now = clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// Processor time this process has used, in seconds.
    pub fn processor_seconds() -> Option<f64> {
        let used = clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9)
    }

    /// Sleeps until the monotonic clock shows `deadline_ns`; returns at once if it does already.
    pub fn sleep_until(deadline_ns: u64) {
        let request =
            Timespec { tv_sec: (deadline_ns / 1_000_000_000) as i64, tv_nsec: (deadline_ns % 1_000_000_000) as i64 };
        // A signal may wake the thread early; the absolute deadline makes sleeping again exact.
        while clock_nanosleep_absolute(ClockId::Monotonic, &request) == Err(rustix::io::Errno::INTR) {}
    }

    /// A thread, for as long as it runs.
    pub type ThreadId = thread_priority::ThreadId;

    /// The calling thread.
    pub fn this_thread() -> ThreadId {
        thread_native_id()
    }

    /// Gives a thread real-time priority: from then on it is interrupted by nothing of lower priority.
    pub fn raise(thread: ThreadId, priority: u8) -> Result<(), String> {
        let priority = ThreadPriority::try_from(priority).map_err(|error| error.to_owned())?;
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        set_thread_priority_and_policy(thread, priority, policy).map_err(|error| error.to_string())
    }

    /// Gives a thread ordinary scheduling.
    pub fn lower(thread: ThreadId) -> Result<(), String> {
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
        let niceness = getpriority_process(None);
        // The call sets the policy and then the caller's niceness, which must not change and may not be allowed to; 48 of 99
        // stands for niceness 0, which most callers have.
        let ordinary = ThreadPriority::try_from(48).map_err(|error| error.to_owned())?;
        let set = set_thread_priority_and_policy(thread, ordinary, policy);
        if let Ok(niceness) = niceness {
            let _ = setpriority_process(None, niceness);
        }
        match thread_schedule_policy_param(thread) {
            Ok((found, _)) if found == policy => Ok(()),
            Ok(_) => set.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The niceness of the calling thread, which those that it starts inherit.
    pub fn niceness() -> i32 {
        getpriority_process(None).unwrap_or(0)
    }

    /// Whether the calling thread could take a higher niceness back.
    pub fn can_be_less_nice() -> bool {
        let now = niceness();
        let could = now > -20 && setpriority_process(None, now - 1).is_ok();
        could && setpriority_process(None, now).is_ok()
    }

    /// Gives the calling thread a niceness, where the system grants it.
    pub fn set_own_niceness(niceness: i32) {
        let _ = setpriority_process(None, niceness);
    }

    /// Gives all threads of this process a niceness. Threads that end meanwhile are no failure.
    pub fn set_niceness(niceness: i32) {
        for entry in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let thread = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            if let Some(thread) = thread {
                let _ = setpriority_process(Some(thread), niceness);
            }
        }
    }

    /// Asks for everything that the settings want for the calling thread. Real-time priority is tried and given back: the clock
    /// takes it only while steps have deadlines.
    pub fn prepare_thread(scheduling: Scheduling) -> Grants {
        let mut grants = Vec::new();
        grants.push(match set_current_timer_slack(NonZeroU64::new(1)) {
            Ok(()) => "timer slack 1 ns".to_owned(),
            Err(error) => format!("default timer slack ({error})"),
        });
        if scheduling.priority > 0 {
            let granted = raise(this_thread(), scheduling.priority).and_then(|()| lower(this_thread()));
            grants.push(match granted {
                Ok(()) => format!("SCHED_FIFO priority {} while steps have deadlines", scheduling.priority),
                Err(error) => format!("SCHED_FIFO not granted ({error}; it needs CAP_SYS_NICE or `ulimit -r`)"),
            });
        }
        if scheduling.lock_memory {
            grants.push(match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
                Ok(()) => "memory locked".to_owned(),
                Err(error) => format!("memory not locked ({error}; it needs CAP_IPC_LOCK or `ulimit -l`)"),
            });
        }
        Grants(grants)
    }
}

#[cfg(target_os = "linux")]
pub use linux::{
    ThreadId, can_be_less_nice, lower, niceness, now_ns, prepare_thread, processor_seconds, raise, set_niceness,
    set_own_niceness, sleep_until, this_thread,
};

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::{
        sync::OnceLock,
        time::{Duration, Instant},
    };

    use super::{Grants, Scheduling};

    fn base() -> Instant {
        static BASE: OnceLock<Instant> = OnceLock::new();
        *BASE.get_or_init(Instant::now)
    }

    /// Nanoseconds of the monotonic clock.
    pub fn now_ns() -> u64 {
        base().elapsed().as_nanos() as u64
    }

    /// Not known here.
    pub fn processor_seconds() -> Option<f64> {
        None
    }

    /// Sleeps until the monotonic clock shows `deadline_ns`; returns at once if it does already.
    pub fn sleep_until(deadline_ns: u64) {
        std::thread::sleep(Duration::from_nanos(deadline_ns.saturating_sub(now_ns())));
    }

    /// Threads have no identity here.
    pub type ThreadId = ();

    /// The calling thread.
    pub fn this_thread() -> ThreadId {}

    /// Not known here.
    pub fn raise((): ThreadId, _: u8) -> Result<(), String> {
        Err("no real-time scheduling on this operating system".to_owned())
    }

    /// Scheduling is always ordinary here.
    pub fn lower((): ThreadId) -> Result<(), String> {
        Ok(())
    }

    /// Not known here.
    pub fn niceness() -> i32 {
        0
    }

    /// Not known here.
    pub fn can_be_less_nice() -> bool {
        false
    }

    /// Not known here.
    pub fn set_own_niceness(_: i32) {}

    /// Not known here.
    pub fn set_niceness(_: i32) {}

    /// Asks for nothing on this system, and says so.
    pub fn prepare_thread(_: Scheduling) -> Grants {
        Grants(vec!["no real-time scheduling on this operating system".to_owned()])
    }
}

#[cfg(not(target_os = "linux"))]
pub use portable::{
    ThreadId, can_be_less_nice, lower, niceness, now_ns, prepare_thread, processor_seconds, raise, set_niceness,
    set_own_niceness, sleep_until, this_thread,
};
