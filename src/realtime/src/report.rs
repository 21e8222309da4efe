//! Figures of the clock for a run that is over.

use std::time::Duration;

use hdrhistogram::Histogram;
use simpartner_model::StepIndex;
use simpartner_wire::signal::Event;

use super::speed::Speed;
use simpartner_simulation::sim::SequenceEnd;

/// Cause of the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The run reached its last step.
    Completed,
    /// A client or the user ended the run.
    Quit,
    /// The log failed, or it reached its size limit and the settings end the run in that case. The recorder says which.
    LogEnded,
    /// The clock was more than the permitted number of steps behind, and the settings end the run in that case.
    Overrun,
    /// A member of the lockstep did not answer in time, and the settings end the run in that case. The text names the
    /// member.
    LockstepTimeout(String),
    /// The sequence whose end would have ended the run was broken off. The text says why.
    SequenceBrokenOff(String),
    /// The physics diverged in an unattended run, where nobody can reset the world. The text names the step.
    Diverged(String),
}

impl Outcome {
    /// Name in the column `simulation.status`.
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

/// Percentiles of a duration, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentiles {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p99_9_us: f64,
    /// Maximum.
    pub max_us: f64,
}

/// Histogram of durations, 1 ns to 60 s with 3 significant digits. Recording does not allocate.
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

/// Counters and histograms of the physics thread.
#[derive(Debug)]
pub(super) struct Figures {
    /// Delay between deadline and start of each step.
    pub(super) lateness: Times,
    /// Computation time of each step.
    pub(super) compute: Times,
    /// Number of clock slips.
    pub(super) slips: u64,
    /// Time given up by all slips, nanoseconds.
    pub(super) slipped_ns: u64,
    /// Number of waits for an empty record, because publisher or log were behind.
    pub(super) waits: u64,
    /// Total duration of those waits, nanoseconds.
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

/// Peak use of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueUse {
    /// Name of the queue.
    pub name: &'static str,
    /// Largest number of records in the queue.
    pub longest: usize,
    /// Capacity of the queue, records.
    pub capacity: usize,
}

/// The figures of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockReport {
    /// Cause of the end of the run.
    pub outcome: Outcome,
    /// The last step since the start or the last reset.
    pub step: StepIndex,
    /// Total number of steps, over all resets.
    pub steps: u64,
    /// Total simulated time, seconds.
    pub simulated_s: f64,
    /// Wall time during which the clock ran, seconds.
    pub wall_s: f64,
    /// Processor time of the whole process, seconds; `None` where unknown.
    pub processor_s: Option<f64>,
    /// Delay between deadline and start of steps; `None` if no step had a deadline.
    pub lateness: Option<Percentiles>,
    /// Computation time of steps; `None` without steps.
    pub compute: Option<Percentiles>,
    /// Number of clock slips.
    pub slips: u64,
    /// Time given up by all slips, seconds.
    pub slipped_s: f64,
    /// Number of waits of the physics thread because the publisher or the log was behind.
    pub waits: u64,
    /// Total duration of those waits.
    pub waited: Duration,
    /// Peak use of the queues between the physics and the log.
    pub queues: Vec<QueueUse>,
    /// Number of times the physics thread used up its share of a core and continued with ordinary priority for a while.
    pub step_downs: u64,
    /// Hash of the final state; empty if the run ended during a step, because nobody then has the state.
    pub state_hash: String,
    /// Events that are in no record.
    pub events: Vec<Event>,
}

impl ClockReport {
    /// Real-time factor: simulated seconds per wall second while the clock ran.
    pub fn real_time_factor(&self) -> f64 {
        if self.wall_s > 0.0 { self.simulated_s / self.wall_s } else { 0.0 }
    }
}
