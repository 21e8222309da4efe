//! What the operating system does for a punctual thread. Linux gives all of it; elsewhere the thread sleeps as well as the
//! standard library can.

/// What the physics thread asks of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// SCHED_FIFO priority, 1 to 99; 0 does not ask.
    pub priority: u8,
    /// Whether to keep the process's memory from being paged out.
    pub lock_memory: bool,
}

/// What it granted, one sentence a request, for the log and the terminal.
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
        thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack},
        time::{Timespec, clock_gettime},
    };
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
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

    /// Asks for punctuality on behalf of the calling thread.
    pub fn prepare_thread(scheduling: Scheduling) -> Grants {
        let mut said = Vec::new();
        said.push(match set_current_timer_slack(NonZeroU64::new(1)) {
            Ok(()) => "timer slack 1 ns".to_owned(),
            Err(error) => format!("default timer slack ({error})"),
        });
        if scheduling.priority > 0 {
            let granted =
                ThreadPriority::try_from(scheduling.priority).map_err(|error| error.to_owned()).and_then(|priority| {
                    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
                    set_thread_priority_and_policy(thread_native_id(), priority, policy)
                        .map_err(|error| error.to_string())
                });
            said.push(match granted {
                Ok(()) => format!("SCHED_FIFO priority {}", scheduling.priority),
                Err(error) => format!("SCHED_FIFO not granted ({error}; it needs CAP_SYS_NICE or `ulimit -r`)"),
            });
        }
        if scheduling.lock_memory {
            said.push(match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
                Ok(()) => "memory locked".to_owned(),
                Err(error) => format!("memory not locked ({error}; it needs CAP_IPC_LOCK or `ulimit -l`)"),
            });
        }
        Grants(said)
    }
}

#[cfg(target_os = "linux")]
pub use linux::{now_ns, prepare_thread, processor_seconds, sleep_until};

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

    /// Nothing is asked for on this system, and that is said.
    pub fn prepare_thread(_: Scheduling) -> Grants {
        Grants(vec!["no real-time scheduling on this operating system".to_owned()])
    }
}

#[cfg(not(target_os = "linux"))]
pub use portable::{now_ns, prepare_thread, processor_seconds, sleep_until};
