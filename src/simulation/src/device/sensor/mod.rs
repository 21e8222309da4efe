//! Sensors: measurement (`kinds` and the probes beside it), noise (`noise`), and latency and dropout (`delivery`).

mod delivery;
mod geographic;
mod inertial;
mod joint;
mod kinds;
mod load;
mod mount_point;
mod noise;
mod odometry;
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
    describe::{device_fields, interval_steps},
    random::StreamSeed,
};

/// A sensor of a running simulation.
pub(super) struct Sensor {
    probe: Box<dyn Probe>,
    noise: Arc<NoiseModel>,
    delivery: Delivery,
    /// The scan that is being computed in the background.
    scan: Option<PendingScan>,
    timestep: Timestep,
    /// Steps from one reading to the next.
    interval_steps: u64,
    /// The step of the last measurement; drift advances by the time since it.
    measured: StepIndex,
    fault: Fault,
    fault_stream: Stream,
    is_camera: bool,
    /// True if the last step began a reading.
    has_measured: bool,
    fields: Arc<[Field]>,
    /// The last measurement without noise.
    truth: Vec<f64>,
    /// The last reading that has arrived.
    reading: Vec<f64>,
    /// A shared copy of a long reading, for records.
    long_reading: Option<LongReading>,
}

/// State of a [`Sensor`] between steps.
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
    /// Creates a sensor with its reading of step 0, which has noise and no latency.
    pub(super) fn new(
        spec: &simpartner_description::Sensor,
        world: &World,
        timestep: Timestep,
        seed: StreamSeed<'_>,
        engine: &dyn Engine,
    ) -> Self {
        let fields = device_fields(&spec.clone().into(), world);
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
            is_camera: spec.kind.is_camera(),
            has_measured: true,
            fields: fields.into(),
            truth: Vec::new(),
            reading: Vec::new(),
            long_reading: None,
        };
        sensor.probe.initialize(engine);
        let mut reading = Vec::new();
        sensor.take_measurement(engine, &mut reading, StepIndex(0));
        sensor.reading = reading;
        sensor.update_long_reading();
        sensor
    }

    /// Updates the shared copy of a long reading.
    fn update_long_reading(&mut self) {
        self.long_reading = (self.fields.len() > MOST_FIELDS_IN_RECORD).then(|| LongReading::new(&self.reading));
    }

    pub(super) fn long_reading(&self) -> Option<&LongReading> {
        self.long_reading.as_ref()
    }

    pub(super) fn reading(&self) -> &[f64] {
        &self.reading
    }

    pub(super) fn is_camera(&self) -> bool {
        self.is_camera
    }

    /// True for a camera whose image is of the last step.
    pub(super) fn is_exposed(&self) -> bool {
        self.is_camera && self.has_measured
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

    /// Restores the state after a step. False if the state is of another sensor; this one must then not be used any
    /// more.
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
        self.update_long_reading();
        fits
    }

    pub(super) fn reseed(&mut self, seed: StreamSeed<'_>) {
        self.fault_stream = seed.stream("fault");
        Arc::make_mut(&mut self.noise).stream = seed.stream("noise");
        self.delivery.stream = seed.stream("delivery");
    }

    /// Sets the step of the sensor's first reading.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.measured = step;
        if self.is_camera {
            // The image of the robot's first moment.
            self.reading = vec![step.0 as f64];
        }
    }

    /// Makes the probe take the present state as the previous one.
    pub(super) fn restart_probe(&mut self, engine: &dyn Engine) {
        self.probe.initialize(engine);
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

    /// Applies a fault. If it powers the sensor off or makes it stick, delayed readings are lost.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.delivery.drop_all();
            self.scan = None;
        }
    }

    /// Takes a reading if one is due after this step. True if a fresh reading has arrived.
    pub(super) fn after_step(&mut self, engine: &dyn Engine, step: StepIndex, background: &dyn Background) -> bool {
        self.probe.update(engine);
        self.has_measured = false;
        let due = step.0.is_multiple_of(self.interval_steps);
        match self.fault {
            Fault::Off => return false,
            // A sensor that sticks repeats its last reading as if it were fresh.
            Fault::Stuck => return due,
            _ => {}
        }
        if due {
            self.has_measured = true;
            // A sensor has at most one scan under way.
            self.complete_scan();
            self.start_reading(engine, step);
        }
        if let Some(scan) = &mut self.scan {
            scan.offer_to(background);
        }
        if self.scan.as_ref().is_some_and(|scan| scan.due <= step) {
            self.complete_scan();
        }
        let arrived = self.delivery.receive(&mut self.reading, step);
        if arrived {
            self.update_long_reading();
        }
        arrived
    }

    /// Takes a reading and sends it, or starts a scan for it.
    fn start_reading(&mut self, engine: &dyn Engine, step: StepIndex) {
        let scan = self.probe.scan(engine);
        let extra = if let Fault::Delayed(delay) = self.fault { self.timestep.steps_in(delay) } else { 0 };
        let latency = self.delivery.latency_steps + extra;
        // A scan takes at least an interval, as with a scanner that rotates once in each period.
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
                self.take_measurement(engine, &mut reading, step);
                if is_lost { self.delivery.drop_reading(reading) } else { self.delivery.send(reading, due) }
            }
        }
    }

    /// Completes the scan under way, if there is one, and sends its reading.
    pub(super) fn complete_scan(&mut self) {
        if let Some(scan) = self.scan.take() {
            let mut reading = self.delivery.take_empty();
            let noise = scan.append_reading(&mut reading);
            if !noise.is_silent() {
                Arc::make_mut(&mut self.noise).copy_drift_from(&noise);
            }
            self.delivery.send(reading, scan.due);
        }
    }

    /// State of the scan under way.
    pub(super) fn scan_state(&self) -> Option<ScanState> {
        self.scan.as_ref().map(PendingScan::state)
    }

    /// Restores a scan under way. False if the state is of another sensor or world.
    pub(super) fn restore_scan(&mut self, state: &ScanState, engine: &dyn Engine) -> bool {
        let fields = Arc::clone(&self.fields);
        let scan = self.probe.scan(engine).and_then(|now| PendingScan::restored(state, now, &self.noise, fields));
        let fits = scan.is_some();
        self.scan = scan;
        fits
    }

    /// Time from the last measurement to `step`.
    fn elapsed_s(&self, step: StepIndex) -> f64 {
        self.timestep.seconds() * (step.0 - self.measured.0) as f64
    }

    /// Appends a reading with noise to `reading`; with the fault `Garbage`, random values within the fields' ranges.
    fn take_measurement(&mut self, engine: &dyn Engine, reading: &mut Vec<f64>, step: StepIndex) {
        if self.fault == Fault::Garbage {
            let any = |field: &Field| field.lowest + (field.highest - field.lowest) * self.fault_stream.uniform();
            reading.extend(self.fields.iter().map(any));
            return;
        }
        match self.is_camera {
            true => reading.push(step.0 as f64),
            false => self.probe.read(engine, reading),
        }
        self.truth.clone_from(reading);
        let elapsed_s = self.elapsed_s(step);
        Arc::make_mut(&mut self.noise).apply_noise(reading, &self.fields, elapsed_s);
        self.probe.clamp_to_range(&self.truth, reading);
        self.measured = step;
    }
}
