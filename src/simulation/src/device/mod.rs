//! Devices: sensors measure the state of the physics, actuators turn commands into motor settings.
//!
//! A device knows the physics engine's trait and simulated time. It knows nothing of ports, frames as text, clocks or
//! the log. The table of kinds is [`DeviceKind`](simpartner_wire::signal::DeviceKind). Start at [`Device`], whose
//! methods are called in this order in a step: `command` (at the step's boundary), `before_step`, `after_step`,
//! `values`.

mod actuator;
mod background;
mod command_queue;
mod describe;
mod random;
mod sensor;
mod vehicle;

pub use background::{Background, Foreground};
pub use describe::describe;
pub use sensor::{RayBundle, ScanState, rays};

use serde::{Deserialize, Serialize};
use simpartner_description::{DeviceSpec, Watchdog, World};
use simpartner_dynamics::Engine;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Action, LongReading};

pub(crate) use self::random::StreamSeed;
use self::{
    actuator::{Actuator, ActuatorState},
    sensor::{Sensor, SensorState},
    vehicle::{VehicleController, VehicleState},
};

/// A device of a running simulation.
pub struct Device {
    instance: Instance,
}

enum Instance {
    Sensor(Box<Sensor>),
    Actuator(Box<Actuator>),
    Vehicle(Box<VehicleController>),
}

/// The state of a device between steps, for snapshots and hashes.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeviceState(InstanceState);

#[derive(Debug, Serialize, Deserialize)]
enum InstanceState {
    Sensor(SensorState),
    Actuator(ActuatorState),
    Vehicle(VehicleState),
}

impl Device {
    /// Creates a device in its state before the first command and the first step. Its random numbers depend on `seed`,
    /// its robot's name and its own name.
    pub fn new(
        spec: &simpartner_description::Device,
        world: &World,
        timestep: Timestep,
        seed: u64,
        engine: &dyn Engine,
    ) -> Self {
        let seed = StreamSeed { seed, robot: &world.mechanism.robot(spec.robot).name, device: &spec.name };
        let instance = match &spec.spec {
            DeviceSpec::Sensor(sensor) => {
                Instance::Sensor(Box::new(Sensor::new(sensor, world, timestep, seed, engine)))
            }
            DeviceSpec::Actuator(actuator) => {
                Instance::Actuator(Box::new(Actuator::new(actuator, world, timestep, seed)))
            }
            DeviceSpec::Vehicle(vehicle) => {
                Instance::Vehicle(Box::new(VehicleController::in_world(vehicle, world, timestep, seed)))
            }
        };
        Self { instance }
    }

