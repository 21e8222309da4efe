//! When the loop takes requests out of the queue: as many as there is time for before the next deadline, and few after it.

use std::time::Duration;

use simpartner_model::StepIndex;

use super::{LOG_CHECK, PhysicsLoop};
use crate::os;

/// How many short commands a step takes in, besides two for each device: about 60 us of a step of 1 ms.
const COMMANDS_PER_STEP: usize = 64;

/// How many of them after its deadline: about 8 us; one more for each device if the step is late already.
const LATE_COMMANDS: usize = 8;

/// The clock takes requests in from [`EARLY_NS`] before a deadline until [`MARGIN_NS`] before it, nanoseconds. A command takes
/// about a microsecond.
const EARLY_NS: u64 = 150_000;
const MARGIN_NS: u64 = 20_000;

/// The last part of a wait, which the clock sleeps through to wake up on time.
const SLEEP: Duration = Duration::from_millis(2);

impl PhysicsLoop {
    /// Waits for a request up to a limit, and carries it out.
    pub(super) fn wait_for_request(&mut self, limit: Duration) {
        self.publish();
        let from_ns = os::now_ns();
        let request = self.requests.receive(limit);
        self.priority.slept(os::now_ns() - from_ns);
        if let Some(request) = request {
            self.answer(request);
        }
    }

    /// Waits for a step's deadline, if it has one, and takes in the requests for it. A step takes a bounded number; the others stay
    /// in the queue, in their order. So that no flood makes steps late, the clock wakes up before the deadline to take requests in,
    /// and takes few after it; more only where it is late already and has no time before.
    pub(super) fn take_requests_before(&mut self, next: StepIndex) {
        let devices = self.simulation.layout().devices().len();
        let most = COMMANDS_PER_STEP + 2 * devices;
        if !self.has_deadline() {
            self.take_requests(most, u64::MAX);
            return;
        }
        self.wait_for_deadline(next, EARLY_NS);
        let end_ns = self.pace.deadline_ns(next).saturating_sub(MARGIN_NS);
        let is_late = os::now_ns() >= end_ns;
        let taken = self.take_requests(most, end_ns);
        self.wait_for_deadline(next, 0);
        let late = if is_late { LATE_COMMANDS + devices } else { LATE_COMMANDS };
        self.take_requests(late.min(most.saturating_sub(taken)), u64::MAX);
    }

    /// Takes requests in, in their order, until their cost reaches `most`, the time is over or none is left. Returns the cost.
    fn take_requests(&mut self, most: usize, until_ns: u64) -> usize {
        let mut cost = 0;
        while cost < most
            && os::now_ns() < until_ns
            && let Some(request) = self.requests.try_receive()
        {
            cost += request.cost();
            self.answer(request);
        }
        cost
    }

    /// Waits until `early_ns` before a step's deadline. In a long wait, as at a slow rate, the clock answers requests until shortly
    /// before; a request may also end the wait.
    fn wait_for_deadline(&mut self, next: StepIndex, early_ns: u64) {
        while self.has_deadline() && self.is_next(next) && !self.is_over() {
            let until_ns = self.pace.deadline_ns(next).saturating_sub(early_ns);
            let left = Duration::from_nanos(until_ns.saturating_sub(os::now_ns()));
            match left.checked_sub(SLEEP) {
                Some(spare) => self.wait_for_request(spare.min(LOG_CHECK)),
                None => {
                    let from_ns = os::now_ns();
                    os::sleep_until(until_ns);
                    return self.priority.slept(os::now_ns() - from_ns);
                }
            }
        }
    }
}
