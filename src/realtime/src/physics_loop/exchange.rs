//! The loop goes on in another world, and sends what is left of a run that ends.

use simpartner_wire::signal::StepRecord;

use super::PhysicsLoop;
use crate::{control::ControlError, os, request::Exchange};
use simpartner_simulation::sim::Simulation;

impl PhysicsLoop {
    /// Goes on in the next world and returns the one before. Step and time go on, and so does whatever the clock is doing.
    pub(super) fn exchange(&mut self, exchange: Exchange) -> Result<Simulation, ControlError> {
        let Exchange { next, numbers, event } = exchange;
        let (before, remainder) = self
            .simulation
            .go_on_in(next, &numbers)
            .map_err(|_| ControlError::WrongState("this engine cannot go on in another world".into()))?;
        self.send_remainder(remainder);
        self.note_of(event.kind, &event.subject, event.text, event.value);
        self.carry_members_over(&numbers);
        let state = self.simulation.observe();
        self.records.publish_state(state);
        // The exchange took time; what comes after it is not late for that.
        self.re_anchor();
        Ok(before)
    }

    /// Sends what a run has besides its steps' records, if it has that.
    pub(super) fn send_remainder(&mut self, remainder: Option<Box<StepRecord>>) {
        if let Some(mut record) = remainder {
            record.timing.wall_ns = os::now_ns() - self.start_ns;
            self.records.send(record);
        }
    }
}
