//! Sensors: what they read (`probe` and the files beside it), how far that is off (`noise`), and how it comes to those who
//! ask (`delivery`).

mod delivery;
mod geographic;
mod inertial;
mod joint;
mod noise;
mod probe;
mod rays;
mod seat;

pub use rays::{RayBundle, rays};

use serde::{Deserialize, Serialize};
use simpartner_description::World;
use simpartner_dynamics::Engine;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Configuration, Fault, Field};

use self::{delivery::Delivery, noise::Imperfections, probe::Probe};
use super::{
    describe::fields,
    interval_steps,
    random::{Origin, Stream},
};

/// A sensor of a running simulation.
pub(super) struct Sensor {
    probe: Probe,
    imperfections: Imperfections,
    delivery: Delivery,
    timestep: Timestep,
    interval_steps: u64,
    /// The step of the last measurement, from which drift is counted.
    measured: StepIndex,
    fault: Fault,
    fault_stream: Stream,
    fields: Vec<Field>,
    /// What the probe read before it was spoiled.
    truth: Vec<f64>,
    reading: Vec<f64>,
}

/// What a sensor carries from step to step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    interval_steps: u64,
    measured: StepIndex,
    fault: Fault,
    fault_stream: Stream,
    reading: Vec<f64>,
    probe: probe::Memory,
    imperfections: noise::Memory,
    delivery: Delivery,
}

impl Sensor {
    /// The sensor with its reading of step 0, which has its noise and is there at once.
    pub(super) fn new(
        spec: &simpartner_description::Sensor,
        world: &World,
        timestep: Timestep,
        origin: Origin<'_>,
        engine: &dyn Engine,
    ) -> Self {
        let kind = spec.kind();
        let fields = fields(&spec.clone().into(), spec.is_on_slider(world));
        let quantities = kind.description().quantities;
        let mut sensor = Self {
            probe: Probe::new(spec, world, timestep),
            imperfections: Imperfections::new(quantities, fields.len(), &spec.noise, origin.stream("noise")),
            delivery: Delivery::new(timestep.steps_in(spec.latency_s), spec.dropout, origin.stream("delivery")),
            timestep,
            interval_steps: interval_steps(spec.rate_hz, timestep),
            measured: StepIndex(0),
            fault: Fault::None,
            fault_stream: origin.stream("fault"),
            fields,
            truth: Vec::new(),
            reading: Vec::new(),
        };
        sensor.probe.start(engine);
        let mut reading = Vec::new();
        sensor.measure(engine, &mut reading, StepIndex(0));
        sensor.reading = reading;
        sensor
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn is_off(&self) -> bool {
        self.fault == Fault::Off
    }

    pub(super) fn memory(&self) -> Memory {
        Memory {
            interval_steps: self.interval_steps,
            measured: self.measured,
            fault: self.fault,
            fault_stream: self.fault_stream.clone(),
            reading: self.reading.clone(),
            probe: self.probe.memory(),
            imperfections: self.imperfections.memory(),
            delivery: self.delivery.clone(),
        }
    }

    /// Takes that up again, as it was after a step. False if it is of another sensor, and then what was taken up of it is
    /// worth nothing.
    pub(super) fn recall(&mut self, memory: Memory, step: StepIndex) -> bool {
        let width = self.fields.len();
        let fits = memory.reading.len() == width
            && memory.interval_steps > 0
            && memory.measured <= step
            && memory.delivery.fits(width)
            && self.probe.recall(&memory.probe)
            && self.imperfections.recall(memory.imperfections);
        (self.interval_steps, self.measured) = (memory.interval_steps, memory.measured);
        (self.fault, self.fault_stream) = (memory.fault, memory.fault_stream);
        (self.reading, self.delivery) = (memory.reading, memory.delivery);
        fits
    }

    pub(super) fn reseed(&mut self, origin: Origin<'_>) {
        self.fault_stream = origin.stream("fault");
        self.imperfections.stream = origin.stream("noise");
        self.delivery.stream = origin.stream("delivery");
    }

    pub(super) fn configure(&mut self, parameter: Configuration) {
        match parameter {
            Configuration::RateHz(rate) => self.interval_steps = interval_steps(Some(rate), self.timestep),
            Configuration::RangeM(range) => self.probe.set_range(range),
            Configuration::LatencyS(latency) => self.delivery.latency_steps = self.timestep.steps_in(latency),
            Configuration::Dropout(dropout) => self.delivery.dropout = dropout,
            Configuration::Noise { quantity, figure, value } => self.imperfections.configure(quantity, figure, value),
        }
    }

    /// From now on this is wrong with it. What is under way when it goes off or sticks is lost.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.delivery.lose_all();
        }
    }

    /// Makes a reading if one is due after this step, and says whether a fresh one has arrived.
    pub(super) fn after_step(&mut self, engine: &dyn Engine, step: StepIndex) -> bool {
        self.probe.follow(engine);
        let due = step.0.is_multiple_of(self.interval_steps);
        match self.fault {
            Fault::Off => return false,
            // It goes on telling what it told last as if it were new.
            Fault::Stuck => return due,
            _ => {}
        }
        if due {
            let mut reading = self.delivery.take_empty();
            self.measure(engine, &mut reading, step);
            let lost = matches!(self.fault, Fault::Intermittent(share) if self.fault_stream.happens(share));
            let extra = if let Fault::Delayed(delay) = self.fault { self.timestep.steps_in(delay) } else { 0 };
            if lost {
                self.delivery.lose(reading);
            } else {
                self.delivery.send(reading, step, extra);
            }
        }
        self.delivery.arrive(&mut self.reading, step)
    }

    fn measure(&mut self, engine: &dyn Engine, reading: &mut Vec<f64>, step: StepIndex) {
        if self.fault == Fault::Garbage {
            let any = |field: &Field| field.lowest + (field.highest - field.lowest) * self.fault_stream.uniform();
            reading.extend(self.fields.iter().map(any));
            return;
        }
        self.probe.read(engine, reading);
        self.truth.clone_from(reading);
        let elapsed_s = self.timestep.seconds() * (step.0 - self.measured.0) as f64;
        self.imperfections.spoil(reading, &self.fields, elapsed_s);
        self.probe.limit(&self.truth, reading);
        self.measured = step;
    }
}
