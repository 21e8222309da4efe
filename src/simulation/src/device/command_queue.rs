//! Commands on their way to an actuator: faults, delay and the watchdog.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use simpartner_description::{OnTimeout, Watchdog};
use simpartner_model::{StepIndex, Timestep, random::Stream};
use simpartner_wire::signal::Fault;

use super::random::StreamSeed;

/// Largest number of delayed commands of an actuator: some 10 MB. Further commands are lost.
const MAX_DELAYED_COMMANDS: usize = 100_000;

/// The commands of an actuator before they act, and its watchdog.
pub(super) struct CommandQueue {
    timestep: Timestep,
    /// The present step, or the last one.
    step: StepIndex,
    watchdog: Option<Watchdog>,
    state: QueueState,
}

/// State of a [`CommandQueue`] between steps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct QueueState {
    /// The step in which the last command first acted; `None` before the first command.
    commanded: Option<StepIndex>,
    /// After a timeout: the watchdog's action, and the joint's coordinates at the timeout.
    timed_out: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    /// Commands that a fault delays, each with the step in which it will act.
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

impl CommandQueue {
    pub(super) fn for_actuator(watchdog: Option<Watchdog>, timestep: Timestep, seed: StreamSeed<'_>) -> Self {
        Self {
            timestep,
            step: StepIndex(0),
            watchdog,
            state: QueueState {
                commanded: None,
                timed_out: None,
                fault: Fault::None,
                fault_stream: seed.stream("fault"),
                under_way: VecDeque::new(),
            },
        }
    }

    pub(super) fn step_length(&self) -> Timestep {
        self.timestep
    }

    pub(super) fn present_fault(&self) -> Fault {
        self.state.fault
    }

    pub(super) fn is_powered_off(&self) -> bool {
        self.state.fault == Fault::Off
    }

    /// The action of the watchdog after a timeout, and the joint's coordinates at the timeout.
    pub(super) fn timed_out(&self) -> Option<(OnTimeout, [f64; 3])> {
        self.state.timed_out
    }

    /// A random number from -1 to 1, for the fault `Garbage`.
    pub(super) fn random_share(&mut self) -> f64 {
        2.0 * self.state.fault_stream.uniform() - 1.0
    }

    pub(super) fn saved_state(&self) -> QueueState {
        self.state.clone()
    }

    /// Restores the state after a step. False if it cannot be that of this step.
    pub(super) fn restore_state(&mut self, state: QueueState, step: StepIndex) -> bool {
        (self.step, self.state) = (step, state);
        self.state.commanded.is_none_or(|commanded| commanded <= step.after(1))
    }

    pub(super) fn reseed_faults(&mut self, seed: StreamSeed<'_>) {
        self.state.fault_stream = seed.stream("fault");
    }

    /// Sets the step at which the actuator begins to exist.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.step = step;
    }

    /// Applies a fault. If it powers the actuator off or makes it stick, delayed commands are lost.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.state.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.state.under_way.clear();
        }
    }

    /// Takes a command before the next step. Returns it if it acts at once: no fault loses or delays it.
    #[must_use]
    pub(super) fn accept_command<'v>(&mut self, values: &'v [f64]) -> Option<&'v [f64]> {
        let next = self.step.after(1);
        match self.state.fault {
            Fault::Off | Fault::Stuck => None,
            Fault::Intermittent(share) if self.state.fault_stream.happens(share) => None,
            Fault::Delayed(_) if self.state.under_way.len() >= MAX_DELAYED_COMMANDS => None,
            Fault::Delayed(delay) => {
                let due = next.after(self.timestep.steps_in(delay));
                self.state.under_way.push_back((due, values.to_vec()));
                None
            }
            Fault::None | Fault::Garbage | Fault::Intermittent(_) => {
                self.begin_command(next);
                Some(values)
            }
        }
    }

    /// Begins the next step.
    pub(super) fn begin_step(&mut self) {
        self.step = self.step.after(1);
    }

    /// The next delayed command that acts from this step on.
    pub(super) fn next_due(&mut self) -> Option<Vec<f64>> {
        let (_, values) = self.state.under_way.pop_front_if(|(due, _)| *due <= self.step)?;
        self.begin_command(self.step);
        Some(values)
    }

    fn begin_command(&mut self, step: StepIndex) {
        (self.state.commanded, self.state.timed_out) = (Some(step), None);
    }

    /// Returns the watchdog if its timeout passes in this step, with the joint at `position`. With a timeout of n
    /// steps, a command acts for n steps.
    pub(super) fn check_watchdog(&mut self, position: [f64; 3]) -> Option<Watchdog> {
        let (watchdog, commanded) = (self.watchdog?, self.state.commanded?);
        let timeout_steps = self.timestep.steps_in(watchdog.timeout_s).max(1);
        if self.state.timed_out.is_some() || self.is_powered_off() || self.step.0 - commanded.0 < timeout_steps {
            return None;
        }
        self.state.timed_out = Some((watchdog.action, position));
        Some(watchdog)
    }
}
