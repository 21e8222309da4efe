//! The loop goes on in another world.

use super::PhysicsLoop;
use crate::{
    realtime::{control::ControlError, request::Exchange},
    sim::Simulation,
};

impl PhysicsLoop {
    /// Goes on in the next world and returns the one before. Step and time go on, and so does whatever the clock is doing.
    pub(super) fn exchange(&mut self, exchange: Exchange) -> Result<Simulation, ControlError> {
        let Exchange { next, numbers, event } = exchange;
        let before = self
            .simulation
            .go_on_in(next, &numbers)
            .map_err(|_| ControlError::WrongState("this engine cannot go on in another world".into()))?;
        self.note_of(event.kind, &event.subject, event.text, event.value);
        self.carry_members_over(&numbers);
        let state = self.simulation.observe();
        self.records.publish_state(state);
        // The exchange took time; what comes after it is not late for that.
        self.re_anchor();
        Ok(before)
    }
}
