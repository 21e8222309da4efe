//! How the clock runs.

use simpartner_model::StepIndex;

use super::{lockstep::LockstepSettings, os::Scheduling};

/// How the steps relate to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every step has its deadline.
    RealTime,
    /// One step after the other.
    Fast,
    /// A step when all members have answered for the one before.
    Lockstep,
}

impl Mode {
    /// The word on the wire and in properties.toml.
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTime => "realtime",
            Self::Fast => "fast",
            Self::Lockstep => "lockstep",
        }
    }
}

/// What happens when the clock falls behind farther than it may catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOverrun {
    /// The clock gives the time up, records that and goes on.
    Slip,
    /// The run ends.
    Stop,
}

/// How the clock runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockSettings {
    /// Whether steps have deadlines.
    pub mode: Mode,
    /// Simulated seconds per wall second in real time.
    pub rate: f64,
    /// How many steps the clock may be behind and catch up by steps back to back.
    pub max_catchup_steps: u64,
    /// What happens when it is farther behind.
    pub on_overrun: OnOverrun,
    /// Whom the clock waits for in lockstep.
    pub lockstep: LockstepSettings,
    /// The step after which the run ends, if it does by itself.
    pub end: Option<StepIndex>,
    /// Whether the run ends with a sequence that waits for readings.
    pub ends_with_sequence: bool,
    /// Whether the clock waits for PLAY.
    pub start_paused: bool,
    /// Whether nobody can reset a diverged world, so that the run ends instead of pausing.
    pub unattended: bool,
    /// Every so many steps the record carries a snapshot of the state, for the log; 0 is never.
    pub snapshot_interval_steps: u64,
    /// What is asked of the operating system.
    pub scheduling: Scheduling,
}

impl Default for ClockSettings {
    /// Real time at rate 1, up to 50 steps of catching up, no end, nothing asked of the operating system.
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
