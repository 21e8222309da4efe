//! Intake of requests from the queue: as many as there is time for before the next deadline, and few after it.

use std::time::Duration;

use simpartner_model::StepIndex;

use super::{LOG_CHECK, PhysicsLoop};
use crate::os;

/// Largest intake of a step, in short commands, plus two for each device: about 60 us of a step of 1 ms.
const COMMANDS_PER_STEP: usize = 64;

/// Largest intake after a step's deadline, in short commands: about 8 us. One more for each device if the step was late
/// before the intake.
const LATE_COMMANDS_PER_STEP: usize = 8;

/// Time before a deadline at which the intake starts, nanoseconds. A command takes about a microsecond.
const INTAKE_LEAD_NS: u64 = 150_000;

/// Time before a deadline at which the intake ends, nanoseconds.
const INTAKE_MARGIN_NS: u64 = 20_000;

/// Length of the last part of a wait, in which the clock answers no requests and sleeps until the exact deadline.
const FINAL_SLEEP: Duration = Duration::from_millis(2);

impl PhysicsLoop {
    /// Waits for a request for at most `limit`, and carries it out.
    pub(super) fn wait_for_request(&mut self, limit: Duration) {
        self.publish_status();
        let from_ns = os::now_ns();
        let request = self.requests.receive(limit);
        self.priority.record_sleep(os::now_ns() - from_ns);
        if let Some(request) = request {
            self.handle_request(request);
        }
    }

    /// Waits for a step's deadline, if it has one, and takes in requests for that step. A step takes a bounded number;
    /// the others stay in the queue, in their order. So that no flood makes steps late, the clock takes in most
    /// requests before the deadline and few after it. It takes more after it only if it was late already, with no time
    /// before.
    pub(super) fn take_requests_before(&mut self, next: StepIndex) {
        let devices = self.simulation.layout().devices().len();
        let most = COMMANDS_PER_STEP + 2 * devices;
        if !self.has_deadline() {
            self.take_requests(most, u64::MAX);
            return;
        }
        self.wait_for_deadline(next, INTAKE_LEAD_NS);
        let end_ns = self.pace.deadline_ns(next).saturating_sub(INTAKE_MARGIN_NS);
        let is_late = os::now_ns() >= end_ns;
        let taken = self.take_requests(most, end_ns);
        self.wait_for_deadline(next, 0);
        let late = if is_late { LATE_COMMANDS_PER_STEP + devices } else { LATE_COMMANDS_PER_STEP };
        self.take_requests(late.min(most.saturating_sub(taken)), u64::MAX);
    }

    /// Carries out requests in their order until their cost reaches `most`, the time is `until_ns` or none is left.
    /// Returns their cost, in short commands.
    fn take_requests(&mut self, most: usize, until_ns: u64) -> usize {
        let mut cost = 0;
        while cost < most
            && os::now_ns() < until_ns
            && let Some(request) = self.requests.try_receive()
        {
            cost += request.cost();
            self.handle_request(request);
        }
        cost
    }

    /// Waits until `early_ns` before a step's deadline. In a long wait, as at a slow rate, the clock answers requests
    /// until [`FINAL_SLEEP`] before that time. A request may also end the wait.
    fn wait_for_deadline(&mut self, next: StepIndex, early_ns: u64) {
        while self.has_deadline() && self.is_next(next) && !self.is_over() {
            let until_ns = self.pace.deadline_ns(next).saturating_sub(early_ns);
            let left = Duration::from_nanos(until_ns.saturating_sub(os::now_ns()));
            match left.checked_sub(FINAL_SLEEP) {
                Some(spare) => self.wait_for_request(spare.min(LOG_CHECK)),
                None => {
                    let from_ns = os::now_ns();
                    os::sleep_until(until_ns);
                    return self.priority.record_sleep(os::now_ns() - from_ns);
                }
            }
        }
    }
}
