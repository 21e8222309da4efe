//! Sensors: what they measure (`kinds` and the files beside it), the noise on it (`noise`), and its way to the clients
//! (`delivery`).

mod delivery;
mod geographic;
mod inertial;
mod joint;
mod kinds;
mod load;
mod mount_point;
mod noise;
mod probe;
mod rays;
mod scan;

pub use rays::{RayBundle, rays};
pub use scan::ScanState;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simpartner_description::World;
use simpartner_dynamics::Engine;
use simpartner_model::{StepIndex, Timestep, random::Stream};
use simpartner_wire::signal::{Configuration, Fault, Field, LongReading, MOST_FIELDS_IN_RECORD};

use self::{
    delivery::Delivery,
    kinds::probe,
    noise::{NoiseModel, NoiseState},
    probe::{Probe, ProbeState},
    scan::PendingScan,
};
use super::{
    background::Background,
    describe::{fields, interval_steps},
    random::StreamSeed,
};

/// A sensor of a running simulation.
pub(super) struct Sensor {
    probe: Box<dyn Probe>,
    noise: Arc<NoiseModel>,
    delivery: Delivery,
    /// A reading that is being made beside the steps.
    scan: Option<PendingScan>,
    timestep: Timestep,
    interval_steps: u64,
    /// The step of the last measurement, from which drift is counted.
    measured: StepIndex,
    fault: Fault,
    fault_stream: Stream,
    fields: Arc<[Field]>,
    /// What the probe measured, before the noise.
    truth: Vec<f64>,
    reading: Vec<f64>,
    /// The same for records, where it is a long one.
    long_reading: Option<LongReading>,
}

/// Its state between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SensorState {
    interval_steps: u64,
    measured: StepIndex,
    fault: Fault,
    fault_stream: Stream,
    reading: Vec<f64>,
    probe: ProbeState,
    noise: NoiseState,
    delivery: Delivery,
}

impl Sensor {
    /// The sensor with its reading of step 0, which has noise and no latency.
    pub(super) fn new(
        spec: &simpartner_description::Sensor,
        world: &World,
        timestep: Timestep,
        seed: StreamSeed<'_>,
        engine: &dyn Engine,
    ) -> Self {
        let fields = fields(&spec.clone().into(), world);
        let quantities = spec.kind.description().quantities;
        let mut sensor = Self {
            probe: probe(spec, world, timestep),
            noise: Arc::new(NoiseModel::new(quantities, fields.len(), &spec.noise, seed.stream("noise"))),
            delivery: Delivery::new(timestep.steps_in(spec.latency_s), spec.dropout, seed.stream("delivery")),
            scan: None,
            timestep,
            interval_steps: interval_steps(spec.rate_hz, timestep),
            measured: StepIndex(0),
            fault: Fault::None,
            fault_stream: seed.stream("fault"),
            fields: fields.into(),
            truth: Vec::new(),
            reading: Vec::new(),
            long_reading: None,
        };
        sensor.probe.start(engine);
        let mut reading = Vec::new();
        sensor.measure(engine, &mut reading, StepIndex(0));
        sensor.reading = reading;
        sensor.share_reading();
        sensor
    }

    /// Makes the reading known to records, where it is a long one.
    fn share_reading(&mut self) {
        self.long_reading = (self.fields.len() > MOST_FIELDS_IN_RECORD).then(|| LongReading::new(&self.reading));
    }

    pub(super) fn long_reading(&self) -> Option<&LongReading> {
        self.long_reading.as_ref()
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn is_powered_off(&self) -> bool {
        self.fault == Fault::Off
    }

    pub(super) fn state(&self) -> SensorState {
        SensorState {
            interval_steps: self.interval_steps,
            measured: self.measured,
            fault: self.fault,
            fault_stream: self.fault_stream.clone(),
            reading: self.reading.clone(),
            probe: self.probe.state(),
            noise: self.noise.state(),
            delivery: self.delivery.clone(),
        }
    }

    /// Goes on from the state after a step. False if it is of another sensor; this one must then not be used any more.
    pub(super) fn restore(&mut self, state: SensorState, step: StepIndex) -> bool {
        let width = self.fields.len();
        let fits = state.reading.len() == width
            && state.interval_steps > 0
            && state.measured <= step
            && state.delivery.fits(width)
            && self.probe.restore(&state.probe)
            && Arc::make_mut(&mut self.noise).restore(state.noise);
        (self.interval_steps, self.measured) = (state.interval_steps, state.measured);
        (self.fault, self.fault_stream) = (state.fault, state.fault_stream);
        (self.reading, self.delivery) = (state.reading, state.delivery);
        self.share_reading();
        fits
    }

    pub(super) fn reseed(&mut self, seed: StreamSeed<'_>) {
        self.fault_stream = seed.stream("fault");
        Arc::make_mut(&mut self.noise).stream = seed.stream("noise");
        self.delivery.stream = seed.stream("delivery");
    }

    /// Its reading is that of this step.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.measured = step;
    }

