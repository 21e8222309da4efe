//! Requests to the clock and the status that answers them.

use std::time::Duration;

use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Member, StepRecord};
use thiserror::Error;

use super::{lockstep::LockstepState, quota::Full, settings::Mode};

/// How long the status waits for the physics thread before the answer is the status that the thread last published.
const STATE_PATIENCE: Duration = Duration::from_millis(100);

/// How long a request that changes the clock waits for the physics thread before its client learns that it acts later. Shorter
/// than the time after which a run ends without the step under way, so that a client that sent QUIT has its answer before the ports
/// close.
const CONTROL_PATIENCE: Duration = Duration::from_millis(400);

/// Whether the clock runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Steps are being made.
    Playing,
    /// No steps are being made.
    Paused,
    /// The run is over; no step will follow.
    Quitting,
}

impl RunState {
    /// The word on the wire, as in ROS `simulation_interfaces`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Playing => "PLAYING",
            Self::Paused => "PAUSED",
            Self::Quitting => "QUITTING",
        }
    }
}

/// The state of clock and simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Whether the clock runs.
    pub state: RunState,
    /// Steps made since the start or the last reset.
    pub step: StepIndex,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Clock mode.
    pub mode: Mode,
    /// Simulated seconds per wall second that `realtime` aims at.
    pub rate: f64,
    /// Simulated seconds per wall second over the last second or so; 0 while paused.
    pub real_time_factor: f64,
    /// How often the clock slipped.
    pub slips: u64,
    /// How often the world was reset.
    pub epoch: u32,
    /// Whom the clock waits for; `None` outside of lockstep.
    pub lockstep: Option<LockstepState>,
    /// The real-time priority that the physics thread has presently; 0 is ordinary scheduling.
    pub priority: u8,
    /// For how long the step after `step` has been computed, if the physics thread could not answer because of it.
    pub making: Option<Duration>,
    /// Whether the request is carried out only after the step under way.
    pub is_pending: bool,
}

impl Status {
    /// Paused before the first step.
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
    /// Let the clock run, at `rate` simulated seconds per wall second where given.
    Play {
        /// New rate for `realtime`, above 0.
        rate: Option<f64>,
    },
    /// Stop the clock after the step under way.
    Pause,
    /// From pause: make so many steps at once, unpaced. Answered when they are done.
    Step {
        /// How many.
        count: u64,
    },
    /// From pause: play at the mode's pace until this step is made, then pause. Answered when it is made.
    RunTo {
        /// The step, later than the present one.
        step: StepIndex,
    },
    /// Rebuild the world from the model; step 0. A playing clock plays on.
    Reset,
    /// Change the clock mode; lockstep begins with those members that the settings name.
    Mode(Mode),
    /// Begin another lockstep, with these members.
    Lockstep(Vec<Member>),
    /// Answered when every command sent before it has been taken in at a step boundary.
    Sync,
    /// End the run.
    Quit,
}

impl Control {
    /// How long its client waits for the physics thread; `None` for requests that are answered when they are done.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self {
            Self::State => Some(STATE_PATIENCE),
            Self::Play { .. } | Self::Pause | Self::Reset | Self::Mode(_) | Self::Lockstep(_) | Self::Quit => {
                Some(CONTROL_PATIENCE)
            }
            Self::Step { .. } | Self::RunTo { .. } | Self::Sync => None,
        }
    }
}

/// Why a control request was not carried out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ControlError {
    /// It does not fit the present state.
    #[error("{0}")]
    WrongState(String),
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// More waits already than may wait.
    #[error(transparent)]
    Full(#[from] Full),
}
