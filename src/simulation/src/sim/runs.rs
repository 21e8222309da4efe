//! Where one run of a simulation ends and the next begins, and which run each command and event is of.
//!
//! A run ends with a reset, with a change of the world, and with the simulation. What it was told after its last step is in no step's record, so that it
//! gets a record of its own: the remainder of the run.

use simpartner_dynamics::BuildError;
use simpartner_model::StepIndex;
use simpartner_wire::signal::StepRecord;

use super::{Simulation, balance::Balance};

impl Simulation {
    /// Rebuilds everything from the model: equal to a fresh start, bit for bit. Commands for later steps are dropped. Returns
    /// the [remainder](Self::take_remainder) of the run that ends, unless that run has neither step nor command: then its events
    /// go to the next one.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, which it could before.
    pub fn reset(&mut self) -> Result<Option<Box<StepRecord>>, BuildError> {
        self.engine = simpartner_dynamics::build(&self.world.mechanism, self.timestep, &self.settings)?;
        let remainder = self.end_run();
        self.step = StepIndex(0);
        self.epoch += 1;
        self.diverged = false;
        (self.is_recorded, self.begins_with) = (false, None);
        self.drop_commands();
        self.devices = self.new_devices();
        self.balance = Balance::new(&self.world.mechanism, self.timestep);
        Ok(remainder)
    }

    /// The record of what has come since the last one: commands that no step has followed, and events. The caller takes it when the
    /// simulation ends, so that every command is in a record. `None` if a record has told all.
    pub fn take_remainder(&mut self) -> Option<Box<StepRecord>> {
        let is_told = self.is_recorded && self.applied.is_empty() && self.events.is_empty();
        (!is_told).then(|| {
            let mut record = StepRecord::without_values(self.layout.world());
            (record.step, record.epoch) = (self.step, self.epoch);
            self.hand_over(&mut record);
            Box::new(record)
        })
    }

    /// The remainder of a run that another one follows. A run without step and command is left out.
    pub(super) fn end_run(&mut self) -> Option<Box<StepRecord>> {
        let is_left_out = !self.is_recorded && self.applied.is_empty();
        if is_left_out { None } else { self.take_remainder() }
    }

    /// Moves commands, events and the beginning of the run into a record.
    pub(super) fn hand_over(&mut self, record: &mut StepRecord) {
        record.commands.append(&mut self.applied);
        record.events.append(&mut self.events);
        record.begins_with = self.begins_with.take();
        self.is_recorded = true;
    }
}
