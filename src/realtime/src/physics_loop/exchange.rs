//! World edits in the physics loop, and the records of commands and events that no step has carried.

use simpartner_wire::signal::StepRecord;

use super::PhysicsLoop;
use crate::{control::ControlError, os, request::Exchange};
use simpartner_simulation::sim::Simulation;

impl PhysicsLoop {
    /// Replaces the world by an edited one and returns the previous world. Step count, time and the clock's activity
    /// continue.
    pub(super) fn switch_world(&mut self, exchange: Exchange) -> Result<Simulation, ControlError> {
        let Exchange { next, numbers, event } = exchange;
        let (before, remainder) = self
            .simulation
            .go_on_in(next, &numbers)
            .map_err(|_| ControlError::WrongState("this engine cannot continue in an edited world".into()))?;
        self.send_remainder(remainder);
        self.log_event_of(event.kind, &event.subject, event.text, event.value);
        self.renumber_members(&numbers);
        let state = self.simulation.observe();
        self.records.publish_state(state);
        // The time that the exchange took must not make the next step late.
        self.re_anchor();
        Ok(before)
    }

    /// Sends the record of commands and events that no step has carried, if there are any.
    pub(super) fn send_remainder(&mut self, remainder: Option<Box<StepRecord>>) {
        if let Some(mut record) = remainder {
            record.timing.wall_ns = os::now_ns() - self.start_ns;
            self.records.send(record);
        }
    }
}
