//! Requests to the clock and the status that answers them.

use std::time::Duration;

use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Member, StepRecord};
use thiserror::Error;

use super::{lockstep::LockstepState, quota::Full, settings::Mode};

/// Longest wait of a status request for the physics thread. After it the answer is the status that the thread published
/// last.
const STATUS_TIMEOUT: Duration = Duration::from_millis(100);

/// Longest wait of a request that changes the clock. After it the client learns that the request is pending. It is
/// shorter than the time after which a run ends without the step under way, so that a client that sent `QUIT` has its
/// answer before the ports close.
const CONTROL_TIMEOUT: Duration = Duration::from_millis(400);

/// Run state of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The clock computes steps.
    Playing,
    /// The clock computes no steps.
    Paused,
    /// The run is over; no step will follow.
    Quitting,
}

impl RunState {
    /// Name on the wire, as in ROS `simulation_interfaces`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Playing => "PLAYING",
            Self::Paused => "PAUSED",
            Self::Quitting => "QUITTING",
        }
    }
}

/// State of clock and simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Run state of the clock.
    pub state: RunState,
    /// Number of steps since the start or the last reset.
    pub step: StepIndex,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Clock mode.
    pub mode: Mode,
    /// Target rate of `realtime`, simulated seconds per wall second.
    pub rate: f64,
    /// Real-time factor over about the last second: simulated seconds per wall second. 0 while paused.
    pub real_time_factor: f64,
    /// Number of clock slips.
    pub slips: u64,
    /// Number of resets of the world.
    pub epoch: u32,
    /// State of the lockstep, with the members that the clock waits for; `None` in other modes.
    pub lockstep: Option<LockstepState>,
    /// Present real-time priority of the physics thread; 0 is ordinary scheduling.
    pub priority: u8,
    /// Computation time so far of the step after `step`, if the physics thread could not answer because of that step.
    pub making: Option<Duration>,
    /// True if the request will be carried out only after the step under way.
    pub is_pending: bool,
}

impl Status {
    /// The status before the first step: paused.
    pub(super) fn at_start(record: &StepRecord, timestep: Timestep) -> Self {
        Self {
            state: RunState::Paused,
            step: record.step,
            time_s: timestep.seconds_at(record.step),
            mode: Mode::RealTime,
            rate: 1.0,
            real_time_factor: 0.0,
            slips: 0,
            epoch: record.epoch,
            lockstep: None,
            priority: 0,
            making: None,
            is_pending: false,
        }
    }
}

/// A request to the clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Report the status.
    State,
    /// Let the clock run, at `rate` if that is given.
    Play {
        /// New target rate of `realtime`, simulated seconds per wall second; above 0.
        rate: Option<f64>,
    },
    /// Stop the clock after the step under way.
    Pause,
    /// From pause: compute `count` steps at once, unpaced. Answered when they are done.
    Step {
        /// Number of steps.
        count: u64,
    },
    /// From pause: play at the mode's pace up to and including `step`, then pause. Answered when that step is done.
    RunTo {
        /// The last step to compute; not before the present one.
        step: StepIndex,
    },
    /// Rebuild the world from the model, at step 0. A playing clock keeps playing.
    Reset,
    /// Change the clock mode. Lockstep begins with the members that the settings name.
    Mode(Mode),
    /// Begin a new lockstep with these members.
    Lockstep(Vec<Member>),
    /// Wait until the clock has taken in every command that was sent before, at a step boundary.
    Sync,
    /// End the run.
    Quit,
}

impl Control {
    /// Longest wait for the physics thread's answer; `None` for requests that are answered when they are done.
    pub(super) fn answer_timeout(&self) -> Option<Duration> {
        match self {
            Self::State => Some(STATUS_TIMEOUT),
            Self::Play { .. } | Self::Pause | Self::Reset | Self::Mode(_) | Self::Lockstep(_) | Self::Quit => {
                Some(CONTROL_TIMEOUT)
            }
            Self::Step { .. } | Self::RunTo { .. } | Self::Sync => None,
        }
    }
}

/// The reason why a control request was not carried out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ControlError {
    /// The request does not fit the present state; the text says why.
    #[error("{0}")]
    WrongState(String),
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// A bound on waiting requests is reached.
    #[error(transparent)]
    Full(#[from] Full),
}
