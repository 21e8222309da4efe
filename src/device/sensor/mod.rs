//! Sensors: what they read (`probe` and the files beside it).

mod geographic;
mod inertial;
mod joint;
mod probe;
mod rays;
mod seat;

use self::probe::Probe;
use super::interval_steps;
use crate::{
    model::{self, World},
    physics::Engine,
    signal::{Configuration, StepIndex, Timestep},
};

/// A sensor of a running simulation.
pub(super) struct Sensor {
    probe: Probe,
    timestep: Timestep,
    interval_steps: u64,
    reading: Vec<f64>,
}

impl Sensor {
    /// The sensor with its reading of step 0.
    pub(super) fn new(spec: &model::Sensor, world: &World, timestep: Timestep, engine: &dyn Engine) -> Self {
        let mut probe = Probe::new(spec, world, timestep);
        probe.start(engine);
        let mut reading = Vec::new();
        probe.read(engine, &mut reading);
        Self { probe, timestep, interval_steps: interval_steps(spec.rate_hz, timestep), reading }
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn memory(&self, memory: &mut Vec<u64>) {
        memory.push(self.interval_steps);
        self.probe.memory(memory);
    }

    pub(super) fn configure(&mut self, parameter: Configuration) {
        match parameter {
            Configuration::RateHz(rate) => self.interval_steps = interval_steps(Some(rate), self.timestep),
            Configuration::RangeM(range) => self.probe.set_range(range),
        }
    }

    /// Makes a fresh reading if one is due after this step, and says whether it did.
    pub(super) fn after_step(&mut self, engine: &dyn Engine, step: StepIndex) -> bool {
        self.probe.follow(engine);
        let due = step.0.is_multiple_of(self.interval_steps);
        if due {
            self.reading.clear();
            self.probe.read(engine, &mut self.reading);
        }
        due
    }
}
