//! Operating system services for the clock: monotonic time, sleep, priority, niceness, locked memory. Linux has all of
//! them; on other systems the thread sleeps as precisely as the standard library can.

/// Requests of the physics thread to the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// SCHED_FIFO priority while steps have deadlines, 1 to 99; 0 requests none.
    pub priority: u8,
    /// Increase of the process's niceness in fast mode, 0 to 19.
    pub fast_niceness: u8,
    /// True to lock the process's memory, so that it is never paged out.
    pub lock_memory: bool,
}

/// The operating system's replies, one phrase for each request, for the log and the terminal.
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

    /// Processor time of this process, seconds.
    pub fn processor_seconds() -> Option<f64> {
        let used = clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9)
    }

    /// Sleeps until the monotonic time `deadline_ns`; returns at once if that has passed.
    pub fn sleep_until(deadline_ns: u64) {
        let request =
            Timespec { tv_sec: (deadline_ns / 1_000_000_000) as i64, tv_nsec: (deadline_ns % 1_000_000_000) as i64 };
        // A signal may wake the thread early; the absolute deadline makes sleeping again exact.
        while clock_nanosleep_absolute(ClockId::Monotonic, &request) == Err(rustix::io::Errno::INTR) {}
    }

    /// Identity of a thread, valid while the thread runs: its `pthread_t` as a number. Musl's type is a pointer, which
    /// threads may not share.
    #[derive(Debug, Clone, Copy)]
    pub struct ThreadId(usize);

    impl ThreadId {
        fn native_id(self) -> thread_priority::ThreadId {
            self.0 as thread_priority::ThreadId
        }
    }

    /// Identity of the calling thread.
    pub fn this_thread() -> ThreadId {
        ThreadId(thread_native_id() as usize)
    }

    /// Gives a thread real-time priority. No thread of lower priority interrupts it from then on.
    pub fn set_realtime_priority(thread: ThreadId, priority: u8) -> Result<(), String> {
        let priority = ThreadPriority::try_from(priority).map_err(|error| error.to_owned())?;
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        set_thread_priority_and_policy(thread.native_id(), priority, policy).map_err(|error| error.to_string())
    }

    /// Gives a thread ordinary scheduling.
    pub fn set_ordinary_priority(thread: ThreadId) -> Result<(), String> {
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
        let niceness = getpriority_process(None);
        // The call sets the policy, then the caller's niceness, which must not change and may be refused. Of its scale
        // of 99, 48 stands for niceness 0, which most callers have.
        let ordinary = ThreadPriority::try_from(48).map_err(|error| error.to_owned())?;
        let set = set_thread_priority_and_policy(thread.native_id(), ordinary, policy);
        if let Ok(niceness) = niceness {
            let _ = setpriority_process(None, niceness);
        }
        match thread_schedule_policy_param(thread.native_id()) {
            Ok((found, _)) if found == policy => Ok(()),
            Ok(_) => set.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Niceness of the calling thread. Threads that it starts inherit it.
    pub fn niceness() -> i32 {
        getpriority_process(None).unwrap_or(0)
    }

    /// True if the calling thread may lower its niceness. Tests it by lowering and restoring it.
    pub fn can_be_less_nice() -> bool {
        let now = niceness();
        let could = now > -20 && setpriority_process(None, now - 1).is_ok();
        could && setpriority_process(None, now).is_ok()
    }

    /// Sets the niceness of the calling thread, where the system grants it.
    pub fn set_thread_niceness(niceness: i32) {
        let _ = setpriority_process(None, niceness);
    }

    /// Sets the niceness of all threads of this process. Threads that end meanwhile are skipped.
    pub fn set_process_niceness(niceness: i32) {
        for entry in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let thread = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            if let Some(thread) = thread {
                let _ = setpriority_process(Some(thread), niceness);
            }
        }
    }

    /// Requests everything that the settings name for the calling thread. Real-time priority is acquired once and
    /// released: the clock holds it only while steps have deadlines.
    pub fn prepare_thread(scheduling: Scheduling) -> Grants {
        let mut grants = Vec::new();
        grants.push(match set_current_timer_slack(NonZeroU64::new(1)) {
            Ok(()) => "timer slack 1 ns".to_owned(),
            Err(error) => format!("default timer slack ({error})"),
        });
        if scheduling.priority > 0 {
            let granted = set_realtime_priority(this_thread(), scheduling.priority)
                .and_then(|()| set_ordinary_priority(this_thread()));
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
    ThreadId, can_be_less_nice, niceness, now_ns, prepare_thread, processor_seconds, set_ordinary_priority,
    set_process_niceness, set_realtime_priority, set_thread_niceness, sleep_until, this_thread,
};

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::{
        sync::OnceLock,
        time::{Duration, Instant},
    };

    use super::{Grants, Scheduling};

    /// Zero of the monotonic clock: the first call.
    fn clock_origin() -> Instant {
        static CLOCK_ORIGIN: OnceLock<Instant> = OnceLock::new();
        *CLOCK_ORIGIN.get_or_init(Instant::now)
    }

    /// Nanoseconds of the monotonic clock.
    pub fn now_ns() -> u64 {
        clock_origin().elapsed().as_nanos() as u64
    }

    /// Not available on this system.
    pub fn processor_seconds() -> Option<f64> {
        None
    }

    /// Sleeps until the monotonic time `deadline_ns`; returns at once if that has passed.
    pub fn sleep_until(deadline_ns: u64) {
        std::thread::sleep(Duration::from_nanos(deadline_ns.saturating_sub(now_ns())));
    }

    /// Threads have no identity on this system.
    pub type ThreadId = ();

    /// Identity of the calling thread.
    pub fn this_thread() -> ThreadId {}

    /// Not available on this system.
    pub fn set_realtime_priority((): ThreadId, _: u8) -> Result<(), String> {
        Err("no real-time scheduling on this operating system".to_owned())
    }

    /// Does nothing: scheduling is always ordinary on this system.
    pub fn set_ordinary_priority((): ThreadId) -> Result<(), String> {
        Ok(())
    }

    /// Not available on this system.
    pub fn niceness() -> i32 {
        0
    }

    /// Not available on this system.
    pub fn can_be_less_nice() -> bool {
        false
    }

    /// Not available on this system.
    pub fn set_thread_niceness(_: i32) {}

    /// Not available on this system.
    pub fn set_process_niceness(_: i32) {}

    /// Requests nothing on this system, and reports that.
    pub fn prepare_thread(_: Scheduling) -> Grants {
        Grants(vec!["no real-time scheduling on this operating system".to_owned()])
    }
}

#[cfg(not(target_os = "linux"))]
pub use portable::{
    ThreadId, can_be_less_nice, niceness, now_ns, prepare_thread, processor_seconds, set_ordinary_priority,
    set_process_niceness, set_realtime_priority, set_thread_niceness, sleep_until, this_thread,
};