    /// The device's values in the record: a sensor's reading, or an actuator's last command.
    pub fn values(&self) -> &[f64] {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.reading(),
            Instance::Actuator(actuator) => actuator.last_command(),
            Instance::Vehicle(vehicle) => vehicle.last_command(),
        }
    }

    /// A long reading, which records share instead of copying it. `None` for actuators, and for sensors of at most
    /// `MOST_FIELDS_IN_RECORD` fields.
    pub fn long_reading(&self) -> Option<&LongReading> {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.long_reading(),
            Instance::Actuator(_) | Instance::Vehicle(_) => None,
        }
    }

    /// True for a camera.
    pub fn is_camera(&self) -> bool {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.is_camera(),
            Instance::Actuator(_) | Instance::Vehicle(_) => false,
        }
    }

    /// True for a camera whose image is of the last step.
    pub fn is_exposed(&self) -> bool {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.is_exposed(),
            Instance::Actuator(_) | Instance::Vehicle(_) => false,
        }
    }

    /// True if a fault has powered the device off.
    pub fn is_powered_off(&self) -> bool {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.is_powered_off(),
            Instance::Actuator(actuator) => actuator.is_powered_off(),
            Instance::Vehicle(vehicle) => vehicle.is_powered_off(),
        }
    }

    /// The device's state between steps.
    pub fn state(&self) -> DeviceState {
        match &self.instance {
            Instance::Sensor(sensor) => DeviceState(InstanceState::Sensor(sensor.state())),
            Instance::Actuator(actuator) => DeviceState(InstanceState::Actuator(actuator.saved_state())),
            Instance::Vehicle(vehicle) => DeviceState(InstanceState::Vehicle(vehicle.saved_state())),
        }
    }

    /// Restores the state after a step. False if the state is of another device; this device must then not be used any
    /// more.
    #[must_use]
    pub fn restore(&mut self, state: DeviceState, step: StepIndex) -> bool {
        match (&mut self.instance, state.0) {
            (Instance::Sensor(sensor), InstanceState::Sensor(state)) => sensor.restore(state, step),
            (Instance::Actuator(actuator), InstanceState::Actuator(state)) => actuator.restore_state(state, step),
            (Instance::Vehicle(vehicle), InstanceState::Vehicle(state)) => vehicle.restore_state(state, step),
            (Instance::Sensor(_) | Instance::Actuator(_) | Instance::Vehicle(_), _) => false,
        }
    }

    /// Seeds the device's random numbers again, as in [`Device::new`].
    pub fn reseed(&mut self, spec: &simpartner_description::Device, world: &World, seed: u64) {
        let seed = StreamSeed { seed, robot: &world.mechanism.robot(spec.robot).name, device: &spec.name };
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.reseed(seed),
            Instance::Actuator(actuator) => actuator.reseed_faults(seed),
            Instance::Vehicle(vehicle) => vehicle.reseed_faults(seed),
        }
    }

    /// Accepts a command at a step boundary. The protocol has checked it against the device's fields. A command for
    /// another kind of device has no effect.
    pub fn command(&mut self, action: &Action) {
        match (action, &mut self.instance) {
            (Action::Drive(values), Instance::Actuator(actuator)) => actuator.accept_command(values),
            (Action::Drive(values), Instance::Vehicle(vehicle)) => vehicle.accept_command(values),
            (Action::Configure(parameters), Instance::Sensor(sensor)) => {
                parameters.iter().for_each(|&parameter| sensor.configure(parameter));
            }
            (&Action::Fault(fault), Instance::Sensor(sensor)) => sensor.set_fault(fault),
            (&Action::Fault(fault), Instance::Actuator(actuator)) => actuator.set_fault(fault),
            (&Action::Fault(fault), Instance::Vehicle(vehicle)) => vehicle.set_fault(fault),
            (Action::Drive(_) | Action::Configure(_) | Action::Hear | Action::Place(_) | Action::Push(_), _) => {}
        }
    }

    /// Sets the step at which the device begins to exist, if that is not the start of the run.
    pub fn begin_at(&mut self, step: StepIndex) {
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.begin_at(step),
            Instance::Actuator(actuator) => actuator.begin_at(step),
            Instance::Vehicle(vehicle) => vehicle.begin_at(step),
        }
    }

    /// Restarts from a state that no step has led to, because a body was placed elsewhere. A sensor then measures no
    /// motion for the jump.
    pub fn begin_anew(&mut self, engine: &dyn Engine) {
        if let Instance::Sensor(sensor) = &mut self.instance {
            sensor.restart_probe(engine);
        }
    }

    /// Sets the motors for the next step. Returns the watchdog if its timeout has just passed.
    pub fn before_step(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        match &mut self.instance {
            Instance::Sensor(_) => None,
            Instance::Actuator(actuator) => actuator.drive_engine(engine),
            Instance::Vehicle(vehicle) => vehicle.drive_engine(engine),
        }
    }

    /// Takes a reading if one is due after this step. True if a fresh reading has arrived; an actuator's setting is
    /// always fresh.
    pub fn after_step(&mut self, engine: &dyn Engine, step: StepIndex, background: &dyn Background) -> bool {
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.after_step(engine, step, background),
            Instance::Actuator(_) | Instance::Vehicle(_) => true,
        }
    }

    /// The scan that is being computed in the background. It belongs to the device's state between steps.
    pub fn scan_state(&self) -> Option<ScanState> {
        match &self.instance {
            Instance::Sensor(sensor) => sensor.scan_state(),
            Instance::Actuator(_) | Instance::Vehicle(_) => None,
        }
    }

    /// Restores a scan under way, after [`restore`](Self::restore). False if it is of another device or another world.
    #[must_use]
    pub fn restore_scan(&mut self, state: &ScanState, engine: &dyn Engine) -> bool {
        match &mut self.instance {
            Instance::Sensor(sensor) => sensor.restore_scan(state, engine),
            Instance::Actuator(_) | Instance::Vehicle(_) => false,
        }
    }

    /// Waits for the scan that is being computed in the background. Its reading still arrives at the step that it was
    /// due.
    pub fn finish_scan(&mut self) {
        if let Instance::Sensor(sensor) = &mut self.instance {
            sensor.complete_scan();
        }
    }
}

/// An actuator's values in the record before its first command; empty for a sensor.
pub fn first_setting(spec: &DeviceSpec, world: &World) -> Vec<f64> {
    match spec {
        DeviceSpec::Sensor(_) => Vec::new(),
        DeviceSpec::Actuator(actuator) => actuator::first_setting(actuator, world),
        DeviceSpec::Vehicle(vehicle) => vehicle::first_setting(vehicle),
    }
}
