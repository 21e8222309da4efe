//! The clock's figures of a run that is over.

use std::time::Duration;

use hdrhistogram::Histogram;
use simpartner_model::StepIndex;
use simpartner_wire::signal::Event;

use super::speed::Speed;
use simpartner_simulation::sim::SequenceEnd;

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It reached its last step.
    Completed,
    /// A client or the user ended it.
    Quit,
    /// The log failed, or reached its size limit and the settings end the run then; the recorder says which.
    LogEnded,
    /// The clock fell behind farther than it may catch up, and the settings end the run then.
    Overrun,
    /// A member of the lockstep did not answer in time, and the settings end the run then; the text names it.
    LockstepTimeout(String),
    /// The sequence that the run would have ended with was broken off; the text says why.
    SequenceBrokenOff(String),
    /// The physics diverged, and nobody was there to reset the world.
    Diverged(String),
}

impl Outcome {
    /// The word in `simulation.status`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Quit => "quit",
            Self::LogEnded => "logEnded",
            Self::Overrun => "overrun",
            Self::LockstepTimeout(_) => "lockstepTimeout",
            Self::SequenceBrokenOff(_) => "sequenceBrokenOff",
            Self::Diverged(_) => "diverged",
        }
    }
}

impl From<&SequenceEnd> for Outcome {
    fn from(end: &SequenceEnd) -> Self {
        match end {
            SequenceEnd::Played => Self::Completed,
            SequenceEnd::BrokenOff(why) => Self::SequenceBrokenOff(why.clone()),
        }
    }
}

/// Percentiles of a time, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentiles {
    /// Median.
    pub p50_us: f64,
    /// 99 of 100 are below.
    pub p99_us: f64,
    /// 999 of 1000 are below.
    pub p99_9_us: f64,
    /// The largest.
    pub max_us: f64,
}

/// Collects times without allocating.
#[derive(Debug)]
pub(super) struct Times(Histogram<u64>);

impl Times {
    pub(super) fn new() -> Self {
        Self(
            Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order and 3 digits are allowed"),
        )
    }

    pub(super) fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(1));
    }

    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 * 1e-3;
        (!self.0.is_empty()).then(|| Percentiles {
            p50_us: at(0.5),
            p99_us: at(0.99),
            p99_9_us: at(0.999),
            max_us: self.0.max() as f64 * 1e-3,
        })
    }
}

/// What the physics thread counts while it runs.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) lateness: Times,
    pub(super) compute: Times,
    pub(super) slips: u64,
    pub(super) slipped_ns: u64,
    /// How often, and for how long, no record was free because publisher or log were behind.
    pub(super) waits: u64,
    pub(super) waited_ns: u64,
    pub(super) speed: Speed,
}

impl Default for Figures {
    fn default() -> Self {
        let (slips, slipped_ns, waits, waited_ns) = (0, 0, 0, 0);
        let (lateness, compute) = (Times::new(), Times::new());
        Self { lateness, compute, slips, slipped_ns, waits, waited_ns, speed: Speed::default() }
    }
}

/// How much of a queue was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueUse {
    /// Which queue.
    pub name: &'static str,
    /// The most that waited in it.
    pub longest: usize,
    /// What it holds at most.
    pub capacity: usize,
}

/// The figures of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockReport {
    /// Why it ended.
    pub outcome: Outcome,
    /// The last step made since the start or the last reset.
    pub step: StepIndex,
    /// Steps made in all, resets included.
    pub steps: u64,
    /// Simulated seconds in all.
    pub simulated_s: f64,
    /// Wall seconds while the clock ran.
    pub wall_s: f64,
    /// Processor seconds of the whole process, where known.
    pub processor_s: Option<f64>,
    /// How late steps began; `None` if none had a deadline.
    pub lateness: Option<Percentiles>,
    /// How long steps took to compute.
    pub compute: Option<Percentiles>,
    /// How often the clock slipped.
    pub slips: u64,
    /// How much time all slips gave up, seconds.
    pub slipped_s: f64,
    /// How often the physics thread waited because the publisher or the log was behind.
    pub waits: u64,
    /// For how long in all.
    pub waited: Duration,
    /// The queues between the physics and the log.
    pub queues: Vec<QueueUse>,
    /// How often the physics thread used up its share of a core and went on with ordinary priority for a while.
    pub step_downs: u64,
    /// Hash of the final state; empty if the run ended within a step, so that nobody has the state.
    pub state_hash: String,
    /// Events that no record has carried.
    pub events: Vec<Event>,
}

impl ClockReport {
    /// Simulated seconds per wall second while the clock ran.
    pub fn real_time_factor(&self) -> f64 {
        if self.wall_s > 0.0 { self.simulated_s / self.wall_s } else { 0.0 }
    }
}
