//! When the loop takes in the requests that wait: before the next deadline while there is time, and few after it.

use std::time::Duration;

use simpartner_model::StepIndex;

use super::{LOOK_AT_LOG, Loop};
use crate::realtime::os;

/// What a step takes in of the requests that wait, in short commands, besides two for each device.
const COMMANDS_PER_STEP: usize = 64;

/// What it takes in of them after its deadline; one more for each device if it is late already.
const LATE_COMMANDS: usize = 8;

/// How long before a deadline the clock wakes up to take requests in, and until how long before it it does so, nanoseconds. A
/// command takes about a microsecond.
const EARLY_NS: u64 = 150_000;
const MARGIN_NS: u64 = 20_000;

/// The last part of a wait, in which the clock sleeps so that it wakes up on time.
const SLEEP: Duration = Duration::from_millis(2);

impl Loop {
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

    /// Waits for a step's deadline, if it has one, and takes in what has come for it. What comes faster than a bounded number of
    /// commands a step stays in the queue, in its order. So that no flood of them makes steps late, the clock wakes up before the
    /// deadline to take them in, and takes few after it: more only where it has no time before, because it is late already.
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

    /// Takes in requests, in their order, until they have cost so much, the time is over or none is left. Returns the cost.
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

    /// Sleeps until so long before a step's deadline. Of a long wait, as at a slow rate, all but the end is spent answering
    /// requests, which may also end it.
    fn wait_for_deadline(&mut self, next: StepIndex, early_ns: u64) {
        while self.has_deadline() && self.is_next(next) && !self.is_over() {
            let until_ns = self.pace.deadline_ns(next).saturating_sub(early_ns);
            let left = Duration::from_nanos(until_ns.saturating_sub(os::now_ns()));
            match left.checked_sub(SLEEP) {
                Some(spare) => self.wait_for_request(spare.min(LOOK_AT_LOG)),
                None => {
                    let from_ns = os::now_ns();
                    os::sleep_until(until_ns);
                    return self.priority.slept(os::now_ns() - from_ns);
                }
            }
        }
    }
}
