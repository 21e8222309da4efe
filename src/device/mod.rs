//! Devices: sensors make readings of the physics, actuators turn commands into motor settings.
//!
//! A device knows the physics seam and simulated time. It knows nothing of ports, frames as text, clocks or the log. What there
//! is stands in one table, [`DeviceKind`](simpartner_wire::signal::DeviceKind). Start at [`Device`]: its life in a step is `command` (at
//! the step's boundary), `before_step`, `after_step`, `values`.

mod actuator;
mod describe;
mod random;
mod sensor;

pub use describe::describe;
pub use sensor::{RayBundle, rays};

use serde::{Deserialize, Serialize};
use simpartner_description::{DeviceSpec, Watchdog, World};
use simpartner_dynamics::Engine;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::Action;

use self::{actuator::Actuator, random::Origin, sensor::Sensor};

/// A device of a running simulation.
pub struct Device {
    instance: Instance,
}

enum Instance {
    Sensor(Box<Sensor>),
    Actuator(Box<Actuator>),
}

/// What a device carries from step to step: for snapshots, and to be hashed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Memory(Carried);

#[derive(Debug, Serialize, Deserialize)]
enum Carried {
    Sensor(sensor::Memory),
    Actuator(actuator::Memory),
}

impl Device {
    /// The device of a model, in the state it has before the first command and the first step.
    /// Whatever it does by chance follows from `seed`, its robot's name and its own.
    pub fn new(
        spec: &simpartner_description::Device,
        world: &World,
        timestep: Timestep,
        seed: u64,
        engine: &dyn Engine,
    ) -> Self {
        let origin = Origin { seed, robot: &world.mechanism.robot(spec.robot).name, device: &spec.name };
        let instance = match &spec.spec {
            DeviceSpec::Sensor(sensor) => {
                Instance::Sensor(Box::new(Sensor::new(sensor, world, timestep, origin, engine)))
            }
            DeviceSpec::Actuator(actuator) => Instance::Actuator(Box::new(Actuator::new(actuator, timestep, origin))),
        };
        Self { instance }
    }

    /// The numbers that stand in the record for this device: a sensor's reading or an actuator's present command.
    pub fn values(&self) -> &[f64] {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.reading(),
            Instance::Actuator(actuator) => actuator.state(),
        }
    }

    /// Whether a fault has put it off.
    pub fn is_off(&self) -> bool {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.is_off(),
            Instance::Actuator(actuator) => actuator.is_off(),
        }
    }

    /// All that it carries from step to step.
    pub fn memory(&self) -> Memory {
        match &self.instance {
            Instance::Sensor(sensor) => Memory(Carried::Sensor(sensor.memory())),
            Instance::Actuator(actuator) => Memory(Carried::Actuator(actuator.memory())),
        }
    }

    /// Goes on from there, as it was after a step. False if the memory is of another device; this one is then of no use any
    /// more.
    #[must_use]
    pub fn recall(&mut self, memory: Memory, step: StepIndex) -> bool {
        match (&mut self.instance, memory.0) {
            (Instance::Sensor(sensor), Carried::Sensor(memory)) => sensor.recall(memory, step),
            (Instance::Actuator(actuator), Carried::Actuator(memory)) => actuator.recall(memory, step),
            (Instance::Sensor(_), Carried::Actuator(_)) | (Instance::Actuator(_), Carried::Sensor(_)) => false,
        }
    }

    /// From now on what it does by chance follows from this seed, as in [`Device::new`].
    pub fn reseed(&mut self, spec: &simpartner_description::Device, world: &World, seed: u64) {
        let origin = Origin { seed, robot: &world.mechanism.robot(spec.robot).name, device: &spec.name };
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.reseed(origin),
            Instance::Actuator(actuator) => actuator.reseed(origin),
        }
    }

    /// Takes a command at a step boundary. It has been checked against the device's fields at the door; what does not fit
    /// this device changes nothing.
    pub fn command(&mut self, action: &Action) {
        match (action, &mut self.instance) {
            (Action::Drive(values), Instance::Actuator(actuator)) => actuator.command(values),
            (Action::Configure(parameters), Instance::Sensor(sensor)) => {
                parameters.iter().for_each(|&parameter| sensor.configure(parameter));
            }
            (&Action::Fault(fault), Instance::Sensor(sensor)) => sensor.fail(fault),
            (&Action::Fault(fault), Instance::Actuator(actuator)) => actuator.fail(fault),
            (Action::Drive(_) | Action::Configure(_) | Action::Hear, _) => {}
        }
    }

    /// Sets the motors for the step to come. Returns the watchdog that has just bitten, if one has.
    pub fn before_step(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        match &mut self.instance {
            Instance::Sensor(_) => None,
            Instance::Actuator(actuator) => actuator.drive(engine),
        }
    }

    /// Makes a reading if one is due after this step, and says whether a fresh one is there. An actuator's state is always
    /// fresh.
    pub fn after_step(&mut self, engine: &dyn Engine, step: StepIndex) -> bool {
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.after_step(engine, step),
            Instance::Actuator(_) => true,
        }
    }
}

/// What stands in the record for an actuator before its first command; nothing for a sensor.
pub fn first_setting(spec: &DeviceSpec) -> Vec<f64> {
    match spec {
        DeviceSpec::Sensor(_) => Vec::new(),
        DeviceSpec::Actuator(actuator) => actuator::first_state(actuator),
    }
}

/// Steps from one reading to the next: the whole number nearest to the rate asked for, at least one.
fn interval_steps(rate_hz: Option<f64>, timestep: Timestep) -> u64 {
    rate_hz.map_or(1, |rate| timestep.steps_in(1.0 / rate).max(1))
}
