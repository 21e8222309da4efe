//! Settings of the clock.

use simpartner_model::StepIndex;

use super::{lockstep::LockstepSettings, os::Scheduling};

/// Clock mode: the condition for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every step starts at its deadline on the wall clock.
    RealTime,
    /// Every step starts as soon as the previous one is done.
    Fast,
    /// A step starts when all members have answered for the previous one.
    Lockstep,
}

impl Mode {
    /// Name on the wire and in properties.toml.
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTime => "realtime",
            Self::Fast => "fast",
            Self::Lockstep => "lockstep",
        }
    }
}

/// Reaction when the clock is more than [`ClockSettings::max_catchup_steps`] steps behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOverrun {
    /// The clock slips: it gives up the lost time, logs an event and continues.
    Slip,
    /// The run ends.
    Stop,
}

/// Settings of the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockSettings {
    /// Clock mode; control requests change it.
    pub mode: Mode,
    /// Target rate in real time, simulated seconds per wall second.
    pub rate: f64,
    /// Largest delay, in steps, that the clock makes up by steps back to back.
    pub max_catchup_steps: u64,
    /// Reaction to a larger delay.
    pub on_overrun: OnOverrun,
    /// Members and timeout of lockstep.
    pub lockstep: LockstepSettings,
    /// The last step of the run; `None` if the run does not end by itself.
    pub end: Option<StepIndex>,
    /// True if the run ends with the end of a sequence that waits for readings.
    pub ends_with_sequence: bool,
    /// True if the clock starts paused and waits for `PLAY`.
    pub start_paused: bool,
    /// True if nobody can reset a diverged world; the run then ends instead of pausing.
    pub unattended: bool,
    /// Interval between snapshots of the state in the records, for the log, in steps; 0 for none.
    pub snapshot_interval_steps: u64,
    /// Requests to the operating system's scheduler.
    pub scheduling: Scheduling,
}

impl Default for ClockSettings {
    /// Real time at rate 1, at most 50 catch-up steps, no end, no requests to the operating system.
    fn default() -> Self {
        Self {
            mode: Mode::RealTime,
            rate: 1.0,
            max_catchup_steps: 50,
            on_overrun: OnOverrun::Slip,
            lockstep: LockstepSettings::default(),
            end: None,
            ends_with_sequence: false,
            start_paused: false,
            unattended: false,
            snapshot_interval_steps: 0,
            scheduling: Scheduling { priority: 0, fast_niceness: 0, lock_memory: false },
        }
    }
}
