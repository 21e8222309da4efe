//! Boundaries between the runs of a simulation, and the assignment of commands and events to runs.
//!
//! A run ends with a reset, with a world edit, or with the simulation. Commands and events after its last step are in
//! no step's record. They get a record of their own: the remainder of the run.

use std::sync::Arc;

use simpartner_dynamics::BuildError;
use simpartner_model::StepIndex;
use simpartner_wire::signal::StepRecord;

use super::{Simulation, balance::Balance};
use crate::fluid::FluidForces;

impl Simulation {
    /// Rebuilds everything from the model: equal to a fresh start, bit for bit. Commands for later steps are dropped.
    ///
    /// Returns the [remainder](Self::take_remainder) of the run that ends. A run with neither step nor command has no
    /// remainder; its events go to the next run.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, although it could before.
    pub fn reset(&mut self) -> Result<Option<Box<StepRecord>>, BuildError> {
        self.engine =
            simpartner_dynamics::build_again(&*self.engine, &self.world.mechanism, self.timestep, &self.settings)?;
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

    /// As [`reset`](Self::reset), with another seed for the devices' random numbers: equal to a fresh start with it.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, although it could before; the seed is then unchanged.
    pub fn reset_with_seed(&mut self, seed: u64) -> Result<Option<Box<StepRecord>>, BuildError> {
        let former = std::mem::replace(&mut self.seed, seed);
        let remainder = self.reset().inspect_err(|_| self.seed = former)?;
        if seed != former {
            self.fluid = FluidForces::of_world(&self.world, seed, self.timestep);
            self.layout = Arc::new((*self.layout).clone().with_seed(seed));
        }
        Ok(remainder)
    }

    /// The record of everything since the last record: events, and commands that no step has followed. The caller takes
    /// it when the simulation ends, so that every command is in a record. `None` if the last record is complete.
    pub fn take_remainder(&mut self) -> Option<Box<StepRecord>> {
        let is_complete = self.is_recorded && self.applied.is_empty() && self.events.is_empty();
        (!is_complete).then(|| {
            let mut record = StepRecord::without_values(self.layout.world());
            (record.step, record.epoch) = (self.step, self.epoch);
            self.move_into_record(&mut record);
            Box::new(record)
        })
    }

    /// The remainder of a run that another run follows; `None` for a run with neither step nor command, which is not
    /// logged.
    pub(super) fn end_run(&mut self) -> Option<Box<StepRecord>> {
        let is_omitted = !self.is_recorded && self.applied.is_empty();
        if is_omitted { None } else { self.take_remainder() }
    }

    /// Moves commands, events and the initial state of the run into a record.
    pub(super) fn move_into_record(&mut self, record: &mut StepRecord) {
        record.commands.append(&mut self.applied);
        record.events.append(&mut self.events);
        record.begins_with = self.begins_with.take();
        self.is_recorded = true;
    }
}
