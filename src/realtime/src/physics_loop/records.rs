//! Empty records in the physics loop: the wait for one, and its figures.

use std::time::Duration;

use simpartner_wire::signal::StepRecord;

use super::PhysicsLoop;
use crate::os;

/// Interval at which the clock checks for an empty record, and for room for images: a few steps, so that it resumes
/// soon and answers requests.
const RING_CHECK: Duration = Duration::from_millis(1);

impl PhysicsLoop {
    /// An empty record; `None` after a short wait, in which requests are answered. In real time the wait adds lateness.
    /// A step without a deadline also waits for room for images.
    pub(super) fn take_empty_record(&mut self) -> Option<Box<StepRecord>> {
        if !self.has_deadline() && self.shared.images.is_full() {
            self.wait_for_request(RING_CHECK);
            return None;
        }
        let mut record = self.spare.take().or_else(|| self.records.take_empty());
        let layout = self.simulation.layout();
        if let Some(old) = record.as_mut().filter(|record| record.world != layout.world()) {
            // Made for another world. Each record is rebuilt when it is used, so no step rebuilds more than one.
            **old = StepRecord::new(layout);
        }
        if record.is_none() {
            let (since_ns, log_was_full) = self.record_wait.unwrap_or_else(|| (os::now_ns(), false));
            self.record_wait = Some((since_ns, log_was_full || self.records.log_is_full()));
            self.wait_for_request(RING_CHECK);
        }
        record
    }

    /// Ends the wait for an empty record, if there was one: adds it to the figures and returns its cause.
    pub(super) fn end_record_wait(&mut self, now_ns: u64) -> Option<String> {
        let (since_ns, log_was_full) = self.record_wait.take()?;
        let mut board = self.shared.lock();
        board.figures.waits += 1;
        board.figures.waited_ns += now_ns - since_ns;
        Some(self.records.full_queue_text(log_was_full))
    }
}
