//! Devices: sensors make readings of the physics, actuators turn commands into motor settings.
//!
//! A device knows the physics seam and simulated time. It knows nothing of ports, frames as text, clocks or the log. What there
//! is stands in one table, [`DeviceKind`](crate::signal::DeviceKind). Start at [`Device`]: its life in a step is `command` (at
//! the step's boundary), `before_step`, `after_step`, `values`.

mod actuator;
mod describe;
mod sensor;

pub use describe::describe;

use self::{actuator::Actuator, sensor::Sensor};
use crate::{
    model::{self, DeviceSpec, World},
    physics::Engine,
    signal::{Action, StepIndex, Timestep},
};

/// A device of a running simulation.
pub struct Device {
    timestep: Timestep,
    instance: Instance,
}

enum Instance {
    Sensor(Sensor),
    Actuator(Actuator),
}

impl Device {
    /// The device of a model, in the state it has before the first command and the first step.
    pub fn new(spec: &model::Device, world: &World, timestep: Timestep, engine: &dyn Engine) -> Self {
        let instance = match &spec.spec {
            DeviceSpec::Sensor(sensor) => Instance::Sensor(Sensor::new(sensor, world, timestep, engine)),
            DeviceSpec::Actuator(actuator) => Instance::Actuator(Actuator::new(actuator)),
        };
        Self { timestep, instance }
    }

    /// The numbers that stand in the record for this device: a sensor's reading or an actuator's present command.
    pub fn values(&self) -> &[f64] {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.reading(),
            Instance::Actuator(actuator) => actuator.state(),
        }
    }

    /// What it carries from step to step beside its values, for a hash.
    pub fn memory(&self) -> Vec<u64> {
        let mut memory = Vec::new();
        match &self.instance {
            Instance::Sensor(sensor) => sensor.memory(&mut memory),
            Instance::Actuator(actuator) => actuator.memory(&mut memory),
        }
        memory
    }

    /// Takes a command at a step boundary. It has been checked against the device's fields at the door; what does not fit
    /// this device changes nothing.
    pub fn command(&mut self, action: &Action) {
        match (action, &mut self.instance) {
            (Action::Drive(values), Instance::Actuator(actuator)) => actuator.command(values),
            (Action::Configure(parameters), Instance::Sensor(sensor)) => {
                parameters.iter().for_each(|&parameter| sensor.configure(parameter));
            }
            (Action::Drive(_) | Action::Configure(_) | Action::Hear, _) => {}
        }
    }

    /// Sets the motors for the step to come.
    pub fn before_step(&mut self, engine: &mut dyn Engine) {
        if let Instance::Actuator(actuator) = &mut self.instance {
            actuator.drive(engine, self.timestep.seconds());
        }
    }

    /// Makes a fresh reading if one is due after this step, and says whether it did. An actuator's state is always fresh.
    pub fn after_step(&mut self, engine: &dyn Engine, step: StepIndex) -> bool {
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.after_step(engine, step),
            Instance::Actuator(_) => true,
        }
    }
}

/// Steps from one reading to the next: the whole number nearest to the rate asked for, at least one.
fn interval_steps(rate_hz: Option<f64>, timestep: Timestep) -> u64 {
    rate_hz.map_or(1, |rate| timestep.steps_in(1.0 / rate).max(1))
}