    /// Takes the present state for that before the next step.
    pub(super) fn begin_anew(&mut self, engine: &dyn Engine) {
        self.probe.start(engine);
    }

    pub(super) fn configure(&mut self, parameter: Configuration) {
        match parameter {
            Configuration::RateHz(rate) => self.interval_steps = interval_steps(Some(rate), self.timestep),
            Configuration::RangeM(range) => self.probe.set_range(range),
            Configuration::LatencyS(latency) => self.delivery.latency_steps = self.timestep.steps_in(latency),
            Configuration::Dropout(dropout) => self.delivery.dropout = dropout,
            Configuration::Noise { quantity, figure, value } => {
                Arc::make_mut(&mut self.noise).configure(quantity, figure, value);
            }
        }
    }

    /// Applies a fault. Readings under way from a sensor that is powered off or sticks are lost.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.delivery.lose_all();
            self.scan = None;
        }
    }

    /// Makes a reading if one is due after this step, and returns whether a fresh one has arrived.
    pub(super) fn after_step(&mut self, engine: &dyn Engine, step: StepIndex, background: &dyn Background) -> bool {
        self.probe.follow(engine);
        let due = step.0.is_multiple_of(self.interval_steps);
        match self.fault {
            Fault::Off => return false,
            // It repeats its last reading as if it were new.
            Fault::Stuck => return due,
            _ => {}
        }
        if due {
            // A sensor has one scan under way at most.
            self.take_up_scan();
            self.begin_reading(engine, step);
        }
        if let Some(scan) = &mut self.scan {
            scan.offer(background);
        }
        if self.scan.as_ref().is_some_and(|scan| scan.due <= step) {
            self.take_up_scan();
        }
        let arrived = self.delivery.arrive(&mut self.reading, step);
        if arrived {
            self.share_reading();
        }
        arrived
    }

    /// Makes a reading, or begins a scan for it, and sends it on its way.
    fn begin_reading(&mut self, engine: &dyn Engine, step: StepIndex) {
        let scan = self.probe.scan(engine);
        let extra = if let Fault::Delayed(delay) = self.fault { self.timestep.steps_in(delay) } else { 0 };
        let latency = self.delivery.latency_steps + extra;
        // As a scanner that turns once in each period has its reading at the end of the turn.
        let due = step.after(if scan.is_some() { latency.max(self.interval_steps) } else { latency });
        let lost_by_fault = matches!(self.fault, Fault::Intermittent(share) if self.fault_stream.happens(share));
        let is_lost = lost_by_fault || self.delivery.loses_next();
        match scan.filter(|_| self.fault != Fault::Garbage) {
            Some(_) if is_lost => {}
            Some(scan) => {
                let (noise, fields) = (Arc::clone(&self.noise), Arc::clone(&self.fields));
                self.scan = Some(PendingScan::new(scan, noise, fields, self.elapsed_s(step), due));
                self.measured = step;
            }
            None => {
                let mut reading = self.delivery.take_empty();
                self.measure(engine, &mut reading, step);
                if is_lost { self.delivery.lose(reading) } else { self.delivery.send(reading, due) }
            }
        }
    }

    /// Puts the reading of the scan that is under way, if there is one, among those that arrive.
    pub(super) fn take_up_scan(&mut self) {
        if let Some(scan) = self.scan.take() {
            let mut reading = self.delivery.take_empty();
            let noise = scan.take(&mut reading);
            if !noise.is_silent() {
                Arc::make_mut(&mut self.noise).go_on_from(&noise);
            }
            self.delivery.send(reading, scan.due);
        }
    }

    /// The scan that is under way.
    pub(super) fn scan_state(&self) -> Option<ScanState> {
        self.scan.as_ref().map(PendingScan::state)
    }

    /// Begins the scan of a state. False if it is of another sensor or world.
    pub(super) fn restore_scan(&mut self, state: &ScanState, engine: &dyn Engine) -> bool {
        let fields = Arc::clone(&self.fields);
        let scan = self.probe.scan(engine).and_then(|now| PendingScan::restored(state, now, &self.noise, fields));
        let fits = scan.is_some();
        self.scan = scan;
        fits
    }

    /// Time since the last measurement.
    fn elapsed_s(&self, step: StepIndex) -> f64 {
        self.timestep.seconds() * (step.0 - self.measured.0) as f64
    }

    fn measure(&mut self, engine: &dyn Engine, reading: &mut Vec<f64>, step: StepIndex) {
        if self.fault == Fault::Garbage {
            let any = |field: &Field| field.lowest + (field.highest - field.lowest) * self.fault_stream.uniform();
            reading.extend(self.fields.iter().map(any));
            return;
        }
        self.probe.read(engine, reading);
        self.truth.clone_from(reading);
        let elapsed_s = self.elapsed_s(step);
        Arc::make_mut(&mut self.noise).apply_noise(reading, &self.fields, elapsed_s);
        self.probe.limit(&self.truth, reading);
        self.measured = step;
    }
}
